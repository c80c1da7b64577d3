//! What one pick costs: nanoseconds for each strategy and size of group, alone and while another thread replaces boards.
//!
//! `cargo bench --bench pick`. A lock on the path would show in the second column, which is why it is there. That a pick
//! allocates nothing is not measured: counting needs an allocator of our own and so unsafe code, which this package
//! forbids in all its targets.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use etemenanki::addr::OutboundId;
use etemenanki::balance::{Ask, Balancer, Board, Exit, Life, Member, Strategy};
use rand::SeedableRng;
use rand::rngs::SmallRng;

const PICKS: u32 = 2_000_000;
const STRATEGIES: [Strategy; 4] = [Strategy::Failover, Strategy::Optimal, Strategy::Random, Strategy::RoundRobin];

fn main() {
    println!("{:<12} {:>8} {:>12} {:>22}", "strategy", "members", "ns per pick", "while boards change");
    for strategy in STRATEGIES {
        for members in [1, 3, 30, 300] {
            let balancer = Balancer::new("bench".into(), group(members), strategy, Exit::None);
            balancer.publish(board(members));
            let alone = nanoseconds(&balancer);
            let busy = while_boards_change(&balancer, members);
            println!("{:<12} {members:>8} {alone:>12.1} {busy:>22.1}", strategy.as_str());
        }
    }
}

fn nanoseconds(balancer: &Balancer) -> f64 {
    let mut rng = SmallRng::seed_from_u64(1);
    let start = Instant::now();
    for _ in 0..PICKS {
        black_box(balancer.pick(black_box(Ask::TCP), &mut rng));
    }
    start.elapsed().as_nanos() as f64 / f64::from(PICKS)
}

fn while_boards_change(balancer: &Balancer, members: u32) -> f64 {
    let stop = AtomicBool::new(false);
    let boards = [Arc::new(board(members)), Arc::new(board(members))];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for board in boards.iter().cycle().take_while(|_| !stop.load(Ordering::Relaxed)) {
                balancer.publish(board.clone());
                std::thread::yield_now();
            }
        });
        let cost = nanoseconds(balancer);
        stop.store(true, Ordering::Relaxed);
        cost
    })
}

fn group(members: u32) -> Vec<Member> {
    (0..members)
        .map(|n| Member { tag: format!("member-{n}").into(), hop: OutboundId(n).into(), udp: true, weight: 100 })
        .collect()
}

/// A third of the members is down, so that skipping them is part of the price.
fn board(members: u32) -> Board {
    let mut board = Board::weighted((0..members).map(|_| 100));
    for (n, state) in board.members.iter_mut().enumerate() {
        state.life = if n % 3 == 2 { Life::Down } else { Life::Up };
    }
    board
}
