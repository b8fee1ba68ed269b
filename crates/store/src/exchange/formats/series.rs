// SPDX-License-Identifier: GPL-2.0-only
//! Series as comma-separated values: one line per interval, for spreadsheets, R and pandas.
//!
//! A series that is missing gives one line with the reason.

use std::io::Write;

use anyhow::Result;
use model::{Record, Series};

use super::csv::{CONTEXT, context};

/// Times are from the common start.
const NUMBER: [&str; 5] = ["series", "begin_ns", "end_ns", "value", "missing"];

/// Writes the series of all records.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(records: &[Record], out: &mut dyn Write) -> Result<()> {
    let mut table = ::csv::Writer::from_writer(out);
    table.write_record(CONTEXT.iter().chain(&NUMBER))?;
    for record in records {
        let context = context(record);
        for line in record.measured.series.iter().flat_map(lines) {
            table.write_record(context.iter().chain(&line))?;
        }
    }
    Ok(table.flush()?)
}

fn lines(series: &Series) -> Vec<[String; 5]> {
    if let Some(why) = &series.missing {
        let none = String::new;
        return vec![[series.name.clone(), none(), none(), none(), why.clone()]];
    }
    let line = |(index, value): (usize, &f64)| {
        let (begin_ns, end_ns) = series.interval(index);
        let numbers = [begin_ns.to_string(), end_ns.to_string(), value.to_string()];
        let [begin_ns, end_ns, value] = numbers;
        [series.name.clone(), begin_ns, end_ns, value, String::new()]
    };
    series.values.iter().enumerate().map(line).collect()
}
