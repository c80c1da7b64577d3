//! `useSystemHosts`: the system's own names, read whenever a configuration is.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::frontend::Loaded;
use crate::model::config::Config;
use crate::shape::{Kind, Problem, Severity, Spot};

/// Where they are.
pub const SYSTEM_HOSTS: &str = "/etc/hosts";

/// Bytes that are read of them. Lists that block names come to a few megabytes.
const MOST: u64 = 16 << 20;

/// Adds the names of a hosts file, if the configuration wants them. A file that cannot be read is told of, and no reason not
/// to start.
pub fn add_hosts(loaded: &mut Loaded, config: Option<&mut Config>, file: &Path) {
    let told = config.and_then(|config| add(config, file));
    loaded.tell(
        told.map(|text| Problem::at(&Spot::default(), Severity::Warning, Kind::Value, text)).into_iter().collect(),
    );
}

fn add(config: &mut Config, file: &Path) -> Option<String> {
    let dns = config.dns.as_mut().filter(|dns| dns.use_system_hosts)?;
    match read(file) {
        Ok(text) => {
            dns.hosts.add_file(&text);
            None
        }
        Err(error) => Some(format!("useSystemHosts: {}: {error}; its names are left out", file.display())),
    }
}

fn read(file: &Path) -> io::Result<String> {
    let mut bytes = vec![];
    if File::open(file)?.take(MOST + 1).read_to_end(&mut bytes)? as u64 > MOST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large"));
    }
    // A byte that is no text spoils its own line and no other.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::check::link;
    use crate::model::dns::Dns;
    use crate::model::draft::Draft;
    use crate::shape::Dialect;

    #[test]
    fn names_are_added_where_they_are_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hosts");
        std::fs::write(&file, b"10.0.0.1 a.lan\n10.0.0.2 \xff.lan\n10.0.0.3 b.lan\n").unwrap();
        let names = |wanted: bool, file: &Path| {
            let dns = Dns { use_system_hosts: wanted, ..Dns::default() };
            let mut config = link(&Draft { dns: Some(dns), ..Draft::default() }, Dialect::Json).config.unwrap();
            let told = add(&mut config, file);
            let names: Vec<String> = config.dns.unwrap().hosts.0.iter().map(|(rule, _)| rule.to_string()).collect();
            (names.join(" "), told)
        };
        let (added, told) = names(true, &file);
        assert!(added.starts_with("full:a.lan ") && added.ends_with(" full:b.lan") && told.is_none(), "{added}");
        assert_eq!(names(false, &file), (String::new(), None));
        let (added, told) = names(true, &folder.path().join("none"));
        assert!(added.is_empty() && told.unwrap().ends_with("its names are left out"));
        assert!(names(true, Path::new("/dev/zero")).1.unwrap().contains("too large"));
    }
}
