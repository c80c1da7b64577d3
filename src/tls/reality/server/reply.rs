//! Our answer in the shape of the site's.

use bytes::BytesMut;

use super::super::super::tls13::{
    CHANGE_CIPHER_SPEC, ClientHello, HANDSHAKE, HEADER, HandshakeSecrets, RecordKey, TAG, Transcript, Waiting, answer,
    certificate, certificate_verify, encrypted_extensions, finished,
};
use super::answer::{Answer, Shape};
use super::certificate::Identity;
use super::refusal::Refusal;
use super::rules::Admitted;

/// A line for the log of keys.
pub(super) struct KeyLine<'a> {
    pub(super) label: &'static str,
    pub(super) secret: &'a [u8],
}

/// Everything up to our Finished and what comes along with it, and the handshake that is left. `private` becomes the key of
/// this exchange, `patience` is what [`Waiting`] says.
pub(super) fn reply(
    hello: &ClientHello<'_>,
    admitted: &Admitted,
    site: Answer,
    identity: &Identity,
    private: &[u8; 32],
    patience: usize,
    mut log: impl FnMut(KeyLine<'_>),
) -> Result<(BytesMut, Waiting), Refusal> {
    let (suite, group) = (site.hello.suite, site.hello.group);
    // A site that takes a group which the hello has no share for is broken.
    let share = hello.share(group).ok_or(Refusal::OddSite)?;
    // A hybrid key that is none is the client's fault; the site would have said so.
    let exchange = answer(group, share, private).map_err(|_| Refusal::OddSite)?;
    let server_hello = site.hello.with_share(&exchange.share);
    let broken = |_| Refusal::OddSite;

    let mut transcript = Transcript::new(suite);
    transcript.add(hello.message);
    transcript.add(&server_hello);
    let secrets = HandshakeSecrets::new(suite, &exchange.secret, &transcript).map_err(broken)?;
    log(KeyLine { label: "CLIENT_HANDSHAKE_TRAFFIC_SECRET", secret: secrets.client.expose() });
    log(KeyLine { label: "SERVER_HANDSHAKE_TRAFFIC_SECRET", secret: secrets.server.expose() });

    let extensions = encrypted_extensions();
    transcript.add(&extensions);
    let der = identity.certificate(&admitted.key, hello.message, &server_hello).map_err(broken)?;
    let shown = certificate(&der);
    transcript.add(&shown);
    let signed = certificate_verify(&identity.key, &transcript);
    transcript.add(&signed);
    let done = finished(&secrets.server.finished_key().map_err(broken)?, &transcript);
    transcript.add(&done);
    let (client, server) = secrets.application(&transcript).map_err(broken)?;
    log(KeyLine { label: "CLIENT_TRAFFIC_SECRET_0", secret: client.expose() });
    log(KeyLine { label: "SERVER_TRAFFIC_SECRET_0", secret: server.expose() });

    let mut out = BytesMut::with_capacity(8 * 1024);
    plain(HANDSHAKE, &server_hello, &mut out)?;
    plain(CHANGE_CIPHER_SPEC, &[1], &mut out)?;
    let mut key = secrets.server.key().map_err(broken)?;
    match site.shape {
        Shape::Joined(len) => seal(&mut key, &[&extensions[..], &shown, &signed, &done].concat(), len, &mut out)?,
        Shape::Apart(lengths) => {
            for (message, len) in [extensions, shown, signed, done].iter().zip(lengths) {
                seal(&mut key, message, len, &mut out)?;
            }
        }
    }
    let mut waiting = Waiting::new(&secrets, (client, server), &transcript, patience).map_err(broken)?;
    if let Some(sealer) = waiting.sealer() {
        for len in site.more {
            sealer.seal_nothing(len, &mut out).map_err(|_| Refusal::ShortSite)?;
        }
    }
    Ok((out, waiting))
}

fn plain(kind: u8, body: &[u8], out: &mut BytesMut) -> Result<(), Refusal> {
    let len = u16::try_from(body.len()).map_err(|_| Refusal::OddSite)?.to_be_bytes();
    out.extend_from_slice(&[kind, 3, 3, len[0], len[1]]);
    out.extend_from_slice(body);
    Ok(())
}

/// A record as long as the site's.
fn seal(key: &mut RecordKey, content: &[u8], len: usize, out: &mut BytesMut) -> Result<(), Refusal> {
    let padding = len.checked_sub(HEADER + content.len() + 1 + TAG).ok_or(Refusal::ShortSite)?;
    key.seal(HANDSHAKE, content, padding, out).map_err(|_| Refusal::ShortSite)
}
