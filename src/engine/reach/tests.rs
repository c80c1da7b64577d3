//! Dials are scripted, so that every way of failing can be had; the balancers and their members are real ones.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::super::build::build;
use super::super::choose::{Why, head};
use super::super::life::Lease;
use super::super::shared::Shared;
use super::*;
use crate::addr::Network;
use crate::balance::{Balancer, Board, Ear, Life, Seen, State};
use crate::frontend::{Format, Options, Source, load};
use crate::geo::Lists;

/// What dialing by an outbound comes to.
#[derive(Debug, Clone, Copy)]
enum Does {
    Open,
    Refuse,
    /// The server is there and says that the target is not.
    NoTarget,
    /// This machine cannot.
    Lack,
    /// Breaks after a byte of the client may have arrived.
    BreakLate,
    /// Opens, but only after this long.
    After(Duration),
}

struct Scene {
    house: House,
    flow: Flow,
    does: HashMap<&'static str, Does>,
    dialed: Arc<Mutex<Vec<String>>>,
    saw: Arc<Mutex<Vec<(String, usize, Evidence)>>>,
}

/// Members m0 to m4 behind a default outbound `direct`; balancers as written.
fn scene(balancers: Value) -> Scene {
    let server = json!({"servers": [{"address": "127.0.0.1", "port": 9}]});
    let member = |n: usize| json!({"tag": format!("m{n}"), "protocol": "socks", "settings": server});
    let mut outbounds = vec![json!({"tag": "direct", "protocol": "freedom"})];
    outbounds.extend((0..5).map(member));
    outbounds.push(json!({"tag": "web", "protocol": "http", "settings": server}));
    outbounds.push(json!({"tag": "loop", "protocol": "loopback", "settings": {"inboundTag": "back"}}));
    let config = json!({"outbounds": outbounds, "routing": {"balancers": balancers, "rules": [
        {"inboundTag": ["back"], "balancerTag": "inner"}, {"inboundTag": ["in"], "balancerTag": "pool"}
    ]}});
    let source = Source { name: "test.json".into(), bytes: config.to_string().into(), format: Some(Format::Json) };
    let mut loaded = load(vec![source], &Options { strict: false, env: &|_| None });
    let config = loaded.link().unwrap_or_else(|| panic!("{:?}", loaded.problems));
    let shared = Arc::new(Shared::new(build(&config, &Lists::default(), None).unwrap().snapshot));
    let (dialed, saw) = (Arc::default(), Arc::<Mutex<Vec<_>>>::default());
    for group in &shared.snapshot().groups {
        let (tag, heard) = (group.balancer.tag().to_string(), Arc::clone(&saw));
        let hear = move |seen: Seen| heard.lock().unwrap().push((tag.clone(), seen.member, seen.what));
        group.balancer.listen(Ear::new(hear));
    }
    let any = ([127, 0, 0, 1], 1).into();
    let flow = Flow::new("in".into(), Network::Tcp, any, any, "a.example:80".parse().unwrap());
    Scene { house: House::now(&shared, &Lease::under(&shared.end)), flow, does: HashMap::new(), dialed, saw }
}

/// A pool of m0 to m3 by list order.
fn pool(more: Value) -> Scene {
    let settings = json!({"probe": "none"});
    let mut pool = json!({"tag": "pool", "members": ["m0", "m1", "m2", "m3"],
        "strategy": {"type": "failover", "settings": settings}});
    pool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    scene(json!([pool, {"tag": "inner", "members": ["m4"]}]))
}

