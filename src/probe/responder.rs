//! Servers that answer tests themselves: a reserved name, asked through the member, instead of a page of somebody else.
//!
//! Whether a member's server does so is found out by a small request and remembered for an hour, either way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Method, Url};
use tokio::time::{Instant, timeout};

use super::client::ask;
use super::measure::{By, Failure};
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
    /// The test as it is to be made of this member's server, where that answers tests.
    pub async fn instead(&self, services: &Arc<dyn Services>, by: By<'_>, test: &Test) -> Option<Test> {
        let offers = match self.remembered(by.tag) {
            Some(offers) => offers,
            None => self.ask(services, by).await,
        };
        let bytes = test.max_bytes.min(BYTES);
        let url = Url::parse(&format!("{RESERVED}/bytes/{bytes}")).ok().filter(|_| offers)?;
        Some(Test { url, accept: 200..=299, ..test.clone() })
    }

    /// Whether a failed test of a member's server speaks against the member. Else it is to be tested by its page: the
    /// server has had enough for now, or answers no tests any more.
    pub async fn blames(&self, services: &Arc<dyn Services>, by: By<'_>, failure: &Failure) -> bool {
        !matches!(failure, Failure::Status(ENOUGH)) && self.ask(services, by).await
    }

    /// The member is well without a server that answers tests: not asked again for an hour. Silence alone is no reason,
    /// since a member that is down is silent too.
    pub fn lacks(&self, tag: &Tag) {
        if self.remembered(tag).is_none() {
            self.lock().insert(tag.clone(), (false, Instant::now()));
        }
    }

    async fn ask(&self, services: &Arc<dyn Services>, by: By<'_>) -> bool {
        let offers = timeout(LIMIT, offers(services, by)).await.ok().flatten().is_some();
        let mut known = self.lock();
        if offers {
            known.insert(by.tag.clone(), (true, Instant::now()));
        } else {
            known.remove(by.tag);
        }
        offers
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
    let ours = response.headers().get(MARK).is_some_and(|mark| mark == "1");
    (ours && matches!(response.status().as_u16(), 204 | ENOUGH)).then_some(())
}

/// A name that nobody else can have (RFC 6761).
const RESERVED: &str = "http://probe.invalid";

/// What our servers add to their answers.
const MARK: &str = "x-etemenanki-responder";

/// The status of a server that has answered enough tests of this user for now.
const ENOUGH: u16 = 429;

/// What a test fetches there.
const BYTES: u64 = 81_920;

/// How long the answer of a server is waited for; the rest of an attempt's time is for the test.
const LIMIT: Duration = Duration::from_millis(1500);

const AN_HOUR: Duration = Duration::from_secs(3600);
