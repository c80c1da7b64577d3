//! New files beside the old ones, until all are there.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::geo::{Assets, Scan, holds, networks, sites};
use crate::model::geodata::AssetFile;
use crate::model::lists::Holds;

/// A new file that lies beside the place of the old one. It goes away unless it is put in place.
#[derive(Debug)]
pub struct Staged {
    name: String,
    place: PathBuf,
    new: PathBuf,
    out: Option<File>,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is there, or in place of another.
    New,
    /// It was the same already, and was left alone.
    Same,
}

impl Staged {
    /// Begins a file: beside the one that is found now, or in the first of the directories.
    ///
    /// # Errors
    /// What the system says of that directory.
    pub fn begin(assets: &Assets, file: &AssetFile) -> io::Result<Self> {
        let nowhere = || io::Error::new(io::ErrorKind::NotFound, "there is no asset directory");
        let place = match assets.path(&file.0) {
            // Behind a link is the file itself; the link stays.
            Ok(path) => fs::canonicalize(path)?,
            Err(_) => assets.dirs().first().ok_or_else(nowhere)?.join(&file.0),
        };
        if let Some(dir) = place.parent() {
            fs::create_dir_all(dir)?;
        }
        let new = beside(&place, "new");
        let out = File::options().write(true).create_new(true).open(&new)?;
        Ok(Self { name: file.0.clone(), place, new, out: Some(out) })
    }

    /// Writes more of it.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.as_mut().ok_or(io::ErrorKind::NotConnected)?.write_all(bytes)
    }

    /// Ends it, and looks whether it is a file of lists from the first byte to the last. Returns how many lists it has.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn end(&mut self) -> io::Result<usize> {
        if let Some(out) = self.out.take() {
            out.sync_all()?;
            if let Ok(old) = fs::metadata(&self.place) {
                out.set_permissions(old.permissions())?;
            }
        }
        let bad = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let mut scan = Scan::new(File::open(&self.new)?)?;
        let mut lists = 0;
        while scan.next_entry()?.is_some() {
            let (body, base) = scan.body()?;
            match holds(body, base).map_err(bad)? {
                Some(Holds::Networks) => networks(body, base).try_for_each(|net| net.map(drop)),
                Some(Holds::Names) => sites(body, base).try_for_each(|site| site.map(drop)),
                None => Ok(()),
            }
            .map_err(bad)?;
            lists += 1;
        }
        if lists == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "there is no list in it"));
        }
        Ok(lists)
    }

    /// Its name and where it lies now, to be looked at before it counts.
    #[must_use]
    pub fn trial(&self) -> (String, PathBuf) {
        (self.name.clone(), self.new.clone())
    }

    /// Puts all of them in place. Where one cannot be, those before it are taken back.
    ///
    /// # Errors
    /// What the system says of the file that could not be put in place.
    pub fn put(all: Vec<Self>) -> io::Result<Vec<(PathBuf, Outcome)>> {
        let mut done: Vec<Put> = vec![];
        let sames = all.iter().map(|one| same(&one.new, &one.place)).collect::<io::Result<Vec<bool>>>()?;
        for (staged, _) in all.iter().zip(&sames).filter(|(_, same)| !**same) {
            match Put::one(staged) {
                Ok(put) => done.push(put),
                Err(error) => {
                    done.into_iter().rev().for_each(Put::back);
                    return Err(error);
                }
            }
        }
        done.into_iter().for_each(Put::keep);
        let outcome = |same: bool| if same { Outcome::Same } else { Outcome::New };
        Ok(all.iter().zip(sames).map(|(one, same)| (one.place.clone(), outcome(same))).collect())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // What was put in place is not there any more.
        let _ = fs::remove_file(&self.new);
    }
}

/// A file that was put in place, with the one before it.
struct Put {
    place: PathBuf,
    before: Option<PathBuf>,
}

impl Put {
    fn one(staged: &Staged) -> io::Result<Self> {
        let kept = beside(&staged.place, "old");
        // The old file stays where it is until the new one takes its place.
        let before = match fs::hard_link(&staged.place, &kept) {
            Ok(()) => Some(kept),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => fs::copy(&staged.place, &kept).map(|_| Some(kept))?,
        };
        let put = Self { place: staged.place.clone(), before };
        match fs::rename(&staged.new, &staged.place) {
            Ok(()) => Ok(put),
            Err(error) => {
                put.keep();
                Err(error)
            }
        }
    }

