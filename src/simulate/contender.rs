//! What a strategy is to the bench, whoever wrote it.

use super::attempt::{Attempt, Plan};
use super::field::Field;

/// A strategy in a world. It plans its own events and is called for them, for each flow, and for what flows show.
pub trait Contender {
    /// What it plans.
    type Event;

    /// The world begins.
    fn start(&mut self, field: &mut Field<'_, Self::Event>);

    /// Something planned is due.
    fn on(&mut self, event: Self::Event, field: &mut Field<'_, Self::Event>);

    /// Who carries a flow to this site, and who is tried next.
    fn pick(&mut self, site: usize, field: &mut Field<'_, Self::Event>) -> Plan;

    /// A flow ended.
    fn saw(&mut self, _attempt: &Attempt, _field: &mut Field<'_, Self::Event>) {}

    /// All members, best first, by whatever it goes by. Asked only where our retry is added to it.
    fn ranking(&self, field: &Field<'_, Self::Event>) -> Vec<usize> {
        field.members().collect()
    }
}
