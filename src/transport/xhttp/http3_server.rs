//! A connection of HTTP/3 on which a server is asked.

use std::future::Future;
use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use h3::error::Code;
use h3::server::{RequestResolver, RequestStream, builder};
use http::header::CONTENT_LENGTH;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::SizeHint;
use quinn::Connection;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::body::{Outgoing, Received};
use super::source::{Source, poll_bytes};
use crate::transport::door::LIMIT;
use crate::transport::http3::{Link, MOST, Receiving, Unwanted};

/// Answers requests until the connection ends; after `closing` those that run, and no more.
pub(super) async fn serve<A, F>(connection: Connection, closing: impl Future<Output = ()>, answer: A)
where
    A: Fn(Request<Received>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Outgoing>> + Send + 'static,
{
    let mut builder = builder();
    builder.max_field_section_size(MOST).send_grease(false);
    let Ok(Ok(mut line)) = timeout(LIMIT, builder.build(Link::new(connection))).await else { return };
    let tasks = TaskTracker::new();
    tasks.close();
    let mut closing = std::pin::pin!(closing);
    let mut open = true;
    loop {
        let asked = tokio::select! {
            asked = line.accept() => asked,
            () = &mut closing, if open => {
                open = false;
                if line.shutdown(0).await.is_err() {
                    return;
                }
                continue;
            }
            () = tasks.wait(), if !open => return,
        };
        // Whatever goes wrong with it is the visitor's.
        let Ok(Some(asked)) = asked else { return };
        if let Some(unwanted) = line.inner.conn.unwanted() {
            tasks.spawn(respond(asked, unwanted, answer.clone()));
        }
    }
}

/// Answers one request, for as long as the answer is wanted.
async fn respond<A, F>(asked: RequestResolver<Link, Bytes>, mut unwanted: Unwanted, answer: A)
where
    A: Fn(Request<Received>) -> F,
    F: Future<Output = Response<Outgoing>>,
{
    let Ok(Ok((request, stream))) = timeout(LIMIT, asked.resolve_request()).await else { return };
    let (mut sending, receiving) = stream.split();
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let hint = length.map(SizeHint::with_exact).unwrap_or_default();
    let request = request.map(|()| Received::Quic(Box::new(Up { receiving }), hint));
    let response = tokio::select! {
        response = answer(request) => response,
        () = &mut unwanted => return,
    };
    let (head, mut body) = response.into_parts();
    if sending.send_response(Response::from_parts(head, ())).await.is_err() {
        return;
    }
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = &mut unwanted => return,
        };
        let Some(Ok(frame)) = frame else { break };
        let Ok(bytes) = frame.into_data() else { continue };
        if sending.send_data(bytes).await.is_err() {
            return;
        }
    }
    // Nobody is left to tell where it fails.
    let _ = sending.finish().await;
}

/// The body of a request.
struct Up {
    receiving: RequestStream<Receiving, Bytes>,
}

impl Source for Up {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        poll_bytes(|| self.receiving.poll_recv_data(cx))
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        self.receiving.stop_sending(Code::H3_NO_ERROR);
    }
}
