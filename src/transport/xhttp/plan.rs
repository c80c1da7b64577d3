//! What both sides read of the settings.

use http::Method;

use super::padding::Padding;
use super::spot::Spot;
use crate::model::carrier::{UplinkPlacement, Xhttp};
use crate::transport::error::TransportError;

/// How requests look.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// The path before any piece, and what is asked besides.
    pub(super) path: String,
    pub(super) query: String,
    pub(super) session: Spot,
    pub(super) number: Spot,
    pub(super) padding: Padding,
    /// Method of what goes up.
    pub(super) method: Method,
}

impl Plan {
    pub(super) fn new(set: &Xhttp) -> Result<Self, TransportError> {
        if matches!(set.uplink_data_placement, UplinkPlacement::Cookie | UplinkPlacement::Header) {
            return Err(TransportError::NotBuilt { what: "uplinkDataPlacement in cookies or headers" });
        }
        let session = Spot::new(set.session_id_placement, &set.session_id_key, "session")?;
        let number = Spot::new(set.seq_placement, &set.seq_key, "seq")?;
        let (path, query) = set.path.split_once('?').unwrap_or((&set.path, ""));
        let mut path = path.to_owned();
        if [&session, &number].contains(&&Spot::Path) && !path.ends_with('/') {
            path.push('/');
        }
        let method = set.uplink_http_method.parse();
        Ok(Self {
            path,
            query: query.to_owned(),
            session,
            number,
            padding: Padding::new(set)?,
            method: method.map_err(|_| TransportError::Text { what: "uplinkHTTPMethod" })?,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::carrier::Placement;

    /// The table of Xray's own test.
    #[test]
    fn a_base_path_ends_in_a_slash_where_pieces_follow() {
        use Placement::{Cookie, Header, Path, Query};
        for (path, session_id_placement, seq_placement, expected) in [
            ("/sh", Path, Path, "/sh/"),
            ("/?world", Path, Path, "/"),
            ("/stream", Query, Query, "/stream"),
            ("/stream/filename.extension", Query, Header, "/stream/filename.extension"),
            ("/stream", Query, Path, "/stream/"),
            ("/stream", Path, Cookie, "/stream/"),
            ("/stream/", Query, Query, "/stream/"),
            ("/", Query, Query, "/"),
        ] {
            let set = Xhttp { path: path.into(), session_id_placement, seq_placement, ..Xhttp::default() };
            assert_eq!(Plan::new(&set).unwrap().path, expected, "{path}");
        }
    }
}
