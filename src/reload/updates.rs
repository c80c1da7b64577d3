//! New geodata files at the times of a schedule.

use std::future::pending;
use std::time::Duration;

use jiff::ZonedDateTime;
use jiff::tz::TimeZone;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::engine::Handle;
use crate::geo::Assets;
use crate::model::geodata::Geodata;
use crate::model::schedule::Schedule;
use crate::update::{Staged, Step, UpdateError, fetch, wishes};

type Fetched = Result<Vec<Staged>, UpdateError>;

/// What is awaited: a moment, or files that are on their way. Waiting may be given up and taken up again.
#[derive(Debug, Default)]
pub(super) struct Updates {
    due: Option<(Schedule, ZonedDateTime)>,
    running: Option<AbortOnDropHandle<Fetched>>,
}

/// A clock may be set, so a far moment is looked at again after this long.
const LOOK: Duration = Duration::from_secs(60);

impl Updates {
    /// Waits until files are there that were due. While they are on their way, moments pass unused.
    pub(super) async fn next(&mut self, geodata: Option<&Geodata>, handle: &Handle, assets: &Assets) -> Fetched {
        loop {
            if let Some(running) = &mut self.running {
                let fetched = running.await;
                self.running = None;
                match fetched {
                    Ok(fetched) => return fetched,
                    Err(error) => tracing::error!(target: "core", "geodata update: {error}"),
                }
            }
            let Some(geodata) = geodata.filter(|geodata| !geodata.cron.is_never()) else {
                self.due = None;
                return pending().await;
            };
            self.wait(&geodata.cron).await;
            self.due = None;
            self.running = Some(AbortOnDropHandle::new(begin(geodata, handle, assets)));
        }
    }

    async fn wait(&mut self, cron: &Schedule) {
        loop {
            let now = now(cron);
            if self.due.as_ref().is_none_or(|(of, _)| of != cron) {
                self.due = cron.next(&now).map(|next| (cron.clone(), next));
            }
            let Some((_, next)) = &self.due else { return pending().await };
            let left = now.duration_until(next);
            match Duration::try_from(left) {
                Ok(left) if !left.is_zero() => sleep(left.min(LOOK)).await,
                _ => return,
            }
        }
    }
}

/// This moment, where the schedule's clock hangs.
fn now(cron: &Schedule) -> ZonedDateTime {
    let zone = cron.zone().map(|zone| {
        TimeZone::get(zone).unwrap_or_else(|error| {
            tracing::warn!(target: "core", "geodata update: {error}: the times are those of this machine");
            TimeZone::system()
        })
    });
    ZonedDateTime::now().with_time_zone(zone.unwrap_or_else(TimeZone::system))
}

fn begin(geodata: &Geodata, handle: &Handle, assets: &Assets) -> JoinHandle<Fetched> {
    let (wishes, assets) = (wishes(geodata), assets.clone());
    let errand = handle.errand(&geodata.outbound);
    tokio::spawn(async move {
        if wishes.is_empty() {
            return Ok(vec![]);
        }
        fetch(&errand?, &assets, &wishes, &mut |step| {
            if let Step::Asked(wish) = step {
                tracing::info!(target: "core", "geodata update: {} from {}", wish.file.0, wish.host());
            }
        })
        .await
    })
}
