//! The wire log: what an agent and we said to each other, for a person who wants to know.
//!
//! Owns `wire-NAME.jsonl` in the log folder and the one file before it. Bounded, and free of secrets: values of
//! environment overrides that look like keys are masked wherever they occur. It never fails anything: without a file it
//! is silent.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Bytes after which the file is turned over.
const CAP: u64 = 8 << 20;
/// Bytes of one message that are written.
const MESSAGE: usize = 64 << 10;

/// Which way a line went.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// From the agent.
    In,
    /// To the agent.
    Out,
    /// From the agent, but no message.
    Noise,
}

/// One agent's log.
#[derive(Debug)]
pub struct WireLog {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    written: u64,
    started: Instant,
    secrets: Vec<String>,
}

impl WireLog {
    /// Appends to the log of the agent called `name`. `env` is looked through for secrets to mask.
    pub fn open(dir: &Path, name: &str, env: &[(String, Option<String>)]) -> Self {
        let safe: String =
            name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect();
        let secret = |name: &str| {
            let name = name.to_ascii_uppercase();
            ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word))
        };
        let secrets = env.iter().filter(|(name, _)| secret(name)).filter_map(|(_, value)| value.clone());
        let mut log = Self {
            path: dir.join(format!("wire-{safe}.jsonl")),
            file: None,
            written: 0,
            started: Instant::now(),
            secrets: secrets.filter(|value| value.len() >= 8).collect(),
        };
        let _ = std::fs::create_dir_all(dir);
        log.reopen();
        log
    }

    fn reopen(&mut self) {
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        self.written = file.as_ref().ok().and_then(|f| f.metadata().ok()).map_or(0, |m| m.len());
        self.file = file.ok().map(BufWriter::new);
    }

    /// Writes one line.
    pub fn line(&mut self, way: Way, line: &[u8]) {
        if self.written > CAP {
            self.file = None;
            let _ = std::fs::rename(&self.path, self.path.with_extension("jsonl.1"));
            self.reopen();
        }
        let Some(file) = &mut self.file else { return };
        let cut = line.len() > MESSAGE;
        let text = String::from_utf8_lossy(&line[..line.len().min(MESSAGE)]);
        let mut text = text.trim_end_matches('\n').to_owned();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "***");
            }
        }
        let t = self.started.elapsed().as_millis();
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let entry = match way {
            Way::Noise => format!("{{\"t\":{t},\"dir\":\"in\",\"noise\":{}}}\n", quoted(&text)),
            _ if cut => {
                let dir = if matches!(way, Way::In) { "in" } else { "out" };
                format!(
                    "{{\"t\":{t},\"dir\":\"{dir}\",\"bytes\":{},\"cut\":{}}}\n",
                    line.len(),
                    quoted(&text)
                )
            }
            Way::In => format!("{{\"t\":{t},\"dir\":\"in\",\"msg\":{text}}}\n"),
            Way::Out => format!("{{\"t\":{t},\"dir\":\"out\",\"msg\":{text}}}\n"),
        };
        if file.write_all(entry.as_bytes()).is_ok() {
            self.written += entry.len() as u64;
        }
    }

    /// Brings what was written to the file.
    pub fn flush(&mut self) {
        if let Some(file) = &mut self.file {
            let _ = file.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(env: &[(String, Option<String>)], lines: &[(Way, &[u8])]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let mut log = WireLog::open(dir.path(), "a b/c", env);
        for (way, line) in lines {
            log.line(*way, line);
        }
        log.flush();
        std::fs::read_to_string(dir.path().join("wire-a_b_c.jsonl")).unwrap()
    }

    #[test]
    fn a_secret_of_the_environment_never_reaches_the_file() {
        let env = [("MY_API_KEY".to_owned(), Some("sk-123456789".to_owned()))];
        let text = written(&env, &[(Way::In, br#"{"a":"sk-123456789"}"#), (Way::Noise, b"sk-123456789")]);
        assert!(!text.contains("sk-123456789") && text.matches("***").count() == 2, "{text}");
    }

    #[test]
    fn every_line_of_the_log_is_json() {
        let huge = vec![b'x'; MESSAGE * 2];
        let text = written(&[], &[(Way::Out, b"{}\n"), (Way::Noise, b"\x1b[2J \"q\""), (Way::In, &huge)]);
        for line in text.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
    }
}
