//! Every condition of a rule, over real sockets.
#![allow(clippy::unwrap_used)]

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{Exit, House, Who, eventually, exit_of, line, tunnel, tunnel_as};

#[tokio::test]
async fn every_condition_leads_its_own_way() {
    let (rest, b) = (Exit::start("rest").await, Exit::start("b").await);
    let house = House::start(&json!({
        "inbounds": [
            { "tag": "in", "protocol": "socks", "listen": "127.0.0.1" },
            { "tag": "other", "protocol": "socks", "listen": "127.0.0.1" },
            { "tag": "login", "protocol": "socks", "listen": "127.0.0.1", "settings": {
                "auth": "password", "accounts": [{ "user": "love", "pass": "x" }, { "user": "hate", "pass": "y" }] } },
            { "tag": "far", "protocol": "socks", "listen": "127.0.0.3" },
            { "tag": "web", "protocol": "http", "listen": "127.0.0.1" }
        ],
        "outbounds": [rest.outbound("rest"), b.outbound("b")],
        "routing": { "rules": [
            { "domain": ["full:shop.example.com", "domain:tree.example.com", "keyword:invoice", "regexp:^r\\d+\\.", "plain"], "outboundTag": "b" },
            { "ip": ["192.0.2.0/24", "2001:db8::/32"], "outboundTag": "b" },
            { "ip": ["!10.0.0.0/8", "!203.0.113.0/24"], "port": "7000", "outboundTag": "b" },
            { "port": "53,1000-2000", "outboundTag": "b" },
            { "source": ["127.0.0.9"], "outboundTag": "b" },
            { "localIP": "127.0.0.3", "outboundTag": "b" },
            { "inboundTag": ["other"], "outboundTag": "b" },
            { "user": ["love"], "outboundTag": "b" },
            { "attrs": { ":method": "^POST$", "x-way": "b" }, "outboundTag": "b" },
            { "network": "udp", "outboundTag": "b" }
        ] }
    }));
    let at = house.at("in");
    for (target, want) in [
        ("shop.example.com:80", "b"),
        ("Shop.Example.COM:80", "b"),
        ("www.shop.example.com:80", "rest"),
        ("a.tree.example.com:80", "b"),
        ("nottree.example.com:80", "rest"),
        ("MYINVOICE.example.org:80", "b"),
        ("r7.example.org:80", "b"),
        ("plane.example.org:80", "rest"),
        ("explained.example.org:80", "b"),
        ("192.0.2.77:80", "b"),
        ("192.0.3.77:80", "rest"),
        ("2001:db8::5:80", "b"),
        ("198.51.100.1:7000", "b"),
        ("203.0.113.1:7000", "rest"),
        ("2001:dead::5:7000", "rest"),
        ("198.51.100.1:1999", "b"),
        ("198.51.100.1:2001", "rest"),
    ] {
        assert_eq!(exit_of(at, target).await, want, "{target}");
    }
    assert_eq!(exit_of(house.at("other"), "198.51.100.1:80").await, "b");
    assert_eq!(exit_of(house.at("far"), "198.51.100.1:80").await, "b");
    for (who, want) in [
        (Who { from: Some([127, 0, 0, 9].into()), ..Who::default() }, "b"),
        (Who { from: Some([127, 0, 0, 8].into()), ..Who::default() }, "rest"),
    ] {
        assert_eq!(line(&mut tunnel_as(at, "198.51.100.1:80", who).await).await, want);
    }
    for (login, want) in [(("love", "x"), "b"), (("hate", "y"), "rest")] {
        let who = Who { login: Some(login), ..Who::default() };
        assert_eq!(line(&mut tunnel_as(house.at("login"), "198.51.100.1:80", who).await).await, want);
    }
    // Each exit takes what it is asked for as a plain request; that no answer comes is another test's matter.
    let post = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX-Way: to b\r\nContent-Length: 0\r\n\r\n";
    let put = post.replace("POST", "PUT").replace("a.example", "c.example");
    for (request, exit, want) in [(post, &b, "a.example:80"), (&put, &rest, "c.example:80")] {
        let mut stream = TcpStream::connect(house.at("web")).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        assert!(eventually(|| exit.last_asked() == want).await, "{want}");
    }
    house.stop().await;
}

