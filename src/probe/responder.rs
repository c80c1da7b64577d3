//! Servers that answer tests themselves: a reserved name, asked through the member, instead of a page of somebody else.
//!
//! Whether a member's server does so is found out by a small request and remembered for an hour, either way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Method, Url};
use tokio::time::{Instant, timeout};

use super::client::ask;
use super::measure::By;
use super::tap::Tap;
use super::trust::Trust;
use super::url::target_of;
use super::what::Test;
use crate::addr::Tag;
use crate::flow::Services;

/// What is known of the members' servers.
#[derive(Debug, Default)]
pub struct Responders {
    known: Mutex<HashMap<Tag, (bool, Instant)>>,
}

impl Responders {
    /// The test as it is to be made through this member: of its server where that answers tests, else as it was.
    pub async fn instead(&self, services: &Arc<dyn Services>, by: By<'_>, test: &Test) -> Option<Test> {
        let offers = match self.remembered(by.tag) {
            Some(offers) => offers,
            None => {
                let offers = timeout(LIMIT, offers(services, by)).await.ok().flatten().is_some();
                self.lock().insert(by.tag.clone(), (offers, Instant::now()));
                offers
            }
        };
        let bytes = test.max_bytes.min(BYTES);
        let url = Url::parse(&format!("{RESERVED}/bytes/{bytes}")).ok().filter(|_| offers)?;
        Some(Test { url, accept: 200..=299, ..test.clone() })
    }

    fn remembered(&self, tag: &Tag) -> Option<bool> {
        let (offers, when) = *self.lock().get(tag)?;
        (when.elapsed() < AN_HOUR).then_some(offers)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Tag, (bool, Instant)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says yes only with the mark that no page of somebody else has.
async fn offers(services: &Arc<dyn Services>, by: By<'_>) -> Option<()> {
    let url = Url::parse(&format!("{RESERVED}/204")).ok()?;
    let tap = Tap::open(Arc::clone(services), Some(by), target_of(&url).ok()?).ok()?;
    let tls = Trust::default().settings(url.scheme()).await;
    let response = ask(&tap, tls, Method::GET, &url).await.ok()?;
    (response.status() == 204 && response.headers().get(MARK).is_some_and(|mark| mark == "1")).then_some(())
}

/// A name that nobody else can have (RFC 6761).
const RESERVED: &str = "http://probe.invalid";

/// What our servers add to their answers.
const MARK: &str = "x-etemenanki-responder";

/// What a test fetches there.
const BYTES: u64 = 81_920;

/// How long the answer of a server is waited for; the rest of an attempt's time is for the test.
const LIMIT: Duration = Duration::from_millis(1500);

const AN_HOUR: Duration = Duration::from_secs(3600);
