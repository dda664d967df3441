//! Rules on paths as data.

use super::*;
use crate::model::RootRule;

fn key() -> SessionKey {
    SessionKey::new("s")
}

/// A session in `/p/app` with `/ref` to be read and `/p/app/gen` and `/notes` to be written.
fn roots() -> Roots {
    let mut roots = Roots::default();
    let given = AccessRules {
        ask_outside: true,
        always_ask: vec!["ci/**".into()],
        ask_read: vec![".env".into()],
        ..AccessRules::default()
    };
    assert!(roots.open(&key(), &given).is_empty());
    let more = [("/notes", true), ("/p/app", true), ("/ref", false), ("/ref/drafts", true)];
    for (place, (path, write)) in more.into_iter().enumerate().rev() {
        let rule = RootRule { path: path.into(), write };
        roots.add(&key(), rule.path, rule.write, place);
    }
    roots
}

fn check(path: &str, write: bool, expected: Judgement) {
    let got = roots().judge(&key(), Path::new(path), Path::new(path), write);
    assert_eq!(got, expected, "{path} {write}");
}

const OUTSIDE: Judgement = Judgement::Outside { ask: true };

#[test]
fn containment_goes_by_components_and_by_session() {
    check("/p/app/src/a.rs", true, Judgement::Inside);
    check("/p/app", false, Judgement::Inside);
    check("/p/app-secrets/a", false, OUTSIDE);
    check("/p/ap", false, OUTSIDE);
    check("/p", false, OUTSIDE);
    check("/", false, OUTSIDE);
    let other = SessionKey::new("t");
    let path = Path::new("/p/app/a");
    assert_eq!(roots().judge(&other, path, path, false), Judgement::Outside { ask: false });
    assert!(!roots().contains(&other, path));
}

#[test]
fn the_innermost_folder_says_whether_it_may_be_written() {
    check("/ref/a", false, Judgement::Inside);
    check("/ref/a", true, Judgement::ReadOnly("/ref".into()));
    check("/ref/drafts/a", true, Judgement::Inside);
    let mut roots = roots();
    roots.add(&key(), "/p/app".into(), false, 9);
    let path = Path::new("/p/app/a");
    assert_eq!(roots.judge(&key(), path, path, true), Judgement::ReadOnly("/p/app".into()));
}

#[test]
fn secrets_are_asked_about_when_read_by_either_name_and_not_when_written() {
    check("/p/app/.env", false, Judgement::Secret);
    check("/p/app/.env", true, Judgement::Inside);
    check("/p/app/.env.md", false, Judgement::Inside);
    let (real, told) = (Path::new("/p/app/a"), Path::new("/p/app/.env"));
    assert_eq!(roots().judge(&key(), real, told, false), Judgement::Secret);
}

#[test]
fn what_can_run_commands_is_always_asked_about() {
    let roots = roots();
    let why = |path: &str| roots.must_ask(&key(), Path::new(path));
    for path in [
        "/p/app/.git/hooks/pre-commit",
        "/p/app/sub/.git/hooks/a/b",
        "/p/app/.git/modules/sub/hooks/pre-commit",
        "/p/app/.git/config",
        "/p/app/.git/modules/sub/config",
        "/p/app/.git",
        "/p/app/.nvim.lua",
        "/p/app/deep/.exrc",
        "/p/app/.nvimrc",
        "/p/app/.bosun.lua",
        "/p/app/.bosun/agents/a.lua",
        "/p/app/.envrc",
        "/else/.envrc",
    ] {
        assert_eq!(why(path).as_deref(), Some(CAN_RUN), "{path}");
    }
    assert_eq!(why("/p/app/ci/a.yml").as_deref(), Some(ALWAYS));
    for path in ["/p/app/a", "/p/app/hooks/a", "/p/app/config", "/p/app/.github/a", "/p/app/x/ci/a"] {
        assert_eq!(why(path), None, "{path}");
    }
}

#[test]
fn a_file_that_a_person_let_at_is_attached_and_still_outside() {
    let mut roots = roots();
    let file = Path::new("/etc/hosts");
    assert!(!roots.any_contains(file));
    roots.let_at(&key(), file.into());
    assert!(roots.any_contains(file));
    assert!(!roots.any_contains(Path::new("/etc/passwd")));
    assert_eq!(roots.judge(&key(), file, file, false), OUTSIDE);
    roots.remove(&key());
    assert!(!roots.any_contains(file));
}
