//! Writes over text that others change too.

use expect_test::expect;

use super::*;
use crate::event::{Save, SwapOwner};

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

/// A desk with `/p/a` open, which the session has read.
fn desk() -> Desk {
    let mut d = Desk::new();
    d.file("/p/a", TEXT).open(1, "/p/a", TEXT);
    d.read("/p/a");
    d
}

#[test]
fn what_a_person_typed_elsewhere_is_in_what_is_asked_about_and_in_what_lands() {
    let mut d = desk();
    d.change(1, 4, 5, &["mine"]);
    check(
        d.write("/p/a", "ONE\ntwo\nthree\nfour\nfive\n") + &d.allow(),
        expect![[r#"
            ask /p/a Some("one\ntwo\nthree\nfour\nmine\n") -> "ONE\ntwo\nthree\nfour\nmine\n" in buf 1, saves unsaved lines
            edit 1 0:0-0:3="ONE"
        "#]],
    );
    d.land();
    assert_eq!(d.on_disk("/p/a"), "ONE\ntwo\nthree\nfour\nmine\n");
}

#[test]
fn what_is_typed_while_the_question_is_open_is_merged_without_another_question() {
    let mut d = desk();
    d.write("/p/a", "ONE\ntwo\nthree\nfour\nfive\n");
    d.change(1, 4, 5, &["mine"]);
    check(
        d.allow() + &d.land(),
        expect![[r#"
        edit 1 0:0-0:3="ONE"
        tells BosunFileWritten /p/a
        answer 2: {}
    "#]],
    );
    assert_eq!(d.on_disk("/p/a"), "ONE\ntwo\nthree\nfour\nmine\n");
}

#[test]
fn what_is_typed_between_two_edits_that_come_back_stale_is_merged() {
    let mut d = desk();
    d.write("/p/a", "ONE\ntwo\nthree\nfour\nfive\n");
    d.allow();
    for n in 0..10 {
        let call = d.edits.pop_front().expect("an edit");
        d.change(1, 4, 5, &[&format!("mine {n}")]);
        let tick = d.bufs[&1].tick;
        d.outcome(call.op, EditOutcome::Stale { tick });
    }
    d.land();
    assert_eq!(d.on_disk("/p/a"), "ONE\ntwo\nthree\nfour\nmine 9\n");
}

#[test]
fn a_persons_answer_to_a_conflict_is_merged_with_what_was_typed_meanwhile() {
    let mut d = desk();
    d.change(1, 0, 1, &["mine"]);
    d.write("/p/a", "agent\ntwo\nthree\nfour\nFIVE\n");
    d.change(1, 2, 3, &["three, typed"]);
    let op = d.asked.pop_front().expect("a question");
    let lines = ["both", "two", "three", "four", "FIVE"].map(|l| l.as_bytes().to_vec()).to_vec();
    let effects = d.ws.decide(op, Verdict::Text { lines, eol: true });
    check(
        d.take(effects),
        expect![[r#"
        edit 1 0:0-0:4="both" 4:0-4:4="FIVE"
    "#]],
    );
    d.land();
    assert_eq!(d.on_disk("/p/a"), "both\ntwo\nthree, typed\nfour\nFIVE\n");
}

#[test]
fn after_a_merge_the_next_write_of_the_agent_keeps_the_persons_lines() {
    let mut d = desk();
    d.change(1, 4, 5, &["mine"]);
    d.write_through("/p/a", "ONE\ntwo\nthree\nfour\nfive\n");
    check(
        d.write("/p/a", "ONE\nTWO\nthree\nfour\nfive\n"),
        expect![[r#"
        ask /p/a Some("ONE\ntwo\nthree\nfour\nmine\n") -> "ONE\nTWO\nthree\nfour\nmine\n" in buf 1
    "#]],
    );
}

// B13
#[test]
fn several_writes_over_unsaved_text_all_land() {
    let mut d = desk();
    d.ws.save = Save::Never;
    d.change(1, 4, 5, &["mine"]);
    for (n, word) in ["A", "B", "C"].into_iter().enumerate() {
        let content = format!("{word}\ntwo\nthree\nfour\nfive\n");
        let said = d.write_through("/p/a", &content);
        assert_eq!(said, format!("answer {}: {{}}\n", n + 2));
    }
    assert_eq!(d.ws.buf_text(BufId(1)).unwrap(), "C\ntwo\nthree\nfour\nmine\n");
    assert_eq!(d.on_disk("/p/a"), TEXT, "never saved");
}

#[test]
fn if_clean_saves_only_what_was_saved_before() {
    let mut d = desk();
    d.ws.save = Save::IfClean;
    d.write("/p/a", "ONE\ntwo\nthree\nfour\nfive\n");
    check(d.allow(), expect!["edit 1 0:0-0:3=\"ONE\"\n"]);
    d.land();
    d.change(1, 4, 5, &["mine"]);
    d.write("/p/a", "ONE\nTWO\nthree\nfour\nfive\n");
    check(d.allow(), expect!["edit 1 1:0-1:3=\"TWO\" unsaved\n"]);
    check(d.land(), expect!["answer 3: {}\n"]);
    assert_eq!(d.on_disk("/p/a"), "ONE\ntwo\nthree\nfour\nfive\n");
}

// B23
#[test]
fn a_file_that_went_while_the_question_was_open_is_asked_about_again() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n");
    d.read("/p/a");
    d.write("/p/a", "two\n");
    d.files.remove(Path::new("/p/a"));
    check(
        d.allow(),
        expect![[r#"
        ask /p/a None -> "two\n"
          note: The file no longer exists: it was deleted or renamed. Allowing this makes it anew.
    "#]],
    );
    check(d.verdict(false), expect!["answer 2: -32603 the user rejected this write\n"]);
    assert!(!d.files.contains_key(Path::new("/p/a")));
}

#[test]
fn a_file_that_is_not_open_and_changes_elsewhere_meanwhile_is_merged() {
    let mut d = Desk::new();
    d.file("/p/a", TEXT);
    d.read("/p/a");
    d.write("/p/a", "ONE\ntwo\nthree\nfour\nfive\n");
    d.file("/p/a", "one\ntwo\nthree\nfour\nFIVE\n");
    check(
        d.allow(),
        expect![[r#"
        write /p/a "ONE\ntwo\nthree\nfour\nFIVE\n"
        tells BosunFileWritten /p/a
        answer 2: {}
    "#]],
    );
}

// B08
#[test]
fn another_neovim_with_the_file_open_is_named_in_the_question() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n").swap = Some(SwapOwner { pid: Some(77), modified: true });
    check(
        d.write("/p/a", "two\n"),
        expect![[r#"
        ask /p/a Some("one\n") -> "two\n"
          note: Another Neovim (process 77) has it open with unsaved changes, which this would leave behind.
    "#]],
    );
}

// B20
#[test]
fn what_a_formatter_did_at_the_save_and_after_it_is_what_the_next_write_starts_from() {
    let mut d = desk();
    d.write("/p/a", "one  \ntwo\nthree\nfour\nfive\n");
    d.allow();
    let call = d.edit_without_answer();
    // At the save, and once more a little later.
    d.change(1, 0, 1, &["one"]);
    let (tick, stamp) = (d.bufs[&1].tick, d.files[Path::new("/p/a")].as_ref().unwrap().stamp);
    d.outcome(call.op, EditOutcome::Done { tick, saved: true, modified: false, stamp: Some(stamp) });
    d.change(1, 1, 2, &["2"]);
    check(
        d.write("/p/a", "one  !\ntwo !\nthree\nfour\nfive\n"),
        expect![[r#"
        ask /p/a Some("one\n2\nthree\nfour\nfive\n") -> "one  !\ntwo !\nthree\nfour\nfive\n" in buf 1, saves unsaved lines
    "#]],
    );
}

#[test]
fn what_changes_after_a_key_may_be_the_persons() {
    let mut d = desk();
    d.write_through("/p/a", "one\ntwo\nthree\nfour\nFIVE\n");
    d.ws.typed();
    d.change(1, 0, 1, &["mine"]);
    let asked = d.write("/p/a", "agent\ntwo\nthree\nfour\nFIVE\n");
    assert!(asked.contains("conflicts [(0, 1)]"), "{asked}");
}
