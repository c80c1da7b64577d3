//! A wrong pick on purpose. A judge that has never said "wrong" proves nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::balance::{Balancer, Board};

/// Turns each new board's ranking over, so that the worst member serves, until stopped.
pub async fn spoil(balancer: Arc<Balancer>) {
    let mut ours: Option<Arc<Board>> = None;
    loop {
        let board = balancer.board();
        if !ours.as_ref().is_some_and(|ours| Arc::ptr_eq(ours, &board)) {
            let mut wrong = Board::clone(&board);
            wrong.ranking.reverse();
            let wrong = Arc::new(wrong);
            balancer.publish(Arc::clone(&wrong));
            ours = Some(wrong);
        }
        sleep(Duration::from_millis(2)).await;
    }
}
