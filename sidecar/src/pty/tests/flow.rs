//! Bytes in both directions: nothing is lost, nothing grows without bound, nothing leaks.

use super::*;

#[test]
fn the_last_bytes_of_a_command_come_before_its_end() {
    on_runtime(async {
        let mut rig = Rig::new();
        for round in 0..200 {
            rig.run(shell("head -c 100000 /dev/zero | tr '\\0' x; printf END"));
            let seen = rig.seen().await;
            assert_eq!((seen.text.len(), &seen.text[100_000..]), (100_003, "END"), "round {round}");
            assert_eq!(seen.end, CommandEnd::default());
        }
    });
}

#[test]
fn the_last_bytes_are_not_lost_while_somebody_else_holds_the_terminal() {
    on_runtime(async {
        let mut rig = Rig::new();
        for round in 0..50 {
            // The sleeper keeps the terminal open, so that its end cannot be told by that.
            rig.line("sleep 1000 & head -c 100000 /dev/zero | tr '\\0' x; printf END");
            let (mut bytes, mut ended) = (0, false);
            while !ended {
                match rig.next().await.1 {
                    PtyEvent::Output(more) => bytes += more.len(),
                    PtyEvent::Exited(_) => ended = true,
                    PtyEvent::Started { .. } => {}
                    PtyEvent::Closed => panic!("closed"),
                }
            }
            assert_eq!(bytes, 100_003, "round {round}");
            rig.tell(PtyCmd::Forget);
            assert_eq!(rig.next().await.1, PtyEvent::Closed);
        }
    });
}

#[test]
fn output_comes_in_order_and_in_chunks_of_bounded_size() {
    let seen = play(shell("seq 1 200000"));
    let expected: String = (1..=200_000).map(|n| format!("{n}\r\n")).collect();
    assert!(seen.text == expected, "{} bytes of {}", seen.text.len(), expected.len());
    for event in &seen.events {
        if let PtyEvent::Output(bytes) = event {
            assert!(!bytes.is_empty() && bytes.len() <= CHUNK);
        }
    }
}

#[test]
fn a_command_that_floods_is_held_back_by_whoever_takes_its_events() {
    on_runtime(async {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::new();
        // It tells on the side how many blocks of 64 KiB the terminal has taken.
        let line = "while head -c 65536 /dev/zero | tr '\\0' x; do echo >> blocks; done";
        rig.run(PtyRun { cwd: dir.path().into(), ..shell(line) });
        let blocks = || std::fs::metadata(dir.path().join("blocks")).map_or(0, |m| m.len() as usize);
        // Standing still is only seen by looking twice.
        let stands = async {
            let (mut last, mut same) = (0, 0);
            while same < 10 {
                tokio::time::sleep(Duration::from_millis(50)).await;
                let now = blocks();
                same = if now == last && now > 0 { same + 1 } else { 0 };
                last = now;
            }
            last
        };
        let taken = tokio::time::timeout(DEADLINE, stands).await.expect("held back in time");
        assert!(taken * 65536 <= (LANE + 2) * CHUNK + (256 << 10), "{taken} blocks");
        // Nothing was dropped on the way: it goes on where it stood.
        let mut got = 0;
        while got < (taken + 20) * 65536 {
            if let PtyEvent::Output(bytes) = rig.next().await.1 {
                assert!(bytes.iter().all(|b| *b == b'x'));
                got += bytes.len();
            }
        }
        rig.ptys.end().await;
    });
}

#[test]
fn what_is_typed_reaches_the_command() {
    on_runtime(async {
        let mut rig = Rig::new();
        rig.line("printf 'y/N '; read answer; echo \"<$answer>\"");
        rig.until("y/N ").await;
        rig.tell(PtyCmd::Input(b"yes\r".to_vec()));
        assert!(rig.until("<yes>").await.starts_with("yes\r\n"));
        assert_eq!(rig.exit().await.code, 0);
    });
}

#[test]
fn a_large_paste_arrives_whole() {
    on_runtime(async {
        let mut rig = Rig::new();
        rig.line("stty raw -echo; echo ready; head -c 300000 | cksum");
        rig.until("ready").await;
        for _ in 0..100 {
            rig.tell(PtyCmd::Input(b"abc".repeat(1000)));
        }
        let text = rig.until(" 300000").await;
        let mine = std::process::Command::new("sh")
            .args(["-c", "yes abc | tr -d '\\n' | head -c 300000 | cksum"])
            .output()
            .unwrap();
        assert_eq!(text.trim(), String::from_utf8_lossy(&mine.stdout).trim());
    });
}

#[test]
fn typing_at_a_command_that_does_not_read_is_bounded_and_harms_nothing() {
    on_runtime(async {
        let mut rig = Rig::new();
        rig.line("stty raw -echo; echo ready; exec sleep 1000");
        rig.until("ready").await;
        for _ in 0..64 {
            rig.tell(PtyCmd::Input(vec![b'x'; 64 << 10]));
        }
        rig.tell(PtyCmd::Kill);
        assert_eq!(rig.exit().await.signal.as_deref(), Some("SIGTERM"));
    });
}

#[test]
fn control_c_interrupts_the_command() {
    on_runtime(async {
        let mut rig = Rig::new();
        rig.line("echo up; exec sleep 1000");
        rig.until("up").await;
        rig.tell(PtyCmd::Input(vec![3]));
        assert_eq!(rig.exit().await, CommandEnd { code: 130, signal: Some("SIGINT".into()) });
    });
}

#[test]
fn the_size_is_that_of_the_window_and_the_command_is_told_when_it_changes() {
    on_runtime(async {
        let mut rig = Rig::new();
        let line = "stty size; trap 'stty size; exit 0' WINCH; echo up; while :; do sleep 0.01; done";
        rig.run(PtyRun { rows: 12, cols: 34, ..shell(line) });
        assert!(rig.until("up").await.starts_with("12 34\r\n"));
        rig.tell(PtyCmd::Resize { rows: 56, cols: 78 });
        rig.until("56 78\r\n").await;
        assert_eq!(rig.exit().await.code, 0);
    });
}

// B118
#[test]
fn two_hundred_short_commands_leave_no_descriptor_and_no_child() {
    let fds = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    // In a process of its own: other tests of this one open files too.
    let Ok(_) = std::env::var("PTY_TEST_ALONE") else {
        let name = "pty::tests::flow::two_hundred_short_commands_leave_no_descriptor_and_no_child";
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env("PTY_TEST_ALONE", "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    };
    on_runtime(async {
        // What is opened once, with the first command, counts as there before.
        let mut rig = Rig::new();
        rig.run(shell("true"));
        rig.seen().await;
        rig.ptys.end().await;
        let before = fds();
        let mut rig = Rig::new();
        for n in 0..200 {
            rig.run(PtyRun { args: vec![n.to_string()], ..shell("echo") });
        }
        let (mut exited, mut closed) = (0, 0);
        while closed < 200 {
            match rig.next().await.1 {
                PtyEvent::Exited(end) => {
                    assert_eq!(end.code, 0);
                    exited += 1;
                }
                PtyEvent::Closed => closed += 1,
                _ => {}
            }
        }
        assert_eq!(exited, 200);
        // Nothing of them is left, so `end` has nothing to end, and no child waits to be asked for its end.
        rig.ptys.end().await;
        drop(rig.inbox);
        assert_eq!(fds(), before);
        let children = nix::sys::wait::waitpid(None, Some(nix::sys::wait::WaitPidFlag::WNOHANG));
        assert_eq!(children, Err(nix::errno::Errno::ECHILD));
    });
}
