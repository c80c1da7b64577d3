//! The JSON schema of Xray's configuration, as it is read here.
//!
//! The root and a few envelopes are read by hand, so their keys are listed here; `tests/schemas.rs` holds this page and the
//! readers against each other.

use serde_json::{Map, Value as Json, json};

use super::balancer::{self, OwnProbe};
use super::observatory::MultiObservatory;
use super::routing::RawRouting;
use super::{inbound, outbound};
use crate::model::balancer::Optimal;
use crate::model::control::Control;
use crate::model::dns::Dns;
use crate::model::fake::{FakePools, ServerFakes};
use crate::model::geodata::Geodata;
use crate::model::httpservice::HttpService;
use crate::model::log::Log;
use crate::model::policy::Policy;
use crate::model::reload::Reload;
use crate::model::services::{Api, BurstObservatory, Metrics, Observatory, ReverseTunnels, Version};
use crate::shape::{Defs, Dialect, Field, Record};

const XRAY: Dialect = Dialect::Json;

/// The schema of a file, its parts among `defs`.
#[must_use]
pub fn schema(defs: &mut Defs) -> Json {
    let (inbound, outbound) = (door(defs), exit(defs));
    let list = |item: &Json| json!({ "type": "array", "items": item });
    let old = |item: &Json, what: &str| noted(item.clone(), &format!("V2Ray 3: {what}"), true);
    let blocks = json!({ "type": "object" });
    let keys = [
        ("log", Log::schema(XRAY, defs)),
        ("api", Api::schema(XRAY, defs)),
        ("dns", dns(defs)),
        ("fakeDns", noted(FakePools::shape(XRAY, defs), "Pools of addresses that stand for names.", false)),
        ("routing", RawRouting::schema(XRAY, defs)),
        ("policy", Policy::schema(XRAY, defs)),
        ("inbounds", noted(list(&inbound), "Doors by which flows come in.", false)),
        ("outbounds", noted(list(&outbound), "Ways out; the first is the default.", false)),
        ("stats", json!({ "type": "object", "description": "Present: traffic is counted. It has no keys." })),
        ("metrics", Metrics::schema(XRAY, defs)),
        ("observatory", Observatory::schema(XRAY, defs)),
        ("burstObservatory", BurstObservatory::schema(XRAY, defs)),
        ("multiObservatory", MultiObservatory::schema(XRAY, defs)),
        ("reverse", ReverseTunnels::schema(XRAY, defs)),
        ("control", Control::schema(XRAY, defs)),
        ("reload", Reload::schema(XRAY, defs)),
        ("version", Version::schema(XRAY, defs)),
        ("geodata", Geodata::schema(XRAY, defs)),
        (
            "env",
            json!({ "type": "object", "additionalProperties": { "type": "string" },
                "description": "Variables put into the environment before geodata files are opened." }),
        ),
        ("inbound", old(&inbound, "the first inbound.")),
        ("outbound", old(&outbound, "the first outbound.")),
        ("inboundDetour", old(&list(&inbound), "further inbounds.")),
        ("outboundDetour", old(&list(&outbound), "further outbounds.")),
        ("port", old(&json!({ "type": ["integer", "string"] }), "the first inbound's port.")),
        ("transport", old(&blocks, "settings of transports, for every `streamSettings` without its own.")),
        ("browserForwarder", old(&json!({}), "without effect: there is no browser forwarder.")),
        ("services", noted(Vec::<HttpService>::shape(XRAY, defs), "Reverse proxies for HTTP: a part of ours.", false)),
    ];
    strategy_settings(defs);
    observer_settings(defs);
    older_tables(defs);
    sections_own_defaults(defs);
    let properties: Map<String, Json> = keys.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    json!({ "type": "object", "description": "A configuration of Xray, as etemenanki reads it.", "properties": properties })
}

fn door(defs: &mut Defs) -> Json {
    let schema = inbound::schema(defs);
    defs.map.insert("Inbound".into(), schema);
    json!({ "$ref": "#/$defs/Inbound" })
}

fn exit(defs: &mut Defs) -> Json {
    let schema = outbound::schema(defs);
    defs.map.insert("Outbound".into(), schema);
    json!({ "$ref": "#/$defs/Outbound" })
}

