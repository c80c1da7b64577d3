//! A strategy runs through a world.

use super::carry::{best, carry};
use super::contender::Contender;
use super::field::{Event, Field};
use super::network::World;
use super::tally::{Score, Tally};
use super::workload::Item;

/// What is left of a world when nothing happens any more, in seconds.
const QUIET_END: f64 = 60.0;

/// A world with its workload and what hindsight could do with each item.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// The world.
    pub world: World,
    /// What people do in it.
    pub items: Vec<Item>,
    best: Vec<Option<f64>>,
}

impl Scene {
    /// A world and its workload.
    #[must_use]
    pub fn new(world: World, items: Vec<Item>) -> Self {
        let best = items.iter().map(|item| best(&world, item)).collect();
        Self { world, items, best }
    }

    /// Lets a strategy run through all of it.
    pub fn play<C: Contender>(&self, mut contender: C) -> Score {
        let world = &self.world;
        let (mut field, mut tally) = (Field::new(world), Tally::new(world));
        contender.start(&mut field);
        for (number, item) in self.items.iter().enumerate() {
            field.plan(item.time, Event::Item(number));
        }
        while let Some((time, event)) = field.next() {
            if time >= world.length as f64 - QUIET_END {
                continue;
            }
            field.now = field.now.max(time);
            match event {
                Event::Own(event) => contender.on(event, &mut field),
                Event::Seen(attempt) => contender.saw(&attempt, &mut field),
                Event::Item(number) => self.item(number, &mut contender, &mut field, &mut tally),
            }
        }
        tally.score(world, self.items.len(), field.bytes)
    }

    /// All objects of an item are picked for with what is known at its beginning: nothing the strategy does falls into
    /// the middle of a page.
    fn item<C: Contender>(&self, number: usize, contender: &mut C, field: &mut Field<'_, C::Event>, tally: &mut Tally) {
        let item = &self.items[number];
        if let Some(member) = contender.pick(item.site, field).first() {
            tally.picked(item, member);
        }
        let mut attempts = Vec::new();
        let carried = carry(
            &self.world,
            item,
            || contender.pick(item.site, field),
            |attempt, place| {
                if place == 0 {
                    tally.dialled(&attempt);
                }
                attempts.push(attempt);
            },
        );
        let last = self.world.length as f64 - 1.0;
        for attempt in attempts {
            field.plan(attempt.trip.end.min(last), Event::Seen(attempt));
        }
        tally.carried(item, carried.time, carried.failed, self.best[number]);
    }
}
