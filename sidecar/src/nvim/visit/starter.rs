//! Whoever started the editor of a command: does it still live?
//!
//! Owns the ids of the processes above us, as they were at the start. It reads them and signals nobody. Used by
//! [`super`], so that a command that was killed leaves no editor behind that nobody waits for.

use nix::unistd::{Pid, getppid};

/// The processes that we wait for the person for.
#[derive(Debug)]
pub struct Starter {
    parent: Pid,
    /// Of a shell that was started for us alone (`sh -c`, as git does): its parent.
    above: Option<Pid>,
}

impl Starter {
    /// Those above us now.
    pub fn now() -> Self {
        let parent = getppid();
        Self { parent, above: if is_one_line_shell(parent) { parent_of(parent) } else { None } }
    }

    /// Whether one of them has ended, so that nobody takes our exit code.
    pub fn is_gone(&self) -> bool {
        getppid() != self.parent || (self.above.is_some() && parent_of(self.parent) != self.above)
    }
}

/// Whether its arguments are `-c` and a script. Works where `/proc` does (Linux); elsewhere no shell is seen through.
fn is_one_line_shell(pid: Pid) -> bool {
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).nth(1) == Some(b"-c")
}

fn parent_of(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and may hold any byte.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = String::from_utf8_lossy(&stat[end + 1..]).into_owned();
    fields.split_whitespace().nth(1)?.parse().ok().map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_a_process_is_found_also_where_its_name_is_odd() {
        assert_eq!(parent_of(nix::unistd::getpid()), Some(getppid()));
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a) 1 2 3");
        std::os::unix::fs::symlink("/bin/sleep", &odd).unwrap();
        let mut child = std::process::Command::new(&odd).arg("60").spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed());
        assert_eq!(parent_of(pid), Some(nix::unistd::getpid()));
        assert!(!is_one_line_shell(pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(parent_of(pid), None);
    }
}
