//! Any sequence of changes, frames and answers of the editor adds up to a fresh rendering, marks included.

use proptest::prelude::*;

use super::*;

/// All lines of a transcript, each entry rendered at once and without any state.
fn fresh(screen: &Screen) -> Vec<Line> {
    let show = &screen.view.shows[&key()];
    let mut out = Vec::new();
    for (index, entry) in screen.entries.iter().enumerate() {
        let mut lines = whole(&entry.body, show.is_expanded(entry.id));
        let before = index.checked_sub(1).map(|before| &screen.entries[before].body);
        if before.is_some_and(|before| render::stands_apart(before, &entry.body)) && !lines.is_empty() {
            lines.insert(0, Line::default());
        }
        out.append(&mut lines);
    }
    if out.is_empty() {
        out.push(Line::default());
    }
    out
}

fn text_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

fn whole(body: &Body, expanded: bool) -> Vec<Line> {
    let markdown = |text: &str| {
        let mut fence = None;
        let mut line = |line: &str| match line {
            "" => Line::default(),
            line => render::text_line(line, &mut fence),
        };
        text_lines(text).into_iter().map(&mut line).collect::<Vec<_>>()
    };
    match body {
        Body::Message { text, .. } => markdown(text),
        Body::User { text, context } => {
            let mut lines = vec![Line::of("## You", "BosunUser"), Line::default()];
            lines.extend(markdown(text));
            lines.extend(context.iter().map(|name| Line::of(format!("@ {name}"), "BosunMeta")));
            lines
        }
        Body::Thought { text, .. } if expanded => {
            let mut lines = vec![Line::of("▾ thought", "BosunThought")];
            let line = |line| Line::of(format!("│ {}", escape::text(line)), "BosunThought");
            lines.extend(text_lines(text).into_iter().map(line));
            lines
        }
        Body::Thought { text, open, .. } => {
            let text = text.trim();
            let Some(last) = text.lines().last() else { return Vec::new() };
            let count = text.split('\n').count();
            let head = if *open { "thinking" } else { "thought" };
            let noun = if count == 1 { "line" } else { "lines" };
            let text = format!("▸ {head} ({count} {noun}): {}", render::short_to(last.trim(), 80));
            vec![Line::of(text, "BosunThought")]
        }
        other => render::body(other, expanded, &mut render::Cache::default()),
    }
}

#[derive(Clone, Debug)]
enum Step {
    Add(u8, String),
    Say(usize, String),
    Change(usize),
    Toggle(usize),
    Wait(Millis),
    Flush,
    Ack,
    Open,
}

fn text() -> impl Strategy<Value = String> {
    let small = prop::sample::select(vec![
        "a", "b\n", "```\n", "\n", "é`x`", "\r\n", "**", "", "# h\n", "\u{1b}", " ",
    ]);
    let many = prop::sample::select(vec![
        "0123456789\n".repeat(300),
        "`a` **b**\n".repeat(3000),
        "\n".repeat(5000),
        "x".repeat(20_000),
        "é".repeat(150_000),
        "line of text\n".repeat(30_000),
    ]);
    prop_oneof![20 => small.prop_map(str::to_owned), 1 => many]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..8, text()).prop_map(|(kind, text)| Step::Add(kind, text)),
        8 => (0usize..12, text()).prop_map(|(at, text)| Step::Say(at, text)),
        3 => (0usize..12).prop_map(Step::Change),
        2 => (0usize..40).prop_map(Step::Toggle),
        4 => (0u64..60).prop_map(Step::Wait),
        8 => Just(Step::Flush),
        6 => Just(Step::Ack),
        1 => Just(Step::Open),
    ]
}

fn add(screen: &mut Screen, kind: u8, text: String) {
    let body = match kind {
        0 | 1 => message(&text),
        2 => tool(&text, ToolStatus::Pending),
        3 => Body::Thought { text, message_id: None, open: true },
        4 => ask(None),
        5 => Body::User { text, context: vec!["a.rs:3-9".into()] },
        6 => plan(&["one", "two"]),
        _ => Body::Notice { level: "warn", text },
    };
    screen.add(body);
}

fn change(screen: &mut Screen, index: usize) {
    match &mut screen.entries[index].body {
        Body::Question(q) => q.outcome = Some("rejected: No".into()),
        Body::Message { open, .. } | Body::Thought { open, .. } => *open = false,
        Body::Plan { body, .. } => *body = PlanBody::Items(Vec::new()),
        Body::Tool(call) => {
            call.status = Some(ToolStatus::Completed);
            call.raw_output = Some(r#"{"a":"`````"}"#.into());
        }
        _ => {}
    }
    screen.touch(index);
}

fn check(steps: Vec<Step>) {
    let mut screen = Screen::new();
    for step in steps {
        let known = screen.entries.len();
        match step {
            Step::Add(kind, text) => add(&mut screen, kind, text),
            Step::Say(at, text) if known > 0 => screen.say(at % known, &text),
            Step::Change(at) if known > 0 => change(&mut screen, at % known),
            Step::Toggle(line) => screen.view.toggle(&key(), line),
            Step::Wait(time) => screen.now += time,
            Step::Flush => {
                screen.flush();
            }
            Step::Ack => screen.ack(),
            Step::Open => screen.open(),
            _ => {}
        }
    }
    screen.settle();
    let expected = fresh(&screen);
    for (index, (shown, expected)) in screen.buf.iter().zip(&expected).enumerate() {
        assert_eq!(shown, expected, "line {index}");
    }
    assert_eq!(screen.buf.len(), expected.len());
    let waiting = screen.entries.iter().filter(|entry| render::question_id(&entry.body).is_some()).count();
    assert_eq!(screen.questions.len(), waiting);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn patches_add_up_to_a_fresh_rendering(steps in prop::collection::vec(step(), 0..80)) {
        check(steps);
    }
}

#[test]
fn a_change_far_up_goes_along_with_a_new_entry_below() {
    let a = |_| Step::Add(0, "a".into());
    let mut steps: Vec<Step> = (0..4).map(a).collect();
    steps.extend([Step::Flush, Step::Ack, Step::Add(0, "a".into()), Step::Say(0, "a".into()), Step::Flush]);
    check(steps);
}
