//! Which program a command is: a file that can be executed, or a line for the shell.
//!
//! Owns the rule and the words of the refusal. It starts nothing. Called by `start`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, SysconfVar, access, sysconf};

use super::environment::Environment;
use crate::effect::PtyRun;

/// Where programs are looked for when the environment does not say.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// When the shell of a session ends, the kernel sends HUP to all that it started and left in its process group: a
/// server that was sent to the background would end with the line that started it. Programs that ignore HUP stay.
const KEEP_BACKGROUND: &str = "trap '' HUP; exec \"$0\" \"$@\"";
/// Where the system has its shell, and a larger one.
const SH: &str = "/bin/sh";
const BASH: &str = "/bin/bash";
/// The most bytes that Linux takes in one argument, its end included.
const LINUX_ARGUMENT: usize = 128 << 10;

/// Why a command cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// 126: there, but cannot be executed. 127: not there.
    pub code: u32,
    /// One line for a person and the agent.
    pub reason: String,
}

enum Found {
    Executable(PathBuf),
    NotExecutable,
    Nothing,
}

/// The arguments to start, of which the first is the absolute path of a shell: it makes all that follows ignore HUP and
/// then becomes the program.
pub fn arguments(run: &PtyRun, env: &Environment) -> Result<Vec<OsString>, Refusal> {
    if !run.cwd.is_dir() {
        return Err(Refusal {
            code: 127,
            reason: format!("the folder {} does not exist", run.cwd.display()),
        });
    }
    let sh: OsString = SH.into();
    let mut all = vec![wrapper(env).into(), "-c".into(), KEEP_BACKGROUND.into()];
    match find(&run.command, &run.cwd, env) {
        // A shell would take such a name for an option.
        Found::Executable(path) if run.command.starts_with('-') => all.push(path.into_os_string()),
        Found::Executable(_) => all.push(run.command.clone().into()),
        _ if run.args.is_empty() => all.extend([sh, "-c".into(), run.command.clone().into()]),
        Found::NotExecutable => {
            return Err(Refusal { code: 126, reason: format!("{:?} cannot be executed", run.command) });
        }
        Found::Nothing => {
            let reason = format!("{:?} was not found; is it installed and on PATH?", run.command);
            return Err(Refusal { code: 127, reason });
        }
    }
    all.extend(run.args.iter().map(OsString::from));
    fits(&all, env)?;
    Ok(all)
}

/// The shell that ignores HUP and becomes the program. Never one that the command's own PATH names: what was asked about
/// is the command. A plain shell takes variables away whose names it could not set itself, such as functions of bash.
fn wrapper(env: &Environment) -> &'static str {
    let plain = |name: &OsString| {
        let name = name.as_encoded_bytes();
        name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
            && !name.first().is_some_and(u8::is_ascii_digit)
    };
    // It would run what this one names.
    let reads = env.contains_key(OsStr::new("BASH_ENV"));
    if !reads && !env.keys().all(plain) && Path::new(BASH).is_file() { BASH } else { SH }
}

/// A name with a slash is a file from `cwd`; others are looked up on the PATH of the command itself.
fn find(name: &str, cwd: &Path, env: &Environment) -> Found {
    if name.is_empty() {
        return Found::Nothing;
    }
    if name.contains('/') {
        return look(cwd.join(name));
    }
    let path = env.get(OsStr::new("PATH")).map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
    let mut best = Found::Nothing;
    for folder in std::env::split_paths(path) {
        match look(cwd.join(folder).join(name)) {
            Found::Nothing => {}
            Found::NotExecutable => best = Found::NotExecutable,
            found => return found,
        }
    }
    best
}

fn look(path: PathBuf) -> Found {
    if path.is_file() && access(&path, AccessFlags::X_OK).is_ok() {
        Found::Executable(path)
    } else if path.exists() {
        Found::NotExecutable
    } else {
        Found::Nothing
    }
}

/// What is too long must be found before the start: the child can say nothing of it any more.
fn fits(args: &[OsString], env: &Environment) -> Result<(), Refusal> {
    let pairs = env.iter().map(|(name, value)| name.len() + value.len() + 1);
    let lengths: Vec<usize> = args.iter().map(|arg| arg.len()).chain(pairs).map(|len| len + 1).collect();
    let longest = lengths.iter().copied().max().unwrap_or_default();
    let all: usize = lengths.iter().map(|len| len + size_of::<usize>()).sum();
    let most = sysconf(SysconfVar::ARG_MAX).ok().flatten().map_or(usize::MAX, |n| n as usize);
    let too_long = |is: usize, most: usize| {
        let reason = format!("the command is too long: {is} bytes, of which the system takes {most}");
        Err(Refusal { code: 126, reason })
    };
    if cfg!(target_os = "linux") && longest > LINUX_ARGUMENT {
        return too_long(longest, LINUX_ARGUMENT);
    }
    // Some room for what the kernel itself puts there.
    if all > most.saturating_sub(4096) { too_long(all, most) } else { Ok(()) }
}
