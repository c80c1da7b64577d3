//! Sockets, and moving bytes between them.
