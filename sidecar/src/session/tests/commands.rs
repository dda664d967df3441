//! The host's own questions about commands.

use super::*;
use crate::effect::CommandAsk;

fn ask(line: &str) -> CommandAsk {
    CommandAsk {
        terminal: TerminalId(1),
        session: key(),
        line: line.into(),
        shell: None,
        cwd: "/proj".into(),
        env: Vec::new(),
        note: None,
    }
}

/// A turn in which a person has allowed `make test`.
fn allowed() -> Stage {
    let mut stage = Stage::running();
    stage.ask("7", with_input("t", "execute", serde_json::json!({"command": "make test"})), yes_no());
    stage.answer(1, "y");
    stage.take();
    stage
}

impl Stage {
    /// Whether the command runs without a question.
    fn runs(&mut self, ask: CommandAsk) -> bool {
        let effects = self.room.ask_command(ask);
        self.play(effects);
        self.take_quiet().iter().any(|line| line.contains("Run"))
    }
}

#[test]
fn a_permission_covers_the_very_command_once() {
    let mut stage = allowed();
    assert!(!stage.runs(ask("make all")));
    assert!(stage.runs(ask("make test")));
    assert!(!stage.runs(ask("make test")), "allowed once is allowed once");
}

#[test]
fn a_permission_says_nothing_of_another_folder_or_of_variables() {
    let elsewhere = CommandAsk { cwd: "/proj/sub".into(), ..ask("make test") };
    assert!(!allowed().runs(elsewhere));
    let with = CommandAsk { env: vec!["PATH=/evil:/bin".into(), "A=\u{1b}b".into()], ..ask("make test") };
    let mut stage = allowed();
    assert!(!stage.runs(with));
    assert_eq!(stage.room.questions()[0].body, ["With PATH=/evil:/bin", "With A=^[b"]);
}
