//! rustls' provider, with our values in the places where a script has some.

use std::sync::LazyLock;

use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use rustls::crypto::{ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::{
    CipherSuiteCommon, Error, NamedGroup, ProtocolVersion, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite,
};

use super::script;

/// The provider of every shaped client.
pub fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: SUITES.clone(),
        kx_groups: GROUPS.iter().map(|group| group as &dyn SupportedKxGroup).collect(),
        secure_random: &Random,
        ..aws_lc_rs::default_provider()
    }
}

/// Made once for the process: rustls wants them for as long as it runs.
static SUITES: LazyLock<Vec<SupportedCipherSuite>> =
    LazyLock::new(|| aws_lc_rs::ALL_CIPHER_SUITES.iter().copied().map(with_swaps).collect());

static GROUPS: LazyLock<Vec<Begun>> =
    LazyLock::new(|| aws_lc_rs::default_provider().kx_groups.into_iter().map(Begun).collect());

fn with_swaps(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let common = |common: &CipherSuiteCommon| CipherSuiteCommon {
        suite: common.suite,
        hash_provider: Box::leak(Box::new(Swapping(common.hash_provider))),
        confidentiality_limit: common.confidentiality_limit,
    };
    match suite {
        SupportedCipherSuite::Tls13(suite) => SupportedCipherSuite::Tls13(Box::leak(Box::new(Tls13CipherSuite {
            common: common(&suite.common),
            hkdf_provider: suite.hkdf_provider,
            aead_alg: suite.aead_alg,
            quic: suite.quic,
        }))),
        SupportedCipherSuite::Tls12(suite) => SupportedCipherSuite::Tls12(Box::leak(Box::new(Tls12CipherSuite {
            common: common(&suite.common),
            prf_provider: suite.prf_provider,
            kx: suite.kx,
            sign: suite.sign,
            aead_alg: suite.aead_alg,
        }))),
    }
}

#[derive(Debug)]
struct Random;

impl SecureRandom for Random {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        script::fill(buf)
    }
}

/// A group in which an exchange may have begun already.
#[derive(Debug)]
struct Begun(&'static dyn SupportedKxGroup);

impl SupportedKxGroup for Begun {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        script::begun(self.0.name()).map_or_else(|| self.0.start(), Ok)
    }

    fn name(&self) -> NamedGroup {
        self.0.name()
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        self.0.usable_for_version(version)
    }
}

/// A hash of what really went out.
struct Swapping(&'static dyn Hash);

impl Hash for Swapping {
    fn start(&self) -> Box<dyn Context> {
        Box::new(SwappingContext(self.0.start()))
    }

    fn hash(&self, data: &[u8]) -> Output {
        self.0.hash(data)
    }

    fn output_len(&self) -> usize {
        self.0.output_len()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.0.algorithm()
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

struct SwappingContext(Box<dyn Context>);

impl Context for SwappingContext {
    fn fork_finish(&self) -> Output {
        self.0.fork_finish()
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Self(self.0.fork()))
    }

    fn finish(self: Box<Self>) -> Output {
        self.0.finish()
    }

    fn update(&mut self, data: &[u8]) {
        script::swapped(data, |part| self.0.update(part));
    }
}

/// Keeps no session, so that tickets are asked for as a browser does and none is used; and knows the server's group.
#[derive(Debug)]
pub struct NoSessions;

impl ClientSessionStore for NoSessions {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        script::hint()
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, _: Tls13ClientSessionValue) {}

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        None
    }
}
