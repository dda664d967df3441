//! How chunks become messages, and what of the agent's own words is shown how.

use super::*;

#[test]
fn chunks_of_one_role_make_one_message() {
    let mut stage = Stage::running();
    stage.say("Hel");
    stage.say("lo");
    stage.check(&["1 user \"go\"", "1 message \"Hello\" open"]);
}

#[test]
fn another_role_closes_the_message() {
    let mut stage = Stage::running();
    stage.think("hm");
    stage.say("a");
    stage.think("hm again");
    stage.say("b");
    stage.check(&[
        "1 user \"go\"",
        "1 thought \"hm\"",
        "1 message \"a\"",
        "1 thought \"hm again\"",
        "1 message \"b\" open",
    ]);
}

#[test]
fn a_tool_call_or_a_plan_closes_the_message() {
    let mut stage = Stage::running();
    stage.say("a");
    stage.update(Update::ToolCall(titled("t", "T", ToolStatus::Completed)));
    stage.say("b");
    stage.update(plan(None, &["x"]));
    stage.say("c");
    stage.check(&[
        "1 user \"go\"",
        "1 message \"a\"",
        "1 tool t \"T\" completed",
        "1 message \"b\"",
        "1 plan [\"x\"]",
        "1 message \"c\" open",
    ]);
}

#[test]
fn an_update_of_a_known_card_does_not_cut_the_message() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(titled("t", "T", ToolStatus::InProgress)));
    stage.say("a");
    stage.update(Update::ToolCallUpdate(tool("t", |p| p.status = Patch::Set(ToolStatus::Completed))));
    stage.say("b");
    stage.check(&["1 user \"go\"", "1 tool t \"T\" completed", "1 message \"ab\" open"]);
}

#[test]
fn an_id_selects_its_message_though_others_came_between() {
    let mut stage = Stage::running();
    stage.update(chunk(Role::Thought, Some("p1"), "think "));
    stage.update(chunk(Role::Agent, Some("m1"), "say "));
    stage.update(chunk(Role::Thought, Some("p1"), "more"));
    stage.update(Update::ToolCall(titled("t", "T", ToolStatus::Completed)));
    stage.update(chunk(Role::Agent, Some("m1"), "on"));
    stage.update(chunk(Role::Agent, Some("m2"), "next"));
    stage.check(&[
        "1 user \"go\"",
        "1 thought \"think more\"",
        "1 message \"say on\"",
        "1 tool t \"T\" completed",
        "1 message \"next\" open",
    ]);
}

#[test]
fn one_id_for_thought_and_message_makes_two_entries() {
    let mut stage = Stage::running();
    stage.update(chunk(Role::Thought, Some("m"), "t"));
    stage.update(chunk(Role::Agent, Some("m"), "a"));
    stage.check(&["1 user \"go\"", "1 thought \"t\"", "1 message \"a\" open"]);
}

#[test]
fn a_message_id_used_again_in_a_later_turn_is_a_new_message() {
    let mut stage = Stage::running();
    stage.update(chunk(Role::Agent, Some("m"), "one"));
    stage.stop("end_turn");
    stage.prompt("again");
    stage.update(chunk(Role::Agent, Some("m"), "two"));
    assert_eq!(stage.transcript()[1], "1 message \"one\"");
    assert_eq!(stage.transcript()[4], "2 message \"two\" open");
}

#[test]
fn an_empty_chunk_makes_nothing_and_closes_nothing() {
    let mut stage = Stage::running();
    stage.say("");
    stage.think("a");
    stage.say("");
    stage.think("b");
    stage.check(&["1 user \"go\"", "1 thought \"ab\" open"]);
}

