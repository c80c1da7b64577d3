//! One file a protocol, server side.
