use std::path::PathBuf;
use std::sync::Mutex;

use tokio::task::JoinHandle;

use super::super::client::{Client, ClientError, running};
use super::super::protocol::{EngineReport, VERSION};
use super::*;
use crate::balance::{Job, Kind, Life, MemberReport, Moment, Outcome, Plan, Sample, Setup, Story, Witness};

/// An engine that has one balancer of two members, one of which is dead.
#[derive(Debug, Default)]
struct Fake {
    orders: Mutex<Vec<Order>>,
    gallery: Arc<Gallery>,
}

impl House for Fake {
    fn engine(&self) -> EngineReport {
        EngineReport { pid: 7, version: "1".into(), started_ms: 5 }
    }

    fn reports(&self) -> Vec<Report> {
        let member = |tag: &str, life| MemberReport { member: tag.into(), life, ..MemberReport::default() };
        let members = vec![member("good", Life::Up), member("bad", Life::Down)];
        vec![Report { balancer: "b".into(), members, serving: vec!["good".into()], ..Report::default() }]
    }

    async fn order(&self, _: &Tag, order: Order) -> Result<(), Refused> {
        if let Order::Test(member) = &order {
            let whom = member.as_ref().map_or_else(|| vec!["bad", "good"], |member| vec![member.as_str()]);
            for (attempt, member) in whom.iter().flat_map(|member| [(1, *member), (2, *member)]) {
                self.measured(member, attempt);
            }
        }
        self.orders.lock().unwrap().push(order);
        Ok(())
    }
}

impl Fake {
    fn measured(&self, member: &str, attempt: u32) {
        let rounds = crate::balance::Rounds {
            interval: Duration::from_secs(60),
            timeout: Duration::from_secs(5),
            count: 2,
            warmup: vec![],
            stagger: Duration::ZERO,
            second: false,
        };
        let setup = Setup {
            subjects: vec![],
            groups: vec![],
            plan: Plan::Rounds(rounds),
            guards: crate::balance::Guards::default(),
            idle: None,
            print: 0,
            seed: 0,
        };
        let job = Job { id: 1, subject: Some(0), kind: Kind::Test, round: 1, attempt, timeout: Duration::from_secs(5) };
        let sample = Sample { bytes: 10, time: Duration::from_millis(5), dial: Duration::from_millis(1), status: 200 };
        let story = Story::Measured { member: member.into(), job, outcome: Outcome::Done(sample) };
        self.gallery.told(&setup, &story, Moment::default());
    }
}

struct Up {
    around: Surroundings,
    path: PathBuf,
    fake: Arc<Fake>,
    token: CancellationToken,
    task: JoinHandle<()>,
    _temp: tempfile::TempDir,
}

fn up() -> Up {
    let temp = tempfile::tempdir().unwrap();
    let uid = rustix::process::geteuid().as_raw();
    let around = Surroundings { runtime: None, temp: temp.path().to_owned(), uid, pid: 7 };
    let server = Server::open(&Socket::Auto, &around).unwrap().unwrap();
    let (path, fake, token) = (server.path().to_owned(), Arc::new(Fake::default()), CancellationToken::new());
    let task = tokio::spawn(server.run(Arc::clone(&fake), Arc::clone(&fake.gallery), token.clone()));
    Up { around, path, fake, token, task, _temp: temp }
}

async fn ask(up: &Up, ask: Ask) -> Say {
    Client::ask(&up.path, ask).await.unwrap().answer().await.unwrap()
}

/// What comes back for these bytes.
async fn raw(up: &Up, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(&up.path).await.unwrap();
    // One that has said too much is not read to the end.
    let _ = stream.write_all(bytes).await;
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text).await;
    text
}

fn order(order: OrderAsk) -> Ask {
    Ask::Order { balancer: "b".into(), order }
}

#[tokio::test]
async fn reports_and_refusals() {
    let up = up();
    let Say::Reports(all) = ask(&up, Ask::Report { balancer: None }).await else { panic!("no reports") };
    assert_eq!((all.engine.pid, all.balancers.len()), (7, 1));
    let Say::Error(refused) = ask(&up, Ask::Report { balancer: Some("x".into()) }).await else { panic!("answered") };
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (Code::UnknownBalancer, "there is no balancer x; there are b")
    );
    assert_eq!(running(&up.around).await.iter().map(|one| one.reports.engine.pid).collect::<Vec<_>>(), [7]);
    up.token.cancel();
    up.task.await.unwrap();
    assert!(!up.path.exists(), "the socket goes with the engine");
    assert!(running(&up.around).await.is_empty());
    let gone = Client::ask(&up.path, Ask::Report { balancer: None }).await;
    assert!(matches!(gone, Err(ClientError::Nobody(_))));
}

