//! `dns.hosts`: fixed answers by name, in all their forms.

use std::net::IpAddr;

use crate::addr::DomainName;
use crate::geo::{CompileError, Lists, Names};
use crate::model::dns::{HostAnswer, Hosts as Written};

/// Compiled answers.
#[derive(Debug, Default)]
pub struct Hosts {
    names: Names,
    answers: Box<[HostAnswer]>,
}

/// What the hosts say of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Nothing; somebody else must be asked, about this name: an alias may have led on to it.
    Nothing(DomainName),
    /// These addresses.
    Ips(Vec<IpAddr>),
    /// There are none, and nobody else is asked.
    Empty,
}

/// Names an alias may lead through (Xray's bound, `app/dns/hosts.go`).
const ALIASES: usize = 5;

impl Hosts {
    /// Compiles the section.
    ///
    /// # Errors
    /// [`CompileError`] for an expression that does not compile, and for a geodata list that is not among `lists`.
    pub fn compile(written: &Written, lists: &Lists) -> Result<Self, CompileError> {
        let names = Names::compile(written.0.iter().map(|(rule, _)| rule).zip(0..), lists)?;
        Ok(Self { names, answers: written.0.iter().map(|(_, answer)| answer.clone()).collect() })
    }

    /// Looks a name up, and what it is an alias of.
    #[must_use]
    pub fn look(&self, name: &DomainName) -> Told {
        let mut name = name.clone();
        for _ in 0..=ALIASES {
            match self.look_once(&name) {
                Once::Nothing => return Told::Nothing(name),
                Once::Told(told) => return told,
                Once::Alias(next) => match DomainName::loose(&next) {
                    Ok(next) => name = next,
                    Err(_) => return Told::Empty,
                },
            }
        }
        // A ring, or a chain that nobody wrote by hand.
        Told::Empty
    }

    /// All conditions that match add up; addresses count before aliases, and those before codes.
    fn look_once(&self, name: &DomainName) -> Once {
        let (mut ips, mut alias, mut matched) = (vec![], None, false);
        self.names.each(name.as_str(), |at| {
            let Some(answer) = self.answers.get(at as usize) else { return };
            matched = true;
            match answer {
                HostAnswer::Ips(more) => more.iter().for_each(|ip| {
                    if !ips.contains(ip) {
                        ips.push(*ip);
                    }
                }),
                HostAnswer::Alias(next) => alias = alias.take().or_else(|| Some(next.clone())),
                HostAnswer::Code(_) => {}
            }
        });
        match (ips.is_empty(), alias) {
            (false, _) => Once::Told(Told::Ips(ips)),
            (true, Some(next)) => Once::Alias(next),
            (true, None) if matched => Once::Told(Told::Empty),
            (true, None) => Once::Nothing,
        }
    }
}

enum Once {
    Nothing,
    Told(Told),
    Alias(String),
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::matcher::{Bare, DomainRule};

    fn hosts(entries: &[(&str, HostAnswer)]) -> Hosts {
        let parse = |text: &str| DomainRule::parse(text, Bare::Full).unwrap();
        Hosts::compile(
            &Written(entries.iter().map(|(rule, answer)| (parse(rule), answer.clone())).collect()),
            &Lists::default(),
        )
        .unwrap()
    }

    fn ips(texts: &[&str]) -> HostAnswer {
        HostAnswer::Ips(texts.iter().map(|text| text.parse().unwrap()).collect())
    }

    fn look(hosts: &Hosts, name: &str) -> String {
        match hosts.look(&DomainName::new(name).unwrap()) {
            Told::Nothing(name) => format!("? {name}"),
            Told::Empty => "none".into(),
            Told::Ips(ips) => ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        }
    }

    #[test]
    fn every_form_answers() {
        let alias = |name: &str| HostAnswer::Alias(name.into());
        let hosts = hosts(&[
            ("exact.example.com", ips(&["127.0.0.1"])),
            ("domain:tree.example.com", ips(&["127.0.0.2", "::2"])),
            ("keyword:track", HostAnswer::Code(3)),
            ("regexp:^ad\\d+\\.", ips(&[])),
            ("alias.example.com", alias("exact.example.com")),
            ("away.example.com", alias("elsewhere.example.org")),
            ("full:both.tree.example.com", ips(&["127.0.0.3", "127.0.0.2"])),
            ("a.ring", alias("b.ring")),
            ("b.ring", alias("a.ring")),
        ]);
        for (name, want) in [
            ("exact.example.com", "127.0.0.1"),
            ("EXACT.example.com", "127.0.0.1"),
            ("www.exact.example.com", "? www.exact.example.com"),
            ("a.b.tree.example.com", "127.0.0.2 ::2"),
            ("nottree.example.com", "? nottree.example.com"),
            ("tracker.example.com", "none"),
            ("ad7.example.com", "none"),
            ("alias.example.com", "127.0.0.1"),
            ("away.example.com", "? elsewhere.example.org"),
            ("both.tree.example.com", "127.0.0.2 ::2 127.0.0.3"),
            ("a.ring", "none"),
        ] {
            assert_eq!(look(&hosts, name), want, "{name}");
        }
        assert_eq!(look(&Hosts::default(), "x.example"), "? x.example");
    }
}
