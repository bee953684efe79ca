//! Which job this process belongs to, and which of its ranks run with Transom.
//!
//! A rank without Transom (a launcher line that preloads some ranks only) takes part in none of our exchanges, so it must be recognised
//! before the first one, and nobody may wait on a timer for it: a legal rank may come minutes late. Therefore each rank publishes its presence
//! *before* `PMPI_Init`, whose start-up orders it before anything that follows on any rank: it binds an abstract Unix datagram address that
//! names protocol version, user, job and rank. Another rank looks by connecting a datagram socket, which sends nothing and
//! succeeds exactly if the address is bound. The kernel drops the address with the process (a forked child
//! closes its copy); nothing is left behind.
//!
//! Abstract addresses belong to a network namespace, hence to one node: a rank of another node looks absent. That relation
//! ("sees each other") is an equivalence, so all ranks of a communicator find alike whether somebody is missing.

use crate::base::config;
use crate::base::hash::{self, fnv1a};
use crate::base::log::verbose;
use crate::base::table::VERSION;
use crate::base::threads::lock;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, OnceLock};

/// What the launcher says of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    /// Equal for all ranks of one job on one node, different for any other job that lives at the same time.
    job: String,
    /// Rank in `MPI_COMM_WORLD`.
    rank: u32,
}

struct Published {
    rank: u32,
    /// Names of this job's ranks: this and the rank. Made once, for the user may change (`seteuid`).
    prefix: String,
    /// Bound for others to find.
    _socket: UnixDatagram,
    /// What others are looked for with; open from the start, for later there may be no descriptor left.
    looker: Mutex<Looker>,
    /// Answers for ranks that have been asked about.
    seen: Mutex<HashMap<u32, bool>>,
}

static PUBLISHED: OnceLock<Option<Published>> = OnceLock::new();

fn published() -> Option<&'static Published> {
    PUBLISHED.get()?.as_ref()
}

/// Makes this rank visible. Before `PMPI_Init`; later calls do nothing.
pub fn publish() {
    PUBLISHED.get_or_init(|| {
        if config::get().disable {
            return None;
        }
        let Some(identity) = identity() else {
            verbose(format_args!("no launcher that is known here has started this process"));
            return None;
        };
        // SAFETY: no preconditions.
        let user = unsafe { libc::geteuid() };
        let prefix = format!("transom/{VERSION}/{user}/{}", identity.job);
        let bind = || -> io::Result<Published> {
            let socket = UnixDatagram::bind_addr(&address(&prefix, identity.rank)?)?;
            let looker = Mutex::new(Looker::new()?);
            forks::tell(&socket)?;
            Ok(Published { rank: identity.rank, prefix: prefix.clone(), _socket: socket, looker, seen: Mutex::default() })
        };
        forks::watch();
        bind().inspect_err(|error| verbose(format_args!("presence cannot be published: {error}"))).ok()
    });
}

/// Whether ranks other than this one can be looked for at all.
pub fn is_known() -> bool {
    published().is_some()
}

/// The world rank that was published, to be compared with the host's.
pub fn published_rank() -> Option<u32> {
    published().map(|published| published.rank)
}

/// Jobs up to this size are looked at as a whole when MPI has started, before the program can close descriptors that it does not know.
const LOOKED_AT_ONCE: u32 = 1024;

/// Looks at all ranks of `MPI_COMM_WORLD`. When MPI has started.
pub fn look_around(ranks: u32) {
    if ranks <= LOOKED_AT_ONCE {
        (0..ranks).for_each(|rank| {
            is_present(rank);
        });
    }
}

/// Does this world rank run with Transom on this node? Looked up once per rank; after `PMPI_Init`.
pub fn is_present(rank: u32) -> bool {
    let Some(published) = published() else { return false };
    let mut seen = lock(&published.seen);
    *seen.entry(rank).or_insert_with(|| published.finds(rank))
}

/// Is the process of a world rank that was present once still there?
pub fn is_alive(rank: u32) -> bool {
    published().is_some_and(|published| published.finds(rank))
}

impl Published {
    /// Only a refused connection means that nobody is there: a rank that could not look, and therefore went its own way, would leave the others
    /// waiting in an exchange.
    fn finds(&self, rank: u32) -> bool {
        let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        rank == self.rank || !lock(&self.looker).look(&self.prefix, rank).is_err_and(refused)
    }
}

