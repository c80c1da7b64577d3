//! The bench as a whole: the models stand where they were measured, and ours keep their promises. Small worlds, so that
//! an ordinary build runs them in seconds; the full bench is the program's `simulate`.

use super::bench::{Played, Request, run};
use super::rows::{Retry, Row};
use super::summary::Summary;
use super::tally::Score;
use super::worlds::Place;

fn place(name: &str) -> Place {
    let all = Place::traces().into_iter().chain(Place::families());
    all.into_iter().find(|place| place.name == name).expect("a known world")
}

fn row(name: &str) -> Row {
    Row::ALL.into_iter().find(|row| row.name == name).expect("a known strategy")
}

fn score(name: &str, world: &str, seed: u64) -> Score {
    row(name).play(&place(world).scene(seed), Retry::None)
}

/// Slowdowns of the prototype in T4, T5 and T7 of seed 11.
const ANCHORS: [(&str, [f64; 3]); 13] = [
    ("optimal-pr168-600s", [1.7806, 1.9340, 1.0874]),
    ("optimal-pr168-30s", [1.8263, 1.0731, 1.0101]),
    ("leastping-10s", [1.8494, 1.0738, 1.0149]),
    ("leastping-60s", [1.8005, 1.3708, 1.0370]),
    ("shadowsocks-rust", [2.0807, 1.2547, 1.0086]),
    ("mihomo-tol50", [1.7606, 1.1924, 1.0424]),
    ("mihomo-tol0", [1.7851, 1.1924, 1.0398]),
    ("sing-box", [1.8029, 1.3608, 1.0142]),
    ("leastload", [1.0977, 1.9120, 1.1363]),
    ("leastload-tol30", [1.0977, 1.7962, 1.1363]),
    ("failover-tcp30", [2.1274, 1.0911, 2.3753]),
    ("roundrobin-bare", [1.5430, 3.8078, 2.7793]),
    ("random-bare", [1.5296, 2.6152, 2.2986]),
];

#[test]
fn every_anchor_stands_where_the_prototype_put_it() {
    for (at, world) in ["T4", "T5", "T7"].into_iter().enumerate() {
        let scene = place(world).scene(11);
        for (name, wanted) in ANCHORS {
            let found = row(name).play(&scene, Retry::None).slowdown;
            assert!((found / wanted[at] - 1.0).abs() < 1e-3, "{name} in {world}: {found:.4}, not {}", wanted[at]);
        }
    }
}

#[test]
fn the_result_is_the_same_on_any_number_of_threads_and_on_every_run() {
    let request = |threads| Request {
        seeds: vec![4, 5],
        places: vec![place("T4"), place("S2")],
        rows: vec![(row("adaptive"), Retry::None), (row("random"), Retry::None), (row("sing-box"), Retry::Ours)],
        threads,
    };
    let played = |threads| run(&request(threads), &mut |_, _| {});
    let first: Vec<Played> = played(1);
    assert_eq!(first.len(), 4);
    assert_eq!(first, played(3));
    let order: Vec<_> = first.iter().map(|world| (world.place.name, world.seed)).collect();
    assert_eq!(order, [("T4", 4), ("T4", 5), ("S2", 4), ("S2", 5)]);
    let summary = Summary::of(&request(1), &first).expect("numbers");
    let text = serde_json::to_value(&summary).expect("numbers");
    let names: Vec<_> = summary.strategies.iter().map(|entry| (entry.strategy.as_str(), entry.anchor)).collect();
    assert_eq!(names, [("adaptive", false), ("random", false), ("sing-box+retry", true)]);
    let keys = |value: &serde_json::Value| value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>());
    let strategy = [
        "strategy",
        "anchor",
        "slowdown",
        "failed_pct",
        "switches_per_hour",
        "exit_changes_pct",
        "page_p95_s",
        "probe_kb_per_hour_member",
        "traces",
    ];
    let trace = ["slowdown", "failed_pct", "switches_per_hour", "recover_s"];
    assert_eq!(keys(&text["strategies"][0]).unwrap_or_default(), strategy);
    assert_eq!(keys(&text["strategies"][0]["traces"]["T4"]).unwrap_or_default(), trace);
}

#[test]
fn adaptive_avoids_the_trap_and_optimal_without_guards_does_not_retry() {
    let adaptive = score("adaptive", "T4", 2);
    assert!(adaptive.slowdown < 1.10 && adaptive.failed == 0.0, "{adaptive:?}");
    let (guarded, bare) = (score("optimal", "T5", 2), score("optimal-bare", "T5", 2));
    assert!(guarded.failed < 0.05 && bare.failed > 0.5, "{} against {}", guarded.failed, bare.failed);
}

#[test]
fn a_dead_member_loses_its_flows_and_gets_them_back() {
    // T5: six outages of the best member, the last item of each seen within a minute of its start.
    let scene = place("T5").scene(3);
    let score = row("adaptive").play(&scene, Retry::None);
    assert!(score.failed < 0.03 && score.slowdown < 1.03, "{score:?}");
    assert!(score.recover.is_some_and(|recover| recover < 60.0), "{:?}", score.recover);
    for outage in scene.world.outages() {
        let (from, until) = (outage.from as f64, outage.until as f64);
        let back = score.picks.iter().find(|(at, member)| *at > until && *member == outage.member);
        let left = score.picks.iter().any(|(at, member)| (from..until).contains(at) && *member != outage.member);
        // Quarantines of this trace are 30 or 60 s; then two signs of life, and the next item.
        if left {
            let quarantine = (from + 60.0 - until).max(0.0);
            assert!(back.is_some_and(|(at, _)| at - until < quarantine + 60.0 + 90.0), "{outage:?}: {back:?}");
        }
    }
}

#[test]
fn an_outage_of_everybody_switches_nobody() {
    let score = score("adaptive", "T6", 1);
    assert_eq!(score.switches, 0.0, "{:?}", score.picks);
    assert!(score.slowdown < 1.01, "{}", score.slowdown);
}

#[test]
fn a_better_member_that_appears_is_taken_at_once() {
    let score = score("adaptive", "T7", 1);
    let taken = score.picks.iter().find(|(_, member)| *member == 3).map(|(at, _)| *at);
    assert!(taken.is_some_and(|at| at < 3737.0 + 180.0), "{:?}", score.picks);
}

#[test]
fn a_picture_shows_every_member_and_every_strategy() {
    let request =
        Request { seeds: vec![1], places: vec![place("T3")], rows: vec![(row("failover"), Retry::None)], threads: 1 };
    let played = run(&request, &mut |_, _| {});
    let svg = super::picture::picture(&played[0].place.world(1), &played[0], &["failover".to_owned()]);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for text in ["m0", "m1", "m2", "failover", "4 h", "flapping"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.matches("<rect").count() > 50, "outages are drawn");
}
