//! Swallows flows.

crate::words! {
    /// What the client gets before the end.
    pub enum Answer(fold) {
        /// Nothing.
        None = "none";
        /// `403 Forbidden`.
        Http = "http";
    }
}

crate::record! {
    /// What a swallowed flow gets.
    pub struct BlackholeResponse {
        /// What the client gets before the end.
        r#type: Answer => "type", required;
    }
}

crate::record! {
    /// Swallows flows.
    pub struct Blackhole {
        /// What the client gets.
        response: BlackholeResponse => "response";
    }
}
