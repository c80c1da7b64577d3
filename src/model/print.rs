//! A number that changes with what an outbound is, so that what was measured of it counts only while it is the same.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::config::Config;
use super::outbound::Outbound;
use crate::addr::Hop;
use crate::shape::{Dialect, Field, Plain, PlainMap};

impl Outbound {
    /// Print of all that decides how this outbound works, its secrets included; 64 bits cannot give them back. Its tag and
    /// its place in the file do not count.
    #[must_use]
    pub fn print(&self) -> u64 {
        let mut outer = PlainMap::default();
        let settings = self.kind.write_settings(Dialect::Toml, &mut outer);
        let parts: [Plain; 8] = [
            self.kind.word(Dialect::Toml).into(),
            outer.into(),
            settings.into(),
            self.stream.write(Dialect::Toml),
            self.send_through.write(Dialect::Toml),
            self.target_strategy.write(Dialect::Toml),
            self.mux.write(Dialect::Toml),
            self.via.as_ref().map_or_else(|| "".into(), |via| via.write(Dialect::Toml)),
        ];
        let mut hasher = DefaultHasher::new();
        parts.iter().for_each(|part| add(part, &mut hasher));
        self.endpoint.as_ref().map(ToString::to_string).hash(&mut hasher);
        hasher.finish()
    }
}

impl Config {
    /// Print of where a hop leads: an outbound with those it dials through, or a balancer with its members.
    #[must_use]
    pub fn print_of(&self, hop: Hop) -> u64 {
        self.print_within(hop, GROUPS)
    }

    fn print_within(&self, hop: Hop, depth: u8) -> u64 {
        let mut hasher = DefaultHasher::new();
        match hop {
            Hop::Outbound(id) => {
                let mut next = self.outbound(id);
                for _ in 0..CHAIN {
                    let Some(outbound) = next else { break };
                    outbound.print().hash(&mut hasher);
                    next = outbound.chained().and_then(|via| self.outbounds.iter().find(|other| other.tag == *via.tag));
                }
            }
            Hop::Balancer(id) => {
                let members = self.balancers.get(id.index()).map_or(&[][..], |balancer| &balancer.members);
                for member in members.iter().filter(|_| depth > 0) {
                    self.print_within(member.hop, depth - 1).hash(&mut hasher);
                }
            }
        }
        hasher.finish()
    }
}

/// How far chains of outbounds are followed; rings are refused elsewhere.
const CHAIN: usize = 16;

/// How deep groups of groups are looked into.
const GROUPS: u8 = 3;

fn add(part: &Plain, hasher: &mut DefaultHasher) {
    match part {
        Plain::Bool(is) => (0u8, is).hash(hasher),
        Plain::Int(number) => (1u8, number).hash(hasher),
        Plain::Float(number) => (2u8, number.to_bits()).hash(hasher),
        Plain::Text(text) => (3u8, text).hash(hasher),
        Plain::List(items) => {
            (4u8, items.len()).hash(hasher);
            items.iter().for_each(|item| add(item, hasher));
        }
        Plain::Map(map) => {
            (5u8, map.entries.len()).hash(hasher);
            for (key, value) in &map.entries {
                key.hash(hasher);
                add(value, hasher);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::Tag;
    use crate::model::fields::DomainStrategy;
    use crate::model::outbound::{OutboundKind, SendThrough};
    use crate::model::protocol::Freedom;
    use crate::shape::{Span, Spot};

    fn direct(tag: &str) -> Outbound {
        Outbound {
            at: Spot::default(),
            tag: Tag::new(tag),
            kind: OutboundKind::Freedom(Freedom::default()),
            stream: Default::default(),
            send_through: SendThrough::Any,
            via: None,
            mux: Default::default(),
            target_strategy: DomainStrategy::AsIs,
            endpoint: None,
        }
    }

    #[test]
    fn the_print_is_of_what_an_outbound_does() {
        let one = direct("a");
        let moved = Outbound { at: Spot::new(Span { start: 9, ..Span::default() }, "x"), ..direct("b") };
        assert_eq!(one.print(), moved.print(), "place and tag do not count");
        let other = Outbound { send_through: SendThrough::Ip([10, 0, 0, 1].into()), ..direct("a") };
        assert_ne!(one.print(), other.print());
        let there = Outbound { endpoint: "10.0.0.1:1".parse().ok(), ..direct("a") };
        assert_ne!(one.print(), there.print());
    }
}
