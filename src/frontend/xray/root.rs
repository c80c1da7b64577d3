//! The outermost object: which section is read by whom.

use super::routing::RawRouting;
use super::{api, dns, env, inbound, legacy, log, metrics, misplaced, observatory, outbound, policy};
use super::{reverse, stats, version};
use crate::frontend::merge::{Envelope, Item, at};
use crate::model::balancer::Balancer;
use crate::model::draft::Draft;
use crate::model::fake::FakePools;
use crate::model::httpservice::HttpService;
use crate::model::routing::Routing;
use crate::shape::{Field, Key, Node, Reader, Seg, Table, Value};

/// Reads what the files of a configuration came to. What is wrong with it is among the reader's findings; what could be
/// read is in the draft all the same, so that one run tells everything.
#[must_use]
pub fn read(cx: &mut Reader<'_>, envelope: Envelope) -> Draft {
    let Envelope { span, sections, mut inbounds, mut outbounds } = envelope;
    let root = Node { value: Value::Map(sections), span };
    let mut draft = Draft::default();
    if let Some(mut table) = Table::open(cx, &root) {
        if let Some(defaults) = table.take(cx, Key::json(&["transport"])) {
            let items = inbounds.iter_mut().chain(&mut outbounds);
            cx.key(&defaults.key, |cx| legacy::spread_transport(cx, defaults, items));
        }
        read_sections(cx, &mut table, &mut draft);
        table.finish(cx);
    }
    draft.inbounds = items(cx, &inbounds, inbound::read);
    draft.outbounds = items(cx, &outbounds, |cx, node| {
        legacy::domain_strategy(cx, node);
        outbound::read(cx, node)
    });
    misplaced::advise(&mut cx.problems);
    draft
}

fn read_sections(cx: &mut Reader<'_>, table: &mut Table<'_>, draft: &mut Draft) {
    let entry = table.take(cx, Key::json(&["log"]));
    draft.log = log::read(cx, entry);
    draft.policy = section(cx, table, &["policy"], policy::read).unwrap_or_default();
    let (dns, pools) = section(cx, table, &["dns"], dns::read).unzip();
    draft.dns = dns;
    let own = section(cx, table, &["fakeDns"], FakePools::read);
    draft.fake_dns = own.filter(|own| !own.0.is_empty()).or(pools).unwrap_or_default();
    (draft.routing, draft.balancers) = section(cx, table, &["routing"], routed).unwrap_or_default();
    let services = &mut draft.services;
    services.api = section(cx, table, &["api"], api::read);
    services.metrics = section(cx, table, &["metrics"], metrics::read);
    services.stats = section(cx, table, &["stats"], stats::read).unwrap_or_default();
    services.control = section(cx, table, &["control"], Field::read).unwrap_or_default();
    services.reload = section(cx, table, &["reload"], Field::read).unwrap_or_default();
    services.version = section(cx, table, &["version"], version::read);
    services.geodata = section(cx, table, &["geodata"], Field::read);
    services.reverse = section(cx, table, &["reverse"], reverse::read);
    services.env = section(cx, table, &["env"], env::read).unwrap_or_default();
    observatory::read(cx, table, services);
    table.ignore(cx, &["browserForwarder"], "V2Ray's browser forwarder has no counterpart");
    draft.http_services = http_services(cx, table);
}

/// `services`: a list of ours; V2Ray has an object of that name.
fn http_services(cx: &mut Reader<'_>, table: &mut Table<'_>) -> Vec<HttpService> {
    const NAME: Key = Key::json(&["services"]);
    if table.peek(cx.dialect, NAME).is_some_and(|entry| entry.node.map().is_some()) {
        table.ignore(cx, NAME.json, "V2Ray's list of services has no counterpart; `api` and `metrics` say the same");
        return vec![];
    }
    table.opt(cx, NAME).unwrap_or_default()
}

/// Reads a section at its place.
fn section<T>(
    cx: &mut Reader<'_>,
    table: &mut Table<'_>,
    name: &'static [&'static str],
    read: impl FnOnce(&mut Reader<'_>, &Node) -> Option<T>,
) -> Option<T> {
    let entry = table.take(cx, Key::json(name))?;
    cx.key(&entry.key, |cx| read(cx, &entry.node))
}

fn routed(cx: &mut Reader<'_>, node: &Node) -> Option<(Routing, Vec<Balancer>)> {
    let mut raw = RawRouting::read(cx, node)?;
    let balancers = std::mem::take(&mut raw.balancers);
    let balancers = cx.key("balancers", |cx| {
        let raw = balancers.into_iter().enumerate();
        raw.filter_map(|(n, raw)| cx.within(Seg::Index(n), |cx| raw.into_balancer(cx))).collect()
    });
    Some((raw.into_routing(cx), balancers))
}

fn items<T>(cx: &mut Reader<'_>, items: &[Item], read: impl Fn(&mut Reader<'_>, &Node) -> Option<T>) -> Vec<T> {
    items.iter().filter_map(|item| at(cx, item, |cx| read(cx, &item.node))).collect()
}
