//! Through an HTTP proxy, by CONNECT.
//!
//! Dialed at once, not when the client first speaks as Xray does: protocols in which the server speaks first work too.

use std::io;

use bytes::BytesMut;

use super::rotation::{Rotation, no_server};
use super::socks::{HANDSHAKE, Server, shaken};
use super::way::{Way, begun};
use crate::flow::{Blame, BoxStream, DialError, Flow, Services, Stage};
use crate::net::{Bounds, drive};
use crate::proto::http::{Connect, Headers, MAX_HEAD, Refused, authorization};

/// An HTTP proxy client.
#[derive(Debug)]
pub struct Http {
    way: Way,
    servers: Rotation<Server>,
    fields: Vec<(String, String)>,
}

impl Http {
    /// Connections take turns over the servers. The fields go with every CONNECT; `{{.Source}}` and `{{.Target}}` in them
    /// are filled in.
    #[must_use]
    pub fn new(way: impl Into<Way>, servers: Vec<Server>, fields: Vec<(String, String)>) -> Self {
        Self { way: way.into(), servers: Rotation::new(servers), fields }
    }

    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let fields = self.fields(flow);
        let mut failed = no_server();
        for server in self.servers.turn() {
            match self.ask(cx, server, flow, &fields).await {
                Ok((io, held)) => return begun(io, held, flow, first).await,
                Err(error) => failed = self.servers.pass_over(error)?,
            }
        }
        Err(failed)
    }

    async fn ask(
        &self,
        cx: &dyn Services,
        server: &Server,
        flow: &Flow,
        fields: &Headers,
    ) -> Result<(BoxStream, BytesMut), DialError> {
        let mut io = self.way.open(cx, flow, &server.address).await?;
        let mut held = BytesMut::new();
        let login = server.login.as_ref().map(|(user, password)| authorization(user, password));
        let mut connect = Connect::new(flow.destination(), login.as_deref(), fields);
        let bounds = Bounds { limit: HANDSHAKE, cap: MAX_HEAD };
        match drive(&mut io, &mut held, &mut connect, bounds).await {
            Ok(Ok(())) => Ok((io, held)),
            Ok(Err(refused)) => Err(answered(refused)),
            Err(error) => Err(shaken(error)),
        }
    }

    fn fields(&self, flow: &Flow) -> Headers {
        let (source, target) = (flow.source.to_string(), flow.destination().to_string());
        let mut fields = Headers::default();
        for (name, text) in &self.fields {
            fields.push(name.as_str(), filled(text, &source, &target));
        }
        fields
    }
}

/// The text with its places filled in, written as Xray's templates write destinations.
fn filled(text: &str, source: &str, target: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        out.push_str(before);
        match name.trim() {
            ".Source" => out.extend(["tcp:", source]),
            ".Target" => out.extend(["tcp:", target]),
            _ => out.extend(["{{", name, "}}"]),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Statuses that proxies give when the target cannot be reached; all others are between the proxy and us.
fn answered(refused: Refused) -> DialError {
    let blame = if matches!(refused.status, 404 | 502..=504) { Blame::Target } else { Blame::Server };
    DialError::new(Stage::Answer, blame, io::Error::new(io::ErrorKind::ConnectionRefused, refused))
}

#[cfg(test)]
mod tests;
