//! The end of a stream whose bytes mean nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Reads over whatever is said and is ready when that ends. SOCKS ties a UDP association to such a connection;
/// [`io::ErrorKind::UnexpectedEof`] is the ordinary end, as in [`Packets`](crate::flow::Packets).
pub fn poll_end<S: AsyncRead + Unpin>(io: &mut S, cx: &mut Context<'_>) -> Poll<io::Error> {
    let mut scrap = [0; 256];
    loop {
        let mut read = ReadBuf::new(&mut scrap);
        match ready!(Pin::new(&mut *io).poll_read(cx, &mut read)) {
            Ok(()) if read.filled().is_empty() => return Poll::Ready(io::ErrorKind::UnexpectedEof.into()),
            Ok(()) => {}
            Err(error) => return Poll::Ready(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn words_are_read_over_and_the_end_is_told() {
        let (mut near, mut far) = duplex(1024);
        far.write_all(&[7; 1000]).await.unwrap();
        assert!(poll_fn(|cx| Poll::Ready(poll_end(&mut near, cx))).await.is_pending());
        drop(far);
        let end = poll_fn(|cx| poll_end(&mut near, cx)).await;
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }
}
