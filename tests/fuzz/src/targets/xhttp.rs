//! XHTTP's heads of requests.

use etemenanki::model::carrier::{PaddingMethod, Placement, Xhttp};
use etemenanki::transport::xhttp::Plan;
use http::request::Parts;
use http::{HeaderMap, Request};

const PLACES: [Placement; 6] = [
    Placement::Usual,
    Placement::Path,
    Placement::QueryInHeader,
    Placement::Cookie,
    Placement::Query,
    Placement::Header,
];

/// The first three bytes say how heads are made; the rest is one, with its target in the first line and fields in the
/// others, and the words of another that a client of ours makes.
pub fn heads(data: &[u8]) {
    let Some((&[session, number, padding], rest)) = data.split_first_chunk::<3>() else { return };
    let place = |byte: u8| PLACES[usize::from(byte) % PLACES.len()];
    let settings = Xhttp {
        path: if padding & 0x80 == 0 { "/a/b".to_owned() } else { "/a/?b=c".to_owned() },
        session_id_placement: place(session),
        seq_placement: place(number),
        x_padding_placement: place(padding),
        x_padding_obfs_mode: session & 0x80 != 0,
        x_padding_method: if number & 0x80 == 0 { PaddingMethod::RepeatX } else { PaddingMethod::Tokenish },
        ..Xhttp::default()
    };
    let plan = Plan::new(&settings).expect("settings that fit");
    if let Some(head) = strange(rest) {
        let _ = plan.read(&head);
    }
    let word: String =
        rest.iter().filter(|byte| byte.is_ascii_alphanumeric()).take(64).map(|&byte| char::from(byte)).collect();
    if word.is_empty() {
        return;
    }
    // A number stands behind a session or nowhere.
    for (session, number) in [(None, None), (Some(&word[..]), None), (Some(&word[..]), Some("17"))] {
        let mut headers = HeaderMap::new();
        let target = plan.write("https://a.example", session, number, &mut headers);
        let (mut head, ()) = Request::builder().uri(target).body(()).expect("a request").into_parts();
        head.headers = headers;
        let asked = plan.read(&head).expect("its padding is right");
        assert_eq!((asked.session, asked.number), (session, number));
    }
}

/// A request of anybody, as far as HTTP lets it through.
fn strange(text: &[u8]) -> Option<Parts> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let mut request = Request::builder().uri(lines.next()?);
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':')?;
        request = request.header(&line[..colon], &line[colon + 1..]);
    }
    request.body(()).ok().map(|request| request.into_parts().0)
}
