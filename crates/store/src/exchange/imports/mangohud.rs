// SPDX-License-Identifier: GPL-2.0-only
//! MangoHud's log: a line for each frame, after two lines about the system.
//!
//! The unit of its frame times has changed between versions, so it is found by `fps × frametime`.
//! In some languages its numbers have commas, decimal or between thousands: such a line has too
//! many columns and is refused. With `log_interval` it is a sample of the frames, not all of them:
//! then there is no distribution in it. Its column `cpuscheduler` names the frequency governor.

use csv::{ReaderBuilder, StringRecord};
use model::metric::PROGRAM;
use model::{Histogram, Metric};

use super::{Fault, ImportedTrial};

/// How far the sum of the frame times may be from the time that passed, as a part of it.
const COVERED: f64 = 0.05;

struct Frame {
    fps: f64,
    frame_time: f64,
    elapsed_ns: f64,
}

pub fn read(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    if !content.ends_with('\n') {
        return Err(Fault::at(content.lines().count(), "the file is cut off in its last line"));
    }
    let mut lines =
        ReaderBuilder::new().has_headers(false).flexible(true).from_reader(content.as_bytes());
    let (mut system, mut columns, mut frames) = (Vec::new(), None, Vec::new());
    for line in lines.records() {
        let line = line.map_err(|error| Fault::from(format!("not CSV: {error}")))?;
        match &columns {
            None if line.get(0) == Some("fps") => columns = Some(line),
            None => system.push(line),
            Some(columns) => frames.push(frame(columns, &line)?),
        }
    }
    if frames.len() < 2 {
        return Err("there are no frames in it".into());
    }
    let mut imported = imported(&frames)?;
    for pair in system.windows(2).filter(|pair| pair[0].get(0) == Some("os")) {
        let fact = |name: &str| {
            let column = pair[0].iter().position(|column| column == name);
            column.and_then(|column| pair[1].get(column)).unwrap_or_default().to_owned()
        };
        imported.provenance.kernel_release = fact("kernel");
        imported.provenance.cpu_model = fact("cpu");
        imported.note(format!("frequency governor: {}", fact("cpuscheduler")));
    }
    Ok(vec![imported])
}

fn frame(columns: &StringRecord, line: &StringRecord) -> Result<Frame, Fault> {
    let number = line.position().map_or(0, |position| position.line() as usize);
    if line.len() != columns.len() {
        let message = format!(
            "{} columns instead of {}: the file is cut off, or its numbers have commas (log with \
             LC_ALL=C)",
            line.len(),
            columns.len()
        );
        return Err(Fault::at(number, message));
    }
    let value = |name: &str| {
        let column = columns.iter().position(|column| column.trim() == name);
        let text = column.and_then(|column| line.get(column));
        let text = text.ok_or_else(|| Fault::at(number, format!("there is no column `{name}`")))?;
        let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
        let positive = value.filter(|value| *value > 0.0);
        positive.ok_or_else(|| Fault::at(number, format!("`{text}` cannot be `{name}`")))
    };
    Ok(Frame { fps: value("fps")?, frame_time: value("frametime")?, elapsed_ns: value("elapsed")? })
}

fn imported(frames: &[Frame]) -> Result<ImportedTrial, Fault> {
    let mut products: Vec<f64> = frames.iter().map(|frame| frame.fps * frame.frame_time).collect();
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
        frames.iter().map(|frame| (frame.frame_time * unit_ns).round() as u64).collect();
    let about = "frame times of a program, logged by MangoHud";
    let mut imported =
        ImportedTrial::new("frames", about, &["frame_time_ns.p99", "iterations_per_second"]);
    // The first line's frame was over when the log's clock stood there.
    let passed_ns = frames[frames.len() - 1].elapsed_ns - frames[0].elapsed_ns;
    let shown_ns: f64 = times[1..].iter().map(|time| *time as f64).sum();
    if (shown_ns / passed_ns - 1.0).abs() > COVERED {
        let why = "the log is a sample of the frames (log_interval), not all of them";
        for name in ["frame_time_ns", "iterations_per_second"] {
            imported.measured.metrics.push(Metric::missing(name, PROGRAM, why));
        }
        return Ok(imported);
    }
    imported.distribution("frame_time_ns", &Histogram::from_samples("", "", &times));
    imported.number("iterations_per_second", (frames.len() - 1) as f64 * 1e9 / shown_ns);
    Ok(imported)
}
