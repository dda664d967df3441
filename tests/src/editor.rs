//! A real Neovim under test: keys go in, the screen and the API come out, and one deadline holds for the whole test.
//!
//! Owns the editor's process, its folders and its screen. It blocks, so that a test reads from top to bottom. When a test
//! fails, dropping the editor prints what a person would ask for: messages, screen, logs, wire. `bosun` adds what knows
//! the plugin's API. A test starts one editor.

mod bosun;
mod report;
mod rpc;
mod screen;
pub mod setup;
mod value;

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nvim_rs::Value;
use serde_json::json;
use tempfile::TempDir;

use crate::procs::{self, Process};
pub use bosun::Scripted;
use rpc::Rpc;
pub use screen::Screen;
pub use setup::Setup;

/// Tests that look at the clock hold this alone.
static STAGE: RwLock<()> = RwLock::new(());

/// How long the descendants of an editor may live on after it.
const GRACE: Duration = Duration::from_secs(5);

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(5);

/// Held while the editor lives; never read.
enum Stage {
    Shared { _guard: RwLockReadGuard<'static, ()> },
    Alone { _guard: RwLockWriteGuard<'static, ()> },
}

/// A Neovim with a screen of 120 by 40, a project, and the plugin.
pub struct Editor {
    rpc: Rpc,
    /// Removed with the editor.
    home: TempDir,
    /// Real path of `home`.
    root: PathBuf,
    project: PathBuf,
    mark: String,
    /// The one deadline of the test.
    deadline: Instant,
    /// Descendants may outlive the editor; the test looks at them itself.
    leftovers: bool,
    _stage: Stage,
}

impl Editor {
    fn start(
        command: tokio::process::Command,
        home: TempDir,
        root: PathBuf,
        project: PathBuf,
        mark: String,
        limit: Duration,
        alone: bool,
    ) -> Self {
        let stage = if alone {
            Stage::Alone { _guard: STAGE.write().unwrap_or_else(PoisonError::into_inner) }
        } else {
            Stage::Shared { _guard: STAGE.read().unwrap_or_else(PoisonError::into_inner) }
        };
        let rpc = Rpc::start(command).unwrap_or_else(|why| panic!("{why}"));
        let deadline = Instant::now() + limit;
        let editor = Self { rpc, home, root, project, mark, deadline, leftovers: false, _stage: stage };
        let options = json!({"ext_linegrid": true, "rgb": true});
        editor.call("nvim_ui_attach", &[json!(120), json!(40), options]);
        editor.eventually("the end of the start", || editor.lua("return vim.v.vim_did_enter", &[]) == 1);
        editor.record_events();
        editor
    }

    /// Calls a function of the API; a failure fails the test.
    pub fn call(&self, method: &str, args: &[serde_json::Value]) -> serde_json::Value {
        self.try_call(method, args).unwrap_or_else(|why| panic!("{why}"))
    }

    /// Calls a function of the API.
    pub fn try_call(&self, method: &str, args: &[serde_json::Value]) -> Result<serde_json::Value, String> {
        self.call_within(method, args, self.left())
    }

    /// Calls a function of the API that may never answer.
    pub fn call_within(
        &self,
        method: &str,
        args: &[serde_json::Value],
        within: Duration,
    ) -> Result<serde_json::Value, String> {
        let args: Vec<Value> = args.iter().map(value::from_json).collect();
        self.rpc.call(method, args, within).map(|answer| value::to_json(&answer))
    }

    /// Runs Lua; what it returns comes back as JSON.
    pub fn lua(&self, code: &str, args: &[serde_json::Value]) -> serde_json::Value {
        self.call("nvim_exec_lua", &[code.into(), args.into()])
    }

    /// Runs Ex commands and returns their output.
    pub fn exec(&self, command: &str) -> String {
        let answer = self.call("nvim_exec2", &[command.into(), json!({"output": true})]);
        answer["output"].as_str().unwrap_or_default().into()
    }

    /// Types. Works also while Neovim waits for a key and answers nothing else.
    pub fn input(&self, keys: &str) {
        self.call("nvim_input", &[keys.into()]);
    }

    /// The mode and whether Neovim is blocked in it; answered also while it is.
    pub fn mode(&self) -> (String, bool) {
        let mode = self.call("nvim_get_mode", &[]);
        (mode["mode"].as_str().unwrap_or_default().into(), mode["blocking"] == true)
    }

    /// Puts Neovim into the state in which it answers no call, and waits until it is in it: `r` waits for its key.
    pub fn block(&self) {
        self.input("r");
        self.eventually("Neovim waits for the key of `r`", || self.mode().1);
    }

    /// Shows more than fits, so that Neovim sits at the hit-enter prompt.
    pub fn hit_enter(&self) {
        self.input("<Esc>:echo 'one' | echo 'two'<CR>");
        self.eventually("Neovim sits at the hit-enter prompt", || self.mode() == ("r".into(), true));
    }

    /// Edits a file of the project, and returns its buffer.
    pub fn edit(&self, name: &str) -> i64 {
        let path = self.path(name);
        self.lua(
            // Errors of the editor's own file type scripts are none of ours.
            "vim.cmd.edit(vim.fn.fnameescape(...)); vim.v.errmsg = ''; return vim.api.nvim_get_current_buf()",
            &[json!(path)],
        )
        .as_i64()
        .unwrap_or_default()
    }

    /// All lines of a buffer.
    pub fn lines(&self, buf: i64) -> Vec<String> {
        let lines = self.call("nvim_buf_get_lines", &[buf.into(), 0.into(), (-1).into(), true.into()]);
        let text = |line: &serde_json::Value| line.as_str().unwrap_or_default().to_string();
        lines.as_array().map(|lines| lines.iter().map(text).collect()).unwrap_or_default()
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        self.rpc.screen.with(|screen| screen.text())
    }

    /// How many redraws were finished.
    pub fn flushes(&self) -> u64 {
        self.rpc.screen.with(|screen| screen.flushes)
    }

    /// Calls back after each redraw from now on, with the time in milliseconds since the epoch.
    pub fn on_flush(&self, tap: impl FnMut(&Screen, f64) + Send + 'static) {
        self.rpc.screen.with(|screen| screen.set_tap(Box::new(tap)));
    }

    /// Waits until it holds; the test's deadline is the only limit.
    pub fn eventually(&self, what: &str, mut holds: impl FnMut() -> bool) {
        self.wait_for(what, || holds().then_some(()));
    }

    /// Waits until there is something; the test's deadline is the only limit.
    pub fn wait_for<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(!self.left().is_zero(), "the deadline passed while waiting for: {what}");
            std::thread::sleep(POLL);
        }
    }

