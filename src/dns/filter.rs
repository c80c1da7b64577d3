//! Addresses that are expected of a server, or not.

use std::net::IpAddr;

use crate::geo::{Addresses, CompileError, Lists};
use crate::model::dns::ExpectedIps;

/// Compiled conditions; none where nothing is written.
#[derive(Debug)]
pub(super) struct Filter(Option<(Addresses, bool)>);

impl Filter {
    pub(super) fn new(written: &ExpectedIps, lists: &Lists) -> Result<Self, CompileError> {
        if written.rules.0.is_empty() {
            return Ok(Self(None));
        }
        Ok(Self(Some((Addresses::compile(&written.rules.0, lists)?, written.preference))))
    }

    /// The addresses that meet the conditions, or with `inside` false those that do not. With `*` among the conditions all
    /// of them where that would leave none; without, nothing.
    pub(super) fn keep(&self, ips: Vec<IpAddr>, inside: bool) -> Option<Vec<IpAddr>> {
        let Some((set, preference)) = &self.0 else { return Some(ips) };
        let kept: Vec<IpAddr> = ips.iter().copied().filter(|ip| set.contains(*ip) == inside).collect();
        if !kept.is_empty() {
            Some(kept)
        } else if *preference {
            Some(ips)
        } else {
            None
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::matcher::{IpRule, IpRules};

    fn filter(rules: &[&str], preference: bool) -> Filter {
        let rules = IpRules::of(rules.iter().map(|text| IpRule::parse(text).unwrap()).collect());
        Filter::new(&ExpectedIps { rules, preference }, &Lists::default()).unwrap()
    }

    #[test]
    fn what_is_not_expected_goes_and_a_preference_leaves_something() {
        let ips = |texts: &[&str]| -> Vec<IpAddr> { texts.iter().map(|text| text.parse().unwrap()).collect() };
        let both = || ips(&["10.0.0.1", "192.0.2.1"]);
        assert_eq!(filter(&["10.0.0.0/8"], false).keep(both(), true), Some(ips(&["10.0.0.1"])));
        assert_eq!(filter(&["10.0.0.0/8"], false).keep(both(), false), Some(ips(&["192.0.2.1"])));
        assert_eq!(filter(&["172.16.0.0/12"], false).keep(both(), true), None);
        assert_eq!(filter(&["172.16.0.0/12"], true).keep(both(), true), Some(both()));
        assert_eq!(filter(&[], false).keep(both(), true), Some(both()));
    }
}
