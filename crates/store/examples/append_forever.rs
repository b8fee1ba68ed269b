// SPDX-License-Identifier: GPL-2.0-only
//! Appends records to the store named on the command line until it is killed, and prints the number
//! of each one after it is safe. The kill test runs it.

use std::io::Write;

#[path = "../tests/it/sample/mod.rs"]
mod sample;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: append_forever STORE")?;
    let store = store::Store::open(path.as_ref())?;
    let session = store.begin(&sample::session())?;
    let mut stdout = std::io::stdout().lock();
    for position in 0.. {
        store.append(session, &sample::record(position))?;
        writeln!(stdout, "{position}")?;
        stdout.flush()?;
    }
    Ok(())
}
