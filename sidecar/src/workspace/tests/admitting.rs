//! Which paths are let in: by a session's folders, by a person, or not at all.

use expect_test::expect;

use super::*;
use crate::effect::Access;
use crate::model::{AccessRules, RootRule};

/// A desk whose session works in `/p`, may read `/ref`, and asks about the rest.
fn desk() -> Desk {
    let mut d = Desk::new();
    let rules = AccessRules {
        roots: vec![RootRule { path: "/ref".into(), write: false }],
        ask_outside: true,
        always_ask: Vec::new(),
        ask_read: vec![".env".into()],
        ask_commands: true,
        write_approval: crate::model::WriteApproval::Ask,
    };
    for folder in ["/p", "/ref"] {
        d.files.insert(folder.into(), Err(DiskError::IsDir));
    }
    let session = d.session.clone();
    let effects = d.ws.open_roots(&session, "/p".into(), rules);
    assert_eq!(d.take(effects), "");
    d
}

impl Desk {
    fn access(&mut self, access: Access) -> String {
        let op = self.asked.pop_front().expect("a question");
        let effects = self.ws.access_decided(op, access);
        self.take(effects)
    }
}

#[test]
fn a_path_outside_is_asked_about_by_its_real_name_and_served_once_allowed() {
    let mut d = desk();
    d.file("/etc/hosts", "one\n").links.push(("/p/link".into(), "/etc".into()));
    check(
        [d.read("/etc/hosts"), d.access(Access::Allow), d.read("/p/link/hosts"), d.access(Access::Allow)]
            .concat(),
        expect![[r#"
            access: read "/etc/hosts"? It is outside the session's folders (/p, /ref).
            answer 1: {"content":"one\n"}
            access: read "/etc/hosts"? It is outside the session's folders (/p, /ref). | The agent named it /p/link/hosts.
            answer 2: {"content":"one\n"}
        "#]],
    );
}

#[test]
fn a_refusal_names_the_rule_and_who_refused() {
    let mut d = desk();
    let mut all = String::new();
    for access in
        [Access::Rejected { for_session: false }, Access::Rejected { for_session: true }, Access::Withdrawn]
    {
        all += &d.write("/else/a", "x");
        all += &d.access(access);
    }
    check(
        all,
        expect![[r#"
            access: write "/else/a"? It is outside the session's folders (/p, /ref). | There is no such file.
            answer 1: -32603 /else/a is outside the session's folders (/p, /ref), and the user rejected access to it for this turn; do not try it again
            access: write "/else/a"? It is outside the session's folders (/p, /ref). | There is no such file.
            answer 2: -32603 /else/a is outside the session's folders (/p, /ref), and the user rejected access to it for this session; do not try it again
            access: write "/else/a"? It is outside the session's folders (/p, /ref). | There is no such file.
            answer 3: -32800 cancelled
        "#]],
    );
    assert!(d.ws.ops.is_empty());
}

#[test]
fn a_write_outside_that_is_let_in_is_still_a_write_that_is_asked_about() {
    let mut d = desk();
    check(
        [d.write("/else/a", "x"), d.access(Access::Allow), d.allow()].concat(),
        expect![[r#"
            access: write "/else/a"? It is outside the session's folders (/p, /ref). | There is no such file.
            ask /else/a None -> "x"
            write /else/a "x"
            tells BosunFileWritten /else/a
            answer 1: {}
        "#]],
    );
}

#[test]
fn names_that_look_alike_are_other_paths() {
    let mut d = desk();
    for (path, asks) in [
        ("/p/[id]/page.tsx", false),
        ("/p/a b/%#'\"\n.txt", false),
        ("/p/-rf", false),
        ("/p-secrets/a", true),
        ("/p-secrets/../p/a", true),
        ("/P/a", true),
        ("/pe\u{301}/a", true),
    ] {
        let log = d.read(path);
        assert_eq!(log.starts_with("access: "), asks, "{path}: {log}");
    }
    // A folder by its composed name is another than the one by its decomposed name.
    let mut d = Desk::new();
    let session = d.session.clone();
    d.ws.add_root(&session, "/\u{e9}".into());
    assert!(d.read("/\u{e9}/a").contains("no such file"));
    assert!(d.read("/e\u{301}/a").contains("outside"));
}

#[test]
fn a_dangling_link_counts_as_what_it_leads_to() {
    let mut d = desk();
    d.links.push(("/p/in".into(), "/p/gone".into()));
    d.links.push(("/p/out".into(), "/etc/gone".into()));
    check(
        [d.write("/p/in", "x"), d.allow(), d.write("/p/out", "x")].concat(),
        expect![[r#"
            ask /p/gone None -> "x"
            write /p/gone "x"
            tells BosunFileWritten /p/gone
            answer 1: {}
            access: write "/etc/gone"? It is outside the session's folders (/p, /ref). | The agent named it /p/out. | There is no such file.
        "#]],
    );
}

#[test]
fn a_folder_that_may_only_be_read_is_named_when_it_is_written() {
    let mut d = desk();
    d.file("/ref/a", "one\n");
    check(
        [d.read("/ref/a"), d.write("/ref/a", "two\n"), d.write("/ref/new", "x")].concat(),
        expect![[r#"
            answer 1: {"content":"one\n"}
            answer 2: -32603 /ref/a is in /ref, which this session may only read; nothing was written
            answer 3: -32603 /ref/new is in /ref, which this session may only read; nothing was written
        "#]],
    );
}

#[test]
fn folders_and_pipes_outside_are_refused_without_a_question() {
    let mut d = desk();
    d.files.insert("/etc".into(), Err(DiskError::IsDir));
    d.files.insert("/dev/tty".into(), Err(DiskError::Special));
    check(
        [d.read("/etc"), d.read("/dev/tty")].concat(),
        expect![[r#"
            answer 1: -32603 /etc is outside the session's folders (/p, /ref); only files below them may be read or written. The setting `roots` adds a folder
            answer 2: -32603 /dev/tty is outside the session's folders (/p, /ref); only files below them may be read or written. The setting `roots` adds a folder
        "#]],
    );
}

#[test]
fn a_file_that_may_hold_secrets_is_asked_about_when_it_is_read() {
    let mut d = desk();
    d.file("/p/.env", "KEY=1\n").open(1, "/p/sub/.env", "KEY=2\n");
    let mut all = [d.read("/p/.env"), d.access(Access::Allow)].concat();
    all += &d.read("/p/sub/.env");
    all += &d.access(Access::Rejected { for_session: false });
    all += &d.read("/p/no/.env");
    check(
        all,
        expect![[r#"
            access: read "/p/.env"? The setting `ask_read` names it as a file that may hold secrets.
            answer 1: {"content":"KEY=1\n"}
            access: read "/p/sub/.env"? The setting `ask_read` names it as a file that may hold secrets.
            answer 2: -32603 /p/sub/.env is a file that may hold secrets (setting `ask_read`), and the user rejected access to it for this turn; do not try it again
            answer 3: -32002 /p/no/.env: no such file {"uri":"file:///p/no/.env"}
        "#]],
    );
}

#[test]
fn a_buffer_outside_is_not_attached_until_a_person_lets_the_session_at_its_file() {
    let mut d = desk();
    d.file("/home/notes", "on disk\n");
    d.announce(1, "/home/notes", "in the editor\n");
    assert_eq!(std::mem::take(&mut d.log), "");
    d.read("/home/notes");
    check(
        d.access(Access::Allow),
        expect![[r#"
            attach 1
            slice 1 from 0 later
            slice 1 from 0
        "#]],
    );
    d.slice(1, 0);
    check(
        std::mem::take(&mut d.log),
        expect![[r#"
            answer 1: {"content":"in the editor\n"}
        "#]],
    );
    // The next read is asked about again.
    assert!(d.read("/home/notes").starts_with("access: read"));
}

#[test]
fn a_write_to_what_can_run_commands_says_so_and_asks_whatever_was_approved() {
    let mut d = desk();
    d.links.push(("/p/nice.txt".into(), "/p/.git/hooks/pre-commit".into()));
    d.links.push(("/p/sub/.envrc".into(), "/p/plain".into()));
    check(
        [d.write("/p/nice.txt", "x"), d.write("/p/sub/.envrc", "y"), d.write("/p/a", "z")].concat(),
        expect![[r#"
            ask /p/.git/hooks/pre-commit None -> "x"
              note: This file can run commands on this machine.
            ask /p/plain None -> "y"
              note: This file can run commands on this machine.
            ask /p/a None -> "z"
        "#]],
    );
}

#[test]
fn a_write_whose_path_waits_holds_up_what_comes_after_it_on_the_same_file_only() {
    let mut d = desk();
    d.file("/p/a", "one\n").file("/p/b", "two\n").file("/etc/x", "x\n");
    d.held = Some(VecDeque::new());
    d.write("/p/a", "new\n");
    d.read("/p/a");
    d.read("/p/b");
    // The reads are resolved first and wait: nobody knows yet where the write goes.
    check(d.release(&[1, 2]), expect![[""]]);
    let mut d = desk();
    d.file("/p/a", "one\n").file("/etc/x", "x\n");
    let mut all = d.write("/etc/x", "y\n");
    all += &d.read("/p/a");
    all += &d.read("/etc/x");
    assert_eq!(d.asked.len(), 2);
    let second = d.asked.pop_back().unwrap();
    let effects = d.ws.access_decided(second, Access::Allow);
    all += &d.take(effects);
    all += &d.access(Access::Rejected { for_session: false });
    check(
        all,
        expect![[r#"
            access: write "/etc/x"? It is outside the session's folders (/p, /ref).
            answer 2: {"content":"one\n"}
            access: read "/etc/x"? It is outside the session's folders (/p, /ref).
            answer 1: -32603 /etc/x is outside the session's folders (/p, /ref), and the user rejected access to it for this turn; do not try it again
            answer 3: {"content":"x\n"}
        "#]],
    );
}

#[test]
fn requests_wait_until_the_sessions_folders_are_known() {
    let mut d = Desk::new();
    d.session = SessionKey::new("new");
    d.files.insert("/q".into(), Err(DiskError::IsDir));
    d.file("/q/a", "one\n").held = Some(VecDeque::new());
    let session = d.session.clone();
    let effects = d.ws.open_roots(&session, "/q".into(), AccessRules::default());
    d.run(effects);
    d.read("/q/a");
    let held: Vec<_> = d.held.take().unwrap().into();
    for (at, expected) in [(1, ""), (0, "answer 1: {\"content\":\"one\\n\"}\n")] {
        let (op, cmd) = held[at].clone();
        let effects = d.disk_now(op, cmd);
        assert_eq!(d.take(effects), expected);
    }
}

#[test]
fn what_waits_for_a_person_is_answered_once_on_every_way_out() {
    for way in 0..4 {
        let mut d = desk();
        d.read("/etc/a");
        d.write("/etc/b", "x");
        let (session, asked) = (d.session.clone(), std::mem::take(&mut d.asked));
        let effects = match way {
            0 => d.ws.cancel_session(&session),
            1 => d.ws.remove_session(&session),
            2 => d.ws.forget_agent(&session),
            _ => ["1", "2"]
                .into_iter()
                .flat_map(|id| d.ws.cancel_request(std::slice::from_ref(&session), &WireId(id.into())))
                .collect(),
        };
        let log = d.take(effects);
        assert_eq!(log.matches("question withdrawn\nanswer").count(), 2, "{way}: {log}");
        for op in asked {
            assert!(d.ws.access_decided(op, Access::Allow).is_empty());
        }
        assert!(d.ws.ops.is_empty(), "{way}");
    }
}

#[test]
fn a_glob_that_makes_no_sense_is_told_when_the_session_starts() {
    let mut d = Desk::new();
    let rules = AccessRules { always_ask: vec!["a[".into()], ..AccessRules::default() };
    let effects = d.ws.open_roots(&SessionKey::new("t"), "/p".into(), rules);
    let told = effects.iter().any(|e| {
        matches!(e, Effect::Nvim(NvimCmd::Notify { text, .. })
        if text.contains("always_ask") && text.contains("a["))
    });
    assert!(told, "{effects:?}");
}

#[test]
fn what_is_attached_is_told_to_the_disk_so_that_a_hard_link_is_recognized() {
    let mut d = desk();
    d.open(1, "/p/a", "one\n").announce(2, "/outside", "x\n");
    d.held = Some(VecDeque::new());
    d.read("/p/b");
    match &d.held.as_ref().unwrap()[0].1 {
        DiskCmd::Resolve { twins, .. } => assert_eq!(twins, &[PathBuf::from("/p/a")]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_prompt_takes_along_only_what_the_session_may_read_unasked() {
    let mut d = desk();
    d.open(1, "/p/a", "one\n").open(2, "/p/.env", "KEY=1\n");
    let session = d.session.clone();
    assert_eq!(d.ws.buf_text_for(&session, BufId(1)).as_deref(), Some("one\n"));
    assert_eq!(d.ws.buf_text_for(&session, BufId(2)), None);
    assert_eq!(d.ws.buf_text_for(&SessionKey::new("other"), BufId(1)), None);
}

#[test]
fn what_was_allowed_is_looked_at_once_more_before_it_is_served() {
    let mut d = desk();
    d.file("/etc/a", "one\n").file("/etc/b", "secret\n").links.push(("/p/link".into(), "/etc/a".into()));
    d.read("/p/link");
    d.links[0].1 = "/etc/b".into();
    check(
        d.access(Access::Allow),
        expect![[r#"
            access: read "/etc/b"? It is outside the session's folders (/p, /ref). | The agent named it /p/link.
        "#]],
    );
    d.file("/etc/b", "newer\n");
    check(
        d.access(Access::Allow),
        expect![[r#"
            answer 1: {"content":"newer\n"}
        "#]],
    );
}
