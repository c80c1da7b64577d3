//! What happens to a question that a `dns` outbound gets (`infra/conf/dns_proxy.go` and `proxy/dns` of XTLS/Xray-core).

use super::family::Family;
use super::question::Question;
use crate::addr::PortSet;
use crate::geo::{CompileError, Lists, Names};
use crate::model::protocol::{DnsAction, DnsOut, NonIpQuery};

/// The rules of one outbound; the first that matches decides.
#[derive(Debug, Default)]
pub struct Handling(Box<[Rule]>);

#[derive(Debug)]
struct Rule {
    /// Numbers of record types; none means all.
    kinds: Option<PortSet>,
    /// Names; none means all.
    names: Option<Names>,
    then: Then,
}

#[derive(Debug, Clone, Copy)]
enum Then {
    Pass,
    Drop,
    /// An empty answer with this code.
    Return(u16),
    /// An answer by what is known of the name; an empty one with this code where it is not asked for addresses.
    Hijack(u16),
}

/// What happens to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    /// It is answered here, by what is known of the name.
    Answered(Family),
    /// It gets no answer.
    Dropped,
    /// It is passed on as it is.
    PassedOn,
    /// It gets an empty answer with this code.
    Returned(u16),
}

/// Record types of addresses.
const A: u16 = 1;
const AAAA: u16 = 28;

/// The response code of what is refused.
const REFUSED: u16 = 5;

impl Handling {
    /// Compiles the rules of an outbound, or what its older settings mean.
    ///
    /// # Errors
    /// [`CompileError`] for an expression that does not compile, and for a geodata list that is not among `lists`.
    pub fn compile(written: &DnsOut, lists: &Lists) -> Result<Self, CompileError> {
        if written.non_ip_query.is_some() || written.block_types.is_some() {
            return Ok(Self::older(written));
        }
        let rule = |rule: &crate::model::protocol::DnsRule| {
            let names = if rule.domain.0.is_empty() {
                None
            } else {
                Some(Names::compile(rule.domain.0.iter().zip(0..), lists)?)
            };
            let then = match rule.action {
                DnsAction::Direct => Then::Pass,
                DnsAction::Drop => Then::Drop,
                DnsAction::Return => Then::Return(rule.r_code),
                DnsAction::Hijack => Then::Hijack(rule.r_code),
            };
            let kinds = rule.q_type.clone().filter(|kinds| !kinds.ranges().is_empty());
            Ok(Rule { kinds, names, then })
        };
        Ok(Self(written.rules.iter().map(rule).collect::<Result<_, CompileError>>()?))
    }

    fn older(written: &DnsOut) -> Self {
        let mode = written.non_ip_query.unwrap_or(NonIpQuery::Reject);
        let (blocked, rest) = match mode {
            NonIpQuery::Reject => (Then::Return(REFUSED), Then::Return(REFUSED)),
            NonIpQuery::Drop => (Then::Drop, Then::Drop),
            NonIpQuery::Skip => (Then::Drop, Then::Pass),
        };
        let of = |kinds: &[u16]| Some(PortSet::of(kinds.iter().map(|kind| (*kind, *kind))));
        let block = written.block_types.as_deref().unwrap_or_default();
        let blocks = (!block.is_empty()).then(|| Rule { kinds: of(block), names: None, then: blocked });
        let hijack = Rule { kinds: of(&[A, AAAA]), names: None, then: Then::Hijack(0) };
        let rest = Rule { kinds: None, names: None, then: rest };
        Self(blocks.into_iter().chain([hijack, rest]).collect())
    }

