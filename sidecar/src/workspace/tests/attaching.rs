//! Which buffers are mirrored, and when.

use expect_test::expect;

use super::*;

#[test]
fn modified_buffers_fill_first_then_visible_ones_and_few_at_once() {
    let mut d = Desk::new();
    d.ws.remove_session(&d.session.clone());
    for i in 1..=5 {
        d.announce(i, &format!("/p/{i}"), "a\nb\nc\n");
    }
    d.meta(4, |m| m.modified = true).meta(5, |m| m.visible = true);
    assert_eq!(d.log, "", "no root, nothing attached");
    let effects = d.ws.add_root(&d.session.clone(), "/p".into());
    let mut all = d.take(effects);
    assert!(d.ws.modified_pending(&d.session));
    d.slice(4, 0).slice(4, 2);
    assert!(!d.ws.modified_pending(&d.session));
    all += "-- 4 is whole\n";
    all += &std::mem::take(&mut d.log);
    check(
        all,
        expect![[r#"
        attach 4
        slice 4 from 0
        attach 5
        slice 5 from 0
        attach 1
        slice 1 from 0 later
        -- 4 is whole
        slice 4 from 2
        attach 2
        slice 2 from 0 later
    "#]],
    );
}

#[test]
fn only_loaded_files_in_a_root_are_attached() {
    let mut d = Desk::new();
    d.files.insert("/p/dir".into(), Err(DiskError::IsDir));
    d.announce(1, "/q/a", "x\n").announce(2, "", "x\n").announce(3, "oil:///p", "x\n");
    d.announce(4, "/p/dir", "x\n").announce(5, "/p-other/a", "x\n");
    assert_eq!(d.log, "");
    d.announce(6, "/p/a", "x\n");
    check(
        std::mem::take(&mut d.log),
        expect![[r#"
        attach 6
        slice 6 from 0 later
    "#]],
    );
}

#[test]
fn a_detach_is_no_close_and_is_answered_with_a_new_attachment() {
    let mut d = Desk::new();
    d.file("/p/a", "old\n").open(1, "/p/a", "old\n");
    d.bufs.get_mut(&1).unwrap().lines = lines_of("reloaded\n");
    let effects = d.ws.buf_detached(BufId(1));
    let mut all = d.take(effects);
    all += &d.read("/p/a");
    d.slice(1, 0);
    all += &std::mem::take(&mut d.log);
    check(
        all,
        expect![[r#"
        attach 1
        slice 1 from 0 later
        slice 1 from 0
        answer 1: {"content":"reloaded\n"}
    "#]],
    );
}

#[test]
fn a_buffer_that_detaches_again_and_again_is_left_alone() {
    let mut d = Desk::new();
    d.announce(1, "/p/a", "x\n");
    let mut attaches = 0;
    for _ in 0..50 {
        let effects = d.ws.buf_detached(BufId(1));
        attaches += d.take(effects).matches("attach 1").count();
    }
    assert_eq!(attaches, 5);
    check(
        d.read("/p/a"),
        expect![[r#"
        answer 1: -32603 /p/a is open, but its buffer keeps being reloaded; try again later
    "#]],
    );
    d.meta(1, |_| ());
    d.fill();
    check(
        d.read("/p/a"),
        expect![[r#"
        answer 2: {"content":"x\n"}
    "#]],
    );
}

#[test]
fn a_renamed_buffer_answers_for_its_new_name_and_leaves_the_root() {
    let mut d = Desk::new();
    d.file("/p/a", "disk a\n").open(1, "/p/a", "text\n").meta(1, |m| m.name = "/p/b".into());
    let mut all = std::mem::take(&mut d.log) + &d.read("/p/a") + &d.read("/p/b");
    d.meta(1, |m| m.name = "/q/b".into());
    all += &std::mem::take(&mut d.log);
    check(
        all,
        expect![[r#"
        answer 1: {"content":"disk a\n"}
        answer 2: {"content":"text\n"}
        detach 1
    "#]],
    );
}

#[test]
fn the_end_of_the_last_session_in_a_root_detaches_its_buffers() {
    let mut d = Desk::new();
    let other = SessionKey::new("t");
    d.ws.add_root(&other, "/p/sub".into());
    d.open(1, "/p/a", "x\n").open(2, "/p/sub/b", "x\n");
    let effects = d.ws.remove_session(&d.session.clone());
    check(
        d.take(effects),
        expect![[r#"
        detach 1
    "#]],
    );
    let effects = d.ws.remove_session(&other);
    check(
        d.take(effects),
        expect![[r#"
        detach 2
    "#]],
    );
}

#[test]
fn typing_during_a_fill_never_starts_it_over() {
    let mut d = Desk::new();
    d.announce(1, "/p/a", "1\n2\n3\n4\n5\n6\n");
    d.slice(1, 0).change(1, 0, 1, &["a", "b", "c"]).slice(1, 2);
    d.change(1, 1, 6, &[]).slice(1, 4).change(1, 3, 3, &["z"]);
    d.fill();
    assert_eq!(d.ws.buf_text(BufId(1)).unwrap(), "a\n5\n6\nz\n");
}

#[test]
fn a_mirror_that_missed_something_is_filled_again() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "1\n2\n");
    let effects = d.ws.buf_lines(BufId(1), Some(99), 7, Some(8), &[], false);
    d.run(effects);
    assert_eq!(d.ws.buf_text(BufId(1)), None);
    d.fill();
    assert_eq!(d.ws.buf_text(BufId(1)).unwrap(), "1\n2\n");
}

#[test]
fn a_buffer_that_becomes_small_enough_is_attached() {
    let mut d = Desk::new();
    d.announce(1, "/p/a", "x\n").meta(1, |m| m.bytes = 5000);
    d.log.clear();
    d.meta(1, |m| m.bytes = 2);
    check(
        std::mem::take(&mut d.log),
        expect![[r#"
        attach 1
        slice 1 from 0 later
    "#]],
    );
}

#[test]
fn one_empty_line_is_served_once_the_editor_says_whether_it_is_a_line_at_all() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "").change(1, 0, 1, &["typed"]);
    // Undo back to the empty file: Neovim says that the line is empty now, and not that there is none.
    d.change(1, 0, 1, &[""]);
    d.bufs.get_mut(&1).unwrap().lines.clear();
    let mut all = std::mem::take(&mut d.log) + &d.read("/p/a");
    d.slice(1, 0);
    all += &std::mem::take(&mut d.log);
    d.change(1, 0, 1, &["x"]).change(1, 0, 1, &[""]).slice(1, 0);
    all += &std::mem::take(&mut d.log);
    all += &d.read("/p/a");
    check(
        all,
        expect![[r#"
        slice 1 from 0
        answer 1: {"content":""}
        slice 1 from 0
        answer 2: {"content":"\n"}
    "#]],
    );
}

#[test]
fn an_answer_about_an_empty_line_that_comes_after_more_typing_fills_the_mirror_all_the_same() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "x\n").change(1, 0, 1, &[""]).change(1, 0, 1, &["1", "2", "3"]);
    d.fill();
    assert_eq!(d.ws.buf_text(BufId(1)).unwrap(), "1\n2\n3\n");
}

// B16
#[test]
fn what_unsaved_text_came_from_is_known_from_the_start() {
    let mut d = Desk::new();
    d.ws.watch(vec![d.session.clone()], 0);
    d.file("/p/a", "one\n2\n3\n4\n").announce(1, "/p/a", "one\n2\n3\nmine\n").meta(1, |m| m.modified = true);
    d.fill();
    d.file("/p/a", "ONE\n2\n3\n4\n");
    d.log.clear();
    let effects = d.ws.watched(&["/p/a".into()]);
    d.take(effects);
    d.land();
    assert_eq!(d.ws.buf_text(BufId(1)).unwrap(), "ONE\n2\n3\nmine\n");
}

// B01
#[test]
fn a_file_that_changed_while_its_mirror_filled_is_followed() {
    let mut d = Desk::new();
    d.ws.watch(vec![d.session.clone()], 0);
    d.file("/p/a", "one\ntwo\nthree\n").announce(1, "/p/a", "one\ntwo\nthree\n");
    // The watcher speaks while nobody has a mirror to compare with.
    d.file("/p/a", "one\ntwo\nTHREE\n");
    let effects = d.ws.watched(&["/p/a".into()]);
    assert_eq!(d.take(effects).matches("edit").count(), 0);
    d.log = "slice 1 from 0\n".into();
    d.fill();
    d.land();
    assert_eq!(d.ws.buf_text(BufId(1)).unwrap(), "one\ntwo\nTHREE\n");
}
