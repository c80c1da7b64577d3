//! What keeping a thousand members costs.

fn main() {}
