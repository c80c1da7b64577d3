//! The embedded default: real upstreams on loopback, an engine between them, and a judge outside.
