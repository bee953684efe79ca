//! The predefined reduction operations.

macro_rules! operations {
    ($($(#[$doc:meta])* $op:ident;)*) => {
        /// A predefined operation; target is what is in the window, origin what comes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op {
            $($(#[$doc])* $op,)*
        }

        impl Op {
            /// All of them, each at its own number as an index.
            pub const ALL: &[Op] = &[$(Op::$op),*];
        }
    };
}

operations! {
    /// `MPI_MAX`.
    Max;
    /// `MPI_MIN`.
    Min;
    /// `MPI_SUM`.
    Sum;
    /// `MPI_PROD`.
    Prod;
    /// `MPI_LAND`.
    Land;
    /// `MPI_BAND`.
    Band;
    /// `MPI_LOR`.
    Lor;
    /// `MPI_BOR`.
    Bor;
    /// `MPI_LXOR`.
    Lxor;
    /// `MPI_BXOR`.
    Bxor;
    /// `MPI_MINLOC`.
    Minloc;
    /// `MPI_MAXLOC`.
    Maxloc;
    /// `MPI_REPLACE`: the origin's value.
    Replace;
    /// `MPI_NO_OP`: the target's value stays.
    NoOp;
}

impl Op {
    /// The operation with this number.
    #[inline(always)]
    pub fn from_number(number: usize) -> Option<Op> {
        Op::ALL.get(number).copied()
    }
}
