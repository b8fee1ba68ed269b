// SPDX-License-Identifier: GPL-2.0-only
//! What programs of sched_ext schedulers tell of themselves: a line of JSON over a socket asks, a
//! line answers (the protocol of the crate `scx_stats`).

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use model::inside::Told;
use serde_json::Value;

/// Where the program of the system's scheduler listens.
pub const SOCKET: &str = "/var/run/scx/root/stats";

/// How long an answer may take: the program's main loop gives it.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_ANSWER: u64 = 1 << 20;
const MOST_NUMBERS: usize = 1_000;

pub struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects, and asks once: programs count from there.
    ///
    /// # Errors
    /// Nobody listens, or the answer is none; in words.
    pub fn open(socket: &Path) -> Result<Client, String> {
        let stream = UnixStream::connect(socket).map_err(|why| match why.kind() {
            ErrorKind::NotFound => "the program serves no statistics".into(),
            _ => in_words(&why),
        })?;
        let limits =
            [stream.set_read_timeout(Some(PATIENCE)), stream.set_write_timeout(Some(PATIENCE))];
        limits.into_iter().collect::<io::Result<()>>().map_err(|why| in_words(&why))?;
        let mut client = Client { stream: BufReader::new(stream) };
        client.numbers()?;
        Ok(client)
    }

    /// All numbers of the next answer, by the way to each: `nr_running`, `cpus.3.load`.
    ///
    /// # Errors
    /// As for [`Client::open`].
    pub fn numbers(&mut self) -> Result<Vec<Told>, String> {
        let answer = self.answer().map_err(|why| in_words(&why))?;
        let answer: Value = serde_json::from_str(&answer)
            .map_err(|_| "its program's statistics are no line of JSON".to_owned())?;
        if answer["errno"] != 0 {
            return Err(format!(
                "its program refuses to give statistics: {}",
                answer["args"]["resp"]
            ));
        }
        let mut told = Vec::new();
        collect("", &answer["args"]["resp"], &mut told);
        told.sort_by(|a, b| a.name.cmp(&b.name));
        told.truncate(MOST_NUMBERS);
        Ok(told)
    }

    fn answer(&mut self) -> io::Result<String> {
        self.stream.get_mut().write_all(b"{\"req\":\"stats\",\"args\":{}}\n")?;
        let mut line = String::new();
        match self.stream.by_ref().take(LONGEST_ANSWER).read_line(&mut line)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(line),
        }
    }
}

fn in_words(why: &io::Error) -> String {
    match why.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("its program gave no statistics for {} s", PATIENCE.as_secs())
        }
        _ => format!("its program's statistics cannot be read: {why}"),
    }
}

fn collect(name: &str, value: &Value, told: &mut Vec<Told>) {
    let inner = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        Value::Number(number) => {
            told.extend(number.as_f64().map(|value| Told { name: name.to_owned(), value }));
        }
        Value::Array(values) => {
            values
                .iter()
                .zip(0..)
                .for_each(|(value, at)| collect(&inner(&at.to_string()), value, told));
        }
        Value::Object(values) => {
            values.iter().for_each(|(key, value)| collect(&inner(key), value, told));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// A program that gives these answers, one to each question.
    fn served(answers: &'static [&'static str]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("stats");
        let listener = UnixListener::bind(&path).expect("a socket");
        thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a client");
            let mut questions = BufReader::new(stream);
            for answer in answers {
                let mut line = String::new();
                questions.read_line(&mut line).expect("a question");
                let asked: Value = serde_json::from_str(&line).expect("JSON");
                assert_eq!(asked["req"], "stats");
                writeln!(questions.get_mut(), "{answer}").expect("an answer");
            }
        });
        (folder, path)
    }

    #[test]
    fn numbers_have_the_way_to_them() {
        let (_folder, path) = served(&[
            r#"{"errno":0,"args":{"resp":{"nr":0}}}"#,
            r#"{"errno":0,"args":{"resp":{"nr":7,"name":"x","cpus":[{"load":0.5},{"load":2}]}}}"#,
        ]);
        let numbers = Client::open(&path).expect("it answers").numbers().expect("it answers");
        let numbers: Vec<(&str, f64)> =
            numbers.iter().map(|told| (told.name.as_str(), told.value)).collect();
        assert_eq!(numbers, [("cpus.0.load", 0.5), ("cpus.1.load", 2.0), ("nr", 7.0)]);
    }

    #[test]
    fn what_is_no_answer_is_said() {
        let said = |answers| Client::open(&served(answers).1).err().unwrap_or_default();
        assert_eq!(said(&["what?"]), "its program's statistics are no line of JSON");
        assert_eq!(
            said(&[r#"{"errno":22,"args":{"resp":"no such target"}}"#]),
            "its program refuses to give statistics: \"no such target\""
        );
        assert!(said(&[]).starts_with("its program's statistics cannot be read: "));
        let nobody = Client::open(Path::new("/nonexistent/stats")).err();
        assert_eq!(nobody.as_deref(), Some("the program serves no statistics"));
    }
}