    fn back(self) {
        let back = match &self.before {
            Some(before) => fs::rename(before, &self.place),
            None => fs::remove_file(&self.place),
        };
        if let Err(error) = back {
            tracing::error!(target: "core", "{}: the file before it could not be put back: {error}", self.place.display());
        }
    }

    fn keep(self) {
        if let Some(before) = self.before {
            let _ = fs::remove_file(before);
        }
    }
}

/// A name beside a file that nobody else has.
fn beside(place: &Path, what: &str) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    place.with_file_name(format!(".{name}.{:016x}.{what}", rand::random::<u64>()))
}

fn same(one: &Path, other: &Path) -> io::Result<bool> {
    let (new, Ok(old)) = (File::open(one)?, File::open(other)) else { return Ok(false) };
    if new.metadata()?.len() != old.metadata()?.len() {
        return Ok(false);
    }
    let (mut new, mut old) = (io::BufReader::new(new), io::BufReader::new(old));
    let (mut ours, mut theirs) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let read = new.read(&mut ours)?;
        if read == 0 {
            return Ok(true);
        }
        old.read_exact(&mut theirs[..read])?;
        if ours[..read] != theirs[..read] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::geo::{GeoIp, write_networks};

    fn lists(code: &str) -> Vec<u8> {
        write_networks(&[GeoIp { code: code.into(), nets: vec!["192.0.2.0/24".parse().unwrap()] }])
    }

    fn staged(assets: &Assets, name: &str, bytes: &[u8]) -> Staged {
        let mut staged = Staged::begin(assets, &AssetFile(name.into())).unwrap();
        staged.write(bytes).unwrap();
        staged
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_put_in_place_whole_and_nothing_is_left_beside_them() {
        let dir = tempfile::tempdir().unwrap();
        let assets = Assets::new([dir.path().to_owned()]);
        fs::write(dir.path().join("b.dat"), lists("OLD")).unwrap();
        fs::write(dir.path().join("c.dat"), lists("SAME")).unwrap();
        let mut all = vec![
            staged(&assets, "a.dat", &lists("A")),
            staged(&assets, "b.dat", &lists("B")),
            staged(&assets, "c.dat", &lists("SAME")),
        ];
        for one in &mut all {
            assert_eq!(one.end().unwrap(), 1);
        }
        let put: Vec<Outcome> = Staged::put(all).unwrap().into_iter().map(|(_, outcome)| outcome).collect();
        assert_eq!(put, [Outcome::New, Outcome::New, Outcome::Same]);
        assert_eq!(names(dir.path()), ["a.dat", "b.dat", "c.dat"]);
        assert_eq!(fs::read(dir.path().join("b.dat")).unwrap(), lists("B"));
    }

    #[test]
    fn where_one_cannot_be_put_the_others_are_as_before() {
        let dir = tempfile::tempdir().unwrap();
        let assets = Assets::new([dir.path().to_owned()]);
        fs::write(dir.path().join("b.dat"), lists("OLD")).unwrap();
        let mut all = vec![
            staged(&assets, "a.dat", &lists("A")),
            staged(&assets, "b.dat", &lists("B")),
            staged(&assets, "c.dat", &lists("C")),
        ];
        for one in &mut all {
            one.end().unwrap();
        }
        // Nobody can put a file where a folder is.
        fs::create_dir_all(dir.path().join("c.dat/full")).unwrap();
        assert!(Staged::put(all).is_err());
        assert_eq!(names(dir.path()), ["b.dat", "c.dat"]);
        assert_eq!(fs::read(dir.path().join("b.dat")).unwrap(), lists("OLD"));
    }

    #[test]
    fn what_is_no_file_of_lists_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let assets = Assets::new([dir.path().to_owned()]);
        let whole = lists("A");
        for bytes in [&b""[..], b"<html>not found</html>", &whole[..whole.len() - 2]] {
            assert!(staged(&assets, "a.dat", bytes).end().is_err(), "{bytes:?}");
        }
        assert!(names(dir.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_one() {
        let (dir, far) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(far.path().join("real.dat"), lists("OLD")).unwrap();
        std::os::unix::fs::symlink(far.path().join("real.dat"), dir.path().join("a.dat")).unwrap();
        let mut one = staged(&Assets::new([dir.path().to_owned()]), "a.dat", &lists("A"));
        one.end().unwrap();
        Staged::put(vec![one]).unwrap();
        assert!(dir.path().join("a.dat").is_symlink());
        assert_eq!(fs::read(far.path().join("real.dat")).unwrap(), lists("A"));
    }
}
