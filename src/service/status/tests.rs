use std::net::SocketAddr;

use hyper::Request;

use super::*;
use crate::model::hashkey::KeyPart;
use crate::model::httpservice::ServerUrl;

fn url(name: &str, weight: u32) -> LinkedServer {
    let to = ServerUrl::parse(name).map(ServerTo::Url);
    LinkedServer { to: to.unwrap_or_else(|why| panic!("{why}")), weight, fenced: false }
}

fn inner(at: usize) -> LinkedServer {
    LinkedServer { to: ServerTo::Service(at), weight: 1, fenced: false }
}

fn services(all: Vec<(&str, Vec<LinkedServer>)>) -> HttpServices {
    let one = |(tag, servers): (&str, Vec<LinkedServer>)| LinkedService {
        tag: tag.into(),
        listen: Listen::Any,
        port: Some(1),
        hash_key: HashKey(vec![KeyPart::Header("x-key".into())]),
        health: None,
        servers,
    };
    let linked: Vec<_> = all.into_iter().map(one).collect();
    HttpServices::new(&linked, &Crypto::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The name of the server that a key goes to.
fn chosen(services: &HttpServices, key: &str) -> Option<String> {
    let request = Request::get("/").header("x-key", key).body(());
    let (parts, ()) = request.unwrap_or_else(|error| panic!("{error}")).into_parts();
    let here = SocketAddr::from(([127, 0, 0, 1], 1));
    let place = services.choose(0, Asked { parts: &parts, source: here, local: here }, &mut Vec::new())?;
    Some(services.all[place.service].servers[place.server].name.to_string())
}

fn turn(services: &HttpServices, service: usize, server: usize, up: bool) {
    services.turn(Place { service, server }, up, None);
}

const A: &str = "http://backend1:8080";
const B: &str = "http://backend2:8080";
const C: &str = "http://backend3:8080";

#[test]
fn keys_follow_the_weights_and_only_those_of_a_dead_server_move() {
    let web = services(vec![("web", vec![url(A, 2), url(B, 1), url(C, 3)])]);
    let keys: Vec<String> = (0..6000).map(|n| format!("user{n}")).collect();
    let all = |web: &HttpServices| keys.iter().map(|key| chosen(web, key)).collect::<Vec<_>>();
    let before = all(&web);
    let share = |name: &str| before.iter().filter(|found| found.as_deref() == Some(name)).count() as f64;
    let chi: f64 =
        [(A, 2000.0), (B, 1000.0), (C, 3000.0)].map(|(n, want)| (share(n) - want).powi(2) / want).iter().sum();
    assert!(chi < 13.8, "chi-square of 2 degrees at 0.001: {chi}");

    turn(&web, 0, 2, false);
    for (before, after) in before.iter().zip(all(&web)) {
        let stays = before.as_deref() != Some(C);
        assert!(after.as_deref() != Some(C) && (!stays || *before == after));
    }
    turn(&web, 0, 2, true);
    assert_eq!(before, all(&web), "all come back");
}

#[test]
fn the_order_of_the_list_and_the_process_play_no_part() {
    let one = services(vec![("web", vec![url(A, 2), url(B, 1), url(C, 3)])]);
    let two = services(vec![("web", vec![url(C, 3), url(A, 2), url(B, 1)])]);
    for key in (0..500).map(|n| n.to_string()) {
        assert_eq!(chosen(&one, &key), chosen(&two, &key));
    }
    // Neither the machine nor the version does.
    for key in ["10.0.0.5", "10.0.0.6", "example.com", ""] {
        assert_eq!(chosen(&one, key), by_formula(key), "{key}");
    }
}

/// What the formula says, written down once more.
fn by_formula(key: &str) -> Option<String> {
    let score = |name: &str, weight: f64| {
        let bytes = [key.as_bytes(), &[0xff], name.as_bytes()].concat();
        let mut x =
            bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3));
        x ^= x >> 33;
        x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
        x ^= x >> 33;
        x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        x ^= x >> 33;
        weight / -(((x >> 11) as f64 + 0.5) / 2f64.powi(53)).ln()
    };
    let scores = [(A, 2.0), (B, 1.0), (C, 3.0)].map(|(name, weight)| (score(name, weight), name));
    scores.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name.to_owned())
}

