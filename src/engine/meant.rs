//! Where datagrams went that the client meant to go elsewhere: to a name in place of an address, be that a fake one.
//! Answers must come as from where they were meant to go, since that is all the client knows.

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::addr::{DomainName, Target};

/// What one link sent elsewhere, the newest first.
#[derive(Debug, Default)]
pub(super) struct Meant(VecDeque<Redirected>);

#[derive(Debug)]
struct Redirected {
    went: Target,
    meant: Target,
    /// Who answered when nobody else can have been asked.
    heard: Option<IpAddr>,
}

/// Targets of a link whose answers are told apart.
const MOST: usize = 64;

impl Meant {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is sent to `went` was meant for `meant`.
    pub(super) fn note(&mut self, went: &Target, meant: &Target) {
        if self.0.front().is_some_and(|newest| newest.meant == *meant && newest.went == *went) {
            return;
        }
        let known = self.0.iter().position(|one| one.meant == *meant).and_then(|at| self.0.remove(at));
        let heard = known.filter(|known| known.went == *went).and_then(|known| known.heard);
        self.0.truncate(MOST - 1);
        self.0.push_front(Redirected { went: went.clone(), meant: meant.clone(), heard });
    }

    /// As whose answer one counts that comes from there. The way out may say which address a name has; else that was found
    /// out further on, and who was not sent to answers what was sent last.
    pub(super) fn whose(&mut self, from: Target, address_of: impl Fn(&DomainName) -> Option<IpAddr>) -> Target {
        if self.0.iter().any(|one| one.meant == from) {
            return from;
        }
        if let Some(exact) = self.0.iter().find(|one| one.went == from) {
            return exact.meant.clone();
        }
        let Some(ip) = from.host.ip() else { return from };
        let (mut silent, mut silents, mut open) = (None, 0, None);
        for (at, one) in self.0.iter().enumerate().filter(|(_, one)| one.went.port == from.port) {
            let certain = one.went.host.domain().and_then(&address_of);
            match certain.or(one.heard) {
                Some(known) if known == ip => return one.meant.clone(),
                Some(_) => {}
                None => {
                    silents += 1;
                    silent = silent.or(Some(at));
                }
            }
            // Where the address is certain, whoever has another is somebody else.
            if certain.is_none() {
                open = open.or(Some(at));
            }
        }
        let Some(one) = silent.or(open).and_then(|at| self.0.get_mut(at)) else { return from };
        if silents == 1 {
            one.heard = Some(ip);
        }
        one.meant.clone()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        text.parse().unwrap()
    }

    fn sent(list: &[(&str, &str)]) -> Meant {
        let mut meant = Meant::default();
        list.iter().for_each(|(went, to)| meant.note(&target(went), &target(to)));
        meant
    }

    /// As whose answers these count, where nobody knows a name's address.
    fn whose(meant: &mut Meant, from: &str) -> String {
        meant.whose(target(from), |_| None).to_string()
    }

    #[test]
    fn answers_come_as_from_the_fake_address() {
        let mut meant = sent(&[("a.example:53", "198.18.0.1:53"), ("b.example:443", "198.18.0.2:443")]);
        assert_eq!(whose(&mut meant, "192.0.2.1:53"), "198.18.0.1:53");
        assert_eq!(whose(&mut meant, "192.0.2.2:443"), "198.18.0.2:443");
        assert_eq!(whose(&mut meant, "b.example:443"), "198.18.0.2:443", "who answers by its name");
        assert_eq!(whose(&mut meant, "192.0.2.3:9"), "192.0.2.3:9", "a stranger has its own");
    }

    #[test]
    fn two_names_at_one_port_are_told_apart_once_one_was_heard_alone() {
        let mut meant = sent(&[("a.example:443", "198.18.0.1:443")]);
        assert_eq!(whose(&mut meant, "192.0.2.1:443"), "198.18.0.1:443");
        meant.note(&target("b.example:443"), &target("198.18.0.2:443"));
        assert_eq!(whose(&mut meant, "192.0.2.1:443"), "198.18.0.1:443");
        assert_eq!(whose(&mut meant, "192.0.2.2:443"), "198.18.0.2:443");
        meant.note(&target("a.example:443"), &target("198.18.0.1:443"));
        assert_eq!(whose(&mut meant, "192.0.2.2:443"), "198.18.0.2:443");
        assert_eq!(whose(&mut meant, "192.0.2.9:443"), "198.18.0.1:443", "a name may have several addresses");
    }

    #[test]
    fn what_was_sent_last_is_answered_where_nothing_else_is_known() {
        let mut meant = sent(&[("a.example:443", "198.18.0.1:443"), ("b.example:443", "198.18.0.2:443")]);
        assert_eq!(whose(&mut meant, "192.0.2.1:443"), "198.18.0.2:443");
        meant.note(&target("a.example:443"), &target("198.18.0.1:443"));
        assert_eq!(whose(&mut meant, "192.0.2.1:443"), "198.18.0.1:443", "a guess is not kept");
    }

    #[test]
    fn a_way_that_knows_the_addresses_is_believed() {
        let address_of = |name: &DomainName| match name.as_str() {
            "a.example" | "twin.example" => "192.0.2.1".parse().ok(),
            "b.example" => "192.0.2.2".parse().ok(),
            _ => None,
        };
        let mut meant = sent(&[("a.example:443", "198.18.0.1:443"), ("b.example:443", "198.18.0.2:443")]);
        let whose = |meant: &mut Meant, from: &str| meant.whose(target(from), address_of).to_string();
        for (from, want) in [
            ("192.0.2.1:443", "198.18.0.1:443"),
            ("192.0.2.2:443", "198.18.0.2:443"),
            ("192.0.2.3:443", "192.0.2.3:443"),
        ] {
            assert_eq!(whose(&mut meant, from), want);
        }
        meant.note(&target("twin.example:443"), &target("198.18.0.3:443"));
        assert_eq!(whose(&mut meant, "192.0.2.1:443"), "198.18.0.3:443", "two names of one address");
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_newest_stay() {
        let mut meant = Meant::default();
        for n in 0..2 * MOST {
            meant.note(&target(&format!("n{n}.example:{}", n + 1)), &target(&format!("198.18.0.1:{}", n + 1)));
        }
        assert_eq!(meant.0.len(), MOST);
        assert_eq!(whose(&mut meant, &format!("192.0.2.1:{}", 2 * MOST)), format!("198.18.0.1:{}", 2 * MOST));
        assert_eq!(whose(&mut meant, "192.0.2.1:1"), "192.0.2.1:1");
    }
}
