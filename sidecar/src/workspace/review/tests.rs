//! Review played on data: changes land, a person edits and judges, the editor is told.

use expect_test::{Expect, expect};

use crate::effect::{Effect, NvimCmd};
use crate::event::{ReviewScope, ReviewVerdict};
use crate::model::{BufId, SessionKey};
use crate::workspace::tests::Desk;

impl Desk {
    /// What the editor is told of reviews, a file a line.
    fn review(&mut self) -> String {
        self.clock += 1000;
        let mut out = String::new();
        for effect in self.ws.review_due(self.clock) {
            match effect {
                Effect::Nvim(NvimCmd::Review(file)) => {
                    let hunk = |h: &crate::effect::ReviewHunk| {
                        let removed: Vec<_> = h.removed.iter().map(|l| String::from_utf8_lossy(l)).collect();
                        let by = if h.unknown { "?" } else { "" };
                        format!(" [{}{by}/{} {}-{} {removed:?}]", h.session, h.turn, h.first, h.last)
                    };
                    let hunks: String = file.hunks.iter().map(hunk).collect();
                    let buf = file.buf.map(|(buf, _)| format!(" buf {}", buf.0)).unwrap_or_default();
                    let created = if file.created { " created" } else { "" };
                    out += &format!("{}{buf}{created}:{hunks}\n", file.path.display());
                }
                Effect::Nvim(NvimCmd::ReviewCounts { files, hunks, .. }) => {
                    out += &format!("{hunks} in {files}\n");
                }
                Effect::Nvim(NvimCmd::UserEvent { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        out
    }

    fn judge(&mut self, keep: bool, scope: ReviewScope) -> String {
        let effects = self.ws.review_verdict(&ReviewVerdict { keep, scope });
        self.take(effects)
    }

    fn undo(&mut self) -> String {
        let effects = self.ws.review_undo();
        self.take(effects)
    }

    fn text(&self, buf: i64) -> String {
        self.ws.buf_text(BufId(buf)).unwrap()
    }
}

fn lines(path: &str, first: usize, last: usize) -> ReviewScope {
    ReviewScope::Lines { path: path.into(), first, last }
}

fn file(path: &str) -> ReviewScope {
    ReviewScope::File { path: path.into() }
}

fn check(got: String, want: Expect) {
    want.assert_eq(&got);
}

/// `/p/a` is open, and an agent has changed three places of it in its first turn.
fn desk() -> Desk {
    let mut d = Desk::new();
    d.running(&["s"]).file("/p/a", "1\n2\n3\n4\n5\n6\n").open(1, "/p/a", "1\n2\n3\n4\n5\n6\n");
    d.read("/p/a");
    d.write_through("/p/a", "ONE\n2\n3\nFOUR\n5\nSIX\n");
    d
}

#[test]
fn a_change_that_landed_is_told_as_hunks_once() {
    let mut d = desk();
    check(
        d.review(),
        expect![[r#"
        /p/a buf 1: [s/1 0-1 ["1"]] [s/1 3-4 ["4"]] [s/1 5-6 ["6"]]
        3 in 1
    "#]],
    );
    assert_eq!(d.review(), "");
}

#[test]
fn one_hunk_is_kept_and_another_rejected_and_the_third_stays() {
    let mut d = desk();
    d.review();
    assert_eq!(d.judge(true, lines("/p/a", 0, 1)), "");
    check(
        d.judge(false, lines("/p/a", 3, 4)),
        expect![[r#"
            edit 1 3:0-3:4="4"
        "#]],
    );
    check(
        d.land(),
        expect![[r#"
            tells BosunFileWritten /p/a
        "#]],
    );
    assert_eq!(d.text(1), "ONE\n2\n3\n4\n5\nSIX\n");
    assert_eq!(d.on_disk("/p/a"), "ONE\n2\n3\n4\n5\nSIX\n", "a rejected text is not on the disk either");
    check(
        d.review(),
        expect![[r#"
        /p/a buf 1: [s/1 5-6 ["6"]]
        1 in 1
    "#]],
    );
}

#[test]
fn undoing_a_rejection_in_the_editor_brings_the_hunk_back_and_undoing_the_edit_takes_it_away() {
    let mut d = desk();
    d.review();
    d.judge(false, lines("/p/a", 3, 4));
    d.land();
    d.review();
    // What `u` does.
    d.change(1, 3, 4, &["FOUR"]);
    check(
        d.review(),
        expect![[r#"
        /p/a buf 1: [s/1 0-1 ["1"]] [s/1 3-4 ["4"]] [s/1 5-6 ["6"]]
        3 in 1
    "#]],
    );
    d.change(1, 0, 6, &["1", "2", "3", "4", "5", "6"]);
    check(
        d.review(),
        expect![[r#"
        /p/a buf 1:
        0 in 0
    "#]],
    );
    d.change(1, 0, 6, &["ONE", "2", "3", "FOUR", "5", "SIX"]);
    assert!(d.review().contains("3 in 1"), "and redoing it brings them back");
}

#[test]
fn a_kept_hunk_comes_back_with_the_verdict_and_so_does_a_rejected_one() {
    let mut d = desk();
    d.review();
    d.judge(true, lines("/p/a", 0, 1));
    d.judge(false, lines("/p/a", 3, 4));
    d.land();
    d.change(1, 1, 2, &["mine"]);
    check(
        d.undo(),
        expect![[r#"
            edit 1 3:0-3:1="FOUR"
        "#]],
    );
    d.land();
    assert_eq!(d.undo(), "");
    check(d.review(), expect![""]);
    assert_eq!(d.text(1), "ONE\nmine\n3\nFOUR\n5\nSIX\n");
}

// B40
#[test]
fn rejecting_a_turn_leaves_the_one_before_and_what_a_person_wrote() {
    let mut d = desk();
    d.running(&[]).running(&["s"]);
    d.write_through("/p/a", "ONE\n2\n3\nFOUR!\n5\nSIX\n7\n");
    d.change(1, 1, 2, &["mine"]);
    d.change(1, 4, 5, &["five", "more"]);
    d.judge(false, ReviewScope::Turn { session: SessionKey::new("s"), turn: None });
    d.land();
    assert_eq!(d.text(1), "ONE\nmine\n3\nFOUR\nfive\nmore\nSIX\n");
    check(
        d.review(),
        expect![[r#"
        /p/a buf 1: [s/1 0-1 ["1"]] [s/1 3-4 ["4"]] [s/1 6-7 ["6"]]
        3 in 1
    "#]],
    );
}

#[test]
fn what_was_rejected_does_not_come_back_with_the_agents_next_write() {
    let mut d = desk();
    d.judge(false, lines("/p/a", 3, 4));
    d.land();
    // It goes on from its own text.
    d.write_through("/p/a", "ONE\n2\n3\nFOUR\n5\nSIX\nseven\n");
    assert_eq!(d.text(1), "ONE\n2\n3\n4\n5\nSIX\nseven\n");
}

#[test]
fn a_file_that_no_buffer_holds_is_judged_on_the_disk() {
    let mut d = Desk::new();
    d.running(&["s"]).file("/p/b", "1\n2\n");
    d.read("/p/b");
    d.write("/p/b", "1\ntwo\n");
    d.allow();
    check(
        d.review(),
        expect![[r#"
        /p/b: [s/1 1-2 ["2"]]
        1 in 1
    "#]],
    );
    // Somebody else writes it meanwhile.
    d.file("/p/b", "0\n1\ntwo\n");
    check(
        d.judge(false, file("/p/b")),
        expect![[r#"
            write /p/b "0\n1\n2\n"
            tells BosunFileWritten /p/b
        "#]],
    );
    assert!(d.review().contains("0 in 0"));
    check(
        d.undo(),
        expect![[r#"
            write /p/b "0\n1\ntwo\n"
            tells BosunFileWritten /p/b
        "#]],
    );
    assert!(d.review().contains("1 in 1"));
}

#[test]
fn a_file_that_an_agent_made_is_deleted_only_where_all_of_it_is_the_agents() {
    for mine in [false, true] {
        let mut d = Desk::new();
        d.running(&["s"]);
        d.write("/p/new", "1\n2\n");
        d.allow();
        check(
            d.review(),
            expect![[r#"
            /p/new created: [s/1 0-2 []]
            1 in 1
        "#]],
        );
        if mine {
            d.file("/p/new", "1\nmine\n2\n");
        }
        d.judge(false, file("/p/new"));
        match mine {
            true => assert_eq!(d.on_disk("/p/new"), "mine\n"),
            false => {
                assert!(!d.files.contains_key(std::path::Path::new("/p/new")));
                d.undo();
                assert_eq!(d.on_disk("/p/new"), "1\n2\n", "and it comes back");
            }
        }
    }
}

#[test]
fn what_a_commit_holds_is_kept() {
    let mut d = desk();
    d.review();
    d.ws.review_committed(std::path::Path::new("/p/a"), b"ONE\n2\n3\n4\n5\n6\n");
    check(
        d.review(),
        expect![[r#"
        /p/a buf 1: [s/1 3-4 ["4"]] [s/1 5-6 ["6"]]
        2 in 1
    "#]],
    );
}

#[test]
fn a_change_on_disk_that_nobody_names_is_shown_as_such_and_one_without_a_turn_is_the_persons() {
    let mut d = desk();
    d.judge(true, ReviewScope::All);
    d.changed("/p/a", "ONE\n2\n3\nFOUR\n5\nDISK\n");
    d.land();
    check(
        d.review(),
        expect![[r#"
        /p/a buf 1: [s?/1 5-6 ["SIX"]]
        1 in 1
    "#]],
    );
    d.running(&[]);
    d.changed("/p/a", "ONE\nagain\n3\nFOUR\n5\nDISK\n");
    d.land();
    assert_eq!(d.review(), "", "it says nothing of lines that are a person's");
}

#[test]
fn a_session_that_is_over_leaves_its_changes_and_no_hunks() {
    let mut d = desk();
    d.review();
    let session = d.session.clone();
    d.ws.remove_session(&session);
    check(
        d.review(),
        expect![[r#"
            /p/a:
            0 in 0
        "#]],
    );
}

#[test]
fn two_rejections_at_once_both_land_in_turn() {
    let mut d = desk();
    d.judge(false, lines("/p/a", 0, 1));
    d.judge(false, lines("/p/a", 5, 6));
    d.land();
    d.land();
    assert_eq!(d.text(1), "1\n2\n3\nFOUR\n5\n6\n");
    assert!(d.review().contains("1 in 1"));
}

#[test]
fn a_rejection_while_a_mode_is_in_the_way_waits_and_meets_what_was_typed() {
    let mut d = desk();
    d.judge(false, lines("/p/a", 3, 4));
    let op = d.edits.front().unwrap().op;
    d.edits.clear();
    d.outcome(op, crate::event::EditOutcome::Busy { mode: "no".into() });
    d.change(1, 1, 2, &["typed"]);
    let effects = d.ws.safe(BufId(1));
    d.take(effects);
    d.land();
    assert_eq!(d.text(1), "ONE\ntyped\n3\n4\n5\nSIX\n");
}

#[test]
fn while_another_buffer_is_looked_up_the_editor_is_told_nothing_else() {
    let mut d = desk();
    d.review();
    d.held = Some(Default::default());
    d.announce(2, "/p/other", "x\n");
    assert_eq!(d.review(), "", "the buffer is still the one that holds the file");
    let texts = d.ws.review_texts(std::path::Path::new("/p/a"));
    assert!(
        matches!(&texts[..], [Effect::Nvim(NvimCmd::ReviewTexts(t))] if t.buf == Some(BufId(1))),
        "{texts:?}"
    );
    d.release(&[0]);
    assert_eq!(d.review(), "");
}
