//! Info keys of windows (MPI-4.1, section 12.2.1). What is said of accumulates and locks is kept and told back; no result depends on it.

use super::Flavor;
use crate::host::abi::MPI_Info;
use crate::host::info;
use crate::node::memory;
use core::ffi::CStr;
use std::ffi::CString;

/// `transom=host`: leave this window to the host.
pub fn asks_for_host(info: MPI_Info) -> bool {
    info::value(info, c"transom").is_some_and(|value| value.trim().eq_ignore_ascii_case("host"))
}

/// `alloc_shared_noncontig=true`: the parts of a shared window need not touch.
pub fn allows_gaps(info: MPI_Info) -> bool {
    boolean(info, c"alloc_shared_noncontig") == Some(true)
}

/// `mpi_minimum_memory_alignment`, where it is a power of two that can be given; a cache line otherwise.
pub fn alignment(info: MPI_Info) -> usize {
    number(info, c"mpi_minimum_memory_alignment")
        .filter(|align| align.is_power_of_two() && *align <= memory::MAX_ALIGN)
        .unwrap_or(memory::LINE)
}

fn boolean(info: MPI_Info, key: &CStr) -> Option<bool> {
    match info::value(info, key)?.trim().to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

fn number(info: MPI_Info, key: &CStr) -> Option<usize> {
    info::value(info, key)?.trim().parse().ok()
}

/// Orders between accumulates of one origin, in the order in which they are told back.
const ORDERS: [&str; 4] = ["rar", "raw", "war", "waw"];

/// A comma-separated choice of [`ORDERS`], or `none`.
fn ordering(value: &str) -> Option<[bool; ORDERS.len()]> {
    let mut chosen = [false; ORDERS.len()];
    if value.trim().eq_ignore_ascii_case("none") {
        return Some(chosen);
    }
    for word in value.split(',') {
        let position = ORDERS.iter().position(|order| word.trim().eq_ignore_ascii_case(order))?;
        chosen[position] = true;
    }
    Some(chosen)
}

fn ordering_text(chosen: [bool; ORDERS.len()]) -> String {
    let words: Vec<&str> = ORDERS.iter().zip(chosen).filter_map(|(order, chosen)| chosen.then_some(*order)).collect();
    if words.is_empty() { "none".into() } else { words.join(",") }
}

/// The hints of a window with the values in use. A value that is none of its key's leaves that as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hints {
    no_locks: bool,
    ordering: [bool; ORDERS.len()],
    same_op: bool,
    granularity: usize,
    same_size: bool,
    same_unit: bool,
    /// Shared windows only.
    gaps: Option<bool>,
    /// Where the window's memory is allocated.
    alignment: Option<usize>,
}

impl Hints {
    /// What a window has from its creation on. `gaps` is what all ranks have agreed on.
    pub fn new(flavor: Flavor, info: MPI_Info, gaps: bool) -> Hints {
        let mut hints = Hints {
            no_locks: false,
            ordering: [true; ORDERS.len()],
            same_op: false,
            granularity: 0,
            same_size: false,
            same_unit: false,
            gaps: None,
            alignment: (flavor != Flavor::Create).then(|| alignment(info)),
        };
        hints.update(info);
        hints.gaps = (flavor == Flavor::Shared).then_some(gaps);
        hints
    }

    /// `MPI_Win_set_info`. How memory was allocated stays as it is.
    pub fn update(&mut self, info: MPI_Info) {
        fn set<T>(place: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *place = value;
            }
        }
        set(&mut self.no_locks, boolean(info, c"no_locks"));
        set(&mut self.ordering, info::value(info, c"accumulate_ordering").and_then(|value| ordering(&value)));
        let same_op = info::value(info, c"accumulate_ops").and_then(|value| match value.trim() {
            "same_op" => Some(true),
            "same_op_no_op" => Some(false),
            _ => None,
        });
        set(&mut self.same_op, same_op);
        set(&mut self.granularity, number(info, c"mpi_accumulate_granularity"));
        set(&mut self.same_size, boolean(info, c"same_size"));
        set(&mut self.same_unit, boolean(info, c"same_disp_unit"));
        if let Some(gaps) = &mut self.gaps {
            // Of no effect any more; told back all the same, as MPICH does and its tests ask for.
            set(gaps, boolean(info, c"alloc_shared_noncontig"));
        }
    }

    /// Keys and values for `MPI_Win_get_info`.
    pub fn list(&self) -> Vec<(&'static CStr, CString)> {
        let text = |text: &str| CString::new(text).expect("no value has a zero byte");
        let boolean = |value: bool| text(if value { "true" } else { "false" });
        let mut list = vec![
            (c"no_locks", boolean(self.no_locks)),
            (c"accumulate_ordering", text(&ordering_text(self.ordering))),
            (c"accumulate_ops", text(if self.same_op { "same_op" } else { "same_op_no_op" })),
            (c"mpi_accumulate_granularity", text(&self.granularity.to_string())),
            (c"same_size", boolean(self.same_size)),
            (c"same_disp_unit", boolean(self.same_unit)),
            (c"transom", text("auto")),
        ];
        if let Some(gaps) = self.gaps {
            list.push((c"alloc_shared_noncontig", boolean(gaps)));
        }
        if let Some(alignment) = self.alignment {
            list.push((c"mpi_minimum_memory_alignment", text(&alignment.to_string())));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_told_back_in_the_standards_order() {
        let both = |value| ordering(value).map(ordering_text);
        assert_eq!(both("waw,rar").as_deref(), Some("rar,waw"));
        assert_eq!(both(" WAR , raw,rar,waw").as_deref(), Some("rar,raw,war,waw"));
        assert_eq!(both("none").as_deref(), Some("none"));
        for odd in ["", "rar,", "none,rar", "rarely", "true"] {
            assert_eq!(both(odd), None, "{odd:?}");
        }
    }
}
