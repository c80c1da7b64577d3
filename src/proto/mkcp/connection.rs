//! One end of a conversation.

use super::order::{is_before, until};
use super::receiving::Receiving;
use super::segment::{Body, Command, DATA, Head, Segment, write_command};
use super::sending::Sending;
use super::settings::Settings;
use super::spare::Spare;
use super::telling::Telling;
use super::trip::Trip;

/// One end of a conversation. Whoever drives it
///
/// - gives it what came ([`Connection::input`]) and what is to be said ([`Connection::write`]),
/// - asks when it wants to speak ([`Connection::due`]), and then lets it begin ([`Connection::beat`]) and speak
///   ([`Connection::transmit`]) until it has nothing more to say.
///
/// A half cannot be ended: who closes reads no more either.
#[derive(Debug)]
pub struct Connection {
    conversation: u16,
    settings: Settings,
    state: State,
    /// When the state began.
    since: u32,
    /// When the peer was heard last, and whether it ever was.
    heard: u32,
    answered: bool,
    /// When it was told last that we are here.
    pinged: u32,
    /// When the last beat began.
    beaten: Option<u32>,
    /// A word that leaves in this round.
    word: Option<Command>,
    fault: Option<Fault>,
    trip: Trip,
    sending: Sending,
    receiving: Receiving,
    spare: Spare,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Active,
    /// We close, and say what is left to say.
    Closing,
    /// The peer closes: it reads no more.
    PeerClosing,
    /// We say that it is over, again and again.
    Terminating,
    /// The peer says that it is over.
    PeerTerminating,
    /// We say it once more, since the peer waits for it.
    Parting,
    Over,
}

/// Why a conversation broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The peer ended it without having said all.
    Cut,
    /// The peer is not heard any more.
    Silence,
}

/// What came of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// So many bytes.
    Bytes(usize),
    /// Nothing yet.
    Nothing,
    /// The end.
    End,
}

/// Silence of a peer that ends a conversation, and of one that never showed that it hears us.
const SILENCE: u32 = 30_000;
const UNPROVEN: u32 = 10_000;
/// A peer that was told nothing for so long is told that we are here: beside other words, and alone.
const PING: u32 = 3000;
const QUIET: u32 = 5000;
/// How long what is left may take to be said.
const CLOSING: u32 = 15_000;
/// How long the end is told, and how often.
const TERMINATING: u32 = 8000;
const TELLING: u32 = 1000;
/// How long the peer's end is left to whoever reads.
const PEER_TERMINATING: u32 = 4000;

/// Free segments that a writer is woken for.
const WORTH: usize = 32;

impl Connection {
    /// A conversation that begins.
    #[must_use]
    pub fn new(conversation: u16, settings: Settings) -> Self {
        Self {
            conversation,
            state: State::Active,
            since: 0,
            heard: 0,
            answered: false,
            pinged: 0,
            beaten: None,
            word: None,
            fault: None,
            trip: Trip::new(settings.beat),
            sending: Sending::new(&settings),
            receiving: Receiving::new(&settings),
            spare: Spare::default(),
            settings,
        }
    }

    /// Says nothing, so that the peer answers that it has arrived: the other ends take it, and their readers see nothing of it.
    pub fn knock(&mut self) {
        self.sending.knock();
    }

