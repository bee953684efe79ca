//! What went wrong, in terms of MPI error classes but without an MPI: rooms return [`Error`], and the outermost frame alone turns it
//! into a code, a message and a call of an error handler (DESIGN.md, section 7).

use core::fmt;

macro_rules! classes {
    ($($class:ident = $name:literal),* $(,)?) => {
        /// An MPI error class by name; `host` knows each family's number.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Class {
            $($class,)*
        }

        impl Class {
            /// Every class.
            pub const ALL: &[Class] = &[$(Class::$class),*];

            /// The name as `mpi.h` has it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Class::$class => $name,)*
                }
            }
        }
    };
}

classes! {
    Arg = "MPI_ERR_ARG",
    Assert = "MPI_ERR_ASSERT",
    Base = "MPI_ERR_BASE",
    Buffer = "MPI_ERR_BUFFER",
    Comm = "MPI_ERR_COMM",
    Count = "MPI_ERR_COUNT",
    Disp = "MPI_ERR_DISP",
    Group = "MPI_ERR_GROUP",
    Intern = "MPI_ERR_INTERN",
    Locktype = "MPI_ERR_LOCKTYPE",
    NoMem = "MPI_ERR_NO_MEM",
    Op = "MPI_ERR_OP",
    Other = "MPI_ERR_OTHER",
    Rank = "MPI_ERR_RANK",
    RmaFlavor = "MPI_ERR_RMA_FLAVOR",
    RmaRange = "MPI_ERR_RMA_RANGE",
    RmaShared = "MPI_ERR_RMA_SHARED",
    RmaSync = "MPI_ERR_RMA_SYNC",
    Size = "MPI_ERR_SIZE",
    Type = "MPI_ERR_TYPE",
    UnsupportedOperation = "MPI_ERR_UNSUPPORTED_OPERATION",
    Win = "MPI_ERR_WIN",
    Keyval = "MPI_ERR_KEYVAL",
}

impl Class {
    /// The class behind the code of a [`failure`].
    fn of_failure(code: u64) -> Class {
        Class::ALL.iter().copied().find(|class| *class as u64 + 1 == code).unwrap_or(Class::Intern)
    }
}

/// What a rank tells the others of its part in a collective call: 0, or a code for its error's class.
pub fn failure<T>(result: &Result<T, Error>) -> u64 {
    result.as_ref().err().map_or(0, |error| error.class as u64 + 1)
}

/// The class that all ranks of a collective call end with, from what each has told: the lowest failed rank's. That rank says why, and
/// each that failed alike; the others, that it failed.
pub fn agree(failures: impl IntoIterator<Item = u64>, own_rank: u32, own: Option<Error>) -> Result<(), Error> {
    let Some((code, rank)) = failures.into_iter().zip(0..).find(|(code, _)| *code != 0) else { return Ok(()) };
    match own {
        // Where ranks fail alike each of them says why: the first may have no time to, since the job ends with the quickest.
        Some(error) if rank == own_rank || error.class == Class::of_failure(code) => Err(error),
        _ => Err(Error { class: Class::of_failure(code), what: What::Elsewhere { rank } }),
    }
}

