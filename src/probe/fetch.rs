//! One attempt of a speed test: an HTTP request through a member, its bytes counted and its time taken.
//!
//! Redirects are followed here and not by the client, because each host needs a tap of its own.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::LOCATION;
use reqwest::{Method, Response, Url};
use tokio::time::Instant;

use super::client::{ask, blame};
use super::measure::{By, Failure};
use super::tap::{Dial, Tap};
use super::trust::Trust;
use super::url::{BadUrl, target_of};
use super::what::{Ping, Test};
use crate::balance::Sample;
use crate::flow::Services;

/// Fetches the test's URL through the member, on new connections. Bounded by whoever waits for it.
///
/// # Errors
/// [`Failure`] says what went wrong; a status outside the accepted ones is a failure too.
pub async fn fetch(
    services: &Arc<dyn Services>,
    trust: &Trust,
    by: Option<By<'_>>,
    test: &Test,
) -> Result<Sample, Failure> {
    // Reading certificates is no part of a member's speed.
    let mut settings = Some(trust.settings(test.url.scheme()).await);
    let begin = Instant::now();
    let mut url = test.url.clone();
    let mut dial = None;
    for _ in 0..=Test::REDIRECTS {
        let tap = Tap::open(Arc::clone(services), by, target_of(&url)?)?;
        let tls = match settings.take() {
            Some(tls) => tls,
            None => trust.settings(url.scheme()).await,
        };
        let response = ask(&tap, tls, Method::GET, &url).await?;
        if let Dial::Ready(took) = tap.dial() {
            dial.get_or_insert(took);
        }
        match next_hop(&response)? {
            Some(next) => url = next,
            None => return finish(response, &tap, test, begin, dial.unwrap_or_default()).await,
        }
    }
    Err(Failure::Redirects(Test::REDIRECTS))
}

/// Asks for a sign of life: any status will do, redirects are answers like any other.
///
/// # Errors
/// [`Failure`] where nothing answered.
pub async fn ping(
    services: &Arc<dyn Services>,
    trust: &Trust,
    by: Option<By<'_>>,
    ping: &Ping,
) -> Result<Sample, Failure> {
    let tls = trust.settings(ping.url.scheme()).await;
    let begin = Instant::now();
    let tap = Tap::open(Arc::clone(services), by, target_of(&ping.url)?)?;
    let mut response = ask(&tap, tls, ping.method.clone(), &ping.url).await?;
    let status = response.status().as_u16();
    read(&mut response, &tap, ping.body).await?;
    let dial = if let Dial::Ready(took) = tap.dial() { took } else { Duration::ZERO };
    Ok(Sample { bytes: 0, time: begin.elapsed(), dial, status })
}

async fn finish(
    mut response: Response,
    tap: &Tap,
    test: &Test,
    begin: Instant,
    dial: Duration,
) -> Result<Sample, Failure> {
    let status = response.status().as_u16();
    if !test.accept.contains(&status) {
        return Err(Failure::Status(status));
    }
    let bytes = read(&mut response, tap, test.max_bytes).await?;
    Ok(Sample { bytes, time: begin.elapsed(), dial, status })
}

/// Reads a body up to a limit.
async fn read(response: &mut Response, tap: &Tap, limit: u64) -> Result<u64, Failure> {
    let mut bytes = 0u64;
    while bytes < limit {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes += chunk.len() as u64,
            Ok(None) => break,
            Err(error) => return Err(blame(tap, error)),
        }
    }
    Ok(bytes.min(limit))
}

/// Where a response sends us next, if it does.
pub(super) fn next_hop(response: &Response) -> Result<Option<Url>, Failure> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(place) = response.headers().get(LOCATION) else { return Ok(None) };
    let bad = || BadUrl::Text(String::from_utf8_lossy(place.as_bytes()).chars().take(200).collect());
    let text = place.to_str().map_err(|_| bad())?;
    Ok(Some(response.url().join(text).map_err(|_| bad())?))
}