#[test]
fn a_fenced_server_takes_nothing_and_nobody_is_an_answer_too() {
    let fenced = LinkedServer { fenced: true, ..url(A, 1000) };
    let web = services(vec![("web", vec![fenced.clone(), url(B, 1)])]);
    assert!((0..100).all(|n| chosen(&web, &n.to_string()).as_deref() == Some(B)));
    turn(&web, 0, 1, false);
    assert_eq!(chosen(&web, "x"), None);
    assert_eq!(chosen(&services(vec![("web", vec![fenced])]), "x"), None);
    assert_eq!(chosen(&services(vec![("web", vec![])]), "x"), None);
}

#[test]
fn a_service_in_a_service_tells_when_its_last_server_goes() {
    let web = services(vec![
        ("outer", vec![inner(1), url(C, 1)]),
        ("middle", vec![inner(2)]),
        ("inner", vec![url(A, 1), url(B, 1)]),
    ]);
    let up = |service: usize, server: usize| web.all[service].servers[server].up.load(Ordering::Relaxed);
    let inside: Vec<String> =
        (0..100).map(|n| n.to_string()).filter(|k| chosen(&web, k).as_deref() != Some(C)).collect();
    assert!(!inside.is_empty() && inside.len() < 100);
    turn(&web, 2, 0, false);
    assert!(up(1, 0) && up(0, 0), "one is left");
    assert!(inside.iter().all(|key| chosen(&web, key).as_deref() == Some(B)));
    turn(&web, 2, 1, false);
    assert!(!up(1, 0) && !up(0, 0), "told all the way up");
    assert!(inside.iter().all(|key| chosen(&web, key).as_deref() == Some(C)));
    turn(&web, 2, 0, true);
    assert!(up(1, 0) && up(0, 0));
    assert!(inside.iter().all(|key| chosen(&web, key).as_deref() == Some(A)));
}

#[test]
fn a_service_that_can_take_nothing_is_no_server_from_the_start() {
    let fenced = LinkedServer { fenced: true, ..url(A, 1) };
    let web = services(vec![("outer", vec![inner(1), url(C, 1)]), ("inner", vec![fenced])]);
    assert!((0..50).all(|n| chosen(&web, &n.to_string()).as_deref() == Some(C)));
}

#[test]
fn what_was_tried_inside_a_service_is_tried_for_those_around_it() {
    let web = services(vec![("outer", vec![inner(1), url(C, 1)]), ("inner", vec![url(A, 1)])]);
    let (parts, ()) = Request::new(()).into_parts();
    let here = SocketAddr::from(([127, 0, 0, 1], 1));
    let asked = Asked { parts: &parts, source: here, local: here };
    let mut tried = vec![Place { service: 1, server: 0 }];
    assert_eq!(web.choose(0, asked, &mut tried), Some(Place { service: 0, server: 1 }));
    tried.push(Place { service: 0, server: 1 });
    assert_eq!(web.choose(0, asked, &mut tried), None);
}

#[test]
fn what_is_known_outlives_a_reload() {
    let earlier = services(vec![
        ("outer", vec![inner(1), url(C, 1)]),
        ("inner", vec![url(A, 1)]),
        ("other", vec![url(B, 1), LinkedServer { fenced: true, ..url(A, 1) }]),
    ]);
    turn(&earlier, 1, 0, false);
    earlier.fence(Place { service: 2, server: 0 }, true);
    // Another place in the list, a server more, and a fence that is no longer written.
    let later = services(vec![
        ("other", vec![url(A, 1), url(B, 1)]),
        ("outer", vec![url(C, 1), inner(2)]),
        ("inner", vec![url(A, 1)]),
        ("new", vec![url(A, 1)]),
    ]);
    later.inherit(&earlier);
    let open = |service: usize, server: usize| later.all[service].servers[server].open();
    assert!(open(0, 0), "the file says that it is not fenced");
    assert!(!open(0, 1), "a person said that it is");
    assert!(open(1, 0) && !open(1, 1) && !open(2, 0), "down is down, all the way up");
    assert!(open(3, 0), "another service of the same server knows nothing of it");
    turn(&later, 2, 0, true);
    assert!(open(1, 1));
}
