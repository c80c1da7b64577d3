//! What the site sends behind a handshake: tickets, and the first words of HTTP/2.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::crypto::CryptoProvider;
use tokio::sync::OnceCell;

use super::class::Class;
use super::probe::{patience, tail};
use super::site::Site;

/// Lengths of records, with their headers.
pub(super) type Lengths = Box<[usize]>;

/// Those by name and class. A name that could not be asked for is asked for again by the next visitor.
#[derive(Debug)]
pub(super) struct Tails {
    by_name: HashMap<Box<str>, Learnt>,
    begun: AtomicBool,
}

#[derive(Debug, Default)]
struct Learnt {
    tails: [OnceCell<Lengths>; Class::ALL.len()],
    patience: OnceCell<usize>,
}

/// Useless records that are borne until it is known what the site bears, as the reference server does.
const PATIENCE: usize = 32;

impl Tails {
    pub(super) fn new(names: &[Box<str>]) -> Self {
        let by_name = names.iter().map(|name| (name.clone(), Default::default())).collect();
        Self { by_name, begun: AtomicBool::new(false) }
    }

    /// Whether nobody has begun yet.
    pub(super) fn begin(&self) -> bool {
        !self.begun.swap(true, Ordering::Relaxed)
    }

    pub(super) fn names(&self) -> Vec<Box<str>> {
        self.by_name.keys().cloned().collect()
    }

    /// Asks for one name in all classes, all at once: until it is known, visitors go without.
    pub(super) async fn learn(&self, name: &str, site: &Site, provider: &Arc<CryptoProvider>) {
        let Some(learnt) = self.by_name.get(name) else { return };
        let of = |class| self.of(name, class, site, provider);
        // Where patience could not be learnt the usual stays.
        let patience = learnt.patience.get_or_try_init(|| patience(name, site, provider));
        let _ = tokio::join!(of(Class::Bare), of(Class::Http1), of(Class::Http2), patience);
    }

    /// The lengths, if they are known.
    pub(super) fn known(&self, name: &str, class: Class) -> Option<Lengths> {
        self.by_name.get(name)?.tails[class as usize].get().cloned()
    }

    /// How many useless records the site bears before a client's Finished.
    pub(super) fn patience(&self, name: &str) -> usize {
        self.by_name.get(name).and_then(|learnt| learnt.patience.get()).copied().unwrap_or(PATIENCE)
    }

    /// The lengths, which are asked for if they are not known. Without an answer there are none.
    pub(super) async fn of(&self, name: &str, class: Class, site: &Site, provider: &Arc<CryptoProvider>) -> Lengths {
        let Some(learnt) = self.by_name.get(name) else { return Box::default() };
        let asked = learnt.tails[class as usize].get_or_try_init(|| tail(name, class, site, provider)).await;
        match asked {
            Ok(lengths) => lengths.clone(),
            Err(error) => {
                tracing::debug!(%error, name, ?class, "the site could not be asked what it sends behind a handshake");
                Box::default()
            }
        }
    }
}
