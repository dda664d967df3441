//! The wire log: what an agent and we said to each other, for a person who wants to know.
//!
//! Owns `wire-NAME.jsonl` in the log folder and the one file before it (`.1`). Bounded, and free of secrets: values of
//! environment variables that look like keys are masked wherever they occur. It never fails anything: without a file it
//! is silent. Agents of one name share the file; a line is written whole, so they do not cut each other's lines.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::model::{AgentId, Launch};

/// Bytes after which the file is turned over.
const CAP: u64 = 8 << 20;
/// Bytes of one message that are written.
const MESSAGE: usize = 64 << 10;
/// Bytes of an agent's standard error that are written: a flood there must not push the messages out.
const STDERR: usize = 256 << 10;
/// Bytes that are collected before they are written.
const BATCH: usize = 64 << 10;
/// A shorter value is no secret, and masking it would garble everything.
const SECRET: usize = 8;

/// Which way a line went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the agent.
    In,
    /// To the agent.
    Out,
    /// From the agent, but no message.
    Noise,
    /// From the agent's standard error.
    Stderr,
}

/// One agent's log.
#[derive(Debug)]
pub struct WireLog {
    agent: AgentId,
    path: PathBuf,
    file: Option<File>,
    /// Whole lines that are not in the file yet.
    batch: Vec<u8>,
    /// Size of the file, and of what is to be written.
    written: u64,
    /// Bytes of standard error that may still be written.
    stderr: usize,
    started: Instant,
    /// Longest first, so that one which contains another is masked whole.
    secrets: Vec<String>,
}

impl WireLog {
    /// Appends to the log of the agents of that name.
    pub fn open(dir: &Path, agent: AgentId, launch: &Launch) -> Self {
        let safe = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
        let name: String = launch.name.chars().map(safe).collect();
        let mut log = Self {
            agent,
            path: dir.join(format!("wire-{name}.jsonl")),
            file: None,
            batch: Vec::new(),
            written: 0,
            stderr: STDERR,
            started: Instant::now(),
            secrets: secrets(&launch.env),
        };
        let _ = std::fs::create_dir_all(dir);
        log.reopen();
        log
    }

    fn reopen(&mut self) {
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        self.written = file.as_ref().ok().and_then(|f| f.metadata().ok()).map_or(0, |m| m.len());
        self.file = file.ok();
    }

