//! What a padded block says of what is behind it.

/// The head of a block: a command, the length of its content and that of its padding.
pub(super) const HEAD: usize = 5;

/// The id in front of the first block of a direction, and the head of that block.
pub(super) const FIRST: usize = 16 + HEAD;

/// No block is longer, id and head and padding included (one buffer of Xray's).
pub(super) const LONGEST: usize = 8192;

/// Another block follows.
pub(super) const CONTINUE: u8 = 0;

/// What follows is bare, inside the outer TLS.
pub(super) const END: u8 = 1;

/// What follows is bare, outside of it.
pub(super) const DIRECT: u8 = 2;
