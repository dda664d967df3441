//! How agents start and end, and what becomes of all that they started.

use std::path::Path;

use super::*;
use crate::reply::Reply;

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
    let seen = start(launch, &mut |_, event| Some(event));
    assert!(seen.exit.reason.unwrap().contains("not found"));
    let launch = Launch { command: "sh".into(), cwd: "/no/such/folder".into(), ..Launch::default() };
    assert!(start(launch, &mut |_, event| Some(event)).exit.reason.unwrap().contains("/no/such/folder"));
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

fn none_left(mark: &str) {
    let until = Instant::now() + Duration::from_secs(5);
    while marked(mark) > 0 {
        assert!(Instant::now() < until, "something is left of {mark}");
        std::thread::yield_now();
    }
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
    none_left(&format!("BOSUN_STOP_TEST={value}"));
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

#[test]
fn an_agent_that_exits_by_itself_needs_no_reason() {
    for code in [0, 7] {
        let seen = play(&format!("exit {code}"), &[], |_, _| {});
        assert_eq!((seen.exit.code, seen.exit.reason), (Some(code), None));
    }
}

#[test]
fn an_agent_that_closes_its_output_and_lives_on_is_ended_and_the_reason_says_so() {
    let seen = play("exec >&-; sleep 60", &[], |_, _| {});
    assert!(
        seen.exit.reason.as_deref().is_some_and(|why| why.contains("standard output")),
        "{:?}",
        seen.exit
    );
    assert!(seen.exit.signal.is_some());
    assert!(seen.took < Duration::from_secs(3), "{:?}", seen.took);
}

#[test]
fn an_agent_that_closes_its_input_and_lives_on_is_ended_and_the_reason_says_so() {
    let script = format!("read -r init; exec <&-; echo '{}'; sleep 60", update("deaf"));
    let seen = play(&script, &[], |agents, event| {
        if matches!(event, AgentEvent::Update { .. }) {
            agents.command(AgentId(1), AgentCmd::Cancel { session: "s".into() });
        }
    });
    assert!(seen.exit.reason.as_deref().is_some_and(|why| why.contains("standard input")), "{:?}", seen.exit);
}

#[test]
fn a_grandchild_that_never_stops_talking_does_not_hold_up_the_end() {
    let seen = play("yes & exit 0", &[], |_, _| {});
    assert_eq!(seen.exit.code, Some(0));
    assert!(seen.took < Duration::from_secs(5), "{:?}", seen.took);
}

#[test]
fn everything_an_agent_wrote_before_it_died_is_delivered_first() {
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8 9; do echo '{}'; done; printf '%s' '{}'; kill -9 $$",
        update("many"),
        update("last")
    );
    let seen = play(&script, &[], |_, _| {});
    let kinds = texts(&seen);
    assert_eq!((kinds.len(), kinds.last().map(String::as_str)), (10, Some("last")));
}

#[test]
fn what_comes_through_the_pipe_right_behind_the_end_is_delivered() {
    let wait = "p=$$; (while kill -0 $p 2>/dev/null; do :; done;";
    let seen = play(&format!("{wait} echo '{}'; echo bye >&2) & exit 0", update("late")), &[], |_, _| {});
    assert_eq!((texts(&seen), seen.exit.stderr), (vec!["late".to_owned()], vec!["bye".to_owned()]));
}

#[test]
fn the_group_ends_also_where_no_marker_can_be_found() {
    let mut group = 0;
    play("env -i sleep 60 >/dev/null 2>&1 & exit 0", &[], |_, event| {
        if let AgentEvent::Started { pgid } = event {
            group = *pgid;
        }
    });
    let until = Instant::now() + Duration::from_secs(5);
    while nix::sys::signal::killpg(nix::unistd::Pid::from_raw(group), None).is_ok() {
        assert!(Instant::now() < until, "the group is still there");
        std::thread::yield_now();
    }
}

