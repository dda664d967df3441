//! The command line: which of its parts this process is.
//!
//! `bosun serve` is the sidecar that Neovim starts; `bosun guard` ends what a killed sidecar leaves behind;
//! `bosun demo-agent` is an agent without a model; `bosun edit` is the editor of commands that run in our terminals.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "bosun", version, about = "Hosts coding agents for Neovim")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve one Neovim on standard input and output (started by the plugin).
    Serve,
    /// End the process groups named on standard input once it closes (started by `serve`).
    Guard,
    /// A small agent without a model that does real edits through the protocol.
    DemoAgent,
    /// Open files in the Neovim that owns this terminal and wait for the person (started by commands as `$EDITOR`).
    #[command(hide = true, disable_help_flag = true)]
    Edit {
        /// `[+LINE] [--] FILE...`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Print the number of the protocol between the plugin and this program.
    Protocol,
}

fn main() {
    let code = match Cli::parse().command {
        Command::Serve => serve(),
        Command::Guard => bosun::guard::run(),
        Command::DemoAgent => bosun::demo::run(),
        // Not the words as they were parsed: a first `--`, after which all are files, would be missing.
        Command::Edit { .. } => bosun::nvim::visit::run(std::env::args_os().skip(2).collect()),
        Command::Protocol => protocol(),
    };
    std::process::exit(code);
}

#[expect(clippy::print_stdout, reason = "this is the answer to a command")]
fn protocol() -> i32 {
    println!("{}", bosun::nvim::PROTOCOL);
    0
}

fn serve() -> i32 {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let code = runtime.block_on(bosun::run::serve());
            // Blocking disk work that is still under way must not hold up the end.
            runtime.shutdown_background();
            code
        }
        Err(error) => {
            eprintln!("bosun: {error}");
            1
        }
    }
}
