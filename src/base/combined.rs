//! How a derived datatype was made (MPI-4.1, sections 5.1.2 to 5.1.6). `host` reads it, `datatype` gives it a shape, so that both must see it.

/// Displacements in bytes, or in extents of the inner type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Byte,
    /// Extents of the inner type.
    Extent,
}

/// How an array lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last index runs first.
    C,
    /// The first index runs first.
    Fortran,
}

/// How a dimension of a distributed array is dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// One block for each process; `None`: of equal size.
    Block(Option<u64>),
    /// Blocks of this size in turn.
    Cyclic(u64),
    /// Not at all.
    None,
}

/// A dimension of a distributed array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Of the whole array.
    pub size: u64,
    /// How it is dealt out.
    pub distribution: Distribution,
    /// To how many processes.
    pub processes: u64,
}

/// A dimension of a part of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Of the whole array.
    pub size: u64,
    /// Of the part.
    pub subsize: u64,
    /// Where the part begins.
    pub start: u64,
}

/// How a derived datatype was made, of what.
#[allow(missing_docs)]
#[derive(Clone, Debug)]
pub enum Combined<T> {
    /// Duplicates, and types of another extent: the bytes are the same.
    Same(T),
    Contiguous {
        count: u64,
        of: T,
    },
    Vector {
        count: u64,
        length: u64,
        stride: i64,
        unit: Unit,
        of: T,
    },
    Indexed {
        lengths: Vec<u64>,
        displacements: Vec<i64>,
        unit: Unit,
        of: T,
    },
    IndexedBlock {
        length: u64,
        displacements: Vec<i64>,
        unit: Unit,
        of: T,
    },
    Struct {
        lengths: Vec<u64>,
        displacements: Vec<i64>,
        of: Vec<T>,
    },
    Subarray {
        dimensions: Vec<Part>,
        order: Order,
        of: T,
    },
    Darray {
        rank: u64,
        dimensions: Vec<Dimension>,
        order: Order,
        of: T,
    },
}

impl<T> Combined<T> {
    /// The inner types in their order; members of a structure that are there no times are not there.
    pub fn for_each_part(&self, mut each: impl FnMut(&T)) {
        match self {
            Combined::Struct { of, lengths, .. } => {
                of.iter().zip(lengths).filter(|(_, length)| **length > 0).for_each(|(of, _)| each(of));
            }
            Combined::Same(of)
            | Combined::Contiguous { of, .. }
            | Combined::Vector { of, .. }
            | Combined::Indexed { of, .. }
            | Combined::IndexedBlock { of, .. }
            | Combined::Subarray { of, .. }
            | Combined::Darray { of, .. } => each(of),
        }
    }

    /// The same of other inner types, or the first error.
    pub fn try_map<U, E>(self, mut each: impl FnMut(T) -> Result<U, E>) -> Result<Combined<U>, E> {
        Ok(match self {
            Combined::Same(of) => Combined::Same(each(of)?),
            Combined::Contiguous { count, of } => Combined::Contiguous { count, of: each(of)? },
            Combined::Vector { count, length, stride, unit, of } => {
                Combined::Vector { count, length, stride, unit, of: each(of)? }
            }
            Combined::Indexed { lengths, displacements, unit, of } => {
                Combined::Indexed { lengths, displacements, unit, of: each(of)? }
            }
            Combined::IndexedBlock { length, displacements, unit, of } => {
                Combined::IndexedBlock { length, displacements, unit, of: each(of)? }
            }
            Combined::Struct { lengths, displacements, of } => {
                Combined::Struct { lengths, displacements, of: of.into_iter().map(each).collect::<Result<_, E>>()? }
            }
            Combined::Subarray { dimensions, order, of } => Combined::Subarray { dimensions, order, of: each(of)? },
            Combined::Darray { rank, dimensions, order, of } => Combined::Darray { rank, dimensions, order, of: each(of)? },
        })
    }
}