impl Scene {
    fn does(mut self, does: impl IntoIterator<Item = (&'static str, Does)>) -> Self {
        self.does.extend(does);
        self
    }

    fn balancer(&self, tag: &str) -> Arc<Balancer> {
        let groups = &self.house.snapshot.groups;
        Arc::clone(&groups.iter().find(|group| group.balancer.tag().as_str() == tag).unwrap().balancer)
    }

    /// Lets the flow go its way; gives who was dialed in what order, and how it ended.
    async fn run(&self) -> (String, Result<Option<Presence>, String>) {
        let heading = head(&self.house, &self.flow).await.unwrap();
        let open = |exit: OutboundId| -> BoxFuture<'_, Result<(), DialError>> { Box::pin(self.dial(exit)) };
        let reached = reach(&self.house, &self.flow, &heading.to, Some(heading.because), open).await;
        let reached = reached.map(|((), presence)| presence).map_err(|error| error.to_string());
        (self.dialed.lock().unwrap().join(" "), reached)
    }

    async fn dial(&self, exit: OutboundId) -> Result<(), DialError> {
        let tag = self.house.snapshot.exit(exit).unwrap().tag.to_string();
        self.dialed.lock().unwrap().push(tag.clone());
        let refused = io::ErrorKind::ConnectionRefused;
        match self.does.get(tag.as_str()).copied().unwrap_or(Does::Open) {
            Does::Open => Ok(()),
            Does::Refuse => Err(DialError::server(Stage::Dial, refused)),
            Does::NoTarget => Err(DialError::target(Stage::Answer, refused)),
            Does::Lack => Err(DialError::us(Stage::Dial, io::ErrorKind::AddrNotAvailable)),
            Does::BreakLate => {
                self.flow.meter.give();
                Err(DialError::server(Stage::Answer, io::ErrorKind::BrokenPipe))
            }
            Does::After(time) => {
                sleep(time).await;
                Ok(())
            }
        }
    }

    /// What balancers heard, in words: balancer, member, what.
    fn heard(&self) -> Vec<String> {
        let word = |what: &Evidence| match what {
            Evidence::Dialed(_) => "dialed",
            Evidence::Refused => "refused",
            Evidence::TimedOut => "timed out",
            Evidence::Silent => "silent",
            Evidence::Answered(_) => "answered",
            Evidence::Received { .. } => "received",
        };
        let saw = self.saw.lock().unwrap();
        saw.iter().map(|(tag, member, what)| format!("{tag} {member} {}", word(what))).collect()
    }
}

const REFUSE: Does = Does::Refuse;

/// Trap 7 of balancing.md: a dial failure that marks a member bad but does not pick again.
#[tokio::test]
async fn trap_7_a_failed_dial_goes_to_the_next_member_at_once() {
    let scene = pool(json!({})).does([("m0", REFUSE), ("m1", REFUSE)]);
    let (dialed, reached) = scene.run().await;
    assert_eq!(dialed, "m0 m1 m2");
    assert_eq!(scene.heard(), ["pool 0 refused", "pool 1 refused", "pool 2 dialed"]);
    let running = || [0, 1, 2].map(|at| scene.balancer("pool").counted(at));
    assert_eq!(running(), [(1, 0), (1, 0), (1, 1)], "counted where it runs");
    drop(reached);
    assert_eq!(running(), [(1, 0), (1, 0), (1, 0)]);
}

#[tokio::test]
async fn three_members_are_tried_and_no_more() {
    let scene = pool(json!({})).does(["m0", "m1", "m2"].map(|tag| (tag, REFUSE)));
    let (dialed, reached) = scene.run().await;
    assert_eq!((dialed.as_str(), reached.is_err()), ("m0 m1 m2", true));
}

#[tokio::test]
async fn what_another_member_would_not_mend_is_not_retried() {
    // The target's fault, this machine's own, and a failure after a byte of the client may have arrived.
    for (does, heard) in [(Does::NoTarget, &[][..]), (Does::Lack, &[][..]), (Does::BreakLate, &["pool 0 refused"][..])]
    {
        let scene = pool(json!({})).does([("m0", does)]);
        let (dialed, reached) = scene.run().await;
        assert_eq!((dialed.as_str(), reached.is_err()), ("m0", true), "{does:?}");
        assert_eq!(scene.heard(), heard, "{does:?}");
    }
}

#[tokio::test]
async fn without_guards_a_failed_dial_is_the_end() {
    let scene = pool(json!({"guards": false})).does([("m0", REFUSE)]);
    assert_eq!(scene.run().await.0, "m0");
    // Random has none unless they are asked for.
    for (more, want) in [(json!({}), 1), (json!({"guards": true}), 3)] {
        let mut balancer = json!({"tag": "pool", "selector": ["m"], "strategy": "random"});
        balancer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let scene = scene_of(balancer).does(["m0", "m1", "m2", "m3", "m4"].map(|tag| (tag, REFUSE)));
        assert_eq!(scene.run().await.0.split(' ').count(), want, "{more}");
    }
}

fn scene_of(pool: Value) -> Scene {
    scene(json!([pool, {"tag": "inner", "members": ["m4"]}]))
}

#[tokio::test(start_paused = true)]
async fn a_member_that_hangs_is_left_after_its_limit() {
    let hang = Does::After(Duration::from_secs(3600));
    let scene = pool(json!({})).does([("m0", hang), ("m1", hang)]);
    let limited = State { dial_limit: Some(Duration::from_millis(400)), ..State::default() };
    let members = vec![limited, State::default(), State::default(), State::default()];
    scene.balancer("pool").publish(Board { members: members.into(), ..Board::default() });
    let begun = Instant::now();
    assert_eq!(scene.run().await.0, "m0 m1 m2");
    assert_eq!(begun.elapsed(), Duration::from_millis(6300), "what is known and a target's share, then what is usual");
    assert_eq!(scene.heard(), ["pool 0 timed out", "pool 1 timed out", "pool 2 dialed"]);
}

#[tokio::test(start_paused = true)]
async fn where_no_other_is_left_nothing_is_cut_short() {
    let slow = Does::After(Duration::from_secs(12));
    let single = || json!({"tag": "pool", "members": ["m0"], "strategy": "optimal"});
    let mut twice = single();
    twice["members"] = json!(["m0", "m0"]);
    for balancer in [single(), twice] {
        let scene = scene_of(balancer).does([("m0", slow)]);
        let (dialed, reached) = scene.run().await;
        assert!(reached.is_ok(), "{reached:?}");
        assert_eq!(dialed, "m0");
    }
    // The last of several has five seconds.
    let scene = pool(json!({})).does([("m0", REFUSE), ("m1", REFUSE), ("m2", slow)]);
    let begun = Instant::now();
    assert!(scene.run().await.1.is_err_and(|error| error.contains("not ready within 5000 ms")));
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
}

#[tokio::test]
async fn a_member_that_is_listed_twice_is_tried_once() {
    let scene = pool(json!({"members": ["m0", "m0", "m1"]})).does([("m0", REFUSE)]);
    assert_eq!(scene.run().await.0, "m0 m1");
}

/// Trap 13 of balancing.md: no data, and traffic leaves by the default outbound.
#[tokio::test]
async fn trap_13_neither_ignorance_nor_failure_leaves_the_group() {
    let scene = pool(json!({})).does(["m0", "m1", "m2", "m3"].map(|tag| (tag, REFUSE)));
    assert_eq!(scene.run().await.0, "m0 m1 m2");
    // A fallback is for dead groups: one flow's bad luck does not lead there, also when nobody else is left.
    let scene = pool(json!({"members": ["m0", "m1"], "fallbackTag": "direct"}));
    let scene = scene.does([("m0", REFUSE), ("m1", REFUSE)]);
    assert_eq!(scene.run().await.0, "m0 m1");
    let down = State { life: Life::Down, ..State::default() };
    scene.balancer("pool").publish(Board { members: vec![down; 2].into(), ..Board::default() });
    scene.dialed.lock().unwrap().clear();
    assert_eq!(scene.run().await.0, "direct");
}

/// Trap 14: an order that names what does not exist is no reason to choose something else.
#[tokio::test]
async fn trap_14_a_flow_forced_to_a_foreign_tag_is_closed() {
    let mut scene = pool(json!({}));
    for tag in ["nobody", "pool"] {
        scene.flow.pin = Some(tag.into());
        let refused = head(&scene.house, &scene.flow).await.unwrap_err();
        assert_eq!(refused, Nowhere::Missing(tag.into()));
    }
    scene.flow.pin = Some("m3".into());
    assert_eq!(scene.run().await.0, "m3");
}

/// Trap 24: probes counted in statistics, and steered by what they measure.
#[tokio::test(start_paused = true)]
async fn trap_24_a_probe_is_neither_counted_nor_helped() {
    let mut scene = pool(json!({})).does([("m0", REFUSE)]);
    scene.flow.probe = true;
    let (dialed, reached) = scene.run().await;
    assert_eq!((dialed.as_str(), reached.is_err()), ("m0", true));
    scene.does.insert("m0", Does::After(Duration::from_secs(8)));
    let (_, reached) = scene.run().await;
    assert!(reached.is_ok_and(|presence| presence.is_none()), "nothing cuts a measurement short but its own limit");
    assert_eq!(scene.heard(), Vec::<String>::new());
    assert_eq!(scene.balancer("pool").counted(0), (0, 0));
}

fn nested(inner: Value) -> Scene {
    let strategy = json!({"type": "failover", "settings": {"probe": "none"}});
    let mut inner = inner;
    inner["tag"] = "inner".into();
    inner["strategy"] = strategy.clone();
    scene(json!([{"tag": "pool", "members": ["inner", "m3", "m4"], "strategy": strategy}, inner]))
}

#[tokio::test]
async fn the_inner_group_is_tried_first_and_both_hear_of_it() {
    let scene = nested(json!({"members": ["m0", "m1"]})).does([("m0", REFUSE)]);
    let (dialed, reached) = scene.run().await;
    assert_eq!(dialed, "m0 m1");
    assert_eq!(scene.heard(), ["inner 0 refused", "inner 1 dialed", "pool 0 dialed"]);
    assert_eq!(scene.balancer("inner").counted(1), (1, 1));
    assert_eq!(scene.balancer("pool").counted(0), (1, 1));
    drop(reached);
    assert_eq!(scene.balancer("pool").counted(0), (1, 0));

    let scene = nested(json!({"members": ["m0", "m1"]})).does([("m0", REFUSE), ("m1", REFUSE)]);
    assert_eq!(scene.run().await.0, "m0 m1 m3", "then further out");
    let want = ["inner 0 refused", "inner 1 refused", "pool 0 refused", "pool 1 dialed"];
    assert_eq!(scene.heard(), want);

    let scene = nested(json!({"members": ["m0", "m1", "m2"]})).does(["m0", "m1", "m2"].map(|tag| (tag, REFUSE)));
    assert_eq!(scene.run().await.0, "m0 m1 m2", "three in all");

    let scene = nested(json!({"members": ["m0", "m1"], "guards": false})).does([("m0", REFUSE), ("m3", REFUSE)]);
    assert_eq!(scene.run().await.0, "m0 m3 m4", "a group without guards does not retry, the one around it does");
}

#[tokio::test]
async fn a_group_that_cannot_carry_the_flow_is_no_candidate() {
    let mut scene = nested(json!({"members": ["web"]}));
    scene.flow.network = Network::Udp;
    assert_eq!(scene.run().await.0, "m3");
}

#[tokio::test]
async fn an_empty_group_is_passed_over_when_another_failed() {
    let strategy = json!({"type": "failover", "settings": {"probe": "none"}});
    let scene = scene(json!([
        {"tag": "pool", "members": ["m0", "inner", "m1"], "strategy": strategy},
        {"tag": "inner", "selector": ["none-such"]}
    ]));
    let scene = scene.does([("m0", REFUSE)]);
    assert_eq!(scene.run().await.0, "m0 m1");
}

/// A way back to the rules dials for itself: what it tried counts for the whole flow.
#[tokio::test]
async fn a_loopback_does_not_multiply_the_tries() {
    let strategy = json!({"type": "failover", "settings": {"probe": "none"}});
    let scene = scene(json!([
        {"tag": "pool", "members": ["loop", "m4"], "strategy": strategy},
        {"tag": "inner", "members": ["m0", "m1", "m2"], "strategy": strategy}
    ]));
    // Nothing listens on port 9 of loopback: every member behind the way back refuses.
    let heading = head(&scene.house, &scene.flow).await.unwrap();
    let reached = scene.house.stream(&scene.flow, b"", &heading.to, None).await;
    assert!(reached.is_err());
    let heard = scene.heard();
    assert_eq!(heard, ["inner 0 refused", "inner 1 refused", "inner 2 refused", "pool 0 refused"]);
}

#[tokio::test]
async fn a_flows_line_names_rule_balancers_members_and_why() {
    let scene = nested(json!({"members": ["m0", "m1"]}));
    let board = Board {
        members: vec![State::default(); 2].into(),
        ranking: [1, 0].into(),
        why: Some("optimal inner round 3: serving m1 score=200 (was m0 score=100): highest score".into()),
        ..Board::default()
    };
    scene.balancer("inner").publish(board);
    let level = |tag: &str, member| {
        let at = scene.house.snapshot.groups.iter().position(|group| group.balancer.tag().as_str() == tag);
        let id = crate::addr::BalancerId(u32::try_from(at.unwrap()).unwrap());
        Level { id, member, tried: Tried::NONE, seat: None }
    };
    let levels = [level("pool", 0), level("inner", 1)];
    let why = Why { snapshot: &scene.house.snapshot, because: Because::Rule(1), levels: &levels };
    let want = "rule rules[1], balancer pool (failover): member inner, balancer inner (failover): serving m1 score=200 \
                (was m0 score=100): highest score";
    assert_eq!(why.to_string(), want);
}
