//! What process-level tests need: programs compiled with a host's own compilers, started by that host's launcher, bare or behind
//! `transom exec`, with a time limit that leaves no process behind.
//!
//! A test is a function over a [`Side`]; [`on_hosts!`](crate::on_hosts) makes from it one `#[test]` per host with Transom
//! (`mpich::NAME`, `openmpi::NAME`, …) and, as a control, one per host without it (`bare::NAME::mpich`, …), so that a program which asks
//! for more than MPI promises is found out by the host itself. Only `ci/test hosts` runs those of hosts that are not Debian's.
#![allow(dead_code, unused_macros, unused_imports, reason = "each test file uses its own part")]

mod compile;
mod host;
mod job;
mod processes;

pub(crate) use compile::Interface;
pub(crate) use host::{Family, Host};
pub(crate) use job::{Job, Outcome};
use std::path::{Path, PathBuf};

/// A host, bare or with Transom in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) host: Host,
    pub(crate) transom: bool,
}

impl Side {
    /// A job of one rank that runs `tests/programs/NAME.c`, or `NAME.cc`.
    pub(crate) fn program(self, name: &str) -> Job {
        Job::new(self, name)
    }

    /// A job of one rank that runs `tests/programs/fortran/NAME.F90`.
    pub(crate) fn fortran(self, interface: Interface, name: &str) -> Job {
        Job::of_executable(self, compile::fortran(self.host, interface, name))
    }

    /// The executable of `tests/programs/NAME.c`.
    pub(crate) fn executable(self, name: &str) -> PathBuf {
        compile::program(self.host, name)
    }

    /// A shared object of `tests/programs/NAME.c`, with further flags for the compiler.
    pub(crate) fn object(self, name: &str, flags: &[&str]) -> PathBuf {
        compile::object(self.host, name, flags)
    }

    /// A job of one rank that runs `tests/programs/NAME.c`, linked to a shared object.
    pub(crate) fn program_linked_to(self, name: &str, object: &Path) -> Job {
        Job::of_executable(self, compile::program_linked_to(self.host, name, object))
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
/// * `NAME;` runs under every host, bare and with Transom.
/// * `NAME, bare: [HOST…] "REASON";` names the hosts that can serve as a control and says why the others cannot.
/// * `NAME, bare except: [HOST…] "REASON";` names those that cannot.
/// * `NAME, not under: [HOST…] "REASON", …;` leaves a host out altogether.
#[macro_export]
macro_rules! on_hosts {
    ($($name:ident
        $(, not under: [$($without:ident)*] $no_host:literal)?
        $(, bare: [$($bare:ident)*] $few_controls:literal)?
        $(, bare except: [$($except:ident)*] $no_control:literal)?;
    )*) => {
        $crate::on_hosts! { @host mpich Mpich, $($name [$($($without)*)?])* }
        $crate::on_hosts! { @host openmpi OpenMpi, $($name [$($($without)*)?])* }
        $crate::on_hosts! { @host mpich5 Mpich5, $($name [$($($without)*)?])* }
        $crate::on_hosts! { @host openmpi5 OpenMpi5, $($name [$($($without)*)?])* }
        $crate::on_hosts! { @host impi Impi, $($name [$($($without)*)?])* }
        mod bare {
            $($crate::bare_hosts! { $name except [$($($without)*)? $($($except)*)?] $(only [$($bare)*])? })*
        }
    };
    (@host $module:ident $host:ident, $($name:ident [$($without:ident)*])*) => {
        mod $module {
            $($crate::test_unless! { $module [$($without)*] $name = super::$name, $host, true })*
        }
    };
}

/// The controls of one function: a module of the function's name, since a macro cannot add to a module that exists.
#[macro_export]
macro_rules! bare_hosts {
    ($name:ident except $except:tt only []) => {};
    ($name:ident except $except:tt only [$($only:ident)+]) => {
        mod $name {
            $($crate::bare_hosts! { @one $name $only $except })+
        }
    };
    ($name:ident except $except:tt) => {
        $crate::bare_hosts! { $name except $except only [mpich openmpi mpich5 openmpi5 impi] }
    };
    (@one $name:ident mpich $except:tt) => {
        $crate::test_unless! { mpich $except mpich = super::super::$name, Mpich, false }
    };
    (@one $name:ident openmpi $except:tt) => {
        $crate::test_unless! { openmpi $except openmpi = super::super::$name, OpenMpi, false }
    };
    (@one $name:ident mpich5 $except:tt) => {
        $crate::test_unless! { mpich5 $except mpich5 = super::super::$name, Mpich5, false }
    };
    (@one $name:ident openmpi5 $except:tt) => {
        $crate::test_unless! { openmpi5 $except openmpi5 = super::super::$name, OpenMpi5, false }
    };
    (@one $name:ident impi $except:tt) => {
        $crate::test_unless! { impi $except impi = super::super::$name, Impi, false }
    };
}

/// `HOST [EXCEPTION…] NAME = FUNCTION, VARIANT, TRANSOM`: a test of this name, unless the host is among the exceptions.
#[macro_export]
macro_rules! test_unless {
    ($host:ident [] $name:ident = $function:path, $variant:ident, $transom:literal) => {
        #[test]
        fn $name() {
            $function($crate::common::Side { host: $crate::common::Host::$variant, transom: $transom });
        }
    };
    (mpich [mpich $($rest:ident)*] $($test:tt)*) => {};
    (openmpi [openmpi $($rest:ident)*] $($test:tt)*) => {};
    (mpich5 [mpich5 $($rest:ident)*] $($test:tt)*) => {};
    (openmpi5 [openmpi5 $($rest:ident)*] $($test:tt)*) => {};
    (impi [impi $($rest:ident)*] $($test:tt)*) => {};
    ($host:ident [mpich $($rest:ident)*] $($test:tt)*) => { $crate::test_unless! { $host [$($rest)*] $($test)* } };
    ($host:ident [openmpi $($rest:ident)*] $($test:tt)*) => { $crate::test_unless! { $host [$($rest)*] $($test)* } };
    ($host:ident [mpich5 $($rest:ident)*] $($test:tt)*) => { $crate::test_unless! { $host [$($rest)*] $($test)* } };
    ($host:ident [openmpi5 $($rest:ident)*] $($test:tt)*) => { $crate::test_unless! { $host [$($rest)*] $($test)* } };
    ($host:ident [impi $($rest:ident)*] $($test:tt)*) => { $crate::test_unless! { $host [$($rest)*] $($test)* } };
}
