//! Fetches files beside the old ones.

use std::io;

use tokio::task::spawn_blocking;

use super::staging::Staged;
use super::wish::Wish;
use crate::engine::{Errand, Failure, NoWay};
use crate::geo::Assets;

/// What happens on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// A file is asked for.
    Asked(&'a Wish),
    /// So many bytes of it are there, of so many if that is known.
    Came(u64, Option<u64>),
    /// It is there whole, with so many lists.
    Whole(&'a Wish, usize),
}

/// Why a file cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// Nothing can be written where it belongs.
    #[error("{file}: {source}")]
    Place {
        /// The file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// It did not come.
    #[error("{file} from {host}: {source}")]
    Fetch {
        /// The file.
        file: String,
        /// Who was asked.
        host: String,
        /// What went wrong.
        source: Failure,
    },
    /// What came is no file of lists.
    #[error("{file} from {host}: this is no file of lists: {source}")]
    NoLists {
        /// The file.
        file: String,
        /// Who was asked.
        host: String,
        /// What is wrong with it.
        source: io::Error,
    },
    /// There is no way to go by.
    #[error(transparent)]
    Way(#[from] NoWay),
    /// It could not be put in place; what was there before is there still.
    #[error("the files stay as they were: {0}")]
    Put(io::Error),
}

/// No list that anybody keeps is nearly as large.
const MOST: u64 = 512 << 20;

/// Fetches all files that are wished for. Nothing counts before [`Staged::put`].
///
/// # Errors
/// [`UpdateError`] of the first that cannot be had; none is left behind then.
pub async fn fetch(
    errand: &Errand,
    assets: &Assets,
    wishes: &[Wish],
    tell: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Vec<Staged>, UpdateError> {
    let mut all = vec![];
    for wish in wishes {
        let (file, host) = (|| wish.file.0.clone(), || wish.host().to_owned());
        let mut staged =
            Staged::begin(assets, &wish.file).map_err(|source| UpdateError::Place { file: file(), source })?;
        tell(Step::Asked(wish));
        let mut got = 0;
        let mut take = |total: Option<u64>, piece: &[u8]| {
            got += piece.len() as u64;
            if got > MOST {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it does not end"));
            }
            tell(Step::Came(got, total));
            staged.write(piece)
        };
        let came = errand.get(&wish.url.0, &mut take).await;
        came.map_err(|source| UpdateError::Fetch { file: file(), host: host(), source })?;
        // All of it is read, which takes a while.
        let looked = spawn_blocking(move || staged.end().map(|lists| (staged, lists)));
        let looked = looked.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        let looked = looked.map_err(|source| UpdateError::NoLists { file: file(), host: host(), source });
        let (staged, lists) = looked?;
        tell(Step::Whole(wish, lists));
        all.push(staged);
    }
    Ok(all)
}
