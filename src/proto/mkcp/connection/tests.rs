#![allow(clippy::unwrap_used)]

use std::collections::BinaryHeap;

use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::proto::mkcp::segment::Segments;

/// A packet on its way: when it arrives, its place among those that arrive then, and to which end.
type Flying = (std::cmp::Reverse<(u32, u64)>, usize, Vec<u8>);

/// Two ends, a path between them, and the time.
struct World {
    now: u32,
    ends: [Connection; 2],
    path: BinaryHeap<Flying>,
    rng: StdRng,
    /// Packets of a hundred that are lost, milliseconds that each takes, and how many more it may take.
    loss: u32,
    takes: u32,
    more: u32,
    count: u64,
    /// Everything that arrived.
    arrived: Vec<(usize, Vec<u8>)>,
}

fn settings() -> Settings {
    Settings::of(1350, 0, 50, 5, 20, 1, 2 * 1024 * 1024)
}

impl World {
    fn new(loss: u32, takes: u32, more: u32) -> Self {
        let end = || Connection::new(7, settings());
        let rng = StdRng::seed_from_u64(5);
        let (path, arrived) = (BinaryHeap::new(), vec![]);
        Self { now: 0, ends: [end(), end()], path, rng, loss, takes, more, count: 0, arrived }
    }

    /// A millisecond goes by.
    fn step(&mut self) {
        self.now += 1;
        while self.path.peek().is_some_and(|(at, ..)| at.0.0 <= self.now) {
            let (_, to, packet) = self.path.pop().unwrap();
            for segment in Segments::new(&packet) {
                self.ends[to].input(self.now, &segment, true);
            }
            self.arrived.push((to, packet));
        }
        for from in 0..2 {
            self.ends[from].beat(self.now);
            let mut packet = vec![];
            while self.ends[from].transmit(self.now, &mut packet) {
                let packet = std::mem::take(&mut packet);
                assert!(packet.len() <= 1350);
                self.count += 1;
                if self.rng.random_range(0..100) >= self.loss {
                    let at = self.now + self.takes + self.rng.random_range(0..=self.more);
                    self.path.push((std::cmp::Reverse((at, self.count)), 1 - from, packet));
                }
            }
        }
    }

    fn read(&mut self, end: usize, into: &mut Vec<u8>) -> Result<Heard, Fault> {
        self.ends[end].read(|piece| {
            into.extend_from_slice(piece);
            piece.len()
        })
    }

    /// Says `bytes` at both ends at the same time, and reads them at the other; gives the milliseconds.
    fn exchange(&mut self, bytes: &[u8]) -> u32 {
        let from = self.now;
        let (mut said, mut heard) = ([0; 2], [vec![], vec![]]);
        while heard.iter().any(|heard| heard.len() < bytes.len()) {
            assert!(self.now - from < 100_000, "{said:?} were said, {:?} heard", heard.each_ref().map(Vec::len));
            for end in 0..2 {
                said[end] += self.ends[end].write(&bytes[said[end]..]).unwrap();
                self.read(end, &mut heard[end]).unwrap();
            }
            self.step();
        }
        assert!(heard.iter().all(|heard| heard == bytes));
        self.now - from
    }
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
}

#[test]
fn bytes_go_both_ways_at_the_pace_that_is_set() {
    let bytes = bytes(3 << 20);
    let took = World::new(0, 5, 0).exchange(&bytes);
    // Five megabytes a second.
    assert!((550..900).contains(&took), "{took} ms");
}

#[test]
fn a_short_word_does_not_wait_for_a_beat() {
    let mut world = World::new(0, 5, 0);
    world.exchange(&[1; 100]);
    for _ in 0..5 {
        (0..13).for_each(|_| world.step());
        let took = world.exchange(&[2; 100]);
        assert!(took <= 7, "{took} ms");
    }
}

#[test]
fn losses_are_made_good() {
    for (loss, most) in [(1, 2000), (5, 3000), (20, 15_000)] {
        let took = World::new(loss, 10, 15).exchange(&bytes(3 << 20));
        assert!(took < most, "{loss} %: {took} ms");
    }
}

#[test]
fn whoever_does_not_read_is_not_overrun() {
    let (mut world, bytes) = (World::new(5, 5, 3), bytes(4 << 20));
    let mut said = 0;
    for _ in 0..5000 {
        said += world.ends[0].write(&bytes[said..]).unwrap();
        world.step();
    }
    let window = settings().window as usize * settings().segment();
    let held = world.ends[1].held();
    assert!(held <= window && held > window / 2, "{held} of {window}");
    let mut heard = vec![];
    while heard.len() < bytes.len() {
        assert!(world.now < 20_000, "{} of {}", heard.len(), bytes.len());
        said += world.ends[0].write(&bytes[said..]).unwrap();
        world.read(1, &mut heard).unwrap();
        world.step();
    }
    assert!(heard == bytes && world.ends[1].held() == 0);
}

#[test]
fn what_was_written_is_said_before_the_end() {
    for loss in [0, 10] {
        let (mut world, bytes) = (World::new(loss, 5, 5), bytes(1 << 20));
        assert_eq!(world.ends[0].write(&bytes), Some(bytes.len()));
        world.ends[0].close(0);
        assert_eq!(world.ends[0].write(b"x"), None);
        let mut heard = vec![];
        while world.read(1, &mut heard).unwrap() != Heard::End {
            assert!(world.now < 10_000);
            world.step();
        }
        assert!(heard == bytes);
        world.ends[1].close(world.now);
        let from = world.now;
        while !world.ends.iter().all(Connection::is_over) {
            assert!(world.now - from < 10_000, "{loss}");
            world.step();
        }
        assert!(loss > 0 || world.now - from < 20);
    }
}

