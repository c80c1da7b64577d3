//! The system's hosts file (hosts(5)), for `useSystemHosts`.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::addr::DomainName;

use super::dns::{HostAnswer, Hosts};
use super::matcher::DomainRule;

impl Hosts {
    /// Adds the names of a hosts file. One that has addresses already gets those of the file too; a response code stays, and an
    /// alias gives way, as in Xray. Lines that mean nothing are passed over.
    pub fn add_file(&mut self, text: &str) {
        let mut known: HashMap<String, usize> = HashMap::new();
        for (at, (rule, _)) in self.0.iter().enumerate() {
            if let DomainRule::Full(name) = rule {
                known.insert(name.clone(), at);
            }
        }
        for (ip, name) in text.lines().flat_map(entries) {
            let Some(at) = known.get(&name) else {
                known.insert(name.clone(), self.0.len());
                self.0.push((DomainRule::Full(name), HostAnswer::Ips(vec![ip])));
                continue;
            };
            match &mut self.0[*at].1 {
                HostAnswer::Ips(ips) if ips.contains(&ip) => {}
                HostAnswer::Ips(ips) => ips.push(ip),
                alias @ HostAnswer::Alias(_) => *alias = HostAnswer::Ips(vec![ip]),
                HostAnswer::Code(_) => {}
            }
        }
    }
}

/// The names of a line with their address.
fn entries(line: &str) -> impl Iterator<Item = (IpAddr, String)> {
    let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
    // An address with a zone is no address of the network, so no rule and no client could use it.
    let ip = words.next().and_then(|word| word.parse::<IpAddr>().ok()).map(|ip| ip.to_canonical());
    words.filter_map(move |name| Some((ip?, DomainName::loose(name).ok()?.as_str().to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hosts_file_adds_to_what_is_written() {
        let full = |name: &str| DomainRule::Full(name.to_owned());
        let ips = |ips: &[&str]| HostAnswer::Ips(ips.iter().filter_map(|ip| ip.parse().ok()).collect());
        let mut hosts = Hosts(vec![
            (full("both.lan"), ips(&["10.0.0.1"])),
            (full("never.lan"), HostAnswer::Code(3)),
            (full("alias.lan"), HostAnswer::Alias("other.lan".to_owned())),
            (DomainRule::Suffix("tree.lan".to_owned()), ips(&["10.0.0.2"])),
        ]);
        hosts.add_file(
            "# made by hand\n127.0.0.1\tlocalhost  Localhost.LocalDomain. # here\r\n::1 localhost\n::ffff:10.0.0.9 mapped\n\
             10.0.0.3 both.lan never.lan alias.lan tree.lan\n10.0.0.3 both.lan\nfe80::1%lo0 zone.lan\n\
             10.0.0.4\n10.0.0.300 bad.lan\nname 10.0.0.5\n10.0.0.6 10.0.0.7 \u{7f} ok.lan\n# 10.0.0.8 gone.lan",
        );
        let want = [
            (full("both.lan"), ips(&["10.0.0.1", "10.0.0.3"])),
            (full("never.lan"), HostAnswer::Code(3)),
            (full("alias.lan"), ips(&["10.0.0.3"])),
            (DomainRule::Suffix("tree.lan".to_owned()), ips(&["10.0.0.2"])),
            (full("localhost"), ips(&["127.0.0.1", "::1"])),
            (full("localhost.localdomain"), ips(&["127.0.0.1"])),
            (full("mapped"), ips(&["10.0.0.9"])),
            (full("tree.lan"), ips(&["10.0.0.3"])),
            (full("ok.lan"), ips(&["10.0.0.6"])),
        ];
        assert_eq!(hosts.0, want);
    }
}
