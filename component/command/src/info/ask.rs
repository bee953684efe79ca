//! Asking an MPI library what it is, and trying whether Transom starts in front of it: in a process of its own, since loading somebody's
//! library may do anything.

use core::ffi::{CStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use transom::base::family::{self, Family};

use super::child::{Child, End, Speaker, c_string};
use super::report::Host;

/// A library that is being asked.
pub(crate) struct Asked {
    path: PathBuf,
    /// How it was come by.
    found: Vec<String>,
    /// Or why it cannot be asked.
    child: Result<Child, String>,
}

/// Begins to ask a library; `object` is what would be preloaded.
pub(crate) fn start(path: PathBuf, found: Vec<String>, object: Option<&Path>) -> Asked {
    let name = c_string(path.as_os_str().as_bytes());
    let child = Child::start(|speaker| answer(&name, object, speaker).unwrap_or_else(|reason| say(speaker, REASON, &reason)));
    Asked { path, found, child }
}

// First words of the lines that the child says.
const ASKING: &str = "asking";
const SAYS: &str = "says";
const FAMILY: &str = "family";
const TRYING: &str = "trying";
const ENGINE: &str = "engine";
const REASON: &str = "reason";

fn say(speaker: &mut Speaker, word: &str, text: &str) {
    speaker.say(&format!("{word}\t{text}"));
}

fn answer(name: &CStr, object: Option<&Path>, speaker: &mut Speaker) -> Result<(), String> {
    let host = load(name)?;
    say(speaker, ASKING, "");
    let symbol = |name: &CStr| look_up(host, name);
    symbol(c"PMPI_Init").ok_or("it is no MPI: it has no PMPI_Init")?;
    // SAFETY: the library's own symbols.
    if let Some(version) = unsafe { family::version(symbol) } {
        say(speaker, SAYS, version.lines().next().unwrap_or_default());
    }
    // SAFETY: as above.
    let family = unsafe { Family::of(&name.to_string_lossy(), symbol) }?;
    say(speaker, FAMILY, family.name());
    let Some(object) = object else { return Err("libtransom.so is missing".into()) };
    say(speaker, TRYING, "");
    // What it says when it cannot serve is the reason; that alone is wanted.
    speaker.pass_on_errors();
    // SAFETY: no other thread of this process reads the environment.
    unsafe {
        std::env::set_var("TRANSOM_REQUIRE", "1");
        std::env::remove_var("TRANSOM_VERBOSE");
    }
    let transom = load(&c_string(object.as_os_str().as_bytes()))?;
    // The first MPI call of a process makes Transom choose its engine and start it, and this is the one that may be made at any time.
    let first = look_up(transom, c"MPI_Initialized").ok_or("libtransom.so exports no MPI function")?;
    // SAFETY: MPI's prototype of the function.
    let first = unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> c_int>(first) };
    let mut flag = 0;
    // SAFETY: a place for the answer.
    unsafe { first(&mut flag) };
    let engine = object.with_file_name(family.engine());
    let name = c_string(engine.as_os_str().as_bytes());
    // SAFETY: a C string; NOLOAD only tells whether the object is loaded.
    if unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) }.is_null() {
        return Err("libtransom.so does not find it among the loaded objects".into());
    }
    say(speaker, ENGINE, &engine.to_string_lossy());
    Ok(())
}

fn load(name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: a C string; what the object's constructors do is this process's own risk.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: after a failure the loader has a text, which stays until its next call.
    let text = unsafe { CStr::from_ptr(libc::dlerror()) };
    Err(format!("the loader cannot load it: {}", text.to_string_lossy()))
}

fn look_up(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a live handle and a C string.
    let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!symbol.is_null()).then_some(symbol)
}

impl Asked {
    /// Waits for the answer.
    pub(crate) fn answer(self) -> Host {
        let mut host = Host::new(self.path.to_string_lossy().into_owned(), self.found);
        let mut child = match self.child {
            Ok(child) => child,
            Err(reason) => return Host { reason: Some(reason), ..host },
        };
        let (mut doing, mut complaints) = ("being loaded", Vec::new());
        while host.engine.is_none()
            && host.reason.is_none()
            && let Some(line) = child.line()
        {
            match line.split_once('\t') {
                Some((ASKING, _)) => doing = "being asked for its version",
                Some((SAYS, text)) => {
                    (host.name, host.version) = name_and_version(text);
                    host.says = Some(text.trim().into());
                }
                Some((FAMILY, name)) => {
                    host.family = [Family::Mpich, Family::OpenMpi].map(Family::name).into_iter().find(|known| *known == name);
                }
                Some((TRYING, _)) => doing = "being put behind Transom",
                Some((ENGINE, engine)) => host.engine = Some(engine.into()),
                Some((REASON, reason)) => host.reason = Some(reason.into()),
                // What Transom says before it ends the process is why.
                _ => complaints.extend(line.strip_prefix("transom: ").map(why)),
            }
        }
        host.served = host.engine.is_some();
        if !host.served && host.reason.is_none() {
            host.reason = Some(if complaints.is_empty() {
                let end = match child.end() {
                    end @ End::Late => format!("it {end}"),
                    end => format!("its process {end}"),
                };
                format!("{end} while {doing}")
            } else {
                complaints.join("; ")
            });
        }
        host
    }
}

/// The reason in a line of `libtransom.so`, which goes on to say what follows from it.
fn why(line: &str) -> String {
    line.strip_suffix("; TRANSOM_REQUIRE is set, so the program ends here").unwrap_or(line).into()
}

/// `MPICH Version:\t4.0.2`, `Open MPI v4.1.4, package: …`, `Intel(R) MPI Library 2021.11 for Linux* OS`.
fn name_and_version(text: &str) -> (Option<String>, Option<String>) {
    let words = || text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    let number = words().find(|word| word.strip_prefix('v').unwrap_or(word).starts_with(|first: char| first.is_ascii_digit()));
    let before = number.and_then(|number| text.split(number).next()).unwrap_or(text);
    let label = before.rsplit(':').find(|part| !part.trim().is_empty()).unwrap_or_default();
    let name: Vec<&str> = label.split_whitespace().filter(|word| !word.eq_ignore_ascii_case("version")).collect();
    ((!name.is_empty()).then(|| name.join(" ")), number.map(|number| number.trim_start_matches('v').into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_are_told_apart() {
        for (text, name, version) in [
            ("MPICH Version:\t4.0.2", "MPICH", Some("4.0.2")),
            ("MPICH Version:      5.0.0b1", "MPICH", Some("5.0.0b1")),
            ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022", "Open MPI", Some("4.1.4")),
            ("Intel(R) MPI Library 2021.11 for Linux* OS", "Intel(R) MPI Library", Some("2021.11")),
            ("MVAPICH2 Version      :\t2.3.7", "MVAPICH2", Some("2.3.7")),
            ("MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)", "CRAY MPICH", Some("8.1.28.15")),
            ("Toy MPI", "Toy MPI", None),
        ] {
            assert_eq!(name_and_version(text), (Some(name.into()), version.map(Into::into)), "{text}");
        }
        assert_eq!(name_and_version(""), (None, None));
    }

    #[test]
    fn the_reason_is_taken_out_of_the_line() {
        assert_eq!(why("no engine; TRANSOM_REQUIRE is set, so the program ends here"), "no engine");
        assert_eq!(why("something else"), "something else");
    }
}
