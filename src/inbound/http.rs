//! The HTTP proxy: CONNECT tunnels, plain requests one after the other, and changes of protocol.
//!
//! A plain request is routed by itself, so each becomes a flow of its own: one end of a pipe goes to the sink, this side
//! speaks HTTP over the other. The client's connection outlives them.

mod exchange;

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::exchange::{After, Exchange};
use super::users::Users;
use super::visit::{Accepted, Common, Fault, Visitor, write};
use crate::addr::{Network, Target};
use crate::flow::{Attributes, BoxStream, Flow, Meter, Sink};
use crate::net::{Bounds, DriveError, Limits, boxed, drive, relay};
use crate::proto::http::{ESTABLISHED, Form, MAX_HEAD, ReadRequest, RequestHead, credentials, refusal};
use crate::wire::WireError;

/// An HTTP proxy.
#[derive(Debug)]
pub struct Http {
    users: Option<Users>,
    transparent: bool,
}

/// What a request turned out to be.
enum Asked {
    /// A tunnel.
    Tunnel(Flow),
    /// A request to pass on.
    Plain(Flow, Exchange),
}

impl Http {
    /// With users, everybody must log in. `transparent` takes requests in origin form as well, as a redirecting firewall
    /// or a client that knows of no proxy sends them.
    #[must_use]
    pub fn new(users: Option<Users>, transparent: bool) -> Self {
        Self { users, transparent }
    }

    /// Takes over the users of another; whether both ask for a login.
    pub(super) fn take_users(&self, other: &Self) -> bool {
        Users::take_over(self.users.as_ref(), other.users.as_ref())
    }

    /// Serves one connection up to its tunnel, or to its end.
    pub(super) async fn accept(
        &self,
        common: &Common,
        visitor: &Visitor,
        mut io: BoxStream,
        mut held: BytesMut,
        sink: &Arc<dyn Sink>,
        token: &CancellationToken,
    ) -> Result<Accepted, Fault> {
        loop {
            let head = self.head(common, &mut io, &mut held).await?;
            let asked = match self.judge(common, visitor, head) {
                Ok(asked) => asked,
                Err((status, fault)) => {
                    write(&mut io, &refusal(status), common.handshake).await?;
                    linger(&mut io).await;
                    return Err(fault);
                }
            };
            let (flow, exchange) = match asked {
                Asked::Plain(flow, exchange) => (flow, exchange),
                Asked::Tunnel(flow) => {
                    write(&mut io, ESTABLISHED, common.handshake).await?;
                    return Ok(Accepted::Stream(flow, boxed(io, held)));
                }
            };
            let (mut near, far) = duplex(PIPE);
            tokio::spawn(sink.stream(flow, Box::new(far)));
            match Box::pin(exchange.run(&mut io, &mut held, &mut near)).await? {
                After::Keep => drop(near),
                After::Close => {
                    drop(near);
                    linger(&mut io).await;
                    return Ok(Accepted::Served);
                }
                After::Tunnel(early) => {
                    // The flow behind the pipe is metered, bounded and ended by the sink; this is only the joint. Closing
                    // the door does not end it: who is inside stays.
                    let limits = Limits { idle: None, uplink_only: JOINT, downlink_only: common.idle };
                    let never = CancellationToken::new();
                    relay(boxed(io, held), boxed(near, early), limits, &Meter::default(), &never).await;
                    return Ok(Accepted::Served);
                }
            }
            if !wait(&mut io, &mut held, common.idle, token).await {
                return Ok(Accepted::Served);
            }
        }
    }

    async fn head(&self, common: &Common, io: &mut BoxStream, held: &mut BytesMut) -> Result<RequestHead, Fault> {
        let bounds = Bounds { limit: common.handshake, cap: MAX_HEAD };
        let read = drive(io, held, &mut ReadRequest::default(), bounds).await;
        let status = match &read {
            Ok(_) | Err(DriveError::Closed | DriveError::Io(_)) => None,
            Err(DriveError::TimedOut) => Some(408),
            Err(DriveError::Wire(WireError::TooLong)) => Some(431),
            Err(DriveError::Wire(_)) => Some(400),
        };
        if let Some(status) = status {
            write(io, &refusal(status), common.handshake).await?;
            linger(io).await;
        }
        Ok(read?)
    }

    /// Who asks, and for what; or the status of the refusal.
    fn judge(&self, common: &Common, visitor: &Visitor, mut head: RequestHead) -> Result<Asked, (u16, Fault)> {
        let user = match &self.users {
            None => None,
            Some(users) => {
                let login = head.headers.first("proxy-authorization").and_then(credentials);
                let admitted = login.and_then(|(user, password)| users.admit(&user, &password));
                Some(admitted.ok_or((407, Fault::Login))?)
            }
        };
        head.headers.remove("proxy-authorization");
        let bad = |_| (400, Fault::NotServed("a request that names no valid target"));
        let begin = |target: Target| visitor.flow(common, Network::Tcp, target, user);
        let (flow, authority, path) = match Form::parse(&head.method, &head.target).map_err(bad)? {
            Form::Connect(target) => return Ok(Asked::Tunnel(begin(target))),
            Form::Absolute { target, authority, path } => (begin(target), Some(authority), Some(path)),
            Form::Origin if self.transparent => {
                let host = head.headers.first("host").unwrap_or_default();
                (begin(Form::by_host(host).map_err(bad)?), None, None)
            }
            Form::Origin => return Err((400, Fault::NotServed("a request in origin form"))),
        };
        let flow = described(flow, &head, path.as_deref().unwrap_or(&head.target));
        let exchange = Exchange::new(head, authority.as_deref(), path.as_deref(), common.idle);
        exchange.map(|exchange| Asked::Plain(flow, exchange)).map_err(|error| (400, error.into()))
    }
}

/// Adds what rules may ask of an HTTP request.
fn described(mut flow: Flow, head: &RequestHead, path: &str) -> Flow {
    let mut attributes = Attributes::default();
    attributes.push(":method", &head.method);
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    attributes.push(":path", path);
    if let Some(query) = query {
        attributes.push(":query", query);
    }
    for (name, value) in head.headers.iter() {
        attributes.push(name, &String::from_utf8_lossy(value));
    }
    flow.attributes = Some(Box::new(attributes));
    flow.protocol = Some("http/1.1");
    flow
}

/// Whether the client has another request, within the time that a kept connection may be quiet.
async fn wait(io: &mut BoxStream, held: &mut BytesMut, idle: Duration, token: &CancellationToken) -> bool {
    if !held.is_empty() {
        return true;
    }
    tokio::select! {
        () = token.cancelled() => false,
        read = timeout(idle, io.read_buf(held)) => matches!(read, Ok(Ok(1..))),
    }
}

/// Ends the connection so that the last answer arrives even if the client is still sending: closing with unread bytes
/// would reset it, and take the answer along.
async fn linger(io: &mut BoxStream) {
    let drain = async {
        io.shutdown().await?;
        let mut scrap = [0; 2048];
        for _ in 0..LINGER_READS {
            if io.read(&mut scrap).await? == 0 {
                break;
            }
        }
        Ok::<(), std::io::Error>(())
    };
    let _ = timeout(LINGER, drain).await;
}

/// How long a client may stay quiet after the other side of its changed protocol has ended.
const JOINT: Duration = Duration::from_secs(30);

const LINGER: Duration = Duration::from_secs(1);
const LINGER_READS: usize = 512;

/// Room of the pipe between a request and its flow.
const PIPE: usize = 16 * 1024;

#[cfg(test)]
mod tests;
