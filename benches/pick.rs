//! What one pick costs: nanoseconds for each strategy and size of group, alone and while another thread replaces boards.
//!
//! `cargo bench --bench pick`. A lock on the path would show in the second column, which is why it is there. That a pick
//! allocates nothing is not measured: counting needs an allocator of our own and so unsafe code, which this package
//! forbids in all its targets.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use etemenanki::addr::OutboundId;
use etemenanki::balance::{Ask, Balancer, Board, Exit, Key, Life, Member, Strategy};
use rand::SeedableRng;
use rand::rngs::SmallRng;

fn main() {
    println!("{:<12} {:>8} {:>12} {:>22}", "strategy", "members", "ns per pick", "while boards change");
    for strategy in Strategy::ALL.into_iter().chain([Strategy::Hrw { top: 3 }]) {
        for members in [1, 8, 100, 1000] {
            let balancer = Balancer::new("bench".into(), group(members), strategy, Exit::None);
            balancer.publish(board(members));
            let alone = nanoseconds(&balancer);
            let busy = while_boards_change(&balancer, members);
            println!("{:<12} {members:>8} {alone:>12.1} {busy:>22.1}", name(strategy));
        }
    }
}

fn name(strategy: Strategy) -> String {
    match strategy {
        Strategy::Hrw { top } if top > 0 => format!("hrw, top {top}"),
        other => other.as_str().to_owned(),
    }
}

fn nanoseconds(balancer: &Balancer) -> f64 {
    let (mut rng, mut picks) = (SmallRng::seed_from_u64(1), 1000u32);
    let key = Key::EMPTY.with(b"10.0.0.");
    loop {
        let start = now();
        for n in 0..picks {
            let ask = Ask { key: key.with(&n.to_le_bytes()), ..Ask::TCP };
            black_box(balancer.pick(black_box(ask), &mut rng));
        }
        let took = now() - start;
        // The system tells a thread's time in steps of some milliseconds.
        if took > Duration::from_millis(100) {
            return took.as_nanos() as f64 / f64::from(picks);
        }
        picks *= 2;
    }
}

/// Time that this thread has run: other work on the machine does not count. Where the system does not tell, the clock.
fn now() -> Duration {
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = ran.and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| UNIX_EPOCH.elapsed().unwrap_or_default(), Duration::from_nanos)
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

/// A third of the members is down, so that skipping them is part of the price; the ranking is not the list.
fn board(members: u32) -> Board {
    let mut board = Board::weighted((0..members).map(|_| 100));
    for (n, state) in board.members.iter_mut().enumerate() {
        state.life = if n % 3 == 2 { Life::Down } else { Life::Up };
    }
    board.ranking.reverse();
    board.taken = members.div_ceil(2) as usize;
    board
}
