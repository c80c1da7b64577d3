//! One HTTP request through a tap, as a browser would send it.

use std::error::Error;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, HeaderMap, HeaderValue, UPGRADE_INSECURE_REQUESTS};
use reqwest::{Client, Method, Response, Url, redirect};

use super::measure::Failure;
use super::tap::{Dial, Tap};

/// A common browser's name: the target of a test learns nothing about what runs here, and serves what users get.
const USER_AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// Sends one request on a connection of its own and waits for the head of the answer. Redirects are not followed: each
/// host needs a tap of its own.
///
/// # Errors
/// [`Failure`] with the dial's own word where the dial failed.
pub async fn ask(tap: &Tap, tls: rustls::ClientConfig, method: Method, url: &Url) -> Result<Response, Failure> {
    let client = Client::builder()
        .unix_socket(tap.name())
        .tls_backend_preconfigured(tls)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .pool_max_idle_per_host(0)
        .user_agent(USER_AGENT)
        .default_headers(headers())
        .build();
    let sent = match client {
        Ok(client) => client.request(method, url.clone()).send().await,
        Err(error) => Err(error),
    };
    sent.map_err(|error| blame(tap, error))
}

/// What a browser sends along when somebody opens a page; no compression, so that bytes are bytes.
fn headers() -> HeaderMap {
    let pairs = [
        (ACCEPT, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        (ACCEPT_LANGUAGE, "en-US,en;q=0.5"),
        (ACCEPT_ENCODING, "identity"),
        (UPGRADE_INSECURE_REQUESTS, "1"),
    ];
    pairs.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect()
}

/// The dial's own word where it failed: the client only sees a closed socket.
pub fn blame(tap: &Tap, error: reqwest::Error) -> Failure {
    match tap.dial() {
        Dial::Failed(why) => return Failure::Dial(why),
        Dial::Refused(why) => return Failure::Refused(why),
        Dial::Pending | Dial::Ready(_) => {}
    }
    // The URL may carry a secret.
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    Failure::Http(text)
}
