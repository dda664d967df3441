//! Ways back played on data: agents and a person change files in turn, then the way back, and forward again.

use std::collections::HashMap;

use crate::effect::{Effect, KeepCmd, NvimCmd};
use crate::event::{DiskResult, KeptTexts, ReviewScope, ReviewVerdict};
use crate::model::BufId;
use crate::workspace::tests::Desk;

/// A desk, and the texts that the disk edge would keep.
struct Trail {
    d: Desk,
    kept: HashMap<u64, KeptTexts>,
    /// Numbers of checkpoints, as the editor is told.
    list: Vec<(u64, usize)>,
}

impl Trail {
    /// `/p/a` holds this text, and is open.
    fn with(text: &str) -> Self {
        let mut d = Desk::new();
        d.running(&["s"]).file("/p/a", text).open(1, "/p/a", text);
        Self { d, kept: HashMap::new(), list: Vec::new() }
    }

    /// The agent reads `/p/a` and makes this of it.
    fn agent(&mut self, text: &str) {
        self.d.read("/p/a");
        self.d.write_through("/p/a", text);
    }

    /// A person rejects what the agent made of `/p/a`.
    fn reject_all(&mut self) {
        let all = ReviewVerdict { keep: false, scope: ReviewScope::All };
        let effects = self.d.ws.review_verdict(&all);
        self.d.take(effects);
        self.d.land();
    }

    /// Takes in what was kept meanwhile.
    fn look(&mut self) {
        for cmd in std::mem::take(&mut self.d.kept) {
            self.cmd(cmd);
        }
    }

    fn cmd(&mut self, cmd: KeepCmd) {
        let bytes = |text: Option<crate::workspace::text::Snapshot>| text.map(|text| text.bytes());
        match cmd {
            KeepCmd::Change { number, before, after, .. } => {
                self.kept.insert(number, KeptTexts { number, before: bytes(before), after: bytes(after) });
            }
            KeepCmd::Mark { .. } => {}
            KeepCmd::Load { op, numbers } => {
                let texts = numbers.iter().filter_map(|n| self.kept.get(n).cloned()).collect();
                let effects = self.d.ws.disk(op, DiskResult::Kept(texts));
                self.d.take(effects);
            }
        }
    }

    fn play(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Keep(cmd) => self.cmd(cmd),
                Effect::Nvim(NvimCmd::Checkpoints { list, .. }) => {
                    self.list = list.iter().map(|c| (c.number, c.files.len())).collect();
                }
                other => drop(self.d.take(vec![other])),
            }
        }
    }

    /// A prompt goes out: the number of its checkpoint.
    fn prompt(&mut self) -> u64 {
        self.look();
        let session = self.d.session.clone();
        let effects = self.d.ws.checkpoint(&session, "do it\nplease");
        self.play(effects);
        self.list.last().unwrap().0
    }

    fn restore(&mut self, number: Option<u64>) {
        self.look();
        let session = self.d.session.clone();
        self.d.ws.restore(&session, number);
        let effects = self.d.ws.restores_due();
        self.play(effects);
        while !self.d.edits.is_empty() {
            self.d.land();
        }
        self.look();
    }

    fn text(&self, buf: i64) -> String {
        self.d.ws.buf_text(BufId(buf)).unwrap()
    }
}

#[test]
fn a_way_back_leaves_what_a_person_wrote_before_between_and_after() {
    let mut t = Trail::with("1\n2\n3\n4\n5\n");
    let first = t.prompt();
    t.agent("ONE\n2\n3\n4\n5\n");
    t.d.change(1, 2, 3, &["three, mine"]);
    let second = t.prompt();
    t.agent("ONE\n2\nthree, mine\n4\nFIVE\n");
    t.d.change(1, 5, 5, &["6, mine"]);
    t.restore(Some(second));
    assert_eq!(t.text(1), "ONE\n2\nthree, mine\n4\n5\n6, mine\n");
    t.restore(Some(first));
    assert_eq!(t.text(1), "1\n2\nthree, mine\n4\n5\n6, mine\n");
    t.restore(None);
    t.restore(None);
    assert_eq!(t.text(1), "1\n2\nthree, mine\n4\n5\n6, mine\n", "the last way back was the taking back");
}

#[test]
fn a_way_back_can_be_taken_back_and_that_too() {
    let mut t = Trail::with("1\n2\n");
    t.d.file("/p/b", "b\n");
    let first = t.prompt();
    t.agent("ONE\n2\n");
    t.d.read("/p/b");
    t.d.write("/p/b", "B\n");
    t.d.allow();
    t.d.write("/p/new", "new\n");
    t.d.allow();
    for _ in 0..2 {
        t.restore(Some(first));
        assert_eq!((t.text(1).as_str(), t.d.on_disk("/p/b")), ("1\n2\n", "b\n"));
        assert!(!t.d.files.contains_key(std::path::Path::new("/p/new")), "a file that was made goes");
        t.restore(None);
        assert_eq!((t.text(1).as_str(), t.d.on_disk("/p/b")), ("ONE\n2\n", "B\n"));
        assert_eq!(t.d.on_disk("/p/new"), "new\n", "and comes back");
    }
}

