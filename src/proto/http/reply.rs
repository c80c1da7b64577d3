//! Answers that the proxy gives itself.

/// The answer to CONNECT.
pub const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// A refusal without a body, after which the connection ends.
///
/// It states its length, unlike Xray's: clients that wait for the end of the body would wait for the close.
#[must_use]
pub fn refusal(status: u16) -> Vec<u8> {
    let reason = match status {
        400 => "Bad Request",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        504 => "Gateway Timeout",
        _ => "Error",
    };
    let ask = if status == 407 { "Proxy-Authenticate: Basic realm=\"proxy\"\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status} {reason}\r\n{ask}Connection: close\r\nProxy-Connection: close\r\nContent-Length: 0\r\n\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_407_asks_for_a_password() {
        assert!(String::from_utf8_lossy(&refusal(407)).contains("Basic realm"));
        assert!(refusal(400).starts_with(b"HTTP/1.1 400 Bad Request\r\nConnection: close"));
    }
}
