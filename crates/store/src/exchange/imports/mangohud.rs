// SPDX-License-Identifier: GPL-2.0-only
//! MangoHud's log: a line for each frame, after two lines about the system.
//!
//! The unit of its frame times has changed between versions, so it is found by `fps × frametime`.
//! In some languages its numbers have commas, decimal or between thousands: such a line has too
//! many columns and is refused. With `log_interval` it is a sample of the frames, not all of them:
//! then there is no distribution in it. Its column `cpuscheduler` names the frequency governor.

use std::collections::BTreeMap;

use csv::{ErrorKind, ReaderBuilder, Trim};
use model::metric::PROGRAM;
use model::play::frames::{self, FrameLog};
use model::{Histogram, Metric, ReadFault, Record};
use serde::Deserialize;

use super::Format;

/// How far the sum of the frame times may be from the time that passed, as a part of it.
const COVERED: f64 = 0.05;

#[derive(Deserialize)]
struct Frame {
    fps: f64,
    frametime: f64,
    #[serde(rename = "elapsed")]
    elapsed_ns: f64,
}

pub fn read(format: &Format, text: &str) -> Result<Vec<Record>, ReadFault> {
    let heading =
        if text.starts_with("fps,") { Some(0) } else { text.find("\nfps,").map(|at| at + 1) };
    let (system, log) = text.split_at(heading.ok_or("there are no frames in it")?);
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(log.as_bytes());
    let frames: Vec<Frame> = reader
        .deserialize()
        .collect::<Result<_, _>>()
        .map_err(|error| wrong_line(system.lines().count(), &error))?;
    let is_wrong = |frame: &Frame| {
        [frame.fps, frame.frametime, frame.elapsed_ns]
            .iter()
            .any(|it| !it.is_finite() || *it <= 0.0)
    };
    if let Some(place) = frames.iter().position(is_wrong) {
        let line = system.lines().count() + place + 2;
        return Err(ReadFault::at_line(line, "a number that is not above 0"));
    }
    if frames.len() < 2 {
        return Err("there are no frames in it".into());
    }
    let mut record = measured(format, &frames)?;
    let facts = ReaderBuilder::new().from_reader(system.as_bytes()).into_deserialize().next();
    if let Some(Ok(facts)) = facts {
        let facts: BTreeMap<String, String> = facts;
        let fact = |name| facts.get(name).cloned().unwrap_or_default();
        let provenance = &mut record.provenance;
        (provenance.kernel_release, provenance.cpu_model) = (fact("kernel"), fact("cpu"));
        provenance.notes.push(format!("frequency governor: {}", fact("cpuscheduler")));
    }
    Ok(vec![record])
}

fn wrong_line(before: usize, error: &csv::Error) -> ReadFault {
    let line = before + error.position().map_or(0, |position| position.line() as usize);
    let message = match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => format!(
            "{len} columns instead of {expected_len}: the file is cut off, or its numbers have \
             commas (log with LC_ALL=C)"
        ),
        ErrorKind::Deserialize { err, .. } => err.to_string(),
        _ => error.to_string(),
    };
    ReadFault::at_line(line, message)
}

fn measured(format: &Format, frames: &[Frame]) -> Result<Record, ReadFault> {
    let mut products: Vec<f64> = frames.iter().map(|frame| frame.fps * frame.frametime).collect();
    products.sort_by(f64::total_cmp);
    let unit_ns = match products[products.len() / 2] {
        900.0..1_100.0 => 1e6,
        9e5..1.1e6 => 1e3,
        product => {
            let message = format!("`fps` × `frametime` is {product:.0}: neither ms nor µs");
            return Err(message.into());
        }
    };
    let times: Vec<u64> =
        frames.iter().map(|frame| (frame.frametime * unit_ns).round() as u64).collect();
    let mut record = format.record("frames");
    // The first line's frame was over when the log's clock stood there.
    let passed_ns = frames[frames.len() - 1].elapsed_ns - frames[0].elapsed_ns;
    let shown_ns: f64 = times[1..].iter().map(|time| *time as f64).sum();
    let rate = if (shown_ns / passed_ns - 1.0).abs() > COVERED {
        let why = "the log is a sample of the frames (log_interval), not all of them";
        frames::missing(&mut record.measured, PROGRAM, why);
        Metric::missing("iterations_per_second", PROGRAM, why)
    } else {
        let log = FrameLog::new(&times);
        let histogram = Histogram::from_samples("frame_time_ns", PROGRAM, &log.times_ns);
        frames::measure(&mut record.measured, PROGRAM, histogram, log.stutters);
        let rate = (frames.len() - 1) as f64 * 1e9 / shown_ns;
        Metric::number("iterations_per_second", PROGRAM, rate)
    };
    record.measured.metrics.push(rate);
    Ok(record)
}
