//! Real processes: `sh` as the agent.

mod ends;

use std::time::Instant;

use super::*;
use crate::event::{AgentEvent, CallResult};
use crate::model::{Exit, Launch, RpcError, Update};

/// What happened until the agent was over.
struct Seen {
    events: Vec<AgentEvent>,
    exit: Exit,
    log: String,
    took: Duration,
}

/// A shell script as the agent.
fn launch(script: &str, env: &[(&str, Option<&str>)]) -> Launch {
    Launch {
        name: "sh".into(),
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env: env.iter().map(|(k, v)| ((*k).to_owned(), v.map(str::to_owned))).collect(),
        cwd: std::env::temp_dir(),
        start_timeout_ms: 0,
        unsaved: crate::model::UnsavedPolicy::Auto,
    }
}

/// Runs a script. `act` sees each event before it is kept.
fn play(script: &str, env: &[(&str, Option<&str>)], mut act: impl FnMut(&mut Agents, &AgentEvent)) -> Seen {
    start(launch(script, env), &mut |agents, event| {
        act(agents, &event);
        Some(event)
    })
}

/// Runs a script. `act` gets each event but the last, and gives back what is to be kept.
fn take(script: &str, mut act: impl FnMut(&mut Agents, AgentEvent) -> Option<AgentEvent>) -> Seen {
    start(launch(script, &[]), &mut act)
}

fn start(launch: Launch, act: &mut dyn FnMut(&mut Agents, AgentEvent) -> Option<AgentEvent>) -> Seen {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let name = launch.name.clone();
    runtime.block_on(async {
        let (lane, mut inbox) = mpsc::channel(64);
        let mut agents = Agents::new(lane, dir.path().to_owned(), GuardHandle::none());
        let began = Instant::now();
        agents.command(AgentId(1), AgentCmd::Start(Box::new(launch)));
        let mut events = Vec::new();
        loop {
            let event = tokio::time::timeout(Duration::from_secs(20), inbox.recv()).await.expect("in time");
            let Some(Event::Agent(_, event)) = event else { panic!("no event of the agent") };
            if let AgentEvent::Exited(exit) = event {
                let took = began.elapsed();
                let log = std::fs::read_to_string(dir.path().join(format!("wire-{name}.jsonl")));
                return Seen { events, exit, log: log.unwrap_or_default(), took };
            }
            events.extend(act(&mut agents, event));
        }
    })
}

fn texts(seen: &Seen) -> Vec<String> {
    seen.events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::Update { update: Update::Unknown { kind, .. }, .. } => Some(kind.clone()),
            _ => None,
        })
        .collect()
}

fn update(kind: &str) -> String {
    format!(
        r#"{{"method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"{kind}"}}}}}}"#
    )
}

#[test]
fn garbage_between_two_messages_costs_neither() {
    let script = format!(
        "echo Migrating; echo; echo '{}'; printf '{{\"half\": \\n'; printf 'glued '; echo '{}'; printf '%s' '{}'",
        update("one"),
        update("two"),
        update("three")
    );
    let seen = play(&script, &[], |_, _| {});
    assert_eq!(texts(&seen), ["one", "two", "three"]);
    assert!(seen.log.contains("Migrating"));
}

