//! The one internal model. Data only: both frontends end here, the runtime begins here.
