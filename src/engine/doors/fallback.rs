//! Ways out for strangers.

use crate::inbound::{Fallback, Fallbacks, Refuge, UnixPlace};
use crate::model::protocol::{Dest, Fallback as Written};
use crate::proto::haproxy::Form;

pub(super) fn fallbacks(written: &[Written]) -> Result<Fallbacks, String> {
    written.iter().map(fallback).collect::<Result<_, _>>().map(Fallbacks::new)
}

fn fallback(written: &Written) -> Result<Fallback, String> {
    let to = match written.place() {
        Some(Dest::Tcp(target)) => Refuge::Tcp(target),
        Some(Dest::Unix(path)) => Refuge::Unix(unix(&path)),
        Some(Dest::Serve(_)) | None => return Err(format!("the fallback `{}` is not built yet", written.dest.0)),
    };
    Ok(Fallback {
        name: written.name.to_ascii_lowercase(),
        alpn: written.alpn.to_ascii_lowercase(),
        path: written.path.clone(),
        to,
        header: match written.xver {
            1 => Some(Form::V1),
            2 => Some(Form::V2),
            _ => None,
        },
    })
}

/// `@name` is abstract, `@@name` is so and filled up.
fn unix(path: &str) -> UnixPlace {
    match (path.strip_prefix("@@"), path.strip_prefix('@')) {
        (Some(name), _) => UnixPlace::Abstract { name: name.to_owned(), padded: true },
        (None, Some(name)) => UnixPlace::Abstract { name: name.to_owned(), padded: false },
        (None, None) => UnixPlace::File { path: path.into(), mode: None },
    }
}
