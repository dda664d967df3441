//! The channel to the test's Neovim: calls with a time limit, and the notifications that draw the screen.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nvim_rs::compat::tokio::Compat;
use nvim_rs::{Handler, Neovim, Value};
use tokio::process::{Child, ChildStdin, Command};
use tokio::runtime::Runtime;

use super::screen::Screen;

/// The screen, drawn by the reader of the channel and read by the test.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Screen>>);

impl Shared {
    /// Looks at the screen.
    pub fn with<T>(&self, look: impl FnOnce(&mut Screen) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait::async_trait]
impl Handler for Shared {
    type Writer = Compat<ChildStdin>;

    async fn handle_notify(&self, name: String, args: Vec<Value>, _: Neovim<Self::Writer>) {
        if name == "redraw" {
            self.with(|screen| screen.redraw(&args));
        }
    }
}

/// A blocking face on the asynchronous channel.
pub struct Rpc {
    runtime: Runtime,
    nvim: Neovim<Compat<ChildStdin>>,
    /// The editor's process.
    child: Child,
    /// Its screen.
    pub screen: Shared,
}

impl Rpc {
    /// Starts the command, which must be an embedded Neovim.
    pub fn start(mut command: Command) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|e| format!("the runtime: {e}"))?;
        let screen = Shared::default();
        let start = nvim_rs::create::tokio::new_child_cmd(&mut command, screen.clone());
        let (nvim, _, child) = runtime.block_on(start).map_err(|e| {
            let program = command.as_std().get_program().to_string_lossy();
            format!(
                "starting Neovim as {program}: {e}; `make setup` fetches one, BOSUN_TEST_NVIM names another"
            )
        })?;
        Ok(Self { runtime, nvim, child, screen })
    }

    /// The editor's process id, while it runs.
    pub fn pid(&self) -> Option<i32> {
        self.child.id().map(u32::cast_signed)
    }

    /// Calls a function of the API. The error is Neovim's own, or says that it did not answer in time.
    pub fn call(&self, method: &str, args: Vec<Value>, within: Duration) -> Result<Value, String> {
        let (nvim, name) = (self.nvim.clone(), method.to_string());
        // A task of its own: the crate's reader ends for good when an answer finds that its caller gave up.
        let call = self.runtime.spawn(async move { nvim.call(&name, args).await });
        let answer = self.runtime.block_on(async { tokio::time::timeout(within, call).await });
        let answer = answer.map_err(|_| format!("{method}: no answer within {within:?}"))?;
        match answer.map_err(|e| format!("{method}: {e}"))? {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(format!("{method}: {error}")),
            Err(error) => Err(format!("{method}: {error}")),
        }
    }

    /// Waits for the end of the process.
    pub fn ended(&mut self, within: Duration) -> bool {
        let Self { runtime, child, .. } = self;
        runtime.block_on(async { tokio::time::timeout(within, child.wait()).await.is_ok() })
    }
}