    /// What happens to a question.
    #[must_use]
    pub fn of(&self, question: &Question) -> Handled {
        let (kind, name) = (question.kind(), question.text());
        let takes = |rule: &&Rule| {
            rule.kinds.as_ref().is_none_or(|kinds| kinds.contains(kind))
                && rule.names.as_ref().is_none_or(|names| names.first(&name).is_some())
        };
        // Without a rule, addresses are answered and other questions get an empty answer.
        match (self.0.iter().find(takes).map_or(Then::Hijack(0), |rule| rule.then), question.family()) {
            (Then::Hijack(_), Some(family)) => Handled::Answered(family),
            (Then::Hijack(code), None) | (Then::Return(code), _) => Handled::Returned(code),
            (Then::Drop, _) => Handled::Dropped,
            (Then::Pass, _) => Handled::PassedOn,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hickory_proto::op::{Message, Query};
    use hickory_proto::rr::{Name, RecordType};

    use super::*;
    use crate::model::matcher::{Bare, DomainRule, DomainRules};
    use crate::model::protocol::DnsRule;

    fn asked(name: &str, kind: u16) -> Question {
        let mut message = Message::query();
        message.add_query(Query::query(Name::from_ascii(name).unwrap(), RecordType::from(kind)));
        Question::read(&message.to_vec().unwrap()).unwrap()
    }

    fn of(written: &DnsOut, name: &str, kind: u16) -> Handled {
        Handling::compile(written, &Lists::default()).unwrap().of(&asked(name, kind))
    }

    const TXT: u16 = 16;
    const HTTPS: u16 = 65;

    #[test]
    fn without_rules_addresses_are_answered_and_others_get_nothing() {
        let none = DnsOut::default();
        assert_eq!(of(&none, "a.example.", A), Handled::Answered(Family::V4));
        assert_eq!(of(&none, "a.example.", AAAA), Handled::Answered(Family::V6));
        assert_eq!(of(&none, "a.example.", TXT), Handled::Returned(0));
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let rule = |action, kinds: &str, names: &[&str], r_code| {
            let q_type = (!kinds.is_empty()).then(|| PortSet::parse(kinds).unwrap());
            let parse = |text: &&str| DomainRule::parse(text, Bare::Keyword).unwrap();
            DnsRule { action, q_type, domain: DomainRules::of(names.iter().map(parse).collect()), r_code }
        };
        let rules = vec![
            rule(DnsAction::Return, "", &["full:gone.example", "tracker"], 3),
            rule(DnsAction::Direct, "1,28", &["domain:corp"], 0),
            rule(DnsAction::Drop, "65,100-110", &[], 0),
            rule(DnsAction::Hijack, "", &["domain:example"], 4),
        ];
        let written = DnsOut { rules, ..DnsOut::default() };
        for (name, kind, want) in [
            ("GONE.example.", A, Handled::Returned(3)),
            ("a.gone.example.", A, Handled::Answered(Family::V4)),
            ("my-tracker.org.", TXT, Handled::Returned(3)),
            ("a.corp.", A, Handled::PassedOn),
            ("a.corp.", TXT, Handled::Returned(0)),
            ("a.corp.", HTTPS, Handled::Dropped),
            ("a.corp.", 110, Handled::Dropped),
            ("a.corp.", 111, Handled::Returned(0)),
            ("a.example.", TXT, Handled::Returned(4)),
            (".", AAAA, Handled::Answered(Family::V6)),
        ] {
            assert_eq!(of(&written, name, kind), want, "{name} {kind}");
        }
    }

    #[test]
    fn the_older_settings_mean_rules() {
        let written = |mode, types: Option<&[u16]>| DnsOut {
            non_ip_query: mode,
            block_types: types.map(Into::into),
            ..DnsOut::default()
        };
        let (reject, drop, skip) = (Some(NonIpQuery::Reject), Some(NonIpQuery::Drop), Some(NonIpQuery::Skip));
        for (mode, types, blocked, other) in [
            (reject, None, Handled::Returned(5), Handled::Returned(5)),
            (drop, None, Handled::Dropped, Handled::Dropped),
            (skip, None, Handled::PassedOn, Handled::PassedOn),
            (skip, Some(&[HTTPS, A][..]), Handled::Dropped, Handled::PassedOn),
            (None, Some(&[HTTPS, A]), Handled::Returned(5), Handled::Returned(5)),
            (None, Some(&[]), Handled::Returned(5), Handled::Returned(5)),
        ] {
            let written = written(mode, types);
            let address =
                if types.is_some_and(|types| types.contains(&A)) { blocked } else { Handled::Answered(Family::V4) };
            assert_eq!(of(&written, "a.example.", A), address, "{written:?}");
            assert_eq!(of(&written, "a.example.", AAAA), Handled::Answered(Family::V6));
            assert_eq!(of(&written, "a.example.", HTTPS), blocked, "{written:?}");
            assert_eq!(of(&written, "a.example.", TXT), other, "{written:?}");
        }
    }
}
