//! What `transom info` has to say, in the form in which `--json` says it: the keys are those that the help lists.

use serde::{Serialize, Serializer};

/// Everything.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) transom: Transom,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) machine: Machine,
    pub(crate) variables: Vec<Variable>,
}

/// This installation.
#[derive(Serialize)]
pub(crate) struct Transom {
    pub(crate) version: &'static str,
    /// What is preloaded.
    pub(crate) object: Option<String>,
    pub(crate) reason: Option<String>,
}

/// A program or library that was asked about.
#[derive(Serialize)]
pub(crate) struct Argument {
    pub(crate) argument: String,
    /// The file that is loaded, scripts followed to their interpreter.
    pub(crate) path: Option<String>,
    pub(crate) host: Option<Host>,
    pub(crate) served: bool,
    /// Why not.
    pub(crate) reason: Option<String>,
}

/// An MPI library.
#[derive(Serialize)]
pub(crate) struct Host {
    pub(crate) path: String,
    /// How it was come by.
    pub(crate) found: Vec<String>,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    /// The first line of what it says of itself.
    pub(crate) says: Option<String>,
    pub(crate) family: Option<&'static str>,
    pub(crate) served: bool,
    /// The object that serves it.
    pub(crate) engine: Option<String>,
    /// Why not.
    pub(crate) reason: Option<String>,
}

impl Host {
    /// One of which nothing is known yet.
    pub(crate) fn new(path: String, found: Vec<String>) -> Host {
        let (name, version, says, family, engine, reason) = (None, None, None, None, None, None);
        Host { path, found, name, version, says, family, served: false, engine, reason }
    }
}

/// This machine, as a rank would find it.
#[derive(Serialize)]
pub(crate) struct Machine {
    pub(crate) kernel: String,
    pub(crate) cores: Cores,
    /// Windows of ranks on this machine can be served.
    pub(crate) served: bool,
    pub(crate) reason: Option<String>,
    #[serde(serialize_with = "by_name")]
    pub(crate) facilities: Vec<Facility>,
    pub(crate) memlock: Memlock,
    pub(crate) huge_pages: Vec<HugePages>,
    pub(crate) dev_shm: DevShm,
}

#[derive(Serialize)]
pub(crate) struct Cores {
    pub(crate) online: u64,
    /// Those that this process may run on.
    pub(crate) usable: u64,
}

/// Something that a machine may have or refuse.
#[derive(Serialize)]
pub(crate) struct Facility {
    #[serde(skip)]
    pub(crate) name: &'static str,
    pub(crate) offered: bool,
    /// What was seen, or why it is refused.
    pub(crate) detail: String,
    #[serde(rename = "use")]
    pub(crate) usage: Usage,
    /// What Transom does with it, or would do.
    pub(crate) purpose: &'static str,
    /// What follows for those who use Transom where that is refused.
    pub(crate) without: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Usage {
    #[serde(rename = "used")]
    Used,
    #[serde(rename = "not used yet")]
    NotYet,
    #[serde(rename = "not needed")]
    NotNeeded,
}

/// Bytes; none where there is no limit.
#[derive(Serialize)]
pub(crate) struct Memlock {
    pub(crate) soft: Option<u64>,
    pub(crate) hard: Option<u64>,
    #[serde(rename = "use")]
    pub(crate) usage: Usage,
}

/// Huge pages of one size that the administrator has set aside.
#[derive(Serialize)]
pub(crate) struct HugePages {
    pub(crate) size: u64,
    pub(crate) total: u64,
    pub(crate) free: u64,
}

#[derive(Serialize)]
pub(crate) struct DevShm {
    /// Bytes; none where there is no such file system.
    pub(crate) size: Option<u64>,
    #[serde(rename = "use")]
    pub(crate) usage: Usage,
}

/// A variable that is set.
#[derive(Serialize)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: String,
    /// What it means; none for one that Transom does not know.
    pub(crate) means: Option<bool>,
}

fn by_name<S: Serializer>(facilities: &[Facility], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(facilities.iter().map(|facility| (facility.name, facility)))
}
