//! The table of collected failures (`cases.txt`) against the tests that exist.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

const CASES: u32 = 89;

/// Number → (what went wrong, tests or reason).
fn table() -> BTreeMap<u32, (String, String)> {
    let path = root().join("tests/cases.txt");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut table = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [number, what, shown] = parts[..] else { panic!("not three parts: {line}") };
        let number = number.parse().unwrap_or_else(|_| panic!("no number: {line}"));
        assert!(!what.is_empty() && !shown.is_empty(), "blank: {line}");
        assert!(table.insert(number, (what.to_owned(), shown.to_owned())).is_none(), "twice: {line}");
    }
    table
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_number_has_a_test_or_a_reason() {
    let numbers: Vec<u32> = table().into_keys().collect();
    assert_eq!(numbers, (1..=CASES).collect::<Vec<_>>());
}

/// `FILE::NAME` is a function of `tests/FILE.rs` from which tests are made.
#[test]
fn every_named_test_exists() {
    for (number, (_, shown)) in table() {
        let tests: Vec<&str> = shown.split_whitespace().filter(|word| word.contains("::")).collect();
        assert!(shown.starts_with("- ") || tests.len() == shown.split_whitespace().count(), "case {number}: {shown}");
        for test in tests {
            let (file, name) = test.split_once("::").expect("it holds ::");
            let path = root().join("tests").join(file).with_extension("rs");
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("case {number}: {}: {error}", path.display()));
            let defined = text.contains(&format!("fn {name}("));
            let listed = text.lines().any(|line| {
                let line = line.trim_start();
                line.strip_prefix(name).is_some_and(|rest| rest.starts_with([';', ',']))
            });
            assert!(defined && listed, "case {number}: {test} is not a test");
        }
    }
}
