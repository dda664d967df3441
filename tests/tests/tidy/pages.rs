//! Pages that must say the same as the machinery: README, CHANGELOG, CONTRIBUTING, Makefile and .ci/run.

use crate::{expect_none, field_cases, page};

/// The targets that people and scripts rely on.
const TARGETS: &[&str] =
    &["help", "setup", "build", "demo", "test", "e2e", "lint", "fix", "bench", "interop", "ci"];

/// The recipe of a target: its tab-indented lines.
fn recipe<'a>(makefile: &'a str, target: &str) -> Vec<&'a str> {
    let head = format!("{target}:");
    let lines = makefile.lines().skip_while(|l| !l.starts_with(&head)).skip(1);
    lines.take_while(|l| l.starts_with('\t')).collect()
}

#[test]
fn the_makefile_has_every_target_and_explains_it() {
    let makefile = page("Makefile");
    let explained =
        |t: &&&str| makefile.lines().any(|l| l.starts_with(&format!("{t}:")) && l.contains(" ## "));
    let silent = TARGETS.iter().filter(|t| !explained(t)).map(|t| t.to_string()).collect::<Vec<_>>();
    expect_none("targets that are missing or not explained", &silent);
}

#[test]
fn continuous_integration_runs_the_test_command_of_the_readme_and_the_demo_without_a_terminal() {
    assert!(page("README.md").contains("`make test`"), "README.md does not say how to run the tests");
    assert!(page(".ci/run").contains("make ci"), ".ci/run does not call `make ci`");
    let makefile = page("Makefile");
    let ci = recipe(&makefile, "ci").join("\n");
    for part in ["lint", "test", "demo </dev/null", "interop"] {
        assert!(
            ci.contains(&format!("$(MAKE) --no-print-directory {part}")),
            "`make ci` does not run {part}"
        );
    }
}

#[test]
fn readme_changelog_contributing_and_licence_are_there() {
    assert!(page("LICENSE").contains("Apache License"));
    assert!(page("README.md").contains("LGPL-3.0"), "README.md does not name the licence of nvim-rs");
    assert!(page("CONTRIBUTING.md").lines().count() > 10);
    let changes = page("CHANGELOG.md");
    let first = changes.lines().skip_while(|l| !l.starts_with("## ")).skip(1);
    assert!(
        first.take_while(|l| !l.starts_with("## ")).any(|l| l.starts_with("- ")),
        "CHANGELOG.md is empty"
    );
}

#[test]
fn every_invariant_of_the_architecture_has_a_guard_that_exists() {
    let page = page("ARCHITECTURE.md");
    let rows: Vec<&str> = page
        .lines()
        .filter(|l| l.strip_prefix("| ").is_some_and(|l| l.starts_with(char::is_numeric)))
        .collect();
    assert_eq!(rows.len(), 12, "the table of invariants");
    let tests = field_cases::tests();
    let mut wrong = Vec::new();
    for row in rows {
        let guard = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let named: Vec<&str> = guard.split('`').skip(1).step_by(2).collect();
        // Names of tests are sentences; other names in backticks are files.
        let gone = named.iter().filter(|n| n.contains('_') && !n.contains('.') && !tests.contains(**n));
        wrong.extend(gone.map(|name| format!("no such test: {name}")));
        if named.is_empty() || guard.contains("TBD") {
            wrong.push(format!("no guard: {row}"));
        }
    }
    expect_none("invariants in ARCHITECTURE.md", &wrong);
}
