//! Merges with their bases as data: what the agent believes, what is there, what it writes, what comes of it.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::model::SessionKey;
use crate::workspace::edit;
use crate::workspace::known::Beliefs;

fn snap(text: &str) -> Snapshot {
    Snapshot::from_wire(text)
}

/// An agent, a file, and a person.
struct Story {
    beliefs: Beliefs,
    live: String,
    disk: String,
}

impl Story {
    fn new(text: &str) -> Self {
        Self { beliefs: Beliefs::default(), live: text.into(), disk: text.into() }
    }

    fn key() -> (SessionKey, &'static Path) {
        (SessionKey::new("s"), Path::new("/p/a"))
    }

    fn agent_reads(&mut self, span: Span) -> &mut Self {
        let (key, path) = Self::key();
        self.beliefs.served(&key, path, snap(&self.live), span);
        self
    }

    fn person_makes_it(&mut self, text: &str) -> &mut Self {
        self.live = text.into();
        self
    }

    fn saved(&mut self) -> &mut Self {
        self.disk = self.live.clone();
        self
    }

    fn agent_writes(&self, content: &str) -> Rebased {
        let (key, path) = Self::key();
        let belief = self.beliefs.get(&key, path);
        rebase(belief, Some(&snap(&self.disk)), &snap(&self.live), content, (false, false)).unwrap()
    }

    /// Writes; what landed is the text, saved.
    fn agent_lands(&mut self, content: &str) -> &mut Self {
        let r = self.agent_writes(content);
        assert!(r.conflicts.is_empty());
        let (key, path) = Self::key();
        self.beliefs.wrote(&key, path, r.theirs, &r.text, r.text.clone());
        self.live = r.text.wire().text;
        self.saved()
    }

    #[track_caller]
    fn check(&self, content: &str, text: &str, conflicts: &[Span]) {
        let r = self.agent_writes(content);
        assert_eq!((r.text.wire().text.as_str(), r.conflicts.as_slice()), (text, conflicts));
    }
}

const ALL: Span = 0..usize::MAX;

#[test]
fn what_both_did_apart_is_merged() {
    let mut s = Story::new("1\n2\n3\n4\n5\n");
    s.agent_reads(ALL).person_makes_it("1\n2\n3\n4\nfive\n");
    s.check("one\n2\n3\n4\n5\n", "one\n2\n3\n4\nfive\n", &[]);
}

#[test]
fn what_both_did_in_one_place_is_for_a_person_and_theirs_stands_until_then() {
    let mut s = Story::new("1\n2\n3\n");
    s.agent_reads(ALL).person_makes_it("1\nmine\n3\n");
    let r = s.agent_writes("1\nagent\n3\n");
    assert_eq!((r.text, r.with_theirs), (snap("1\nmine\n3\n"), snap("1\nagent\n3\n")));
    assert_eq!(r.conflicts, [1..2]);
}

#[test]
fn a_file_never_read_starts_from_the_disk() {
    let mut s = Story::new("1\n2\n3\n");
    s.person_makes_it("1\n2\n3\nmine\n");
    s.check("one\n2\n3\n", "one\n2\n3\nmine\n", &[]);
}

#[test]
fn after_a_merge_the_next_write_does_not_take_the_persons_lines_out() {
    let mut s = Story::new("1\n2\n3\n");
    s.agent_reads(ALL).person_makes_it("1\n2\n3\nmine\n").agent_lands("one\n2\n3\n");
    assert_eq!(s.live, "one\n2\n3\nmine\n");
    s.check("one\ntwo\n3\n", "one\ntwo\n3\nmine\n", &[]);
    // Nor does one by an agent that looked at the disk by itself.
    s.check("one\ntwo\n3\nmine\n", "one\ntwo\n3\nmine\n", &[]);
}

#[test]
fn an_agent_may_take_back_what_it_did_itself() {
    let mut s = Story::new("1\n2\n3\n");
    s.agent_reads(ALL).agent_lands("1\ntwo\n3\n");
    s.check("1\n2\n3\n", "1\n2\n3\n", &[]);
}

