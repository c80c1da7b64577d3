//! The bounded buffer between those who speak and the thread that writes.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use super::file::LogFile;
use super::stamp::Stamper;

/// Bytes that wait for each outlet at most; lines beyond are dropped and counted.
const MOST_WAITING: usize = 1 << 20;

/// The two logs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Log {
    General = 0,
    Access = 1,
}

/// Where a log goes.
#[derive(Debug)]
pub(super) enum Outlet {
    Off,
    Stdout,
    File(LogFile),
}

/// General log and access log.
pub(super) type Outlets = [Outlet; 2];

/// Both ends share it.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// There is something to write.
    work: Condvar,
    /// All has been written.
    rest: Condvar,
}

#[derive(Debug)]
struct State {
    stamper: Stamper,
    pages: [Vec<u8>; 2],
    /// Both logs go to standard output: one page then, so that lines keep their order.
    shared: bool,
    dropped: u64,
    next: Option<Outlets>,
    writing: bool,
    closed: bool,
}

impl Queue {
    /// Starts the writing thread.
    pub(super) fn start(outlets: Outlets) -> io::Result<Arc<Self>> {
        let state = State {
            stamper: Stamper::local(),
            pages: [Vec::new(), Vec::new()],
            shared: is_shared(&outlets),
            dropped: 0,
            next: None,
            writing: true,
            closed: false,
        };
        let queue = Arc::new(Self { state: Mutex::new(state), work: Condvar::new(), rest: Condvar::new() });
        let theirs = Arc::clone(&queue);
        thread::Builder::new().name("log".to_owned()).spawn(move || theirs.write(outlets))?;
        Ok(queue)
    }

    /// Adds a line; never waits for the disk.
    pub(super) fn push(&self, log: Log, line: &str) {
        let mut state = self.lock();
        let page = if state.shared { 0 } else { log as usize };
        let State { stamper, pages, dropped, .. } = &mut *state;
        if pages[page].len() + line.len() > MOST_WAITING {
            *dropped += 1;
            return;
        }
        stamper.write(SystemTime::now(), &mut pages[page]);
        pages[page].extend_from_slice(line.as_bytes());
        pages[page].push(b'\n');
        if !state.writing {
            // Set here and not by the woken thread: the next line need not wake it again.
            state.writing = true;
            self.work.notify_one();
        }
    }

    /// From the next write on, the logs go there.
    pub(super) fn redirect(&self, outlets: Outlets) {
        let mut state = self.lock();
        state.shared = is_shared(&outlets);
        state.next = Some(outlets);
        state.writing = true;
        self.work.notify_one();
    }

    /// Waits until all is written, but not longer than `limit`: the reader of a pipe may be stuck for good.
    pub(super) fn flush(&self, limit: Duration) {
        let state = self.lock();
        let _ = self.rest.wait_timeout_while(state, limit, |state| state.writing);
    }

    /// Lets the thread end once all is written.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.work.notify_one();
    }

    /// The thread: takes all that waits at once, writes it outside the lock.
    fn write(&self, mut outlets: Outlets) {
        let mut taken = [Vec::new(), Vec::new()];
        loop {
            let mut state = self.lock();
            while state.pages.iter().all(Vec::is_empty) && state.next.is_none() {
                state.writing = false;
                self.rest.notify_all();
                if state.closed {
                    return;
                }
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let State { stamper, pages, dropped, next, .. } = &mut *state;
            std::mem::swap(&mut taken, pages);
            if *dropped > 0 {
                stamper.write(SystemTime::now(), &mut taken[0]);
                let what = "log lines were dropped, since nobody takes them fast enough";
                let _ = writeln!(taken[0], "[Warning] telemetry: {dropped} {what}");
                *dropped = 0;
            }
            let next = next.take();
            drop(state);
            for (outlet, page) in outlets.iter_mut().zip(&mut taken) {
                outlet.write(page);
                page.clear();
                page.shrink_to(MOST_WAITING / 16);
            }
            if let Some(next) = next {
                outlets = next;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet {
    /// There is nobody to complain to when a log cannot be written: a full disk costs the lines, not the service.
    fn write(&mut self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        let _ = match self {
            Self::Off => Ok(()),
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text).and_then(|()| stdout.flush())
            }
            Self::File(file) => file.write(text),
        };
    }
}

fn is_shared(outlets: &Outlets) -> bool {
    matches!(outlets, [Outlet::Stdout, Outlet::Stdout])
}
