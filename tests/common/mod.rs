//! What process-level tests need: C programs compiled with a host's own compiler, started by that host's launcher, bare or behind
//! `transom exec`, with a time limit that leaves no process behind.
//!
//! A test is a function over a [`Side`]; [`on_hosts!`](crate::on_hosts) makes from it one `#[test]` per host with Transom
//! (`mpich::NAME`, `openmpi::NAME`) and, as a control, one per host without it (`bare::mpich::NAME`, `bare::openmpi::NAME`), so that a
//! program which asks for more than MPI promises is found out by the host itself.
#![allow(dead_code, unused_macros, unused_imports, reason = "each test file uses its own part")]

mod compile;
mod job;
mod processes;

pub(crate) use job::{Job, Outcome};
use std::path::PathBuf;

/// An MPI implementation with its compiler and its launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Mpich,
    OpenMpi,
}

impl Host {
    /// Suffix of Debian's names: `mpicc.mpich`, `mpirun.openmpi`.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Host::Mpich => "mpich",
            Host::OpenMpi => "openmpi",
        }
    }

    pub(crate) fn compiler(self) -> String {
        format!("mpicc.{}", self.suffix())
    }

    pub(crate) fn launcher(self) -> String {
        format!("mpirun.{}", self.suffix())
    }
}

/// A host, bare or with Transom in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) host: Host,
    pub(crate) transom: bool,
}

impl Side {
    /// A job of one rank that runs `tests/programs/NAME.c`.
    pub(crate) fn program(self, name: &str) -> Job {
        Job::new(self, name)
    }
}

/// The root of the source tree.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Whether the long run was asked for (`ci/test full`). The programs see the variable too.
pub(crate) fn full() -> bool {
    std::env::var_os("TRANSOM_TEST_FULL").is_some()
}

/// A file of `target/dist`. What is built there is what is tested: without it a test fails, since it would show nothing.
pub(crate) fn dist(file: &str) -> PathBuf {
    let path = root().join("target/dist").join(file);
    assert!(path.is_file(), "{} is missing: run ci/build first", path.display());
    path
}

/// Makes tests from functions over a [`Side`].
///
/// `NAME;` runs under both hosts, bare and with Transom. `NAME, bare: [HOST…] "REASON";` names the hosts that can serve as a control
/// and says why the others cannot.
#[macro_export]
macro_rules! on_hosts {
    ($($name:ident $(, bare: [$($bare:ident)*] $reason:literal)?;)*) => {
        mod mpich {
            $(#[test] fn $name() { super::$name($crate::common::Side { host: $crate::common::Host::Mpich, transom: true }); })*
        }
        mod openmpi {
            $(#[test] fn $name() { super::$name($crate::common::Side { host: $crate::common::Host::OpenMpi, transom: true }); })*
        }
        mod bare {
            $($crate::bare_hosts! { $name $([$($bare)*])? })*
        }
    };
}

/// The controls of one function: a module of the function's name, since a macro cannot add to a module that exists.
#[macro_export]
macro_rules! bare_hosts {
    ($name:ident) => { $crate::bare_hosts! { $name [mpich openmpi] } };
    ($name:ident []) => {};
    ($name:ident [$($host:ident)+]) => {
        mod $name {
            $($crate::bare_hosts! { @one $name $host })+
        }
    };
    (@one $name:ident mpich) => {
        #[test] fn mpich() { super::super::$name($crate::common::Side { host: $crate::common::Host::Mpich, transom: false }); }
    };
    (@one $name:ident openmpi) => {
        #[test] fn openmpi() { super::super::$name($crate::common::Side { host: $crate::common::Host::OpenMpi, transom: false }); }
    };
}
