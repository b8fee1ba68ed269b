// SPDX-License-Identifier: GPL-2.0-only
//! MangoHud's log: a line for each frame, after two lines about the system.
//!
//! The unit of its frame times has changed between versions, so it is found by `fps × frametime`.
//! In some languages its numbers have commas, decimal or between thousands: such a line has too
//! many columns and is refused. With `log_interval` it is a sample of the frames, not all of them:
//! then there is no distribution in it. Its column `cpuscheduler` names the frequency governor.

use csv::{ReaderBuilder, StringRecord};
use model::metric::PROGRAM;
use model::play::frames::{self, FrameLog};
use model::{Histogram, Metric, ReadFault, Record};

use super::{Format, add_number};

/// How far the sum of the frame times may be from the time that passed, as a part of it.
const COVERED: f64 = 0.05;

struct Frame {
    fps: f64,
    frame_time: f64,
    elapsed_ns: f64,
}

pub fn read(format: &Format, content: &str) -> Result<Vec<Record>, ReadFault> {
    if !content.ends_with('\n') {
        return Err(ReadFault::at_line(
            content.lines().count(),
            "the file is cut off in its last line",
        ));
    }
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).from_reader(content.as_bytes());
    let lines: Result<Vec<StringRecord>, csv::Error> = reader.records().collect();
    let lines = lines.map_err(|error| ReadFault::from(format!("not CSV: {error}")))?;
    let head = lines.iter().position(|line| line.get(0) == Some("fps"));
    let (system, frames) = lines.split_at(head.unwrap_or(lines.len()));
    let frames: Vec<Frame> = match frames {
        [columns, frames @ ..] => {
            frames.iter().map(|line| frame(columns, line)).collect::<Result<_, _>>()?
        }
        [] => Vec::new(),
    };
    if frames.len() < 2 {
        return Err("there are no frames in it".into());
    }
    let mut record = measured(format, &frames)?;
    if let [names, values] = system {
        let fact = |name| cell(names, values, name).unwrap_or_default();
        let provenance = &mut record.provenance;
        provenance.kernel_release = fact("kernel").into();
        provenance.cpu_model = fact("cpu").into();
        provenance.notes.push(format!("frequency governor: {}", fact("cpuscheduler")));
    }
    Ok(vec![record])
}

fn cell<'a>(columns: &StringRecord, line: &'a StringRecord, name: &str) -> Option<&'a str> {
    line.get(columns.iter().position(|column| column.trim() == name)?)
}

fn frame(columns: &StringRecord, line: &StringRecord) -> Result<Frame, ReadFault> {
    let number = line.position().map_or(0, |position| position.line() as usize);
    let fault = |message: String| ReadFault::at_line(number, message);
    if line.len() != columns.len() {
        return Err(fault(format!(
            "{} columns instead of {}: the file is cut off, or its numbers have commas (log with \
             LC_ALL=C)",
            line.len(),
            columns.len()
        )));
    }
    let value = |name: &str| {
        let text = cell(columns, line, name);
        let text = text.ok_or_else(|| fault(format!("there is no column `{name}`")))?;
        let value = text.trim().parse::<f64>().ok();
        let positive = value.filter(|value| value.is_finite() && *value > 0.0);
        positive.ok_or_else(|| fault(format!("`{text}` cannot be `{name}`")))
    };
    Ok(Frame { fps: value("fps")?, frame_time: value("frametime")?, elapsed_ns: value("elapsed")? })
}

fn measured(format: &Format, frames: &[Frame]) -> Result<Record, ReadFault> {
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
    let mut record = format.record("frames");
    // The first line's frame was over when the log's clock stood there.
    let passed_ns = frames[frames.len() - 1].elapsed_ns - frames[0].elapsed_ns;
    let shown_ns: f64 = times[1..].iter().map(|time| *time as f64).sum();
    if (shown_ns / passed_ns - 1.0).abs() > COVERED {
        let why = "the log is a sample of the frames (log_interval), not all of them";
        frames::missing(&mut record.measured, PROGRAM, why);
        record.measured.metrics.push(Metric::missing("iterations_per_second", PROGRAM, why));
        return Ok(record);
    }
    let log = FrameLog::new(&times);
    let histogram = Histogram::from_samples("frame_time_ns", PROGRAM, &log.times_ns);
    frames::measure(&mut record.measured, PROGRAM, histogram, log.stutters);
    add_number(&mut record, "iterations_per_second", (frames.len() - 1) as f64 * 1e9 / shown_ns);
    Ok(record)
}
