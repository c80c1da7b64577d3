//! The writer: lines are taken where they arise and written on a thread of its own.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use super::file::{JournalFile, Limit};
use super::line::{Line, What};
use crate::balance::{Moment, Seen, Setup, Story, Witness};

/// Lines that may wait for the disk: some seconds of a busy engine.
const ROOM: usize = 8192;

/// Lines that are written at once.
const BATCH: usize = 512;

/// How often the log is told of the same trouble.
const AGAIN: Duration = Duration::from_secs(60);

/// A journal that is being written. When it is dropped, what still waits is written first.
#[derive(Debug)]
pub struct Journal {
    /// Gone only while it is dropped.
    queue: Option<SyncSender<Line>>,
    lost: Arc<AtomicU64>,
    /// The numbers of keepers, by the prints of their settings.
    numbers: Mutex<BTreeMap<u64, u32>>,
    writer: Option<JoinHandle<()>>,
}

impl Journal {
    /// Opens the file and says in it that the engine `engine` started.
    ///
    /// # Errors
    /// Where the file cannot be opened.
    pub fn open(path: &Path, limit: Limit, engine: &str) -> io::Result<Self> {
        let file = JournalFile::open(path, limit)?;
        let (queue, lines) = sync_channel(ROOM);
        let lost = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&lost);
        let writer = thread::Builder::new().name("journal".into()).spawn(move || write(file, &lines, &count))?;
        let journal = Self { queue: Some(queue), lost, numbers: Mutex::default(), writer: Some(writer) };
        journal.push(Line { t: now(), what: What::Start { journal: Line::VERSION, engine: engine.to_owned() } });
        Ok(journal)
    }

    /// Takes a line, or counts it as lost where too many wait.
    fn push(&self, line: Line) {
        if self.queue.as_ref().is_none_or(|queue| queue.try_send(line).is_err()) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn number(&self, setup: &Setup) -> u32 {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX).saturating_add(1);
        *numbers.entry(setup.print).or_insert(next)
    }
}

impl Witness for Journal {
    fn began(&self, setup: &Setup, now: Moment) {
        self.push(Line::keeper(self.number(setup), setup, now));
    }

    fn told(&self, setup: &Setup, story: &Story, now: Moment) {
        self.push(Line::told(self.number(setup), story, now));
    }

    fn saw(&self, setup: &Setup, group: usize, seen: Seen, now: Moment) {
        if let Some(line) = Line::saw(self.number(setup), setup, group, seen, now) {
            self.push(line);
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(writer) = self.writer.take() {
            // A writer that failed has nothing left to write.
            let _ = writer.join();
        }
    }
}

/// Writes until nobody can push any more.
fn write(mut file: JournalFile, lines: &Receiver<Line>, lost: &AtomicU64) {
    let mut told: Option<Instant> = None;
    while let Ok(first) = lines.recv() {
        let mut batch = vec![first];
        batch.extend(lines.try_iter().take(BATCH - 1));
        let (taken, gone) = (batch.len() as u64, lost.swap(0, Ordering::Relaxed));
        if gone > 0 {
            batch.push(Line { t: now(), what: What::Lost { lines: gone } });
        }
        let ended = file.append(&batch);
        if ended.is_err() {
            lost.fetch_add(gone + taken, Ordering::Relaxed);
        }
        let trouble = match &ended {
            Err(error) => format!("it cannot be written: {error}"),
            Ok(()) if gone > 0 => format!("{gone} lines were lost, the disk is too slow"),
            Ok(()) => continue,
        };
        if told.is_none_or(|told| told.elapsed() >= AGAIN) {
            told = Some(Instant::now());
            tracing::warn!("journal: {trouble}");
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::File;
    use std::io::BufReader;

    use super::super::read::{Lines, Read};
    use super::*;
    use crate::balance::{Guards, Plan};

    fn setup(print: u64) -> Setup {
        let (subjects, groups, plan, idle) = (vec![], vec![], Plan::Nothing, None);
        Setup { subjects, groups, plan, guards: Guards::default(), idle, print, seed: 0 }
    }

    fn read(path: &Path) -> Vec<What> {
        let lines = Lines::new(BufReader::new(File::open(path).unwrap())).map(|line| line.unwrap());
        lines.map(|line| if let Read::Line(line) = line { line.what } else { panic!("{line:?}") }).collect()
    }

    #[test]
    fn what_was_taken_is_there_after_the_end_and_keepers_have_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let journal = Journal::open(&path, Limit(0), "etemenanki 1").unwrap();
        let now = Moment::default();
        journal.began(&setup(500), now);
        journal.began(&setup(9), now);
        for _ in 0..2000 {
            journal.told(&setup(500), &Story::Turned { member: "a".into(), up: true }, now);
        }
        journal.began(&setup(500), now);
        drop(journal);
        let found = read(&path);
        assert!(matches!(&found[0], What::Start { engine, .. } if engine == "etemenanki 1"));
        let keepers =
            found.iter().filter_map(|w| if let What::Keeper { keeper, .. } = w { Some(*keeper) } else { None });
        assert_eq!(keepers.collect::<Vec<_>>(), [1, 2, 1], "a keeper that begins again keeps its number");
        let decisions = found.iter().filter(|what| matches!(what, What::Decision(word) if word.keeper == 1)).count();
        assert_eq!(decisions, 2000);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        // No writer: nobody ever takes the one line that there is room for.
        let (queue, _kept) = sync_channel(1);
        let lost = Arc::new(AtomicU64::new(0));
        let journal = Journal { queue: Some(queue), lost: Arc::clone(&lost), numbers: Mutex::default(), writer: None };
        for _ in 0..5 {
            journal.began(&setup(1), Moment::default());
        }
        assert_eq!(lost.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn losses_are_told_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let (queue, lines) = sync_channel(8);
        queue.send(Line::told(1, &Story::Turned { member: "a".into(), up: true }, Moment::default())).unwrap();
        drop(queue);
        write(JournalFile::open(&path, Limit(0)).unwrap(), &lines, &AtomicU64::new(7));
        assert!(matches!(read(&path)[..], [What::Decision(_), What::Lost { lines: 7 }]));
    }
}
