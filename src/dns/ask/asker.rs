//! The way in which one server is asked.

use std::sync::Arc;
use std::time::Duration;

use super::dial::Place;
use super::fault::Fault;
use super::https::{self, Site};
use super::kept::Kept;
use super::question::{From, Question};
use super::quic;
use super::stream::Pipe;
use super::udp::Association;
use crate::addr::{Tag, Target};
use crate::dns::error::Unbuilt;
use crate::dns::message::{Padding, Reply};
use crate::flow::Services;
use crate::model::browser::Browser;
use crate::model::serverform::ServerForm;
use crate::tls::{self, ClientOptions, Common, Crypto};
use crate::transport::quic::{Client, Params};

/// The way in which one server is asked, with the connection that is kept.
#[derive(Debug)]
pub struct Asker(Way);

#[derive(Debug)]
enum Way {
    /// By UDP; by TCP where an answer does not fit.
    Udp(Target, Kept<Association>, Box<Stream>),
    /// By TCP or TLS.
    Stream(Box<Stream>),
    /// By HTTP/2.
    Https(Box<Site>, Kept<https::Session>),
    /// By QUIC.
    Quic(Box<quic::Place>, Kept<quic::Session>),
}

/// A server that is asked by a stream.
#[derive(Debug)]
struct Stream {
    place: Place,
    padding: Padding,
    kept: Kept<Pipe>,
}

/// The block of RFC 8467 4.1.
const BLOCK: Padding = Padding::Block(128);

impl Asker {
    /// As a server's form says; nothing for one that is not asked by messages.
    ///
    /// # Errors
    /// [`Unbuilt`]: TLS that cannot be had.
    pub fn new(form: &ServerForm, crypto: &Crypto) -> Result<Option<Self>, Unbuilt> {
        let plain = |target: &Target, direct| Place { target: target.clone(), direct, protocol: "dns", tls: None };
        Ok(Some(Self(match form {
            ServerForm::System | ServerForm::Fake => return Ok(None),
            ServerForm::Udp(target) => {
                let tcp = Stream::new(plain(target, false), Padding::None);
                Way::Udp(target.clone(), Kept::new(), Box::new(tcp))
            }
            ServerForm::Tcp { target, direct } => {
                Way::Stream(Box::new(Stream::new(plain(target, *direct), Padding::None)))
            }
            ServerForm::Tls { target, direct } => {
                let tls = Some(secured(crypto, &[], Browser::Own)?);
                Way::Stream(Box::new(Stream::new(Place { tls, ..plain(target, *direct) }, BLOCK)))
            }
            ServerForm::Https { target, path, plain: bare, direct } => {
                let browsers = || secured(crypto, &["h2", "http/1.1"], Browser::Chrome);
                let tls = if *bare { None } else { Some(browsers()?) };
                let place = Place { protocol: "https", tls, ..plain(target, *direct) };
                Way::Https(Box::new(Site::new(place, path)?), Kept::new())
            }
            ServerForm::Quic(target) => {
                let client = Client::new(&secured(crypto, &["doq"], Browser::Own)?, &Params::default())?;
                Way::Quic(Box::new(quic::Place { target: target.clone(), client }), Kept::new())
            }
        })))
    }

    /// Asks. `limit` is how long whoever asks has patience.
    ///
    /// # Errors
    /// [`Fault`]: the server cannot be asked, or what it says is no answer.
    pub async fn ask(
        &self,
        house: &Arc<dyn Services>,
        tag: &Tag,
        question: Question<'_>,
        limit: Duration,
    ) -> Result<Reply, Fault> {
        let from = From { house, tag };
        match &self.0 {
            Way::Udp(server, kept, tcp) => {
                let answer = kept.ask(question, limit, || Association::open(from, server)).await?;
                if answer.truncated { tcp.ask(from, question, limit).await } else { Ok(answer) }
            }
            Way::Stream(stream) => stream.ask(from, question, limit).await,
            Way::Https(site, kept) => kept.ask(question, limit, || site.open(from)).await,
            Way::Quic(place, kept) => kept.ask(question, limit, || place.open(from)).await,
        }
    }
}

impl Stream {
    fn new(place: Place, padding: Padding) -> Self {
        Self { place, padding, kept: Kept::new() }
    }

    async fn ask(&self, from: From<'_>, question: Question<'_>, limit: Duration) -> Result<Reply, Fault> {
        let open = || async { Ok(Pipe::over(self.place.open(from).await?.0, self.padding)) };
        self.kept.ask(question, limit, open).await
    }
}

/// TLS with the system's roots, for the name or address that is asked.
fn secured(crypto: &Crypto, alpn: &[&str], browser: Browser) -> Result<tls::Client, Unbuilt> {
    let alpn = alpn.iter().map(|name| (*name).to_owned()).collect();
    let common = Common { alpn, resumption: true, ..Common::default() };
    Ok(tls::Client::new(crypto, &ClientOptions { common, browser, ..ClientOptions::default() })?)
}
