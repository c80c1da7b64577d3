//! The web site that a server is to everybody who is not known: a page that is not there, some text, a folder of files, or
//! another site.

use std::io;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Body;
use tokio::fs::File;

use super::page::Page;
use super::upstream::Upstream;
use crate::model::carrier::Masquerade;
use crate::tls;
use crate::transport::error::TransportError;
use crate::transport::http3::Upload;

/// What strangers see.
#[derive(Debug)]
pub(super) enum Site {
    /// Nothing is there.
    NotFound,
    /// The same text everywhere.
    Text { status: StatusCode, headers: HeaderMap, content: Bytes },
    /// The files of a folder.
    Folder(PathBuf),
    /// Another site.
    Upstream(Upstream),
}

/// What is shown of a folder.
const INDEX: &str = "index.html";

impl Site {
    /// What a configuration says.
    ///
    /// # Errors
    /// A header or a site that is none.
    pub(super) fn new(set: &Masquerade, crypto: &tls::Crypto) -> Result<Self, TransportError> {
        Ok(match set.r#type.to_ascii_lowercase().as_str() {
            "string" => {
                let unfit = |_| TransportError::Text { what: "masquerade" };
                let status = if set.status_code == 0 { 200 } else { set.status_code };
                let status = StatusCode::from_u16(status).map_err(|_| TransportError::Text { what: "statusCode" })?;
                let mut headers = HeaderMap::new();
                let kind = if set.content.trim_start().starts_with('<') { "text/html" } else { "text/plain" };
                headers.insert(CONTENT_TYPE, HeaderValue::try_from(format!("{kind}; charset=utf-8")).map_err(unfit)?);
                for (name, value) in &set.headers {
                    let name = HeaderName::try_from(name).map_err(|_| TransportError::Text { what: "headers" })?;
                    headers.insert(name, HeaderValue::try_from(value).map_err(unfit)?);
                }
                Self::Text { status, headers, content: set.content.clone().into() }
            }
            "file" => Self::Folder(PathBuf::from(&set.dir)),
            "proxy" => Self::Upstream(Upstream::new(&set.url, set.rewrite_host, set.insecure, crypto)?),
            _ => Self::NotFound,
        })
    }

    /// Answers a stranger.
    pub(super) async fn answer(&self, request: Request<Upload>) -> Response<Page> {
        match self {
            Self::NotFound => not_found(),
            Self::Text { status, headers, content } => {
                let mut response = Response::new(Page::Whole(content.clone()));
                *response.status_mut() = *status;
                *response.headers_mut() = headers.clone();
                finished(response, request.method())
            }
            Self::Folder(folder) => {
                let found = match place(folder, request.uri().path()) {
                    Some(path) => file(&path).await.ok(),
                    None => None,
                };
                finished(found.unwrap_or_else(not_found), request.method())
            }
            Self::Upstream(site) => site.answer(request).await.unwrap_or_else(|error| {
                tracing::debug!(%error, "the site of a masquerade was not reached");
                let mut response = Response::new(Page::default());
                *response.status_mut() = StatusCode::BAD_GATEWAY;
                response
            }),
        }
    }
}

/// What Go's servers say.
fn not_found() -> Response<Page> {
    let mut response = Response::new(Page::Whole(Bytes::from_static(b"404 page not found\n")));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    finished(response, &Method::GET)
}

/// Says how long it is, and says only that where no more was asked for.
fn finished(mut response: Response<Page>, method: &Method) -> Response<Page> {
    if let Some(len) = response.body().size_hint().exact() {
        response.headers_mut().insert(CONTENT_LENGTH, len.into());
    }
    if method == Method::HEAD { response.map(|_| Page::default()) } else { response }
}

/// Where the file of a path is; nowhere if that would be outside.
fn place(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut place = folder.to_path_buf();
    let decoded = decoded(path)?;
    for part in decoded.split('/').filter(|part| !part.is_empty() && *part != ".") {
        let mut parts = Path::new(part).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(name)), None) if !part.contains(['\\', '\0']) => place.push(name),
            _ => return None,
        }
    }
    Some(place)
}

/// A path without percent signs.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = path.bytes();
    let mut out = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        out.push(u8::try_from(high << 4 | low).ok()?);
    }
    String::from_utf8(out).ok()
}

async fn file(path: &Path) -> io::Result<Response<Page>> {
    let mut path = path.to_path_buf();
    if tokio::fs::metadata(&path).await?.is_dir() {
        path.push(INDEX);
    }
    let file = File::open(&path).await?;
    let metadata = file.metadata().await?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let mut response = Response::new(Page::File(Box::new(file), metadata.len()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind(&path)));
    Ok(response)
}

/// What a file holds, by its name.
fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|end| end.to_str()).unwrap_or_default() {
        "css" => "text/css; charset=utf-8",
        "gif" => "image/gif",
        "htm" | "html" => "text/html; charset=utf-8",
        "jpeg" | "jpg" => "image/jpeg",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        "wasm" => "application/wasm",
        "webp" => "image/webp",
        "xml" => "text/xml; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[test]
    fn no_path_leads_outside() {
        let at = |path| place(Path::new("/site"), path);
        assert_eq!(at("/a/b.html"), Some("/site/a/b.html".into()));
        assert_eq!(at("//a/./b%20c"), Some("/site/a/b c".into()));
        assert_eq!(at("/"), Some("/site".into()));
        for bad in ["/../x", "/a/..", "/%2e%2e/x", "/a%2f..%2f..%2fx", "/a%00", "/a\\..\\x", "/%zz", "/%f", "/%ff"] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }

    #[tokio::test]
    async fn files_come_whole_and_folders_by_their_index() {
        let folder = tempfile::tempdir().unwrap();
        let content = vec![7; 50_000];
        std::fs::write(folder.path().join("a.png"), &content).unwrap();
        std::fs::write(folder.path().join(INDEX), b"<html>").unwrap();
        let response = file(&folder.path().join("a.png")).await.unwrap();
        assert_eq!(response.headers()[CONTENT_TYPE], "image/png");
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), content);
        let response = finished(file(folder.path()).await.unwrap(), &Method::GET);
        assert_eq!(response.headers()[CONTENT_LENGTH], "6");
        assert!(file(&folder.path().join("b")).await.is_err());
    }

    #[test]
    fn text_is_as_it_is_written() {
        let set = Masquerade {
            r#type: "string".into(),
            content: "<p>hello".into(),
            headers: [("server".to_owned(), "nginx".to_owned())].into(),
            status_code: 418,
            ..Masquerade::default()
        };
        let Site::Text { status, headers, .. } = Site::new(&set, &tls::Crypto::default()).unwrap() else { panic!() };
        assert_eq!(
            (status.as_u16(), &headers["server"], &headers[CONTENT_TYPE]),
            (418, &HeaderValue::from_static("nginx"), &HeaderValue::from_static("text/html; charset=utf-8"))
        );
        let bad = Masquerade { headers: [("a b".to_owned(), String::new())].into(), ..set };
        assert!(Site::new(&bad, &tls::Crypto::default()).is_err());
    }
}