/// A forked child must not keep its parent's address bound: the parent would look alive after its death.
mod forks {
    use super::*;
    use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};

    static DESCRIPTOR: AtomicI32 = AtomicI32::new(-1);
    static INODE: AtomicU64 = AtomicU64::new(0);

    pub(super) fn tell(socket: &UnixDatagram) -> io::Result<()> {
        INODE.store(inode(socket.as_raw_fd())?, Relaxed);
        DESCRIPTOR.store(socket.as_raw_fd(), Relaxed);
        Ok(())
    }

    pub(super) fn watch() {
        // SAFETY: the handler does nothing but what is allowed in the child of a process with threads.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }

    unsafe extern "C" fn in_child() {
        let descriptor = DESCRIPTOR.load(Relaxed);
        // Not if the program has closed it and has a file of its own there.
        if descriptor >= 0 && inode(descriptor).is_ok_and(|found| found == INODE.load(Relaxed)) {
            // SAFETY: the child's copy of our own socket, which nothing in the child uses.
            unsafe { libc::close(descriptor) };
        }
    }
}

struct Looker {
    socket: UnixDatagram,
    inode: u64,
}

impl Looker {
    fn new() -> io::Result<Looker> {
        let socket = UnixDatagram::unbound()?;
        let inode = inode(socket.as_raw_fd())?;
        Ok(Looker { socket, inode })
    }

    /// Connects to a rank's address, which sends nothing.
    fn look(&mut self, prefix: &str, rank: u32) -> io::Result<()> {
        // The program may have closed the descriptor, whose number is another file's by now.
        if inode(self.socket.as_raw_fd()).ok() != Some(self.inode) {
            core::mem::forget(core::mem::replace(self, Looker::new()?));
        }
        self.socket.connect_addr(&address(prefix, rank)?)
    }
}

fn inode(fd: RawFd) -> io::Result<u64> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: room for the answer; a descriptor that is closed is refused by the kernel.
    if unsafe { libc::fstat(fd, status.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: filled by the successful call.
    Ok(unsafe { status.assume_init() }.st_ino)
}

fn address(prefix: &str, rank: u32) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{prefix}/{rank}"))
}

/// Looks a variable up; `None` where it is empty or not set.
type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;
/// One launcher's way to say who a process is.
type Source = fn(Environment<'_>) -> Option<Identity>;

/// Launchers whose processes can name their job, those of the own family first: a process that an MPICH job starts under Open MPI's
/// launcher inherits the outer one's variables too.
fn identity() -> Option<Identity> {
    let sources: [Source; 3] = if cfg!(transom_ompi) { [pmix, pmi, slurm] } else { [pmi, pmix, slurm] };
    let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    sources.iter().find_map(|source| source(&environment))
}

/// Hydra and whoever else serves PMI on an inherited socket: the job is the process that made the socket (the proxy of this job
/// on this node), told by its id and start time.
fn pmi(environment: Environment<'_>) -> Option<Identity> {
    let rank = environment("PMI_RANK").or_else(|| environment("PMI_ID"))?.parse().ok()?;
    if let Some(port) = environment("PMI_PORT") {
        return Some(Identity { job: format!("pmi-port.{}", digest(&port)), rank });
    }
    let socket: i32 = environment("PMI_FD")?.parse().ok()?;
    let proxy = peer_process(socket)?;
    Some(Identity { job: format!("pmi.{proxy}.{}", start_time(proxy)?), rank })
}

/// PMIx (Open MPI's launchers and others): the namespace, together with the server's address, since a namespace may be a small number.
fn pmix(environment: Environment<'_>) -> Option<Identity> {
    let rank = environment("PMIX_RANK")?.parse().ok()?;
    let namespace = environment("PMIX_NAMESPACE")?;
    let server = ["PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI21", "PMIX_SERVER_URI2"]
        .iter()
        .find_map(|name| environment(name))?;
    Some(Identity { job: format!("pmix.{}", digest(&format!("{namespace} {server}"))), rank })
}

/// Slurm's own variables, where neither of the above is given.
fn slurm(environment: Environment<'_>) -> Option<Identity> {
    let rank = environment("SLURM_PROCID")?.parse().ok()?;
    Some(Identity { job: format!("slurm.{}.{}", environment("SLURM_JOB_ID")?, environment("SLURM_STEP_ID")?), rank })
}

/// Addresses of servers have no bound; the names that sockets are bound to have one, of 107 bytes.
fn digest(text: &str) -> String {
    format!("{:016x}", fnv1a(hash::EMPTY, text.as_bytes()))
}

/// The process at the other end of an inherited socket, as of the socket's making.
fn peer_process(socket: i32) -> Option<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: room for the answer and its length; a descriptor that is no socket is refused by the kernel.
    let code =
        unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut credentials).cast(), &mut length) };
    (code == 0 && credentials.pid > 0).then_some(credentials.pid as u32)
}

