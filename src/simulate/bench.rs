//! The bench: every strategy in every world, on as many threads as there are, with the same result on any number.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::rows::{Retry, Row};
use super::tally::Score;
use super::worlds::Place;

/// What is asked of the bench.
#[derive(Debug, Clone)]
pub struct Request {
    /// Seeds of each kind of world.
    pub seeds: Vec<u64>,
    /// Kinds of worlds.
    pub places: Vec<Place>,
    /// Strategies, and whether our retry is added to them.
    pub rows: Vec<(Row, Retry)>,
    /// Worlds at a time.
    pub threads: usize,
}

/// How all strategies did in one world.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// Which kind of world.
    pub place: Place,
    /// Its seed.
    pub seed: u64,
    /// Items of its workload.
    pub items: usize,
    /// One score a row of the request.
    pub scores: Vec<Score>,
}

/// Runs it; `progress` is told of each world that is done. The worlds come back in the order asked for.
pub fn run(request: &Request, progress: &mut dyn FnMut(usize, usize)) -> Vec<Played> {
    let tasks: Vec<(Place, u64)> =
        request.places.iter().flat_map(|&place| request.seeds.iter().map(move |&seed| (place, seed))).collect();
    let (next, (sender, done)) = (AtomicUsize::new(0), mpsc::channel());
    let mut played: Vec<Option<Played>> = tasks.iter().map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..request.threads.clamp(1, tasks.len().max(1)) {
            let (sender, next, tasks) = (sender.clone(), &next, &tasks);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&(place, seed)) = tasks.get(at) else { break };
                    if sender.send((at, play(place, seed, &request.rows))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (count, (at, result)) in done.iter().enumerate() {
            played[at] = Some(result);
            progress(count + 1, tasks.len());
        }
    });
    played.into_iter().flatten().collect()
}

fn play(place: Place, seed: u64, rows: &[(Row, Retry)]) -> Played {
    let scene = place.scene(seed);
    Played {
        place,
        seed,
        items: scene.items.len(),
        scores: rows.iter().map(|(row, retry)| row.play(&scene, *retry)).collect(),
    }
}
