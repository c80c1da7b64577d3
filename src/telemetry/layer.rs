//! The `tracing` layer that hands events to the writer as lines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use arc_swap::ArcSwapOption;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::level::Threshold;
use super::line::{Access, Fields, FlowId};
use super::mask::Mask;
use super::writer::{Log, Queue};

/// Target of the access log's events.
const ACCESS: &str = "access";

/// Target of what the access log says of names.
const NAMES: &str = "access::dns";

/// What may change while the program runs.
#[derive(Debug)]
pub(super) struct Control {
    threshold: AtomicU8,
    access: AtomicBool,
    names: AtomicBool,
    mask: ArcSwapOption<Mask>,
}

impl Control {
    pub(super) fn new(threshold: Threshold, access: bool, names: bool, mask: Option<Mask>) -> Self {
        Self {
            threshold: AtomicU8::new(threshold as u8),
            access: AtomicBool::new(access),
            names: AtomicBool::new(names),
            mask: ArcSwapOption::new(mask.map(Arc::new)),
        }
    }

    pub(super) fn set(&self, threshold: Threshold, access: bool, names: bool, mask: Option<Mask>) {
        self.set_threshold(threshold);
        self.access.store(access, Ordering::Relaxed);
        self.names.store(names, Ordering::Relaxed);
        self.mask.store(mask.map(Arc::new));
        tracing::callsite::rebuild_interest_cache();
    }

    pub(super) fn set_threshold(&self, threshold: Threshold) {
        self.threshold.store(threshold as u8, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
    }

    fn threshold(&self) -> Threshold {
        Threshold::ALL[usize::from(self.threshold.load(Ordering::Relaxed))]
    }

    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        let access = || self.access.load(Ordering::Relaxed) && self.threshold() > Threshold::None;
        match metadata.target() {
            ACCESS => access(),
            NAMES => self.names.load(Ordering::Relaxed) && access(),
            _ => self.threshold().lets_through(metadata),
        }
    }
}

/// The layer itself.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) queue: Arc<Queue>,
    pub(super) control: Arc<Control>,
}

impl Lines {
    fn say(&self, log: Log, line: &str) {
        match &*self.control.mask.load() {
            Some(mask) => self.queue.push(log, &mask.apply(line)),
            None => self.queue.push(log, line),
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    /// Asked once for each place that speaks, and again after a change: what is not wanted then costs one load.
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.control.wants(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.control.wants(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let access = self.control.access.load(Ordering::Relaxed);
        Some(match self.control.threshold() {
            Threshold::None => LevelFilter::OFF,
            Threshold::Debug => LevelFilter::DEBUG,
            Threshold::Info => LevelFilter::INFO,
            // The access log speaks at info, whatever the level of the other.
            _ if access => LevelFilter::INFO,
            Threshold::Warning => LevelFilter::WARN,
            Threshold::Error => LevelFilter::ERROR,
        })
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().name() == "flow"
            && let Some(span) = context.span(id)
        {
            let mut flow = FlowId::default();
            attributes.record(&mut flow);
            span.extensions_mut().insert(flow);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if event.metadata().target() == ACCESS {
            self.say(Log::Access, &Access::of(event).text());
            return;
        }
        if event.metadata().target() == NAMES {
            self.say(Log::Access, &Fields::of(event).plain());
            return;
        }
        let span = context.event_scope(event).and_then(|mut scope| scope.find(|span| span.name() == "flow"));
        let extensions = span.as_ref().map(|span| span.extensions());
        let flow = extensions.as_ref().and_then(|all| all.get::<FlowId>()).map(|id| id.0.as_str());
        self.say(Log::General, &Fields::of(event).general(event.metadata(), flow));
    }
}
