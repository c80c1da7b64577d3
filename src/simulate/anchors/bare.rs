//! Strategies that know nothing of their members.

use crate::simulate::attempt::Plan;
use crate::simulate::contender::Contender;
use crate::simulate::draw::Draw;
use crate::simulate::field::Field;

/// Any member, all alike.
#[derive(Debug, Default)]
pub struct Random;

impl Contender for Random {
    type Event = ();

    fn start(&mut self, _field: &mut Field<'_, ()>) {}

    fn on(&mut self, (): (), _field: &mut Field<'_, ()>) {}

    fn pick(&mut self, _site: usize, field: &mut Field<'_, ()>) -> Plan {
        let draw = Draw::of([(field.now * 1000.0) as u64, 5]).bits();
        nth(field, draw)
    }
}

/// One member after the other.
#[derive(Debug, Default)]
pub struct InTurn {
    turn: u64,
}

impl Contender for InTurn {
    type Event = ();

    fn start(&mut self, _field: &mut Field<'_, ()>) {}

    fn on(&mut self, (): (), _field: &mut Field<'_, ()>) {}

    fn pick(&mut self, _site: usize, field: &mut Field<'_, ()>) -> Plan {
        self.turn += 1;
        nth(field, self.turn)
    }
}

fn nth(field: &Field<'_, ()>, number: u64) -> Plan {
    let count = field.members().count() as u64;
    let member = number.checked_rem(count).and_then(|place| field.members().nth(place as usize));
    member.map_or_else(Plan::default, Plan::only)
}
