//! What both sides read of the settings.

use http::request::Parts;
use http::{HeaderMap, Method};

use super::padding::Padding;
use super::spot::{Spot, Target};
use crate::model::carrier::{UplinkPlacement, Xhttp};
use crate::transport::error::TransportError;

/// How requests look.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The path before any piece, and what is asked besides.
    pub(super) path: String,
    query: String,
    session: Spot,
    number: Spot,
    pub(super) padding: Padding,
    /// Method of what goes up.
    pub(super) method: Method,
}

/// What a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The session to which it belongs.
    pub session: Option<&'a str>,
    /// Its number there.
    pub number: Option<&'a str>,
}

impl Plan {
    /// Of what is configured.
    ///
    /// # Errors
    /// [`TransportError`] names the setting.
    pub fn new(set: &Xhttp) -> Result<Self, TransportError> {
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

    /// Path and query of a padded request to `origin`, with what it names there or in its fields.
    pub fn write(&self, origin: &str, session: Option<&str>, number: Option<&str>, fields: &mut HeaderMap) -> String {
        let mut target = Target { path: self.path.clone(), query: self.query.clone() };
        self.padding.pad(&format!("{origin}{}", target.path), &mut target, fields);
        for (spot, word) in [(&self.session, session), (&self.number, number)] {
            if let Some(word) = word {
                spot.put(word, &mut target, fields);
            }
        }
        target.text()
    }

    /// What a request names; nothing of one whose padding is not as it should be.
    #[must_use]
    pub fn read<'a>(&self, head: &'a Parts) -> Option<Asked<'a>> {
        if !self.padding.is_right(head) {
            return None;
        }
        let mut pieces = head.uri.path().get(self.path.len()..).unwrap_or_default().split('/');
        let session = self.session.find(head, &mut pieces);
        Some(Asked { session, number: self.number.find(head, &mut pieces) })
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
