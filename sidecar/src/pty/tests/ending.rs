//! Ends: by themselves, by signals, by `Kill` and `Forget`, and with the sidecar.

use super::*;

/// Floods, and has started what is hard to end: in a session of its own, deaf to TERM, and both in the background.
const HARD: &str = "setsid sh -c 'trap \"\" TERM; echo one-up; exec sleep 1000' & \
    sh -c 'trap \"\" TERM; echo two-up; while :; do sleep 1; done' & \
    exec yes";

/// Waits until all of `HARD` runs and floods.
async fn flooding(rig: &mut Rig) {
    let mut text = String::new();
    while !["one-up", "two-up", "y\r\ny\r\ny\r\n"].iter().all(|words| text.contains(words)) {
        match rig.next().await.1 {
            PtyEvent::Output(bytes) => text.push_str(&String::from_utf8_lossy(&bytes)),
            PtyEvent::Started { .. } => {}
            other => panic!("{other:?} after {text:?}"),
        }
    }
}

#[test]
fn the_end_tells_code_and_signal() {
    let killed = |code, name: &str| CommandEnd { code, signal: Some(name.to_owned()) };
    assert_eq!(play(shell("kill -KILL $$")).end, killed(137, "SIGKILL"));
    assert_eq!(play(shell("kill -TERM $$")).end, killed(143, "SIGTERM"));
    // This one may leave a core behind, which is another way to end.
    assert_eq!(play(shell("kill -ABRT $$")).end, killed(134, "SIGABRT"));
    assert_eq!(play(shell("exit 255")).end, CommandEnd { code: 255, signal: None });
    let seen = play(shell("exit 0"));
    assert!(matches!(seen.events.first(), Some(PtyEvent::Started { pgid }) if *pgid > 1), "{seen:?}");
    assert_eq!(seen.events[1..], [PtyEvent::Exited(CommandEnd::default()), PtyEvent::Closed]);
}

#[test]
fn a_descendant_that_outlives_the_command_does_not_delay_its_end_and_is_still_heard() {
    on_runtime(async {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::new();
        let line = "(until test -e go; do sleep 0.01; done; echo late) & echo hi";
        rig.run(PtyRun { cwd: dir.path().into(), ..shell(line) });
        rig.until("hi").await;
        assert_eq!(rig.exit().await.code, 0);
        // Only now may it say something.
        std::fs::write(dir.path().join("go"), "").unwrap();
        rig.until("late").await;
        assert_eq!(rig.next().await.1, PtyEvent::Closed);
    });
}

// B113
#[test]
fn forgetting_ends_what_outlived_its_command() {
    on_runtime(async {
        let mut rig = Rig::new();
        let var = rig.line("sleep 1000 & echo hi");
        assert_eq!(rig.exit().await.code, 0);
        until_carriers(&var, 1).await;
        rig.tell(PtyCmd::Forget);
        assert_eq!(rig.next().await.1, PtyEvent::Closed);
        assert_eq!(carriers(&var), [""; 0]);
    });
}

// B113
#[test]
fn forgetting_also_ends_what_has_let_go_of_the_terminal() {
    on_runtime(async {
        let mut rig = Rig::new();
        let var = rig.line("setsid sleep 1000 </dev/null >/dev/null 2>&1 &");
        let seen = rig.seen().await;
        assert_eq!(seen.end.code, 0);
        // Closed, and yet it lives, as it would in any terminal.
        until_carriers(&var, 1).await;
        rig.tell(PtyCmd::Forget);
        rig.ptys.end().await;
        assert_eq!(carriers(&var), [""; 0]);
    });
}

#[test]
fn a_command_that_closes_its_own_descriptors_has_not_ended() {
    let seen = play(shell("exec </dev/null >/dev/null 2>&1; sleep 0.3; echo back >/dev/tty; exit 4"));
    assert_eq!((seen.text.as_str(), seen.end.code), ("back\r\n", 4));
}

// B113
#[test]
fn killing_during_a_flood_is_quick_and_leaves_no_descendant() {
    on_runtime(async {
        let mut rig = Rig::new();
        let var = rig.line(HARD);
        flooding(&mut rig).await;
        // The two, the sleep in the loop of one of them, and the flood.
        until_carriers(&var, 4).await;
        let began = Instant::now();
        rig.tell(PtyCmd::Kill);
        let end = rig.exit().await;
        let took = began.elapsed();
        assert_eq!(carriers(&var), [""; 0]);
        assert_eq!(end, CommandEnd { code: 143, signal: Some("SIGTERM".into()) });
        assert!(took < Duration::from_millis(200), "{took:?}");
        assert_eq!(rig.next().await.1, PtyEvent::Closed);
    });
}