#[tokio::test]
async fn a_rule_to_nowhere_closes_and_never_falls_through() {
    let a = Exit::start("a").await;
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1" }],
        "outbounds": [a.outbound("a"), { "tag": "block", "protocol": "blackhole" }],
        "routing": { "balancers": [{ "tag": "none", "selector": ["x"] }], "rules": [
            { "domain": ["full:missing.example"], "outboundTag": "nowhere" },
            { "domain": ["full:empty.example"], "balancerTag": "none" },
            { "domain": ["full:blocked.example"], "outboundTag": "block" }
        ] }
    }));
    for target in ["missing.example:80", "empty.example:80", "blocked.example:80"] {
        assert_eq!(exit_of(house.at("in"), target).await, "", "{target}");
    }
    assert_eq!(exit_of(house.at("in"), "a.example:80").await, "a");
    assert_eq!(a.last_asked(), "a.example:80");
    house.stop().await;
}

#[tokio::test]
async fn names_are_resolved_as_the_strategy_says_and_stay_names() {
    for (strategy, wants) in [("AsIs", ["c", "a"]), ("IPIfNonMatch", ["c", "b"]), ("IPOnDemand", ["b", "b"])] {
        let (a, b, c) = (Exit::start("a").await, Exit::start("b").await, Exit::start("c").await);
        let house = House::start(&json!({
            "dns": { "hosts": { "late.example.com": "192.0.2.5", "only-ip.example.com": "192.0.2.6" } },
            "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1" }],
            "outbounds": [a.outbound("a"), b.outbound("b"), c.outbound("c")],
            "routing": { "domainStrategy": strategy, "rules": [
                { "ip": ["192.0.2.0/24"], "outboundTag": "b" },
                { "domain": ["full:late.example.com"], "outboundTag": "c" }
            ] }
        }));
        for (name, want) in ["late.example.com:80", "only-ip.example.com:80"].iter().zip(wants) {
            assert_eq!(exit_of(house.at("in"), name).await, want, "{strategy} {name}");
        }
        if wants[1] == "b" {
            assert_eq!(b.last_asked(), "only-ip.example.com:80", "the outbound is given the name");
        }
        house.stop().await;
    }
}

#[tokio::test]
async fn loopback_routes_again_and_a_ring_ends() {
    let (a, b) = (Exit::start("a").await, Exit::start("b").await);
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1" }],
        "outbounds": [
            a.outbound("a"), b.outbound("b"),
            { "tag": "again", "protocol": "loopback", "settings": { "inboundTag": "second" } },
            { "tag": "ring", "protocol": "loopback", "settings": { "inboundTag": "in" } }
        ],
        "routing": { "rules": [
            { "inboundTag": ["second"], "outboundTag": "b" },
            { "domain": ["full:round.example"], "outboundTag": "ring" },
            { "domain": ["full:again.example"], "outboundTag": "again" }
        ] }
    }));
    assert_eq!(exit_of(house.at("in"), "again.example:80").await, "b");
    assert_eq!(exit_of(house.at("in"), "round.example:80").await, "");
    assert_eq!(exit_of(house.at("in"), "a.example:80").await, "a");
    house.stop().await;
}

#[tokio::test]
async fn sniffed_names_route_and_override_as_they_should() {
    let request = b"GET / HTTP/1.1\r\nHost: shop.example.com:80\r\n\r\n";
    let excluded = b"GET / HTTP/1.1\r\nHost: not.example.com\r\n\r\n";
    for (route_only, dialed) in [(false, "shop.example.com:80"), (true, "192.0.2.10:80")] {
        let (a, b) = (Exit::start("a").await, Exit::start("b").await);
        let house = House::start(&json!({
            "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "sniffing": {
                "enabled": true, "destOverride": ["http", "tls"], "routeOnly": route_only,
                "domainsExcluded": ["full:not.example.com"], "ipsExcluded": ["192.0.2.66"] } }],
            "outbounds": [a.outbound("a"), b.outbound("b")],
            "routing": { "rules": [{ "domain": ["domain:example.com"], "outboundTag": "b" }] }
        }));
        let at = house.at("in");
        for (target, first, want) in [
            ("192.0.2.10:80", &request[..], "b"),
            ("192.0.2.10:80", &excluded[..], "a"),
            ("192.0.2.66:80", &request[..], "a"),
            ("192.0.2.10:80", &b"SSH-2.0-x\r\n"[..], "a"),
        ] {
            let mut stream = tunnel(at, target).await;
            stream.write_all(first).await.unwrap();
            assert_eq!(line(&mut stream).await, want, "{target} {}", String::from_utf8_lossy(first));
        }
        assert_eq!(b.last_asked(), dialed);
        // A client that waits for the server to speak is not made to wait for ever.
        assert_eq!(exit_of(at, "192.0.2.10:22").await, "a");
        assert!(eventually(|| b.heard().len() == 1).await);
        assert_eq!(b.heard()[0], request, "the bytes arrive unchanged");
        house.stop().await;
    }
}