#[test]
fn where_both_changed_the_same_lines_the_persons_stay() {
    let mut t = Trail::with("1\n2\n3\n");
    let first = t.prompt();
    t.agent("ONE\n2\nTHREE\n");
    t.d.change(1, 0, 1, &["one, mine"]);
    t.restore(Some(first));
    assert_eq!(t.text(1), "one, mine\n2\n3\n");
}

#[test]
fn what_no_agent_changed_is_not_touched_and_what_was_rejected_is_not_undone_twice() {
    let mut t = Trail::with("1\n2\n");
    t.d.file("/p/mine", "x\n");
    let first = t.prompt();
    t.agent("ONE\n2\n");
    t.d.file("/p/mine", "y\n");
    t.reject_all();
    t.restore(Some(first));
    assert_eq!((t.text(1).as_str(), t.d.on_disk("/p/mine")), ("1\n2\n", "y\n"));
}

#[test]
fn each_checkpoint_says_how_many_files_were_changed_since() {
    let mut t = Trail::with("1\n");
    t.prompt();
    t.agent("one\n");
    t.prompt();
    let files: Vec<usize> = t.list.iter().map(|(_, files)| *files).collect();
    assert_eq!(files, [1, 0]);
}

#[test]
fn texts_that_are_not_kept_any_more_leave_their_file_as_it_is() {
    let mut t = Trail::with("1\n");
    let first = t.prompt();
    t.agent("one\n");
    t.look();
    t.kept.clear();
    t.restore(Some(first));
    assert_eq!(t.text(1), "one\n");
}

#[test]
fn lines_that_a_person_brought_back_by_hand_come_back_once() {
    let mut t = Trail::with("a\nb\nc\n");
    let first = t.prompt();
    t.agent("a\nc\n");
    t.d.change(1, 1, 1, &["b"]);
    assert_eq!(t.text(1), "a\nb\nc\n");
    t.restore(Some(first));
    assert_eq!(t.text(1), "a\nb\nc\n");
}

#[test]
fn a_rejected_deletion_is_not_undone_twice() {
    let mut t = Trail::with("a\nb\nc\n");
    let first = t.prompt();
    t.agent("a\nc\n");
    t.reject_all();
    assert_eq!(t.text(1), "a\nb\nc\n");
    t.restore(Some(first));
    assert_eq!(t.text(1), "a\nb\nc\n");
}

#[test]
fn a_way_back_undone_in_the_editor_is_not_taken_back_twice() {
    let mut t = Trail::with("a\nc\n");
    let first = t.prompt();
    t.agent("a\nAGENT\nc\n");
    t.restore(Some(first));
    assert_eq!(t.text(1), "a\nc\n");
    t.d.change(1, 1, 1, &["AGENT"]);
    t.restore(None);
    assert_eq!(t.text(1), "a\nAGENT\nc\n");
}

#[test]
fn a_way_back_undone_in_the_editor_can_be_gone_again() {
    let mut t = Trail::with("a\nc\n");
    let first = t.prompt();
    t.agent("a\nAGENT\nc\n");
    t.restore(Some(first));
    t.d.change(1, 1, 1, &["AGENT"]);
    assert_eq!(t.text(1), "a\nAGENT\nc\n");
    t.restore(Some(first));
    assert_eq!(t.text(1), "a\nc\n");
}

#[test]
fn a_way_back_over_a_changed_line_undone_in_the_editor_can_be_gone_again() {
    let mut t = Trail::with("a\nb\nc\n");
    let first = t.prompt();
    t.agent("a\nAGENT\nc\n");
    t.restore(Some(first));
    t.d.change(1, 1, 2, &["AGENT"]);
    t.restore(Some(first));
    assert_eq!(t.text(1), "a\nb\nc\n");
}

#[test]
fn an_empty_file_that_the_agent_made_goes() {
    let mut t = Trail::with("");
    let first = t.prompt();
    t.d.write("/p/new", "");
    t.d.allow();
    assert!(t.d.files.contains_key(std::path::Path::new("/p/new")));
    t.restore(Some(first));
    assert!(!t.d.files.contains_key(std::path::Path::new("/p/new")));
}

#[test]
fn a_checkpoint_with_changes_since_that_are_not_remembered_is_not_offered() {
    let mut c = super::Checkpoints::default();
    let s = crate::model::SessionKey::new("s");
    let mut out = Vec::new();
    let first = c.mark(&s, "one".into(), false);
    c.keep(&s, std::path::Path::new("/p/first"), (None, None), &mut out);
    for _ in 0..super::CHANGES {
        c.keep(&s, std::path::Path::new("/p/b"), (None, None), &mut out);
    }
    let second = c.mark(&s, "two".into(), false);
    let offered: Vec<u64> = c.states(&s).iter().map(|state| state.number).collect();
    assert_eq!(offered, [second], "/p/first would stay as it is after {first}, and nobody would know");
}
