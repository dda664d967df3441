//! Which card an update of a tool call means, and what it does to it.

use super::*;

fn status(id: &str, status: ToolStatus) -> Update {
    Update::ToolCallUpdate(tool(id, |p| p.status = Patch::Set(status)))
}

#[test]
fn content_and_locations_are_replaced_and_what_is_absent_is_kept() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(tool("t", |p| {
        p.title = Patch::Set("T".into());
        p.content = Patch::Set(vec![text("one")]);
        p.locations = Patch::Set(vec![Location { path: "/a".into(), line: Some(1) }]);
    })));
    stage.update(Update::ToolCallUpdate(tool("t", |p| p.content = Patch::Set(vec![text("two")]))));
    stage.update(status("t", ToolStatus::Completed));
    stage.check(&["1 user \"go\"", "1 tool t \"T\" completed two"]);
    let Body::Tool(call) = &stage.entries()[1].body else { panic!() };
    assert_eq!(call.locations.len(), 1);
    stage.update(Update::ToolCallUpdate(tool("t", |p| {
        p.content = Patch::Set(vec![]);
        p.locations = Patch::Set(vec![]);
    })));
    stage.check(&["1 user \"go\"", "1 tool t \"T\" completed"]);
}

#[test]
fn an_update_before_its_tool_call_makes_the_one_card_and_a_late_pending_reverts_nothing() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCallUpdate(tool("t9", |p| {
        p.status = Patch::Set(ToolStatus::Completed);
        p.content = Patch::Set(vec![text("out")]);
    })));
    stage.update(Update::ToolCall(titled("t9", "Read", ToolStatus::Pending)));
    stage.check(&["1 user \"go\"", "1 tool t9 \"Read\" completed out"]);
}

#[test]
fn a_second_tool_call_with_a_known_id_replaces_all_but_a_final_status() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(tool("t", |p| {
        p.title = Patch::Set("First".into());
        p.content = Patch::Set(vec![text("first")]);
        p.raw_input = Patch::Set("{}".into());
        p.status = Patch::Set(ToolStatus::Completed);
    })));
    stage.update(Update::ToolCall(titled("t", "Second", ToolStatus::Pending)));
    stage.check(&["1 user \"go\"", "1 tool t \"Second\" completed"]);
    let Body::Tool(call) = &stage.entries()[1].body else { panic!() };
    assert_eq!(call.raw_input, None);
}

#[test]
fn an_empty_id_is_an_id() {
    let mut stage = Stage::running();
    stage.update(status("", ToolStatus::InProgress));
    stage.update(status("", ToolStatus::Completed));
    stage.check(&["1 user \"go\"", "1 tool  \"\" completed"]);
}

#[test]
fn an_id_used_again_in_a_later_turn_is_a_new_card() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(tool("call_0", |p| {
        p.title = Patch::Set("edit a".into());
        p.status = Patch::Set(ToolStatus::Completed);
        p.content = Patch::Set(vec![text("of turn one")]);
    })));
    stage.stop("end_turn");
    stage.prompt("more");
    stage.update(Update::ToolCall(titled("call_0", "run", ToolStatus::InProgress)));
    stage.update(status("call_0", ToolStatus::Failed));
    stage.check(&[
        "1 user \"go\"",
        "1 tool call_0 \"edit a\" completed of turn one",
        "1 end end_turn",
        "2 user \"more\"",
        "2 tool call_0 \"run\" failed",
    ]);
}

#[test]
fn an_update_alone_with_an_id_that_an_earlier_turn_finished_is_a_new_card() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(titled("c", "one", ToolStatus::Completed)));
    stage.stop("end_turn");
    stage.prompt("more");
    stage.update(Update::ToolCallUpdate(titled("c", "two", ToolStatus::Completed)));
    assert_eq!(stage.transcript()[1], "1 tool c \"one\" completed");
    assert_eq!(stage.transcript()[4], "2 tool c \"two\" completed");
}

#[test]
fn a_late_update_reaches_the_card_of_its_turn_also_when_the_next_turn_runs() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(titled("c", "one", ToolStatus::InProgress)));
    stage.stop("end_turn");
    stage.prompt("more");
    stage.update(status("c", ToolStatus::Completed));
    stage.check(&["1 user \"go\"", "1 tool c \"one\" completed", "1 end end_turn", "2 user \"more\""]);
}

#[test]
fn a_late_update_after_the_answer_reaches_its_card() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(titled("c", "one", ToolStatus::Completed)));
    stage.stop("end_turn");
    stage.update(Update::ToolCallUpdate(tool("c", |p| p.content = Patch::Set(vec![text("late")]))));
    stage.check(&["1 user \"go\"", "1 tool c \"one\" completed late", "1 end end_turn"]);
}

#[test]
fn a_late_update_reaches_its_card_also_turns_later_while_nothing_runs() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(titled("c", "one", ToolStatus::Completed)));
    stage.stop("end_turn");
    stage.prompt("two");
    stage.say("x");
    stage.stop("end_turn");
    stage.update(Update::ToolCallUpdate(tool("c", |p| p.content = Patch::Set(vec![text("late")]))));
    assert_eq!(stage.transcript()[1], "1 tool c \"one\" completed late");
    assert_eq!(stage.transcript().len(), 6);
}