/// V2Ray's keys of the section, which are rewritten before it is read.
fn dns(defs: &mut Defs) -> Json {
    let section = Dns::schema(XRAY, defs);
    let words = |doc: &str| json!({ "type": "string", "description": doc, "deprecated": true });
    let pools = noted(ServerFakes::shape(XRAY, defs), "V2Ray: the same as `fakeDns` at the root.", true);
    for name in ["Dns", "DnsServerSpec"] {
        let Some(properties) = properties(defs, name) else { continue };
        properties.insert("cacheStrategy".into(), words("V2Ray: `enabled`, or `disabled` for `disableCache`."));
        let fallback = "V2Ray: `enabled`, `disabled`, `disabledIfAnyMatch`; see `disableFallback`.";
        properties.insert("fallbackStrategy".into(), words(fallback));
    }
    if let Some(properties) = properties(defs, "Dns") {
        properties.insert("fakedns".into(), pools);
        let why = "Without effect: every matcher here gives the same answers, and one set serves them all";
        properties.insert("domainMatcher".into(), json!({ "description": why, "deprecated": true }));
    }
    section
}

/// Settings whose shape depends on the word of the strategy.
fn strategy_settings(defs: &mut Defs) {
    let probe = OwnProbe::schema(XRAY, defs);
    let optimal = Optimal::schema(XRAY, defs);
    let probed = ["random", "roundRobin", "leastPing", "leastLoad", "failover", "hrw"];
    let branches: Vec<Json> = balancer::settings_schemas(XRAY, defs)
        .into_iter()
        .map(|(word, settings)| {
            let settings = if probed.contains(&word) { json!({ "allOf": [settings, probe] }) } else { settings };
            by_type(word, settings)
        })
        .collect();
    if let Some(object) = defs.map.get_mut("StrategyObject").and_then(Json::as_object_mut) {
        object.insert("allOf".into(), branches.into());
    }
    if let Some(properties) = properties(defs, "RawBalancer") {
        let doc = "Settings of `optimal` beside the word.";
        properties.insert("optimalSettings".into(), noted(optimal, doc, false));
    }
}

/// The same for the kinds of observatories.
fn observer_settings(defs: &mut Defs) {
    let kinds = [("default", Observatory::schema(XRAY, defs)), ("burst", BurstObservatory::schema(XRAY, defs))];
    let branches: Vec<Json> = kinds.into_iter().map(|(word, settings)| by_type(word, settings)).collect();
    if let Some(object) = defs.map.get_mut("Observer").and_then(Json::as_object_mut) {
        object.insert("allOf".into(), branches.into());
    }
}

/// `settings` where `type` is a word, in any letter case.
fn by_type(word: &str, settings: Json) -> Json {
    let pattern: String = word.chars().map(either_case).collect();
    json!({
        "if": { "properties": { "type": { "type": "string", "pattern": format!("^{pattern}$"), "examples": [word] } },
            "required": ["type"] },
        "then": { "properties": { "settings": { "anyOf": [{ "type": "null" }, settings] } } }
    })
}

fn either_case(c: char) -> String {
    format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase())
}

/// Older keys that hold tables; their records name them and know no shape of theirs.
const OLDER: &[(&str, &str, &str)] =
    &[("Freedom", "noise", "Noise"), ("Xhttp", "extra", "Xhttp"), ("Xhttp", "downloadSettings", "Download")];

fn older_tables(defs: &mut Defs) {
    for (record, key, shape) in OLDER {
        let slot = properties(defs, record).and_then(|p| p.get_mut(*key)).and_then(Json::as_object_mut);
        if let Some(slot) = slot {
            slot.insert("$ref".into(), format!("#/$defs/{shape}").into());
        }
    }
}

/// What holds in a section that is there is not what holds where it is not.
fn sections_own_defaults(defs: &mut Defs) {
    let Some(properties) = properties(defs, "Log") else { return };
    for (key, default) in [("loglevel", "warning"), ("access", ""), ("error", "")] {
        if let Some(shape) = properties.get_mut(key).and_then(Json::as_object_mut) {
            shape.insert("default".into(), default.into());
        }
    }
}

fn properties<'d>(defs: &'d mut Defs, name: &str) -> Option<&'d mut Map<String, Json>> {
    defs.map.get_mut(name)?.get_mut("properties")?.as_object_mut()
}

fn noted(mut schema: Json, doc: &str, deprecated: bool) -> Json {
    if let Some(map) = schema.as_object_mut() {
        map.insert("description".into(), doc.into());
        if deprecated {
            map.insert("deprecated".into(), true.into());
        }
    }
    schema
}