#[test]
fn a_knock_is_answered_at_once_and_nobody_reads_it() {
    let mut world = World::new(0, 5, 0);
    world.ends[0].knock();
    while !world.ends[0].is_answered() {
        world.step();
    }
    assert!(world.now <= 13, "{} ms", world.now);
    assert_eq!(world.read(1, &mut vec![]), Ok(Heard::Nothing));
    world.exchange(b"hello");
}

#[test]
fn silence_ends_it_and_sooner_if_nobody_was_ever_heard() {
    let mut world = World::new(0, 5, 0);
    world.ends[0].knock();
    world.loss = 100;
    while !world.ends[0].is_over() {
        world.step();
    }
    assert_eq!((world.ends[0].fault(), world.now), (Some(Fault::Silence), UNPROVEN));
    // Many asked in vain, but ever more rarely.
    assert!(world.count < 16, "{}", world.count);

    let mut world = World::new(0, 5, 0);
    world.exchange(b"hello");
    (0..300_000).for_each(|_| world.step());
    assert_eq!(world.read(0, &mut vec![]), Ok(Heard::Nothing));
    let from = world.now;
    world.loss = 100;
    while !world.ends[0].is_over() {
        world.step();
    }
    assert_eq!(world.read(0, &mut vec![]), Err(Fault::Silence));
    assert!((SILENCE - QUIET..=SILENCE).contains(&(world.now - from)), "{}", world.now - from);
}

#[test]
fn an_idle_conversation_costs_a_ping_now_and_then() {
    let mut world = World::new(0, 5, 0);
    world.exchange(&bytes(100_000));
    (0..1000).for_each(|_| world.step());
    let before = world.count;
    (0..60_000).for_each(|_| world.step());
    assert!(world.count - before <= 2 * 13, "{}", world.count - before);
}

#[test]
fn an_end_of_one_who_does_not_know_of_it_is_none() {
    let mut world = World::new(0, 5, 0);
    world.exchange(b"hello");
    let mut packet = vec![];
    write_command(7, false, Command::Terminate, [0, 0, 0], &mut packet);
    let segment = Segments::new(&packet).next().unwrap();
    world.ends[0].input(world.now, &segment, true);
    assert_eq!(world.read(0, &mut vec![]), Err(Fault::Cut));
    assert_eq!(world.ends[0].write(b"x"), None);
}

#[test]
fn old_packets_change_nothing() {
    let mut world = World::new(0, 5, 0);
    world.exchange(&bytes(50_000));
    let old = std::mem::take(&mut world.arrived);
    (0..1000).for_each(|_| world.step());
    let before = world.count;
    for (to, packet) in old.iter().chain(&old) {
        for segment in Segments::new(packet) {
            world.ends[*to].input(world.now, &segment, true);
        }
    }
    assert_eq!(world.read(1, &mut vec![]), Ok(Heard::Nothing));
    (0..1000).for_each(|_| world.step());
    assert!(world.count - before < 10, "{} packets", world.count - before);
    world.exchange(b"and on");
}

#[test]
fn who_reads_too_late_still_reads_all() {
    let mut world = World::new(0, 5, 0);
    world.exchange(b"hello");
    world.ends[0].write(b"last words").unwrap();
    world.ends[0].close(world.now);
    (0..20_000).for_each(|_| world.step());
    assert!(world.ends[1].is_over() || !world.ends[1].is_writable() || world.ends[1].write(b"x").is_none());
    let mut heard = vec![];
    assert_eq!(world.read(1, &mut heard), Ok(Heard::Bytes(10)));
    assert_eq!(world.read(1, &mut heard), Ok(Heard::End));
}

proptest! {
    /// Whatever a stranger says in a conversation: time goes on, and what is held stays bounded.
    #[test]
    fn no_words_do_harm(words in prop::collection::vec(prop::collection::vec(any::<u8>(), 12..80), 0..60), seed: u64) {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut end = Connection::new(0x0101, settings());
        let (mut now, mut out) = (0, vec![]);
        end.write(&bytes(10_000));
        for mut word in words {
            word[..2].copy_from_slice(&[1, 1]);
            word[2] %= 5;
            if word[2] == 1 && word.len() >= 18 {
                let len = word.len() as u16 - 18;
                word[8..11].fill(0);
                word[16..18].copy_from_slice(&len.to_be_bytes());
            }
            for segment in Segments::new(&word) {
                end.input(now, &segment, rng.random());
            }
            if rng.random() {
                let _ = end.read(|piece| piece.len() / 2);
            }
            now += rng.random_range(0..2000);
            end.beat(now);
            let mut count = 0;
            while end.transmit(now, &mut out) {
                out.clear();
                count += 1;
                prop_assert!(count < 1000);
            }
            prop_assert!(end.due(now) != Some(0) || end.is_over());
            prop_assert!(end.held() <= 60 * 80);
        }
    }
}

/// Whoever writes another's address on packets must not have it flooded.
#[test]
fn little_is_said_to_whoever_never_answers() {
    let mut world = World::new(0, 5, 0);
    world.loss = 0;
    world.ends[0].write(&[1; 600]).unwrap();
    while world.arrived.is_empty() {
        world.step();
    }
    let (before, mut said) = (world.count, 0);
    world.path.clear();
    world.ends[0].abandon(world.now);
    world.loss = 100;
    world.ends[1].write(&[2; 4000]).unwrap();
    while !world.ends[1].is_over() {
        world.step();
        said = world.count - before;
    }
    assert!(said < 50, "{said} packets");
}
