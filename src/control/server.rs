//! The engine's end of the socket. One task a connection, few connections, short lines, patience of seconds: whoever
//! connects can see much, but keep nobody from anything.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::gallery::Gallery;
use super::house::House;
use super::notes::notes;
use super::place::{Claim, PlaceError, Surroundings};
use super::protocol::{Answer, Ask, Code, LONGEST_REQUEST, OrderAsk, Refused, Reports, Request, Say, line};
use super::trial::Trial;
use crate::addr::Tag;
use crate::balance::{Order, Report};
use crate::model::control::Socket;

/// Connections at once; those on top are told so.
const PLACES: usize = 32;

/// How long a request may take to come, and a line of an answer to go.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often somebody who watches is told, at most and where he says nothing.
const OFTEN: Duration = Duration::from_millis(200);
const USUAL: Duration = Duration::from_secs(1);

/// An open control socket; its name goes when this does.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    claim: Claim,
    uid: u32,
}

impl Server {
    /// Opens the socket; none where it is off. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`PlaceError`] where it cannot be opened, or must not.
    pub fn open(socket: &Socket, around: &Surroundings) -> Result<Option<Self>, PlaceError> {
        let Some((listener, claim)) = around.open(socket)? else { return Ok(None) };
        let listener =
            UnixListener::from_std(listener).map_err(|source| PlaceError::Io { path: claim.path.clone(), source })?;
        Ok(Some(Self { listener, claim, uid: around.uid }))
    }

    /// Where it listens.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.claim.path
    }

    /// Answers until the token falls.
    pub async fn run(self, house: Arc<impl House>, gallery: Arc<Gallery>, token: CancellationToken) {
        let places = Arc::new(Semaphore::new(PLACES));
        let mut visits = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = token.cancelled() => break,
                accepted = self.listener.accept() => accepted,
                Some(_) = visits.join_next() => continue,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Mostly that there are no files left; others will end.
                    tracing::debug!(%error, "control socket");
                    sleep(OFTEN).await;
                    continue;
                }
            };
            if !stream.peer_cred().is_ok_and(|cred| admits(self.uid, cred.uid())) {
                tracing::warn!("control socket: somebody who is not this user was turned away");
                continue;
            }
            let visit = Visit::new(stream, Arc::clone(&house), Arc::clone(&gallery));
            match Arc::clone(&places).try_acquire_owned() {
                Ok(place) => visits.spawn(async move {
                    visit.serve().await;
                    drop(place);
                }),
                Err(_) => visits.spawn(visit.turn_away()),
            };
        }
        visits.shutdown().await;
    }
}

/// Who may give orders: this user, and root, who may do everything anyhow.
fn admits(ours: u32, theirs: u32) -> bool {
    theirs == ours || theirs == 0
}

/// A connection.
struct Visit<H> {
    from: BufReader<OwnedReadHalf>,
    to: OwnedWriteHalf,
    house: Arc<H>,
    gallery: Arc<Gallery>,
}

/// How a visit ends early: whoever came is gone, or too slow.
type Gone = io::Result<()>;

impl<H: House> Visit<H> {
    fn new(stream: UnixStream, house: Arc<H>, gallery: Arc<Gallery>) -> Self {
        let (from, to) = stream.into_split();
        Self { from: BufReader::new(from), to, house, gallery }
    }

    async fn turn_away(mut self) {
        let _ = self.say(Say::Error(Refused::new(Code::Busy, "too many are connected to this socket"))).await;
    }