#[test]
fn a_line_it_did_not_see_since_an_older_read_stays() {
    let base: String = (1..=40).map(|i| format!("{i}\n")).collect();
    let mut s = Story::new(&base);
    s.agent_reads(ALL);
    let live = base.replace("30\n", "30\nmine\n");
    s.person_makes_it(&live).agent_reads(0..20);
    s.check(&base.replace("10\n", "ten\n"), &live.replace("10\n", "ten\n"), &[]);
}

#[test]
fn a_line_it_saw_and_takes_out_may_be_an_older_text_or_meant_so_a_person_decides() {
    let mut s = Story::new("1\n2\n3\n4\n5\n");
    s.agent_reads(ALL).person_makes_it("1\n2\n3\nmine\n4\n5\n").agent_reads(ALL);
    s.check("one\n2\n3\n4\n5\n", "one\n2\n3\nmine\n4\n5\n", &[3..4]);
    // Taking it out beside many other changes of the same text is no older text.
    s.check("1\n2\n3\nmine too\n4\n5\n", "1\n2\n3\nmine too\n4\n5\n", &[]);
}

#[test]
fn lines_it_was_never_given_are_not_taken_out_unasked() {
    let mut s = Story::new("1\n2\n3\n4\n5\n");
    s.agent_reads(0..2);
    s.check("1\ntwo\n", "1\n2\n3\n4\n5\n", &[1..5]);
    s.check("1\ntwo\n3\n4\n5\n", "1\ntwo\n3\n4\n5\n", &[]);
    s.check("1\n2\n3\nfour\n5\n", "1\n2\n3\n4\n5\n", &[3..4]);
}

#[test]
fn the_newline_at_the_end_is_a_change_of_its_own() {
    let mut s = Story::new("1\n2");
    s.agent_reads(ALL).person_makes_it("one\n2");
    s.check("1\n2\n", "one\n2\n", &[]);
    s.check("1\n2\n3", "one\n2\n3", &[]);
    s.person_makes_it("1\n2\n");
    s.check("one\n2", "one\n2\n", &[]);
}

#[test]
fn a_text_without_lines_takes_what_comes() {
    let mut s = Story::new("");
    s.agent_reads(ALL);
    s.check("x", "x", &[]);
    s.check("\n", "\n", &[]);
    s.person_makes_it("mine\n");
    s.check("x\n", "mine\n", &[0..1]);
}

#[track_caller]
fn check_follow(was: &str, live: &str, is: &str, own: &[&str], want: &str, conflicts: usize) {
    let own: Vec<Snapshot> = own.iter().map(|t| snap(t)).collect();
    let r = follow(&snap(was), &snap(live), &snap(is), &own);
    assert_eq!((r.text.wire().text.as_str(), r.conflicts.len()), (want, conflicts));
}

#[test]
fn a_change_on_disk_is_merged_with_unsaved_lines() {
    check_follow("1\n2\n3\n", "1\n2\n3\nmine\n", "one\n2\n3\n", &[], "one\n2\n3\nmine\n", 0);
    check_follow("1\n2\n3\n", "1\nmine\n3\n", "1\ntwo\n3\n", &[], "1\nmine\n3\n", 1);
}

// B14
#[test]
fn an_agent_that_writes_its_own_text_over_a_merge_takes_nothing_out() {
    let (own, merged) = ("one\n2\n3\n", "one\n2\n3\nmine\n");
    check_follow(merged, merged, own, &[own], merged, 0);
    check_follow(merged, "one\n2\n3\nmine\nmore\n", own, &[own], "one\n2\n3\nmine\nmore\n", 0);
    // And one that goes on from there.
    check_follow(merged, merged, "one\ntwo\n3\n", &[own], "one\ntwo\n3\nmine\n", 0);
    // One that read the disk first has seen it.
    check_follow(merged, merged, "one\ntwo\n3\nmine\n", &[own], "one\ntwo\n3\nmine\n", 0);
}

#[test]
fn a_text_that_was_seen_half_written_is_not_brought_back() {
    let own = "one\n2\n3\n";
    check_follow("", "", own, &[own], own, 0);
    check_follow("one\n", "one\n", own, &[own], own, 0);
    check_follow("one\n2", "one\n2", own, &[own], own, 0);
}

