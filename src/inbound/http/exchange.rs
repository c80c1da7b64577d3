//! One plain request and its response, between a client and the stream that leads to the origin.
//!
//! Both directions run at once: an origin may answer, or say `100 Continue`, before it has the whole body, and a client
//! waits for exactly that.

use std::io;
use std::pin::pin;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

use crate::inbound::visit::{Fault, write};
use crate::proto::http::{
    Body, Length, MAX_HEAD, Persist, ReadResponse, RequestHead, ResponseHead, Version, client_persists, refusal,
    request_for_origin, response_for_client,
};
use crate::wire::{Handshake, Step, WireError};

/// One request, ready to be sent.
pub(super) struct Exchange {
    head: Vec<u8>,
    body: Body,
    method: String,
    version: Version,
    persist: Persist,
    upgrade: bool,
    idle: Duration,
}

/// What the connection to the client is good for afterwards.
#[derive(Debug)]
pub(super) enum After {
    /// The next request.
    Keep,
    /// Nothing.
    Close,
    /// Both sides changed to another protocol; these bytes of the origin came early.
    Tunnel(BytesMut),
}

impl Exchange {
    /// Prepares the request for its origin. `authority` and `path` replace what the client wrote.
    pub(super) fn new(
        mut head: RequestHead,
        authority: Option<&str>,
        path: Option<&str>,
        idle: Duration,
    ) -> Result<Self, WireError> {
        let body = Body::new(Length::of_request(&head)?);
        let persist = client_persists(&head);
        let upgrade = request_for_origin(&mut head, authority, path);
        let mut bytes = Vec::with_capacity(1024);
        head.write(&mut bytes);
        Ok(Self { head: bytes, body, method: head.method, version: head.version, persist, upgrade, idle })
    }

    /// Runs it. `held` holds what was read of the client already, and what was read too far afterwards.
    pub(super) async fn run<C, O>(mut self, client: &mut C, held: &mut BytesMut, origin: &mut O) -> Result<After, Fault>
    where
        C: AsyncRead + AsyncWrite + Unpin,
        O: AsyncRead + AsyncWrite + Unpin,
    {
        let (mut from_client, mut to_client) = split(client);
        let (mut from_origin, mut to_origin) = split(origin);
        let head = std::mem::take(&mut self.head);
        let mut body = std::mem::replace(&mut self.body, Body::new(Length::Known(0)));
        let mut sent = false;
        let after = {
            let mut up = pin!(send(&head, &mut body, &mut from_client, held, &mut to_origin));
            let mut down = pin!(self.answer(&mut from_origin, &mut to_client));
            loop {
                tokio::select! {
                    done = &mut up, if !sent => {
                        done?;
                        sent = true;
                    }
                    after = &mut down => break after?,
                }
            }
        };
        // What the origin did not want to read is still to come from the client, so nothing can follow it.
        Ok(if sent && body.is_done() { after } else { After::Close })
    }

    async fn answer<R, W>(&self, origin: &mut R, client: &mut W) -> Result<After, Fault>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut held = BytesMut::new();
        loop {
            let Some(mut head) = self.head(origin, &mut held, client).await? else { return Ok(After::Close) };
            let length = match Length::of_response(&self.method, &head) {
                Ok(length) if head.status != 101 || self.upgrade => length,
                _ => return self.bad_gateway(client).await,
            };
            let persist = if length == Length::UntilClose { Persist::Close } else { self.persist };
            let (interim, tunnel) = (head.is_interim(), head.status == 101);
            response_for_client(&mut head, self.version, length, persist);
            let mut out = Vec::with_capacity(1024);
            head.write(&mut out);
            if interim {
                // HTTP/1.0 knows no interim answers.
                if self.version == Version::Http11 {
                    write(client, &out, self.idle).await?;
                }
                continue;
            }
            if tunnel {
                write(client, &out, self.idle).await?;
                return Ok(After::Tunnel(held));
            }
            self.body(Body::new(length), out, origin, &mut held, client).await?;
            return Ok(if persist == Persist::Keep { After::Keep } else { After::Close });
        }
    }

    /// The next head, or nothing if the origin has none for us and the client was told so.
    async fn head<R, W>(
        &self,
        origin: &mut R,
        held: &mut BytesMut,
        client: &mut W,
    ) -> Result<Option<ResponseHead>, Fault>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut reader = ReadResponse::default();
        loop {
            match reader.step(held, &mut Vec::new()) {
                Ok(Step::Done { used, value }) => {
                    held.advance(used);
                    return Ok(Some(value));
                }
                Ok(Step::More { .. }) if held.len() < MAX_HEAD && more(origin, held).await.unwrap_or(false) => {}
                _ => {
                    self.bad_gateway(client).await?;
                    return Ok(None);
                }
            }
        }
    }

    /// Passes the body on, its first bytes together with the head.
    async fn body<R, W>(
        &self,
        mut body: Body,
        head: Vec<u8>,
        origin: &mut R,
        held: &mut BytesMut,
        client: &mut W,
    ) -> Result<(), Fault>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut out = head;
        loop {
            let here = body.advance(held)?;
            out.extend_from_slice(&held[..here]);
            held.advance(here);
            write(client, &out, self.idle).await?;
            if body.is_done() {
                return Ok(());
            }
            out.clear();
            held.clear();
            if !more(origin, held).await? {
                // A body cut short must not look whole, so the client sees its connection end.
                return if body.may_close() {
                    Ok(())
                } else {
                    Err(io::Error::from(io::ErrorKind::UnexpectedEof).into())
                };
            }
        }
    }

    async fn bad_gateway<W: AsyncWrite + Unpin>(&self, client: &mut W) -> Result<After, Fault> {
        write(client, &refusal(502), self.idle).await?;
        Ok(After::Close)
    }
}

/// Sends head and body. An origin that takes no more bytes is no fault: its answer says why.
async fn send<R, W>(
    head: &[u8],
    body: &mut Body,
    client: &mut R,
    held: &mut BytesMut,
    origin: &mut W,
) -> Result<(), Fault>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let here = body.advance(held)?;
    let first = [head, &held[..here]].concat();
    held.advance(here);
    if origin.write_all(&first).await.is_err() {
        return Ok(());
    }
    while !body.is_done() {
        if held.is_empty() && !more(client, held).await? {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        // Taken before it is sent: what fails to leave must not be read as the client's next request.
        let here = held.split_to(body.advance(held)?);
        if origin.write_all(&here).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads more, and says whether there was any.
async fn more<R: AsyncRead + Unpin>(io: &mut R, held: &mut BytesMut) -> io::Result<bool> {
    held.reserve(CHUNK);
    Ok(io.read_buf(held).await? > 0)
}

const CHUNK: usize = 16 * 1024;

#[cfg(test)]
mod tests;
