//! Files of geodata.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use etemenanki::geo::{GeoIp, GeoSite, Scan, holds, networks, sites, write_networks, write_sites};

/// An entry as far as it can be read: its name, and its members in words.
type Entry = (String, Vec<String>);

/// Reads a file in one piece and byte by byte, which come to the same; what it says, once written, says the same again.
pub fn file(data: &[u8]) {
    let whole = read(Cursor::new(data), data.len());
    assert_eq!(whole, read(Trickle(Cursor::new(data)), data.len()));

    let (mut names, mut nets) = (vec![], vec![]);
    let Ok(mut scan) = Scan::new(Cursor::new(data)) else { return };
    while let Ok(Some(code)) = scan.next_entry() {
        let Ok((body, base)) = scan.body() else { return };
        let read = |site: etemenanki::geo::Site<'_>| {
            let attributes = site.attributes().map(str::to_owned).collect();
            Some((site.kind, site.value?.to_owned(), attributes))
        };
        names.push(GeoSite { code: code.name.clone(), names: sites(body, base).flatten().filter_map(read).collect() });
        nets.push(GeoIp { code: code.name, nets: networks(body, base).flatten().flatten().collect() });
    }
    let file = write_sites(&names);
    let mut scan = Scan::new(Cursor::new(&file)).expect("bytes in memory");
    for list in &names {
        assert_eq!(scan.next_entry().expect("what was written").expect("an entry").name, list.code);
        let (body, base) = scan.body().expect("what was written");
        let found = sites(body, base).map(|site| site.expect("a message"));
        let found: Vec<_> = found.map(|site| (site.kind, site.value.expect("a text").to_owned())).collect();
        assert!(found.iter().zip(&list.names).all(|(one, other)| (one.0, &one.1) == (other.0, &other.1)));
        assert_eq!(found.len(), list.names.len());
    }
    let file = write_networks(&nets);
    let mut scan = Scan::new(Cursor::new(&file)).expect("bytes in memory");
    for list in &nets {
        assert_eq!(scan.next_entry().expect("what was written").expect("an entry").name, list.code);
        let (body, base) = scan.body().expect("what was written");
        let found: Vec<_> = networks(body, base).map(|net| net.expect("a message").expect("a network")).collect();
        assert_eq!(found, list.nets);
    }
}

/// All entries, up to the first fault.
fn read(file: impl Read + Seek, len: usize) -> Vec<Result<Entry, String>> {
    let mut all = vec![];
    let mut bytes = 0;
    let mut scan = match Scan::new(file) {
        Ok(scan) => scan,
        Err(error) => return vec![Err(error.to_string())],
    };
    loop {
        let code = match scan.next_entry() {
            Ok(Some(code)) => code,
            Ok(None) => return all,
            Err(error) => {
                all.push(Err(error.to_string()));
                return all;
            }
        };
        match scan.body() {
            Ok((body, base)) => {
                assert_eq!(body.len() as u64, code.size);
                bytes += body.len();
                assert!(bytes <= len, "entries hold more than the file");
                let mut members: Vec<String> = sites(body, base).map(|site| format!("{site:?}")).collect();
                members.extend(networks(body, base).map(|net| format!("{net:?}")));
                members.extend(holds(body, base).err().map(|error| error.to_string()));
                all.push(Ok((code.name, members)));
            }
            Err(error) => {
                all.push(Err(error.to_string()));
                return all;
            }
        }
    }
}

/// Gives a byte at a time.
struct Trickle<R>(R);

impl<R: Read> Read for Trickle<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(1);
        self.0.read(&mut buffer[..len])
    }
}

impl<R: Seek> Seek for Trickle<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}
