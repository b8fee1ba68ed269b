// SPDX-License-Identifier: GPL-2.0-only
//! The logs of frames that MangoHud writes while a program runs, a line for each frame.
//!
//! MangoHud writes a line when its frame is over (since version 0.6.9). So the time of a file's
//! last change tells when the clock of its column `elapsed` began.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::Measured;
use spec::files::{Pieces, TRACE};
use store::exchange::imports;

/// The format, as `import` knows it.
const FORMAT: &str = "mangohud";

pub struct FrameLogs {
    /// A log, or the folder of the logs.
    place: PathBuf,
    logs: BTreeMap<PathBuf, Log>,
    /// Those that were there before.
    old: Vec<PathBuf>,
}

#[derive(Default)]
struct Log {
    read_bytes: u64,
    /// The lines above the frames.
    head: String,
    elapsed_column: Option<usize>,
    /// When each frame was over, on the log's clock, and its line.
    frames: Vec<(u64, String)>,
    /// When the log's clock began, since 1970, as far as is known.
    began_ns: u64,
}

impl FrameLogs {
    /// The logs that will be written in this place.
    pub fn new(place: &Path) -> FrameLogs {
        let place = place.to_owned();
        let new = FrameLogs { place, logs: BTreeMap::new(), old: Vec::new() };
        FrameLogs { old: new.files(), ..new }
    }

    /// Reads what is new.
    pub fn look(&mut self) {
        for file in self.files() {
            if !self.old.contains(&file) {
                self.logs.entry(file.clone()).or_default().look(&file);
            }
        }
    }

    pub fn has_frames(&self) -> bool {
        self.logs.values().any(|log| !log.frames.is_empty())
    }

    /// The measures of the frames that were over between two moments; of the log with most frames,
    /// because a launcher can write one, too. Earlier frames are forgotten.
    pub fn between(&mut self, from: SystemTime, to: SystemTime) -> Result<Measured, String> {
        let [from, to] = [from, to].map(since_1970_ns);
        let cut = self.logs.values_mut().map(|log| log.cut(from, to));
        let text = cut.max_by_key(String::len).unwrap_or_default();
        if text.is_empty() {
            return Err("no frame was shown in this stretch".into());
        }
        let format = imports::named(FORMAT).ok_or("the format of logs is gone")?;
        let records = format.read(&text).map_err(|fault| fault.message)?;
        Ok(records.into_iter().next().map(|record| record.measured).unwrap_or_default())
    }

    fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.place) else {
            return self.place.is_file().then(|| self.place.clone()).into_iter().collect();
        };
        let is_log = |path: &PathBuf| {
            path.extension().is_some_and(|ending| ending == "csv")
                && !path.to_string_lossy().ends_with("_summary.csv")
        };
        entries.flatten().map(|entry| entry.path()).filter(is_log).collect()
    }
}

impl Log {
    /// A file that is gone, or is not yet one of text, is looked at again later.
    fn look(&mut self, path: &Path) {
        let Some((length, changed_ns)) = length_and_change(path) else { return };
        if length < self.read_bytes {
            *self = Log::default();
        }
        let piece = Pieces::open(path, TRACE)
            .and_then(|log| log.read(self.read_bytes, (length - self.read_bytes) as usize));
        let Ok(bytes) = piece else { return };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.read_bytes += whole as u64;
        String::from_utf8_lossy(&bytes[..whole]).lines().for_each(|line| self.add(line));
        if let (true, Some((elapsed_ns, _))) = (whole > 0, self.frames.last()) {
            let began_ns = changed_ns.saturating_sub(*elapsed_ns);
            // A look that came late tells a later beginning.
            self.began_ns = if self.began_ns == 0 { began_ns } else { self.began_ns.min(began_ns) };
        }
    }

    fn add(&mut self, line: &str) {
        let Some(column) = self.elapsed_column else {
            self.head += &format!("{line}\n");
            if line.starts_with("fps,") {
                self.elapsed_column = line.split(',').position(|name| name.trim() == "elapsed");
            }
            return;
        };
        let elapsed = line.split(',').nth(column).and_then(|field| field.trim().parse().ok());
        // What is wrong with a line is told by the reader of the format.
        let before = self.frames.last().map_or(0, |(elapsed_ns, _)| *elapsed_ns);
        let elapsed_ns = elapsed.map_or(before, |elapsed: f64| elapsed as u64);
        self.frames.push((elapsed_ns, line.to_owned()));
    }

    /// The log with the frames between two moments alone.
    fn cut(&mut self, from_ns: u64, to_ns: u64) -> String {
        let began_ns = self.began_ns;
        let end = self.frames.partition_point(|(elapsed_ns, _)| began_ns + elapsed_ns <= to_ns);
        let ours = self.frames.drain(..end).filter(|(ns, _)| began_ns + ns >= from_ns);
        let lines: String = ours.map(|(_, line)| line + "\n").collect();
        if lines.is_empty() { String::new() } else { format!("{}{lines}", self.head) }
    }
}

/// Bytes of a file, and when it was changed last, from one look.
fn length_and_change(path: &Path) -> Option<(u64, u64)> {
    let facts = fs::metadata(path).ok()?;
    Some((facts.len(), since_1970_ns(facts.modified().ok()?)))
}

fn since_1970_ns(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    const HEAD: &str = "os,cpu\nLinux,x\nfps,frametime,elapsed\n";

    /// Writes frames of 10 ms.
    fn write(file: &mut File, frames: std::ops::Range<u64>) {
        for frame in frames {
            writeln!(file, "100,10,{}", (frame + 1) * 10_000_000).expect("written");
        }
    }

    #[test]
    fn frames_belong_to_the_time_when_they_were_over() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("old.csv"), format!("{HEAD}50,20,1\n")).expect("written");
        let mut logs = FrameLogs::new(folder.path());
        logs.look();
        assert!(!logs.has_frames(), "an old log is not ours");

        let mut file = File::create(folder.path().join("game.csv")).expect("a file");
        file.write_all(HEAD.as_bytes()).expect("written");
        write(&mut file, 0..100);
        write!(file, "100,10").expect("an unfinished line");
        let begin = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        file.set_modified(begin + Duration::from_secs(1)).expect("a time");
        logs.look();
        assert!(logs.has_frames());
        let at = |ms| begin + Duration::from_millis(ms);
        let measured = logs.between(at(495), at(1_000)).expect("frames");
        let times = &measured.histograms[0];
        assert_eq!((times.name.as_str(), times.count), ("frame_time_ns", 51));

        // Later looks come late, and tell nothing new about the beginning.
        writeln!(file, ",1010000000").expect("the rest of a line");
        write(&mut file, 101..151);
        file.set_modified(begin + Duration::from_secs(9)).expect("a time");
        logs.look();
        let measured = logs.between(at(1_005), at(1_505)).expect("frames");
        assert_eq!(measured.histograms[0].count, 50);
        let nothing = logs.between(at(5_000), at(6_000)).expect_err("no frames");
        assert!(!nothing.is_empty());
    }

    #[test]
    fn the_log_with_most_frames_is_the_game() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut logs = FrameLogs::new(folder.path());
        let begin = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for (name, frames) in [("launcher", 3), ("game", 60), ("game_summary", 90)] {
            let mut file = File::create(folder.path().join(format!("{name}.csv"))).expect("one");
            file.write_all(HEAD.as_bytes()).expect("written");
            write(&mut file, 0..frames);
            file.set_modified(begin).expect("a time");
        }
        logs.look();
        let measured = logs.between(UNIX_EPOCH, begin).expect("frames");
        assert_eq!(measured.histograms[0].count, 60);
    }
}
