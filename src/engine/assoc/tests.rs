use std::sync::Arc;

use tokio::sync::mpsc;

use super::super::build::build;
use super::super::shared::Shared;
use super::*;
use crate::addr::{Network, PortSet};
use crate::geo::Lists;
use crate::model::check::link;
use crate::model::config::Config;
use crate::model::draft::Draft;
use crate::model::name::Name;
use crate::model::outbound::{Outbound, OutboundKind};
use crate::model::protocol::Blackhole;
use crate::model::routing::{Rule, To, When};
use crate::shape::{Dialect, Spot};

/// A client whose datagrams, of this size, come from the test; what it is sent vanishes.
struct Client(mpsc::UnboundedReceiver<Target>, usize);

impl Packets for Client {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        buf.resize(self.1, b'x');
        self.0.poll_recv(cx).map(|target| target.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
    }

    fn poll_send(&mut self, _: &mut Context<'_>, _: &[u8], _: &Target) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Two outbounds that swallow everything; port 9 goes to the second.
fn config() -> Config {
    let hole = |tag: &str| Outbound {
        at: Spot::default(),
        tag: tag.into(),
        kind: OutboundKind::Blackhole(Blackhole::default()),
        stream: Default::default(),
        send_through: Default::default(),
        via: None,
        mux: Default::default(),
        target_strategy: Default::default(),
        endpoint: None,
    };
    let mut draft = Draft { outbounds: vec![hole("a"), hole("b")], ..Draft::default() };
    draft.routing.rules.push(Rule {
        at: Spot::default(),
        name: String::new(),
        to: To::Outbound(Name::new("b")),
        when: When { port: Some(PortSet::one(9)), ..When::default() }.into(),
    });
    link(&draft, Dialect::Json).config.unwrap()
}

fn house() -> (House, Arc<Lease>) {
    let shared = Arc::new(Shared::new(build(&config(), &Lists::default(), None).unwrap().snapshot));
    let lease = Lease::under(&shared.end);
    (House::now(&shared, &lease), lease)
}

fn association() -> (Association, mpsc::UnboundedSender<Target>) {
    association_of(1)
}

fn association_of(size: usize) -> (Association, mpsc::UnboundedSender<Target>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let any = ([127, 0, 0, 1], 1).into();
    let flow = Flow::new("in".into(), Network::Udp, any, any, "10.0.0.1:1".parse().unwrap());
    let (house, lease) = house();
    (Association::new(house, lease, flow, Box::new(Client(receiver, size)), None), sender)
}

fn target(text: &str) -> Target {
    text.parse().unwrap()
}

async fn turn(association: &mut Association) -> Poll<FlowEnd> {
    poll_fn(|cx| Poll::Ready(association.poll(cx))).await
}

#[tokio::test(start_paused = true)]
async fn links_are_by_route_and_close_when_they_are_quiet() {
    let (mut association, client) = association();
    for to in ["10.0.0.1:1", "10.0.0.2:2", "10.0.0.1:9", "10.0.0.3:9"] {
        client.send(target(to)).unwrap();
    }
    assert!(turn(&mut association).await.is_pending());
    assert_eq!(association.links.len(), 2);
    let idle = Duration::from_secs(300);
    tokio::time::advance(Duration::from_secs(200)).await;
    client.send(target("10.0.0.1:9")).unwrap();
    assert!(turn(&mut association).await.is_pending());
    tokio::time::advance(Duration::from_secs(200)).await;
    association.sweep(idle);
    assert_eq!(association.links.len(), 1);
    assert_eq!(association.ways.len(), 2, "what went by the closed link is forgotten");
    drop(client);
    assert!(matches!(turn(&mut association).await, Poll::Ready(FlowEnd::Done)));
}

#[tokio::test(start_paused = true)]
async fn targets_without_number_are_bounded() {
    let (mut association, client) = association();
    for n in 0..4 * TARGETS as u32 {
        client.send(Target::new(std::net::IpAddr::from((n + 1).to_be_bytes()).into(), 1)).unwrap();
    }
    drop(client);
    while turn(&mut association).await.is_pending() {
        tokio::task::yield_now().await;
    }
    assert!(association.ways.len() <= TARGETS && association.links.len() == 1);
}

/// Names whose servers never answer could else hold 16 MiB, and each link two more.
#[tokio::test(start_paused = true)]
async fn what_waits_is_bounded_by_its_bytes() {
    let (mut association, client) = association_of(60_000);
    for n in 0..DECIDING {
        let target = target(&format!("name{n}.example:1"));
        let mut deciding = Deciding::new(&association.house, target.clone(), vec![], association.flow_to(&target));
        deciding.step = Step::Asking(Box::pin(std::future::pending()));
        association.deciding.push(deciding);
        association.ways.insert(target.clone(), Way::Asked);
        (0..UNDECIDED).for_each(|_| client.send(target.clone()).unwrap());
    }
    let held = |association: &Association| -> usize {
        association.deciding.iter().flat_map(|one| &one.waiting).map(|one| one.len()).sum()
    };
    for _ in 0..DECIDING {
        assert!(turn(&mut association).await.is_pending());
    }
    assert!((900_000..=1 << 20).contains(&held(&association)), "{}", held(&association));
}

#[tokio::test(start_paused = true)]
async fn silence_and_the_token_end_it() {
    for cancel in [false, true] {
        let (sender, receiver) = mpsc::unbounded_channel();
        let any = ([127, 0, 0, 1], 1).into();
        let flow = Flow::new("in".into(), Network::Udp, any, any, target("10.0.0.1:1"));
        let (house, lease) = house();
        let begun = Instant::now();
        sender.send(target("10.0.0.1:1")).unwrap();
        if cancel {
            lease.end();
        }
        run(house, flow, Box::new(Client(receiver, 1)), &lease, None).await;
        assert_eq!(begun.elapsed().as_secs(), if cancel { 0 } else { 300 });
    }
}
