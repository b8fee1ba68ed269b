// SPDX-License-Identifier: GPL-2.0-only
//! HdrHistogram's percentile listing (`.hgrm`), as its plotting pages read it.

use std::io::Write;

use anyhow::{Context, Result};
use hdrhistogram::Histogram as Hdr;
use model::Histogram;

/// Lines per halving of the distance to 100 %; the reference implementation's default.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

pub fn write(histogram: &Histogram, out: &mut dyn Write) -> Result<()> {
    let hdr = hdr(histogram)?;
    writeln!(
        out,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    let mut seen = 0;
    for step in hdr.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        seen += step.count_since_last_iteration();
        let (value, reached) = (step.value_iterated_to() as f64, step.quantile_iterated_to());
        write!(out, "{value:12.3} {reached:2.12} {seen:10}")?;
        if reached < 1.0 {
            writeln!(out, " {:14.2}", 1.0 / (1.0 - reached))?
        } else {
            writeln!(out)?
        }
    }
    writeln!(out, "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]", hdr.mean(), hdr.stdev())?;
    writeln!(out, "#[Max     = {:12.3}, Total count    = {:12}]", histogram.max as f64, hdr.len())?;
    writeln!(out, "#[Buckets = {:12}, SubBuckets     = {:12}]", hdr.buckets(), 2048)?;
    Ok(())
}

fn hdr(histogram: &Histogram) -> Result<Hdr<u64>> {
    let mut hdr = Hdr::new_with_bounds(1, histogram.max.max(2), 3).context("no such histogram")?;
    for (value, samples) in histogram.buckets.iter() {
        // The lowest bucket may start below the smallest sample.
        let value = value.clamp(histogram.min, histogram.max);
        hdr.record_n(value, samples).context("a sample beyond the largest one")?;
    }
    Ok(hdr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listing_has_the_published_form() {
        let histogram = Histogram {
            name: "run_delay_ns".into(),
            group: "all".into(),
            count: 4,
            min: 10,
            max: 5000,
            buckets: vec![(10, 2), (100, 1), (5000, 1)].into(),
        };
        let mut out = Vec::new();
        write(&histogram, &mut out).expect("memory takes it");
        let text = String::from_utf8(out).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "       Value     Percentile TotalCount 1/(1-Percentile)");
        assert_eq!(lines[1], "");
        assert_eq!(lines[2], "      10.000 0.000000000000          2           1.00");
        assert!(text.contains("5003.000 1.000000000000          4\n"), "{text}");
        assert!(
            text.contains("#[Max     =     5000.000, Total count    =            4]"),
            "{text}"
        );
    }
}
