//! Another web site, which is asked in a stranger's place.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use http::header::{
    CONNECTION, HOST, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Request, Response, Uri, Version};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::lookup_host;
use tokio::time::timeout;

use super::page::Page;
use crate::addr::{Host, Target};
use crate::flow::BoxStream;
use crate::net::{SocketOptions, tcp};
use crate::tls;
use crate::transport::error::TransportError;
use crate::transport::http3::Upload;

/// Another web site.
#[derive(Debug)]
pub(super) struct Upstream {
    server: Target,
    /// The path in front of those that are asked for.
    path: String,
    tls: Option<tls::Client>,
    /// Its own host, where it is to see that and not the stranger's.
    host: Option<HeaderValue>,
}

/// Time for the connection, and again for the head of an answer.
const LIMIT: Duration = Duration::from_secs(10);

/// What is a matter of one connection.
const HOPS: [HeaderName; 6] = [CONNECTION, TE, TRANSFER_ENCODING, UPGRADE, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION];

impl Upstream {
    /// At a URL.
    ///
    /// # Errors
    /// It is none of HTTP.
    pub(super) fn new(
        url: &str,
        rewrite_host: bool,
        insecure: bool,
        crypto: &tls::Crypto,
    ) -> Result<Self, TransportError> {
        let unfit = || TransportError::Text { what: "url of masquerade" };
        let uri: Uri = url.parse().map_err(|_| unfit())?;
        let (secure, port) = match uri.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            _ => return Err(unfit()),
        };
        let authority = uri.authority().ok_or_else(unfit)?;
        let host = Host::parse(authority.host()).map_err(|_| unfit())?;
        let tls = secure.then(|| {
            let common = tls::Common { alpn: vec!["http/1.1".to_owned()], ..tls::Common::default() };
            tls::Client::new(crypto, &tls::ClientOptions { common, insecure, ..tls::ClientOptions::default() })
        });
        let own = HeaderValue::from_str(authority.as_str()).map_err(|_| unfit())?;
        Ok(Self {
            server: Target::new(host, authority.port_u16().unwrap_or(port)),
            path: uri.path().trim_end_matches('/').to_owned(),
            tls: tls.transpose()?,
            host: rewrite_host.then_some(own),
        })
    }

    /// Asks it what a stranger asks, over a connection of its own: strangers are few.
    pub(super) async fn answer(&self, request: Request<Upload>) -> io::Result<Response<Page>> {
        let (head, body) = request.into_parts();
        let mut headers = head.headers;
        without_hops(&mut headers);
        let asked = head.uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
        if let Some(host) = self.host.clone().or(asked) {
            headers.insert(HOST, host);
        }
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::new(body);
        *request.method_mut() = head.method;
        *request.uri_mut() = format!("{}{path}", self.path).parse().map_err(io::Error::other)?;
        *request.headers_mut() = headers;
        let io = timeout(LIMIT, self.dial()).await.map_err(|_| io::ErrorKind::TimedOut)??;
        let asked = async {
            let (mut sender, connection) = http1::handshake(TokioIo::new(io)).await?;
            tokio::spawn(async move {
                // Whoever reads the answer is told.
                let _ = connection.await;
            });
            sender.send_request(request).await
        };
        let answer = timeout(LIMIT, asked).await.map_err(|_| io::ErrorKind::TimedOut)?.map_err(io::Error::other)?;
        let (mut head, body) = answer.into_parts();
        without_hops(&mut head.headers);
        head.version = Version::HTTP_3;
        Ok(Response::from_parts(head, Page::Upstream(body)))
    }

    async fn dial(&self) -> io::Result<BoxStream> {
        let addresses: Vec<SocketAddr> = match &self.server.host {
            Host::Ip(ip) => vec![SocketAddr::new(*ip, self.server.port)],
            Host::Domain(name) => lookup_host((name.as_str(), self.server.port)).await?.collect(),
        };
        let socket = tcp::dial(&addresses, &SocketOptions::default(), LIMIT).await?;
        match &self.tls {
            Some(tls) => Ok(Box::new(tls.connect(socket, &self.server.host).await?)),
            None => Ok(Box::new(socket)),
        }
    }
}

fn without_hops(headers: &mut HeaderMap) {
    for name in HOPS {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_urls_of_http() {
        let made = |url| Upstream::new(url, true, true, &tls::Crypto::default());
        let site = made("https://a.example/under/").unwrap();
        assert_eq!((site.server.to_string().as_str(), site.path.as_str()), ("a.example:443", "/under"));
        assert!(site.tls.is_some() && site.host.unwrap() == "a.example");
        assert_eq!(made("http://127.0.0.1:81").unwrap().server.to_string(), "127.0.0.1:81");
        for bad in ["", "a.example", "ftp://a.example", "https:///x"] {
            assert!(made(bad).is_err(), "{bad}");
        }
    }
}
