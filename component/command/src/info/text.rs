//! The report as people read it: what matters first.

use std::fmt::{self, Display, Formatter};

use super::report::{Argument, Facility, Host, HugePages, Machine, Report, Usage, Variable};

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "transom {}: {}", self.transom.version, either(&self.transom.object, &self.transom.reason))?;
        let hosts = || self.arguments.iter().filter_map(|argument| argument.host.as_ref()).chain(&self.hosts);
        // As far as there are lines to align: one long name must not push all the others out of sight.
        let width =
            |text: fn(&Host) -> String| hosts().map(|host| text(host).len()).filter(|width| *width < 48).max().unwrap_or(0);
        let widths = (width(called), width(|host| host.path.clone()));
        if !self.arguments.is_empty() {
            writeln!(f, "\nAsked about")?;
            self.arguments.iter().try_for_each(|argument| write_argument(f, argument, widths))?;
        }
        writeln!(f, "\nMPI libraries found{}", if self.hosts.is_empty() { ": none" } else { "" })?;
        self.hosts.iter().try_for_each(|host| writeln!(f, "  {}", told(host, widths)))?;
        writeln!(f)?;
        write_machine(f, &self.machine)?;
        writeln!(f, "\nVariables{}", if self.variables.is_empty() { ": none of Transom's is set" } else { "" })?;
        self.variables.iter().try_for_each(|variable| write_variable(f, variable))
    }
}

fn either<'a>(first: &'a Option<String>, second: &'a Option<String>) -> &'a str {
    first.as_ref().or(second.as_ref()).map_or("", String::as_str)
}

fn write_argument(f: &mut Formatter<'_>, argument: &Argument, widths: (usize, usize)) -> fmt::Result {
    match (&argument.host, &argument.path) {
        (Some(host), _) if host.path == argument.argument => writeln!(f, "  {}", told(host, widths)),
        (Some(host), _) => writeln!(f, "  {} gets {}, {}: {}", argument.argument, called(host), host.path, verdict(host)),
        (None, Some(path)) if *path != argument.argument => {
            writeln!(f, "  {} ({path}): {}", argument.argument, either(&argument.reason, &None))
        }
        (None, _) => writeln!(f, "  {}: {}", argument.argument, either(&argument.reason, &None)),
    }
}

/// What it calls itself.
fn called(host: &Host) -> String {
    let mut words: Vec<String> = [&host.name, &host.version].into_iter().flatten().cloned().collect();
    words.extend(host.family.map(|family| format!("({family} family)")));
    if words.is_empty() { "an unknown MPI".into() } else { words.join(" ") }
}

fn told(host: &Host, widths: (usize, usize)) -> String {
    let path = format!("{}:", host.path);
    format!("{:<name$}  {path:<place$} {}", called(host), verdict(host), name = widths.0, place = widths.1 + 1)
}

fn verdict(host: &Host) -> String {
    match &host.engine {
        // It lies beside the object that the first line names.
        Some(engine) => format!("served by {}", engine.rsplit('/').next().unwrap_or(engine)),
        None => format!("not served: {}", either(&host.reason, &None)),
    }
}

fn write_machine(f: &mut Formatter<'_>, machine: &Machine) -> fmt::Result {
    let cores = match (machine.cores.usable, machine.cores.online) {
        (usable, online) if usable == online => format!("{online} cores"),
        (usable, online) => format!("{usable} of {online} cores"),
    };
    let verdict = match &machine.reason {
        None => "windows of its ranks can be served".into(),
        Some(reason) => format!("windows of its ranks cannot be served: {reason}"),
    };
    writeln!(f, "This machine ({}, {cores}): {verdict}", machine.kernel)?;
    for usage in [Usage::Used, Usage::NotYet] {
        for facility in machine.facilities.iter().filter(|facility| facility.usage == usage) {
            write_facility(f, machine, facility)?;
        }
    }
    let limit = |bytes: Option<u64>| bytes.map_or("no limit".into(), size);
    let memlock = format!("pinned memory: {}, at most {}", limit(machine.memlock.soft), limit(machine.memlock.hard));
    line(f, "memlock limit", "", Usage::NotYet, &memlock)?;
    let dev_shm = machine.dev_shm.size.map_or("not there".into(), size);
    line(f, "/dev/shm", "", Usage::NotNeeded, &dev_shm)
}

fn write_facility(f: &mut Formatter<'_>, machine: &Machine, facility: &Facility) -> fmt::Result {
    let (name, set_aside) = match facility.name {
        "proc_fd" => ("/proc/PID/fd", Vec::new()),
        "huge_pages" => ("huge pages", machine.huge_pages.iter().filter(|pages| pages.total > 0).map(free).collect()),
        name => (name, Vec::new()),
    };
    let mut detail = vec![facility.purpose.to_owned()];
    detail.extend(set_aside);
    if !facility.offered {
        detail = vec![facility.detail.clone()];
        detail.extend(facility.without.map(str::to_owned));
    }
    line(f, name, if facility.offered { "yes" } else { "no" }, facility.usage, &detail.join("; "))
}

fn free(pages: &HugePages) -> String {
    format!("{} of {} pages of {} free", pages.free, pages.total, size(pages.size))
}

fn line(f: &mut Formatter<'_>, name: &str, offered: &str, usage: Usage, detail: &str) -> fmt::Result {
    let usage = match usage {
        Usage::Used => "used",
        Usage::NotYet => "not used yet",
        Usage::NotNeeded => "not needed",
    };
    writeln!(f, "  {name:<13}  {offered:<3}  {usage:<12}  {detail}")
}

fn write_variable(f: &mut Formatter<'_>, variable: &Variable) -> fmt::Result {
    let means = match variable.means {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not known to this version",
    };
    writeln!(f, "  {}={}  {means}", variable.name, variable.value)
}

/// `8 MiB`, `23.5 GiB`.
fn size(bytes: u64) -> String {
    let unit = (bytes.max(1).ilog2() / 10).min(4);
    let name = ["bytes", "KiB", "MiB", "GiB", "TiB"][unit as usize];
    let number = format!("{:.1}", bytes as f64 / (1_u64 << (10 * unit)) as f64);
    format!("{} {name}", number.trim_end_matches(".0"))
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_told_in_units_of_their_own_size() {
        for (bytes, text) in
            [(0, "0 bytes"), (1023, "1023 bytes"), (65_536, "64 KiB"), (8 << 20, "8 MiB"), (25_276_510_208, "23.5 GiB")]
        {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(size(u64::MAX), "16777216 TiB");
    }
}