#[test]
fn a_bare_start_is_filled_by_what_follows() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(tool("t", |p| {
        p.title = Patch::Set("Read File".into());
        p.raw_input = Patch::Set("{}".into());
    })));
    stage.update(Update::ToolCallUpdate(tool("t", |p| {
        p.title = Patch::Set("Read notes.txt".into());
        p.raw_input = Patch::Set(r#"{"path":"notes.txt"}"#.into());
        p.status = Patch::Set(ToolStatus::Other("weird".into()));
    })));
    stage.check(&["1 user \"go\"", "1 tool t \"Read notes.txt\" other:weird"]);
    let Body::Tool(call) = &stage.entries()[1].body else { panic!() };
    assert_eq!(call.raw_input.as_deref(), Some(r#"{"path":"notes.txt"}"#));
    assert!(!call.ended(), "a word we do not know is taken as still going on");
}

#[test]
fn cards_left_open_by_a_turn_that_ended_well_are_shown_as_ended_without_a_claim() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(titled("a", "A", ToolStatus::InProgress)));
    stage.update(Update::ToolCall(tool("b", |_| {})));
    stage.update(Update::ToolCall(titled("c", "C", ToolStatus::Failed)));
    stage.stop("end_turn");
    stage.check(&[
        "1 user \"go\"",
        "1 tool a \"A\" other:unfinished",
        "1 tool b \"\" other:unfinished",
        "1 tool c \"C\" failed",
        "1 end end_turn",
    ]);
    let Body::Tool(call) = &stage.entries()[1].body else { panic!() };
    assert!(call.ended());
    // It does not come to life again, but may still say how it ended.
    stage.update(status("a", ToolStatus::InProgress));
    assert_eq!(stage.transcript()[1], "1 tool a \"A\" other:unfinished");
    stage.update(status("a", ToolStatus::Completed));
    assert_eq!(stage.transcript()[1], "1 tool a \"A\" completed");
}

#[test]
fn cards_left_open_by_a_turn_that_failed_are_cancelled() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(titled("a", "A", ToolStatus::InProgress)));
    stage.fail(RpcError::new(-32603, "no"));
    assert_eq!(stage.transcript()[1], "1 tool a \"A\" cancelled");
}

#[test]
fn a_cancel_marks_open_cards_at_once_and_what_the_agent_says_of_their_end_wins() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(titled("a", "A", ToolStatus::InProgress)));
    stage.update(Update::ToolCall(titled("b", "B", ToolStatus::InProgress)));
    stage.cancel();
    assert_eq!(stage.transcript()[1..], ["1 tool a \"A\" cancelled", "1 tool b \"B\" cancelled"]);
    stage.update(status("a", ToolStatus::InProgress));
    stage.update(status("b", ToolStatus::Completed));
    stage.update(Update::ToolCall(titled("c", "C", ToolStatus::Pending)));
    assert_eq!(
        stage.transcript()[1..],
        ["1 tool a \"A\" cancelled", "1 tool b \"B\" completed", "1 tool c \"C\" cancelled"]
    );
}

#[test]
fn a_card_that_a_person_refused_and_nobody_finished_is_cancelled() {
    let mut stage = Stage::running();
    stage.ask("7", titled("t", "rm", ToolStatus::Pending), yes_no());
    stage.answer(1, "n");
    stage.stop("end_turn");
    assert_eq!(stage.transcript()[1], "1 tool t \"rm\" cancelled");
}

#[test]
fn a_card_that_came_after_its_turn_ended_stays_with_that_turn() {
    let mut stage = Stage::running();
    stage.stop("end_turn");
    stage.update(Update::ToolCall(titled("bg", "watch", ToolStatus::InProgress)));
    stage.say("still here");
    stage.prompt("next");
    stage.check(&[
        "1 user \"go\"",
        "1 end end_turn [\"The agent ended the turn without saying anything.\"]",
        "1 tool bg \"watch\" other:unfinished",
        "1 message \"still here\"",
        "2 user \"next\"",
    ]);
}

#[test]
fn what_a_card_keeps_is_bounded_and_a_diff_is_never_cut() {
    let mut stage = Stage::running();
    let big = "é".repeat(400_000);
    let diff = Diff { path: "/a".into(), old: None, new: big.repeat(2) };
    stage.update(Update::ToolCall(tool("t", |p| {
        p.raw_input = Patch::Set(big.clone().into());
        p.raw_output = Patch::Set(big.clone().into());
        p.content = Patch::Set(vec![
            ToolContent::Diff(diff.clone()),
            ToolContent::Block(Content::Text(big.clone())),
            ToolContent::Block(Content::Text(big.clone())),
        ]);
    })));
    let Body::Tool(call) = &stage.entries()[1].body else { panic!() };
    let note = "more bytes]";
    let (input, output) = (call.raw_input.as_ref().unwrap(), call.raw_output.as_ref().unwrap());
    assert!(input.len() < 263_000 && input.ends_with(note));
    assert!(output.len() < 263_000 && output.ends_with(note));
    assert_eq!(call.content[0], ToolContent::Diff(diff));
    assert_eq!(call.content[1], ToolContent::Block(Content::Text(big)));
    let ToolContent::Block(Content::Text(cut)) = &call.content[2] else { panic!() };
    assert!(cut.len() < 1024 * 1024 - 800_000 + 40 && cut.ends_with(note), "{}", cut.len());
}
