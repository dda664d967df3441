//! Messages of agents, well-formed and odd, and what they are lifted into.

use serde_json::json;

use super::*;
use crate::agent::envelope::Message;

fn lifted(json: &str) -> Update {
    let raw = format!(r#"{{"sessionId":"s","update":{json}}}"#);
    let (session, mut updates) = update(&raw).expect("an update");
    assert_eq!((session.as_str(), updates.len()), ("s", 1));
    updates.remove(0)
}

fn chunk_text(json: &str) -> Option<String> {
    match lifted(json) {
        Update::Chunk { content: Content::Text(text), .. } => Some(text),
        _ => None,
    }
}

fn kind_of_unknown(json: &str) -> Option<String> {
    match lifted(json) {
        Update::Unknown { kind, .. } => Some(kind),
        _ => None,
    }
}

/// One update of every kind that version 1 of the schema knows, with the least it may hold.
const KINDS: &[&str] = &[
    r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"x"}}"#,
    r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"messageId":"m"}"#,
    r#"{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"x"}}"#,
    r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"T"}"#,
    r#"{"sessionUpdate":"tool_call_update","toolCallId":"t"}"#,
    r#"{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"pending"}]}"#,
    r#"{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":[]}}"#,
    r#"{"sessionUpdate":"plan_update","plan":{"type":"markdown","planId":"p","content":"x"}}"#,
    r#"{"sessionUpdate":"plan_removed","planId":"p"}"#,
    r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#,
    r#"{"sessionUpdate":"current_mode_update","currentModeId":"m"}"#,
    r#"{"sessionUpdate":"config_option_update","configOptions":[]}"#,
    r#"{"sessionUpdate":"session_info_update","title":null}"#,
    r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#,
    r#"{"sessionUpdate":"notice","severity":"info","title":"t"}"#,
    r#"{"sessionUpdate":"compaction_update","compactionId":"c","status":"in_progress"}"#,
    r#"{"sessionUpdate":"compaction_summary_chunk","compactionId":"c","content":{"type":"text","text":"x"}}"#,
    r#"{"sessionUpdate":"subagent_update","sessionId":"child"}"#,
    r#"{"sessionUpdate":"session_message","messageId":"m"}"#,
    r#"{"sessionUpdate":"session_message_chunk","messageId":"m","content":{"type":"text","text":"x"}}"#,
];

#[test]
fn every_kind_of_the_schema_is_understood() {
    use agent_client_protocol_schema::v1::SessionUpdate;
    for json in KINDS {
        // Guards the table itself: the schema crate must take each of these for what it is.
        serde_json::from_str::<SessionUpdate>(json).unwrap_or_else(|error| panic!("{json}: {error}"));
        assert_eq!(kind_of_unknown(json), None, "{json}");
    }
}