    /// Time until the deadline.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The folder of the project.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// A path in the project.
    pub fn path(&self, name: &str) -> PathBuf {
        self.project.join(name)
    }

    /// A path outside the project, for gates and dumps.
    pub fn aside(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The bytes of a file of the project.
    pub fn disk(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The editor and all that it started, directly or not, and that is still alive.
    pub fn processes(&self) -> Vec<Process> {
        procs::marked(&self.mark)
    }

    /// The editor's own process id.
    pub fn pid(&self) -> i32 {
        self.rpc.pid().expect("the editor runs")
    }

    /// The sidecar's process.
    pub fn sidecar(&self) -> Process {
        let editor = self.rpc.pid();
        let name = setup::bosun();
        let name = name.file_name().and_then(|n| n.to_str()).unwrap_or("bosun");
        self.wait_for("the sidecar's process", || {
            self.processes().into_iter().find(|p| Some(p.parent) == editor && p.program() == name)
        })
    }

    /// Sends the editor a signal.
    pub fn signal(&self, signal: Signal) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid()), signal);
    }

    /// Waits for the end of the editor's process.
    pub fn ended(&mut self, within: Duration) -> bool {
        self.rpc.ended(within)
    }

    /// Lets descendants outlive the editor: the test looks at them itself.
    pub fn allow_leftovers(&mut self) {
        self.leftovers = true;
    }

    /// Starts a timer of 20 ms in Neovim that notices when it is late.
    pub fn heartbeat_start(&self) {
        self.lua(
            "local last, worst = vim.uv.hrtime(), 0
             local timer = vim.uv.new_timer()
             timer:start(20, 20, function()
               local now = vim.uv.hrtime()
               worst = math.max(worst, (now - last) / 1e6 - 20)
               last = now
             end)
             _G.bosun_test.heartbeat = function() return worst end",
            &[],
        );
    }

    /// By how many milliseconds the timer was late at worst.
    pub fn heartbeat_worst_ms(&self) -> f64 {
        self.lua("return _G.bosun_test.heartbeat()", &[]).as_f64().expect("heartbeat_start was called")
    }

    /// What holds at the end of every test: no error was raised, and nothing is blocked.
    pub fn assert_quiet(&self) {
        assert_eq!(self.lua("return vim.v.errmsg", &[]), "", "v:errmsg");
        assert!(!self.mode().1, "Neovim waits for a key");
    }

    /// Ends the editor as politely as it lets us.
    fn end(&mut self) {
        if self.rpc.pid().is_none() {
            return;
        }
        let _ = self.rpc.call("nvim_command", vec!["qall!".into()], Duration::from_millis(300));
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            if self.rpc.ended(Duration::from_secs(1)) {
                return;
            }
            self.signal(signal);
        }
        self.rpc.ended(Duration::from_secs(1));
    }

    /// What is still alive after the grace; it is ended.
    fn leftovers(&self) -> Vec<Process> {
        let end = Instant::now() + GRACE;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return left;
            }
            if Instant::now() > end || self.leftovers {
                left.iter().for_each(|process| process.signal(Signal::SIGKILL));
                return left;
            }
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let failed = std::thread::panicking();
        if failed {
            self.print_report();
        }
        self.end();
        let left = self.leftovers();
        if !failed && !self.leftovers {
            assert!(left.is_empty(), "processes outlived the editor by {GRACE:?}: {left:#?}");
        }
    }
}