#[test]
fn other_blocks_than_text_stand_in_the_message_as_lines() {
    let mut stage = Stage::running();
    let block = |content| Update::Chunk { role: Role::Agent, message_id: None, content };
    stage.say("see");
    stage.update(block(Content::Link { uri: "file:///a.rs".into(), name: "a.rs".into() }));
    let raw = r#"{"type":"image","mimeType":"image/png","data":"AAAA"}"#;
    stage.update(block(Content::Other { kind: "image".into(), raw: raw.into() }));
    stage.update(block(Content::Other { kind: "hologram".into(), raw: "17".into() }));
    stage.update(block(Content::Resource { uri: "x:y".into(), text: "long".into(), mime: None }));
    stage.say("end");
    let expected = "see\n[a.rs](file:///a.rs)\n[image image/png]\n[hologram]\n[resource x:y]\nend";
    stage.check(&["1 user \"go\"", &format!("1 message {expected:?} open")]);
}

#[test]
fn the_agents_echo_of_the_prompt_is_not_shown_again() {
    let mut stage = Stage::idle();
    stage.prompt("say hello");
    for piece in ["say", " hel", "lo"] {
        stage.update(chunk(Role::User, None, piece));
    }
    stage.say("hello");
    stage.check(&["1 user \"say hello\"", "1 message \"hello\" open"]);
}

#[test]
fn an_echo_with_other_white_space_or_with_the_context_is_an_echo() {
    let mut stage = Stage::idle();
    let context = PromptContext {
        shown: "a.rs".into(),
        content: Content::Link { uri: "file:///a.rs".into(), name: "a.rs".into() },
    };
    stage.along = vec![context];
    stage.prompt("hello");
    stage.update(chunk(Role::User, Some("u"), "hello\n\n"));
    let link = Content::Link { uri: "file:///a.rs".into(), name: "another name".into() };
    stage.update(Update::Chunk { role: Role::User, message_id: None, content: link });
    stage.check(&["1 user \"hello\" [\"a.rs\"]"]);
}

#[test]
fn what_the_agent_says_as_the_user_beside_the_echo_is_shown() {
    let mut stage = Stage::running();
    stage.update(chunk(Role::User, None, "go"));
    stage.update(chunk(Role::User, None, "steered"));
    stage.say("ok");
    stage.check(&["1 user \"go\"", "1 user \"steered\"", "1 message \"ok\" open"]);
}

#[test]
fn a_beginning_that_turns_out_to_be_no_echo_is_shown_whole() {
    let mut stage = Stage::running();
    stage.update(chunk(Role::User, None, "g"));
    stage.update(chunk(Role::User, None, "ames"));
    stage.check(&["1 user \"go\"", "1 user \"games\""]);
}

#[test]
fn a_user_message_outside_a_turn_is_shown() {
    let mut stage = Stage::idle();
    stage.update(chunk(Role::User, None, "from else"));
    stage.update(chunk(Role::User, None, "where"));
    stage.check(&["0 user \"from elsewhere\""]);
}

pub(super) fn plan(id: Option<&str>, items: &[&str]) -> Update {
    let item = |content: &&str| PlanEntry {
        content: (*content).into(),
        priority: "medium".into(),
        status: "pending".into(),
    };
    Update::Plan { id: id.map(str::to_owned), body: PlanBody::Items(items.iter().map(item).collect()) }
}

#[test]
fn a_plan_is_replaced_in_place_within_its_turn() {
    let mut stage = Stage::running();
    stage.update(plan(None, &["a"]));
    stage.say("x");
    stage.update(plan(None, &["a", "b"]));
    stage.update(plan(Some("p"), &["other"]));
    stage.update(Update::PlanRemoved { id: "p".into() });
    stage.update(Update::PlanRemoved { id: "unknown".into() });
    stage.check(&["1 user \"go\"", "1 plan [\"a\", \"b\"]", "1 message \"x\"", "1 plan []"]);
}

#[test]
fn a_later_turn_has_a_plan_of_its_own() {
    let mut stage = Stage::running();
    stage.update(plan(None, &["a"]));
    stage.stop("end_turn");
    stage.prompt("more");
    stage.update(plan(None, &["b"]));
    assert_eq!(stage.transcript()[1], "1 plan [\"a\"]");
    assert_eq!(stage.transcript()[4], "2 plan [\"b\"]");
}

