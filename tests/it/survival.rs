//! The serving member is lost under load: new flows do not notice, and nobody asks it any more.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{House, Peer, echo, eventually, microsocks, serve_each, socks_outbound, tunnel};

/// Three real proxies, of which the first has by far the highest score; the next round is an hour away.
struct Field {
    house: House,
    proxies: Vec<Peer>,
    echo: SocketAddr,
}

async fn field() -> Field {
    let source = serve_each(|mut stream| async move {
        let mut head = vec![0; 1024];
        let _ = stream.read(&mut head).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nspeed").await;
    })
    .await;
    let proxies: Vec<Peer> = tokio::task::spawn_blocking(|| (0..3).map(|_| microsocks(None)).collect()).await.unwrap();
    let member = |(n, peer): (usize, &Peer)| socks_outbound(&format!("m-{n}"), peer.addr);
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1" }],
        "outbounds": proxies.iter().enumerate().map(member).collect::<Vec<_>>(),
        "routing": {
            "balancers": [{ "tag": "pool", "selector": ["m-"], "strategy": "optimal", "optimalSettings": {
                "url": format!("http://{source}/file"), "timeout": 4000, "interval": 3_600_000,
                "weights": [
                    { "tag": "m-0", "weight": 100_000_000 }, { "tag": "m-1", "weight": 10_000 }, { "tag": "m-2", "weight": 1 }
                ]
            } }],
            "rules": [{ "network": "tcp", "balancerTag": "pool" }]
        }
    }));
    let pool = house.balancers[0].clone();
    assert!(eventually(|| pool.board().round >= 1).await, "a round ends");
    assert_eq!(&pool.board().ranking[..], [0, 1, 2], "{:?}", pool.board());
    Field { house, proxies, echo: echo().await }
}

impl Field {
    /// A new flow from its beginning to its first answer.
    async fn flow(&self) -> (TcpStream, Duration) {
        let begun = Instant::now();
        let mut stream = tunnel(self.house.at("in"), &self.echo.to_string()).await;
        let answer = async {
            stream.write_all(b"x").await.unwrap();
            stream.read_u8().await
        };
        let answer = timeout(Duration::from_secs(20), answer).await.expect("an answer or an end");
        assert!(answer.is_ok_and(|byte| byte == b'x'), "a new flow failed after {:?}", begun.elapsed());
        (stream, begun.elapsed())
    }

    /// 200 flows by the serving member, then `strike` it. New flows come all the time; none may fail, and those that begin
    /// after `limit` must be given to the runner-up and to nobody else.
    async fn survives(&mut self, strike: impl FnOnce(&mut Peer), limit: Duration) {
        let pool = self.house.balancers[0].clone();
        let mut running = Vec::new();
        for _ in 0..200 {
            running.push(self.flow().await.0);
        }
        assert_eq!(pool.counted(0).1, 200, "they run by the one that serves");
        strike(&mut self.proxies[0]);
        let struck = Instant::now();
        while struck.elapsed() < limit {
            let (one, other, third) = tokio::join!(self.flow(), self.flow(), self.flow());
            for (_, took) in [one, other, third] {
                assert!(took < limit, "{took:?}");
            }
            sleep(Duration::from_millis(20)).await;
        }
        let before = (pool.counted(0).0, pool.counted(1).0);
        for _ in 0..20 {
            let (_, took) = self.flow().await;
            assert!(took < Duration::from_secs(1), "{took:?}");
        }
        assert_eq!((pool.counted(0).0, pool.counted(1).0), (before.0, before.1 + 20), "{:?}", pool.board());
        drop(running);
    }
}

#[tokio::test]
async fn the_serving_member_is_killed_under_200_flows_and_no_new_flow_fails() {
    let mut field = field().await;
    field.survives(|peer| peer.process.kill(), Duration::from_secs(2)).await;
    field.house.stop().await;
}

#[tokio::test]
async fn the_serving_member_is_frozen_under_200_flows_and_no_new_flow_fails() {
    let mut field = field().await;
    // The kernel still takes its connections, but nobody ever answers.
    field.survives(|peer| peer.process.signal(Signal::STOP), Duration::from_secs(5)).await;
    field.house.stop().await;
}
