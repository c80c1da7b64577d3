//! Address conditions: networks and geodata lists, and their negations.

use std::net::IpAddr;
use std::sync::Arc;

use super::lists::Lists;
use super::nets::Nets;
use super::pattern::CompileError;
use crate::model::matcher::{IpRule, IpSet, ListRef};

/// Address conditions of one rule, as Xray has them: networks, their negations, lists and theirs are four sets, and any of
/// them suffices. A negated set means what is outside of all that it holds, and says nothing of a family of which it holds
/// none.
#[derive(Debug, Default)]
pub struct Addresses {
    inside: Nets,
    outside: Nets,
    inside_lists: Box<[Listed]>,
    outside_lists: Box<[Listed]>,
}

/// A list that others may name as well.
#[derive(Debug)]
struct Listed {
    list: ListRef,
    nets: Arc<Nets>,
}

impl Addresses {
    /// Compiles a list of conditions.
    ///
    /// # Errors
    /// [`CompileError::List`] for a geodata list that is not among `lists`.
    pub fn compile(rules: &[IpRule], lists: &Lists) -> Result<Self, CompileError> {
        let (mut inside, mut outside) = (vec![], vec![]);
        let (mut inside_lists, mut outside_lists) = (vec![], vec![]);
        for rule in rules {
            match &rule.set {
                IpSet::Net(net) if rule.negated => outside.push(*net),
                IpSet::Net(net) => inside.push(*net),
                IpSet::List(list) => {
                    let nets = lists.nets(list).ok_or_else(|| CompileError::List(rule.to_string()))?;
                    let listed = Listed { list: ListRef::clone(list), nets: Arc::clone(nets) };
                    if rule.negated { &mut outside_lists } else { &mut inside_lists }.push(listed);
                }
            }
        }
        Ok(Self {
            inside: Nets::new(inside),
            outside: Nets::new(outside),
            inside_lists: inside_lists.into(),
            outside_lists: outside_lists.into(),
        })
    }

    /// Whether the address meets the list.
    #[must_use]
    pub fn contains(&self, ip: IpAddr) -> bool {
        self.inside.contains(ip)
            || (self.outside.knows_family(ip) && !self.outside.contains(ip))
            || self.inside_lists.iter().any(|set| set.nets.contains(ip))
            || (self.outside_lists.iter().any(|set| set.nets.knows_family(ip))
                && self.outside_lists.iter().all(|set| !set.nets.contains(ip)))
    }

    /// Which of its parts the address meets, in words. For people: it is slower than [`Self::contains`].
    #[must_use]
    pub fn find(&self, ip: IpAddr) -> Option<String> {
        if let Some(net) = self.inside.around(ip) {
            return Some(net);
        }
        let listed =
            |set: &Listed, negated| IpRule { negated, set: IpSet::List(Box::new(set.list.clone())) }.to_string();
        if let Some((set, net)) = self.inside_lists.iter().find_map(|set| Some((set, set.nets.around(ip)?))) {
            return Some(format!("{} \u{2192} {net}", listed(set, false)));
        }
        if self.outside.knows_family(ip) && !self.outside.contains(ip) {
            return Some("outside of all negated networks".into());
        }
        let negated: Vec<String> = self.outside_lists.iter().map(|set| listed(set, true)).collect();
        self.contains(ip).then(|| negated.join(" and "))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::matcher::net;

    fn meets(rules: &[&str], ip: &str) -> bool {
        let rules: Vec<_> = rules.iter().map(|text| IpRule::parse(text).unwrap()).collect();
        Addresses::compile(&rules, &Lists::default()).unwrap().contains(ip.parse().unwrap())
    }

    #[test]
    fn negated_networks_are_one_set() {
        let rules = ["!10.0.0.0/8", "!192.168.0.0/16"];
        assert!(!meets(&rules, "10.0.0.1") && !meets(&rules, "192.168.1.1") && meets(&rules, "8.8.8.8"));
        assert!(!meets(&rules, "2001:db8::1"), "a set without IPv6 says nothing of IPv6");
        assert!(meets(&["!10.0.0.0/8", "10.1.0.0/16"], "10.1.0.1"), "either set suffices");
        assert!(!meets(&["!10.0.0.0/8", "10.1.0.0/16"], "10.2.0.1"));
        assert!(meets(&["!10.0.0.0/8", "!fc00::/7"], "2001:db8::1"));
        assert!(meets(&["10.0.0.0/8"], "::ffff:10.0.0.1"));
        assert!(!meets(&["!0.0.0.0/0"], "10.0.0.1"));
    }

    #[test]
    fn lists_are_sets_of_their_own() {
        let mut lists = Lists::default();
        for (code, net) in [("A", "10.0.0.0/8"), ("B", "192.168.0.0/16"), ("SIX", "fc00::/7")] {
            let list = ListRef { file: "geoip.dat".into(), code: code.into(), attrs: vec![] };
            lists.put_nets(list, Arc::new(Nets::new([self::net(net).unwrap()])));
        }
        let meets = |rules: &[&str], ip: &str| {
            let rules: Vec<_> = rules.iter().map(|text| IpRule::parse(text).unwrap()).collect();
            Addresses::compile(&rules, &lists).unwrap().contains(ip.parse().unwrap())
        };
        assert!(meets(&["geoip:a"], "10.1.1.1") && !meets(&["geoip:a"], "11.1.1.1"));
        let neither = ["geoip:!a", "!geoip:b"];
        assert!(meets(&neither, "8.8.8.8") && !meets(&neither, "10.0.0.1") && !meets(&neither, "192.168.0.1"));
        assert!(!meets(&neither, "2001:db8::1"), "no list of theirs knows IPv6");
        assert!(meets(&["geoip:!a", "geoip:!six"], "2001:db8::1"));
        assert!(meets(&["!10.0.0.0/8", "geoip:!b"], "10.0.0.1"), "networks and lists are two negated sets");
        let rules = [IpRule::parse("geoip:none").unwrap()];
        let error = Addresses::compile(&rules, &lists).unwrap_err();
        assert_eq!(error.to_string(), "geoip:none: the list was not loaded");
    }
}
