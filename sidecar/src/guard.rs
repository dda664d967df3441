//! The guard: a tiny process that ends what a killed sidecar leaves behind.
//!
//! Owns a list of process groups, told on standard input. When that closes, for whatever reason, it ends every group
//! that is still listed, and every process that carries the marker of one. It never does anything else. Started by
//! `serve`; needs no cooperation of the sidecar, so it works when that is killed.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::sync::mpsc;

/// Time between TERM and KILL.
const GRACE: Duration = Duration::from_millis(500);
/// Times that `/proc` is looked through until nothing is found.
const PASSES: usize = 5;
/// Times that a process is looked at whose environment cannot be seen, and the time between.
const LOOKS: usize = 4;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// The sidecar's end of the guard's standard input. Cheap to clone; dropping all of them is what a crash looks like.
#[derive(Clone, Debug)]
pub struct GuardHandle {
    lines: Option<mpsc::UnboundedSender<String>>,
}

impl GuardHandle {
    /// No guard, for tests.
    pub fn none() -> Self {
        Self { lines: None }
    }

    /// Starts this program once more as the guard. Without one, everything else still works.
    pub fn start() -> Self {
        let Ok(exe) = std::env::current_exe() else { return Self::none() };
        let mut command = Command::new(exe);
        command.arg("guard").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                tracing::warn!(%error, "no guard");
                return Self::none();
            }
        };
        let Some(mut stdin) = child.stdin.take() else { return Self::none() };
        let (lines, mut rest) = mpsc::unbounded_channel::<String>();
        // Lines are short and few; the guard always reads. The thread keeps the child, and is not waited for.
        std::thread::spawn(move || {
            while let Some(line) = rest.blocking_recv() {
                if stdin.write_all(line.as_bytes()).is_err() {
                    break;
                }
            }
            drop(stdin);
            let _ = child.wait();
        });
        Self { lines: Some(lines) }
    }

    /// This group must not outlive the sidecar, nor anything that carries `marker` (`NAME=value`).
    pub fn add(&self, pgid: i32, marker: &str) {
        self.tell(format!("+{pgid} {marker}\n"));
    }

    /// The group has ended.
    pub fn remove(&self, pgid: i32) {
        self.tell(format!("-{pgid}\n"));
    }

    fn tell(&self, line: String) {
        if let Some(lines) = &self.lines {
            let _ = lines.send(line);
        }
    }
}

/// The guard's own life. Returns its exit code.
pub fn run() -> i32 {
    // Blocked, so that whatever ends the editor's terminal does not end the guard before its work is done.
    let blocked: SigSet = [Signal::SIGINT, Signal::SIGHUP, Signal::SIGTERM].into_iter().collect();
    let _ = blocked.thread_block();
    let groups = listed(std::io::stdin().lock());
    if !groups.is_empty() {
        end(&groups);
    }
    0
}

#[expect(
    clippy::disallowed_methods,
    reason = "the guard is a process of its own with nothing to do but wait"
)]
fn end(groups: &BTreeMap<i32, String>) {
    let markers: Vec<&str> = groups.values().map(String::as_str).collect();
    let all = |signal| {
        for pgid in groups.keys() {
            let _ = killpg(Pid::from_raw(*pgid), signal);
        }
    };
    all(Signal::SIGTERM);
    signal_marked(&markers, Signal::SIGTERM);
    std::thread::sleep(GRACE);
    all(Signal::SIGKILL);
    kill_marked(&markers);
}

/// The groups that are listed when the input ends.
fn listed(input: impl BufRead) -> BTreeMap<i32, String> {
    let mut groups = BTreeMap::new();
    for line in input.lines().map_while(Result::ok) {
        if let Some((pgid, marker)) = line.strip_prefix('+').and_then(|rest| rest.split_once(' ')) {
            // 0 and 1 would mean ourselves and everybody.
            if let Some(pgid) = pgid.parse().ok().filter(|n| *n > 1) {
                groups.insert(pgid, marker.to_owned());
            }
        } else if let Some(pgid) = line.strip_prefix('-').and_then(|rest| rest.parse::<i32>().ok()) {
            groups.remove(&pgid);
        }
    }
    groups
}

