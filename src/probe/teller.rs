//! What the log says of probes: every attempt and score at debug, changes at info (DECISIONS 31).

use tracing::{debug, info, warn};

use crate::balance::Story;

/// Tells a story to the log.
pub fn tell(story: &Story) {
    match story {
        Story::Serving { changed: true, .. }
        | Story::Turned { .. }
        | Story::Guarded { loud: true, .. }
        | Story::Noted { warn: false, .. } => info!("{story}"),
        Story::Noted { warn: true, .. } => warn!("{story}"),
        Story::Measured { .. } | Story::Scored { .. } | Story::Serving { .. } | Story::Guarded { .. } => {
            debug!("{story}");
        }
    }
}
