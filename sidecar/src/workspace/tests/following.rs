//! Files that change on disk under open buffers.

use expect_test::expect;

use super::*;
use crate::workspace::follow::ECHOES;

impl Desk {
    /// Somebody writes the file; the watcher sees it.
    pub(in crate::workspace) fn changed(&mut self, path: &str, content: &str) -> String {
        self.file(path, content);
        let effects = self.ws.watched(&[PathBuf::from(path)]);
        self.take(effects)
    }

    /// The turns of these sessions run.
    pub(in crate::workspace) fn running(&mut self, sessions: &[&str]) -> &mut Self {
        self.ws.watch(sessions.iter().map(|s| SessionKey::new(s)).collect(), 0);
        self
    }

    fn modified(&mut self, buf: i64) -> &mut Self {
        self.meta(buf, |m| m.modified = true)
    }

    fn decide(&mut self, verdict: Verdict) -> String {
        let op = self.asked.pop_front().expect("a question");
        let effects = self.ws.decide(op, verdict);
        self.take(effects)
    }

    fn text_of(&self, buf: i64) -> String {
        self.ws.buf_text(BufId(buf)).unwrap()
    }
}

/// A desk with `/p/a` open, and a turn that runs.
fn desk(text: &str) -> Desk {
    let mut d = Desk::new();
    d.running(&["s"]).file("/p/a", text).open(1, "/p/a", text);
    d
}

