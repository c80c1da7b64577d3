//! Our client against our server, which borrows the face of a server of rustls'.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use aws_lc_rs::agreement::{PrivateKey, X25519};
use aws_lc_rs::signature::{KeyPair, ML_DSA_65_SIGNING, PqdsaKeyPair};
use rustls::RootCertStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::super::{RealityServer, RealityServerOptions};
use super::*;
use crate::addr::DomainName;
use crate::model::keys::KeyIfAny;
use crate::model::protocol::DestText;
use crate::model::reality::{RealityServer as Written, ShortId};
use crate::tls::material::certificates;
use crate::tls::options::{Common, Pem, ServerOptions};
use crate::tls::server::Server;
use crate::tls::testing::Authority;

const SITE: &str = "site.example";

/// A server and the site it borrows from; what the model writes by itself is its key and its only short id.
struct Place {
    server: RealityServer,
    crypto: Crypto,
}

impl Place {
    async fn new(signed_twice: bool) -> Self {
        let authority = Authority::new();
        let certificates_of = certificates(&authority.root()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates_of);
        let crypto = Crypto::trusting(roots);
        let common = Common { alpn: vec!["h2".into()], ..Common::default() };
        let (Pem::Inline(chain), key) = authority.issue(SITE) else { unreachable!("issued inline") };
        let Pem::Inline(root) = authority.root() else { unreachable!("issued inline") };
        // A server cannot say more than its site does, and a second signature is long.
        let chain = Pem::Inline(chain + &root.repeat(if signed_twice { 12 } else { 0 }));
        let options = ServerOptions { common, certificates: vec![(chain, key)], ..ServerOptions::default() };
        let site = Server::new(&crypto, &options).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((io, _)) = listener.accept().await {
                let site = site.clone();
                tokio::spawn(async move { site.accept(io).await.unwrap().read_to_end(&mut Vec::new()).await });
            }
        });
        let written = Written {
            target: DestText(at.to_string()),
            server_names: vec![SITE.into()],
            short_ids: vec![ShortId::default()],
            mldsa65_seed: KeyIfAny(signed_twice.then(Default::default)),
            ..Written::default()
        };
        let server = RealityServer::new(&crypto, &RealityServerOptions::of(&written).unwrap()).unwrap();
        Self { server, crypto }
    }

    /// Lets a client say a word to the server, which says it back.
    async fn meet(&self, options: &RealityClientOptions) -> io::Result<()> {
        let client = RealityClient::new(&self.crypto, options).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let far = listener.accept().await.unwrap().0;
        let server = self.server.clone();
        tokio::spawn(async move {
            let (mut stream, _) = server.accept(far, Duration::from_secs(20)).await.unwrap();
            let mut word = [0; 4];
            stream.read_exact(&mut word).await.unwrap();
            stream.write_all(&word).await.unwrap();
            stream.flush().await.unwrap();
        });
        let host = Host::Domain(DomainName::new(SITE).unwrap());
        let mut stream = client.connect(near, &host).await?;
        stream.write_all(b"ping").await?;
        stream.flush().await?;
        let mut word = [0; 4];
        stream.read_exact(&mut word).await?;
        assert_eq!((&word, stream.is_tls13()), (b"ping", true));
        Ok(())
    }
}

fn options() -> RealityClientOptions {
    let key = PrivateKey::from_private_key(&X25519, &[0; 32]).unwrap();
    RealityClientOptions {
        server_name: None,
        public_key: key.compute_public_key().unwrap().as_ref().try_into().unwrap(),
        short_id: [0; 8],
        mldsa65: None,
        browser: Browser::Chrome,
        alpn: vec!["h2".into(), "http/1.1".into()],
        can_end: true,
        key_log: None,
    }
}

#[tokio::test]
async fn the_server_is_known_by_its_proof_whatever_the_shape() {
    let place = Place::new(false).await;
    for browser in [Browser::Chrome, Browser::Firefox, Browser::Safari, Browser::Randomized { alpn: false }] {
        place.meet(&RealityClientOptions { browser, ..options() }).await.unwrap();
        place.meet(&RealityClientOptions { browser, can_end: false, ..options() }).await.unwrap();
    }
}

#[tokio::test]
async fn the_site_in_its_place_is_left_at_once() {
    let place = Place::new(false).await;
    let strangers = [
        RealityClientOptions { short_id: [7; 8], ..options() },
        RealityClientOptions { public_key: [9; 32], ..options() },
    ];
    for stranger in strangers {
        let told = place.meet(&stranger).await.unwrap_err().to_string();
        assert!(told.contains("wrong publicKey, shortId or serverName"), "{told}");
    }
    // And whoever shows a certificate that nobody has signed is not even the site.
    let place = Place { crypto: Place::new(false).await.crypto, ..place };
    let told = place.meet(&RealityClientOptions { short_id: [7; 8], ..options() }).await.unwrap_err();
    assert!(told.to_string().contains("certificate"), "{told}");
}

#[tokio::test]
async fn a_second_signature_is_asked_for_where_there_is_a_key_for_it() {
    let pair = |seed: u8| PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, &[seed; 32]).unwrap();
    let asking = |seed| RealityClientOptions { mldsa65: Some(pair(seed).public_key().as_ref().to_vec()), ..options() };
    let place = Place::new(true).await;
    place.meet(&options()).await.unwrap();
    place.meet(&asking(0)).await.unwrap();
    assert!(place.meet(&asking(1)).await.is_err());
    assert!(Place::new(false).await.meet(&asking(0)).await.is_err());
}

#[tokio::test]
async fn a_key_of_no_order_is_named() {
    let place = Place::new(false).await;
    let told = place.meet(&RealityClientOptions { public_key: [0; 32], ..options() }).await.unwrap_err();
    assert!(told.to_string().contains("publicKey"));
}
