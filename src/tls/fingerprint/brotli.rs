//! Compressed certificates (RFC 8879), which servers send to whoever looks like a browser.

use std::io::Read as _;

use brotli_decompressor::Decompressor;
use rustls::CertificateCompressionAlgorithm;
use rustls::compress::{CertDecompressor, DecompressionFailed};

/// Brotli. The other algorithms that browsers offer are rarely taken.
#[derive(Debug)]
pub(super) struct Brotli;

/// Bytes that are read at once.
const PIECE: usize = 4096;

impl CertDecompressor for Brotli {
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed> {
        let mut plain = Decompressor::new(input, PIECE);
        plain.read_exact(output).map_err(|_| DecompressionFailed)?;
        match plain.read(&mut [0]) {
            Ok(0) => Ok(()),
            _ => Err(DecompressionFailed),
        }
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Brotli
    }
}

#[cfg(test)]
pub(super) mod tests {
    use rustls::compress::{CertCompressor, CompressionFailed, CompressionLevel};

    use super::*;

    /// Brotli that stores (RFC 7932 9.2): a window of 64 KiB, one block as it is, an empty last one.
    #[derive(Debug)]
    pub struct Stored;

    impl CertCompressor for Stored {
        fn compress(&self, input: Vec<u8>, _: CompressionLevel) -> Result<Vec<u8>, CompressionFailed> {
            let len = u32::try_from(input.len() - 1).map_err(|_| CompressionFailed)?;
            let head = (len << 4 | 1 << 20).to_le_bytes();
            Ok([&head[..3], &input, &[3]].concat())
        }

        fn algorithm(&self) -> CertificateCompressionAlgorithm {
            CertificateCompressionAlgorithm::Brotli
        }
    }

    #[test]
    fn neither_more_nor_less_than_was_announced() {
        let stored = Stored.compress(b"hello".to_vec(), CompressionLevel::Interactive);
        let stored = stored.unwrap_or_default();
        let mut out = [0; 5];
        assert!(Brotli.decompress(&stored, &mut out).is_ok() && &out == b"hello");
        assert!(Brotli.decompress(&stored, &mut [0; 4]).is_err() && Brotli.decompress(&stored, &mut [0; 6]).is_err());
        assert!(Brotli.decompress(b"not brotli", &mut out).is_err() && Brotli.decompress(&[], &mut out).is_err());
    }
}
