//! What a diff that an agent shows would make of a file.
//!
//! Owns no state. It never touches the disk or a buffer. Called by the app (does an approved diff cover this write?) and
//! by `show` (what is put beside the live text?). The wire does not say whether a diff holds the whole file or a
//! fragment of it, so it is found out here, or said not to be.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use crate::model::Diff;

/// A diff made to stand beside a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The right side.
    pub text: String,
    /// What a person must know about it.
    pub note: Option<String>,
    /// The left side is not the file but the diff's own old text.
    pub alone: bool,
}

/// Whether what a person has approved in this turn gives exactly this content for this file. `live` is `None` when the
/// file does not exist. A diff without an old text was shown as a new file: it never covers a text that is there.
pub fn covers(file: &File, live: Option<&str>, content: &str, approved: &[Diff]) -> bool {
    let live = live.unwrap_or("");
    // Several approved diffs of one file add up; one that is not found may have landed before.
    let mut sum = Cow::Borrowed(live);
    for diff in approved.iter().filter(|d| file.is(&d.path)) {
        let shown = |live: &str| {
            let new_file = diff.old.as_deref().unwrap_or("").is_empty();
            let one = propose(live, diff);
            (!one.alone && (!new_file || live.is_empty())).then_some(one.text)
        };
        if shown(live).as_deref() == Some(content) {
            return true;
        }
        if let Some(next) = shown(&sum) {
            sum = Cow::Owned(next);
        }
        if *sum == *content && sum != live {
            return true;
        }
    }
    false
}

/// What the diff makes of the live text (empty when there is no file yet).
pub fn propose(live: &str, diff: &Diff) -> Proposal {
    if is_whole(live, diff) {
        return Proposal { text: diff.new.clone(), note: None, alone: false };
    }
    let old = diff.old.as_deref().unwrap_or("");
    let found = match find(live, old, &diff.new) {
        Err(0) if old.contains("\r\n") => find(live, &lf(old), &lf(&diff.new)),
        found => found,
    };
    match found {
        Ok(text) => Proposal { text, note: None, alone: false },
        Err(0) => alone(diff, "the text it replaces was not found in the file"),
        Err(n) => alone(diff, &format!("the text it replaces was found {n} times in the file")),
    }
}

/// The diff for itself, saying why.
pub fn alone(diff: &Diff, why: &str) -> Proposal {
    Proposal { text: diff.new.clone(), note: Some(format!("shown by itself: {why}")), alone: true }
}

/// The diff's new text is the whole file: its old text is all of the file, or it names none.
fn is_whole(live: &str, diff: &Diff) -> bool {
    match diff.old.as_deref() {
        None | Some("") => true,
        Some(old) => old == live || lf(old) == live,
    }
}

fn lf(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// The live text with the one occurrence of `old` replaced, or how often it occurs.
fn find(live: &str, old: &str, new: &str) -> Result<String, usize> {
    match (count(live, old), live.find(old)) {
        (1, Some(at)) => Ok([&live[..at], new, &live[at + old.len()..]].concat()),
        // The file does not end in a newline, the fragment does.
        (0, _) => match old.strip_suffix('\n').filter(|o| !o.is_empty()).and_then(|o| live.strip_suffix(o)) {
            Some(before) => Ok([before, new.strip_suffix('\n').unwrap_or(new)].concat()),
            None => Err(0),
        },
        (n, _) => Err(n),
    }
}

/// Occurrences, also overlapping ones.
fn count(live: &str, old: &str) -> usize {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let (mut n, mut from) = (0, 0);
    while let Some(at) = live[from..].find(old) {
        n += 1;
        from += at + step;
    }
    n
}

/// A file by all the names it goes by.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Its real path.
    pub real: &'a Path,
    /// As the agent named it in its request.
    pub told: &'a Path,
    /// Where relative names start.
    pub cwd: &'a Path,
}

impl File<'_> {
    /// Whether a diff's path names this file; `.` and `..` are taken by their letters.
    pub fn is(&self, name: &str) -> bool {
        let name = clean(&self.cwd.join(name));
        !name.as_os_str().is_empty() && (name == self.real || name == clean(self.told))
    }
}

fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: Option<&str>, new: &str) -> Diff {
        Diff { path: "/p/a".into(), old: old.map(Into::into), new: new.into() }
    }

    fn check(live: &str, old: Option<&str>, new: &str) -> (String, Option<String>) {
        let p = propose(live, &diff(old, new));
        assert_eq!(p.note.is_some(), p.alone);
        (p.text, p.note)
    }

    #[test]
    fn whole_files_are_taken_as_they_are() {
        assert_eq!(check("a\nb\n", Some("a\nb\n"), "c\n"), ("c\n".into(), None));
        assert_eq!(check("", None, "new\n"), ("new\n".into(), None));
        assert_eq!(check("", Some(""), "new\n"), ("new\n".into(), None));
        assert_eq!(check("old\n", None, "new\n"), ("new\n".into(), None));
    }

    #[test]
    fn a_fragment_found_once_is_put_in_its_place() {
        assert_eq!(check("a\nb\nc\n", Some("b\n"), "B\n"), ("a\nB\nc\n".into(), None));
        assert_eq!(check("a\nb", Some("b\n"), "B\n"), ("a\nB".into(), None));
        assert_eq!(check("a\nb\nc\n", Some("b\r\n"), "B\r\n"), ("a\nB\nc\n".into(), None));
    }

    #[test]
    fn a_fragment_not_found_or_found_twice_says_so() {
        let (text, note) = check("a\n", Some("x"), "y");
        assert_eq!(text, "y");
        assert_eq!(note.unwrap(), "shown by itself: the text it replaces was not found in the file");
        let note = check("aaa\n", Some("aa"), "y").1.unwrap();
        assert_eq!(note, "shown by itself: the text it replaces was found 2 times in the file");
        assert!(check("fox\n", Some("fo\n"), "y\n").1.is_some(), "no newline is made up inside a line");
    }

    fn file(real: &str) -> File<'_> {
        File { real: Path::new(real), told: Path::new(real), cwd: Path::new("/p") }
    }

    #[test]
    fn an_approved_diff_covers_exactly_its_own_result() {
        let p = file("/p/a");
        let live = Some("a\nb\nc\n");
        let ok = [diff(Some("b"), "B")];
        assert!(covers(&p, live, "a\nB\nc\n", &ok));
        assert!(!covers(&p, live, "a\nB\nC\n", &ok));
        assert!(!covers(&p, live, "B", &ok), "a fragment is not the file");
        assert!(!covers(&file("/p/b"), live, "a\nB\nc\n", &ok));
        assert!(!covers(&p, Some("b\nb\n"), "B\nb\n", &ok));
        assert!(covers(&p, None, "n", &[diff(None, "n")]));
        assert!(!covers(&p, live, "a\nb\nc\n", &[]));
    }

    #[test]
    fn a_new_file_covers_no_text_that_is_there() {
        for old in [None, Some("")] {
            assert!(!covers(&file("/p/a"), Some("mine\n"), "n\n", &[diff(old, "n\n")]));
            assert!(covers(&file("/p/a"), Some(""), "n\n", &[diff(old, "n\n")]));
        }
        assert!(!covers(&file("/p/a"), Some("newer\n"), "n\n", &[diff(Some("older\n"), "n\n")]));
    }

    #[test]
    fn two_approved_diffs_of_one_file_add_up() {
        let ok = [diff(Some("a\n"), "A\n"), diff(Some("c\n"), "C\n")];
        assert!(covers(&file("/p/a"), Some("a\nb\nc\n"), "A\nb\nC\n", &ok));
        assert!(covers(&file("/p/a"), Some("A\nb\nc\n"), "A\nb\nC\n", &ok));
    }

    #[test]
    fn a_name_means_one_file() {
        let p = file("/p/src/a.rs");
        for (told, want) in [
            ("src/a.rs", true),
            ("./src/a.rs", true),
            ("x/../src/a.rs", true),
            ("/p/./src/a.rs", true),
            ("a.rs", false),
            ("c/a.rs", false),
            ("../a.rs", false),
            ("/src/a.rs", false),
            ("", false),
        ] {
            assert_eq!(p.is(told), want, "{told}");
        }
        let link = File { real: Path::new("/real/a"), told: Path::new("/p/link"), cwd: Path::new("/p") };
        assert!(link.is("link") && link.is("/real/a") && !link.is("a"));
    }
}
