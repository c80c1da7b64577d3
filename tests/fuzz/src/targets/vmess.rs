//! VMess.

use etemenanki::proto::vmess::{
    Account, Command, Header, Knock, Knocked, Opener, Options, Request, Sealer, Security, Users, seal_request,
};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::feed;
use super::plan::{Plan, seal, target};

const NOW: u64 = 1_700_000_000;

fn users() -> Users<()> {
    Users::new([(Account::new(&[1; 16]), ()), (Account::new(&[2; 16]), ())])
}

/// Whose connection it is, and what comes behind the id.
fn knock(input: &[u8], users: &Users<()>) -> Option<(Knocked<()>, Vec<u8>)> {
    let mut who = None;
    let shaken = feed::shake(
        input,
        || Knock::new(users, NOW),
        |knocked: Knocked<()>| {
            who = Some(knocked);
            String::new()
        },
    );
    who.zip(shaken?.ok().map(|(_, rest)| rest))
}

/// A stream with its header. The first byte says how the body is cut, the second how it is sealed.
pub fn stream(data: &[u8]) {
    let Some((&[cut, sealed], rest)) = data.split_first_chunk::<2>() else { return };
    let Some(plan) = Plan::of(rest) else { return };
    let security = Security::of_wire(3 + sealed % 3).expect("one of three");
    let options = Options(cut & 0x1c).with(Options::CHUNKS);
    let mut rng = StdRng::seed_from_u64(7);
    let request = Request::new(Command::Tcp(target()), options, security, &mut rng);
    let head = seal_request(&Account::new(&[2; 16]), &request, NOW, &mut rng);
    let mut wire = seal(Sealer::client(&request, head, true, rng), plan.payload);
    plan.bend(&mut wire);
    let users = users();
    let read = knock(&wire, &users).and_then(|(knocked, rest)| {
        let mut asked = None;
        let shaken = feed::shake(
            &rest,
            || Header::new(&knocked),
            |request| {
                let words = format!("{:?} {:?} {:?}", request.command, request.options, request.security);
                asked = Some(request);
                words
            },
        );
        let (request, (_, body)) = asked.zip(shaken?.ok())?;
        Some(feed::open(&body, || Opener::server(&request)).0)
    });
    // Nothing guards a body that is not sealed.
    if security != Security::None || plan.by == 0 {
        plan.judge(read.as_deref());
    }
}

/// What strangers send, to a server and to a client.
pub fn strangers(data: &[u8]) {
    let users = users();
    assert!(knock(data, &users).is_none(), "a stranger who came in");
    let mut rng = StdRng::seed_from_u64(7);
    let options = Options::CHUNKS.with(Options::MASKED).with(Options::PADDED);
    let request = Request::new(Command::Tcp(target()), options, Security::None, &mut rng);
    feed::open(data, || Opener::client(&request));
    feed::open(data, || Opener::server(&request));
}
