// SPDX-License-Identifier: GPL-2.0-only
//! `ffmpeg -benchmark`: its real time and the number of frames.
//!
//! The frame rate that it prints itself is rounded, so frames are divided by the real time.

use super::{Reported, only, positive};

/// See the module.
pub fn parse(stdout: &str, stderr: &str) -> Result<Reported, String> {
    // Progress overwrites itself: its lines end with a carriage return.
    let lines = || stdout.split(['\r', '\n']).chain(stderr.split(['\r', '\n'])).map(str::trim);
    let times = lines().filter(|line| line.starts_with("bench:") && line.contains("rtime="));
    let times = only(times, "line `bench: … rtime=` (add -benchmark)")?;
    let real = times.split("rtime=").nth(1).unwrap_or_default();
    let seconds = positive(real.strip_suffix('s').ok_or("`rtime` is not in seconds")?)?;
    let mut progress = lines().filter_map(|line| line.strip_prefix("frame="));
    let last = progress.next_back().ok_or("there is no line `frame=`")?;
    let frames = positive(last.split_whitespace().next().unwrap_or_default())?;
    let version = lines().find_map(|line| line.strip_prefix("ffmpeg version ")?.split(' ').next());
    Ok(Reported {
        completion_ns: Some(seconds * 1e9),
        operations_per_second: Some(frames / seconds),
        version: version.map(str::to_owned),
        ..Reported::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = include_str!("recorded/ffmpeg.txt");

    #[test]
    fn the_recorded_output_is_understood() {
        let reported = parse("", REAL).unwrap();
        let seconds = reported.completion_ns.unwrap() / 1e9;
        let frames = reported.operations_per_second.unwrap() * seconds;
        assert!((frames - 50.0).abs() < 1e-6, "{frames} frames in {seconds} s");
        assert!(reported.version.is_some());
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(parse("", "").is_err());
        assert!(parse("", "bench: utime=1.0s stime=0.1s rtime=0.000s\nframe= 5 fps=1").is_err());
        let without_benchmark = REAL.split("bench:").next().unwrap();
        assert!(parse("", without_benchmark).unwrap_err().contains("-benchmark"));
        assert!(parse("", &REAL.replace("frame=", "packet=")).is_err());
    }
}
