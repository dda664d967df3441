//! Odd lines of real agents, one by one.

use super::*;

fn show(line: &str) -> String {
    let parsed = parse(line.as_bytes());
    let mut out: Vec<String> = parsed
        .messages
        .iter()
        .map(|message| match message {
            Message::Request { id, method, params } => format!("request {} {method} {params}", id.0),
            Message::Notification { method, params } => format!("tells {method} {params}"),
            Message::Reply { id, result } => match result {
                Ok(ok) => format!("reply {id:?} {ok}"),
                Err(error) => format!("error {id:?} {} {}", error.code, error.message),
            },
        })
        .collect();
    if parsed.noise {
        out.push("noise".to_owned());
    }
    out.join("; ")
}

#[track_caller]
fn check(line: &str, expect: &str) {
    assert_eq!(show(line), expect, "{line}");
}

#[test]
fn ordinary_messages_are_told_apart() {
    check(r#"{"jsonrpc":"2.0","id":0,"method":"a/b","params":{"x":1}}"#, r#"request 0 a/b {"x":1}"#);
    check(r#"{"jsonrpc":"2.0","method":"a/b"}"#, "tells a/b null");
    check(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#, "reply Some(3) {}");
    check(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}"#, "error Some(3) -1 no");
}

#[test]
fn replies_of_every_odd_shape_reach_their_call() {
    check(r#"{"id":3,"result":{},"error":null}"#, "reply Some(3) {}");
    check(r#"{"id":3,"result":1,"error":{"code":5,"message":"m"}}"#, "error Some(3) 5 m");
    check(r#"{"id":"3","result":1}"#, "reply Some(3) 1");
    check(r#"{"id":3.0,"result":1}"#, "reply Some(3) 1");
    check(r#"{"id":3}"#, "reply Some(3) null");
    check(r#"{"id":3,"result":null}"#, "reply Some(3) null");
    check(r#"{"id":3,"error":"boom"}"#, "error Some(3) -32603 boom");
    check(r#"{"id":3,"error":{"message":"m"}}"#, "error Some(3) -32603 m");
    check(r#"{"id":3,"error":{"code":-32000.0,"message":"m"}}"#, "error Some(3) -32000 m");
    check(r#"{"id":3,"error":{"code":99999999999,"message":"m"}}"#, "error Some(3) 99999999999 m");
    check(r#"{"id":3,"method":"session/prompt","result":{}}"#, "reply Some(3) {}");
    check(r#"{"id":3,"error":{"code":1}}"#, "error Some(3) 1 the agent gave an error without a message");
}

#[test]
fn ids_of_requests_are_kept_byte_for_byte() {
    for id in ["0", "\"abc\"", "9007199254740992", "1.50", "null", "99999999999999999999"] {
        check(&format!(r#"{{"id":{id},"method":"m"}}"#), &format!("request {id} m null"));
    }
}

#[test]
fn text_between_messages_is_noise_and_costs_no_message() {
    check("", "");
    check("Migrating…", "noise");
    check("\u{1b}[2J", "noise");
    check(r#"npm WARN {"method":"m"}"#, "tells m null; noise");
    check(r#"{"half": "#, "noise");
    check("{}", "noise");
    check(r#"[{"method":"a"},{"id":1,"result":2}]"#, "tells a null; reply Some(1) 2");
}

#[test]
fn half_a_surrogate_pair_does_not_lose_the_message() {
    check(r#"{"method":"m","params":{"t":"a\ud83d"}}"#, r#"tells m {"t":"a\ud83d"}"#);
}

#[test]
fn bytes_that_are_not_utf8_do_not_lose_the_message() {
    let mut line = br#"{"method":"m","params":{"t":"a"#.to_vec();
    line.extend(b"\xff\"}}");
    assert_eq!(parse(&line).messages.len(), 1);
}

#[test]
fn a_key_that_occurs_twice_counts_the_last_time() {
    check(r#"{"method":"a","method":"b"}"#, "tells b null");
}

#[test]
fn deep_nesting_is_no_reason_to_lose_a_message() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    assert!(show(&format!(r#"{{"method":"m","params":{deep}}}"#)).starts_with("tells m [[["));
}

#[test]
fn a_call_that_spells_out_empty_fields_is_still_a_call() {
    check(r#"{"id":0,"method":"m","params":{},"result":null,"error":null}"#, "request 0 m {}");
    check(r#"{"id":null,"method":"m","params":{},"error":null}"#, "request null m {}");
    check(r#"{"id":3,"method":"m","result":null}"#, "reply Some(3) null");
    check(r#"{"id":3,"method":"m","params":{},"error":{"code":1,"message":"x"}}"#, "error Some(3) 1 x");
    check(r#"{"id":3,"method":null,"result":{}}"#, "reply Some(3) {}");
}

#[test]
fn messages_that_are_glued_together_are_all_there() {
    check(r#"{"method":"a"}{"id":1,"result":2}"#, "tells a null; reply Some(1) 2; noise");
    check(r#"{"method":"a"} trailing words"#, "tells a null; noise");
    check(r#"{"level":"debug","sent":{"id":0,"method":"a"}}"#, "noise");
    check(r#"log {x} {"method":"a","params":{"b":{}}}"#, r#"tells a {"b":{}}; noise"#);
}

#[test]
fn a_broken_line_of_any_size_costs_little() {
    for piece in ["{", "{\"a\":", "[{", "{}", "\\ud83d{"] {
        let line = piece.repeat(200_000);
        assert!(parse(line.as_bytes()).messages.is_empty());
    }
}

#[test]
fn bytes_that_were_replaced_are_told() {
    assert!(parse(b"{\"method\":\"m\",\"params\":{\"t\":\"\xff\"}}").lossy);
    assert!(!parse(r#"{"method":"é"}"#.as_bytes()).lossy);
}

#[test]
fn odd_errors_keep_what_they_say() {
    check(r#"{"id":3,"error":{"code":"-32000","message":{"why":1}}}"#, r#"error Some(3) -32000 {"why":1}"#);
    check(r#"{"id":3,"error":false}"#, "error Some(3) -32603 the agent gave an error without a message");
    check(r#"{"id":3,"error":{"code":1,"message":"half \ud83d"}}"#, "error Some(3) 1 half \u{FFFD}");
    check(r#"{"id":"x","result":1}"#, "reply None 1");
    check(r#"{"id":1e300,"result":1}"#, &format!("reply Some({}) 1", i64::MAX));
}

proptest::proptest! {
    #[test]
    fn no_line_of_bytes_is_too_odd_to_be_looked_at(line: Vec<u8>) {
        parse(&line);
    }

    #[test]
    fn a_message_survives_any_text_before_it(noise in "[^{\\[\r\n]{0,40}") {
        let line = format!(r#"{noise}{{"method":"m","params":{{"a":1}}}}"#);
        let parsed = parse(line.as_bytes());
        proptest::prop_assert_eq!(parsed.messages.len(), 1);
    }
}