/// Kills every process that carries one of `markers` (`NAME=value`) in the environment it was started with: descendants
/// that left their group. Works where `/proc` does (Linux); elsewhere it does nothing.
pub fn kill_marked(markers: &[&str]) {
    // A process that is about to die may have started another while `/proc` was read.
    for _ in 0..PASSES {
        if signal_marked(markers, Signal::SIGKILL) == 0 {
            return;
        }
    }
}

/// Signals them once; how many there were.
fn signal_marked(markers: &[&str], signal: Signal) -> usize {
    let found = carriers(markers);
    for pid in &found {
        let _ = kill(Pid::from_raw(*pid), signal);
    }
    found.len()
}

/// How many processes of the group `pgid`, and others that carry `marker` (`NAME=value`), still run. Processes that are
/// dead and only wait for their parent to ask do not count. `None` where there is no `/proc`.
pub fn count_left(pgid: i32, marker: &str) -> Option<usize> {
    let of_group = pids()?.filter(|pid| is_in(*pid, pgid) && !is_dead(*pid)).count();
    Some(of_group + carriers(&[marker]).into_iter().filter(|pid| !is_in(*pid, pgid)).count())
}

/// Signals every process once that carries `marker` (`NAME=value`) and has left the group `pgid`.
pub fn signal_strays(pgid: i32, marker: &str, signal: Signal) {
    for pid in carriers(&[marker]).into_iter().filter(|pid| !is_in(*pid, pgid)) {
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

fn is_in(pid: i32, pgid: i32) -> bool {
    nix::unistd::getpgid(Some(Pid::from_raw(pid))).is_ok_and(|of| of.as_raw() == pgid)
}

/// All processes but ourselves and the first. `None` where there is no `/proc`.
fn pids() -> Option<impl Iterator<Item = i32>> {
    let own = std::process::id() as i32;
    let entries = std::fs::read_dir("/proc").ok()?;
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let mut pids =
        entries.flatten().filter_map(number).filter(move |pid: &i32| *pid != own && *pid > 1).peekable();
    pids.peek()?;
    Some(pids)
}

/// Processes in whose environment, as they were started with it, one of `markers` stands.
#[expect(
    clippy::disallowed_methods,
    reason = "called on threads that may wait, and only for what is just being executed"
)]
fn carriers(markers: &[&str]) -> Vec<i32> {
    let mut found = Vec::new();
    let mut unclear: Vec<i32> = pids().into_iter().flatten().collect();
    for round in 0..LOOKS {
        if round > 0 {
            std::thread::sleep(BETWEEN_LOOKS);
        }
        unclear.retain(|pid| {
            let carried = carries(*pid, markers);
            if carried == Some(true) {
                found.push(*pid);
            }
            carried.is_none()
        });
        if unclear.is_empty() {
            break;
        }
    }
    found
}

/// `None`: not to be seen. The environment of a process that is just executing a program is empty for a moment, as is
/// that of one that was given none for good. A dead process has none, nor has the kernel's own.
fn carries(pid: i32, markers: &[&str]) -> Option<bool> {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_else(|_| vec![0]);
    if environ.is_empty() && std::fs::read_link(format!("/proc/{pid}/exe")).is_ok() {
        return None;
    }
    Some(environ.split(|b| *b == 0).any(|var| markers.iter().any(|marker| var == marker.as_bytes())))
}

/// Whether it has ended and only waits for its parent to ask.
fn is_dead(pid: i32) -> bool {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before the state is in brackets, and may hold some itself.
    let state = stat.iter().rposition(|b| *b == b')').and_then(|at| stat.get(at + 2));
    matches!(state, None | Some(b'Z' | b'X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_that_are_still_listed_are_ended() {
        let groups = listed("+12 A=1\n+13 A=2\n-12\n+1 A=3\n+0 A=4\nnonsense\n".as_bytes());
        assert_eq!(groups.into_iter().collect::<Vec<_>>(), [(13, "A=2".to_owned())]);
    }
}
