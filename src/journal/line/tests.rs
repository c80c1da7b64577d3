use super::*;
use crate::addr::{Hop, OutboundId};
use crate::balance::{Group, Guards, Plan, Rank, Subject};

const NOW: Moment = Moment { steady: Duration::from_secs(3), wall: Duration::from_millis(1_764_000_000_123) };

fn setup() -> Setup {
    let subject = |tag: &str| Subject { tag: tag.into(), hop: Hop::Outbound(OutboundId(0)), watched: true, print: 77 };
    let group = Group {
        tag: "b".into(),
        members: vec![1, 0],
        weights: vec![300, 100],
        rank: Rank::Rate,
        guards: true,
        wait: None,
        fenced: vec![],
    };
    Setup {
        subjects: vec![subject("a"), subject("c")],
        groups: vec![group],
        plan: Plan::Beats { interval: Duration::from_secs(30), timeout: Duration::from_secs(5), spread: true },
        guards: Guards::default(),
        idle: None,
        print: u64::MAX,
        seed: 4,
    }
}

fn back(line: &Line) -> Line {
    serde_json::from_str(&line.text()).unwrap_or_else(|error| panic!("{error}: {}", line.text()))
}

#[test]
fn a_keeper_is_written_without_prints() {
    let line = Line::keeper(3, &setup(), NOW);
    assert_eq!(back(&line), line);
    let What::Keeper { keeper: 3, setup: written } = line.what else { panic!("another line") };
    assert!(written.print == 0 && written.subjects.iter().all(|subject| subject.print == 0));
    assert_eq!((written.groups, written.plan), (setup().groups, setup().plan));
}

#[test]
fn every_outcome_comes_back() {
    let micros = Duration::from_micros;
    let done = Sample { bytes: 81_920, time: micros(800_001), dial: micros(99_999), status: 204 };
    let failed = |why| Outcome::Failed { took: micros(5_000_000), why };
    let outcomes = [
        Outcome::Done(done),
        failed(Fail::Refused("it refused \"loudly\"\n".into())),
        failed(Fail::Timeout(micros(5_000_000))),
        failed(Fail::Answer("status 403".into())),
        failed(Fail::Other("?".into())),
    ];
    for kind in [Kind::Test, Kind::Light, Kind::Life, Kind::Second, Kind::Direct] {
        for outcome in &outcomes {
            let job = Job { id: 9, subject: Some(0), kind, round: 4, attempt: 2, timeout: Duration::from_secs(5) };
            let story = Story::Measured { member: "a".into(), job, outcome: outcome.clone() };
            let line = Line::told(1, &story, NOW);
            assert_eq!(line.text().matches('\n').count(), 1, "one line each");
            let What::Sample(measured) = back(&line).what else { panic!("another line") };
            assert_eq!((measured.kind(), &measured.outcome()), (kind, outcome));
            assert_eq!((measured.round, measured.attempt, measured.member.as_str()), (4, 2, "a"));
        }
    }
}

#[test]
fn every_evidence_comes_back() {
    let ms = Duration::from_millis;
    for what in [
        Evidence::Dialed(ms(12)),
        Evidence::Refused,
        Evidence::TimedOut,
        Evidence::Silent,
        Evidence::Answered(ms(90)),
        Evidence::Received { bytes: 1 << 40, time: ms(60_000) },
    ] {
        for network in [Network::Tcp, Network::Udp] {
            let seen = Seen { member: 0, network, what };
            let line = Line::saw(2, &setup(), 0, seen, NOW).unwrap_or_else(|| panic!("it has that member"));
            let What::Seen(flow) = back(&line).what else { panic!("another line") };
            assert_eq!(flow.seen(), seen);
            assert_eq!((flow.balancer.as_str(), flow.member.as_str()), ("b", "c"), "places become names");
        }
    }
    let foreign = Seen { member: 7, network: Network::Tcp, what: Evidence::Refused };
    assert_eq!(Line::saw(2, &setup(), 0, foreign, NOW), None);
    assert_eq!(Line::saw(2, &setup(), 5, foreign, NOW), None);
}

#[test]
fn decisions_have_their_words() {
    let text = |story: &Story| Line::told(1, story, NOW).text();
    let serving = Story::Serving { balancer: "b".into(), member: "a".into(), changed: true, line: "optimal b".into() };
    assert_eq!(
        text(&serving),
        "{\"t\":1764000000123,\"line\":\"decision\",\"keeper\":1,\"about\":\"serving\",\"balancer\":\"b\",\
         \"member\":\"a\",\"changed\":true,\"text\":\"optimal b\"}\n"
    );
    let turned = text(&Story::Turned { member: "a".into(), up: false });
    assert!(turned.contains(r#""up":false,"text":"balancer member a is now down""#), "{turned}");
    let noted = Line::told(1, &Story::Noted { line: "outage".into(), warn: true }, NOW);
    assert_eq!(back(&noted), noted);
    assert!(!noted.text().contains("member"), "what there is not is not written");
}

#[test]
fn nonsense_is_no_time() {
    for bad in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
        assert_eq!(duration(bad), Duration::ZERO);
    }
}
