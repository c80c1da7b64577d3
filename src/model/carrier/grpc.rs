//! gRPC, called gun.

crate::record! {
    /// Messages of one gRPC call.
    pub struct Grpc {
        /// Name of the service; a leading slash makes it a whole path.
        service_name: String => "serviceName";
        /// Authority of the request; empty takes the server name, else the address.
        authority: String => "authority";
        /// Several messages at once.
        multi_mode: bool => "multiMode";
        /// User agent, or the name of a browser; empty is Chrome's.
        user_agent: String => "user_agent";
        /// Seconds without traffic before a ping; 0 is off.
        idle_timeout: i32 => "idle_timeout";
        /// Seconds a ping may stay unanswered; 0 takes 20.
        health_check_timeout: i32 => "health_check_timeout";
        /// Ping also while nothing is open.
        permit_without_stream: bool => "permit_without_stream";
        /// First window of HTTP/2; below 65536 it has no effect.
        initial_windows_size: i32 => "initial_windows_size";
    }
}
