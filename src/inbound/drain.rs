//! How a visitor that is not let in is sent away, so that it learns nothing of what was read, and when it was judged.

use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout_at};

use crate::flow::{BoxStream, Half};

/// How much is read from a stranger before its connection ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drain {
    base: usize,
    /// One more than the most that is added at random.
    spread: usize,
}

/// As Xray draws them: a part that the server's keys fix, and one that is drawn for each stranger.
const BASE: u64 = 3266;
const SPREAD: u64 = 64;

impl Drain {
    /// Of a server whose keys give this seed and whose handshake has at least `least` bytes.
    pub(super) fn new(seed: u64, least: usize) -> Self {
        let part = |number: u64| usize::try_from(number).unwrap_or(0);
        Self { base: least + part(seed % BASE), spread: part((seed >> 32) % SPREAD) + 1 }
    }

    /// Reads on for a while; `had` bytes were read already. The connection is to be dropped behind it.
    pub(super) async fn run(self, io: &mut BoxStream, had: usize, until: Instant) {
        let amount = self.base + rand::random_range(0..self.spread);
        let Some(mut left) = amount.checked_sub(had) else {
            // Had so much not been read yet, the kernel would reset the connection.
            return reset(io);
        };
        let drained = async {
            let mut scrap = [0; 1024];
            while left > 0 {
                let len = scrap.len().min(left);
                match io.read(&mut scrap[..len]).await {
                    Ok(read) if read > 0 => left -= read,
                    _ => return,
                }
            }
        };
        let _ = timeout_at(until, drained).await;
    }
}

/// Makes the end of a connection a reset, whatever was read and whatever was not.
pub(super) fn reset(io: &BoxStream) {
    if let Some(socket) = io.raw(Half::Read) {
        let _ = socket.set_zero_linger();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn as_much_is_read_as_the_seed_says_or_as_long_as_time_is() {
        let drawn = Drain::new(100, 54);
        assert_eq!((drawn.base, drawn.spread), (154, 1));
        let drain = Drain { spread: 6, ..drawn };
        let (mut far, near) = duplex(4096);
        let mut near: BoxStream = Box::new(near);
        far.write_all(&[0; 1000]).await.unwrap();
        drain.run(&mut near, 50, Instant::now() + Duration::from_secs(5)).await;
        let mut rest = vec![0; 4096];
        let left = near.read(&mut rest).await.unwrap();
        assert!((1000 - 109..=1000 - 104).contains(&left), "{left}");
        let began = Instant::now();
        drain.run(&mut near, 50, began + Duration::from_secs(5)).await;
        assert_eq!(began.elapsed().as_secs(), 5);
        drain.run(&mut near, 5000, Instant::now() + Duration::from_secs(5)).await;
        assert_eq!(began.elapsed().as_secs(), 5);
    }
}