#[test]
fn the_group_ends_with_its_main_process() {
    let value = format!("group-{}", std::process::id());
    let env = [("BOSUN_GROUP_TEST", Some(value.as_str()))];
    play("sleep 60 >/dev/null 2>&1 & setsid sleep 60 >/dev/null 2>&1 & exit 0", &env, |_, _| {});
    none_left(&format!("BOSUN_GROUP_TEST={value}"));
}

#[test]
fn stopping_says_first_what_is_owed() {
    let ask = r#"{"id":"q","method":"session/request_permission","params":{"sessionId":"s","options":[]}}"#;
    let script =
        format!("read -r init; echo '{ask}'; while read -r line; do echo \"$line\" >&2; done; echo end >&2");
    let mut kept = Vec::new();
    let seen = play(&script, &[], |agents, event| {
        if let AgentEvent::Permission { reply, .. } = event {
            kept.push(reply.id().clone());
            agents.command(AgentId(1), AgentCmd::Cancel { session: "s".into() });
            agents.command(AgentId(1), AgentCmd::Stop);
        }
    });
    let said = seen.exit.stderr;
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].contains("session/cancel"), "{said:?}");
    assert!(said[1].contains(r#""id":"q","error":{"code":-32800"#), "{said:?}");
    assert_eq!((seen.exit.code, kept.len()), (Some(0), 1));
}

#[test]
fn an_answer_given_before_the_stop_reaches_the_agent() {
    let ask = r#"{"id":1,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}"#;
    let script = format!("read -r init; echo '{ask}'; while read -r line; do echo \"$line\" >&2; done");
    for _ in 0..5 {
        let seen = take(&script, |agents, event| match event {
            AgentEvent::ReadFile { reply, .. } => {
                reply.ok(&serde_json::json!({ "content": "text" }));
                agents.command(AgentId(1), AgentCmd::Stop);
                None
            }
            other => Some(other),
        });
        assert_eq!(seen.exit.stderr, [r#"{"jsonrpc":"2.0","id":1,"result":{"content":"text"}}"#]);
    }
}

#[test]
fn the_lines_of_standard_error_are_in_the_wire_log() {
    let seen = play("echo first >&2; printf partial >&2", &[], |_, _| {});
    let said: Vec<&str> = seen.log.lines().filter(|line| line.contains("\"dir\":\"stderr\"")).collect();
    assert_eq!(said.len(), 2, "{}", seen.log);
    assert!(said[0].contains("first") && said[1].contains("partial"));
}

#[test]
fn shutting_down_ends_every_agent_in_bounded_time() {
    let value = format!("down-{}", std::process::id());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        let (lane, mut inbox) = mpsc::channel(4);
        let mut agents = Agents::new(lane, dir.path().to_owned(), GuardHandle::none());
        for n in 1..=3 {
            let script = "trap '' TERM; while :; do sleep 60; done";
            let env = [("BOSUN_DOWN_TEST", Some(value.as_str()))];
            agents.command(AgentId(n), AgentCmd::Start(Box::new(launch(script, &env))));
        }
        for _ in 1..=3 {
            inbox.recv().await.expect("started");
        }
        drop(inbox);
        let began = Instant::now();
        agents.shutdown().await;
        assert!(began.elapsed() < Duration::from_millis(2500), "{:?}", began.elapsed());
    });
    none_left(&format!("BOSUN_DOWN_TEST={value}"));
}

#[test]
fn a_program_that_cannot_be_executed_is_an_exit_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("agent"), "not a program").unwrap();
    let reason = |command: &Path| {
        let command = command.display().to_string();
        let launch = Launch { command, cwd: "/".into(), ..Launch::default() };
        start(launch, &mut |_, event| Some(event)).exit.reason.unwrap()
    };
    assert!(reason(&dir.path().join("agent")).contains("cannot be executed"));
    assert!(reason(dir.path()).contains("cannot be executed"));
}
