//! The code map of ARCHITECTURE.md against the tree: every file is in it, and it names nothing that is not there.
//!
//! The map is the section headed "Code map": each list item or table row begins with a path in backticks. A path that
//! ends in `/` stands for everything in that folder.

use crate::{expect_none, page, root, tree};

/// The paths of the map, as written.
fn mapped(page: &str) -> Vec<String> {
    let start = page.lines().skip_while(|l| !(l.starts_with("## ") && l.contains("Code map"))).skip(1);
    let section = start.take_while(|l| !l.starts_with("## "));
    let path = |line: &str| {
        let item = line.trim_start().strip_prefix("- `").or_else(|| line.strip_prefix("| `"))?;
        item.split('`').next().map(str::to_string)
    };
    section.filter_map(path).collect()
}

fn missing(map: &[String], files: &[String]) -> Vec<String> {
    let covered =
        |file: &String| map.iter().any(|m| m == file || (m.ends_with('/') && file.starts_with(m.as_str())));
    files.iter().filter(|f| !covered(f)).cloned().collect()
}

#[test]
fn the_code_map_has_every_file_and_no_other() {
    let map = mapped(&page("ARCHITECTURE.md"));
    assert!(map.len() > 20, "the section `Code map` was not found in ARCHITECTURE.md, or is all but empty");
    let files: Vec<String> = tree().into_iter().map(|s| s.path).collect();
    expect_none("not in the code map of ARCHITECTURE.md", &missing(&map, &files));
    let gone = map.iter().filter(|m| !root().join(m).exists()).cloned().collect::<Vec<_>>();
    expect_none("in the code map of ARCHITECTURE.md, but not in the tree", &gone);
}

#[test]
fn a_folder_stands_for_its_files_and_a_file_for_itself() {
    let page = "## Code map\n\n- `a/b.rs`: x\n  - `c/`: `d/e.rs` too\n| `f.rs` | y |\n\n## Next\n- `g.rs`\n";
    let map = mapped(page);
    assert_eq!(map, ["a/b.rs", "c/", "f.rs"]);
    let files = ["a/b.rs", "a/c.rs", "c/x/y.lua", "f.rs"].map(String::from);
    assert_eq!(missing(&map, &files), ["a/c.rs"]);
}
