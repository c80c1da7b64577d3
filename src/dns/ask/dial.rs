//! The way to a server: as the rules say, or directly.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use super::fault::Fault;
use super::question::From;
use crate::addr::{Host, Network, Target};
use crate::flow::{BoxStream, Flow, Services, Via};
use crate::net::{SocketOptions, tcp};
use crate::tls;

/// A server that is reached by a stream.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) target: Target,
    pub(super) direct: bool,
    /// What rules call that which is said there.
    pub(super) protocol: &'static str,
    /// What is around it.
    pub(super) tls: Option<tls::Client>,
}

impl Place {
    /// Opens a stream, and says which protocol was agreed on in TLS.
    pub(super) async fn open(&self, from: From<'_>) -> Result<(BoxStream, Option<Vec<u8>>), Fault> {
        let io: BoxStream = if self.direct {
            let addresses = addresses(&**from.house, &self.target).await?;
            Box::new(tcp::dial(&addresses, &SocketOptions::default(), Duration::MAX).await?)
        } else {
            let mut flow = flow(from, Network::Tcp, &self.target);
            flow.protocol = Some(self.protocol);
            from.house.dial(Via::Route, &flow, &[]).await?
        };
        let Some(tls) = &self.tls else { return Ok((io, None)) };
        let stream = tls.connect(io, &self.target.host).await.map_err(shaken)?;
        let agreed = stream.alpn().map(<[u8]>::to_vec);
        Ok((Box::new(stream), agreed))
    }
}

/// The addresses of a server that is dialed directly. What the house resolves for a question is not asked of a server.
pub(super) async fn addresses(house: &dyn Services, server: &Target) -> Result<Vec<SocketAddr>, Fault> {
    match &server.host {
        Host::Ip(ip) => Ok(vec![(*ip, server.port).into()]),
        Host::Domain(name) => Ok(house.resolve(name).await?.iter().map(|ip| (*ip, server.port).into()).collect()),
    }
}

/// The flow of a question: it comes from nowhere, and the rules know it by its tag.
pub(super) fn flow(from: From<'_>, network: Network, server: &Target) -> Flow {
    let nowhere = ([0, 0, 0, 0], 0).into();
    Flow::new(from.tag.clone(), network, nowhere, nowhere, server.clone())
}

/// What TLS has against a server is told as such; whatever else went wrong is the way's.
pub(super) fn shaken(error: io::Error) -> Fault {
    if error.kind() == io::ErrorKind::InvalidData { Fault::Tls(error.to_string()) } else { error.into() }
}
