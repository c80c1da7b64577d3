//! HTTP/1 as a proxy speaks it: reading requests, rewriting them for the next hop, framing bodies, CONNECT as client.
//!
//! Heads are parsed and written anew; bodies pass as they are and are only watched for their end. So a chunked upload
//! costs no copy, while every head that leaves here is one that this code understood.

mod basic;
mod body;
mod chunks;
mod connect;
mod forward;
mod head;
mod headers;
mod reply;
mod target;

pub use basic::{authorization, credentials};
pub use body::{Body, Length};
pub use connect::{Connect, Refused};
pub use forward::{Persist, client_persists, request_for_origin, response_for_client};
pub use head::{MAX_HEAD, MAX_HEADERS, ReadRequest, ReadResponse, RequestHead, ResponseHead, Version};
pub use headers::Headers;
pub use reply::{ESTABLISHED, refusal};
pub use target::{BadRequestTarget, Form};