#[tokio::test]
async fn orders_are_given_on_and_noted() {
    let up = up();
    let pin = |member: &str| OrderAsk::Pin { member: member.into(), for_ms: Some(50), strict: false };
    let Say::Done { notes, report } = ask(&up, order(pin("bad"))).await else { panic!("refused") };
    assert!(notes.concat().contains("bad is down") && report.balancer == "b", "{notes:?}");
    let Say::Done { notes, .. } = ask(&up, order(pin("good"))).await else { panic!("refused") };
    assert!(notes.is_empty());
    ask(&up, order(OrderAsk::Unpin {})).await;
    let orders = up.fake.orders.lock().unwrap();
    let lasts = Some(Duration::from_millis(50));
    assert_eq!(orders[0], Order::Pin { member: "bad".into(), lasts, strict: false });
    assert_eq!(orders[2], Order::Unpin);
}

#[tokio::test]
async fn a_test_is_waited_for_to_its_last_attempt() {
    let up = up();
    let mut client = Client::ask(&up.path, order(OrderAsk::Test { member: None })).await.unwrap();
    let mut tested = vec![];
    let report = loop {
        match client.answer().await.unwrap() {
            Say::Tested(one) => tested.push((one.member, one.ok)),
            Say::Done { report, .. } => break report,
            other => panic!("{other:?}"),
        }
    };
    let all = ["bad", "bad", "good", "good"].map(|member| (member.to_owned(), true));
    assert_eq!((tested, report.balancer.as_str()), (all.into(), "b"));
    assert_eq!(client.next().await.unwrap(), None);
    let Say::Error(refused) = ask(&up, order(OrderAsk::Test { member: Some("x".into()) })).await else { panic!("?") };
    assert_eq!(refused.code, Code::UnknownMember);
    assert!(refused.message.contains("good, bad"), "{}", refused.message);
}

#[tokio::test]
async fn somebody_who_watches_is_told_until_he_goes() {
    let up = up();
    let watch = Ask::Watch { balancer: None, every_ms: Some(0) };
    let mut client = Client::ask(&up.path, watch).await.unwrap();
    for _ in 0..3 {
        assert!(matches!(client.answer().await.unwrap(), Say::Reports(_)));
    }
    up.token.cancel();
    while client.next().await.unwrap().is_some() {}
}

#[tokio::test]
async fn bad_words_are_answered_and_harm_nobody() {
    let up = up();
    let long = [b'a'; LONGEST_REQUEST + 1];
    for bad in [&b"hello\n"[..], b"\0\xff\n", b"{\"v\":1}\n", &long] {
        let said = raw(&up, bad).await;
        assert!(bad.len() > 100 || said.contains("\"code\":\"bad_request\""), "{said}");
    }
    assert!(raw(&up, b"{\"v\":9,\"ask\":{}}\n").await.contains("\"code\":\"version\""));
    // Somebody who says nothing more and goes, or stays in silence.
    drop(UnixStream::connect(&up.path).await.unwrap());
    let _silent = UnixStream::connect(&up.path).await.unwrap();
    assert!(matches!(ask(&up, Ask::Report { balancer: None }).await, Say::Reports(_)));
    assert_eq!(serde_json::from_str::<Answer>(&raw(&up, b"x\n").await).unwrap().v, VERSION);
}

#[tokio::test]
async fn too_many_are_turned_away_and_the_next_is_served() {
    let up = up();
    let watch = || Client::ask(&up.path, Ask::Watch { balancer: None, every_ms: None });
    let mut inside = vec![];
    for _ in 0..PLACES {
        let mut client = watch().await.unwrap();
        assert!(matches!(client.answer().await.unwrap(), Say::Reports(_)));
        inside.push(client);
    }
    let Say::Error(refused) = watch().await.unwrap().answer().await.unwrap() else { panic!("served") };
    assert_eq!(refused.code, Code::Busy);
    inside.clear();
    // Those who went are noticed when they are told, a second later at most.
    while let Say::Error(refused) = watch().await.unwrap().answer().await.unwrap() {
        assert_eq!(refused.code, Code::Busy);
    }
}

#[test]
fn only_this_user_and_root_are_admitted() {
    assert!(admits(1000, 1000) && admits(1000, 0) && admits(0, 0));
    assert!(!admits(1000, 1001) && !admits(0, 1000));
}
