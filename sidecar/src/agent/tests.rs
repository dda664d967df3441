//! Real processes: `sh` as the agent.

use std::time::Instant;

use super::*;
use crate::event::AgentEvent;
use crate::model::{Exit, Launch, Update};
use crate::reply::Reply;

/// What happened until the agent was over.
struct Seen {
    events: Vec<AgentEvent>,
    exit: Exit,
    log: String,
    took: Duration,
}

/// Runs a shell script as the agent. `act` is called with each event before it is kept.
fn play(script: &str, env: &[(&str, Option<&str>)], mut act: impl FnMut(&mut Agents, &AgentEvent)) -> Seen {
    let launch = Launch {
        name: "sh".into(),
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env: env.iter().map(|(k, v)| ((*k).to_owned(), v.map(str::to_owned))).collect(),
        cwd: std::env::temp_dir(),
        start_timeout_ms: 0,
    };
    start(launch, &mut act)
}

fn start(launch: Launch, act: &mut dyn FnMut(&mut Agents, &AgentEvent)) -> Seen {
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
            act(&mut agents, &event);
            if let AgentEvent::Exited(exit) = event {
                let took = began.elapsed();
                let log = std::fs::read_to_string(dir.path().join(format!("wire-{name}.jsonl")));
                return Seen { events, exit, log: log.unwrap_or_default(), took };
            }
            events.push(event);
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
fn overrides_are_laid_over_the_inherited_environment() {
    let script = r#"printf '%s|%s|%s|%s' "$FOO" "$BAR" "${HOME+kept}" "${GONE-gone}" >&2"#;
    let env = [("FOO", Some("a=b\nc")), ("BAR", Some("")), ("GONE", None)];
    let seen = play(script, &env, |_, _| {});
    assert_eq!(seen.exit.stderr.join("\n"), "a=b\nc||kept|gone");
    assert_eq!(seen.exit.code, Some(0));
}

#[test]
fn a_program_that_is_not_there_is_an_exit_with_a_reason() {
    let launch = Launch { command: "no-such-agent".into(), cwd: "/".into(), ..Launch::default() };
    let seen = start(launch, &mut |_, _| {});
    assert!(seen.exit.reason.unwrap().contains("not found"));
    let launch = Launch { command: "sh".into(), cwd: "/no/such/folder".into(), ..Launch::default() };
    assert!(start(launch, &mut |_, _| {}).exit.reason.unwrap().contains("/no/such/folder"));
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
fn a_killed_agent_ends_with_its_signal_and_its_last_words() {
    let seen = play("echo boom >&2; kill -9 $$", &[], |_, _| {});
    assert_eq!((seen.exit.code, seen.exit.signal), (None, Some(9)));
    assert_eq!(seen.exit.stderr, ["boom"]);
}

#[test]
fn a_flood_on_standard_error_holds_up_nothing() {
    let script = format!("head -c 20000000 /dev/zero | tr '\\0' x >&2; echo '{}'", update("after"));
    let seen = play(&script, &[], |_, _| {});
    assert_eq!(texts(&seen), ["after"]);
    assert!(seen.exit.stderr.concat().len() < 8192);
}

#[test]
fn a_grandchild_that_holds_the_pipes_does_not_hold_up_the_end() {
    let seen = play(&format!("sleep 30 & echo '{}'; exit 3", update("last")), &[], |_, _| {});
    assert_eq!(seen.exit.code, Some(3));
    assert_eq!(texts(&seen), ["last"]);
    assert!(seen.took < Duration::from_secs(5), "{:?}", seen.took);
}

/// Processes that carry a variable of this test.
fn marked(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| {
            let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environ.split(|b| *b == 0).any(|var| var == mark.as_bytes())
        })
        .count()
}

#[test]
fn stopping_ends_descendants_that_ignore_term_or_left_the_group() {
    let value = format!("{}", std::process::id());
    let script = "trap '' TERM; (trap '' TERM; sleep 60) & setsid sleep 60 & echo ready >&2; \
                  while :; do sleep 60; done";
    let script = format!("{script} # {}", update("x"));
    let launched = format!("echo '{}'; {script}", update("up"));
    let seen = play(&launched, &[("BOSUN_STOP_TEST", Some(&value))], |agents, event| {
        if matches!(event, AgentEvent::Update { .. }) {
            agents.command(AgentId(1), AgentCmd::Stop);
        }
    });
    assert_eq!(seen.exit.signal, Some(9));
    assert!(seen.took < Duration::from_secs(3), "{:?}", seen.took);
    let until = Instant::now() + Duration::from_secs(5);
    while marked(&format!("BOSUN_STOP_TEST={value}")) > 0 {
        assert!(Instant::now() < until, "something is left");
        std::thread::yield_now();
    }
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
        ask("1.50", "terminal/create", "{}"),
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
    assert_eq!(caps["terminal"], false);
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
    let launch = Launch {
        name: "deaf".into(),
        command: "sh".into(),
        args: vec!["-c".into(), "exec sleep 60".into()],
        cwd: "/".into(),
        ..Launch::default()
    };
    let mut stuck = 0;
    let seen = start(launch, &mut |agents, event| match event {
        AgentEvent::Started { .. } => {
            let block = crate::model::Content::Text("x".repeat(1 << 20));
            let prompt = AgentCmd::Prompt { call: 1, session: "s".into(), blocks: vec![block] };
            agents.command(AgentId(1), prompt);
        }
        AgentEvent::Stuck { bytes } => {
            stuck = *bytes;
            agents.command(AgentId(1), AgentCmd::Stop);
        }
        _ => {}
    });
    assert!(stuck > 900_000, "{stuck} {:?} {}", seen.exit, &seen.log[..seen.log.len().min(300)]);
}

#[test]
fn a_reply_handle_outlives_its_agent_harmlessly() {
    let script =
        r#"read -r i; echo '{"id":1,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}'"#;
    let seen = play(script, &[], |_, _| {});
    let replies: Vec<Reply> = seen
        .events
        .into_iter()
        .filter_map(|event| match event {
            AgentEvent::ReadFile { reply, .. } => Some(reply),
            _ => None,
        })
        .collect();
    assert_eq!(replies.len(), 1);
    for reply in replies {
        reply.ok(&serde_json::json!({}));
    }
}
