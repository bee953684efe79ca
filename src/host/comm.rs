//! Communicators of the application, and the few collective calls that Transom makes on them: at the first window of a communicator, and
//! at `MPI_Finalize`. Both happen inside calls that are collective themselves, so they cannot mix with the application's own.

use super::abi::*;
use super::table::{Host, host};
use crate::base::error::{Class, Error};
use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;

fn check(code: c_int, what: &'static str) -> Result<(), Error> {
    if code == SUCCESS { Ok(()) } else { Err(Error::text(Class::Other, what)) }
}

/// Plain data that may be sent to other ranks byte by byte.
///
/// # Safety
/// Every byte pattern is a value, there is no padding, and there are no pointers.
pub unsafe trait Plain: Copy + 'static {}

// SAFETY: every byte pattern is a number.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl<const N: usize> Plain for [u64; N] {}

/// The calling rank in the communicator.
pub fn rank(comm: MPI_Comm) -> Result<u32, Error> {
    let mut rank = 0;
    // SAFETY: `rank` is a valid place for the result.
    check(unsafe { (host().call.MPI_Comm_rank)(comm, &mut rank) }, "the host's MPI_Comm_rank failed")?;
    Ok(rank as u32)
}

/// Number of ranks in the communicator's (local) group.
pub fn size(comm: MPI_Comm) -> Result<u32, Error> {
    let mut size = 0;
    // SAFETY: `size` is a valid place for the result.
    check(unsafe { (host().call.MPI_Comm_size)(comm, &mut size) }, "the host's MPI_Comm_size failed")?;
    Ok(size as u32)
}

/// Is it an inter-communicator?
pub fn is_inter(comm: MPI_Comm) -> Result<bool, Error> {
    let mut inter = 0;
    // SAFETY: `inter` is a valid place for the result.
    check(unsafe { (host().call.MPI_Comm_test_inter)(comm, &mut inter) }, "the host's MPI_Comm_test_inter failed")?;
    Ok(inter != 0)
}

/// Every rank's `mine`, in rank order. Collective.
pub fn allgather<T: Plain>(comm: MPI_Comm, mine: &T) -> Result<Vec<T>, Error> {
    let ranks = size(comm)? as usize;
    let mut all = Vec::<T>::with_capacity(ranks);
    let bytes = size_of::<T>() as c_int;
    let byte = host().handles.byte;
    // SAFETY: `mine` has `bytes` bytes and `all` room for as many from each rank.
    let code = unsafe {
        (host().call.MPI_Allgather)(ptr::from_ref(mine).cast(), bytes, byte, all.as_mut_ptr().cast::<c_void>(), bytes, byte, comm)
    };
    check(code, "the host's MPI_Allgather failed")?;
    // SAFETY: the gather has filled every element, and any bytes make a `T` (`Plain`).
    unsafe { all.set_len(ranks) };
    Ok(all)
}

/// A group of the host, freed with its owner.
#[derive(Debug)]
pub struct Group(MPI_Group);

// SAFETY: a handle; groups are immutable and the host serves them from any thread that may call MPI at all.
unsafe impl Send for Group {}
// SAFETY: as for `Send`.
unsafe impl Sync for Group {}

impl Group {
    /// The communicator's group.
    pub fn of(comm: MPI_Comm) -> Result<Group, Error> {
        let mut group = MaybeUninit::uninit();
        // SAFETY: `group` is a valid place for the result.
        check(unsafe { (host().call.MPI_Comm_group)(comm, group.as_mut_ptr()) }, "the host's MPI_Comm_group failed")?;
        // SAFETY: written by the successful call.
        Ok(Group(unsafe { group.assume_init() }))
    }

    /// The host's handle.
    pub(super) fn handle(&self) -> MPI_Group {
        self.0
    }

