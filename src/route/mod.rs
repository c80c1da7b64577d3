//! Routing rules: facts of a flow in, a destination out. Pure.
