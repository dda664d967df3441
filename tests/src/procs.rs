//! Processes found by a marker in their environment, which every descendant of a test's Neovim inherits.
//!
//! Owns nothing; reads /proc. A process that has ended and waits to be reaped has no environment and is not found.

use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The variable that holds the marker.
pub const MARK: &str = "BOSUN_TEST_MARK";

/// A process that is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Its parent's id.
    pub parent: i32,
    /// Its program and arguments.
    pub command: Vec<String>,
}

impl Process {
    /// Sends a signal; a process that is gone meanwhile is fine.
    pub fn signal(&self, signal: Signal) {
        let _ = kill(Pid::from_raw(self.pid), signal);
    }

    /// File name of the program.
    pub fn program(&self) -> &str {
        let program = self.command.first().map(String::as_str).unwrap_or_default();
        program.rsplit('/').next().unwrap_or(program)
    }
}

/// All processes with this value of the marker.
pub fn marked(mark: &str) -> Vec<Process> {
    let wanted = format!("{MARK}={mark}").into_bytes();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let pids = entries.filter_map(|e| e.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    let mut found: Vec<Process> = pids.filter_map(|pid| look(pid, &wanted)).collect();
    found.sort_by_key(|p| p.pid);
    found
}

fn look(pid: i32, wanted: &[u8]) -> Option<Process> {
    let dir = Path::new("/proc").join(pid.to_string());
    let environment = std::fs::read(dir.join("environ")).ok()?;
    environment.split(|b| *b == 0).find(|entry| *entry == wanted)?;
    let command = std::fs::read(dir.join("cmdline")).ok()?;
    let command = command.split(|b| *b == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    // The name of the program stands in parentheses and may hold any character.
    let stat = std::fs::read_to_string(dir.join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let parent = fields.split_whitespace().nth(1)?.parse().ok()?;
    Some(Process { pid, parent, command: command.filter(|word| !word.is_empty()).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_found_by_its_mark_until_it_ends() {
        let mark = format!("procs-{}", std::process::id());
        assert_eq!(marked(&mark), []);
        let mut child = Command::new("sleep").arg("60").env(MARK, &mark).spawn().expect("sleep");
        // Between fork and exec the child still has our environment.
        let found = loop {
            if let Some(found) = marked(&mark).pop() {
                break found;
            }
        };
        assert_eq!((found.pid, found.program()), (child.id().cast_signed(), "sleep"));
        assert_eq!(found.parent, std::process::id().cast_signed());
        found.signal(Signal::SIGKILL);
        let _ = child.wait();
        assert_eq!(marked(&mark), []);
    }
}