    /// Notes one line.
    pub fn line(&mut self, way: Way, line: &[u8]) {
        if self.file.is_none() {
            return;
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if way == Way::Stderr {
            if self.stderr == 0 {
                return;
            }
            self.stderr = self.stderr.saturating_sub(line.len() + 1);
        }
        let cut = line.len() > MESSAGE || (way == Way::Stderr && line.len() >= super::stderr::LINE_BYTES);
        let text = self.masked(line, cut);
        let quoted = || serde_json::Value::from(text.as_str()).to_string();
        let said = match way {
            Way::Noise => format!(r#""dir":"in","noise":{}"#, quoted()),
            Way::Stderr => format!(r#""dir":"stderr","text":{}"#, quoted()),
            Way::In | Way::Out => {
                let dir = if way == Way::In { "in" } else { "out" };
                // A message that was cut is no JSON any more.
                let said = if cut {
                    format!(r#""bytes":{},"cut":{}"#, line.len(), quoted())
                } else {
                    format!(r#""msg":{text}"#)
                };
                format!(r#""dir":"{dir}",{said}"#)
            }
        };
        let t = self.started.elapsed().as_millis();
        let entry = format!("{{\"t\":{t},\"agent\":{},{said}}}\n", self.agent.0);
        self.batch.extend_from_slice(entry.as_bytes());
        self.written += entry.len() as u64;
        if self.batch.len() > BATCH {
            self.flush();
        }
    }

    /// The text of a line without secrets. Where it was cut, here or before, its end may hold half of a secret that
    /// cannot be told any more: as much as the longest one is left out.
    fn masked(&self, line: &[u8], cut: bool) -> String {
        let longest = self.secrets.first().map_or(0, String::len);
        let mut text = String::from_utf8_lossy(&line[..line.len().min(MESSAGE)]).into_owned();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "***");
            }
        }
        if cut {
            text.truncate(text.floor_char_boundary(text.len().saturating_sub(longest)));
        }
        text
    }

    /// Brings what was noted to the file, and turns the file over when it is full.
    pub fn flush(&mut self) {
        if let Some(file) = &mut self.file
            && !self.batch.is_empty()
        {
            let _ = file.write_all(&self.batch);
            self.batch.clear();
            if self.written > CAP {
                self.file = None;
                // A file that cannot be moved away would grow without end.
                if std::fs::rename(&self.path, self.path.with_extension("jsonl.1")).is_ok() {
                    self.reopen();
                }
            }
        }
    }
}

/// Values of variables that look like keys, of our own environment and of what is laid over it, also in the form that
/// they have inside a JSON text.
fn secrets(env: &[(String, Option<String>)]) -> Vec<String> {
    let inherited =
        std::env::vars_os().filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?)));
    let own = env.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
    let secret = |name: &str| {
        let name = name.to_ascii_uppercase();
        ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word))
    };
    let mut values: Vec<String> = Vec::new();
    for (_, value) in inherited.chain(own).filter(|(name, value)| secret(name) && value.len() >= SECRET) {
        let quoted = serde_json::Value::from(value.as_str()).to_string();
        values.push(quoted.trim_matches('"').to_owned());
        values.push(value);
    }
    values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(dir: &Path, agent: u32, env: &[(&str, &str)]) -> WireLog {
        let env = env.iter().map(|(n, v)| ((*n).to_owned(), Some((*v).to_owned()))).collect();
        WireLog::open(dir, AgentId(agent), &Launch { name: "a b/c".into(), env, ..Launch::default() })
    }

    fn read(dir: &Path) -> String {
        std::fs::read_to_string(dir.join("wire-a_b_c.jsonl")).unwrap()
    }

    fn written(env: &[(&str, &str)], lines: &[(Way, &[u8])]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let mut log = log(dir.path(), 1, env);
        for (way, line) in lines {
            log.line(*way, line);
        }
        log.flush();
        read(dir.path())
    }

    #[test]
    fn a_secret_of_the_environment_never_reaches_the_file() {
        let env =
            [("MY_API_KEY", "sk-123456789"), ("my_token", "sk-123456789-long"), ("OTHER", "plainvalue")];
        let text = written(
            &env,
            &[
                (Way::In, br#"{"a":"sk-123456789"}"#),
                (Way::Noise, b"sk-123456789-long"),
                (Way::Stderr, b"key=sk-123456789"),
                (Way::Out, br#"{"b":"plainvalue"}"#),
            ],
        );
        assert!(!text.contains("sk-") && !text.contains("long") && text.contains("plainvalue"), "{text}");
        assert_eq!(text.matches("***").count(), 3);
    }

    #[test]
    fn a_secret_is_masked_in_json_form_and_across_a_cut() {
        let text = written(&[("A_SECRET", "quo\"te\\123")], &[(Way::In, br#"{"a":"quo\"te\\123"}"#)]);
        assert!(text.contains(r#"{"a":"***"}"#), "{text}");
        let mut long = vec![b'x'; MESSAGE - 5];
        long.extend_from_slice(b"sk-123456789");
        let text = written(&[("A_KEY", "sk-123456789")], &[(Way::In, &long)]);
        assert!(!text.contains("sk-1"), "{}", &text[text.len() - 40..]);
    }

    #[test]
    fn every_line_of_the_log_is_json() {
        let huge = "é".repeat(MESSAGE);
        let text = written(
            &[],
            &[
                (Way::Out, b"{}\n"),
                (Way::Noise, b"\x1b[2J \"q\""),
                (Way::In, huge.as_bytes()),
                (Way::Stderr, b"\xff"),
            ],
        );
        assert_eq!(text.lines().count(), 4);
        for line in text.lines() {
            let entry: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(entry["t"].is_u64() && entry["agent"] == 1 && entry["dir"].is_string(), "{line}");
        }
    }

    #[test]
    fn agents_of_one_name_do_not_cut_each_others_lines() {
        let dir = tempfile::tempdir().unwrap();
        let (mut one, mut two) = (log(dir.path(), 1, &[]), log(dir.path(), 2, &[]));
        let message = format!(r#"{{"text":"{}"}}"#, "x".repeat(30_000));
        for _ in 0..20 {
            one.line(Way::In, message.as_bytes());
            two.line(Way::Out, message.as_bytes());
        }
        one.flush();
        two.flush();
        for line in read(dir.path()).lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
    }

    #[test]
    fn the_log_and_its_predecessor_are_bounded_and_so_is_standard_error() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = log(dir.path(), 1, &[]);
        let line = vec![b'y'; 2000];
        for _ in 0..1000 {
            log.line(Way::Stderr, &line);
        }
        log.flush();
        assert!(read(dir.path()).len() < 2 * STDERR);
        let line = format!("\"{}\"", "x".repeat(60_000));
        for _ in 0..400 {
            log.line(Way::In, line.as_bytes());
        }
        log.flush();
        let sizes = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().metadata().unwrap().len());
        let sizes: Vec<u64> = sizes.collect();
        assert!(sizes.len() == 2 && sizes.iter().all(|n| *n < CAP + 200_000), "{sizes:?}");
    }
}
