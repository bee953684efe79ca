//! The `TRANSOM_*` variables, read once at start.

use std::sync::OnceLock;

/// What the environment asks for. The README has the table for users.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// `TRANSOM_REQUIRE`: a window that would be left to the host is an error.
    pub require: bool,
    /// `TRANSOM_VERBOSE`: say on stderr what is decided, and why.
    pub verbose: bool,
    /// `TRANSOM_DISABLE`: leave everything to the host; other ranks see this one as a rank without Transom.
    pub disable: bool,
    /// `TRANSOM_STATS`: a summary over all ranks at `MPI_Finalize`.
    pub stats: bool,
}

/// The process's configuration.
pub fn get() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| Config {
        require: flag("TRANSOM_REQUIRE"),
        verbose: flag("TRANSOM_VERBOSE"),
        disable: flag("TRANSOM_DISABLE"),
        stats: flag("TRANSOM_STATS"),
    })
}

fn flag(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| is_yes(value.to_str().unwrap_or("1")))
}

/// Empty, `0`, `no`, `off` and `false` mean no; anything else means yes.
fn is_yes(value: &str) -> bool {
    !matches!(value.trim().to_ascii_lowercase().as_str(), "" | "0" | "no" | "off" | "false")
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn what_users_write_for_no_means_no() {
        for no in ["", "0", "no", "Off", "FALSE", " 0 "] {
            assert!(!is_yes(no), "{no}");
        }
        for yes in ["1", "yes", "on", "true", "2"] {
            assert!(is_yes(yes), "{yes}");
        }
    }
}
