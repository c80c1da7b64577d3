//! Who says how much may be under way: the network, or once a rate was agreed on, that alone ("Brutal").
//!
//! Loss does not make a connection slower then. It makes it faster, by what is lost, up to a quarter; the idea is
//! Hysteria's, and so are its numbers.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::congestion::{BbrConfig, Controller, ControllerFactory, ControllerMetrics, NewRenoConfig};
use quinn_proto::RttEstimator;

use super::pace::Pace;

/// Makes the controllers of one connection.
#[derive(Debug)]
pub(super) struct Steering {
    /// What was agreed on.
    pub(super) pace: Arc<Pace>,
    /// New Reno before that, in place of BBR.
    pub(super) reno: bool,
}

/// Seconds that are looked back on.
const SLOTS: usize = 5;
/// Packets without which nothing is known of the share that arrives.
const SAMPLES: u64 = 50;
/// Less than this share is not made good.
const FLOOR: f64 = 0.8;
/// What is under way, in what is sent within a round trip.
const ROUNDS: f64 = 2.0;
/// What may be under way at the least: over a short round trip, timers and answers take longer than the packets.
const LEAST: u64 = 32;

impl ControllerFactory for Steering {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let usual = if self.reno {
            Arc::new(NewRenoConfig::default()).build(now, mtu)
        } else {
            Arc::new(BbrConfig::default()).build(now, mtu)
        };
        let pace = Arc::clone(&self.pace);
        let slots = [Slot::default(); SLOTS];
        Box::new(Steered { pace, usual, begun: now, slots, share: 1.0, rtt: Duration::ZERO, mtu })
    }
}

/// The controller of one path.
struct Steered {
    pace: Arc<Pace>,
    usual: Box<dyn Controller>,
    begun: Instant,
    slots: [Slot; SLOTS],
    /// The share of what is sent that arrives, as far as it is made good.
    share: f64,
    rtt: Duration,
    mtu: u16,
}

/// What became of packets within one second.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    second: u64,
    arrived: u64,
    lost: u64,
}

impl Steered {
    fn note(&mut self, now: Instant, arrived: u64, lost: u64) {
        let second = now.saturating_duration_since(self.begun).as_secs();
        let at = usize::try_from(second % SLOTS as u64).unwrap_or(0);
        let Some(slot) = self.slots.get_mut(at) else { return };
        if slot.second != second {
            *slot = Slot { second, ..Slot::default() };
        }
        slot.arrived += arrived;
        slot.lost += lost;
    }

    fn judge(&mut self, now: Instant) {
        let second = now.saturating_duration_since(self.begun).as_secs();
        let recent = self.slots.iter().filter(|slot| slot.second + SLOTS as u64 > second);
        let (arrived, lost) = recent.fold((0, 0), |sum, slot| (sum.0 + slot.arrived, sum.1 + slot.lost));
        let all = arrived + lost;
        #[expect(clippy::cast_precision_loss, reason = "a share of packets")]
        let share = arrived as f64 / all.max(1) as f64;
        self.share = if all < SAMPLES { 1.0 } else { share.max(FLOOR) };
    }
}

impl Controller for Steered {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.pace.sent(bytes, self.share, now);
        self.usual.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        if self.pace.rate().is_none() {
            return self.usual.on_ack(now, sent, bytes, app_limited, rtt);
        }
        self.rtt = rtt.get();
        self.note(now, 1, 0);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_packet_num_acked: Option<u64>) {
        if self.pace.rate().is_none() {
            return self.usual.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
        }
        self.judge(now);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        if self.pace.rate().is_none() {
            return self.usual.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        }
        self.note(now, 0, lost_bytes.div_ceil(u64::from(self.mtu.max(1))));
        self.judge(now);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu;
        self.usual.on_mtu_update(new_mtu);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a window need not be exact to the byte, and has no sign"
    )]
    fn window(&self) -> u64 {
        let Some(rate) = self.pace.rate() else { return self.usual.window() };
        let window = rate as f64 * self.rtt.as_secs_f64() * ROUNDS / self.share;
        (window as u64).max(LEAST * u64::from(self.mtu))
    }

    fn metrics(&self) -> ControllerMetrics {
        if self.pace.rate().is_none() {
            return self.usual.metrics();
        }
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { pace: Arc::clone(&self.pace), usual: self.usual.clone_box(), ..*self })
    }

    fn initial_window(&self) -> u64 {
        self.usual.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl fmt::Debug for Steered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steered").field("pace", &self.pace).field("share", &self.share).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn steered(rate: u64) -> (Arc<Pace>, Box<dyn Controller>) {
        let pace = Arc::new(Pace::default());
        pace.set(rate);
        let steering = Arc::new(Steering { pace: Arc::clone(&pace), reno: false });
        (pace, steering.build(Instant::now(), 1200))
    }

    #[test]
    fn loss_makes_it_no_slower() {
        let (_pace, mut steered) = steered(100_000_000);
        let least = LEAST * 1200;
        assert_eq!(steered.window(), least);
        let now = Instant::now();
        steered.on_congestion_event(now, now, true, 10 * 1200);
        assert_eq!(steered.window(), least);
    }

    #[test]
    fn the_share_that_arrives_is_of_five_seconds_and_has_a_floor() {
        let begun = Instant::now();
        let (pace, slots) = (Arc::new(Pace::default()), [Slot::default(); SLOTS]);
        let usual = Arc::new(BbrConfig::default()).build(begun, 1000);
        let mut steered = Steered { pace, usual, begun, slots, share: 1.0, rtt: Duration::from_millis(100), mtu: 1000 };
        steered.pace.set(1_000_000);
        let at = |seconds| begun + Duration::from_secs(seconds);
        steered.note(at(0), 40, 9);
        steered.judge(at(0));
        assert_eq!((steered.share, steered.window()), (1.0, 200_000));
        steered.note(at(1), 50, 1);
        steered.judge(at(1));
        assert_eq!(steered.share, 0.9);
        assert!((222_000..223_000).contains(&steered.window()));
        steered.note(at(2), 0, 900);
        steered.judge(at(2));
        assert_eq!((steered.share, steered.window()), (FLOOR, 250_000));
        steered.note(at(7), 100, 0);
        steered.judge(at(7));
        assert_eq!(steered.share, 1.0);
    }

    #[test]
    fn without_a_rate_the_network_is_asked() {
        let (pace, mut steered) = steered(0);
        let window = steered.window();
        assert_eq!(window, steered.initial_window());
        pace.set(1_000_000);
        assert_eq!(steered.window(), LEAST * 1200);
        steered.on_mtu_update(1400);
        assert_eq!(steered.clone_box().window(), LEAST * 1400);
    }
}
