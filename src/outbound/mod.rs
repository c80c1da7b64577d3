//! One file a protocol, client side.
