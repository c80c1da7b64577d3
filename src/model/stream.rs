//! How bytes travel: a carrier, a security layer and the sockets below.

use super::sockopt::SockOpt;

crate::record! {
    /// How bytes travel.
    pub struct Stream {
        /// Options of the sockets.
        sockopt: SockOpt => "sockopt";
    }
}
