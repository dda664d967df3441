//! Sizes, names and heads of files, words that mark unfinished work, and a doc line on every public item.

use crate::{Source, expect_none, of_kind, tree};

/// No file may have more lines: one that does holds two things.
const MAX_LINES: usize = 600;

/// Names that say nothing about what a file owns.
const EMPTY_NAMES: &[&str] = &["mod", "util", "utils", "common", "types", "helpers", "misc"];

/// Marks of unfinished or switched-off work, in pieces so that this file does not hold them.
const UNFINISHED: &[&[&str]] = &[
    &["to", "do!("],
    &["unimple", "mented!("],
    &["FIX", "ME"],
    &["XX", "X"],
    &["place", "holder"],
    &["#[ig", "nore"],
    &["not imple", "mented"],
];

fn sources() -> Vec<Source> {
    let mut all = of_kind(".rs");
    all.extend(of_kind(".lua"));
    all.retain(|s| !s.path.starts_with("tests/sample/"));
    all
}

fn wrong_head(source: &Source) -> Option<String> {
    let head = if source.path.ends_with(".rs") { "//! " } else { "--" };
    let first = source.text.lines().next().unwrap_or_default();
    let first = if first.starts_with("#!") { source.text.lines().nth(1).unwrap_or_default() } else { first };
    (!first.starts_with(head)).then(|| format!("{}: begins with {first:?}, not with {head:?}", source.path))
}

fn unfinished(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in source.text.lines().enumerate() {
        for pieces in UNFINISHED {
            if line.contains(&pieces.concat()) {
                found.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    found
}

/// Public items without a doc line. Modules say what they are at the head of their own file.
fn undocumented(source: &Source) -> Vec<String> {
    const ITEMS: &[&str] = &["fn", "async", "struct", "enum", "trait", "const", "static", "type"];
    let lines: Vec<&str> = source.code().map(|(n, _)| source.text.lines().nth(n - 1).unwrap_or("")).collect();
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let Some(rest) = line.trim_start().strip_prefix("pub ") else { continue };
        if !ITEMS.contains(&rest.split_whitespace().next().unwrap_or_default()) {
            continue;
        }
        let first = above(&lines, i);
        if !first.starts_with("///") {
            found.push(format!("{}:{}: {}", source.path, i + 1, line.trim()));
        }
    }
    found
}

/// The line above line `i`, attributes skipped, also those of several lines.
fn above<'a>(lines: &[&'a str], mut i: usize) -> &'a str {
    let mut inside = false;
    while i > 0 {
        i -= 1;
        let line = lines[i].trim();
        inside = (inside || line.ends_with(")]")) && !line.starts_with("#[");
        if !inside && !line.starts_with("#[") {
            return line;
        }
    }
    ""
}

#[test]
fn no_file_is_longer_than_600_lines() {
    let long = sources();
    let long = long.iter().map(|s| (s.text.lines().count(), &s.path)).filter(|(n, _)| *n > MAX_LINES);
    expect_none("too long", &long.map(|(n, path)| format!("{path}: {n} lines")).collect::<Vec<_>>());
}

#[test]
fn every_file_begins_with_what_it_owns() {
    expect_none("no words at the head", &sources().iter().filter_map(wrong_head).collect::<Vec<_>>());
}

#[test]
fn no_file_has_a_name_that_says_nothing() {
    let empty = |path: &str| {
        let stem = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default().to_string();
        EMPTY_NAMES.contains(&stem.as_str())
    };
    assert!(empty("sidecar/src/agent/mod.rs") && !empty("sidecar/src/model.rs"));
    let found = sources().iter().filter(|s| empty(&s.path)).map(|s| s.path.clone()).collect::<Vec<_>>();
    expect_none("a name that says nothing", &found);
}

#[test]
fn nothing_is_marked_as_unfinished_and_no_test_is_switched_off() {
    expect_none("unfinished", &sources().iter().flat_map(unfinished).collect::<Vec<_>>());
}

#[test]
fn every_public_item_has_a_doc_line() {
    let rust = of_kind(".rs");
    let rust =
        rust.iter().filter(|s| s.path.contains("/src/") && !s.is_test() || s.path.starts_with("tests/src/"));
    expect_none("no doc line", &rust.flat_map(undocumented).collect::<Vec<_>>());
}

#[test]
fn scripts_are_found_too() {
    assert!(tree().iter().any(|s| s.path == ".ci/run"), "the walk over the tree misses hidden folders");
}

#[test]
fn each_rule_of_style_can_fail() {
    let bare = Source::new("sidecar/src/a.rs", "use x;\npub fn a() {}\n");
    assert!(wrong_head(&bare).is_some());
    assert_eq!(undocumented(&bare).len(), 1);
    let good = "//! Owns a.\n/// Does a.\n#[expect(\n  dead_code,\n  reason = \"x\",\n)]\n#[must_use]\npub fn a() {}\n";
    let good = Source::new("sidecar/src/a.rs", good);
    assert!(wrong_head(&good).is_none());
    assert_eq!(undocumented(&good), Vec::<String>::new());
    let open = Source::new("sidecar/src/a.rs", &format!("fn a() {{ {}) }}\n", UNFINISHED[0].concat()));
    assert_eq!(unfinished(&open).len(), 1);
}
