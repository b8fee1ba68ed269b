// SPDX-License-Identifier: GPL-2.0-only
//! A small process that forks for a large one.
//!
//! Forking copies the page tables of the process that forks, and afterwards the next write to each
//! of its pages is a fault. In a process that holds a plan of many trials both take longer than a
//! short trial. So a process is forked while this one is still small; it forks from then on.
//!
//! Each new process is a child of the process that started the server, not of the server: it is
//! waited for and killed as if it had been forked here, and it dies with the thread that started
//! the server.
//!
//! A message to the server is a lesson, which the server itself and all later processes know, or an
//! order for one new process. What they mean is a [`Service`]'s matter.

use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::patient::{Patient, receive, send};
use crate::{Process, be_child, fork, turn_to_fork};

pub trait Service {
    /// Remembers something, in the server.
    fn learn(&mut self, lesson: &[u8]);

    /// Does one piece of work, in a process of its own, and returns its exit code. `ends` are those
    /// that [`ForkServer::fork`] was called with.
    fn work(&self, order: &[u8], ends: [OwnedFd; 2]) -> i32;
}

/// The process that forks. It ends when this value is dropped, or with the process that has it.
#[derive(Debug)]
pub struct ForkServer {
    /// One request at a time; `None` only while it is dropped.
    requests: Mutex<Option<UnixStream>>,
    process: Option<Process>,
}

impl ForkServer {
    /// Forks the server. The thread that calls this must live as long as the server is needed.
    pub fn start(mut service: impl Service) -> io::Result<ForkServer> {
        // No other process may be forked until this one's copy of the server's end is closed: it
        // would keep the end open, and nobody would notice the server's death.
        let turn = turn_to_fork();
        let (ours, its) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let starter = std::process::id();
        let closed = ours.as_raw_fd();
        let process = fork(turn, move || {
            // SAFETY: this process is a copy that never uses the descriptor; while it had it open,
            // it would not notice the other's end.
            unsafe { libc::close(closed) };
            leave_the_terminal();
            serve(&its, starter, &mut service)
        })?;
        Ok(ForkServer { requests: Mutex::new(Some(ours)), process: Some(process) })
    }

    /// Lets the server, and all processes that it forks later, know something. `false`: `stop`
    /// became true before that.
    ///
    /// # Errors
    /// The server is gone, or stays stopped.
    pub fn teach(&self, lesson: &[u8], stop: &AtomicBool) -> io::Result<bool> {
        Ok(self.request(stop, |server| send(server, lesson, None))?.is_some())
    }

    /// Has the server fork a process for an order. It gets copies of `ends`; the others are closed.
    /// `None`: `stop` became true before there was one.
    ///
    /// # Errors
    /// The server is gone, stays stopped, or cannot fork.
    pub fn fork(
        &self,
        order: &[u8],
        ends: [OwnedFd; 2],
        stop: &AtomicBool,
    ) -> io::Result<Option<Process>> {
        let mut reply = [0; size_of::<i32>()];
        let asked = self.request(stop, |server| {
            send(server, order, Some(&ends))?;
            server.read_exact(&mut reply)
        })?;
        match (asked, i32::from_ne_bytes(reply)) {
            (None, _) => Ok(None),
            (Some(()), pid @ 1..) => Ok(Some(Process { pid })),
            (Some(()), error) => Err(io::Error::from_raw_os_error(-error)),
        }
    }

