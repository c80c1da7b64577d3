//! One UDP association: where each target goes, the links that lead there, and their end.
//!
//! One task moves everything. Nothing of an association outlives it: when the client's side ends, all sockets close.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::{Instant, sleep};

use super::choose::Heading;
use super::deciding::{Deciding, Leading, Step};
use super::house::House;
use super::life::Lease;
use super::links::{Closed, Link, Route};
use super::sniffing::Sniffing;
use super::tell;
use crate::addr::Target;
use crate::flow::{BoxPackets, Flow, FlowEnd, Packets, Side};
use crate::net::{Alarm, WaitingRoom, Watch};

/// Targets whose way is remembered. A client that has more is asked about again.
const TARGETS: usize = 1024;

/// Targets that are being decided about at a time; those come to more only where names must be resolved.
const DECIDING: usize = 32;

/// Links at a time. There are as many as the config has destinations at most, and nobody's client needs more than these.
const LINKS: usize = 64;

/// Runs an association until the client's side ends, it was quiet for too long, or the lease of its inbound is over.
pub(super) async fn run(
    house: House,
    flow: Flow,
    client: BoxPackets,
    lease: &Arc<Lease>,
    sniffing: Option<Arc<Sniffing>>,
) {
    let id = flow.id;
    let idle = house.snapshot.levels.of(flow.level).idle;
    let mut association = Association::new(house, Arc::clone(lease), flow, client, sniffing);
    let timer = pin!(sleep(idle.unwrap_or_default()));
    let cancelled = pin!(lease.token().cancelled());
    let mut watch = Watch::new(timer, cancelled, idle);
    let mut sweep = pin!(sleep(idle.map_or(NEVER, |idle| idle / 2)));
    let ended = poll_fn(|cx| {
        let ended = association.poll(cx);
        if std::mem::take(&mut association.moved) {
            watch.touch(Instant::now());
        }
        if ended.is_ready() {
            return ended;
        }
        if let Some(idle) = idle {
            while sweep.as_mut().poll(cx).is_ready() {
                association.sweep(idle);
                sweep.as_mut().reset(Instant::now() + idle / 2);
            }
        }
        watch.poll(cx).map(|alarm| match alarm {
            Alarm::Idle => FlowEnd::Idle,
            Alarm::Cancelled => FlowEnd::Cancelled,
        })
    })
    .await;
    let meter = &association.flow.meter;
    tracing::debug!(flow = id, up = meter.up(), down = meter.down(), "association ended: {ended}");
}

/// Longer than any process lives.
const NEVER: Duration = Duration::from_secs(u32::MAX as u64);

struct Association {
    /// The house of the last decision: targets that are new are decided about by the newest snapshot, others keep their way.
    house: House,
    lease: Arc<Lease>,
    /// What all of the client's datagrams have in common.
    flow: Flow,
    client: BoxPackets,
    /// What the inbound wants read from the first datagrams to each target.
    sniffing: Option<Arc<Sniffing>>,
    ways: HashMap<Target, Way>,
    deciding: Vec<Deciding>,
    links: Vec<Link>,
    /// An answer that the client's side did not take yet.
    answer: Option<(Bytes, Target)>,
    /// Where datagrams wait.
    room: WaitingRoom,
    buf: BytesMut,
    /// Whether anything moved in this turn.
    moved: bool,
}

/// Where a target goes.
enum Way {
    /// It is being decided.
    Asked,
    To(Leading),
    Closed,
}

/// Datagrams that wait for one decision.
const UNDECIDED: usize = 8;

/// Datagrams moved before other tasks get their turn.
const TURNS: usize = 64;