#[test]
fn a_buffer_without_unsaved_text_follows_at_once_and_is_like_the_file() {
    let mut d = desk("one\ntwo\n");
    check(
        d.changed("/p/a", "one\nTWO\n") + &d.land(),
        expect![[r#"
            edit 1 1:0-1:3="TWO" unsaved clean
            told a changed on disk and its buffer follows (it is not known by whom).
        "#]],
    );
    // The editor notices too, and so does the watcher once more.
    let effects = d.ws.disk_changed(BufId(1));
    assert_eq!(d.take(effects) + &d.changed_not("/p/a"), "");
}

impl Desk {
    /// The watcher speaks of the file, which did not change.
    fn changed_not(&mut self, path: &str) -> String {
        let effects = self.ws.watched(&[PathBuf::from(path)]);
        self.take(effects)
    }
}

#[test]
fn what_a_tool_call_names_is_the_agents_doing() {
    let mut d = desk("one\n");
    let session = d.session.clone();
    d.ws.names(&session, ["a".to_owned()]);
    d.changed("/p/a", "two\n");
    check(d.land(), expect!["told a changed on disk and its buffer follows.\n"]);
}

// B02 B16
#[test]
fn unsaved_text_is_merged_with_and_stays_unsaved() {
    let mut d = desk("one\ntwo\nthree\n");
    d.change(1, 2, 3, &["mine"]);
    check(
        d.changed("/p/a", "ONE\ntwo\nthree\n") + &d.land(),
        expect![[r#"
            edit 1 0:0-0:3="ONE" unsaved
            told a changed on disk and was merged with your text (it is not known by whom).
        "#]],
    );
    assert_eq!((d.text_of(1).as_str(), d.on_disk("/p/a")), ("ONE\ntwo\nmine\n", "ONE\ntwo\nthree\n"));
}

#[test]
fn the_same_lines_are_for_a_person_and_each_answer_is_taken() {
    for (verdict, want) in [
        (Verdict::Allow, "mine\ntwo\nTHREE\n"),
        (Verdict::Theirs, "disk\ntwo\nTHREE\n"),
        (Verdict::Reject, "mine\ntwo\nthree\n"),
        (Verdict::Text { lines: vec![b"both".to_vec()], eol: true }, "both\n"),
    ] {
        let mut d = desk("one\ntwo\nthree\n");
        d.change(1, 0, 1, &["mine"]);
        let asked = d.changed("/p/a", "disk\ntwo\nTHREE\n");
        assert!(asked.contains("conflicts [(0, 1)]"), "{asked}");
        assert_eq!(d.text_of(1), "mine\ntwo\nthree\n", "nothing before the answer");
        d.decide(verdict);
        d.land();
        assert_eq!(d.text_of(1), want);
        // From then on the file's change is known: it does not come up again.
        assert_eq!(d.changed_not("/p/a"), "");
    }
}

#[test]
fn what_the_disk_held_can_be_had_back_when_a_person_keeps_their_own() {
    for (verdict, want) in [
        (
            Verdict::Allow,
            expect![[r#"
            edit 1 0:0-0:4="disk" 2:0-2:5="THREE" then 0:0-0:4="mine"
        "#]],
        ),
        (
            Verdict::Reject,
            expect![[r#"
            edit 1 0:0-0:4="disk" 2:0-2:5="THREE" then 0:0-0:4="mine" 2:0-2:5="three" unsaved
        "#]],
        ),
        (
            Verdict::Theirs,
            expect![[r#"
            edit 1 0:0-0:4="disk" 2:0-2:5="THREE" unsaved clean
        "#]],
        ),
    ] {
        let mut d = desk("one\ntwo\nthree\n");
        d.change(1, 0, 1, &["mine"]);
        d.changed("/p/a", "disk\ntwo\nTHREE\n");
        check(d.decide(verdict), want);
    }
}

#[test]
fn a_file_that_is_only_touched_while_its_question_waits_is_not_asked_about_twice() {
    for (verdict, want) in [
        (
            Verdict::Allow,
            expect![[r#"
            told a changed on disk and was merged with your text (it is not known by whom).
            tells BosunFileWritten /p/a
        "#]],
        ),
        (
            Verdict::Theirs,
            expect![[r#"
            told a changed on disk and its buffer follows (it is not known by whom).
            edit 1 unsaved clean
        "#]],
        ),
        (
            Verdict::Reject,
            expect![[r#"
            told a changed on disk and your text was kept (it is not known by whom).
            edit 1 unsaved
        "#]],
        ),
    ] {
        let mut d = desk("one\ntwo\nthree\n");
        d.change(1, 0, 1, &["mine"]);
        d.changed("/p/a", "disk\ntwo\nTHREE\n");
        d.changed("/p/a", "disk\ntwo\nTHREE\n");
        d.decide(verdict);
        check(d.land(), want);
    }
}

#[test]
fn a_cancel_leaves_the_question_and_the_end_of_the_session_takes_it_back() {
    let mut d = desk("one\n");
    d.change(1, 0, 1, &["mine"]);
    d.changed("/p/a", "disk\n");
    let session = d.session.clone();
    let effects = d.ws.cancel_session(&session);
    assert_eq!(d.take(effects), "");
    let effects = d.ws.remove_session(&session);
    check(
        d.take(effects),
        expect![[r#"
        question withdrawn
        unfollow 1
        detach 1
    "#]],
    );
}

#[test]
fn what_is_undone_leaves_nothing_to_decide() {
    let mut d = desk("one\n");
    d.change(1, 0, 1, &["mine"]);
    d.changed("/p/a", "disk\n");
    d.log.clear();
    d.change(1, 0, 1, &["one"]).meta(1, |m| m.modified = false);
    check(
        std::mem::take(&mut d.log),
        expect![[r#"
        question withdrawn
        edit 1 0:0-0:3="disk" unsaved clean
    "#]],
    );
}

// B14
#[test]
fn an_agents_own_text_written_over_a_merge_is_saved_over_again_but_not_for_ever() {
    let mut d = desk("one\ntwo\nthree\n");
    d.read("/p/a");
    d.change(1, 2, 3, &["three", "mine"]).modified(1);
    d.write_through("/p/a", "ONE\ntwo\nthree\n");
    assert_eq!(d.on_disk("/p/a"), "ONE\ntwo\nthree\nmine\n");
    for _ in 0..ECHOES {
        check(d.changed("/p/a", "ONE\ntwo\nthree\n"), expect!["edit 1\n"]);
        d.land();
        assert_eq!(d.on_disk("/p/a"), "ONE\ntwo\nthree\nmine\n");
    }
    check(d.changed("/p/a", "ONE\ntwo\nthree\n"), expect!["edit 1 unsaved\n"]);
    assert_eq!(d.text_of(1), "ONE\ntwo\nthree\nmine\n");
}

#[test]
fn a_text_of_an_earlier_turn_that_comes_up_again_is_no_echo() {
    let mut d = desk("one\ntwo\nthree\n");
    d.read("/p/a");
    d.write_through("/p/a", "ONE\ntwo\nthree\n");
    d.running(&[]);
    // The person goes on, saves, and then checks an older text out.
    d.change(1, 2, 3, &["THREE"]).file("/p/a", "ONE\ntwo\nTHREE\n");
    let stamp = d.files[Path::new("/p/a")].as_ref().unwrap().stamp;
    d.meta(1, |m| (m.modified, m.stamp) = (false, Some(stamp)));
    check(
        d.changed("/p/a", "ONE\ntwo\nthree\n"),
        expect![[r#"edit 1 2:0-2:5="three" unsaved clean
"#]],
    );
}

#[test]
fn a_write_over_a_file_that_changed_unnoticed_waits_until_that_is_in_the_buffer() {
    let mut d = desk("one\ntwo\nthree\n");
    d.read("/p/a");
    d.file("/p/a", "one\ntwo\nTHREE\n");
    check(
        d.write("/p/a", "ONE\ntwo\nthree\n") + "-- land\n" + &d.land(),
        expect![[r#"
            edit 1 2:0-2:5="THREE" unsaved clean
            -- land
            told a changed on disk and its buffer follows (it is not known by whom).
            ask /p/a Some("one\ntwo\nTHREE\n") -> "ONE\ntwo\nTHREE\n" in buf 1
        "#]],
    );
}

// B01
#[test]
fn a_read_serves_what_the_disk_holds_before_the_editor_has_noticed() {
    let mut d = desk("one\n");
    d.file("/p/a", "two\n");
    check(
        d.read("/p/a"),
        expect![[r#"
            answer 1: {"content":"two\n"}
            edit 1 0:0-0:3="two" unsaved clean
        "#]],
    );
}

// B23
#[test]
fn a_file_that_goes_while_its_question_waits_is_asked_about_once_more() {
    let mut d = desk("one\n");
    d.read("/p/a");
    d.write("/p/a", "two\n");
    d.decide(Verdict::Allow);
    let call = d.edits.pop_front().expect("an edit");
    d.files.remove(Path::new("/p/a"));
    let again = d.outcome(call.op, EditOutcome::Disk { gone: true });
    check(
        again,
        expect![[r#"
        ask /p/a Some("one\n") -> "two\n" in buf 1
          note: The file no longer exists: it was deleted or renamed. Allowing this makes it anew.
    "#]],
    );
    check(
        d.decide(Verdict::Allow),
        expect![[r#"
        edit 1 0:0-0:3="two"
    "#]],
    );
    assert!(d.edits.front().is_some_and(|call| call.recreate));
}

#[test]
fn a_save_that_finds_another_file_is_merged_with_that_first() {
    let mut d = desk("one\ntwo\nthree\n");
    d.read("/p/a");
    d.write("/p/a", "ONE\ntwo\nthree\n");
    d.allow();
    let call = d.edits.pop_front().expect("an edit");
    d.file("/p/a", "one\ntwo\nTHREE\n");
    check(
        d.outcome(call.op, EditOutcome::Disk { gone: false }),
        expect![[r#"
        edit 1 2:0-2:5="THREE" unsaved clean
    "#]],
    );
    check(
        d.land(),
        expect![[r#"
        told a changed on disk and its buffer follows (it is not known by whom).
        edit 1 0:0-0:3="ONE"
    "#]],
    );
    d.land();
    assert_eq!(d.on_disk("/p/a"), "ONE\ntwo\nTHREE\n");
}

#[test]
fn the_watcher_is_told_of_folders_and_trees_and_only_when_they_change() {
    let mut d = Desk::new();
    d.file("/p/x/a", "a\n").open(1, "/p/x/a", "a\n");
    let wish = |d: &mut Desk, running: &[&str]| {
        let effects = d.ws.watch(running.iter().map(|s| SessionKey::new(s)).collect(), 0);
        match effects.as_slice() {
            [] => "None".to_owned(),
            [Effect::Watch(wish)] => format!("{:?} {:?}", wish.folders, wish.trees),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(wish(&mut d, &[]), r#"["/p/x"] []"#);
    assert_eq!(wish(&mut d, &[]), "None");
    assert_eq!(wish(&mut d, &["s"]), r#"["/p/x"] ["/p"]"#);
    assert_eq!(wish(&mut d, &["s"]), "None");
}
