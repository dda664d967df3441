//! Messages of agents, well-formed and odd, and what they are lifted into.

use super::*;

fn lifted(json: &str) -> Update {
    let raw = format!(r#"{{"sessionId":"s","update":{json}}}"#);
    let (session, update) = update(&raw).expect("an update");
    assert_eq!(session, "s");
    update
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
    assert_eq!(text(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#).as_deref(), Some("ab"));
    assert_eq!(text(r#"{"text":"no type"}"#).as_deref(), Some("no type"));
    assert_eq!(text(r#"{"type":"hologram","x":1}"#), None);
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
fn a_session_id_may_be_a_number_and_nesting_may_be_deep() {
    assert_eq!(update(r#"{"sessionId":5,"update":{"sessionUpdate":"q"}}"#).unwrap().0, "5");
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let raw = format!(r#"{{"sessionId":"s","update":{{"sessionUpdate":"q","x":{deep}}}}}"#);
    assert!(matches!(update(&raw).unwrap().1, Update::Unknown { kind, .. } if kind == "q"));
    assert!(update("null").is_err());
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
}

#[test]
fn bad_parameters_name_the_field() {
    assert_eq!(read_file("null"), Err(BadParams("params must be an object".into())));
    assert_eq!(read_file("[]"), Err(BadParams("params must be an object".into())));
    assert_eq!(read_file(r#"{"sessionId":"s"}"#), Err(BadParams("path is missing or not a text".into())));
    assert_eq!(
        write_file(r#"{"sessionId":"s","path":"/a","content":null}"#),
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
