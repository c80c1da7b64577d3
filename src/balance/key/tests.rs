use super::*;

/// A request from 10.0.0.5 to `www.shop.example.co.uk`.
#[derive(Default)]
struct Flow {
    name: Option<&'static str>,
    attributes: Vec<(&'static str, &'static str)>,
}

impl Facts for Flow {
    fn source(&self) -> Option<IpAddr> {
        "::ffff:10.0.0.5".parse().ok()
    }
    fn user(&self) -> Option<&str> {
        Some("a@b")
    }
    fn inbound(&self) -> &str {
        "in"
    }
    fn name(&self) -> Option<&str> {
        self.name
    }
    fn address(&self) -> Option<IpAddr> {
        self.name.is_none().then_some([192, 0, 2, 7].into())
    }
    fn port(&self) -> Option<u16> {
        Some(443)
    }
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
}

fn key(parts: &[&str], flow: &Flow) -> Key {
    let parts: Vec<KeyPart> = parts.iter().map(|part| part.parse().unwrap()).collect();
    Key::of(&parts, flow)
}

#[test]
fn keys_are_the_bytes_that_people_see() {
    let named = Flow { name: Some("www.shop.example.co.uk"), ..Flow::default() };
    let bare = Flow::default();
    let alone = Flow { name: Some("localhost"), ..Flow::default() };
    for (part, flow, want) in [
        ("source_ip", &named, "10.0.0.5"),
        ("$remote_addr", &named, "10.0.0.5"),
        ("user", &named, "a@b"),
        ("inbound_tag", &named, "in"),
        ("dest_host", &named, "www.shop.example.co.uk"),
        ("dest_host", &bare, "192.0.2.7"),
        ("dest_site", &named, "example.co.uk"),
        ("dest_site", &bare, "192.0.2.7"),
        ("dest_site", &alone, "localhost"),
        ("dest_ip", &bare, "192.0.2.7"),
        ("dest_ip", &named, ""),
        ("dest_port", &named, "443"),
        ("$http_x_user_id", &named, ""),
    ] {
        assert_eq!(key(&[part], flow), Key::EMPTY.with(want.as_bytes()), "{part}");
    }
}

#[test]
fn variables_are_read_off_the_request() {
    let request = Flow {
        name: Some("front.example"),
        attributes: vec![
            (":path", "/find"),
            (":query", "q=a&ID=7&empty"),
            ("host", "Shop.Example:8080"),
            ("cookie", "theme=dark; session=s1"),
            ("x-user-id", "u9"),
        ],
    };
    let sniffed = Flow { name: None, attributes: vec![(":path", "/find?id=7"), ("host", "[::1]:80")] };
    for (part, flow, want) in [
        ("$http_x_user_id", &request, "u9"),
        ("$http_X_User_Id", &request, "u9"),
        ("$arg_id", &request, "7"),
        ("$arg_id", &sniffed, "7"),
        ("$arg_empty", &request, ""),
        ("$arg_none", &request, ""),
        ("$cookie_session", &request, "s1"),
        ("$host", &request, "shop.example"),
        ("$host", &sniffed, "[::1]"),
        ("$request_uri", &request, "/find?q=a&ID=7&empty"),
        ("$request_uri", &sniffed, "/find?id=7"),
        ("$uri", &sniffed, "/find"),
        ("$args", &sniffed, "id=7"),
        ("$args", &request, "q=a&ID=7&empty"),
        ("$request_method", &request, ""),
    ] {
        assert_eq!(key(&[part], flow), Key::EMPTY.with(want.as_bytes()), "{part}");
    }
}

#[test]
fn parts_do_not_run_into_each_other() {
    let flow = Flow::default();
    let two = key(&["user", "inbound_tag"], &flow);
    assert_eq!(two, Key::EMPTY.with(b"a@b").next().with(b"in"));
    assert_ne!(two, key(&["inbound_tag", "user"], &flow));
    assert_ne!(key(&["$host", "user"], &flow), key(&["user"], &flow), "a missing part keeps its place");
    assert_eq!(Key::of(&[], &flow), Key::EMPTY);
}

/// The known answers of balancing rule 9.2.
#[test]
fn hashes_are_those_of_the_specification() {
    assert_eq!(Key::EMPTY.with(b"a").0, 0xaf63_dc4c_8601_ec8c);
    assert_eq!(Key::EMPTY.with(b"a").and(b"b"), 0x7afd_4e29_979e_4afe);
    assert_eq!(Key::EMPTY.with(b"10.0.0.5").and(b"srv-a"), 0x9e31_28df_8a86_58c1);
}
