//! Looking after one server: at a fixed pace where the service says how, else when requests did not reach it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::backend::Backend;
use super::status::{HttpServices, Place};
use crate::flow::{Blame, Services};
use crate::model::httpservice::HttpHealth;

/// Between two looks at a server that could not be reached.
const AGAIN: Duration = Duration::from_secs(5);

/// Two checks are never closer than this, however many requests fail.
const PAUSE: Duration = Duration::from_millis(500);

/// Looks after the server at a place until it is dropped.
pub(super) async fn watch(services: Arc<HttpServices>, place: Place, house: Arc<dyn Services>) {
    let Some(backend) = services.backend(place) else { return };
    match &services.all[place.service].health {
        Some(health) => at_pace(&services, place, backend, health, &*house).await,
        None => when_suspected(&services, place, backend, &*house).await,
    }
}

async fn at_pace(services: &HttpServices, place: Place, backend: &Backend, health: &HttpHealth, house: &dyn Services) {
    let (interval, limit) = (health.interval.0, health.timeout.0);
    // Not all at one moment, and not so late that a server which is gone would be met by many.
    let first = interval.mul_f64(0.1 * rand::random::<f64>());
    let mut pause = first;
    loop {
        tokio::select! {
            () = sleep(pause) => {}
            () = backend.suspected.notified() => {}
        }
        let checked = timeout(limit, backend.check(house, &health.path)).await;
        match checked.unwrap_or_else(|_| Err(format!("no answer within {} ms", limit.as_millis()))) {
            Ok(()) => services.turn(place, true, None),
            Err(why) => services.turn(place, false, Some(&why)),
        }
        let short = PAUSE.min(interval);
        sleep(short).await;
        pause = interval.saturating_sub(short);
    }
}

/// A request that failed proves little, so the server is dialled once more. One that cannot be reached then takes nothing
/// until it can: its keys go where they would go anyway, only without a dial that fails before.
async fn when_suspected(services: &HttpServices, place: Place, backend: &Backend, house: &dyn Services) {
    loop {
        // What was down before a reload has not been suspected since.
        if services.is_up(place) {
            backend.suspected.notified().await;
        }
        loop {
            match backend.reach(house).await {
                Ok(()) => {
                    services.turn(place, true, None);
                    break;
                }
                // No files, no memory, no network: nothing that says anything of the server.
                Err(error) if error.blame == Blame::Us => break,
                Err(error) => services.turn(place, false, Some(&error)),
            }
            sleep(AGAIN).await;
        }
        sleep(PAUSE).await;
    }
}