    /// A new handle of an equal group, for the application to free.
    pub fn duplicate(&self) -> Result<MPI_Group, Error> {
        let mut group = MaybeUninit::uninit();
        // SAFETY: excluding no rank needs no array; `group` is a valid place for the result.
        let code = unsafe { (host().call.MPI_Group_excl)(self.0, 0, ptr::null(), group.as_mut_ptr()) };
        check(code, "the host's MPI_Group_excl failed")?;
        // SAFETY: written by the successful call.
        Ok(unsafe { group.assume_init() })
    }

    /// Ranks in this group of another one's members, in that one's order; the group is the application's.
    pub fn ranks_of(&self, other: MPI_Group) -> Result<Vec<u32>, Error> {
        // Not asked of the host: it would call the handler of MPI_COMM_WORLD.
        if other == host().handles.group_null {
            return Err(Error::text(Class::Group, "the group is null"));
        }
        let refused = Error::text(Class::Group, "the host does not know the group");
        let mut size = 0;
        // SAFETY: `size` is a valid place for the result.
        if unsafe { (host().call.MPI_Group_size)(other, &mut size) } != SUCCESS {
            return Err(refused);
        }
        let theirs: Vec<c_int> = (0..size).collect();
        let mut ranks = vec![0; theirs.len()];
        // SAFETY: both arrays have `size` elements.
        let code = unsafe { (host().call.MPI_Group_translate_ranks)(other, size, theirs.as_ptr(), self.0, ranks.as_mut_ptr()) };
        if code != SUCCESS {
            return Err(refused);
        }
        let outside = Error::text(Class::Group, "a process of the group is not in the window's group");
        ranks.into_iter().map(|rank| if rank == UNDEFINED { Err(outside) } else { Ok(rank as u32) }).collect()
    }

    /// Ranks of the whole group in `MPI_COMM_WORLD`; `None` for a process outside of it (another job).
    pub fn world_ranks(&self, ranks: u32) -> Result<Vec<Option<u32>>, Error> {
        let world = Group::of(host().handles.comm_world)?;
        let own: Vec<c_int> = (0..ranks as c_int).collect();
        let mut translated = vec![0; own.len()];
        // SAFETY: both arrays have `ranks` elements.
        let code = unsafe {
            (host().call.MPI_Group_translate_ranks)(self.0, ranks as c_int, own.as_ptr(), world.0, translated.as_mut_ptr())
        };
        check(code, "the host's MPI_Group_translate_ranks failed")?;
        Ok(translated.into_iter().map(|rank| (rank != UNDEFINED).then_some(rank as u32)).collect())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !is_finalized() {
            // SAFETY: the handle is live and owned.
            unsafe { (host().call.MPI_Group_free)(&mut self.0) };
        }
    }
}

/// Has `MPI_Finalize` ended? Nothing of the host may be called then.
pub fn is_finalized() -> bool {
    let mut flag = 0;
    // SAFETY: callable at any time; `flag` is a valid place for the result.
    unsafe { (host().call.MPI_Finalized)(&mut flag) };
    flag != 0
}

/// What [`reduce_to_first`] has come to.
pub enum Reduced {
    /// Sums and union, at rank 0.
    Sums(Vec<u64>, u64),
    /// This is not rank 0.
    Elsewhere,
    /// `idle` has given up, or the host has failed.
    GivenUp,
}

/// Sums `values` and unites the bits of `mask` over `MPI_COMM_WORLD` at rank 0. `idle` is called while it waits and may give up. Collective.
pub fn reduce_to_first(values: &[u64], mask: u64, mut idle: impl FnMut() -> bool) -> Reduced {
    let Ok(own_rank) = rank(host().handles.comm_world) else { return Reduced::GivenUp };
    let (Some(sums), Some(masks)) = (Reduction::start(values, host().handles.sum), Reduction::start(&[mask], host().handles.bor))
    else {
        return Reduced::GivenUp;
    };
    match (sums.finish(&mut idle), masks.finish(&mut idle)) {
        (Some(sums), Some(masks)) if own_rank == 0 => Reduced::Sums(sums, masks[0]),
        (Some(_), Some(_)) => Reduced::Elsewhere,
        _ => Reduced::GivenUp,
    }
}