#[test]
fn a_command_is_killed_although_nobody_takes_its_events() {
    on_runtime(async {
        let (lane, mut inbox) = mpsc::channel(1);
        let mut ptys = Ptys::new(lane, GuardHandle::none(), Vec::new());
        let env = vec![("PTY_TEST".into(), "deaf".into())];
        ptys.tell(TerminalId(1), PtyCmd::Run(Box::new(PtyRun { env, ..shell("exec yes") })));
        // Started lies in the lane and is not taken; the flood stands.
        until_carriers("PTY_TEST=deaf", 1).await;
        ptys.tell(TerminalId(1), PtyCmd::Kill);
        until_carriers("PTY_TEST=deaf", 0).await;
        // All that it said is still told, in order.
        let mut events = Vec::new();
        while events.last() != Some(&PtyEvent::Closed) {
            let event = tokio::time::timeout(DEADLINE, inbox.recv()).await.expect("in time").unwrap().1;
            events.push(event);
        }
        let exits = events.iter().filter(|e| matches!(e, PtyEvent::Exited(_))).count();
        assert_eq!((exits, events.iter().filter(|e| **e == PtyEvent::Closed).count()), (1, 1));
        assert!(matches!(events[events.len() - 2], PtyEvent::Exited(_)));
    });
}

#[test]
fn a_command_that_ends_well_on_term_has_time_for_it() {
    on_runtime(async {
        let mut rig = Rig::new();
        rig.line("trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.01; done");
        rig.until("up").await;
        rig.tell(PtyCmd::Kill);
        rig.until("bye").await;
        assert_eq!(rig.exit().await, CommandEnd { code: 5, signal: None });
    });
}

#[test]
fn a_server_in_a_session_of_its_own_has_time_to_end_well_too() {
    on_runtime(async {
        let mut rig = Rig::new();
        let server = "trap \"echo bye; exit\" TERM; echo up; while :; do sleep 0.01; done";
        rig.line(&format!("setsid sh -c '{server}' & exec sleep 1000"));
        rig.until("up").await;
        rig.tell(PtyCmd::Kill);
        rig.until("bye").await;
        assert_eq!(rig.exit().await.signal.as_deref(), Some("SIGTERM"));
    });
}

#[test]
fn a_command_that_is_stopped_can_be_killed() {
    on_runtime(async {
        let mut rig = Rig::new();
        let var = rig.line("echo up; kill -STOP $$");
        rig.until("up").await;
        rig.tell(PtyCmd::Kill);
        assert!(rig.exit().await.code > 128);
        assert_eq!(carriers(&var), [""; 0]);
    });
}

#[test]
fn killing_twice_or_after_the_end_changes_nothing() {
    on_runtime(async {
        let mut rig = Rig::new();
        rig.line("exec sleep 1000");
        rig.tell(PtyCmd::Kill);
        rig.tell(PtyCmd::Kill);
        let seen = rig.seen().await;
        assert_eq!(seen.events.len(), 3, "{seen:?}");
        for cmd in
            [PtyCmd::Kill, PtyCmd::Input(vec![b'x']), PtyCmd::Resize { rows: 1, cols: 1 }, PtyCmd::Forget]
        {
            rig.tell(cmd);
        }
        rig.ptys.end().await;
        assert_eq!(rig.inbox.recv().await, None);
    });
}

#[test]
fn forgetting_a_running_command_tells_its_end_and_then_that_it_is_closed() {
    on_runtime(async {
        let mut rig = Rig::new();
        let var = rig.line(HARD);
        flooding(&mut rig).await;
        rig.tell(PtyCmd::Forget);
        let seen = rig.seen().await;
        assert_eq!(carriers(&var), [""; 0]);
        let exits = seen.events.iter().filter(|e| matches!(e, PtyEvent::Exited(_))).count();
        assert_eq!((exits, seen.end.code), (1, 143));
        assert!(matches!(seen.events[seen.events.len() - 2], PtyEvent::Exited(_)));
        rig.ptys.end().await;
        assert_eq!(rig.inbox.recv().await, None);
    });
}

#[test]
fn ending_the_edge_ends_all_commands_in_bounded_time_although_nobody_takes_events() {
    on_runtime(async {
        let mut rig = Rig::new();
        let var = rig.line(HARD);
        flooding(&mut rig).await;
        for _ in 0..10 {
            rig.run(PtyRun { env: vec![("PTY_TEST".into(), var[9..].into())], ..shell("exec yes") });
        }
        let began = Instant::now();
        rig.ptys.end().await;
        assert!(began.elapsed() < SHUTDOWN, "{:?}", began.elapsed());
        assert_eq!(carriers(&var), [""; 0]);
    });
}

#[test]
fn dropping_the_edge_ends_all_commands() {
    on_runtime(async {
        let mut rig = Rig::new();
        let var = rig.line(HARD);
        flooding(&mut rig).await;
        drop(rig);
        until_carriers(&var, 0).await;
    });
}