/// The particulars, kept as numbers so that making an error costs neither allocation nor formatting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A fixed sentence says it all.
    Text(&'static str),
    /// An access that leaves the target's window.
    Range {
        /// Target rank.
        rank: i32,
        /// Target displacement, in units of the target's displacement unit.
        displacement: i64,
        /// Bytes from the first to the last one accessed.
        bytes: u64,
        /// Size of the target's window in bytes.
        size: u64,
        /// The target's displacement unit.
        unit: u64,
    },
    /// A value that the named argument cannot have.
    Value {
        /// Name of the argument as the standard has it.
        argument: &'static str,
        /// What was passed.
        value: i64,
    },
    /// A rank outside the window's group.
    Rank {
        /// What was passed.
        rank: i32,
        /// Number of ranks in the group.
        ranks: u32,
    },
    /// A target that no epoch of the caller covers.
    NoEpoch {
        /// Target rank.
        rank: i32,
    },
    /// Something about the caller's own lock of a target.
    Lock {
        /// What is wrong.
        text: &'static str,
        /// Target rank.
        rank: i32,
    },
    /// Origin and target of an operation describe different numbers of bytes.
    Signature {
        /// Bytes at the origin.
        origin: u64,
        /// Bytes at the target.
        target: u64,
    },
    /// A callback of the application has returned this error code, which the call returns in turn.
    Callback(i32),
    /// A part of MPI that this version does not serve on its own windows.
    NotSupported(&'static str),
    /// Memory could not be had.
    Memory {
        /// What was asked for.
        bytes: u64,
        /// `errno` of the refused call, 0 where there was none.
        errno: i32,
    },
    /// The system refuses an access to another process's private memory.
    Unreached {
        /// Target rank.
        rank: i32,
        /// `errno` of the refused call.
        errno: i32,
    },
    /// Another rank of a collective call failed; its class is this error's.
    Elsewhere {
        /// That rank, in the communicator of the call.
        rank: u32,
    },
    /// A rank of the window is dead.
    Died {
        /// That rank.
        rank: u32,
    },
    /// `TRANSOM_REQUIRE=1` and the window would have gone to the host.
    Required(&'static str),
}

/// An error on its way to the outermost frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The MPI class.
    pub class: Class,
    /// The particulars.
    pub what: What,
}

impl Error {
    /// An error that a fixed sentence describes.
    pub const fn text(class: Class, text: &'static str) -> Error {
        Error { class, what: What::Text(text) }
    }

    /// An argument with a value it cannot have.
    pub const fn value(class: Class, argument: &'static str, value: i64) -> Error {
        Error { class, what: What::Value { argument, value } }
    }

    /// A part of MPI that is not served yet.
    pub const fn not_supported(what: &'static str) -> Error {
        Error { class: Class::UnsupportedOperation, what: What::NotSupported(what) }
    }

    /// A defect of Transom itself (a caught panic).
    pub const fn internal() -> Error {
        Error::text(Class::Intern, "internal error of Transom; the panic's message stands on stderr")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.class.name())?;
        match self.what {
            What::Text(text) => f.write_str(text),
            What::Range { rank, displacement, bytes, size, unit } => write!(
                f,
                "{bytes} bytes at displacement {displacement} (unit {unit}) of rank {rank} are not inside its window of {size} bytes"
            ),
            What::Value { argument, value } => write!(f, "{argument} cannot be {value}"),
            What::Rank { rank, ranks } => write!(f, "rank {rank} is not in the window's group of {ranks}"),
            What::NoEpoch { rank } => write!(f, "no epoch of this rank covers target {rank}"),
            What::Lock { text, rank } => write!(f, "target {rank} {text}"),
            What::Signature { origin, target } => write!(f, "the origin describes {origin} bytes and the target {target}"),
            What::Callback(code) => write!(f, "a callback of the program returned error code {code}"),
            What::NotSupported(what) => write!(f, "{what}: not supported yet on a window of Transom"),
            What::Memory { bytes, errno: 0 } => write!(f, "no memory for {bytes} bytes"),
            What::Memory { bytes, errno } => {
                write!(f, "no memory for {bytes} bytes ({})", std::io::Error::from_raw_os_error(errno))
            }
            What::Unreached { rank, errno } => {
                write!(f, "the memory of rank {rank} cannot be reached ({})", std::io::Error::from_raw_os_error(errno))
            }
            What::Elsewhere { rank } => write!(f, "rank {rank} failed in this collective call"),
            What::Died { rank } => write!(f, "rank {rank} of the window has died"),
            What::Required(reason) => write!(f, "TRANSOM_REQUIRE is set and the window would be left to the host: {reason}"),
        }
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_error_names_rank_displacement_and_size() {
        let error =
            Error { class: Class::RmaRange, what: What::Range { rank: 3, displacement: 17, bytes: 8, size: 64, unit: 4 } };
        let text = error.to_string();
        for part in ["MPI_ERR_RMA_RANGE", "rank 3", "displacement 17", "64 bytes"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn all_ranks_end_with_the_class_of_the_lowest_one_that_failed() {
        for class in Class::ALL {
            let failed: Result<(), Error> = Err(Error::text(*class, "here"));
            let told = [0, failure(&failed), failure(&Err::<(), _>(Error::internal()))];
            let ends = |rank, own: Option<Error>| agree(told, rank, own).unwrap_err();
            assert_eq!(ends(0, None).class, *class);
            assert_eq!(Err(ends(1, failed.err())), failed, "the rank itself says why");
            let other = if *class == Class::Win { Class::Arg } else { Class::Win };
            assert_eq!(ends(2, Some(Error::text(other, "there"))).what, What::Elsewhere { rank: 1 });
            assert_eq!(
                ends(2, Some(Error::text(*class, "there"))),
                Error::text(*class, "there"),
                "it failed alike, and says why itself"
            );
        }
        assert_eq!(agree([0, failure(&Ok(()))], 0, None), Ok(()));
        assert_eq!(Class::of_failure(200), Class::Intern);
    }
}
