//! What it costs to start with a full-size pair of geodata files of which a config names ten lists:
//! `cargo bench --bench geodata`. Files are in the page cache; memory is that of the whole process.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use etemenanki::geo::{Assets, Wanted};
use etemenanki::model::lists::{Holds, Mention};
use etemenanki::model::matcher::{Bare, DomainRule, IpRule, IpSet, ListRef};
use etemenanki::shape::Spot;

mod pair;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("etemenanki-geodata-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let done = measure(&folder);
    std::fs::remove_dir_all(&folder)?;
    done
}

fn measure(folder: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    pair::write(folder)?;
    for file in ["geosite.dat", "geoip.dat"] {
        println!("{file}: {:.1} MiB", std::fs::metadata(folder.join(file))?.len() as f64 / MIB);
    }
    println!("{} lists of {} names, {} lists of {} networks", pair::LISTS, pair::NAMES, pair::COUNTRIES, pair::NETS);
    let lists = lists()?;
    let mentions: Vec<Mention<'_>> =
        lists.iter().map(|(list, holds)| Mention { list, holds: *holds, at: Spot::default() }).collect();
    let wanted = Wanted::of(&mentions);
    let assets = Assets::new([folder.to_path_buf()]);
    let loads = median(|| {
        let begun = Instant::now();
        let found = assets.load(&wanted, None);
        assert!(found.faults.is_empty(), "{:?}", found.faults);
        begun.elapsed()
    });
    println!("ten lists loaded: {:.1} ms", loads.as_secs_f64() * 1e3);

    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let config = folder.join("config.json");
    std::fs::write(&config, pair::config(port))?;
    let mut memory = vec![];
    let starts = median(|| {
        let begun = Instant::now();
        let mut child = Engine::start(folder, &config);
        while TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).is_err() {
            assert!(child.runs() && begun.elapsed() < Duration::from_secs(20), "it does not start");
        }
        let took = begun.elapsed();
        memory.push(child.memory());
        took
    });
    memory.sort_by(f64::total_cmp);
    println!("started: {:.1} ms; at most {:.1} MiB", starts.as_secs_f64() * 1e3, memory[memory.len() / 2]);
    Ok(())
}

const MIB: f64 = 1024.0 * 1024.0;

fn lists() -> Result<Vec<(ListRef, Holds)>, String> {
    let mut lists = vec![];
    for code in pair::SITES {
        if let DomainRule::List(list) = DomainRule::parse(&format!("geosite:{code}"), Bare::Keyword)? {
            lists.push((*list, Holds::Names));
        }
    }
    for code in pair::IPS {
        if let IpSet::List(list) = IpRule::parse(&format!("geoip:{code}"))?.set {
            lists.push((*list, Holds::Networks));
        }
    }
    Ok(lists)
}

fn median(mut once: impl FnMut() -> Duration) -> Duration {
    let mut all: Vec<Duration> = (0..9).map(|_| once()).collect();
    all.sort_unstable();
    all[all.len() / 2]
}

/// A program that runs, and ends with this.
struct Engine(Child);

impl Engine {
    fn start(folder: &std::path::Path, config: &std::path::Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_etemenanki"));
        command.arg("run").arg("-c").arg(config).env("XRAY_LOCATION_ASSET", folder);
        match command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            Ok(child) => Self(child),
            Err(error) => panic!("it cannot be started: {error}"),
        }
    }

    fn runs(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// What it held at most, in MiB; Linux alone tells.
    fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap_or_default();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = most.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kib.unwrap_or(f64::NAN) / 1024.0
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
