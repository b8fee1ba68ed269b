// SPDX-License-Identifier: GPL-2.0-only
//! A limit on the steps of a query: a damaged or hostile file can make one that never ends.

use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

/// After this many instructions of its virtual machine SQLite asks whether to go on.
const ASKED_EVERY: c_int = 100_000;

/// The instructions that any query may take: seconds.
const FREE: u64 = 200_000_000;

/// Besides those for each byte of the file. The longest query, the check of all pages, takes less
/// than one.
const PER_BYTE: u64 = 20;

/// How often SQLite may still ask in the present query.
pub(crate) struct Steps {
    left: Arc<AtomicU64>,
    most: u64,
}

impl Steps {
    /// Limits all queries of a connection to a file.
    pub fn limited(connection: &mut Connection, path: &Path) -> rusqlite::Result<Steps> {
        let wal = std::path::PathBuf::from(format!("{}-wal", path.display()));
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |facts| facts.len());
        let bytes = bytes(path).saturating_add(bytes(&wal));
        Steps::at_most(connection, FREE.saturating_add(bytes.saturating_mul(PER_BYTE)))
    }

    fn at_most(connection: &mut Connection, instructions: u64) -> rusqlite::Result<Steps> {
        let most = instructions / ASKED_EVERY as u64;
        let left = Arc::new(AtomicU64::new(most));
        let counted = left.clone();
        let is_over = move || {
            let before = counted.load(Ordering::Relaxed);
            counted.store(before.saturating_sub(1), Ordering::Relaxed);
            before == 0
        };
        connection.progress_handler(ASKED_EVERY, Some(is_over))?;
        Ok(Steps { left, most })
    }

    /// A new query begins.
    pub fn begin(&self) {
        self.left.store(self.most, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_without_end_ends_and_the_next_one_runs() {
        let mut connection = Connection::open_in_memory().expect("a database");
        let steps = Steps::at_most(&mut connection, 2_000_000).expect("a limit");
        let count = |most: &str| {
            steps.begin();
            let sql = format!(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n {most})
                 SELECT count(*) FROM n"
            );
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0))
        };
        let error = count("").expect_err("it has no end");
        let interrupted = rusqlite::ffi::ErrorCode::OperationInterrupted;
        assert_eq!(error.sqlite_error_code(), Some(interrupted));
        assert_eq!(count("WHERE i < 50000"), Ok(50_000));
        assert_eq!(count("WHERE i < 50000"), Ok(50_000));
    }
}
