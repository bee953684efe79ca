//! Start and end of MPI, and error codes.

use super::forward;
use crate::guard::guard;
use crate::report;
use core::ffi::{c_char, c_int};
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use transom::base::log::{self, verbose};
use transom::base::stats::{self, Decline, KINDS, PATHS, TOTALS};
use transom::base::{config, functions, threads};
use transom::datatype;
use transom::host::abi::{self, SUCCESS};
use transom::host::datatype as host_datatype;
use transom::host::table::host;
use transom::host::{comm, job, progress, wait};
use transom::node::cross;
use transom::window::handle;

pub(crate) unsafe extern "C-unwind" fn MPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    before_init();
    let code = forward!(MPI_Init(argc, argv));
    after_init(code);
    code
}

pub(crate) unsafe extern "C-unwind" fn MPI_Init_thread(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    before_init();
    let code = forward!(MPI_Init_thread(argc, argv, required, provided));
    after_init(code);
    code
}

/// `MPI_Init` or `MPI_Init_thread` has succeeded: not so in a program of MPI-4 sessions, which may have no `MPI_COMM_WORLD`.
static INITIALIZED: AtomicBool = AtomicBool::new(false);

pub(super) fn is_initialized() -> bool {
    INITIALIZED.load(Relaxed)
}

fn before_init() {
    // Before the host's own start-up, which orders it before anything that another rank does after its.
    let _ = guard(|| {
        if !config::get().disable {
            cross::admit_peers();
        }
        job::publish();
        Ok(())
    });
}

fn after_init(code: c_int) {
    if code != SUCCESS {
        return;
    }
    INITIALIZED.store(true, Relaxed);
    let _ = guard(|| {
        datatype::prepare();
        host_datatype::prepare()?;
        let mut level = 0;
        // SAFETY: MPI is initialised; `level` is a valid place for the result.
        if unsafe { (host().call.MPI_Query_thread)(&mut level) } == SUCCESS && level == abi::THREAD_MULTIPLE {
            threads::set_concurrent();
        }
        if !config::get().stats {
            stats::set_unread();
        }
        let world = host().handles.comm_world;
        let (rank, size) = (comm::rank(world)?, comm::size(world)?);
        job::look_around(size);
        verbose(format_args!("rank {rank} of {size}: {} functions intercepted", functions::COUNT));
        Ok(())
    });
}

pub(crate) unsafe extern "C-unwind" fn MPI_Initialized(flag: *mut c_int) -> c_int {
    forward!(MPI_Initialized(flag))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Query_thread(provided: *mut c_int) -> c_int {
    // The level that the application asked for is the host's level: it is raised for nobody.
    forward!(MPI_Query_thread(provided))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Finalize() -> c_int {
    if is_initialized() {
        let _ = guard(|| {
            summarise();
            Ok(())
        });
        // Whatever became of the summary: the host is not to find a request of ours pending.
        let _ = guard(|| {
            progress::finish();
            host_datatype::finish();
            Ok(())
        });
    }
    forward!(MPI_Finalize())
}

/// Positions in the reduced totals: served, declined, then operations and bytes of each kind.
const SERVED: usize = 0;
const DECLINED: usize = 1;
const FIRST_KIND: usize = 2;

fn summarise() {
    handle::for_each(|window| window.tallies.fold());
    let mut totals = vec![TOTALS.served.load(Relaxed), TOTALS.declined.load(Relaxed)];
    for tally in TOTALS.operations.all() {
        let (operations, bytes) = tally.read();
        totals.extend([operations, bytes]);
    }
    let reasons = TOTALS.reasons.load(Relaxed);
    let world = host().handles.comm_world;
    let (Ok(rank), Ok(size)) = (comm::rank(world), comm::size(world)) else { return };
    if size > 1 && !wait::death_seen() && (0..size).all(job::is_present) {
        let mut patience = Patience::new(size);
        // Only rank 0 gets the sums; where a rank has died, each of the others speaks for itself.
        match comm::reduce_to_first(&totals, reasons, || patience.idle()) {
            comm::Reduced::Sums(sums, reasons) => return print("", &sums, reasons),
            comm::Reduced::Elsewhere => return,
            comm::Reduced::GivenUp => {}
        }
    }
    let speaker = if size > 1 { format!("rank {rank}: ") } else { String::new() };
    print(&speaker, &totals, reasons);
}

/// How long the sums over all ranks are waited for: as long as all of them live.
struct Patience {
    ranks: u32,
    last_look: Instant,
    missing_since: Option<Instant>,
}

impl Patience {
    fn new(ranks: u32) -> Patience {
        Patience { ranks, last_look: Instant::now(), missing_since: None }
    }

    fn idle(&mut self) -> bool {
        std::thread::sleep(Duration::from_micros(50));
        let now = Instant::now();
        if now - self.last_look < Duration::from_millis(100) {
            return true;
        }
        self.last_look = now;
        if self.missing_since.is_none() && !(0..self.ranks).all(job::is_alive) {
            self.missing_since = Some(now);
        }
        // A rank that has left may just have finished: what it sent is on its way, and gets a second to arrive.
        self.missing_since.is_none_or(|since| now - since < Duration::from_secs(1))
    }
}

fn print(speaker: &str, totals: &[u64], reasons: u64) {
    let (served, declined) = (totals[SERVED], totals[DECLINED]);
    if declined > 0 {
        let reasons: Vec<&str> =
            Decline::ALL.iter().filter(|reason| reasons & (1 << **reason as u32) != 0).map(|reason| reason.text()).collect();
        let all = served + declined;
        log::line(format_args!("{speaker}{declined} of {all} windows were left to the host: {}", reasons.join("; ")));
    }
    if config::get().stats {
        log::line(format_args!("{speaker}stats: windows {served} served {declined} host"));
        let lines = PATHS.iter().flat_map(|path| KINDS.iter().map(move |kind| (path, kind)));
        for ((path, kind), pair) in lines.zip(totals[FIRST_KIND..].chunks_exact(2)) {
            // Put and get always, so that a program which makes none sees that nothing was missed.
            if pair[0] > 0 || (*path == PATHS[0] && KINDS[..2].contains(kind)) {
                log::line(format_args!("{speaker}stats: {kind} {} operations {} bytes {path}", pair[0], pair[1]));
            }
        }
    }
}

pub(crate) unsafe extern "C-unwind" fn MPI_Error_class(errorcode: c_int, errorclass: *mut c_int) -> c_int {
    match report::class_of(errorcode) {
        Some(class) => {
            // SAFETY: a valid place, as MPI demands of the application.
            unsafe { *errorclass = class };
            SUCCESS
        }
        None => forward!(MPI_Error_class(errorcode, errorclass)),
    }
}

pub(crate) unsafe extern "C-unwind" fn MPI_Error_string(errorcode: c_int, string: *mut c_char, resultlen: *mut c_int) -> c_int {
    let Some(class) = report::class_of(errorcode) else { return forward!(MPI_Error_string(errorcode, string, resultlen)) };
    let Some(text) = report::text_of(errorcode) else { return forward!(MPI_Error_string(class, string, resultlen)) };
    let mut length = text.len().min(abi::MAX_ERROR_STRING - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    // SAFETY: room for MPI_MAX_ERROR_STRING characters, as MPI demands of the application.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), string, length);
        *string.add(length) = 0;
        *resultlen = length as c_int;
    }
    SUCCESS
}
