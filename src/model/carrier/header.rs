//! A request and an answer of plain HTTP around a raw stream's first bytes.

use std::collections::BTreeMap;

use crate::shape::TextList;

fn text_map(of: &[(&str, &[&str])]) -> BTreeMap<String, TextList> {
    let list = |values: &[&str]| TextList(values.iter().map(|v| (*v).to_owned()).collect());
    of.iter().map(|(key, values)| ((*key).to_owned(), list(values))).collect()
}

crate::record! {
    /// The request in front of the first bytes.
    pub struct RequestHeader {
        /// HTTP version.
        version: String = "1.1".into() => "version";
        /// Method.
        method: String = "GET".into() => "method";
        /// Paths, one is drawn for each connection.
        path: TextList = TextList(vec!["/".into()]) => "path";
        /// Headers; of several values one is drawn. None given means those of a browser.
        headers: Option<BTreeMap<String, TextList>> => "headers";
    }
}

crate::record! {
    /// The answer in front of the first bytes.
    pub struct ResponseHeader {
        /// HTTP version.
        version: String = "1.1".into() => "version";
        /// Status.
        status: String = "200".into() => "status";
        /// Reason.
        reason: String = "OK".into() => "reason";
        /// Headers; of several values one is drawn.
        headers: BTreeMap<String, TextList> = text_map(&[
            ("Content-Type", &["application/octet-stream", "video/mpeg"]),
            ("Transfer-Encoding", &["chunked"]),
            ("Connection", &["keep-alive"]),
            ("Pragma", &["no-cache"]),
            ("Cache-Control", &["private", "no-cache"]),
        ]) => "headers";
    }
}