    fn request<T>(
        &self,
        stop: &AtomicBool,
        ask: impl FnOnce(&mut Patient<'_>) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        let gone = || io::Error::new(BrokenPipe, "the fork server is gone");
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let to = self.process.as_ref().map_or(0, Process::pid);
        let socket = requests.as_ref().ok_or_else(gone)?;
        let asked = ask(&mut Patient { socket, to, stop });
        if asked.is_err() {
            // Nobody can tell any more which answer is whose.
            hang_up(&mut requests);
        }
        match asked {
            Ok(answer) => Ok(Some(answer)),
            Err(_) if stop.load(Ordering::Relaxed) => Ok(None),
            Err(error) => match error.kind() {
                UnexpectedEof | BrokenPipe | ConnectionReset => Err(gone()),
                _ => Err(error),
            },
        }
    }
}

/// Ends the connection. Processes that were forked since have copies of this end, so closing it
/// would not be enough.
fn hang_up(requests: &mut MutexGuard<'_, Option<UnixStream>>) {
    if let Some(socket) = requests.take() {
        let _ = socket.shutdown(Shutdown::Both);
    }
}

impl Drop for ForkServer {
    fn drop(&mut self) {
        // It ends when the connection does, unless it is stopped.
        hang_up(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(process) = self.process.take() {
            process.kill(libc::SIGCONT);
            process.wait();
        }
    }
}

/// A signal from the terminal, or one to all processes of a job, is for the process that started
/// the server: what runs may end first. Standard output is not held open for longer than by it.
fn leave_the_terminal() {
    // SAFETY: plain system calls on descriptors of this process, which is a copy of one thread.
    unsafe {
        libc::setsid();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        for fd in 0..=2 {
            libc::dup2(nowhere, fd);
        }
    }
}

/// Answers requests until the other end is closed.
fn serve(mut requests: &UnixStream, starter: u32, service: &mut impl Service) -> i32 {
    while let Ok((bytes, ends)) = receive(requests) {
        let Some(ends) = ends else {
            service.learn(&bytes);
            continue;
        };
        let closed = requests.as_raw_fd();
        let work = || {
            // SAFETY: this process is a copy that never uses the descriptor; with it the server's
            // death would be noticed only when this process has ended, too.
            unsafe { libc::close(closed) };
            service.work(&bytes, ends)
        };
        let reply = match fork_sibling(starter, work) {
            Ok(pid) => pid,
            Err(error) => -error.raw_os_error().unwrap_or(libc::EAGAIN),
        };
        if requests.write_all(&reply.to_ne_bytes()).is_err() {
            break;
        }
    }
    0
}

/// Forks a process whose parent is this process's parent, which is `starter`.
fn fork_sibling(starter: u32, work: impl FnOnce() -> i32) -> io::Result<libc::pid_t> {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: as `fork`, which cannot be told whose child it makes. The server has one thread, so
    // no lock is held that the C library would have to release. The child never returns from here.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) } {
        -1 => Err(io::Error::last_os_error()),
        0 => be_child(starter, work),
        pid => Ok(pid as libc::pid_t),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::time::Duration;

    use super::*;
    use crate::tests::turn;
    use crate::{Pipe, await_readable, pipe};

    const LONG: Duration = Duration::from_secs(20);
    static NEVER: AtomicBool = AtomicBool::new(false);

    /// Answers with all lessons and the order; some orders mean something else.
    struct Parrot(Vec<u8>);

    impl Service for Parrot {
        fn learn(&mut self, lesson: &[u8]) {
            self.0.extend_from_slice(lesson);
        }

        fn work(&self, order: &[u8], [answer, _]: [OwnedFd; 2]) -> i32 {
            match order {
                b"sleep" => std::thread::sleep(LONG),
                b"abort" => std::process::abort(),
                b"panic" => panic!("on purpose"),
                _ => {}
            }
            let mut answer = File::from(answer);
            let written = answer.write_all(&self.0).and_then(|()| answer.write_all(order));
            i32::from(written.is_err())
        }
    }

    fn server() -> ForkServer {
        ForkServer::start(Parrot(Vec::new())).expect("a server")
    }

    /// A process for an order, with the end where its answer is read.
    fn asked(server: &ForkServer, order: &[u8]) -> (Process, File) {
        let (answer, other) = (pipe().expect("a pipe"), pipe().expect("a pipe"));
        let process = server.fork(order, [answer.write, other.write], &NEVER).expect("an answer");
        (process.expect("a process"), File::from(answer.read))
    }

    fn answer(server: &ForkServer, order: &[u8]) -> (Vec<u8>, i32) {
        let (process, mut from) = asked(server, order);
        let mut answer = Vec::new();
        from.read_to_end(&mut answer).expect("an answer with an end");
        (answer, process.wait())
    }

    #[test]
    fn each_order_has_a_process_that_knows_the_lessons_so_far() {
        let _turn = turn();
        let server = server();
        assert_eq!(answer(&server, b"one"), (b"one".to_vec(), 0));
        let long = vec![b'x'; 3 << 20];
        assert!(server.teach(&long, &NEVER).expect("a lesson"));
        assert_eq!(answer(&server, b"two"), ([&long, &b"two"[..]].concat(), 0));
        assert_eq!(answer(&server, &long), ([&long[..], &long].concat(), 0));
        assert_eq!(answer(&server, b""), (long, 0));
    }

    #[test]
    fn a_process_that_dies_costs_itself_only() {
        let _turn = turn();
        let server = server();
        assert_eq!(libc::WTERMSIG(answer(&server, b"abort").1), libc::SIGABRT);
        assert_eq!(libc::WEXITSTATUS(answer(&server, b"panic").1), crate::PANICKED);
        assert_eq!(answer(&server, b"next"), (b"next".to_vec(), 0));
    }

    #[test]
    fn its_processes_are_children_of_the_starter() {
        let _turn = turn();
        let server = server();
        let (process, from) = asked(&server, b"sleep");
        assert!(!await_readable([Some(from.as_fd())], Duration::from_millis(20)));
        assert_eq!(process.ended(), None);
        process.kill(libc::SIGKILL);
        assert_eq!(libc::WTERMSIG(process.wait()), libc::SIGKILL);
    }

    #[test]
    fn nobody_else_keeps_the_ends_open() {
        let _turn = turn();
        let server = server();
        let (sleeper, _from) = asked(&server, b"sleep");
        let Pipe { read, write } = pipe().expect("a pipe");
        let other = pipe().expect("a pipe");
        let quick = server.fork(b"quick", [write, other.write], &NEVER).expect("an answer");
        let quick = quick.expect("a process");
        let (later, _from_later) = asked(&server, b"sleep");
        let mut answer = Vec::new();
        File::from(read).read_to_end(&mut answer).expect("an end while others run");
        assert_eq!((answer, quick.wait()), (b"quick".to_vec(), 0));
        for process in [sleeper, later] {
            process.kill(libc::SIGKILL);
            process.wait();
        }
    }

    #[test]
    fn several_threads_may_ask() {
        let _turn = turn();
        let server = server();
        std::thread::scope(|scope| {
            for index in 0..8_u8 {
                let server = &server;
                scope.spawn(move || {
                    for _ in 0..20 {
                        assert_eq!(answer(server, &[index; 5]), (vec![index; 5], 0));
                    }
                });
            }
        });
    }

    #[test]
    fn a_server_ends_although_a_later_one_has_a_copy_of_its_connection() {
        let _turn = turn();
        let (first, second) = (server(), server());
        assert_eq!(answer(&second, b"both run"), (b"both run".to_vec(), 0));
        drop(first);
        assert_eq!(answer(&second, b"one runs"), (b"one runs".to_vec(), 0));
    }

    #[test]
    fn signals_to_a_whole_job_do_not_end_it() {
        let _turn = turn();
        let server = server();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // The answer proves that it has left the terminal before the signal comes.
            assert_eq!(answer(&server, b"before").1, 0);
            server.process.as_ref().expect("it runs").kill(signal);
            assert_eq!(answer(&server, b"after"), (b"after".to_vec(), 0));
        }
    }

