// SPDX-License-Identifier: GPL-2.0-only
//! Linux scheduling policies, as the command line writes them.

use model::play::policy::CLASSES;
pub use model::play::policy::class_name;
use model::{Policy, PolicyClass};

use super::source::advice;

/// What is wrong, and what to write instead.
pub type Advice = (String, Option<String>);

/// Checks a policy's parameters as [`model::play::policy::check`].
pub fn check(policy: &Policy) -> Result<(), Advice> {
    model::play::policy::check(policy).map_err(|refusal| (refusal.message, Some(refusal.hint)))
}

/// Reads `rr:50`, `fifo:98`, `other`, `other:-5` (nice), `deadline:1000:5000:10000` (runtime,
/// deadline, period in µs).
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
        assert_eq!(hint("fifo:100"), "write e.g. priority = 50; 98 wins");
        assert_eq!(hint("fifo:99"), "write 1 … 98");
        assert_eq!(hint("other:20"), "write -20 (most) … 19 (least)");
        assert_eq!(hint("idle:1"), "write 'idle'");
        assert_eq!(
            hint("deadline:5000:1000:10000"),
            "write 2 ≤ runtime_us ≤ deadline_us ≤ period_us"
        );
    }
}