#[test]
fn every_request_gets_one_answer_with_its_own_id() {
    let ask = |id: &str, method: &str, params: &str| {
        format!(r#"echo '{{"id":{id},"method":"{method}","params":{params}}}'; "#)
    };
    // The first line that comes in is our initialize.
    let script = format!(
        "read -r init; {}{}{} for i in 1 2 3; do read -r a; echo \"$a\" >&2; done",
        ask("0", "foo/bar", "null"),
        ask("\"abc\"", "fs/read_text_file", "[]"),
        ask("1.50", "terminal/attach", "{}"),
    );
    let seen = play(&script, &[], |_, _| {});
    let answers = seen.exit.stderr;
    let line = |needle: &str| answers.iter().filter(|l| l.contains(needle)).count();
    assert_eq!(line(r#""id":0,"error":{"code":-32601"#), 1, "{answers:?}");
    assert_eq!(line(r#""id":"abc","error":{"code":-32602"#), 1, "{answers:?}");
    assert_eq!(line(r#""id":1.50,"error":{"code":-32601"#), 1, "{answers:?}");
}

#[test]
fn initialize_says_who_we_are_and_offers_only_what_works() {
    let seen = play("read -r init; echo \"$init\" >&2", &[], |_, _| {});
    let init: serde_json::Value = serde_json::from_str(&seen.exit.stderr[0]).unwrap();
    assert_eq!(init["method"], "initialize");
    let params = &init["params"];
    assert_eq!(params["protocolVersion"], 1);
    assert_eq!(params["clientInfo"]["name"], "bosun");
    let caps = &params["clientCapabilities"];
    assert_eq!(caps["fs"], serde_json::json!({"readTextFile": true, "writeTextFile": true}));
    assert_eq!((&caps["terminal"], &caps["_meta"]["terminal_output"]), (&true.into(), &true.into()));
    assert!(caps["session"]["notices"].is_object() && caps.get("elicitation").is_none(), "{caps}");
}

#[test]
fn an_odd_reply_to_initialize_still_counts() {
    let script = r#"read -r init; echo '{"id":"0","result":{"protocolVersion":"1"},"error":null}'"#;
    let seen = play(script, &[], |_, _| {});
    let initialized =
        seen.events.iter().any(|e| matches!(e, AgentEvent::Initialized(info) if info.protocol_version == 1));
    assert!(initialized, "{:?}", seen.events);
}

#[test]
fn a_refused_initialize_ends_the_agent_with_the_reason() {
    let script = r#"read -r init; echo '{"id":0,"error":{"code":-1,"message":"no licence"}}'; sleep 60"#;
    let seen = play(script, &[], |_, _| {});
    assert!(seen.exit.reason.unwrap().contains("no licence"));
}

#[test]
fn a_message_of_twenty_megabytes_arrives() {
    let head =
        r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"big","x":""#;
    let script = format!("printf '%s' '{head}'; head -c 20000000 /dev/zero | tr '\\0' y; echo '\"}}}}}}'");
    let seen = play(&script, &[], |_, _| {});
    assert_eq!(texts(&seen), ["big"], "{:?} {}", seen.exit, &seen.log[..seen.log.len().min(300)]);
}

#[test]
fn an_agent_that_does_not_read_is_reported_and_never_waited_for() {
    let mut stuck = Vec::new();
    let seen = play("exec sleep 60", &[], |agents, event| match event {
        AgentEvent::Started { .. } => {
            let block = crate::model::Content::Text("x".repeat(1 << 20));
            let prompt = AgentCmd::Prompt { call: 1, session: "s".into(), blocks: vec![block] };
            agents.command(AgentId(1), prompt);
        }
        AgentEvent::Stuck { bytes } => {
            stuck.push(*bytes);
            agents.command(AgentId(1), AgentCmd::Stop);
        }
        _ => {}
    });
    assert!(stuck.len() == 1 && stuck[0] > 900_000, "{stuck:?} {:?}", seen.exit);
}

/// What the agent was told, from a script that copies its input to standard error.
fn heard(before: &str, count: usize, act: impl FnMut(&mut Agents, &AgentEvent)) -> Vec<serde_json::Value> {
    let script = format!(
        "read -r init; {before} i=0; while [ $i -lt {count} ]; do read -r l; echo \"$l\" >&2; i=$((i+1)); done"
    );
    let seen = play(&script, &[], act);
    seen.exit.stderr.iter().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn a_hundred_messages_in_one_write_arrive_in_order() {
    let lines: String = (0..100).map(|n| update(&format!("u{n}")) + "\n").collect();
    let seen = play(&format!("printf '%s' '{lines}'"), &[], |_, _| {});
    let expect: Vec<String> = (0..100).map(|n| format!("u{n}")).collect();
    assert_eq!(texts(&seen), expect);
}

#[test]
fn updates_requests_and_replies_keep_the_order_of_the_wire() {
    let request = r#"{"id":9,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}"#;
    let script = format!(
        "read -r init; read -r prompt; echo '{}'; echo '{request}'; echo '{}'; echo '{}'; echo '{}'",
        update("one"),
        update("two"),
        r#"{"id":1.0,"result":{"stopReason":"odd_reason"}}"#,
        update("three"),
    );
    let seen = play(&script, &[], |agents, event| {
        if matches!(event, AgentEvent::Started { .. }) {
            let prompt = AgentCmd::Prompt { call: 77, session: "s".into(), blocks: Vec::new() };
            agents.command(AgentId(1), prompt);
        }
    });
    let shown: Vec<String> = seen
        .events
        .iter()
        .map(|event| match event {
            AgentEvent::Started { .. } => "started".to_owned(),
            AgentEvent::Update { update: Update::Unknown { kind, .. }, .. } => kind.clone(),
            AgentEvent::ReadFile { path, .. } => path.clone(),
            AgentEvent::Reply { call, result: Ok(CallResult::Prompt { stop_reason, .. }) } => {
                format!("{call} {stop_reason}")
            }
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(shown, ["started", "one", "/a", "two", "77 odd_reason", "three"]);
}

#[test]
fn a_second_reply_to_the_same_call_is_ignored() {
    let reply = r#"echo '{"id":1,"result":{"sessionId":"a"}}'; "#;
    let script = format!("read -r init; read -r new; {reply}{reply} echo '{}'", update("after"));
    let seen = play(&script, &[], |agents, event| {
        if matches!(event, AgentEvent::Started { .. }) {
            agents.command(AgentId(1), AgentCmd::NewSession { call: 5, cwd: "/".into() });
        }
    });
    let replies = seen.events.iter().filter(|e| matches!(e, AgentEvent::Reply { call: 5, .. })).count();
    assert_eq!((replies, texts(&seen)), (1, vec!["after".to_owned()]));
}

#[test]
fn an_update_that_was_sent_as_a_request_counts() {
    let with_id = |id: &str, kind: &str| {
        let line = update(kind).replacen('{', &format!("{{\"id\":{id},"), 1);
        format!("echo '{line}'; ")
    };
    let script = with_id("null", "one") + &with_id("4", "two");
    let mut kinds = Vec::new();
    let answers = heard(&script, 1, |_, event| {
        if let AgentEvent::Update { update: Update::Unknown { kind, .. }, .. } = event {
            kinds.push(kind.clone());
        }
    });
    assert_eq!(kinds, ["one", "two"]);
    assert_eq!(answers, [serde_json::json!({ "jsonrpc": "2.0", "id": 4, "result": {} })]);
}

#[test]
fn requests_under_one_id_are_answered_one_by_one() {
    let ask = r#"echo '{"id":null,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}'; "#;
    let script = format!("read -r init; {ask}{ask} read -r a; read -r b; echo \"$a\" >&2; echo \"$b\" >&2");
    let mut n = 0;
    let seen = take(&script, |_, event| match event {
        AgentEvent::ReadFile { reply, .. } => {
            n += 1;
            reply.ok(&serde_json::json!({ "n": n }));
            None
        }
        other => Some(other),
    });
    let answer = |n: u32| format!(r#"{{"jsonrpc":"2.0","id":null,"result":{{"n":{n}}}}}"#);
    assert_eq!(seen.exit.stderr, [answer(1), answer(2)]);
}

#[test]
fn a_request_that_is_taken_back_is_told_only_while_it_is_open() {
    let ask = r#"echo '{"id":"7","method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}'; "#;
    let back =
        |id: &str| format!(r#"echo '{{"method":"$/cancel_request","params":{{"requestId":{id}}}}}'; "#);
    let script = format!("read -r init; {ask}{}{}{}", back("7"), back("\"8\""), back("\"7\""));
    let seen = play(&script, &[], |_, _| {});
    let taken: Vec<&str> = seen
        .events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::CancelRequest { id } => Some(&*id.0),
            _ => None,
        })
        .collect();
    assert_eq!(taken, ["\"7\""]);
}

#[test]
fn a_write_that_could_not_be_read_exactly_is_refused() {
    let script = r#"printf '{"id":1,"method":"fs/write_text_file","params":{"sessionId":"s","path":"/a","content":"\377"}}\n'; "#;
    let answers = heard(script, 1, |_, event| assert!(!matches!(event, AgentEvent::WriteFile { .. })));
    assert_eq!(answers[0]["error"]["code"], -32602);
    assert!(
        answers[0]["error"]["message"].as_str().is_some_and(|why| why.contains("content")),
        "{answers:?}"
    );
}

#[test]
fn what_we_send_has_the_names_of_the_schema() {
    let blocks = vec![
        crate::model::Content::Text("hi".into()),
        crate::model::Content::Link { uri: "file:///a".into(), name: "a".into() },
        crate::model::Content::Resource { uri: "file:///b".into(), text: "t".into(), mime: None },
    ];
    let mut blocks = Some(blocks);
    let said = heard("", 3, |agents, event| {
        if matches!(event, AgentEvent::Started { .. }) {
            agents.command(AgentId(1), AgentCmd::NewSession { call: 1, cwd: "/w".into() });
            let prompt =
                AgentCmd::Prompt { call: 2, session: "s".into(), blocks: blocks.take().unwrap_or_default() };
            agents.command(AgentId(1), prompt);
            agents.command(AgentId(1), AgentCmd::Cancel { session: "s".into() });
        }
    });
    let text = said.iter().map(|v| format!("{v}\n")).collect::<String>();
    expect_test::expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
        {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"},{"type":"resource_link","name":"a","uri":"file:///a"},{"type":"resource","resource":{"text":"t","uri":"file:///b"}}]}}
        {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}
    "#]].assert_eq(&text);
}

#[test]
fn a_refusal_is_explained_with_its_details() {
    let error = |data: &str| RpcError { code: 1, message: "Internal error".into(), data: Some(data.into()) };
    assert_eq!(conn::inbound::explained(&error(r#"{"details":"no key"}"#)), "Internal error (no key)");
    assert_eq!(conn::inbound::explained(&error(r#""why""#)), "Internal error (why)");
    assert_eq!(conn::inbound::explained(&RpcError::new(1, "plain")), "plain");
}