/// A nonblocking reduction under way. Its buffers are leaked where it does not end: the host may still read and write them.
struct Reduction {
    from: *mut [u64],
    to: *mut [u64],
    request: MPI_Request,
}

impl Reduction {
    fn start(values: &[u64], op: MPI_Op) -> Option<Reduction> {
        let count = values.len();
        let from = Box::into_raw(Box::<[u64]>::from(values));
        let to = Box::into_raw(vec![0_u64; count].into_boxed_slice());
        let mut request = MaybeUninit::uninit();
        let Host { call, handles, .. } = host();
        // SAFETY: both buffers have as many elements as are named, and live as long as the request.
        let code = unsafe {
            (call.MPI_Ireduce)(
                from.cast(),
                to.cast(),
                count as c_int,
                handles.uint64,
                op,
                0,
                handles.comm_world,
                request.as_mut_ptr(),
            )
        };
        // SAFETY: written by the successful call.
        (code == SUCCESS).then(|| Reduction { from, to, request: unsafe { request.assume_init() } })
    }

    fn finish(mut self, idle: &mut impl FnMut() -> bool) -> Option<Vec<u64>> {
        loop {
            let (mut flag, mut status) = (0, MaybeUninit::<MPI_Status>::uninit());
            // SAFETY: a request that is under way.
            let code = unsafe { (host().call.MPI_Test)(&mut self.request, &mut flag, status.as_mut_ptr()) };
            if code != SUCCESS {
                return None;
            }
            if flag != 0 {
                // SAFETY: boxes given away by `start`, and the host is done with both.
                return Some(unsafe {
                    drop(Box::from_raw(self.from));
                    Box::from_raw(self.to).into_vec()
                });
            }
            if !idle() {
                return None;
            }
        }
    }
}

/// What the host says of an error code, the program's own included.
pub fn error_string(code: c_int) -> String {
    let mut text = [0; MAX_ERROR_STRING + 1];
    let mut length = 0;
    // SAFETY: room for the longest text and a terminator.
    let said = host().entry.MPI_Error_string.map(|function| unsafe { function(code, text.as_mut_ptr(), &mut length) });
    if said != Some(SUCCESS) {
        return format!("error code {code}");
    }
    // SAFETY: the host has written a C string.
    unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned()
}

/// Ends the job, as the default error handler does.
pub fn abort(code: c_int) -> ! {
    // SAFETY: the handle is valid; MPI_Abort does not return in either family.
    unsafe { (host().call.MPI_Abort)(host().handles.comm_world, code) };
    std::process::abort();
}

/// Does the communicator's error handler end the job? Where the handle is none, `MPI_COMM_WORLD`'s counts.
pub fn errors_are_fatal(comm: MPI_Comm) -> bool {
    let host = host();
    let mut handler = MaybeUninit::<MPI_Errhandler>::uninit();
    // SAFETY: `handler` is a valid place for the result.
    if unsafe { (host.call.MPI_Comm_get_errhandler)(comm, handler.as_mut_ptr()) } != SUCCESS {
        return comm == host.handles.comm_world || errors_are_fatal(host.handles.comm_world);
    }
    // SAFETY: written by the successful call.
    let mut handler = unsafe { handler.assume_init() };
    let fatal = handler == host.handles.errors_are_fatal || handler == host.handles.errors_abort;
    if let Some(free) = host.entry.MPI_Errhandler_free {
        // SAFETY: the query gave a reference of its own.
        unsafe { free(&mut handler) };
    }
    fatal
}

/// Calls the communicator's error handler.
pub fn call_errhandler(comm: MPI_Comm, code: c_int) {
    // SAFETY: the handler is the application's or the host's own; it may not return, or throw.
    unsafe { (host().call.MPI_Comm_call_errhandler)(comm, code) };
}
