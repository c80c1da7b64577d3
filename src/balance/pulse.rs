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
}

impl Pulse {
    /// Starts from what is known, which may be nothing.
    #[must_use]
    pub fn new(board: &Board) -> Self {
        Self { board: board.clone() }
    }

    /// Takes a result: the next board, and the member's new life where it turned. What nobody has tested counts as
    /// working, so a first success turns nothing.
    pub fn record(&mut self, member: usize, beat: Beat) -> (Arc<Board>, Option<Life>) {
        let mut turned = None;
        if let Some(state) = self.board.members.get_mut(member) {
            let life = match beat {
                Beat::Alive(delay) => {
                    state.delay = Some(delay);
                    self.board.last_up = Some(member);
                    Life::Up
                }
                Beat::Dead => Life::Down,
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
        let mut pulse = Pulse::new(&Board::blank(2));
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
}
