//! How a test's Neovim is started: folders of its own, the plugin from this checkout, a project, an environment.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::Editor;
use crate::procs::MARK;

/// The root of the checkout.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the checkout").to_path_buf()
}

/// A program of this build, found beside the test's own executable.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    test.ancestors().nth(2).expect("target/PROFILE").join(name)
}

/// The sidecar under test: `BOSUN_TEST_BIN`, `BOSUN_BIN`, or the one built beside the test.
pub fn bosun() -> PathBuf {
    named(&["BOSUN_TEST_BIN", "BOSUN_BIN"]).unwrap_or_else(|| built("bosun"))
}

/// The Neovim under test: `BOSUN_TEST_NVIM`, `BOSUN_NVIM`, the one in `.deps`, or the one on PATH.
fn nvim() -> PathBuf {
    let fetched = ["bin/nvim", "nvim/bin/nvim"].map(|path| repository().join(".deps").join(path));
    named(&["BOSUN_TEST_NVIM", "BOSUN_NVIM"])
        .or_else(|| fetched.into_iter().find(|path| path.exists()))
        .unwrap_or_else(|| "nvim".into())
}

fn named(variables: &[&str]) -> Option<PathBuf> {
    variables.iter().find_map(std::env::var_os).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// What a test's Neovim is started with. `Setup::new().start()` is enough for most.
pub struct Setup {
    files: Vec<(String, Vec<u8>)>,
    project: String,
    init: String,
    env: Vec<(String, String)>,
    limit: Duration,
    alone: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            project: "project".into(),
            init: String::new(),
            env: Vec::new(),
            limit: Duration::from_secs(20),
            alone: false,
        }
    }
}

impl Setup {
    /// An empty project.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file into the project.
    pub fn file(mut self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.files.push((name.into(), content.as_ref().to_vec()));
        self
    }

    /// Names the project's folder.
    pub fn project(mut self, name: &str) -> Self {
        self.project = name.into();
        self
    }

    /// The person's init.lua.
    pub fn init(mut self, lua: &str) -> Self {
        self.init = lua.into();
        self
    }

    /// A variable of Neovim's environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The one deadline of the test, instead of 20 s.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// No other editor of this test program runs at the same time: for tests that look at the clock.
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Starts Neovim in the project and waits until it is ready for keys.
    pub fn start(self) -> Editor {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let home = tempfile::Builder::new().prefix("bosun-test-").tempdir().expect("a temporary folder");
        // Real paths from the start, so that tests can compare them.
        let root = home.path().canonicalize().expect("the temporary folder");
        let project = root.join(&self.project);
        let config = root.join("config/nvim");
        for folder in [&project, &config, &root.join("tmp"), &root.join("run")] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::fs::write(config.join("init.lua"), &self.init).expect("init.lua");
        for (name, content) in &self.files {
            let path = project.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, content).expect("a file of the project");
        }
        let command = self.command(&root, &project, &mark);
        Editor::start(command, home, root, project, mark, self.limit, self.alone)
    }

    fn command(&self, root: &Path, project: &Path, mark: &str) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(nvim());
        command
            .arg("--embed")
            .arg("--cmd")
            .arg("lua vim.opt.runtimepath:prepend(vim.env.BOSUN_TEST_REPOSITORY)");
        command.current_dir(project).env_clear();
        let kept = ["PATH", "USER"].map(|name| (name, std::env::var_os(name)));
        command.envs(kept.into_iter().filter_map(|(name, value)| Some((name, value?))));
        for (name, folder) in [
            ("HOME", "home"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_CONFIG_DIRS", "none"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_DATA_DIRS", "none"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_RUNTIME_DIR", "run"),
            ("TMPDIR", "tmp"),
        ] {
            command.env(name, root.join(folder));
        }
        command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
        command.env("BOSUN_TEST_REPOSITORY", repository()).env("BOSUN_BIN", bosun()).env(MARK, mark);
        command.env("BOSUN_DEMO_DELAY_MS", "0").env("BOSUN_LOG", "debug");
        command.envs(self.env.iter().cloned());
        let stderr = std::fs::File::create(root.join("nvim-stderr.log")).expect("a file for stderr");
        command.stderr(Stdio::from(stderr)).kill_on_drop(true);
        command
    }
}
