//! From an agent's start to its end, and again.

use super::*;

#[test]
fn a_session_starts_its_agent_then_opens_then_is_ready() {
    let mut stage = Stage::empty();
    stage.create("s1", 1);
    assert_eq!(
        stage.take(),
        ["agent 1: start robo", r#"BosunStateChanged {"session":"s1","state":"starting"}"#]
    );
    let effects = stage.room.started(AgentId(1), 77);
    stage.play(effects);
    stage.initialized(
        1,
        AgentInfo { name: "Robo".into(), version: "2".into(), protocol_version: 1, ..AgentInfo::default() },
    );
    assert_eq!(stage.take(), ["groups [77]", "agent 1: session/new /proj"]);
    assert_eq!(stage.room.session_for(AgentId(1), "a1"), None);
    stage.made(1, "a1");
    assert_eq!(
        stage.take(),
        [r#"BosunSessionReady {"session":"s1"}"#, r#"BosunStateChanged {"session":"s1","state":"idle"}"#]
    );
    assert_eq!(stage.room.session_for(AgentId(1), "a1"), Some(&key()));
    assert_eq!(stage.room.cwd(&key()), Some(Path::new("/proj")));
    let state = &stage.room.states()[0];
    assert_eq!((state.agent.as_str(), state.agent_info.as_str()), ("robo", "Robo 2"));
    assert_eq!((state.usage, state.mode.clone(), state.title.as_str()), (None, None, ""));
}

#[test]
fn updates_that_come_before_the_session_is_known_are_kept_and_applied() {
    let mut stage = Stage::starting();
    stage.initialized(1, AgentInfo { protocol_version: 1, ..AgentInfo::default() });
    stage.update(Update::Mode("plan".into()));
    stage.say("hello ");
    let effects = stage.room.update(AgentId(1), "zzz", chunk(Role::Agent, None, "not mine"), 0);
    stage.play(effects);
    stage.say("there");
    stage.made(1, "a1");
    assert_eq!(stage.room.states()[0].mode.as_deref(), Some("plan"));
    stage.check(&["0 message \"hello there\" open"]);
}

#[test]
fn what_is_kept_before_the_session_is_known_is_bounded() {
    let mut stage = Stage::starting();
    stage.initialized(1, AgentInfo { protocol_version: 1, ..AgentInfo::default() });
    for _ in 0..3 {
        stage.say(&"x".repeat(2_000_000));
    }
    for _ in 0..5000 {
        stage.say("y");
    }
    stage.made(1, "a1");
    let Body::Message { text, .. } = &stage.entries()[0].body else { panic!() };
    let count = |c| text.chars().filter(|t| *t == c).count();
    assert_eq!((count('x'), count('y')), (4_000_000, 1022));
}

#[test]
fn updates_for_unknown_sessions_change_nothing() {
    let mut stage = Stage::running();
    for (agent, acp) in [(1, "zzz"), (2, "a1")] {
        let effects = stage.room.update(AgentId(agent), acp, chunk(Role::Agent, None, "x"), 0);
        stage.play(effects);
    }
    stage.check(&["1 user \"go\""]);
}

#[test]
fn another_version_of_the_protocol_is_explained_and_the_agent_stopped() {
    let mut stage = Stage::starting();
    stage.prompt("hello");
    stage.take();
    stage.initialized(1, AgentInfo { protocol_version: 2, ..AgentInfo::default() });
    let why = "The agent speaks version 2 of the protocol, Bosun speaks version 1. \
               Install a version of the agent that fits.";
    assert_eq!(
        stage.take(),
        [
            format!("notify error: robo: {why}"),
            "returned s1: \"hello\" (The session could not be started.)".to_owned(),
            "agent 1: stop".to_owned()
        ]
    );
    stage.exit(Exit { code: Some(0), ..Exit::default() });
    assert_eq!(stage.state(), "dead");
    assert_eq!(stage.room.states()[0].cause.as_deref(), Some(why));
    stage.check(&[&format!("0 error {why:?}"), "0 info \"The agent has ended: exit code 0\""]);
}

#[test]
fn an_agent_that_ends_before_it_is_ready_is_explained_and_prompts_come_back() {
    let mut stage = Stage::starting();
    stage.prompt("one");
    stage.prompt("two");
    stage.take();
    stage.exit(Exit {
        code: Some(127),
        stderr: vec!["sh: robo\x1b[1m: not found".into()],
        ..Exit::default()
    });
    let text = "robo ended before it was ready (robo): exit code 127\nstderr: sh: robo^[[1m: not found";
    assert_eq!(
        stage.take(),
        [
            "groups []".to_owned(),
            format!("notify error: {text}"),
            "returned s1: \"one\\n\\ntwo\" (The agent has ended.)".to_owned(),
            r#"BosunAgentExit {"session":"s1","code":127,"signal":null}"#.to_owned(),
            r#"BosunStateChanged {"session":"s1","state":"dead"}"#.to_owned()
        ]
    );
    stage.check(&[&format!("0 error {text:?}")]);
    assert!(stage.room.needs_restart(&key()));
}

#[test]
fn a_session_that_cannot_be_opened_says_why_and_a_new_prompt_tries_again() {
    let mut stage = Stage::starting();
    stage.initialized(1, AgentInfo { protocol_version: 1, ..AgentInfo::default() });
    stage.take();
    let data = r#"{"details":"no model configured"}"#;
    stage.fail(RpcError { code: -32603, message: "Internal error".into(), data: Some(data.into()) });
    assert_eq!(
        stage.take(),
        [
            "notify error: robo: The agent could not open a session: Internal error\nno model configured\n\
             If it is not set up yet: do that with its own command, then send the prompt again. \
             Or take another: :Bosun new <Tab>",
            "agent 1: stop"
        ]
    );
    stage.exit(Exit { signal: Some(15), ..Exit::default() });
    let effects = stage.room.restart(&key(), AgentId(2), 0);
    stage.play(effects);
    stage.prompt("hello");
    stage.take();
    stage.ready(2, "b");
    assert_eq!(
        stage.take_quiet(),
        ["groups [102]", "agent 2: session/new /proj", "agent 2: prompt b: hello"]
    );
}

#[test]
fn sign_in_that_is_missing_is_named() {
    let mut stage = Stage::starting();
    stage.initialized(1, AgentInfo { protocol_version: 1, ..AgentInfo::default() });
    stage.fail(RpcError::new(RpcError::AUTH_REQUIRED, "Authentication required"));
    assert!(stage.transcript()[0].contains("sign in first"), "{:?}", stage.transcript());
}

#[test]
fn starting_has_a_time_limit() {
    let mut stage = Stage::starting();
    assert_eq!(stage.room.next_deadline(), Some(60_000));
    stage.tick(59_999);
    assert_eq!(stage.take(), [""; 0]);
    stage.prompt("hi");
    stage.take();
    stage.tick(60_000);
    let told = stage.take();
    assert!(
        told[0].starts_with("notify error: robo: The agent did not answer initialize within 60 s"),
        "{told:?}"
    );
    assert_eq!(told[1..], ["returned s1: \"hi\" (The session could not be started.)", "agent 1: stop"]);
    assert_eq!(stage.room.next_deadline(), None);
    // Answers that come now change nothing.
    stage.initialized(1, AgentInfo { protocol_version: 1, ..AgentInfo::default() });
    stage.tick(120_000);
    assert_eq!(stage.take(), [""; 0]);
    assert_eq!(stage.state(), "starting");
    stage.exit(Exit { signal: Some(9), stderr: vec!["waiting for login".into()], ..Exit::default() });
    assert_eq!(stage.state(), "dead");
    assert!(stage.transcript()[1].contains("stderr: waiting for login"), "{:?}", stage.transcript());
}

#[test]
fn opening_a_session_counts_against_the_time_limit_and_a_late_answer_is_ignored() {
    let mut stage = Stage::starting();
    stage.initialized(1, AgentInfo { name: "R".into(), protocol_version: 1, ..AgentInfo::default() });
    stage.tick(60_000);
    let told = stage.take();
    assert!(told.iter().any(|line| line.contains("did not answer session/new")), "{told:?}");
    stage.made(1, "a1");
    assert_eq!(stage.take(), [""; 0]);
    assert_eq!(stage.state(), "starting");
    assert_eq!(stage.room.session_for(AgentId(1), "a1"), None);
}

#[test]
fn a_ready_session_has_no_time_limit_and_neither_has_a_prompt() {
    let mut stage = Stage::running();
    assert_eq!(stage.room.next_deadline(), None);
    stage.tick(10_000_000);
    assert_eq!(stage.take(), [""; 0]);
}

#[test]
fn an_agent_that_ends_during_a_turn_ends_the_turn_with_the_cause() {
    let mut stage = Stage::running();
    stage.say("half a");
    stage.update(Update::ToolCall(titled("t", "T", ToolStatus::InProgress)));
    stage.ask("7", titled("t", "T", ToolStatus::InProgress), yes_no());
    stage.ask_write(write_ask(4, "/proj/a"));
    stage.prompt("queued");
    stage.take();
    let stderr = (0..20).map(|n| format!("line {n}")).collect();
    stage.exit(Exit { signal: Some(9), stderr, ..Exit::default() });
    assert_eq!(
        stage.take(),
        [
            "groups []".to_owned(),
            cancelled("7"),
            "write 4: reject".to_owned(),
            r#"BosunTurnEnd {"session":"s1","stop_reason":"agent_exit"}"#.to_owned(),
            "notify error: robo ended during a turn: killed by SIGKILL".to_owned(),
            "returned s1: \"queued\" (The agent has ended.)".to_owned(),
            r#"BosunAgentExit {"session":"s1","code":null,"signal":9}"#.to_owned(),
            r#"BosunStateChanged {"session":"s1","state":"dead"}"#.to_owned()
        ]
    );
    let lines = stage.transcript();
    assert_eq!(
        lines[..5],
        [
            "1 user \"go\"",
            "1 message \"half a\"",
            "1 tool t \"T\" cancelled",
            "1 question 1 \"T\": withdrawn: the agent ended",
            "1 question 2 \"write a\": withdrawn: the agent ended",
        ]
    );
    let Body::TurnEnd { detail, .. } = &stage.entries()[5].body else { panic!() };
    assert_eq!(detail[0], "killed by SIGKILL");
    assert_eq!((detail[1].as_str(), detail[8].as_str()), ("stderr: line 12", "stderr: line 19"));
    assert_eq!(stage.room.states()[0].cause.as_deref(), Some("killed by SIGKILL"));
    stage.take();
    stage.answer(1, "y");
    assert_eq!(stage.take(), ["notify warn: Question 1 is not open (any more)."]);
}

#[test]
fn an_agent_that_ends_while_idle_is_said_so() {
    let mut stage = Stage::idle();
    stage.exit(Exit { code: Some(0), ..Exit::default() });
    stage.check(&["0 warn \"The agent has ended: exit code 0\\nThe next prompt starts it again.\""]);
}

#[test]
fn a_restart_keeps_the_transcript_and_says_what_is_lost() {
    let mut stage = Stage::running();
    stage.update(Update::Mode("plan".into()));
    stage.exit(Exit { code: Some(1), ..Exit::default() });
    stage.prompt("too early");
    assert!(stage.take().contains(&"returned s1: \"too early\" (The agent has ended.)".to_owned()));
    let effects = stage.room.restart(&key(), AgentId(2), 5_000);
    stage.play(effects);
    assert_eq!(stage.room.next_deadline(), Some(65_000));
    assert!(!stage.room.needs_restart(&key()));
    stage.prompt("again");
    assert_eq!(
        stage.take(),
        ["agent 2: start robo", r#"BosunStateChanged {"session":"s1","state":"starting"}"#]
    );
    assert_eq!(stage.room.states()[0].queue, ["again"]);
    stage.ready(2, "a1");
    stage.check(&[
        "1 user \"go\"",
        "1 end agent_exit [\"exit code 1\", \"The next prompt starts the agent again.\"]",
        "1 info \"The agent was started again. It does not remember the conversation above.\"",
        "2 user \"again\"",
    ]);
    // The old process is not this session any more.
    stage.say("from the grave");
    stage.exit(Exit::default());
    assert_eq!(stage.transcript().len(), 4);
    assert_eq!(stage.room.states()[0].mode, None);
    let effects = stage.room.update(AgentId(2), "a1", chunk(Role::Agent, None, "hi"), 0);
    stage.play(effects);
    assert_eq!(stage.transcript()[4], "2 message \"hi\" open");
    let effects = stage.room.restart(&key(), AgentId(3), 0);
    assert!(effects.is_empty(), "it is alive");
}

#[test]
fn closing_answers_what_waits_and_stops_the_agent() {
    let mut stage = Stage::running();
    stage.ask("7", titled("t", "T", ToolStatus::Pending), yes_no());
    stage.prompt("queued");
    stage.take();
    let effects = stage.room.close(&key(), 0);
    stage.play(effects);
    assert_eq!(
        stage.take(),
        [
            cancelled("7"),
            r#"BosunTurnEnd {"session":"s1","stop_reason":"cancelled"}"#.to_owned(),
            "returned s1: \"queued\" (The session was closed.)".to_owned(),
            "agent 1: stop".to_owned()
        ]
    );
    assert!(stage.room.states().is_empty());
    assert_eq!(stage.room.session_for(AgentId(1), "a1"), None);
    stage.stop("cancelled");
    stage.say("late");
    assert_eq!(stage.take(), [""; 0]);
    stage.exit(Exit { code: Some(0), ..Exit::default() });
    assert_eq!(stage.take(), ["groups []", r#"BosunAgentExit {"session":"s1","code":0,"signal":null}"#]);
}

#[test]
fn closing_while_starting_stops_the_agent_and_nothing_comes_back_to_life() {
    let mut stage = Stage::starting();
    stage.initialized(1, AgentInfo { protocol_version: 1, ..AgentInfo::default() });
    stage.take();
    let effects = stage.room.close(&key(), 0);
    stage.play(effects);
    assert_eq!(stage.take(), ["agent 1: stop"]);
    stage.made(1, "a1");
    assert_eq!(stage.take(), [""; 0]);
    assert!(stage.room.states().is_empty());
}

#[test]
fn sessions_can_share_an_agent() {
    let mut stage = Stage::idle();
    stage.create("s2", 1);
    assert_eq!(stage.take_quiet(), ["agent 1: session/new /proj"]);
    stage.made(1, "a2");
    stage.prompt("go");
    let second = SessionKey::new("s2");
    let effects = stage.room.prompt(&second, "two".into(), Vec::new(), 0);
    stage.play(effects);
    let effects = stage.room.update(AgentId(1), "a2", chunk(Role::Agent, None, "for two"), 0);
    stage.play(effects);
    stage.check(&["1 user \"go\""]);
    stage.take();
    let effects = stage.room.close(&second, 0);
    stage.play(effects);
    assert_eq!(stage.take_quiet(), ["agent 1: cancel a2"], "the agent goes on for the other");
    assert_eq!(stage.state(), "running");
}

#[test]
fn an_agent_that_does_not_read_is_shown_as_stuck() {
    let mut stage = Stage::running();
    let effects = stage.room.stuck(AgentId(1), 5000);
    stage.play(effects);
    assert_eq!(stage.take(), ["notify warn: The agent does not read what is sent to it (5000 bytes wait)."]);
    let effects = stage.room.stuck(AgentId(1), 0);
    stage.play(effects);
    stage.check(&[
        "1 user \"go\"",
        "1 warn \"The agent does not read what is sent to it (5000 bytes wait).\"",
        "1 info \"The agent reads again.\"",
    ]);
}

#[test]
fn an_unknown_session_is_no_reason_to_fall_over() {
    let mut stage = Stage::empty();
    stage.prompt("lost?");
    assert_eq!(
        stage.take(),
        ["notify warn: There is no session s1.", "returned s1: \"lost?\" (There is no such session.)"]
    );
    stage.cancel();
    let effects = stage.room.close(&key(), 0);
    stage.play(effects);
    stage.exit(Exit::default());
    stage.reply(1, 7, prompt_result("end_turn", "{}"));
    assert_eq!(stage.take(), [""; 0]);
    assert!(stage.room.approved_diffs(&key()).is_empty());
    assert!(stage.room.transcript(&key()).is_none() && stage.room.cwd(&key()).is_none());
}