/// Lines that differ from each other, so that each can be found again.
fn numbered(lines: usize) -> Vec<String> {
    (0..lines).map(|i| format!("line {i}\n")).collect()
}

/// A random change; new lines carry `tag` and are all different.
fn changed(lines: &[String], script: &[(usize, u8)], tag: &str) -> Vec<String> {
    let mut out = lines.to_vec();
    for (i, (at, what)) in script.iter().enumerate() {
        let at = at % (out.len() + 1);
        match what {
            0 => out.insert(at, format!("{tag} {i}\n")),
            1 if at < out.len() => out[at] = format!("{tag} {i}\n"),
            _ if at < out.len() => drop(out.remove(at)),
            _ => {}
        }
    }
    out
}

fn script(most: usize) -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((0usize..60, 0u8..3), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Random base, partial reads in between, the person's and the agent's changes.
    #[test]
    fn no_line_that_one_side_touched_is_lost_or_doubled(
        lines in 0usize..30,
        before in script(4),
        reads in prop::collection::vec((0usize..30, 1usize..12), 0..3),
        between in script(3),
        after in script(4),
        agent in script(5),
        from_older in any::<bool>(),
    ) {
        let base = numbered(lines);
        let mut s = Story::new(&base.concat());
        s.agent_reads(ALL);
        let mut texts = vec![base.clone(), changed(&base, &before, "before")];
        s.person_makes_it(&texts[1].concat());
        // Lines that the agent was shown: it may mean to take them out.
        let mut shown = base.clone();
        for (first, count) in reads {
            s.agent_reads(first..first + count);
            shown.extend(texts.last().unwrap().iter().skip(first).take(count).cloned());
            let next = changed(texts.last().unwrap(), &between, &format!("between {}", texts.len()));
            s.person_makes_it(&next.concat());
            texts.push(next);
        }
        let live = changed(texts.last().unwrap(), &after, "after");
        s.person_makes_it(&live.concat());
        // The agent changes what it believes, or what it read first.
        let (key, path) = Story::key();
        let believed = match s.beliefs.get(&key, path) {
            Some(Belief::Text(known)) => known.text.wire().text,
            other => panic!("{other:?}"),
        };
        let believed: Vec<String> = split(&believed).into_iter().map(str::to_owned).collect();
        let start = if from_older { &base } else { &believed };
        let content = changed(start, &agent, "agent");
        let r = s.agent_writes(&content.concat());

        let text = r.text.wire().text;
        let (text, theirs) = (split(&text), r.with_theirs.wire().text);
        let count = |lines: &[&str], line: &str| lines.iter().filter(|l| **l == line).count();
        let asked = |line: &str| {
            r.conflicts.iter().any(|s| text[s.clone()].contains(&line)) || split(&theirs).contains(&line)
        };
        for line in &live {
            // The person's own lines are there: once, or taken out by the agent that knew them.
            let n = count(&text, line);
            prop_assert!(n <= 1, "{line:?} {n} times");
            let knew = start.contains(line) || shown.contains(line);
            prop_assert!(n == 1 || knew && !content.contains(line), "{line:?} is lost");
        }
        for line in &content {
            let n = count(&text, line);
            prop_assert!(n <= 1, "{line:?} {n} times");
            // The agent's own lines are there, or a person is asked about them.
            let gone = start.contains(line) && !live.contains(line);
            prop_assert!(n == 1 || gone || asked(line), "{line:?} is lost");
        }
        // What lands is reached by edits that leave every other line, and its marks, alone.
        let edits = edit::edits(&snap(&live.concat()), &r.text);
        let landed = edit::apply(&snap(&live.concat()), &edits, r.text.eol, r.text.is_empty());
        prop_assert_eq!(&landed, &r.text);
        for e in &edits {
            for at in e.range.start.line..e.range.end.line {
                let Some(line) = live.get(at as usize) else { continue };
                prop_assert!(!text.contains(&line.as_str()), "{line:?} is in the text and was edited");
            }
        }
    }
}
