//! Files that the program wants for itself, over the same taps as tests but as flows like any other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, Response, Url};
use tokio::time::timeout;

use super::client::{ask, blame};
use super::fetch::next_hop;
use super::measure::Failure;
use super::tap::Tap;
use super::trust::Trust;
use super::url::{BadUrl, target_of};
use crate::addr::{Network, Tag};
use crate::flow::{Flow, Services, Via};

/// Takes what came of a file: how much there will be, where the server says so, and a piece.
pub type Taker<'a> = &'a mut (dyn FnMut(Option<u64>, &[u8]) -> std::io::Result<()> + Send);

/// How long nothing may come.
const SILENCE: Duration = Duration::from_secs(30);

/// How often one server may send us to another.
const REDIRECTS: usize = 10;

/// Fetches a file by a way of the house, on connections of its own, and gives it to `take` as it comes. Only `https` will
/// do, from the first server to the last: what comes is put in place of a file of the user's.
///
/// # Errors
/// [`Failure`]; `take` says through [`Failure::Tap`] that it will not have more.
pub async fn download(services: &Arc<dyn Services>, via: Via, url: &str, take: Taker<'_>) -> Result<u64, Failure> {
    let trust = Trust::default();
    let mut url = Url::parse(url).map_err(|_| BadUrl::Text(url.to_owned()))?;
    for _ in 0..=REDIRECTS {
        if url.scheme() != "https" {
            return Err(BadUrl::Insecure(url.host_str().unwrap_or_default().to_owned()).into());
        }
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let flow = Flow::new(Tag::default(), Network::Tcp, nowhere, nowhere, target_of(&url)?);
        let tap = Tap::through(Arc::clone(services), via, flow)?;
        let asked = ask(&tap, trust.settings(url.scheme()).await, Method::GET, &url);
        let response = timeout(SILENCE, asked).await.map_err(|_| Failure::Timeout(SILENCE))??;
        match next_hop(&response)? {
            Some(next) => url = next,
            None if response.status() != 200 => return Err(Failure::Status(response.status().as_u16())),
            None => return all(response, &tap, take).await,
        }
    }
    Err(Failure::Redirects(REDIRECTS))
}

async fn all(mut response: Response, tap: &Tap, take: Taker<'_>) -> Result<u64, Failure> {
    let total = response.content_length();
    let mut got = 0;
    loop {
        let chunk = timeout(SILENCE, response.chunk()).await.map_err(|_| Failure::Timeout(SILENCE))?;
        let Some(chunk) = chunk.map_err(|error| blame(tap, error))? else { break };
        got += chunk.len() as u64;
        take(total, &chunk)?;
    }
    match total {
        Some(total) if total != got => Err(Failure::Http(format!("{got} of {total} bytes came"))),
        _ => Ok(got),
    }
}
