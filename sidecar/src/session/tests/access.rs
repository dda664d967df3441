//! Questions about paths.

use super::*;
use crate::effect::AccessAsk;

fn ask(op: u64, path: &str, write: bool) -> AccessAsk {
    AccessAsk { op: OpId(op), session: key(), path: path.into(), write, notes: vec!["It is outside.".into()] }
}

impl Stage {
    fn ask_access(&mut self, ask: AccessAsk) {
        let effects = self.room.ask_access(ask);
        self.play(effects);
    }
}

#[test]
fn a_path_is_asked_about_with_what_is_known_of_it() {
    let mut stage = Stage::running();
    stage.ask_access(ask(1, "/etc/ho\u{1b}sts", false));
    stage.ask_access(ask(2, "/proj/.env", true));
    let questions = stage.room.questions();
    assert_eq!(questions[0].title, "read /etc/ho^[sts");
    assert_eq!(questions[0].body, ["It is outside."]);
    assert!(questions[0].files.is_empty());
    assert_eq!(questions[1].title, "write .env");
    let options: Vec<_> = questions[0].options.iter().map(|o| (&*o.name, o.kind.as_str())).collect();
    assert_eq!(
        options,
        [
            ("Allow once", "allow_once"),
            ("Allow for this session", "allow_always"),
            ("Reject", "reject_once"),
            ("Reject for this session", "reject_always"),
        ]
    );
    assert_eq!(stage.state(), "waiting");
    assert_eq!(stage.room.question_diff(QuestionId(1), 0), None);
}

#[test]
fn allowed_once_is_allowed_once() {
    let mut stage = Stage::running();
    stage.ask_access(ask(1, "/etc/a", false));
    stage.answer(1, "allow_once");
    stage.ask_access(ask(2, "/etc/a", false));
    assert_eq!(stage.take_quiet(), ["access 1: Allow"]);
    assert_eq!(stage.room.questions().len(), 1);
}

#[test]
fn allowed_for_the_session_is_for_this_path_and_for_what_was_asked() {
    let mut stage = Stage::running();
    stage.ask_access(ask(1, "/etc/a", false));
    stage.answer(1, "allow_always");
    stage.stop("end_turn");
    stage.prompt("again");
    stage.take();
    stage.ask_access(ask(2, "/etc/a", false));
    assert_eq!(stage.take_quiet(), ["access 2: Allow"]);
    stage.ask_access(ask(3, "/etc/a", true));
    stage.ask_access(ask(4, "/etc/b", false));
    assert!(stage.take_quiet().is_empty());
    assert_eq!(stage.room.questions().len(), 2);
}

#[test]
fn a_refused_path_is_refused_without_a_question_until_the_turn_ends() {
    for word in ["reject_once", "cancelled"] {
        let mut stage = Stage::running();
        stage.ask_access(ask(1, "/etc/a", false));
        stage.answer(1, word);
        stage.ask_access(ask(2, "/etc/a", false));
        stage.ask_access(ask(3, "/etc/a", true));
        let refused = |op| format!("access {op}: Rejected {{ for_session: false }}");
        assert_eq!(stage.take_quiet(), [refused(1), refused(2), refused(3)]);
        assert!(stage.room.questions().is_empty());
        stage.stop("end_turn");
        stage.prompt("again");
        stage.ask_access(ask(4, "/etc/a", false));
        assert_eq!(stage.room.questions().len(), 1);
    }
}

#[test]
fn a_path_refused_for_the_session_stays_refused() {
    let mut stage = Stage::running();
    stage.ask_access(ask(1, "/etc/a", true));
    stage.answer(1, "reject_always");
    stage.stop("end_turn");
    stage.prompt("again");
    stage.take();
    stage.ask_access(ask(2, "/etc/a", false));
    assert_eq!(stage.take_quiet(), ["access 2: Rejected { for_session: true }"]);
}

#[test]
fn what_is_asked_again_meanwhile_joins_the_question() {
    let mut stage = Stage::running();
    stage.ask_access(ask(1, "/etc/a", false));
    stage.ask_access(ask(2, "/etc/a", false));
    stage.ask_access(ask(3, "/etc/a", true));
    assert_eq!(stage.room.questions().len(), 1);
    stage.answer(1, "allow_once");
    // An allowed read is no allowed write: that is asked about now.
    assert_eq!(stage.take_quiet(), ["access 1: Allow", "access 2: Allow", "asked again 3"]);

    let mut stage = Stage::running();
    stage.ask_access(ask(1, "/etc/a", false));
    stage.ask_access(ask(2, "/etc/a", true));
    stage.answer(1, "reject_once");
    let refused = |op| format!("access {op}: Rejected {{ for_session: false }}");
    assert_eq!(stage.take_quiet(), [refused(1), refused(2)]);
}

#[test]
fn a_question_goes_with_the_last_request_that_waits_for_it() {
    let mut stage = Stage::running();
    stage.ask_access(ask(1, "/etc/a", false));
    stage.ask_access(ask(2, "/etc/a", false));
    stage.ask_access(ask(3, "/etc/a", true));
    stage.take();
    for op in [1, 2] {
        assert_eq!(stage.room.questions().len(), 1);
        let effects = stage.room.withdraw_access(OpId(op), "the request was taken back");
        stage.play(effects);
    }
    assert_eq!(stage.take_quiet(), ["asked again 3"]);
    assert!(stage.room.questions().is_empty());
    assert_eq!(stage.transcript()[1], "1 question 1 \"read /etc/a\": the request was taken back");
}

#[test]
fn the_end_of_the_turn_the_session_or_the_agent_takes_the_question_along() {
    type Way = fn(&mut Stage);
    let ways: [Way; 4] = [
        |stage| stage.stop("end_turn"),
        |stage| stage.cancel(),
        |stage| stage.exit(Exit::default()),
        |stage| {
            let effects = stage.room.close(&key(), 0);
            stage.play(effects);
        },
    ];
    for way in ways {
        let mut stage = Stage::running();
        stage.ask_access(ask(1, "/etc/a", false));
        stage.ask_access(ask(2, "/etc/a", true));
        stage.take();
        way(&mut stage);
        let decided: Vec<_> = stage.take().into_iter().filter(|line| line.starts_with("access")).collect();
        assert_eq!(decided, ["access 1: Withdrawn", "access 2: Withdrawn"]);
        assert!(stage.room.questions().is_empty());
    }
}

#[test]
fn nothing_is_asked_for_a_session_that_is_going() {
    let mut stage = Stage::running();
    stage.cancel();
    stage.take();
    stage.ask_access(ask(1, "/etc/a", false));
    assert_eq!(stage.take(), ["access 1: Withdrawn"]);
}
