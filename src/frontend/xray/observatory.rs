//! `observatory`, `burstObservatory`, and V2Ray's `multiObservatory`.

use std::time::Duration;

use crate::addr::Tag;
use crate::model::services::{BurstObservatory, Observatory, Ping, Services};
use crate::record;
use crate::shape::{Field, GoTime, Key, Kind, Node, Raw, Reader, Seg, Table};

/// Reads all three sections.
pub fn read(cx: &mut Reader<'_>, table: &mut Table<'_>, services: &mut Services) {
    if let Some(entry) = table.take(cx, Key::json(&["observatory"])) {
        services.observatories.extend(cx.key(&entry.key, |cx| plain(cx, &entry.node)));
    }
    if let Some(entry) = table.take(cx, Key::json(&["burstObservatory"])) {
        services.burst_observatories.extend(cx.key(&entry.key, |cx| burst(cx, &entry.node)));
    }
    if let Some(entry) = table.take(cx, Key::json(&["multiObservatory"])) {
        cx.key(&entry.key, |cx| several(cx, &entry.node, services));
    }
}

fn plain(cx: &mut Reader<'_>, node: &Node) -> Option<Observatory> {
    let mut observatory = Observatory::read(cx, node)?;
    let usual = Observatory::default();
    if observatory.probe_interval.is_zero() {
        observatory.probe_interval = usual.probe_interval;
    }
    if observatory.probe_url.is_empty() {
        observatory.probe_url = usual.probe_url;
    }
    if observatory.subjects.is_empty() {
        cx.warn(node, Kind::Ignored, "this observatory never runs: its `subjectSelector` names nothing");
    }
    Some(observatory)
}

fn burst(cx: &mut Reader<'_>, node: &Node) -> Option<BurstObservatory> {
    let mut observatory = BurstObservatory::read(cx, node)?;
    match &mut observatory.ping {
        Some(ping) => settle(cx, node, ping),
        None => {
            cx.error(node, Kind::Missing, "BurstObservatory requires a valid pingConfig").help =
                Some("add \"pingConfig\": {}".into());
        }
    }
    if observatory.subjects.is_empty() {
        cx.warn(node, Kind::Ignored, "this observatory never runs: its `subjectSelector` names nothing");
    }
    Some(observatory)
}

/// Xray's bounds.
fn settle(cx: &mut Reader<'_>, node: &Node, ping: &mut Ping) {
    const LEAST: Duration = Duration::from_secs(10);
    let usual = Ping::default();
    if ping.interval.is_zero() {
        ping.interval = usual.interval;
    } else if *ping.interval < LEAST {
        cx.warn(node, Kind::Value, "the interval of pingConfig is raised to 10s, as Xray does");
        ping.interval = GoTime(LEAST);
    }
    if ping.sampling <= 0 {
        ping.sampling = usual.sampling;
    }
    if ping.timeout.is_zero() {
        ping.timeout = usual.timeout;
    }
    if ping.destination.is_empty() {
        ping.destination = usual.destination;
    }
    ping.http_method = ping.http_method.trim().to_owned();
    if ping.http_method.is_empty() {
        ping.http_method = usual.http_method;
    }
}

record! {
    /// V2Ray's list of observatories.
    pub struct MultiObservatory {
        /// Each with its own name.
        observers: Vec<Observer> => "observers";
    }
}

record! {
    /// One of several observatories.
    pub struct Observer {
        /// `default` or `burst`.
        kind: String => "type";
        /// Its name, for `observerTag`.
        tag: Tag => "tag";
        /// Settings of its kind.
        settings: Raw => "settings";
    }
}

fn several(cx: &mut Reader<'_>, node: &Node, services: &mut Services) {
    let Some(list) = MultiObservatory::read(cx, node) else { return };
    for (n, Observer { kind, tag, settings }) in list.observers.into_iter().enumerate() {
        let nothing = Node { value: crate::shape::Value::Map(vec![]), ..node.clone() };
        let settings = if settings.0.is_null() { nothing } else { settings.0 };
        let read = |cx: &mut Reader<'_>| match kind.to_lowercase().as_str() {
            "" | "default" => {
                let one = plain(cx, &settings).map(|o| Observatory { tag, ..o });
                services.observatories.extend(one);
            }
            "burst" => {
                let one = burst(cx, &settings).map(|o| BurstObservatory { tag, ..o });
                services.burst_observatories.extend(one);
            }
            other => {
                cx.error(node, Kind::Value, format!("unknown variant `{other}`, expected `default` or `burst`"));
            }
        };
        cx.key("observers", |cx| cx.within(Seg::Index(n), |cx| cx.key("settings", read)));
    }
}