impl Association {
    fn new(house: House, lease: Arc<Lease>, flow: Flow, client: BoxPackets, sniffing: Option<Arc<Sniffing>>) -> Self {
        Self {
            house,
            lease,
            flow,
            client,
            sniffing,
            ways: HashMap::new(),
            deciding: Vec::new(),
            links: Vec::new(),
            answer: None,
            room: WaitingRoom::default(),
            buf: BytesMut::new(),
            moved: false,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<FlowEnd> {
        for _ in 0..TURNS {
            let sent = self.poll_client(cx);
            if let Poll::Ready(Err(error)) = sent {
                return Poll::Ready(ended(error));
            }
            self.poll_deciding(cx);
            let answered = self.poll_links(cx);
            if let Poll::Ready(Err(error)) = answered {
                return Poll::Ready(ended(error));
            }
            if sent.is_pending() && answered.is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Takes one datagram from the client.
    fn poll_client(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.buf.clear();
        let target = match self.client.poll_recv(cx, &mut self.buf) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(target)) => target,
        };
        self.moved = true;
        self.flow.meter.moved(self.buf.len() as u64, 0, Instant::now());
        self.renew();
        match self.ways.get(&target) {
            None => self.ask(target),
            Some(Way::Closed) => {}
            Some(Way::To(leading)) => {
                let leading = leading.clone();
                let payload = std::mem::take(&mut self.buf);
                self.send(cx, leading, &payload, target);
                self.buf = payload;
            }
            Some(Way::Asked) => {
                let waiting = self.deciding.iter_mut().find(|one| one.target == target);
                if let Some(one) = waiting.filter(|one| one.waiting.len() < UNDECIDED) {
                    one.waiting.extend(self.room.keep(&self.buf));
                    let full = one.waiting.len() == UNDECIDED;
                    if let (Step::Listening(ear, flow), Some(sniffing)) = (&mut one.step, &self.sniffing)
                        && (sniffing.hear(ear, flow, &self.buf) || full)
                    {
                        let flow = std::mem::replace(&mut **flow, self.flow.clone());
                        one.ask(&self.house, flow);
                    }
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Goes over to the newest snapshot. Ways and links whose route goes on are named anew; others stay what they are until
    /// their time is over, and what went by them is decided about again then.
    fn renew(&mut self) {
        let now = self.house.shared.now.load();
        if now.generation == self.house.snapshot.generation {
            return;
        }
        let (earlier, now) = (Arc::clone(&self.house.snapshot), Arc::clone(&now));
        let rename = |route: &mut Route| {
            if route.generation == earlier.generation
                && let Some(to) = now.goes_on(&earlier, &route.to)
            {
                *route = Route { to, generation: now.generation };
            }
        };
        self.links.iter_mut().for_each(|link| rename(&mut link.route));
        for way in self.ways.values_mut() {
            if let Way::To(leading) = way {
                rename(&mut leading.route);
            }
        }
        self.ways.retain(|_, way| !matches!(way, Way::Closed));
        self.house.snapshot = now;
    }

    /// Begins to decide where a target goes. Most decisions are there when they are first polled.
    fn ask(&mut self, target: Target) {
        if self.deciding.len() >= DECIDING {
            return;
        }
        // Datagrams have a port of their own, which is the one that rules and logs mean.
        if let Some(client) = self.client.client() {
            self.flow.source = client;
        }
        if self.ways.len() >= TARGETS {
            self.ways.retain(|_, way| matches!(way, Way::Asked));
        }
        let mut flow = self.flow_to(&target);
        let waiting = self.room.keep(&self.buf).into_iter().collect();
        self.ways.insert(target.clone(), Way::Asked);
        let sniffing = self.sniffing.as_ref();
        let ear = sniffing.and_then(|sniffing| sniffing.begin(&self.house.snapshot.fakes, &mut flow, &self.buf));
        self.deciding.push(match ear {
            Some(ear) => {
                let step = Step::Listening(Box::new(ear), Box::new(flow));
                Deciding { target, generation: self.house.snapshot.generation, waiting, heard: None, step }
            }
            None => Deciding::new(&self.house, target, waiting, flow),
        });
    }

    fn flow_to(&self, target: &Target) -> Flow {
        Flow { target: target.clone(), ..self.flow.clone() }
    }

    fn poll_deciding(&mut self, cx: &mut Context<'_>) {
        let mut at = 0;
        while let Some(one) = self.deciding.get_mut(at) {
            if let (Step::Listening(ear, flow), Some(sniffing)) = (&mut one.step, &self.sniffing)
                && sniffing.poll_over(ear, flow, cx).is_ready()
            {
                let flow = std::mem::replace(&mut **flow, self.flow.clone());
                one.ask(&self.house, flow);
            }
            let answer = match &mut one.step {
                Step::Asking(answer) => answer.as_mut().poll(cx),
                Step::Listening(..) => Poll::Pending,
            };
            let Poll::Ready(answer) = answer else {
                at += 1;
                continue;
            };
            let Deciding { target, generation, waiting, heard, .. } = self.deciding.swap_remove(at);
            if generation != self.house.snapshot.generation {
                // The answer names places of a config that is gone. The next datagram asks again.
                self.ways.remove(&target);
                continue;
            }
            match answer {
                Ok(Heading { to, because }) => {
                    let leading = Leading { route: Route { to, generation }, because, heard };
                    self.ways.insert(target.clone(), Way::To(leading.clone()));
                    for payload in waiting {
                        self.send(cx, leading.clone(), &payload, target.clone());
                    }
                }
                Err(nowhere) => {
                    tell::refused(&self.house.shared, &self.flow_to(&target), &nowhere);
                    self.ways.insert(target, Way::Closed);
                }
            }
        }
    }

    fn send(&mut self, cx: &mut Context<'_>, leading: Leading, payload: &[u8], target: Target) {
        let Leading { route, because, heard } = leading;
        let at = match self.links.iter().position(|link| link.route == route) {
            Some(at) => at,
            None if self.links.len() >= LINKS => return,
            None => {
                let mut flow = self.flow_to(&target);
                if let Some(heard) = &heard {
                    (flow.sniffed, flow.route_target) = (heard.sniffed.clone(), heard.dialed.clone());
                }
                self.links.push(Link::open(&self.house, &self.lease, route, because, flow, &self.room));
                self.links.len() - 1
            }
        };
        let dialed = heard.and_then(|heard| heard.dialed.clone());
        if let Some(dialed) = &dialed {
            self.links[at].redirect(dialed, &target);
        }
        if let Err(error) = self.links[at].push(cx, payload, dialed.unwrap_or(target)) {
            self.close(at, &error);
        }
    }

    /// Lets every link send, and takes one answer of each to the client.
    fn poll_links(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut any = false;
        let mut at = 0;
        while at < self.links.len() {
            if let Err(error) = self.links[at].poll_out(cx) {
                self.close(at, &error);
                continue;
            }
            // Until the client takes an answer, no other is received; the kernel's queues drop what they cannot hold.
            if self.poll_answer(cx)?.is_ready() {
                match self.links[at].poll_in(cx, &mut self.buf) {
                    Poll::Pending => {}
                    Poll::Ready(Ok(from)) => {
                        (any, self.moved) = (true, true);
                        self.flow.meter.moved(0, self.buf.len() as u64, Instant::now());
                        // Kept only where the client does not take it now.
                        match self.client.poll_send(cx, &self.buf, &from) {
                            Poll::Ready(sent) => sent?,
                            Poll::Pending => self.answer = Some((Bytes::copy_from_slice(&self.buf), from)),
                        }
                    }
                    Poll::Ready(Err(error)) => {
                        self.close(at, &error);
                        continue;
                    }
                }
            }
            at += 1;
        }
        let _ = self.poll_answer(cx)?;
        if any { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    /// Gives the client the answer that waits for it; ready when there is none any more.
    fn poll_answer(&mut self, cx: &mut Context<'_>) -> io::Result<Poll<()>> {
        let Some((payload, from)) = &self.answer else { return Ok(Poll::Ready(())) };
        match self.client.poll_send(cx, payload, from) {
            Poll::Ready(sent) => {
                self.answer = None;
                sent.map(Poll::Ready)
            }
            Poll::Pending => Ok(Poll::Pending),
        }
    }

    /// Takes a link out that ended by itself.
    fn close(&mut self, at: usize, error: &Closed) {
        tracing::debug!(flow = self.flow.id, %error, "a way out of the association closed");
        let closed = self.links.swap_remove(at);
        self.forget(&closed.route);
    }

    /// Closes links that were quiet for as long as flows may be.
    fn sweep(&mut self, idle: Duration) {
        let now = Instant::now();
        let (live, quiet): (Vec<_>, Vec<_>) = std::mem::take(&mut self.links)
            .into_iter()
            .partition(|link| now.saturating_duration_since(link.last) < idle);
        self.links = live;
        quiet.iter().for_each(|link| self.forget(&link.route));
    }

    /// What went there is decided about anew when it comes again.
    fn forget(&mut self, route: &Route) {
        self.ways.retain(|_, way| !matches!(way, Way::To(one) if one.route == *route));
    }
}

fn ended(error: io::Error) -> FlowEnd {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        FlowEnd::Done
    } else {
        FlowEnd::Broken { side: Side::Client, source: error }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
