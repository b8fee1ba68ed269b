// SPDX-License-Identifier: GPL-2.0-only
//! Linux scheduling policies: what is allowed (`sched(7)`), and how the command line writes them.

use model::{Policy, PolicyClass};

use super::near::advice;

/// The classes and the names that the user writes.
pub const CLASSES: [(&str, PolicyClass); 6] = [
    ("other", PolicyClass::Other),
    ("batch", PolicyClass::Batch),
    ("idle", PolicyClass::Idle),
    ("fifo", PolicyClass::Fifo),
    ("rr", PolicyClass::Rr),
    ("deadline", PolicyClass::Deadline),
];

/// What is wrong, and what to write instead.
pub type Advice = (String, Option<String>);

/// The name of a class.
pub fn class_name(class: PolicyClass) -> &'static str {
    CLASSES.iter().find(|(_, other)| *other == class).map_or("", |(name, _)| name)
}

/// Checks a policy's parameters.
///
/// # Errors
/// Out of range, missing, or of another class.
pub fn check(policy: &Policy) -> Result<(), Advice> {
    let Policy { class, nice, priority, runtime_us, deadline_us, period_us, reclaim } = *policy;
    let name = class_name(class);
    let fault = |message: String, hint: &str| Err((message, Some(hint.to_owned())));
    let real_time = matches!(class, PolicyClass::Fifo | PolicyClass::Rr);
    if !(-20..=19).contains(&nice) {
        return fault(format!("nice {nice} is out of range"), "write -20 (most) … 19 (least)");
    }
    if nice != 0 && !matches!(class, PolicyClass::Other | PolicyClass::Batch) {
        return fault(format!("'{name}' has no nice value"), "nice is for 'other' and 'batch'");
    }
    if real_time && !(1..=99).contains(&priority) {
        return fault(
            format!("'{name}' needs a priority from 1 to 99"),
            "write e.g. priority = 50; 99 wins",
        );
    }
    if !real_time && priority != 0 {
        return fault(format!("'{name}' has no priority"), "priority is for 'fifo' and 'rr'");
    }
    if reclaim && class != PolicyClass::Deadline {
        return fault(format!("'{name}' reclaims nothing"), "reclaim is for 'deadline'");
    }
    match class {
        PolicyClass::Deadline => check_deadline(runtime_us, deadline_us, period_us),
        // A slice that the task asks for.
        PolicyClass::Other | PolicyClass::Batch if (deadline_us, period_us) == (0, 0) => Ok(()),
        _ if (runtime_us, deadline_us, period_us) != (0, 0, 0) => {
            fault(format!("'{name}' has no runtime, deadline or period"), "they are for 'deadline'")
        }
        _ => Ok(()),
    }
}

/// The kernel's admission rule: 1024 ns ≤ runtime ≤ deadline ≤ period.
fn check_deadline(runtime_us: u64, deadline_us: u64, period_us: u64) -> Result<(), Advice> {
    let deadline_us = if deadline_us == 0 { period_us } else { deadline_us };
    if runtime_us < 2 || runtime_us > deadline_us || deadline_us > period_us {
        let message = format!(
            "runtime {runtime_us}, deadline {deadline_us}, period {period_us} µs are impossible"
        );
        return Err((message, Some("write 2 ≤ runtime_us ≤ deadline_us ≤ period_us".into())));
    }
    Ok(())
}

/// Reads `rr:50`, `fifo:99`, `other`, `other:-5` (nice), `deadline:1000:5000:10000` (runtime,
/// deadline, period in µs).
///
/// # Errors
/// Unknown class, missing or extra numbers, and what [`check`] refuses.
pub fn parse(text: &str) -> Result<Policy, Advice> {
    let mut words = text.split(':');
    let name = words.next().unwrap_or_default();
    let class = CLASSES.iter().find(|(known, _)| *known == name).map(|(_, class)| *class);
    let names = CLASSES.map(|(name, _)| name);
    let class = class.ok_or_else(|| (format!("unknown policy '{name}'"), advice(name, names)))?;
    let numbers: Vec<i64> = words
        .map(|word| word.parse().map_err(|_| (format!("'{word}' is not a number"), usage(class))))
        .collect::<Result<_, Advice>>()?;
    let policy = with_numbers(class, &numbers)
        .ok_or_else(|| (format!("'{text}' has wrong numbers"), usage(class)))?;
    check(&policy)?;
    Ok(policy)
}

/// The text that [`parse`] reads as this policy; `None` for those that only files can write.
pub fn written(policy: &Policy) -> Option<String> {
    let Policy { class, nice, priority, runtime_us, deadline_us, period_us, .. } = *policy;
    let name = class_name(class);
    let text = match class {
        PolicyClass::Fifo | PolicyClass::Rr => format!("{name}:{priority}"),
        PolicyClass::Deadline => format!("{name}:{runtime_us}:{deadline_us}:{period_us}"),
        _ if nice != 0 => format!("{name}:{nice}"),
        _ => name.to_owned(),
    };
    (parse(&text).as_ref() == Ok(policy)).then_some(text)
}

fn with_numbers(class: PolicyClass, numbers: &[i64]) -> Option<Policy> {
    let policy = Policy { class, ..Policy::default() };
    let unsigned = |number: i64| u64::try_from(number).ok();
    Some(match (class, numbers) {
        (PolicyClass::Fifo | PolicyClass::Rr, [priority]) => {
            Policy { priority: u32::try_from(*priority).ok()?, ..policy }
        }
        (PolicyClass::Other | PolicyClass::Batch, [nice]) => {
            Policy { nice: i32::try_from(*nice).ok()?, ..policy }
        }
        (PolicyClass::Deadline, [runtime, deadline, period]) => Policy {
            runtime_us: unsigned(*runtime)?,
            deadline_us: unsigned(*deadline)?,
            period_us: unsigned(*period)?,
            ..policy
        },
        (PolicyClass::Other | PolicyClass::Batch | PolicyClass::Idle, []) => policy,
        _ => return None,
    })
}

fn usage(class: PolicyClass) -> Option<String> {
    let example = match class {
        PolicyClass::Fifo | PolicyClass::Rr => ":50 (the priority)",
        PolicyClass::Deadline => ":1000:5000:10000 (runtime, deadline, period in µs)",
        PolicyClass::Idle => "",
        PolicyClass::Other | PolicyClass::Batch => ":0 (the nice value)",
    };
    Some(format!("write '{}{example}'", class_name(class)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_lines_forms() {
        let rr = parse("rr:50").unwrap();
        assert_eq!((rr.class, rr.priority), (PolicyClass::Rr, 50));
        assert_eq!(parse("other:-5").unwrap().nice, -5);
        assert_eq!(parse("idle").unwrap().class, PolicyClass::Idle);
        assert_eq!(parse("deadline:1000:5000:10000").unwrap().period_us, 10_000);
    }

    #[test]
    fn wrong_forms_say_what_to_write() {
        let hint = |text: &str| parse(text).unwrap_err().1.unwrap_or_default();
        assert_eq!(hint("fif:3"), "did you mean 'fifo'?");
        assert_eq!(hint("rr"), "write 'rr:50 (the priority)'");
        assert_eq!(hint("rr:x"), "write 'rr:50 (the priority)'");
        assert_eq!(hint("fifo:100"), "write e.g. priority = 50; 99 wins");
        assert_eq!(hint("other:20"), "write -20 (most) … 19 (least)");
        assert_eq!(hint("idle:1"), "write 'idle'");
        assert_eq!(
            hint("deadline:5000:1000:10000"),
            "write 2 ≤ runtime_us ≤ deadline_us ≤ period_us"
        );
    }
}
