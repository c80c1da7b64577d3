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
    /// Nothing but this response code, which is not 0.
    Code(u16),
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
        // A ring, or a chain that nobody wrote by hand: whoever stands there is asked about.
        Told::Nothing(name)
    }

    /// The names on the way that something is known of, and the places of the conditions that they meet. For people.
    #[must_use]
    pub fn explain(&self, name: &DomainName) -> Vec<(DomainName, Vec<usize>)> {
        let (mut path, mut name) = (vec![], name.clone());
        for _ in 0..=ALIASES {
            let mut met: Vec<usize> = vec![];
            self.names.each(name.as_str(), |at| met.push(at as usize));
            met.sort_unstable();
            met.dedup();
            if met.is_empty() {
                break;
            }
            path.push((name.clone(), met));
            match self.look_once(&name) {
                Once::Alias(next) => match DomainName::loose(&next) {
                    Ok(next) => name = next,
                    Err(_) => break,
                },
                Once::Nothing | Once::Told(_) => break,
            }
        }
        path
    }

    /// All conditions that match add up. A code counts before everything else, and addresses before aliases.
    fn look_once(&self, name: &DomainName) -> Once {
        let (mut ips, mut alias, mut code, mut matched) = (vec![], None, None, false);
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
                HostAnswer::Code(one) => code = code.or(Some(*one)),
            }
        });
        match code {
            Some(0) => return Once::Told(Told::Empty),
            Some(code) => return Once::Told(Told::Code(code)),
            None => {}
        }
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
            Told::Code(code) => format!("#{code}"),
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
            ("keyword:void", HostAnswer::Code(0)),
            ("full:track.tree.example.com", ips(&["127.0.0.9"])),
            ("regexp:^ad\\d+\\.", ips(&[])),
            ("alias.example.com", alias("exact.example.com")),
            ("away.example.com", alias("elsewhere.example.org")),
            ("full:both.tree.example.com", ips(&["127.0.0.3", "127.0.0.2"])),
            // Five steps lead to what is known of the sixth name; what a sixth leads to is asked about.
            ("long.example.com", alias("chain.example.com")),
            ("chain.example.com", alias("c2.example.com")),
            ("c2.example.com", alias("c3.example.com")),
            ("c3.example.com", alias("c4.example.com")),
            ("c4.example.com", alias("c5.example.com")),
            ("c5.example.com", alias("exact.example.com")),
            ("a.ring", alias("b.ring")),
            ("b.ring", alias("a.ring")),
        ]);
        for (name, want) in [
            ("exact.example.com", "127.0.0.1"),
            ("EXACT.example.com", "127.0.0.1"),
            ("www.exact.example.com", "? www.exact.example.com"),
            ("a.b.tree.example.com", "127.0.0.2 ::2"),
            ("nottree.example.com", "? nottree.example.com"),
            ("tracker.example.com", "#3"),
            ("void.example.com", "none"),
            ("track.tree.example.com", "#3"),
            ("chain.example.com", "127.0.0.1"),
            ("long.example.com", "? exact.example.com"),
            ("ad7.example.com", "none"),
            ("alias.example.com", "127.0.0.1"),
            ("away.example.com", "? elsewhere.example.org"),
            ("both.tree.example.com", "127.0.0.2 ::2 127.0.0.3"),
            ("a.ring", "? a.ring"),
        ] {
            assert_eq!(look(&hosts, name), want, "{name}");
        }
        assert_eq!(look(&Hosts::default(), "x.example"), "? x.example");
    }
}
