//! What carries a stream's bytes, a file each.

mod grpc;
mod header;
mod httpupgrade;
mod hysteria;
mod kcp;
mod old;
mod raw;
mod websocket;
mod xhttp;
mod xmux;

pub use grpc::Grpc;
pub use header::{RequestHeader, ResponseHeader};
pub use httpupgrade::HttpUpgrade;
pub use hysteria::{HysteriaCarrier, Masquerade};
pub use kcp::Kcp;
pub use old::{DomainSocket, OldHttp, OldQuic, QuicHeader};
pub use raw::{RawHeader, RawKind, RawTcp};
pub use websocket::WebSocket;
pub use xhttp::{PaddingMethod, Placement, UplinkPlacement, Xhttp, XhttpMode};
pub use xmux::Xmux;
