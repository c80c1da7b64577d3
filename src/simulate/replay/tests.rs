use super::*;
use crate::addr::{Network, OutboundId};
use crate::balance::{Evidence, Group, Guards, Rank, Sample, Subject};

fn setup() -> Setup {
    let subject = |tag: &str| Subject { tag: tag.into(), hop: OutboundId(0).into(), watched: true, print: 1 };
    let design = Design::optimal(true);
    Setup {
        subjects: vec![subject("near"), subject("fast")],
        groups: vec![Group {
            tag: "pool".into(),
            members: vec![0, 1],
            weights: vec![100, 100],
            rank: design.rank,
            guards: true,
            wait: None,
            fenced: vec![],
        }],
        plan: design.plan,
        guards: Guards::default(),
        idle: None,
        print: 1,
        seed: 1,
    }
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(1_764_000_000 + seconds)
}

/// Every ten minutes a test of both: the first member answers sooner, the second one is twice as fast.
fn journal() -> Vec<Record> {
    let sample = |seconds: u64, member: &str, dial: u64, time: u64| {
        let ms = Duration::from_millis;
        let outcome = Outcome::Done(Sample { bytes: 80_000, time: ms(time), dial: ms(dial), status: 200 });
        Record { at: at(seconds), what: Recorded::Sample { member: member.into(), kind: Kind::Test, outcome } }
    };
    let mut records = Vec::new();
    for round in 0..12 {
        records.push(sample(600 * round + 1, "near", 20, 800));
        records.push(sample(600 * round + 2, "fast", 100, 400));
        let (balancer, member) = ("pool".into(), "near".into());
        records.push(Record { at: at(600 * round + 3), what: Recorded::Serving { balancer, member } });
    }
    let seen = Seen { member: 0, network: Network::Tcp, what: Evidence::Dialed(Duration::from_millis(20)) };
    records.push(Record { at: at(7200), what: Recorded::Seen { balancer: "pool".into(), seen } });
    records
}

fn last(design: Option<&Design>) -> (Vec<Tag>, Option<f64>) {
    let courses = replay(&setup(), &journal(), design);
    let served = courses[0].replayed.iter().map(|(_, member, _)| member.clone()).collect();
    (served, courses[0].agreement())
}

#[test]
fn each_strategy_says_what_it_would_have_done() {
    for design in [None, Some(Design::adaptive(600)), Some(Design::optimal(false))] {
        let (served, agreement) = last(design.as_ref());
        assert_eq!(served.last().map(Tag::as_str), Some("fast"), "{design:?}");
        assert!(agreement.is_some_and(|share| share < 0.01), "{agreement:?}");
    }
    let (served, agreement) = last(Some(&Design::least_ping()));
    assert!(
        served.last().is_some_and(|member| member.as_str() == "fast"),
        "its light probe is the whole test: {served:?}"
    );
    assert!(agreement.is_some());
    let (served, agreement) = last(Some(&Design::failover()));
    assert_eq!((served.last().map(Tag::as_str), agreement), (Some("near"), Some(1.0)));
}

#[test]
fn an_empty_journal_has_no_course() {
    assert!(replay(&setup(), &[], None).is_empty());
    let course = Course { balancer: "b".into(), recorded: vec![], replayed: vec![], span: (at(0), at(9)) };
    assert_eq!(course.agreement(), None);
}

#[test]
fn what_was_never_measured_fails() {
    let mut records = journal();
    records.retain(|record| !matches!(&record.what, Recorded::Sample { member, .. } if member.as_str() == "fast"));
    let courses = replay(&setup(), &records, None);
    assert!(courses[0].replayed.iter().all(|(_, member, _)| member.as_str() == "near"), "{:?}", courses[0].replayed);
    assert!(matches!(setup().groups[0].rank, Rank::Rate));
}
