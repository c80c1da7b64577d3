//! The VLESS server.

use std::time::Duration;

use bytes::BytesMut;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::time::Instant;

use super::fallback::Fallbacks;
use super::users::{Member, Users};
use super::visit::{Accepted, Common, Fault, Visitor, part};
use crate::addr::{Host, Network, Target};
use crate::flow::{BoxStream, Flow, Stream};
use crate::net::{Bounds, Framed, Parceled, drive, look};
use crate::proto::mux::is_carrier;
use crate::proto::vision::{Filter, Pad, Seed, Unpad};
use crate::proto::vless::{self, ANSWER, Command, Id, Lengths, Request, Server, Wrapping, encryption, is_stranger};
use crate::transport::{Arrival, decrypt};
use crate::wire::{Preface, Unframed};

/// A VLESS server.
#[derive(Debug)]
pub struct Vless {
    users: Users<vless::Users<VlessUser>>,
    fallbacks: Option<Fallbacks>,
    decryption: Option<encryption::Server>,
}

/// Somebody who may come in.
#[derive(Debug, Clone)]
pub struct VlessUser {
    /// Label and level.
    pub member: Member,
    /// Streams of this user are wrapped by Vision, with this padding.
    pub vision: Option<Seed>,
}

impl Vless {
    /// With these users; with fallbacks nobody is turned away, but for whom none fits.
    #[must_use]
    pub fn new(users: vless::Users<VlessUser>, fallbacks: Option<Fallbacks>) -> Self {
        Self { users: Users::new(users), fallbacks, decryption: None }
    }

    /// Behind encryption of its own. Who has not its keys is nobody that could be sent elsewhere.
    #[must_use]
    pub fn behind(self, decryption: Option<encryption::Server>) -> Self {
        Self { decryption, ..self }
    }

    /// Takes over the users of another.
    pub(super) fn take_users(&self, other: &Self) -> bool {
        Users::take_over(Some(&self.users), Some(&other.users))
    }

    /// Reads the header and gives the flow.
    pub(super) async fn accept(&self, common: &Common, visitor: &Visitor, arrival: Arrival) -> Result<Accepted, Fault> {
        let (mut io, mut held) = (arrival.io, BytesMut::new());
        if let Some(server) = &self.decryption {
            io = match Box::pin(decrypt(&mut io, server, common.handshake)).await {
                Ok(decrypted) => decrypted.around(io),
                Err(error) => {
                    part(&mut io).await;
                    return Err(error.into());
                }
            };
        }
        let read = self.read(common, &mut io, &mut held).await;
        if let (Ok(None), Some(fallbacks)) = (&read, &self.fallbacks) {
            return Box::pin(fallbacks.serve(common, visitor, arrival.hello.as_deref(), io, held)).await;
        }
        match read.and_then(|request| Granted::of(request.ok_or(Fault::Login)?, &io, &held)) {
            Ok(granted) => Ok(granted.begin(common, visitor, io, held)),
            Err(fault) => {
                part(&mut io).await;
                Err(fault)
            }
        }
    }

    /// The request; nothing if there are fallbacks and the first bytes are a stranger's. Without fallbacks a header may come
    /// in any pieces.
    async fn read(
        &self,
        common: &Common,
        io: &mut BoxStream,
        held: &mut BytesMut,
    ) -> Result<Option<Request<VlessUser>>, Fault> {
        let until = Instant::now() + common.handshake;
        look(io, held, Bounds::within(common.handshake)).await?;
        let users = self.users.now();
        if self.fallbacks.is_some() && is_stranger(held, &users) {
            return Ok(None);
        }
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        Ok(Some(drive(io, held, &mut Server::new(&users), Bounds::within(left)).await?))
    }
}

/// A request that is granted.
struct Granted {
    user: VlessUser,
    id: Id,
    /// By Vision, with this padding.
    wrapped: Option<Seed>,
    service: Service,
}

/// What is to be served.
enum Service {
    Stream(Target),
    Datagrams(Target),
    Mux,
}

