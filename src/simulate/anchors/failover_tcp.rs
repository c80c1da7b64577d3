//! The failover of the engine that our TOML came from: a plain TCP connect every half minute, the first that is up.

use crate::simulate::attempt::Plan;
use crate::simulate::contender::Contender;
use crate::simulate::field::Field;

/// Pause between checks of a member, in seconds.
const PAUSE: f64 = 30.0;
/// How long a check may take.
const LIMIT: f64 = 5.0;
/// What a connect costs, in bytes.
const COST: f64 = 200.0;

/// See the module.
#[derive(Debug, Default)]
pub struct FailoverTcp {
    up: Vec<bool>,
}

/// A check begins, or ended.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// Of this member.
    Begin(usize),
    /// And this is how.
    End(usize, bool),
}

impl Contender for FailoverTcp {
    type Event = Check;

    fn start(&mut self, field: &mut Field<'_, Check>) {
        self.up = vec![true; field.world.paths.len()];
        for (member, path) in field.world.paths.iter().enumerate() {
            field.at(path.born, Check::Begin(member));
        }
    }

    fn on(&mut self, event: Check, field: &mut Field<'_, Check>) {
        match event {
            Check::Begin(member) => {
                let (now, key) = (field.now, (1 << 41) + (field.now * 10.0) as u64);
                field.bytes += COST;
                match field.world.exchange(member, now, now + LIMIT, key) {
                    Ok(end) => field.at(end, Check::End(member, true)),
                    Err((_, end)) => field.at(end, Check::End(member, false)),
                }
            }
            Check::End(member, up) => {
                self.up[member] = up;
                field.at(field.now + PAUSE, Check::Begin(member));
            }
        }
    }

    fn pick(&mut self, _site: usize, field: &mut Field<'_, Check>) -> Plan {
        self.ranking(field).first().map_or_else(Plan::default, |&member| Plan::only(member))
    }

    fn ranking(&self, field: &Field<'_, Check>) -> Vec<usize> {
        let mut members: Vec<usize> = field.members().collect();
        members.sort_by_key(|&member| !self.up[member]);
        members
    }
}