/// When a process began, in clock ticks since boot: with its id it names a process for good.
pub fn start_time(pid: u32) -> Option<u64> {
    parse_start_time(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Field 22 of `/proc/PID/stat`; the second field, a file name, may hold blanks and parentheses.
fn parse_start_time(stat: &str) -> Option<u64> {
    stat[stat.rfind(')')? + 1..].split_whitespace().nth(19)?.parse().ok()
}

/// Has the process ended that had this id and began then? A zombie has. `false` also where that cannot be seen (no descriptor left, no
/// `/proc`): a wait must not end because of a rank that lives. No descriptor is kept: the program may close those that it does not know.
pub fn has_ended(pid: u32, start: u64) -> bool {
    // SAFETY: no pointers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH);
    }
    // SAFETY: a new descriptor, owned here.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as RawFd) };
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one element, no waiting.
    let ready = unsafe { libc::poll(&mut poll, 1, 0) } == 1 && poll.revents & libc::POLLIN != 0;
    drop(fd);
    // 0: the process itself could not tell.
    ready || (start != 0 && start_time(pid).is_some_and(|now| now != start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
    }

    #[test]
    fn open_mpi_ranks_of_one_job_share_its_name_and_other_jobs_do_not() {
        let of = |rank, server| {
            pmix(&environment(&[("PMIX_RANK", rank), ("PMIX_NAMESPACE", "1"), ("PMIX_SERVER_URI2", server)])).unwrap()
        };
        let (first, second, other) = (of("0", "a"), of("1", "a"), of("0", "b"));
        assert_eq!(first.job, second.job);
        assert_eq!((first.rank, second.rank), (0, 1));
        assert_ne!(first.job, other.job);
    }

    #[test]
    fn a_socket_pair_names_the_process_that_made_it() {
        let (one, _other) = UnixDatagram::pair().unwrap();
        let fd = one.as_raw_fd().to_string();
        let found = pmi(&environment(&[("PMI_RANK", "3"), ("PMI_FD", &fd)])).unwrap();
        assert_eq!(found.rank, 3);
        let own = std::process::id();
        assert_eq!(found.job, format!("pmi.{own}.{}", start_time(own).unwrap()));
        assert_eq!(pmi(&environment(&[("PMI_RANK", "3"), ("PMI_FD", "-1")])), None);
        assert_eq!(pmi(&environment(&[])), None);
    }

    #[test]
    fn a_name_with_blanks_and_parentheses_does_not_shift_the_start_time() {
        let stat = "12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        assert_eq!(parse_start_time(stat), Some(4711));
    }

    #[test]
    fn a_process_is_seen_to_end_and_a_reused_id_counts_as_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (pid, start) = (child.id(), start_time(child.id()).unwrap());
        assert!(!has_ended(pid, start));
        assert!(has_ended(pid, start + 1));
        child.kill().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(has_ended(pid, start), "a zombie");
        child.wait().unwrap();
        assert!(has_ended(pid, start));
    }

    #[test]
    fn only_a_refused_connection_means_absent() {
        let prefix = format!("transom/test/{}", std::process::id());
        let bind = |rank| UnixDatagram::bind_addr(&address(&prefix, rank).unwrap()).unwrap();
        let (looker, seen) = (Mutex::new(Looker::new().unwrap()), Mutex::default());
        let own = Published { rank: 0, prefix: prefix.clone(), _socket: bind(0), looker, seen };
        let other = bind(1);
        assert!(own.finds(0) && own.finds(1) && !own.finds(2));
        drop(other);
        assert!(!own.finds(1), "gone");
        // The program closes what it does not know, and opens a file of its own there.
        let number = lock(&own.looker).socket.as_raw_fd();
        let file = std::fs::File::open("/dev/null").unwrap();
        // SAFETY: both are open; the old socket is closed in the same step.
        unsafe { libc::dup2(file.as_raw_fd(), number) };
        assert!(!own.finds(2));
        assert_eq!(inode(number).unwrap(), inode(file.as_raw_fd()).unwrap(), "left alone");
    }

    #[test]
    fn a_forked_child_does_not_keep_its_parent_present() {
        let prefix = format!("transom/test/fork/{}", std::process::id());
        let bound = UnixDatagram::bind_addr(&address(&prefix, 0).unwrap()).unwrap();
        forks::watch();
        forks::tell(&bound).unwrap();
        // SAFETY: the child does nothing but wait to be killed.
        let child = unsafe { libc::fork() };
        if child == 0 {
            loop {
                // SAFETY: no preconditions.
                unsafe { libc::pause() };
            }
        }
        assert!(child > 0);
        let mut looker = Looker::new().unwrap();
        assert!(looker.look(&prefix, 0).is_ok());
        drop(bound);
        // The child's handler may still be about to run.
        let gone = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            looker.look(&prefix, 0).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        });
        // SAFETY: our own child.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, core::ptr::null_mut(), 0);
        }
        assert!(gone, "the child holds the address");
    }
}
