//! Trying what this machine offers, by doing it: each trial in processes of its own, so that a system call that is answered by a signal,
//! hangs or leaves something behind harms nobody.

use core::ffi::c_long;

use super::child::{Child, Speaker, refusal};

/// What was seen, or why it is refused.
pub(crate) type Answer = Result<String, String>;

/// Runs a trial in one process.
pub(crate) fn alone(trial: impl FnOnce() -> Answer) -> Answer {
    answer_of(Child::start(|speaker| say(speaker, trial()))?)
}

/// Runs a trial in two processes that are to each other what ranks under one launcher are: neither is the other's parent, which some
/// systems ask for. The target names a place and stays, doing what it does, until the origin, given the target's id and that name, has
/// done its part.
pub(crate) fn between_ranks(
    target: impl FnOnce() -> Answer,
    stay: impl FnOnce(),
    origin: impl FnOnce(libc::pid_t, &str) -> Answer,
) -> Answer {
    let mut target = Child::start(|speaker| {
        say(speaker, target());
        stay();
    })?;
    let pid = target.pid();
    let place = match told(&mut target) {
        Some(place) => place?,
        None => return Err(ended(target)),
    };
    let answer = answer_of(Child::start(|speaker| say(speaker, origin(pid, &place)))?);
    drop(target);
    answer
}

/// Nothing: whatever the named place belongs to only has to outlive the origin.
pub(crate) fn idle() {
    loop {
        // SAFETY: waits for a signal, which ends this process at the latest when its time is up.
        unsafe { libc::pause() };
    }
}

fn say(speaker: &mut Speaker, answer: Answer) {
    match answer {
        Ok(seen) => speaker.say(&format!("+{seen}")),
        Err(reason) => speaker.say(&format!("-{reason}")),
    }
}

fn told(child: &mut Child) -> Option<Answer> {
    let line = child.line()?;
    let text = line.get(1..)?.to_owned();
    Some(if line.starts_with('+') { Ok(text) } else { Err(text) })
}

fn answer_of(mut child: Child) -> Answer {
    told(&mut child).unwrap_or_else(|| Err(ended(child)))
}

fn ended(child: Child) -> String {
    format!("the process that tried it {}", child.end())
}

/// The result of a system call, or its refusal.
pub(crate) fn check(call: &str, result: c_long) -> Result<c_long, String> {
    if result == -1 { Err(refusal(call)) } else { Ok(result) }
}
