// SPDX-License-Identifier: GPL-2.0-only
//! Channels exist and have senders and receivers; where the numbers of messages are simple, they
//! agree.

use std::collections::BTreeMap;

use model::play::Refusal;
use model::{Channel, Step, TaskGroup, Workload};

use super::{Checked, endless, every_step, fault};
use crate::source::advice;

/// The messages of one channel.
#[derive(Default)]
struct Traffic {
    sent: Total,
    received: Total,
    bytes: Vec<u32>,
}

/// Messages in the whole trial; `None` if they cannot be counted.
struct Total(Option<u64>);

impl Default for Total {
    fn default() -> Total {
        Total(Some(0))
    }
}

impl Total {
    fn add(&mut self, messages: Option<u64>) {
        self.0 = self.0.zip(messages).and_then(|(total, more)| total.checked_add(more));
    }

    fn is_nothing(&self) -> bool {
        self.0 == Some(0)
    }
}

pub fn check(workload: &Workload) -> Checked {
    every_step(workload, &mut |path, _, step| match step {
        Step::Send { channel, fan, .. } => {
            let channel = known(workload, path, channel)?;
            fan_fits(path, *fan, channel)
        }
        Step::Receive { channel, .. } => known(workload, path, channel).map(|_| ()),
        _ => Ok(()),
    })?;
    let traffic = traffic(workload);
    for (index, channel) in workload.channels.iter().enumerate() {
        let path = format!("channel[{index}]");
        balance(&path, workload, &channel.name, traffic.get(channel.name.as_str()))?;
    }
    Ok(())
}

fn known<'a>(workload: &'a Workload, path: &str, name: &str) -> Result<&'a Channel, Refusal> {
    if let Some(channel) = workload.channels.iter().find(|channel| channel.name == name) {
        return Ok(channel);
    }
    let names = workload.channels.iter().map(|channel| channel.name.as_str());
    let hint = advice(name, names)
        .unwrap_or_else(|| format!("add [[channel]] with name = \"{name}\" and count"));
    fault(path, format!("there is no channel '{name}'"), hint)
}

fn fan_fits(path: &str, fan: u32, channel: &Channel) -> Checked {
    if fan >= 1 && fan <= channel.count {
        return Ok(());
    }
    let message =
        format!("fan {fan} does not fit '{}', which has {} members", channel.name, channel.count);
    fault(path, message, format!("write 1 … {}", channel.count))
}

fn traffic(workload: &Workload) -> BTreeMap<&str, Traffic> {
    let mut all = BTreeMap::new();
    for group in workload.tasks.iter().filter(|group| group.count > 0) {
        add(&mut all, &group.steps, rounds(workload, group));
    }
    all
}

/// How often all tasks of a group together play their steps; `None` if unknown.
fn rounds(workload: &Workload, group: &TaskGroup) -> Option<u64> {
    let open = group.template || endless(group) || workload.duration_us.is_some();
    let exits = group.steps.contains(&Step::Exit);
    (!open && !exits).then(|| group.repeat.unwrap_or(1).saturating_mul(u64::from(group.count)))
}

fn add<'a>(all: &mut BTreeMap<&'a str, Traffic>, steps: &'a [Step], rounds: Option<u64>) {
    for step in steps {
        match step {
            Step::Send { channel, bytes, fan } => {
                let traffic = all.entry(channel).or_default();
                traffic.sent.add(rounds.and_then(|rounds| rounds.checked_mul(u64::from(*fan))));
                traffic.bytes.push(*bytes);
            }
            Step::Receive { channel, bytes } => {
                let traffic = all.entry(channel).or_default();
                traffic.received.add(rounds);
                traffic.bytes.push(*bytes);
            }
            Step::Loop { count, steps } => {
                add(all, steps, rounds.and_then(|rounds| rounds.checked_mul(*count)));
            }
            other => add(all, other.inner(), rounds),
        }
    }
}

fn balance(path: &str, workload: &Workload, name: &str, traffic: Option<&Traffic>) -> Checked {
    let Some(Traffic { sent, received, bytes }) = traffic else {
        // A parameter may have removed the groups that use it.
        let used = workload.tasks.iter().any(|group| group.count == 0);
        return if used { Ok(()) } else { unused(path, name) };
    };
    if bytes.iter().any(|size| *size != bytes[0]) {
        let message = format!("messages of '{name}' have different sizes");
        return fault(path, message, "send and receive the same number of bytes");
    }
    if sent.is_nothing() {
        return fault(path, format!("nobody sends to '{name}'"), "add a send step");
    }
    if received.is_nothing() {
        return fault(path, format!("nobody receives from '{name}'"), "add a receive step");
    }
    match (sent.0, received.0) {
        (Some(sent), Some(received)) if sent != received => {
            let message = format!("'{name}': {sent} messages sent but {received} received");
            fault(path, message, "make repeat × count × fan of both sides agree")
        }
        _ => Ok(()),
    }
}

fn unused(path: &str, name: &str) -> Checked {
    fault(
        path,
        format!("nobody uses the channel '{name}'"),
        "add send and receive steps, or delete it",
    )
}
