//! One flow through one member: dial, first byte, body, second by second.
//!
//! A small TCP in numbers: lost exchanges wait for a retransmission, the window doubles until it meets the rate of the
//! path or what its loss allows, a path that swallows everything stalls the body until somebody gives up.

use super::draw::Draw;
use super::network::{Health, World};

/// Bytes of a segment.
const SEGMENT: f64 = 1460.0;
/// How long a first byte may take.
const FIRST_BYTE: f64 = 15.0;
/// Silence in a body after which the flow breaks, in seconds.
const STALL: u32 = 15;
/// How long a flow may take that has no limit of its own.
const LONGEST: f64 = 300.0;

/// What a flow asks of the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wish {
    /// Bytes of the body.
    pub size: f64,
    /// What its luck is keyed by.
    pub key: u64,
    /// How long the dial may take.
    pub dial: f64,
    /// Exchanges of the dial: two with a handshake behind the connection, one without.
    pub exchanges: u64,
    /// How long all of it may take, where that is limited.
    pub total: Option<f64>,
}

/// Where a flow ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Well.
    Done,
    /// In the dial.
    Dial(Refusal),
    /// Before its first byte.
    FirstByte(Refusal),
    /// In its body, or at its limit.
    Body,
}

/// How an exchange fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// With an answer that says no.
    Refused,
    /// With none in time.
    Timeout,
}

/// A flow that ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trip {
    /// When the member was ready.
    pub dialed: Option<f64>,
    /// When the first byte came.
    pub first: Option<f64>,
    /// When it ended.
    pub end: f64,
    /// How.
    pub fate: Fate,
}

impl Trip {
    /// Whether it brought all that it was sent for.
    #[must_use]
    pub fn good(&self) -> bool {
        self.fate == Fate::Done
    }

    /// Whether another member may be tried.
    #[must_use]
    pub fn undialed(&self) -> bool {
        matches!(self.fate, Fate::Dial(_))
    }
}

impl World {
    /// One question and its answer: the moment of the answer, or how and when it failed.
    ///
    /// # Errors
    /// The refusal and its moment.
    pub fn exchange(&self, member: usize, from: f64, deadline: f64, key: u64) -> Result<f64, (Refusal, f64)> {
        let luck = Draw::of([self.seed, member as u64, key]);
        let (mut time, mut wait) = (from, 1.0_f64);
        for attempt in 0.. {
            if time < self.paths[member].born {
                return Err((Refusal::Refused, time + 0.001));
            }
            let second = self.at(member, time);
            let answer = time + second.rtt * (0.9 + 0.2 * luck.with(attempt).with(7).uniform());
            let passes = (1.0 - second.loss) * (1.0 - second.loss);
            match second.health {
                Health::Refusing => return Err((Refusal::Refused, answer.min(deadline))),
                Health::Fine if luck.with(attempt).uniform() >= 1.0 - passes => {
                    return if answer <= deadline { Ok(answer) } else { Err((Refusal::Timeout, deadline)) };
                }
                Health::Fine | Health::Silent => {}
            }
            time += wait;
            wait = (wait * 2.0).min(4.0);
            if time > deadline {
                break;
            }
        }
        Err((Refusal::Timeout, deadline))
    }

    /// A whole flow.
    #[must_use]
    pub fn trip(&self, member: usize, began: f64, wish: &Wish) -> Trip {
        let mut time = began;
        for step in 0..wish.exchanges {
            match self.exchange(member, time, began + wish.dial, wish.key.wrapping_mul(64).wrapping_add(step)) {
                Ok(answer) => time = answer,
                Err((why, end)) => return Trip { dialed: None, first: None, end, fate: Fate::Dial(why) },
            }
        }
        let dialed = Some(time);
        let limit = began + wish.total.unwrap_or(LONGEST);
        let first = match self.exchange(
            member,
            time,
            limit.min(time + FIRST_BYTE),
            wish.key.wrapping_mul(64).wrapping_add(9),
        ) {
            // The far server thinks for a moment.
            Ok(answer) => answer + 0.03,
            Err((why, end)) => return Trip { dialed, first: None, end, fate: Fate::FirstByte(why) },
        };
        let (end, fate) = match self.body(member, first, limit, wish) {
            Ok(end) => (end, Fate::Done),
            Err(end) => (end, Fate::Body),
        };
        Trip { dialed, first: Some(first), end, fate }
    }

    /// The moment of the last byte, or of the break.
    fn body(&self, member: usize, from: f64, limit: f64, wish: &Wish) -> Result<f64, f64> {
        let (mut time, mut left, mut window, mut silence) = (from, wish.size, 10.0 * SEGMENT, 0);
        while left > 0.0 {
            let second = self.at(member, time);
            match second.health {
                Health::Refusing => return Err(time),
                Health::Silent => {
                    silence += 1;
                    time += 1.0;
                    if silence >= STALL {
                        return Err(time);
                    }
                    if time > limit {
                        return Err(limit);
                    }
                    continue;
                }
                Health::Fine => silence = 0,
            }
            let cap = if second.loss <= 0.0 {
                second.rate
            } else {
                // What a lossy path lets through (Mathis and others).
                second.rate.min(1.22 * SEGMENT / (second.rtt * second.loss.sqrt()))
            };
            let opening = window / second.rtt < cap;
            let (got, took) = if opening && window < left {
                window *= 2.0;
                (window / 2.0, second.rtt)
            } else if opening {
                (left, second.rtt * 0.5 + left / cap.max(1.0))
            } else {
                // At full rate to the end of this second, since the next one may be different.
                let rest = 1.0 - time.fract();
                let rest = if rest < 1e-6 { 1.0 } else { rest };
                (cap * rest, rest)
            };
            if got >= left {
                time += took * left / got;
                left = 0.0;
            } else {
                left -= got;
                time += took;
            }
            if time > limit {
                return Err(limit);
            }
        }
        let second = self.at(member, time);
        let segments = (wish.size / SEGMENT).clamp(1.0, 3.0);
        let tail = Draw::of([self.seed, member as u64, wish.key, 99]).uniform();
        if second.loss > 0.0 && tail < 1.0 - libm::pow(1.0 - second.loss, segments) {
            time += (2.0 * second.rtt).max(0.3);
        }
        if time > limit { Err(limit) } else { Ok(time) }
    }
}