#[test]
fn every_kind_survives_extra_fields_and_nulls() {
    for json in KINDS {
        let odd = json.replacen('{', r#"{"_meta":{"x":[1]},"extra":null,"description":null,"#, 1);
        assert_eq!(kind_of_unknown(&odd), None, "{odd}");
    }
}

#[test]
fn an_unknown_kind_is_kept_raw() {
    let json = r#"{"sessionUpdate":"zzz","a":1}"#;
    assert_eq!(lifted(json), Update::Unknown { kind: "zzz".into(), raw: json.into() });
    assert_eq!(kind_of_unknown(r#"{"a":1}"#).as_deref(), Some(""));
    assert_eq!(
        kind_of_unknown(r#"{"sessionUpdate":"usage_update","used":"many"}"#).as_deref(),
        Some("usage_update")
    );
}

#[test]
fn a_chunk_of_an_odd_shape_keeps_its_text() {
    let text = |content: &str| {
        chunk_text(&format!(r#"{{"sessionUpdate":"agent_message_chunk","content":{content}}}"#))
    };
    assert_eq!(text(r#"{"type":"text"}"#).as_deref(), Some(""));
    assert_eq!(text(r#""bare""#).as_deref(), Some("bare"));
    assert_eq!(text(r#"{"text":"no type"}"#).as_deref(), Some("no type"));
    assert_eq!(text(r#"{"type":"hologram","x":1}"#), None);
}

#[test]
fn a_chunk_with_a_list_of_blocks_is_as_many_chunks() {
    let raw = r#"{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":
        [{"type":"text","text":"a"},7,{"type":"image","data":"AA==","mimeType":"image/png"},"b",null]}}"#;
    let shown: Vec<String> = update(raw)
        .unwrap()
        .1
        .iter()
        .map(|u| match u {
            Update::Chunk { role: Role::Agent, message_id: Some(m), content } if m == "m" => match content {
                Content::Text(text) => text.clone(),
                Content::Other { kind, raw } => format!("{kind} {}", raw.len()),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(shown, ["a", "unknown 1", "image 53", "b"]);
}

#[test]
fn half_a_character_becomes_a_replacement_character() {
    let json = r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\ud83d"}}"#;
    assert_eq!(chunk_text(json).as_deref(), Some("a\u{FFFD}"));
}

#[test]
fn a_plan_without_priorities_keeps_its_entries() {
    let json = r#"{"sessionUpdate":"plan","entries":[{"content":"a"},{"nothing":1},{"content":"b","status":"done!"}]}"#;
    let Update::Plan { body: PlanBody::Items(items), .. } = lifted(json) else { panic!("no plan") };
    let shown: Vec<_> = items.iter().map(|e| (e.content.as_str(), e.status.as_str())).collect();
    assert_eq!(shown, [("a", "pending"), ("b", "done!")]);
}

#[test]
fn a_status_that_looks_like_an_end_is_one() {
    let status = |word: &str| {
        let json = format!(r#"{{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"{word}"}}"#);
        match lifted(&json) {
            Update::ToolCallUpdate(tool) => tool.status.set().cloned(),
            _ => None,
        }
    };
    for word in ["cancelled", "canceled"] {
        assert_eq!(status(word), Some(ToolStatus::Cancelled));
    }
    assert_eq!(status("error"), Some(ToolStatus::Failed));
    assert_eq!(status("weird"), Some(ToolStatus::Other("weird".into())));
}

#[test]
fn one_bad_piece_of_content_does_not_lose_the_others() {
    let json = r#"{"sessionUpdate":"tool_call","toolCallId":7,"content":[null,{"type":"diff","path":"/a"},
        {"type":"text","text":"bare"},{"type":"content","content":{"type":"text","text":"x"}},
        {"type":"diff","path":"/a","oldText":null,"newText":"n"},{"type":"terminal","terminalId":"e"},{"type":"q"}],
        "locations":[{"path":"/a","line":null},{"line":3},{"path":"/b","line":4}]}"#;
    let Update::ToolCall(tool) = lifted(json) else { panic!("no tool call") };
    assert_eq!(tool.id, "7");
    let content = tool.content.set().expect("content");
    assert_eq!(content.len(), 6);
    assert!(matches!(&content[0], ToolContent::Other { kind, .. } if kind == "diff"));
    assert!(matches!(&content[3], ToolContent::Diff(diff) if diff.old.is_none() && diff.new == "n"));
    assert_eq!(tool.locations.set().expect("locations").len(), 2);
}

#[test]
fn null_is_absent_in_a_tool_call() {
    let json =
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","content":null,"title":null,"status":null}"#;
    let expect = ToolPatch { id: "t".into(), ..ToolPatch::default() };
    assert_eq!(lifted(json), Update::ToolCallUpdate(expect));
}

#[test]
fn both_spellings_of_the_mode_are_read() {
    assert_eq!(lifted(r#"{"sessionUpdate":"current_mode_update","modeId":"p"}"#), Update::Mode("p".into()));
}

#[test]
fn a_session_id_may_be_a_number() {
    assert_eq!(update(r#"{"sessionId":5,"update":{"sessionUpdate":"q"}}"#).unwrap().0, "5");
    assert!(update("null").is_err());
}

#[test]
fn deep_nesting_in_one_field_costs_no_other_field() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let json = format!(r#"{{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":{deep},"title":"T"}}"#);
    let Update::ToolCall(tool) = lifted(&json) else { panic!("no tool call") };
    assert_eq!(tool.title.set().map(String::as_str), Some("T"));
    assert_eq!(tool.raw_input.set().map(|raw| raw.matches('[').count()), Some(300));
    let json = format!(
        r#"{{"_meta":{deep},"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"x"}}}}"#
    );
    assert_eq!(chunk_text(&json).as_deref(), Some("x"));
    assert_eq!(stop_reason(&format!(r#"{{"_meta":{deep},"stopReason":"refusal"}}"#)), "refusal");
    assert_eq!(new_session(&format!(r#"{{"sessionId":"a","models":{deep}}}"#)).as_deref(), Ok("a"));
}

#[test]
fn half_a_character_in_a_result_does_not_lose_the_result() {
    let info = initialized(r#"{"protocolVersion":1,"agentInfo":{"name":"n\ud83d","version":"1"}}"#);
    assert_eq!((info.protocol_version, info.name.as_str()), (1, "n\u{FFFD}"));
}

#[test]
fn a_plan_that_cannot_be_read_does_not_look_emptied() {
    for entries in ["{}", "\"a\"", "null"] {
        let json = format!(r#"{{"sessionUpdate":"plan","entries":{entries}}}"#);
        assert_eq!(kind_of_unknown(&json).as_deref(), Some("plan"), "{entries}");
    }
    assert!(matches!(
        lifted(r#"{"sessionUpdate":"plan","entries":[]}"#),
        Update::Plan { body: PlanBody::Items(items), .. } if items.is_empty()
    ));
}

#[test]
fn permission_options_of_any_kind_are_kept_in_order() {
    let raw = r#"{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[
        {"optionId":"a","name":"A","kind":"allow_once"},{"optionId":"b","kind":"allow_persistent"},
        {"optionId":"c","name":"C","kind":null},{"name":"no id","kind":"allow_once"},
        {"optionId":"d","name":"D","kind":"reject_always"}]}"#;
    let (_, _, options) = permission(raw).unwrap();
    let shown: Vec<_> = options.iter().map(|o| (o.id.as_str(), o.name.as_str(), o.kind.as_str())).collect();
    assert_eq!(
        shown,
        [
            ("a", "A", "allow_once"),
            ("b", "b", "allow_persistent"),
            ("c", "C", ""),
            ("d", "D", "reject_always")
        ]
    );
    assert!(permission(r#"{"sessionId":"s","options":null}"#).unwrap().2.is_empty());
}

#[test]
fn numbers_of_a_read_are_taken_however_they_are_written() {
    let read = |line: &str| {
        read_file(&format!(r#"{{"sessionId":"s","path":"/a","line":{line},"limit":null}}"#)).map(|r| r.2)
    };
    assert_eq!(read("3"), Ok(Some(3)));
    assert_eq!(read("1.0"), Ok(Some(1)));
    assert_eq!(read("-1"), Ok(Some(0)));
    assert_eq!(read("\"3\""), Ok(Some(3)));
    assert_eq!(read("null"), Ok(None));
    assert_eq!(read("[]"), Err(BadParams("line is not a number".into())));
    let limit =
        |limit: &str| read_file(&format!(r#"{{"sessionId":"s","path":"/a","limit":{limit}}}"#)).unwrap().3;
    assert_eq!((limit("2.0"), limit("0"), limit("null")), (Some(2), Some(0), None));
    assert_eq!((limit("-1"), limit("\"-1\""), limit("-0.5")), (None, None, None));
}

#[test]
fn bad_parameters_name_the_field() {
    assert_eq!(read_file("null"), Err(BadParams("params must be an object".into())));
    assert_eq!(read_file("[]"), Err(BadParams("params must be an object".into())));
    assert_eq!(read_file(r#"{"sessionId":"s"}"#), Err(BadParams("path is missing or not a text".into())));
    assert_eq!(
        write_file(r#"{"sessionId":"s","path":"/a","content":null}"#, false),
        Err(BadParams("content is missing or not a text".into()))
    );
}

#[test]
fn an_agent_that_says_next_to_nothing_is_understood() {
    let info = initialized(r#"{"protocolVersion":1}"#);
    assert_eq!((info.protocol_version, info.embedded_context, info.load_session), (1, false, false));
    assert_eq!((&*info.capabilities, &*info.auth_methods), ("null", "[]"));
    let info = initialized(
        r#"{"protocolVersion":"1","agentInfo":{"name":"n","title":"T","version":"2"},"authMethods":null,
            "agentCapabilities":{"loadSession":null,"promptCapabilities":{"embeddedContext":true},"new":{}}}"#,
    );
    assert_eq!((info.protocol_version, info.embedded_context), (1, true));
    assert_eq!((info.name.as_str(), info.version.as_str()), ("T", "2"));
    assert!(info.capabilities.contains("\"new\""));
}

#[test]
fn a_stop_reason_is_taken_as_it_came() {
    assert_eq!(stop_reason(r#"{"stopReason":"new_reason"}"#), "new_reason");
    assert_eq!(stop_reason("null"), "end_turn");
    assert!(new_session("{}").is_err());
    assert_eq!(new_session(r#"{"sessionId":3}"#).unwrap(), "3");
}

#[test]
fn a_write_never_puts_replacement_characters_into_a_file() {
    let write = |content: &str, lossy| {
        write_file(&format!(r#"{{"sessionId":"s","path":"/a","content":"{content}"}}"#), lossy)
    };
    assert_eq!(write("\\ud83d\\ude00 \u{FFFD}", false).unwrap().2, "😀 \u{FFFD}");
    assert!(write("a\\ud83d", false).unwrap_err().0.contains("content"));
    assert!(write("a", true).is_err());
}

/// What a recorded line is to us, in one line.
fn told(message: Message) -> String {
    match message {
        Message::Notification { method, params } if method == "session/update" => match update(&params) {
            Ok((session, updates)) => format!("{session}: {updates:?}"),
            Err(bad) => bad.0,
        },
        Message::Notification { method, .. } => format!("tells {method}"),
        Message::Request { id, method, params } => match method.as_str() {
            "session/request_permission" => format!("{} asks {:?}", id.0, permission(&params)),
            "fs/read_text_file" => format!("{} reads {:?}", id.0, read_file(&params)),
            "fs/write_text_file" => format!("{} writes {:?}", id.0, write_file(&params, false)),
            _ => format!("{} wants {method}", id.0),
        },
        Message::Reply { id, result: Ok(raw) } => {
            let info = initialized(&raw);
            let (session, stop) = (new_session(&raw).ok(), stop_reason(&raw));
            format!("{id:?} is answered: {} {:?}, {session:?}, {stop}", info.protocol_version, info.name)
        }
        Message::Reply { id, result: Err(error) } => format!("{id:?} fails: {error:?}"),
    }
}

#[test]
fn recorded_lines_of_real_agents_are_read_as_before() {
    let lines = include_str!("../fixtures/recorded.jsonl");
    let mut out = String::new();
    for line in lines.lines() {
        let parsed = crate::agent::envelope::parse(line.as_bytes());
        assert!(!parsed.noise && parsed.messages.len() == 1, "{line}");
        for message in parsed.messages {
            out.push_str(&told(message));
            out.push('\n');
        }
    }
    assert!(!out.contains("Unknown {"), "{out}");
    expect_test::expect_file!["../fixtures/recorded.txt"].assert_eq(&out);
}

#[test]
fn the_end_of_an_agents_own_command_is_what_it_says_and_no_success_by_default() {
    for (exit, code, signal) in [
        (json!({"exit_code": 3}), Some(3), None),
        (json!({"exit_code": 0, "signal": null}), Some(0), None),
        (json!({"exit_code": null, "signal": "SIGKILL"}), Some(137), Some("SIGKILL")),
        (json!({"signal": "odd\u{1b}"}), Some(128), Some("odd^[")),
        (json!({"exit_code": -1}), Some(255), None),
        (json!({"exit_code": 1_u64 << 40}), Some(255), None),
        (json!({}), None, None),
    ] {
        let end = command_end(&exit);
        assert_eq!((end.told(), end.signal.as_deref()), (code, signal), "{exit}");
    }
}
