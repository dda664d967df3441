//! Beliefs as data: what was served and written, and what the agent then takes for the file's text.

use proptest::prelude::*;

use super::*;

const P: &str = "/p/a";

fn snap(text: &str) -> Snapshot {
    Snapshot::from_wire(text)
}

struct Agent {
    beliefs: Beliefs,
    session: SessionKey,
}

impl Agent {
    fn new() -> Self {
        Self { beliefs: Beliefs::default(), session: SessionKey::new("s") }
    }

    fn reads(&mut self, text: &str, span: Span) -> &mut Self {
        self.beliefs.served(&self.session, Path::new(P), snap(text), span);
        self
    }

    fn reads_all(&mut self, text: &str) -> &mut Self {
        self.reads(text, 0..usize::MAX)
    }

    fn writes(&mut self, own: &str, landed: &str, after: &str) -> &mut Self {
        self.beliefs.wrote(&self.session, Path::new(P), snap(own), &snap(landed), snap(after));
        self
    }

    fn known(&self) -> &Known {
        match self.beliefs.get(&self.session, Path::new(P)) {
            Some(Belief::Text(known)) => known,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn believes(&self, text: &str, served: Option<&[Span]>) {
        assert_eq!(self.known().text.wire().text, text);
        assert_eq!(self.known().served.as_deref(), served);
    }
}

#[test]
fn a_read_of_all_is_what_it_believes_and_the_one_before_may_still_be_meant() {
    let mut agent = Agent::new();
    agent.reads_all("a\n").reads_all("b\n");
    agent.believes("b\n", None);
    assert_eq!(agent.known().older, [snap("a\n")]);
    for i in 0..10 {
        agent.reads_all(&format!("{i}\n"));
    }
    assert_eq!(agent.known().older.len(), OLDER);
}

#[test]
fn a_read_of_some_lines_tells_of_these_lines_only() {
    let mut agent = Agent::new();
    agent.reads_all("1\n2\n3\n4\n5\n").reads("1\nTWO\n3\n4\nFIVE\n", 0..2);
    agent.believes("1\nTWO\n3\n4\n5\n", None);
    // A line that was put in before the lines it reads moves them, and is still not seen.
    agent.reads("0\n1\nTWO\n3\nFOUR\nFIVE\n", 4..5);
    agent.believes("1\nTWO\n3\n4\n5\n", None);
}

#[test]
fn what_it_never_read_is_as_it_is_and_is_not_known() {
    let mut agent = Agent::new();
    agent.reads("1\n2\n3\n4\n", 1..3);
    agent.believes("1\n2\n3\n4\n", Some(&[1..3]));
    agent.reads("0\n1\n2\n3\n4\n", 0..1);
    agent.believes("0\n1\n2\n3\n4\n", Some(&[0..1, 2..4]));
    agent.reads("0\n1\n2\n3\n4\n", 1..5);
    agent.believes("0\n1\n2\n3\n4\n", None);
}

#[test]
fn after_a_write_it_believes_what_it_wrote_and_what_a_formatter_made_of_it() {
    let mut agent = Agent::new();
    agent.reads_all("a\nb\nc\n").writes("A  \nb\nc\n", "A  \nb\nc\nmine\n", "A\nb\nc\nmine\n");
    agent.believes("A\nb\nc\n", None);
    assert_eq!(agent.known().own, Some(snap("A  \nb\nc\n")));
    assert!(agent.known().older.is_empty(), "it does not go back behind its own write");
}

// B20
#[test]
fn a_late_formatter_is_believed_and_a_person_is_not() {
    let mut agent = Agent::new();
    agent.writes("a \nb\n", "a \nb\n", "a \nb\n");
    agent.beliefs.typed(|_| Some(snap("a\nb\n")));
    agent.believes("a\nb\n", None);
    agent.beliefs.typed(|_| Some(snap("a\nb\nmine\n")));
    agent.beliefs.settle(Path::new(P), &snap("a\nb\nmine\n"));
    agent.believes("a\nb\n", None);
}

#[test]
fn the_least_lately_used_file_is_forgotten_first() {
    let mut agent = Agent::new();
    for i in 0..=FILES {
        agent.beliefs.missing(&agent.session, Path::new(&format!("/p/{i}")));
    }
    assert_eq!(agent.beliefs.get(&agent.session, Path::new("/p/0")), None);
    assert_eq!(agent.beliefs.get(&agent.session, Path::new("/p/1")), Some(&Belief::Missing));
}

proptest! {
    #[test]
    fn lines_that_were_given_are_believed_as_they_were_last_given(
        texts in prop::collection::vec((prop::collection::vec("[a-f]\n", 1..12), 0usize..12, 1usize..6), 1..6),
    ) {
        let mut agent = Agent::new();
        for (lines, first, count) in texts {
            let text = lines.concat();
            let (first, last) = (first.min(lines.len()), (first + count).min(lines.len()));
            agent.reads(&text, first..last);
            let known = agent.known();
            let believed = flat(&known.text.rope);
            for span in known.served.iter().flatten() {
                prop_assert!(span.end <= split(&believed).len());
            }
            if first == 0 && last == lines.len() {
                prop_assert_eq!(believed, text);
            }
        }
    }
}
