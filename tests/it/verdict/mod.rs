//! Whether our rules send flows where those of other programs do, given the same config: rules and flows are made up from a
//! seed, and the access logs tell where each flow went.
//!
//! v2ray 4.34 is asked in every run. What Xray alone can say is compared where `XRAY_BIN` names one. What is left out because
//! it is meant otherwise is listed in `docs/routing.md`.
#![allow(clippy::unwrap_used)]

mod drive;
mod peer;
mod sample;
mod words;

use std::collections::HashMap;
use std::net::SocketAddr;

use drive::drive;
use peer::{Peer, Who, xray};
use sample::{Around, Flow, Sample};
use words::Dialect;

use crate::support::{dnsmasq, serve_each};

/// Configs, rules in each, and flows through each.
const SIZE: (u64, usize, usize) = (12, 30, 300);

/// Differences that are told of.
const TOLD: usize = 4000;

/// Times that a flow is sent: v2ray's log forgets lines when many come at once.
const ROUNDS: usize = 5;

/// Where each flow went; who is missing was refused.
async fn asked(who: Who, sample: &Sample, around: Around) -> HashMap<SocketAddr, String> {
    let peer = Peer::start(who, sample, around);
    let mut verdicts = HashMap::new();
    for _ in 0..ROUNDS {
        let left: Vec<Flow> =
            sample.flows.iter().filter(|flow| !verdicts.contains_key(&flow.source)).cloned().collect();
        if left.is_empty() {
            break;
        }
        let held = drive(&left, peer.doors).await;
        let sources: Vec<SocketAddr> = sample.flows.iter().map(|flow| flow.source).collect();
        verdicts = peer.verdicts(&sources);
        drop(held);
    }
    verdicts
}

/// Lets both decide about all flows of a sample, and tells where they differ.
async fn differences(seed: u64, dialect: Dialect, theirs: Who, around: Around, told: &mut Vec<String>) -> usize {
    let (_, rules, flows) = SIZE;
    let sample = Sample::new(seed, dialect, rules, flows);
    let (own, other) = (asked(Who::Ours, &sample, around).await, asked(theirs, &sample, around).await);
    let mut compared = 0;
    for flow in &sample.flows {
        let (a, b) = (own.get(&flow.source), other.get(&flow.source));
        compared += usize::from(b.is_some());
        if a != b {
            let words = |tag: Option<&String>| match tag {
                Some(tag) => format!("{tag} {}", sample.rule_of(tag)),
                None => "nothing".into(),
            };
            let host = sample.host(&flow.host);
            told.push(format!(
                "seed {seed} {}: {flow:?} (host {host:?})\n    ours: {}\n    {theirs:?}: {}",
                sample.strategy(),
                words(a),
                words(b)
            ));
        }
    }
    compared
}

async fn compare(dialect: Dialect, theirs: Who) {
    let (configs, rules, flows) = SIZE;
    let dns = dnsmasq("by-server.example.net", "10.1.2.3");
    let sink = serve_each(|stream| async move { drop(stream) }).await;
    let around = Around { dns: dns.port(), sink: sink.port() };
    let (mut told, mut compared) = (vec![], 0);
    for seed in 0..configs {
        compared += differences(seed, dialect, theirs, around, &mut told).await;
    }
    println!(
        "{dialect:?} rules, ours and {theirs:?}: {compared} flows by {configs} configs of {rules} rules were compared"
    );
    let count = told.len();
    told.truncate(TOLD);
    assert!(told.is_empty(), "{count} differences\n{}", told.join("\n"));
    assert!(compared * 20 > usize::try_from(configs).unwrap() * flows * 19, "{theirs:?} told of {compared} flows only");
}

#[tokio::test(flavor = "multi_thread")]
async fn flows_go_where_v2ray_sends_them() {
    compare(Dialect::Common, Who::V2ray).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn flows_go_where_xray_sends_them() {
    if xray().is_none() {
        println!("XRAY_BIN names no Xray: its own rules are compared with nobody here, only those that v2ray has too");
        return;
    }
    compare(Dialect::Common, Who::Xray).await;
    compare(Dialect::Xray, Who::Xray).await;
}
