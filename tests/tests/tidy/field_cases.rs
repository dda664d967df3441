//! The table of field cases: every case names tests that exist, a later subject, or the reason why it does not apply.

use std::collections::BTreeSet;

use crate::{expect_none, of_kind, page, tree};

/// How many cases the collection holds; a row that is lost is noticed.
const CASES: usize = 90;

/// Subjects that are still to come. A case is moved out of here by a test.
const LATER: &[&str] = &[
    "review and policy",
    "terminals",
    "many sessions and history",
    "robustness and limits",
    "presets and sign-in",
];

/// The rows of the table: id, subject, and what is said about it.
fn rows(page: &str) -> Vec<[String; 3]> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| B")?.split(" | ").map(str::trim).collect();
        let [id, subject, rest @ ..] = cells.as_slice() else { return None };
        let rest = rest.join(" | ");
        Some([format!("B{id}"), subject.to_string(), rest.trim_end_matches('|').trim().to_string()])
    };
    page.lines().filter_map(row).collect()
}

/// What is wrong with a row, given the names of all tests.
fn wrong(row: &[String; 3], tests: &BTreeSet<String>) -> Option<String> {
    let [id, subject, said] = row;
    let digits = &id[1..];
    if !(2..=3).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Some(format!("{id}: not an id"));
    }
    if subject.is_empty() {
        return Some(format!("{id}: no subject"));
    }
    if let Some(reason) = said.strip_prefix("does not apply: ") {
        return (reason.len() < 20).then(|| format!("{id}: no reason why it does not apply"));
    }
    if let Some(later) = said.strip_prefix("later: ") {
        let subject = later.split(';').next().unwrap_or(later).trim();
        return (!LATER.contains(&subject)).then(|| format!("{id}: unknown later subject {subject:?}"));
    }
    let named: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
    if named.is_empty() {
        return Some(format!("{id}: neither a test, nor `later: SUBJECT`, nor `does not apply: REASON`"));
    }
    let gone: Vec<&str> = named.into_iter().filter(|n| !tests.contains(*n)).collect();
    (!gone.is_empty()).then(|| format!("{id}: no such test: {}", gone.join(", ")))
}

/// Names of all test functions in Rust, and of all specs in Lua (the text in `T['…']`, or at
/// the head of a table).
pub fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for source in of_kind(".rs") {
        let mut marked = false;
        for line in source.text.lines().map(str::trim) {
            if line.starts_with("#[") {
                marked |= line.contains("test");
            } else if let Some((_, rest)) = line.split_once("fn ") {
                if marked {
                    names.insert(rest.split(['(', '<']).next().unwrap_or_default().to_string());
                }
                marked = false;
            }
        }
    }
    for source in tree().iter().filter(|s| s.path.ends_with(".lua") && s.path.starts_with("tests/")) {
        let mut before = "";
        for line in source.text.lines().map(str::trim) {
            let alone = Some(line).filter(|_| before == "{");
            let spec = line.strip_prefix("T[").or_else(|| line.strip_prefix("{ ")).or(alone);
            let quoted = spec.and_then(|s| s.strip_prefix('\'')).and_then(|s| s.split('\'').next());
            names.extend(quoted.map(str::to_string));
            before = line;
        }
    }
    names
}

#[test]
fn every_field_case_has_a_test_a_later_subject_or_a_reason() {
    let tests = tests();
    let table = rows(&page("tests/FIELD_CASES.md"));
    expect_none("tests/FIELD_CASES.md", &table.iter().filter_map(|r| wrong(r, &tests)).collect::<Vec<_>>());
    let ids: BTreeSet<&String> = table.iter().map(|[id, ..]| id).collect();
    assert_eq!(ids.len(), table.len(), "a case stands in tests/FIELD_CASES.md twice");
    assert_eq!(table.len(), CASES, "cases were lost from tests/FIELD_CASES.md");
}

#[test]
fn a_row_that_names_nothing_real_is_refused() {
    let tests = BTreeSet::from(["a_real_test".to_string()]);
    let check = |line: &str, good: bool| {
        let found = rows(line);
        assert_eq!(found.len(), 1, "{line}");
        assert_eq!(wrong(&found[0], &tests).is_none(), good, "{line}");
    };
    check("| B01 | reads | `a_real_test` |", true);
    check("| B01 | reads | `a_real_test`; `another` |", false);
    check("| B01 | reads | TBD |", false);
    check("| B01 | reads | later: terminals |", true);
    check("| B01 | reads | later: some day |", false);
    check("| B01 | reads | does not apply: no |", false);
    check("| B1x | reads | later: terminals |", false);
}

#[test]
fn names_of_tests_are_collected() {
    assert!(tests().contains("names_of_tests_are_collected"));
    assert!(tests().contains("cursors, marks, folds and views of all windows follow the text"));
    assert!(!tests().contains("wrong"), "functions that are no tests must not count");
}
