//! Rules about the sources that no compiler checks: who may use what, sizes, names, and pages that must match the tree.
//!
//! Reads the checkout, changes nothing, runs nothing. Each rule is a function over texts, so that each has a test in
//! which it fails. To move a wall, edit the table in `walls.rs`: every entry says why it is there.

mod field_cases;
mod map;
mod pages;
mod style;
mod walls;

use std::path::{Path, PathBuf};

/// A file of the checkout.
pub struct Source {
    /// Relative to the top of the checkout, with forward slashes.
    pub path: String,
    /// Its text; bytes that are not UTF-8 are replaced.
    pub text: String,
}

impl Source {
    /// A made-up file, for the tests of the rules themselves.
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// Whether this is a file of tests only, by its name.
    pub fn is_test(&self) -> bool {
        self.path.starts_with("tests/") || self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }

    /// The lines of code, numbered from 1: without comments, and without the tests at the end of the file.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lua = self.path.ends_with(".lua");
        let lines = self.text.lines().enumerate().map(|(i, line)| (i + 1, line));
        let lines = lines.take_while(|(_, line)| line.trim() != "#[cfg(test)]");
        lines.map(move |(n, line)| (n, before_comment(line, if lua { "--" } else { "//" })))
    }
}

/// The part of a line before a comment starts. A `//` inside a string counts as a comment too, but for one after a
/// colon (`file://`): the rules look for names of crates and functions, which do not stand behind such a string.
fn before_comment<'a>(line: &'a str, start: &str) -> &'a str {
    let at = line.match_indices(start).find(|(i, _)| *i == 0 || line.as_bytes()[i - 1] != b':');
    &line[..at.map_or(line.len(), |(i, _)| i)]
}

/// The top of the checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests' folder lies in the checkout")
        .to_path_buf()
}

/// A page of the checkout, which must exist.
pub fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Every file under the folders that hold sources, sorted by path.
pub fn tree() -> Vec<Source> {
    let mut found = Vec::new();
    for top in ["sidecar", "nvim-plugin", "lua", "plugin", "tests", ".ci"] {
        walk(&root().join(top), &mut found);
    }
    for file in ["Makefile", ".luacheckrc", "stylua.toml", "rustfmt.toml"] {
        found.push(root().join(file));
    }
    found.sort();
    let read = |path: PathBuf| {
        let name =
            path.strip_prefix(root()).expect("found under the root").to_string_lossy().replace('\\', "/");
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        Source { path: name, text: String::from_utf8_lossy(&bytes).into_owned() }
    };
    found.into_iter().map(read).collect()
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(list) = std::fs::read_dir(dir) else { return };
    for entry in list.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if name == "target" || name == "tags" || name.to_string_lossy().ends_with(".swp") {
            continue;
        }
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

/// Sources of the given kind.
pub fn of_kind(kind: &str) -> Vec<Source> {
    let sources: Vec<_> = tree().into_iter().filter(|s| s.path.ends_with(kind)).collect();
    assert!(!sources.is_empty(), "no {kind} file was found: this test looks in the wrong place");
    sources
}

/// Fails with one line per finding.
pub fn expect_none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}