    async fn serve(mut self) {
        let ended = match self.request().await {
            Ok(Some(Ok(request))) => self.answer(request.ask).await,
            Ok(Some(Err(refused))) => self.say(Say::Error(refused)).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "control socket");
        }
    }

    /// The request; nothing where whoever came left without a word.
    async fn request(&mut self) -> io::Result<Option<Result<Request, Refused>>> {
        let mut text = Vec::new();
        let mut bounded = (&mut self.from).take(LONGEST_REQUEST as u64);
        let read = timeout(PATIENCE, bounded.read_until(b'\n', &mut text)).await;
        Ok(match read {
            Err(_) => Some(Err(Refused::new(Code::BadRequest, "no request came in time"))),
            Ok(Err(error)) => return Err(error),
            Ok(Ok(0)) => None,
            Ok(Ok(LONGEST_REQUEST)) if !text.ends_with(b"\n") => {
                Some(Err(Refused::new(Code::BadRequest, format!("the request has over {LONGEST_REQUEST} bytes"))))
            }
            Ok(Ok(_)) => Some(Request::read(&text)),
        })
    }

    async fn answer(&mut self, ask: Ask) -> Gone {
        let said = match ask {
            Ask::Report { balancer } => self.reports(balancer.as_deref()).map(Say::Reports),
            Ask::Watch { balancer, every_ms } => {
                let every = every_ms.map_or(USUAL, Duration::from_millis).max(OFTEN);
                return self.watch(balancer.as_deref(), every).await;
            }
            Ask::Order { balancer, order: OrderAsk::Test { member } } => self.test(&balancer, member).await?,
            Ask::Order { balancer, order } => self.order(&balancer, &order).await,
        };
        self.say(said.unwrap_or_else(Say::Error)).await
    }

    /// Tells it again and again, until whoever watches goes.
    async fn watch(&mut self, balancer: Option<&str>, every: Duration) -> Gone {
        let mut rest = [0; 64];
        loop {
            // A balancer may go and come again with the configuration: that ends nothing.
            let said = self.reports(balancer).map_or_else(Say::Error, Say::Reports);
            self.say(said).await?;
            tokio::select! {
                () = sleep(every) => {}
                read = self.from.read(&mut rest) => if read? == 0 { return Ok(()) },
            }
        }
    }

    async fn order(&self, balancer: &str, order: &OrderAsk) -> Result<Say, Refused> {
        self.one(balancer)?;
        self.house.order(&Tag::from(balancer), Order::from(order)).await?;
        let report = Box::new(self.one(balancer)?);
        Ok(Say::Done { notes: notes(order, &report), report })
    }

    /// Starts tests, tells of each that ends, and waits for the last.
    async fn test(&mut self, balancer: &str, member: Option<String>) -> io::Result<Result<Say, Refused>> {
        let heard = self.gallery.listen();
        let mut trial = match self.one(balancer).and_then(|report| Trial::new(&report, member.as_deref(), heard)) {
            Ok(trial) => trial,
            Err(refused) => return Ok(Err(refused)),
        };
        let order = Order::Test(member.map(Tag::from));
        if let Err(refused) = self.house.order(&Tag::from(balancer), order).await {
            return Ok(Err(refused));
        }
        let mut rest = [0; 64];
        loop {
            let tested = tokio::select! {
                tested = trial.next() => tested,
                // Whoever is gone waits for nothing.
                read = self.from.read(&mut rest) => match read? {
                    0 => return Err(io::ErrorKind::ConnectionAborted.into()),
                    _ => continue,
                },
            };
            match tested {
                Ok(Some(tested)) => self.say(Say::Tested(tested)).await?,
                Ok(None) => break,
                Err(refused) => return Ok(Err(refused)),
            }
        }
        let report = self.one(balancer);
        Ok(report.map(|report| Say::Done { notes: vec![], report: Box::new(report) }))
    }

    fn reports(&self, balancer: Option<&str>) -> Result<Reports, Refused> {
        let balancers = match balancer {
            None => self.house.reports(),
            Some(balancer) => vec![self.one(balancer)?],
        };
        Ok(Reports { engine: self.house.engine(), balancers })
    }

    /// The report of one balancer.
    fn one(&self, balancer: &str) -> Result<Report, Refused> {
        let mut reports = self.house.reports();
        // Of two with one name the last counts, as everywhere.
        if let Some(at) = reports.iter().rposition(|report| report.balancer == balancer) {
            return Ok(reports.swap_remove(at));
        }
        let known: Vec<&str> = reports.iter().map(|report| report.balancer.as_str()).collect();
        let known =
            if known.is_empty() { "there are none".to_owned() } else { format!("there are {}", known.join(", ")) };
        Err(Refused::new(Code::UnknownBalancer, format!("there is no balancer {balancer}; {known}")))
    }

    async fn say(&mut self, say: Say) -> Gone {
        let text = line(&Answer::from(say));
        match timeout(PATIENCE, self.to.write_all(&text)).await {
            Ok(written) => written,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
