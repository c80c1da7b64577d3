//! One attempt of a speed test: an HTTP request through a member, its bytes counted and its time taken.
//!
//! Redirects are followed here and not by the client, because each host needs a tap of its own.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, LOCATION};
use reqwest::{Client, Response, Url, redirect};
use tokio::time::Instant;

use super::measure::Failure;
use super::plan::{BadUrl, Order, target_of};
use super::tap::{Dial, Tap};
use super::trust::Trust;
use crate::balance::{Member, Sample};
use crate::flow::Services;

/// Fetches the order's URL through the member, on new connections. Bounded by whoever waits for it.
///
/// # Errors
/// [`Failure`] says what went wrong; a status outside the accepted ones is a failure too.
pub async fn fetch(
    services: &Arc<dyn Services>,
    trust: &Trust,
    member: &Member,
    order: &Order,
) -> Result<Sample, Failure> {
    // Reading certificates is no part of a member's speed.
    let mut settings = Some(trust.settings(order.url.scheme()).await);
    let begin = Instant::now();
    let mut url = order.url.clone();
    let mut dial = None;
    for _ in 0..=order.redirects {
        let tap = Tap::open(Arc::clone(services), member, target_of(&url)?)?;
        let tls = match settings.take() {
            Some(tls) => tls,
            None => trust.settings(url.scheme()).await,
        };
        let response = get(&tap, tls, &url).await.map_err(|error| blame(&tap, error))?;
        if let Dial::Ready(took) = tap.dial() {
            dial.get_or_insert(took);
        }
        match next_hop(&response)? {
            Some(next) if order.redirects > 0 => url = next,
            _ => return finish(response, &tap, order, begin, dial.unwrap_or_default()).await,
        }
    }
    Err(Failure::Redirects(order.redirects))
}

/// A common browser's name: the target of a test learns nothing about what runs here, and serves what users get.
const USER_AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

async fn get(tap: &Tap, tls: rustls::ClientConfig, url: &Url) -> reqwest::Result<Response> {
    let client = Client::builder()
        .unix_socket(tap.name())
        .tls_backend_preconfigured(tls)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .pool_max_idle_per_host(0)
        .user_agent(USER_AGENT)
        .build()?;
    client.get(url.clone()).header(ACCEPT, "*/*").header(ACCEPT_ENCODING, "identity").send().await
}

async fn finish(
    mut response: Response,
    tap: &Tap,
    order: &Order,
    begin: Instant,
    dial: Duration,
) -> Result<Sample, Failure> {
    let status = response.status().as_u16();
    if !order.accept.contains(&status) {
        return Err(Failure::Status(status));
    }
    let mut bytes = 0u64;
    while bytes < order.max_bytes {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes += chunk.len() as u64,
            Ok(None) => break,
            Err(error) => return Err(blame(tap, error)),
        }
    }
    Ok(Sample { bytes: bytes.min(order.max_bytes), time: begin.elapsed(), dial, status })
}

/// Where a response sends us next, if it does.
fn next_hop(response: &Response) -> Result<Option<Url>, Failure> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(place) = response.headers().get(LOCATION) else { return Ok(None) };
    let bad = || BadUrl::Text(String::from_utf8_lossy(place.as_bytes()).chars().take(200).collect());
    let text = place.to_str().map_err(|_| bad())?;
    Ok(Some(response.url().join(text).map_err(|_| bad())?))
}

/// The dial's own word where it failed: the client only sees a closed socket.
fn blame(tap: &Tap, error: reqwest::Error) -> Failure {
    if let Dial::Failed(why) = tap.dial() {
        return Failure::Dial(why);
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
