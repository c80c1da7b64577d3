//! Plain probes that only ask "is it there": each result changes one member's life.

use std::sync::Arc;
use std::time::Duration;

use super::board::{Board, Life};

/// How a probe ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    /// The member answered after this long.
    Alive(Duration),
    /// It did not, within the probe's limit.
    Dead,
}

/// The running board of a probed group.
#[derive(Debug, Clone)]
pub struct Pulse {
    board: Board,
    /// How many successes in a row make a dead member usable again; at least 1.
    returns: u32,
    streaks: Box<[u32]>,
}

impl Pulse {
    /// Nothing is known of `members` members. A dead one returns after `returns` successes in a row; 0 counts as 1.
    #[must_use]
    pub fn new(members: usize, returns: u32) -> Self {
        Self { board: Board::blank(members), returns: returns.max(1), streaks: vec![0; members].into() }
    }

    /// Takes a result: the next board, and the member's new life where it turned. What nobody has tested counts as
    /// working, so a first success turns nothing.
    pub fn record(&mut self, member: usize, beat: Beat) -> (Arc<Board>, Option<Life>) {
        let mut turned = None;
        if let (Some(state), Some(streak)) = (self.board.members.get_mut(member), self.streaks.get_mut(member)) {
            let life = match beat {
                Beat::Alive(delay) => {
                    *streak = streak.saturating_add(1);
                    state.delay = Some(delay);
                    self.board.last_up = Some(member);
                    if state.life.usable() || *streak >= self.returns { Life::Up } else { Life::Down }
                }
                Beat::Dead => {
                    *streak = 0;
                    Life::Down
                }
            };
            turned = (state.life.usable() != life.usable()).then_some(life);
            state.life = life;
        }
        (Arc::new(self.board.clone()), turned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_told_once_and_a_first_success_is_none() {
        let mut pulse = Pulse::new(2, 1);
        let alive = Beat::Alive(Duration::from_millis(3));
        let (board, turned) = pulse.record(0, alive);
        assert_eq!((board.members[0].life, turned), (Life::Up, None));
        assert_eq!(pulse.record(0, Beat::Dead).1, Some(Life::Down));
        assert_eq!(pulse.record(0, Beat::Dead).1, None);
        assert_eq!(pulse.record(1, Beat::Dead).1, Some(Life::Down), "untested counted as working");
        let (board, turned) = pulse.record(0, alive);
        assert_eq!((board.last_up, turned), (Some(0), Some(Life::Up)));
        assert_eq!(pulse.record(9, alive).1, None, "a foreign member is ignored");
    }

    #[test]
    fn a_dead_member_returns_after_as_many_successes_as_asked_for() {
        let mut pulse = Pulse::new(1, 3);
        let alive = Beat::Alive(Duration::from_millis(3));
        let turns = [alive, Beat::Dead, alive, alive, Beat::Dead, alive, alive, alive, alive]
            .map(|beat| pulse.record(0, beat).1);
        assert_eq!(turns.iter().flatten().collect::<Vec<_>>(), [&Life::Down, &Life::Up]);
        assert_eq!(turns[7], Some(Life::Up), "three in a row, not three in all");
    }
}
