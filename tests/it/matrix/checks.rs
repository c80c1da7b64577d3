//! What every cell has to carry, through the doors of its client.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::PATIENCE;

use super::link::Cell;
use super::socks::{Association, Failure, connect, within};
use super::targets::{BYTES, DOWNLOAD, ECHO, ELSEWHERE, HALF, SILENT, TOKEN, Targets, Token, UPLOAD, hash};

/// Small flows at the same time.
const FLOWS: usize = 200;
/// Bytes in each.
const SMALL: usize = 700;

pub async fn download(door: u16, targets: &Targets) -> Result<(), Failure> {
    let mut stream = connect(door, targets.streams).await?;
    let all = within(PATIENCE, "a download", async {
        stream.write_all(&[DOWNLOAD]).await?;
        let mut all = Vec::with_capacity(BYTES.len());
        stream.read_to_end(&mut all).await?;
        Ok(all)
    })
    .await?;
    if hash(&all) == hash(&BYTES) { Ok(()) } else { Err(format!("a download of {} other bytes", all.len())) }
}

pub async fn upload(door: u16, targets: &Targets) -> Result<(), Failure> {
    let mut stream = connect(door, targets.streams).await?;
    let heard = within(PATIENCE, "an upload", async {
        stream.write_all(&[UPLOAD]).await?;
        stream.write_all(&BYTES).await?;
        let mut heard = [0; 32];
        stream.read_exact(&mut heard).await?;
        Ok(heard)
    })
    .await?;
    if heard == hash(&BYTES) { Ok(()) } else { Err("an upload arrives as other bytes".into()) }
}

/// Many flows at once, each with bytes of its own.
pub async fn many(door: u16, targets: &Targets) -> Result<(), Failure> {
    let mut flows = JoinSet::new();
    for n in 0..FLOWS {
        let target = targets.streams;
        flows.spawn(async move {
            let mut stream = connect(door, target).await?;
            let sent = &BYTES[n * SMALL..][..SMALL];
            let back = within(PATIENCE, "a small flow", async {
                stream.write_all(&[ECHO]).await?;
                stream.write_all(sent).await?;
                let mut back = vec![0; SMALL];
                stream.read_exact(&mut back).await?;
                Ok(back)
            });
            if back.await? == sent { Ok(()) } else { Err("a small flow gets bytes of another".to_owned()) }
        });
    }
    let failed: Vec<Failure> = flows.join_all().await.into_iter().filter_map(Result::err).collect();
    match failed.first() {
        None => Ok(()),
        Some(first) => Err(format!("{} of {FLOWS} flows fail: {first}", failed.len())),
    }
}

/// The client ends its half and then hears what the target made of all it said.
pub async fn half_close(door: u16, targets: &Targets) -> Result<(), Failure> {
    let mut stream = connect(door, targets.streams).await?;
    let sent = &BYTES[..100_000];
    let heard = within(PATIENCE, "the answer after a half close", async {
        stream.write_all(&[HALF]).await?;
        stream.write_all(sent).await?;
        stream.shutdown().await?;
        let mut heard = vec![];
        stream.read_to_end(&mut heard).await?;
        Ok(heard)
    })
    .await?;
    if heard == hash(sent) { Ok(()) } else { Err(format!("half close: {} bytes of answer", heard.len())) }
}

/// Datagrams come back whole, from whom they are.
pub async fn datagrams(door: u16, targets: &Targets) -> Result<(), Failure> {
    let association = Association::open(door).await?;
    for size in [64, 1200] {
        let sent = &BYTES[size..][..size];
        let mut sent = sent.to_vec();
        sent[0] = b'e';
        let from = answer(&association, targets.datagrams, &sent).await;
        let from = from.ok_or_else(|| format!("UDP: no answer to {size} bytes"))?;
        if from != targets.datagrams {
            return Err(format!("UDP: the answer of {} is said to be from {from}", targets.datagrams));
        }
    }
    Ok(())
}

/// Somebody who was not asked may answer, under their own name.
pub async fn full_cone(door: u16, targets: &Targets) -> Result<(), Failure> {
    let association = Association::open(door).await?;
    // Other groups have strangers too, and the port of an association that ended may be that of the next one here.
    let mark = targets.stranger.port().to_be_bytes();
    let sent = [&[ELSEWHERE], &mark[..], &BYTES[..97]].concat();
    let from = answer(&association, targets.datagrams, &sent).await;
    let from = from.ok_or("UDP: no answer of somebody else")?;
    if from == targets.stranger {
        Ok(())
    } else {
        Err(format!("UDP: the answer of a stranger at {} is said to be from {from}", targets.stranger))
    }
}

/// Who sent back this datagram. A datagram may be lost, so it is sent again.
async fn answer(association: &Association, to: std::net::SocketAddr, sent: &[u8]) -> Option<std::net::SocketAddr> {
    for _ in 0..4 {
        association.send(to, sent).await.ok()?;
        while let Some((heard, from)) = association.receive(Duration::from_secs(2)).await {
            if heard == sent {
                return Some(from);
            }
        }
    }
    None
}

/// A client with wrong secrets hears nothing, and nothing of it reaches the target.
pub async fn stranger(cell: &Cell, targets: &Targets, ends: bool) -> Result<(), Failure> {
    let token: Token = BYTES[cell.nth * 16..][..16].try_into().expect("16 bytes");
    // A client that learns of it at once refuses the flow; others let it begin.
    let Ok(mut stream) = connect(cell.wrong, targets.streams).await else {
        return Ok(());
    };
    let talk = async {
        stream.write_all(&[TOKEN]).await?;
        stream.write_all(&token).await?;
        let mut heard = vec![];
        stream.read_to_end(&mut heard).await?;
        Ok::<_, std::io::Error>(heard)
    };
    let limit = if ends { PATIENCE } else { Duration::from_secs(2) };
    let heard = timeout(limit, talk).await;
    match heard {
        Err(_) if ends => return Err("wrong secrets: the flow does not end".into()),
        Ok(Ok(heard)) if !heard.is_empty() => return Err(format!("wrong secrets: {} bytes come back", heard.len())),
        // A server that does not want to be known keeps silent.
        _ => {}
    }
    if targets.knows(&token) { Err("wrong secrets: the target was reached".into()) } else { Ok(()) }
}

/// A flow that stays open and silent.
pub async fn silent(door: u16, targets: &Targets) -> Result<TcpStream, Failure> {
    let mut stream = connect(door, targets.streams).await?;
    within(PATIENCE, "a silent flow", async {
        stream.write_all(&[SILENT]).await?;
        stream.read_u8().await
    })
    .await?;
    Ok(stream)
}

/// A flow ends, however it does.
pub async fn ends(mut stream: TcpStream) -> Result<(), Failure> {
    let mut heard = vec![];
    match timeout(PATIENCE, stream.read_to_end(&mut heard)).await {
        Ok(_) => Ok(()),
        Err(_) => Err("the flow stays open when the server is killed".into()),
    }
}
