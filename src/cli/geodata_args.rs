//! Its verbs, flags and help.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use crate::model::geodata::{AssetFile, AssetUrl};
use crate::update::Wish;

/// Help of all of them.
pub const EXAMPLES: &str = "\
A FILE is a path, or the name of a file in an asset directory: that of XRAY_LOCATION_ASSET (or V2RAY_LOCATION_ASSET), or \
else that of the program; then /usr/local/share/xray, /usr/share/xray, /opt/share/xray and the same of v2ray.

Examples:
  etemenanki geodata list                       the lists of geosite.dat and geoip.dat
  etemenanki geodata show geosite:cn@ads        the entries of a list that have an attribute
  etemenanki geodata show ext:own.dat:office
  etemenanki geodata test www.example.com       which lists hold a name, and by which entry
  etemenanki geodata test 192.0.2.7 --file geoip.dat
  etemenanki geodata build lists/*.txt -o own.dat
  etemenanki geodata update config.json         fetch them anew by the config's own outbound

Exit status: 0 shown, found or written, 1 a file or list cannot be had or is none (test: no list holds it), 2 usage.";

/// What `geodata` can do.
#[derive(Debug, Subcommand)]
pub enum Geodata {
    /// Show the lists of files with their sizes
    List(List),
    /// Show the entries of a list, in the form that `build` reads
    Show(Show),
    /// Show which lists hold a name or an address
    Test(Test),
    /// Make a file of lists that are kept as text
    #[command(after_help = BUILD)]
    Build(Build),
    /// Fetch files anew, by way of a config's own outbound, and put them in place
    #[command(after_help = UPDATE)]
    Update(Update),
}

const UPDATE: &str = "\
The files are those of the config's section `geodata`; where it names none (and without a config) geosite.dat and geoip.dat \
as releases of Xray carry them. They come by the outbound that --outbound or the section names, else as the config's rules \
say, and directly without a config. Each is looked through and, with a config, tried with it; then all are put in place at \
once, or none. A file lies where it is found now, or else in the first asset directory. A running engine takes new files \
over when it is told to reload (HUP).

Examples:
  etemenanki geodata update                               without a proxy
  etemenanki geodata update config.json --outbound tokyo
  etemenanki geodata update config.json --file own.dat=https://lists.example/own.dat

Exit status: 0 all files are there, 1 one cannot be had (all are as before), 2 usage, 23 bad configuration.";

const BUILD: &str = "\
Each FILE becomes one list, named as the file without its ending. A line is an address or a network; or a name with \
`domain:` (also if nothing stands before it), `full:`, `keyword:` or `regexp:`, and attributes such as `@ads` behind it. \
`#` begins a comment. All lists of one .dat hold the same: names or networks.";

/// Flags of `list`.
#[derive(Debug, Args)]
pub struct List {
    /// Files; geosite.dat and geoip.dat if none is named
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<OsString>,
    /// Print JSON, one object a line
    #[arg(long)]
    pub json: bool,
}

/// Flags of `show`.
#[derive(Debug, Args)]
pub struct Show {
    /// The list as a rule names it: geosite:NAME@ATTRIBUTE, geoip:NAME, ext:FILE:NAME
    #[arg(value_name = "LIST")]
    pub list: String,
}

/// Flags of `test`.
#[derive(Debug, Args)]
pub struct Test {
    /// The name or address
    #[arg(value_name = "NAME")]
    pub name: String,
    /// File to look into; without it geosite.dat for a name and geoip.dat for an address
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Vec<OsString>,
    /// Print JSON, one object a line
    #[arg(long)]
    pub json: bool,
}

/// Flags of `build`.
#[derive(Debug, Args)]
pub struct Build {
    /// Lists as text
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Where to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}

/// Flags of `update`.
#[derive(Debug, Args)]
pub struct Update {
    /// Configurations, merged in their order
    #[arg(value_name = "CONFIG", value_hint = ValueHint::FilePath)]
    pub configs: Vec<OsString>,
    /// Go by this outbound, or by a member of this balancer
    #[arg(long, value_name = "TAG", requires = "configs")]
    pub outbound: Option<String>,
    /// Fetch this file from there, and no others; may be given several times
    #[arg(long, value_name = "NAME=URL", value_parser = wish)]
    pub file: Vec<Wish>,
    /// Put them into this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
    /// Print JSON, one object a file
    #[arg(long)]
    pub json: bool,
}

fn wish(text: &str) -> Result<Wish, String> {
    let (file, url) = text.split_once('=').ok_or("write NAME=URL, such as own.dat=https://lists.example/own.dat")?;
    Ok(Wish { file: AssetFile::parse(file)?, url: AssetUrl::parse(url)? })
}