#[test]
fn an_empty_plan_without_a_plan_makes_no_entry() {
    let mut stage = Stage::idle();
    stage.update(plan(None, &[]));
    stage.check(&[]);
}

#[test]
fn unknown_updates_are_shown_once_a_kind_and_counted_and_cut_no_message() {
    let mut stage = Stage::running();
    let zzz = || Update::Unknown { kind: "zzz".into(), raw: r#"{"a":1}"#.into() };
    stage.say("one ");
    stage.update(zzz());
    stage.say("two");
    stage.update(zzz());
    stage.update(zzz());
    stage.update(Update::Unknown { kind: "yyy".into(), raw: "1".into() });
    stage.stop("end_turn");
    stage.check(&[
        "1 user \"go\"",
        "1 message \"one two\"",
        "1 unknown zzz (3 times)",
        "1 unknown yyy",
        "1 end end_turn",
    ]);
}

#[test]
fn the_raw_text_of_an_unknown_update_is_bounded() {
    let mut stage = Stage::running();
    stage.update(Update::Unknown { kind: "zzz".into(), raw: "x".repeat(100_000).into() });
    let Body::Unknown { raw, .. } = &stage.entries()[1].body else { panic!() };
    assert!(raw.len() < 17_000 && raw.ends_with("[cut: 83616 more bytes]"), "{}", raw.len());
}

#[test]
fn notices_and_notes_are_entries_and_later_parts_change_them_in_place() {
    let mut stage = Stage::running();
    stage.update(Update::Notice {
        severity: "warning".into(),
        title: "slow".into(),
        description: Some("very\x1b[2K".into()),
    });
    stage.update(Update::CompactionChunk { id: "c".into(), text: "short ".into() });
    stage.update(Update::Subagent {
        session: "child".into(),
        title: Patch::Set("helper".into()),
        description: Patch::Keep,
        state: Patch::Set("running".into()),
    });
    stage.update(Update::CompactionChunk { id: "c".into(), text: "story".into() });
    stage.update(Update::Compaction {
        id: "c".into(),
        status: Patch::Set("completed".into()),
        summary: Patch::Keep,
        error: Patch::Keep,
    });
    stage.update(Update::Subagent {
        session: "child".into(),
        title: Patch::Keep,
        description: Patch::Keep,
        state: Patch::Set("done".into()),
    });
    stage.update(Update::SessionMessage {
        id: "m".into(),
        sender: Patch::Set("a".into()),
        recipient: Patch::Set("b".into()),
        text: Patch::Set("hi".into()),
    });
    stage.check(&[
        "1 user \"go\"",
        "1 warn \"slow\\nvery^[[2K\"",
        "1 compaction \"context compaction: completed\\nshort story\"",
        "1 subagent \"helper (done)\"",
        "1 message \"a → b\\nhi\"",
    ]);
}

#[test]
fn changes_name_the_entries_that_changed_since_they_were_taken() {
    let mut stage = Stage::running();
    let take = |stage: &mut Stage| {
        let changes = stage.room.transcript_mut(&key()).unwrap().take_changes();
        changes.changed.into_iter().map(|id| id.0).collect::<Vec<_>>()
    };
    assert_eq!(take(&mut stage), [0]);
    assert_eq!(take(&mut stage), [0u64; 0]);
    stage.say("a");
    stage.update(Update::ToolCall(titled("t", "T", ToolStatus::InProgress)));
    assert_eq!(take(&mut stage), [1, 2]);
    stage.update(Update::ToolCallUpdate(titled("t", "T", ToolStatus::InProgress)));
    assert_eq!(take(&mut stage), [0u64; 0], "a snapshot that says nothing new is not drawn again");
    stage.say("b");
    assert_eq!(take(&mut stage), [3]);
}