    #[test]
    fn a_server_that_was_killed_is_an_error() {
        let _turn = turn();
        let server = server();
        // Neither a server that was forked later nor a process of this one hides its death.
        let _later = self::server();
        let (sleeper, _from) = asked(&server, b"sleep");
        server.process.as_ref().expect("it runs").kill(libc::SIGKILL);
        let (answer, other) = (pipe().expect("a pipe"), pipe().expect("a pipe"));
        let late = server.fork(b"late", [answer.write, other.write], &NEVER);
        let error = late.expect_err("it is dead");
        assert_eq!(error.to_string(), "the fork server is gone");
        sleeper.kill(libc::SIGKILL);
        sleeper.wait();
    }

    fn unanswered(server: &ForkServer, stop: &AtomicBool) -> io::Result<Option<Process>> {
        let (answer, other) = (pipe()?, pipe()?);
        server.fork(b"order", [answer.write, other.write], stop)
    }

    #[test]
    fn nobody_waits_for_ever_for_a_server_that_is_stopped() {
        let _turn = turn();
        let (server, stop) = (server(), AtomicBool::new(false));
        let own = server.process.as_ref().expect("it runs");
        assert_eq!(answer(&server, b"before").1, 0);
        own.kill(libc::SIGSTOP);
        let ended = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| unanswered(&server, &stop));
            std::thread::sleep(Duration::from_millis(300));
            assert!(!waiting.is_finished());
            stop.store(true, Ordering::Relaxed);
            waiting.join().expect("the thread")
        });
        assert!(ended.expect("no fault").is_none());
        let late = unanswered(&server, &NEVER).expect_err("it was given up");
        assert_eq!(late.to_string(), "the fork server is gone");
    }

    #[test]
    fn a_server_that_stays_stopped_is_an_error() {
        let _turn = turn();
        let server = server();
        assert_eq!(answer(&server, b"before").1, 0);
        let own = server.process.as_ref().expect("it runs");
        // One that goes on in time answers.
        own.kill(libc::SIGSTOP);
        let waits = || {
            std::thread::sleep(Duration::from_millis(300));
            own.kill(libc::SIGCONT);
        };
        std::thread::scope(|scope| {
            scope.spawn(waits);
            assert_eq!(answer(&server, b"late"), (b"late".to_vec(), 0));
        });
        own.kill(libc::SIGSTOP);
        // More than the connection holds.
        let fault = server.teach(&vec![b'x'; 3 << 20], &NEVER).expect_err("it is stopped");
        let said = fault.to_string();
        assert!(said.starts_with(&format!("process {} of this program was stopped", own.pid())));
        assert!(said.ends_with("for 10 s; run it again with --resume"), "{said}");
    }
}
