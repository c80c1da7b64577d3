//! A connection of HTTP/3 on which a server is asked.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::server::{RequestResolver, RequestStream, builder};
use http::header::CONTENT_LENGTH;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::frames::MOST;
use super::link::Link;
use super::streams::{Receiving, Unwanted};
use crate::transport::door::LIMIT;

/// Answers requests until the connection ends; after `closing` those that run, and no more.
pub async fn serve<A, F, B>(link: Link, closing: impl Future<Output = ()>, answer: A)
where
    A: Fn(Request<Upload>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Send,
{
    let mut builder = builder();
    builder.max_field_section_size(MOST).send_grease(false);
    let Ok(Ok(mut line)) = timeout(LIMIT, builder.build(link)).await else { return };
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
async fn respond<A, F, B>(asked: RequestResolver<Link, Bytes>, mut unwanted: Unwanted, answer: A)
where
    A: Fn(Request<Upload>) -> F,
    F: Future<Output = Response<B>>,
    B: Body<Data = Bytes> + Unpin,
{
    let Ok(Ok((request, stream))) = timeout(LIMIT, asked.resolve_request()).await else { return };
    let (mut sending, receiving) = stream.split();
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let hint = length.map(SizeHint::with_exact).unwrap_or_default();
    let request = request.map(|()| Upload { receiving, hint });
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
pub struct Upload {
    receiving: RequestStream<Receiving, Bytes>,
    hint: SizeHint,
}

impl Body for Upload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        loop {
            let chunk = ready!(this.receiving.poll_recv_data(cx)).map_err(io::Error::other)?;
            let Some(mut chunk) = chunk else { return Poll::Ready(None) };
            // Pieces may be empty.
            if chunk.has_remaining() {
                return Poll::Ready(Some(Ok(Frame::data(chunk.copy_to_bytes(chunk.remaining())))));
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.hint
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.receiving.stop_sending(Code::H3_NO_ERROR);
    }
}