impl Granted {
    /// Judges what a user asks for. `held` is what came behind the header.
    fn of(request: Request<VlessUser>, io: &BoxStream, held: &[u8]) -> Result<Self, Fault> {
        let Request { user, id, wrapping, command } = request;
        let wrapped = match wrapping {
            Wrapping::Plain => None,
            Wrapping::Vision => Some(vision(&user, io)?),
            Wrapping::Unknown => return Err(Fault::NotServed("a flow that nobody knows")),
        };
        let bare = user.vision.is_some() && wrapped.is_none();
        let service = match command {
            Command::Tcp(_) if bare => return Err(BARE),
            Command::Mux if bare && !is_xudp(held) => return Err(BARE),
            Command::Udp(_) if wrapped.is_some() => {
                return Err(Fault::NotServed("datagrams by themselves with the flow xtls-rprx-vision"));
            }
            Command::Reverse => return Err(Fault::NotServed("a reverse tunnel")),
            // Else whoever carries sessions by this name would carry streams in Vision too.
            Command::Tcp(target) if is_carrier(&target) => Service::Mux,
            Command::Tcp(target) => Service::Stream(target),
            Command::Udp(target) => Service::Datagrams(target),
            Command::Mux => Service::Mux,
        };
        Ok(Self { user, id, wrapped, service })
    }

    fn begin(self, common: &Common, visitor: &Visitor, io: BoxStream, held: BytesMut) -> Accepted {
        let Self { user, id, wrapped, service } = self;
        let flow = |network, target| {
            let flow = visitor.flow_of(common, network, target, &user.member);
            Flow { vless_route: id.route(), ..flow }
        };
        match service {
            Service::Stream(target) => Accepted::Stream(flow(Network::Tcp, target), answering(io, held, &id, wrapped)),
            Service::Datagrams(target) => {
                let io = Parceled::new(io, held, Lengths::server(), target.clone());
                Accepted::Packets(flow(Network::Udp, target), Box::new(io))
            }
            Service::Mux => {
                let nobody = Target::new(Host::Ip([0; 4].into()), 0);
                let (flow, io) = (flow(Network::Tcp, nobody), answering(io, held, &id, wrapped));
                // A user of Vision may not carry streams without it.
                Accepted::Mux { flow, io, datagrams_only: user.vision.is_some() }
            }
        }
    }
}

/// Streams that Vision should wrap must not travel without it: they would show what it hides.
const BARE: Fault = Fault::NotServed("a stream without the flow xtls-rprx-vision, which the user is to have");

/// The padding for a user who asks for Vision.
fn vision(user: &VlessUser, io: &BoxStream) -> Result<Seed, Fault> {
    let seed = user.vision.ok_or(Fault::NotServed("the flow xtls-rprx-vision for a user who has none"))?;
    if io.may_go_plain() {
        Ok(seed)
    } else {
        Err(Fault::NotServed("the flow xtls-rprx-vision in anything but TLS 1.3, REALITY or VLESS encryption"))
    }
}

/// Whether what comes behind a header is the one session of XUDP, as far as its first frame tells (bytes as Xray looks at
/// them: the number of the session, and its network).
fn is_xudp(first: &[u8]) -> bool {
    matches!(first, [_, _, 0, 0, _, _, 2, ..])
}

/// The stream behind a header, with the answer in front of the first bytes that go back.
fn answering(io: BoxStream, held: BytesMut, id: &Id, wrapped: Option<Seed>) -> BoxStream {
    let Some(seed) = wrapped else {
        return Box::new(Framed::new(io, held, Preface::new(ANSWER.to_vec()), Unframed));
    };
    let filter = Filter::default();
    let rng = SmallRng::from_rng(&mut rand::rng());
    let pad = Pad::new(ANSWER.to_vec(), *id.bytes(), filter.clone(), seed, rng);
    Box::new(Framed::new(io, held, pad, Unpad::new(*id.bytes(), filter)))
}

#[cfg(test)]
mod tests;
