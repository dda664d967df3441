//! Diffs on their way to the screen.

use expect_test::expect;

use super::*;

fn show(d: &mut Desk, path: &str, old: Option<&str>, new: &str) -> String {
    let diff = Diff { path: path.into(), old: old.map(Into::into), new: new.into() };
    let effects = d.ws.show_diff(&d.session.clone(), QuestionId(1), 0, 1, diff);
    d.take(effects)
}

#[test]
fn a_diff_stands_beside_the_live_text_wherever_that_is() {
    let mut d = Desk::new();
    d.file("/p/a", "one\ntwo\n").open(1, "/p/b", "one\n2\n");
    let mut all = show(&mut d, "/p/a", Some("two\n"), "2\n");
    all += &show(&mut d, "a", Some("one\ntwo\n"), "whole\n");
    all += &show(&mut d, "/p/b", Some("2"), "two");
    all += &show(&mut d, "/p/new", None, "new\n");
    check(
        all,
        expect![[r#"
        diff 0/1 /p/a buf=None "one\ntwo\n" -> "one\n2\n" None
        diff 0/1 a buf=None "one\ntwo\n" -> "whole\n" None
        diff 0/1 /p/b buf=Some(1) "" -> "one\ntwo\n" None
        diff 0/1 /p/new buf=None "" -> "new\n" None
    "#]],
    );
}

#[test]
fn a_diff_that_has_no_place_is_shown_by_itself_and_says_so() {
    let mut d = Desk::new();
    d.file("/p/a", "x\nx\n").open(1, "/p/b", "text\n").file("/etc/passwd", "root\n");
    d.files.insert("/p/bin".into(), Err(DiskError::Binary));
    let mut all = show(&mut d, "/p/a", Some("x"), "y");
    all += &show(&mut d, "/p/b", Some("gone"), "y");
    all += &show(&mut d, "/etc/passwd", Some("root"), "toor");
    all += &show(&mut d, "/p/bin", Some("root"), "toor");
    all += &show(&mut d, "/p/a\nb", Some("x"), "y");
    check(
        all,
        expect![[r#"
        diff 0/1 /p/a buf=None "x" -> "y" Some("shown by itself: the text it replaces was found 2 times in the file")
        diff 0/1 /p/b buf=None "gone" -> "y" Some("shown by itself: the text it replaces was not found in the file")
        diff 0/1 /etc/passwd buf=None "root" -> "toor" Some("shown by itself: the file is outside the session's folder")
        diff 0/1 /p/bin buf=None "root" -> "toor" Some("shown by itself: the file is binary")
        diff 0/1 /p/a\nb buf=None "x" -> "y" Some("shown by itself: the text it replaces was not found in the file")
    "#]],
    );
}

#[test]
fn a_diff_waits_for_the_mirror() {
    let mut d = Desk::new();
    d.announce(1, "/p/a", "one\n");
    let first = show(&mut d, "/p/a", Some("one"), "two");
    d.slice(1, 0);
    check(
        first + &std::mem::take(&mut d.log),
        expect![[r#"
        slice 1 from 0
        diff 0/1 /p/a buf=Some(1) "" -> "two\n" None
    "#]],
    );
}
