// SPDX-License-Identifier: GPL-2.0-only
//! A page under the hands of a reader: real keys, a phone's screen, paper, and whatever the page
//! says or asks for. Chromium's own protocol over two pipes; no other library, no port, no network.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::FLAGS;

/// The longest wait for a condition: a slow machine is no failure.
const PATIENCE: Duration = Duration::from_secs(300);
/// The longest wait for an answer, which may be that a condition was never met.
const SILENCE: Duration = Duration::from_secs(330);

/// A browser and a page on disk.
pub fn opened(html: &str) -> Result<(Reader, PathBuf, tempfile::TempDir), String> {
    let reader = Reader::new()?;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("report.html");
    std::fs::write(&path, html).expect("written");
    Ok((reader, path, folder))
}

/// Nothing was complained about and nothing was asked of a network.
pub fn is_quiet(reader: &Reader) {
    assert_eq!(reader.complaints, Vec::<String>::new());
    assert_eq!(reader.requested, Vec::<String>::new());
}

/// A browser with one page.
pub struct Reader {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    last: u64,
    /// What the page wrote to the console, threw, or had logged about it.
    pub complaints: Vec<String>,
    /// Addresses that the page asked for, those of its own file and of data in it left out.
    pub requested: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Reader {
    /// A browser with an empty page.
    pub fn new() -> Result<Reader, String> {
        crate::program("chromium")?;
        let profile = tempfile::tempdir().expect("a temporary folder");
        // Chromium listens on file 3 and answers on file 4.
        let script = "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", script, "chromium", "--remote-debugging-pipe"])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let requests = child.stdin.take().expect("a pipe");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (send, answers) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|bytes| bytes > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if send.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut reader = Reader {
            child,
            requests,
            answers,
            session: None,
            last: 0,
            complaints: Vec::new(),
            requested: Vec::new(),
            _profile: profile,
        };
        reader.attach();
        Ok(reader)
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let wanted = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call("Target.attachToTarget", wanted);
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Asks the browser for something and waits for the answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, params).unwrap_or_else(|why| panic!("{method}: {why}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.last += 1;
        let mut request = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        let mut bytes = request.to_string().into_bytes();
        bytes.push(0);
        self.requests.write_all(&bytes).and_then(|()| self.requests.flush()).expect("written");
        loop {
            let mut answer = self.answers.recv_timeout(SILENCE).map_err(|why| why.to_string())?;
            if answer["id"] != json!(self.last) {
                self.note(&answer);
                continue;
            }
            return if answer["error"].is_null() {
                Ok(answer["result"].take())
            } else {
                Err(answer["error"].to_string())
            };
        }
    }

    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.consoleAPICalled" => self.complaints.push(params["args"].to_string()),
            "Runtime.exceptionThrown" => {
                self.complaints.push(params["exceptionDetails"].to_string());
            }
            "Log.entryAdded" => self.complaints.push(params["entry"]["text"].to_string()),
            "Network.requestWillBeSent" => {
                let address = params["request"]["url"].as_str().unwrap_or_default().to_owned();
                let own = ["file:", "data:", "blob:"].iter().any(|own| address.starts_with(own));
                if !own {
                    self.requested.push(address);
                }
            }
            _ => {}
        }
    }

    /// A screen of this width and height in CSS pixels; `phone` as phones have them.
    pub fn screen(&mut self, width: u32, height: u32, phone: bool) {
        let factor = if phone { 2 } else { 1 };
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": factor, "mobile": phone,
        });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        self.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": phone }));
    }

    /// Opens a file, at a place in it if one is named (`#…`), and waits until it is ready: all
    /// of its first view is there, and it answers.
    pub fn open(&mut self, path: &Path, place: &str) {
        self.go(&format!("file://{}{place}", path.display()));
        self.until("document.body?.dataset.ready === 'true'");
    }

    /// Opens a page that is no report, and waits until it is loaded with all its scripts.
    pub fn visit(&mut self, path: &Path) {
        self.go(&format!("file://{}", path.display()));
        self.until("location.protocol === 'file:' && document.readyState === 'complete'");
    }

    fn go(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.call("Page.navigate", json!({ "url": url }));
    }

    /// Goes through the page from top to bottom, as a reader would, and waits until all is drawn. A
    /// chart that is passed before it could be drawn waits until somebody comes back. A browser
    /// that draws no frames any more, on a busy machine, is not waited for.
    pub fn see_all(&mut self) {
        let step = "scrollBy({ top: innerHeight, behavior: 'instant' })";
        let end = "document.body.dataset.drawn ||
            scrollY + innerHeight >= document.documentElement.scrollHeight - 2";
        self.evaluate(&format!(
            "(async () => {{
                const turn = (ms) => new Promise((done) => setTimeout(done, ms));
                const frame = async () => {{
                    await Promise.race([new Promise(requestAnimationFrame), turn(2000)]);
                    await turn();
                }};
                for (let last = false; ; last = {end}) {{
                    await frame();
                    while (nextNear()) await turn();
                    if (last) return;
                    {step};
                }}
            }})()"
        ));
        self.until("document.body.dataset.drawn === 'true'");
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, condition: &str) {
        let limit_ms = PATIENCE.as_millis();
        let wait = format!(
            "new Promise((done) => {{ const end = Date.now() + {limit_ms}; \
             const look = () => ({condition}) ? done(true) : \
             Date.now() > end ? done(false) : setTimeout(look, 20); look(); }})"
        );
        // A page that is just being replaced takes its promises along.
        for _ in 0..10 {
            match self.try_evaluate(&wait) {
                Ok(Value::Bool(true)) => return,
                Ok(_) => break,
                Err(_) => {}
            }
        }
        panic!("never: {condition}");
    }

    pub fn evaluate(&mut self, expression: &str) -> Value {
        self.try_evaluate(expression).unwrap_or_else(|why| panic!("{expression}: {why}"))
    }

    fn try_evaluate(&mut self, expression: &str) -> Result<Value, String> {
        let params =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.ask("Runtime.evaluate", params)?;
        if answer["exceptionDetails"].is_null() {
            Ok(answer["result"]["value"].take())
        } else {
            Err(answer["exceptionDetails"].to_string())
        }
    }

    /// Presses and releases a key, as a hand would.
    pub fn key(&mut self, name: &str) {
        let (code, text) = match name {
            "Tab" => (9, None),
            "Enter" => (13, Some("\r")),
            "Escape" => (27, None),
            other => panic!("no such key: {other}"),
        };
        let mut down = json!({
            "type": if text.is_some() { "keyDown" } else { "rawKeyDown" },
            "key": name, "code": name, "windowsVirtualKeyCode": code,
        });
        if let Some(text) = text {
            down["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", down);
        let up = json!({
            "type": "keyUp", "key": name, "code": name, "windowsVirtualKeyCode": code,
        });
        self.call("Input.dispatchKeyEvent", up);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
