//! A configuration that is handed out over HTTP: by URL, or over a Unix socket as panels do it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::StatusCode;

/// Xray's limit for the whole exchange.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of an address of a Unix socket behind the leading zero; a padded name fills them.
const ABSTRACT_NAME: usize = 107;

/// Where to ask. Its text leaves out the query, which is where tokens are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// `http://…` or `https://…`.
    Url(String),
    /// An abstract Unix socket.
    Abstract {
        /// Filled with zeros to its full length.
        padded: bool,
        /// The name without the leading zero.
        name: String,
        /// What to ask for.
        path: String,
    },
    /// A Unix socket in the file system.
    Socket {
        /// Where it is.
        socket: PathBuf,
        /// What to ask for.
        path: String,
    },
}

/// The last of a chain of causes: "Connection refused" rather than "error sending request".
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// An answer that is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// No answer.
    #[error("cannot fetch {from}: {}", innermost(source))]
    Request {
        /// Who was asked.
        from: String,
        /// Why there is none.
        source: reqwest::Error,
    },
    /// Another status than 200.
    #[error("cannot fetch {from}: the answer is {status}")]
    Status {
        /// Who was asked.
        from: String,
        /// What they said.
        status: StatusCode,
    },
    /// No runtime to ask with.
    #[error("cannot fetch {from}: {source}")]
    Runtime {
        /// Who would have been asked.
        from: String,
        /// What is missing.
        source: std::io::Error,
    },
}

/// Asks and waits for the answer; `None` if it is longer than `limit`.
pub fn get(endpoint: &Endpoint, limit: u64) -> Result<Option<Vec<u8>>, FetchError> {
    let from = endpoint.to_string();
    // The configuration comes before the runtime that serves: this one lives for a single question.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| FetchError::Runtime { from: from.clone(), source })?;
    runtime.block_on(async {
        // The URL is left out of the words of the error: it may hold a token, and `from` says enough.
        let failed = |error: reqwest::Error| FetchError::Request { from: from.clone(), source: error.without_url() };
        let (client, url) = client(endpoint).map_err(failed)?;
        let mut answer = client.get(url).send().await.map_err(failed)?;
        if answer.status() != StatusCode::OK {
            return Err(FetchError::Status { from: from.clone(), status: answer.status() });
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(failed)? {
            if (bytes.len() + chunk.len()) as u64 > limit {
                return Ok(None);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Some(bytes))
    })
}

fn client(endpoint: &Endpoint) -> reqwest::Result<(reqwest::Client, String)> {
    // reqwest takes the provider of the process; whoever was first has set the same one.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let builder = reqwest::Client::builder().timeout(PATIENCE).no_proxy();
    match endpoint {
        Endpoint::Url(url) => Ok((builder.build()?, url.clone())),
        Endpoint::Abstract { padded, name, path } => {
            // tokio takes a path that begins with a zero for an abstract name.
            let width = if *padded { ABSTRACT_NAME } else { 0 };
            let name = format!("\0{name:\0<width$}");
            Ok((builder.unix_socket(PathBuf::from(name)).build()?, format!("http://localhost{path}")))
        }
        Endpoint::Socket { socket, path } => {
            Ok((builder.unix_socket(socket.clone()).build()?, format!("http://localhost{path}")))
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let without_query = |text: &str| text.split(['?', '#']).next().unwrap_or_default().to_owned();
        match self {
            Self::Url(url) => {
                let url = without_query(url);
                match url.split_once("://") {
                    // `user:password@` goes too.
                    Some((scheme, rest)) => {
                        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                        write!(f, "{scheme}://{}{path}", host.rsplit('@').next().unwrap_or_default())
                    }
                    None => f.write_str(&url),
                }
            }
            Self::Abstract { padded, name, path } => {
                write!(f, "{}{name}:{}", if *padded { "@@" } else { "@" }, without_query(path))
            }
            Self::Socket { socket, path } => write!(f, "{}:{}", socket.display(), without_query(path)),
        }
    }
}
