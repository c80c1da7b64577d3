//! Heads and bodies of HTTP/1.

use etemenanki::addr::Target;
use etemenanki::proto::http::{
    Body, Connect, Form, Headers, Length, ReadRequest, ReadResponse, RequestHead, ResponseHead, request_for_origin,
};

use super::feed;

/// Reads the head of a request; what is written of it reads the same.
pub fn request(data: &[u8]) {
    feed::shake(data, ReadRequest::default, |mut head: RequestHead| {
        let _ = Length::of_request(&head);
        let _ = Form::parse(&head.method, &head.target);
        if let Some(host) = head.headers.first("Host") {
            let _ = Form::by_host(host);
        }
        let words = format!("{head:?}");
        let mut text = Vec::new();
        head.write(&mut text);
        let again = RequestHead::parse(&text).expect("what was written is a head");
        assert_eq!(format!("{again:?}"), words);
        request_for_origin(&mut head, Some("a.example"), Some("/"));
        words
    });
}

/// Reads the head of an answer.
pub fn response(data: &[u8]) {
    feed::shake(data, ReadResponse::default, |head: ResponseHead| {
        for method in ["GET", "HEAD", "CONNECT"] {
            let _ = Length::of_response(method, &head);
        }
        let mut text = Vec::new();
        head.write(&mut text);
        ResponseHead::parse(&text).expect("what was written is a head");
        format!("{head:?}")
    });
}

/// Takes the answer to CONNECT.
pub fn connect(data: &[u8]) {
    let target: Target = "a.example:443".parse().expect("a target");
    feed::shake(data, || Connect::new(&target, None, &Headers::default()), |answer| format!("{answer:?}"));
}

/// Finds the end of a chunked body.
pub fn body(data: &[u8]) {
    let read = |size: usize| {
        let (mut body, mut taken) = (Body::new(Length::Chunked), 0);
        for piece in data.chunks(size.max(1)) {
            match body.advance(piece) {
                Ok(used) => {
                    assert!(used <= piece.len());
                    taken += used;
                    if body.is_done() {
                        break;
                    }
                    assert_eq!(used, piece.len(), "it goes on, but did not take all");
                }
                Err(_) => return None,
            }
        }
        Some((taken, body.is_done()))
    };
    assert_eq!(read(data.len()), read(1));
    assert_eq!(read(data.len()), read(5));
}
