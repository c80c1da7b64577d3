//! `fakeDns`: one pool, or a list of them.

use crate::model::dns::FakePools;
use crate::shape::{Field, Kind, Node, Reader};

/// Reads the section. Xray finds out about bad pools at the start only; here they are told at once.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<FakePools> {
    let pools = FakePools::read(cx, node)?;
    for pool in &pools.0 {
        let Some(net) = pool.ip_pool else {
            cx.error(node, Kind::Missing, "invalid fakeDNS setting: a pool needs both `ipPool` and `poolSize`");
            continue;
        };
        let host_bits = u32::from(net.max_prefix_len() - net.prefix_len());
        if pool.pool_size == 0 {
            cx.error(node, Kind::Missing, "invalid fakeDNS setting: a pool needs both `ipPool` and `poolSize`");
        } else if f64::from(pool.pool_size).log2() >= f64::from(host_bits) {
            let message =
                format!("LRU size is bigger than subnet size: {net} cannot hold {} addresses", pool.pool_size);
            cx.error(node, Kind::Value, message);
        }
    }
    Some(pools)
}
