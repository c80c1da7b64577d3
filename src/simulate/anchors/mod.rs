//! Models of how other engines choose, each written after its sources (part 14 of the reference) and none with a retry
//! of its own. They are what ours is measured against.

mod bare;
mod failover_tcp;
mod least_load;
mod least_ping;
mod mihomo;
mod optimal_pr;
mod shadowsocks;
mod sing_box;

pub use bare::{InTurn, Random};
pub use failover_tcp::FailoverTcp;
pub use least_load::LeastLoad;
pub use least_ping::LeastPing;
pub use mihomo::Mihomo;
pub use optimal_pr::OptimalPr;
pub use shadowsocks::Shadowsocks;
pub use sing_box::SingBox;