    /// Whether the peer ever showed that it hears us.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.answered
    }

    /// Whether it is over, and nothing is left to say.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Bytes that came and were not read.
    #[must_use]
    pub fn held(&self) -> usize {
        self.receiving.held()
    }

    /// Why it broke, if it did.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Whether reading gives something: bytes, the end or a fault.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.receiving.is_ready() || self.is_ended()
    }

    /// Whether there is room worth writing to, or none ever again.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.state != State::Active
            || self.sending.room(&self.settings) >= WORTH.min(self.settings.buffer as usize / 4).max(1)
    }

    fn is_ended(&self) -> bool {
        !matches!(self.state, State::Active | State::PeerClosing)
    }

    /// Takes bytes to be said; gives how many, and none where nobody will hear them.
    pub fn write(&mut self, bytes: &[u8]) -> Option<usize> {
        let active = self.state == State::Active;
        active.then(|| self.sending.push(bytes, &self.settings, &mut self.spare))
    }

    /// Reads what came. `into` is shown piece by piece, and says how much of each it took.
    ///
    /// # Errors
    /// [`Fault`], once all that came before it was read.
    pub fn read(&mut self, into: impl FnMut(&[u8]) -> usize) -> Result<Heard, Fault> {
        if self.receiving.is_ready() {
            let read = self.receiving.read(into, &self.settings, &mut self.spare);
            if read > 0 || self.receiving.is_ready() {
                return Ok(Heard::Bytes(read));
            }
        }
        match self.fault {
            Some(fault) => Err(fault),
            None if self.is_ended() => Ok(Heard::End),
            None => Ok(Heard::Nothing),
        }
    }

    /// Nobody reads or writes any more; what was written is still said.
    pub fn close(&mut self, now: u32) {
        match self.state {
            State::Active => self.enter(State::Closing, now),
            State::PeerClosing if !self.answered => self.enter(State::Parting, now),
            State::PeerClosing => self.enter(State::Terminating, now),
            State::PeerTerminating => self.enter(State::Parting, now),
            State::Closing | State::Terminating | State::Parting | State::Over => {}
        }
    }

    /// Ends it at once; the peer is told, and may not hear it.
    pub fn part(&mut self, now: u32) {
        if !self.is_over() {
            self.fault.get_or_insert(Fault::Cut);
            self.enter(State::Parting, now);
        }
    }

    /// Nobody is there to speak to.
    pub fn abandon(&mut self, now: u32) {
        self.fault.get_or_insert(Fault::Silence);
        self.enter(State::Over, now);
    }

    fn enter(&mut self, state: State, now: u32) {
        (self.state, self.since) = (state, now);
        match state {
            State::Active | State::Closing => {}
            State::PeerClosing | State::PeerTerminating => self.sending.clear(),
            State::Terminating | State::Parting | State::Over => {
                self.sending.clear();
                self.word = None;
                // The first word of the end is due at once.
                self.pinged = now.wrapping_sub(TELLING);
            }
        }
    }

    /// Takes a segment of this conversation. Unless there is `room`, what comes too early is dropped.
    pub fn input(&mut self, now: u32, segment: &Segment<'_>, room: bool) {
        if segment.conversation != self.conversation || self.state == State::Over {
            return;
        }
        self.heard = now;
        if segment.closing {
            match self.state {
                State::Active => self.enter(State::PeerClosing, now),
                State::Closing => self.enter(State::Terminating, now),
                _ => {}
            }
        }
        match &segment.body {
            Body::Data { timestamp, number, sending_next, payload } => {
                self.answered |= is_before(0, *sending_next);
                self.receiving.forget(*sending_next);
                if !matches!(self.state, State::Terminating | State::Parting) {
                    self.receiving.take(*number, *timestamp, payload, room, &self.settings, &mut self.spare);
                }
                if self.state == State::Closing {
                    // Nobody reads it any more, but the peer may wait for its being taken.
                    self.receiving.read(<[u8]>::len, &self.settings, &mut self.spare);
                }
            }
            Body::Ack { window_end, receiving_next, timestamp, numbers } => {
                self.answered = true;
                self.sending.widen(*window_end);
                let mut any = self.sending.taken_before(*receiving_next, &mut self.spare);
                let mut last = None;
                for number in numbers.iter() {
                    let new = self.sending.taken(number, &mut self.spare);
                    any |= new;
                    if new && last.is_none_or(|last| is_before(last, number)) {
                        last = Some(number);
                    }
                }
                if let Some(last) = last {
                    self.sending.hurry(last, self.trip.overdue());
                }
                if any && numbers.iter().next().is_some() {
                    self.trip.measure(now.wrapping_sub(*timestamp), now);
                }
            }
            Body::Command { command, sending_next, receiving_next, overdue } => {
                self.answered |= is_before(0, *sending_next) || is_before(0, *receiving_next);
                self.sending.taken_before(*receiving_next, &mut self.spare);
                self.receiving.forget(*sending_next);
                self.trip.hear(*overdue, now);
                if *command == Command::Terminate {
                    self.hear_end(*sending_next, now);
                }
            }
        }
    }

    /// The peer says that it is over.
    fn hear_end(&mut self, sending_next: u32, now: u32) {
        match self.state {
            State::Active | State::PeerClosing => {
                // Whoever has said all knows that it arrived. One that never heard of the conversation, since it was started
                // anew, knows of nothing.
                if sending_next != self.receiving.missing() {
                    self.fault.get_or_insert(Fault::Cut);
                }
                self.enter(State::PeerTerminating, now);
            }
            State::Closing => self.enter(State::Parting, now),
            State::Terminating => self.enter(State::Over, now),
            State::PeerTerminating | State::Parting | State::Over => {}
        }
    }

    /// In how many milliseconds it wants to begin a beat; never once it is over.
    #[must_use]
    pub fn due(&self, now: u32) -> Option<u32> {
        let in_state = |limit: u32| until(now, self.since.wrapping_add(limit));
        let word = until(now, self.pinged.wrapping_add(TELLING));
        match self.state {
            State::Over => return None,
            State::Parting => return Some(0),
            State::Terminating => return Some(word.min(in_state(TERMINATING))),
            State::Active | State::Closing | State::PeerClosing | State::PeerTerminating => {}
        }
        if self.sending.is_open() || self.receiving.is_open() || self.word.is_some() || self.sending.is_fresh() {
            return Some(0);
        }
        let busy = !self.sending.is_empty() || self.sending.has_moved();
        let wanted = if busy { Some(0) } else { self.receiving.due(now) };
        let beat = self.beaten.map_or(0, |beaten| until(now, beaten.wrapping_add(self.settings.beat)));
        let ping = until(now, self.pinged.wrapping_add(QUIET));
        let beat = wanted.map_or(ping, |wanted| wanted.max(beat).min(ping));
        let silence = until(now, self.heard.wrapping_add(self.patience()));
        let state = match self.state {
            State::Closing if self.sending.is_empty() => 0,
            State::Closing => in_state(CLOSING),
            State::PeerTerminating => in_state(PEER_TERMINATING),
            _ => u32::MAX,
        };
        Some(beat.min(silence).min(state))
    }

    fn patience(&self) -> u32 {
        if self.answered { SILENCE } else { UNPROVEN }
    }

    /// Begins to speak, if it wants to by now.
    pub fn beat(&mut self, now: u32) {
        if self.due(now) != Some(0) {
            return;
        }
        self.turn(now);
        if self.is_over() {
            return;
        }
        if matches!(self.state, State::Terminating | State::Parting) {
            let told = self.state == State::Parting || until(now, self.pinged.wrapping_add(TELLING)) == 0;
            if told {
                (self.word, self.pinged) = (Some(Command::Terminate), now);
            }
            return;
        }
        if self.beaten.is_some_and(|beaten| until(now, beaten.wrapping_add(self.settings.beat)) > 0) {
            self.sending.refresh();
            return;
        }
        self.beaten = Some(now);
        self.receiving.beat();
        self.sending.beat(&self.settings);
        let since = now.wrapping_sub(self.pinged);
        if since >= PING || self.sending.has_moved() && self.sending.is_empty() {
            self.word = Some(Command::Ping);
        }
        if self.sending.is_empty() && self.receiving.is_idle() {
            self.spare.empty();
        }
    }

    /// What time alone changes.
    fn turn(&mut self, now: u32) {
        let is_past = |limit: u32| until(now, self.since.wrapping_add(limit)) == 0;
        let silent = until(now, self.heard.wrapping_add(self.patience())) == 0;
        match self.state {
            State::Terminating if is_past(TERMINATING) => self.enter(State::Over, now),
            State::PeerTerminating if is_past(PEER_TERMINATING) => self.enter(State::Terminating, now),
            State::Closing if is_past(CLOSING) || self.sending.is_empty() => {
                // Somebody else's address may have been given, and that is told once.
                self.enter(if self.answered { State::Terminating } else { State::Parting }, now);
            }
            State::Active | State::PeerClosing | State::Closing if silent => {
                self.fault.get_or_insert(Fault::Silence);
                self.enter(State::Parting, now);
            }
            _ => {}
        }
    }

    /// Appends one packet of what is to be said now; whether there was one.
    pub fn transmit(&mut self, now: u32, out: &mut Vec<u8>) -> bool {
        let head = Head { conversation: self.conversation, closing: self.state == State::Closing };
        let overdue = self.trip.overdue();
        let speaks = matches!(self.state, State::Active | State::Closing | State::PeerClosing | State::PeerTerminating);
        let telling = Telling { now, overdue, head, settings: &self.settings, answered: self.answered };
        if speaks && self.receiving.transmit(&telling, out) {
            return true;
        }
        let told = [self.sending.first(), self.receiving.next(), overdue];
        let start = out.len();
        if speaks && self.sending.transmit(&telling, out) {
            if out.len() - start == DATA {
                // V2Ray takes a segment without data only where something follows it in the packet.
                write_command(self.conversation, head.closing, Command::Ping, told, out);
            }
            return true;
        }
        let Some(word) = self.word.take() else { return false };
        write_command(self.conversation, head.closing, word, told, out);
        self.pinged = now;
        self.sending.told();
        if self.state == State::Parting {
            self.enter(State::Over, now);
        }
        true
    }
}

#[cfg(test)]
mod tests;
