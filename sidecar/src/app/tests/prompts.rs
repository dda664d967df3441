//! What prompts wait for before they go, and what goes along.

use super::*;

/// Blocks of the prompts that went to the agent, joined by ` | `.
fn prompts(world: &World) -> Vec<String> {
    let block = |content: &Content| match content {
        Content::Text(text) => text.clone(),
        Content::Resource { uri, text, .. } => format!("{uri}={text}"),
        other => format!("{other:?}"),
    };
    let blocks = world.effects.iter().filter_map(|effect| match effect {
        Effect::Agent(_, AgentCmd::Prompt { blocks, .. }) => Some(blocks),
        _ => None,
    });
    blocks.map(|blocks| blocks.iter().map(block).collect::<Vec<_>>().join(" | ")).collect()
}

fn saves(world: &World) -> Vec<u64> {
    let save = |effect: &Effect| match effect {
        Effect::Nvim(NvimCmd::SaveBuffers { save, .. }) => Some(*save),
        _ => None,
    };
    world.effects.iter().filter_map(save).collect()
}

/// A session that saves before prompts, with one that waits for its save.
fn saving() -> World {
    let mut world = World::ready("mine\n");
    world.app.sessions.set_unsaved_policy(&key(), UnsavedPolicy::Save);
    world.prompt("go");
    assert_eq!((saves(&world), prompts(&world).len()), (vec![1], 0));
    world
}

#[test]
fn unsaved_text_goes_along_and_a_prompt_waits_for_its_mirror() {
    let mut world = World::ready("mine\n");
    let meta = BufMeta {
        buf: 4,
        name: "/p/b.txt".into(),
        tick: 5,
        modified: true,
        eol: true,
        lines: 1,
        bytes: 6,
        ..BufMeta::default()
    };
    world.apply(Event::Nvim(NvimEvent::BufMeta(meta)));
    world.prompt("go");
    assert_eq!(prompts(&world), [""; 0], "the mirror of b.txt is not whole");
    assert_eq!(world.app.sessions.states()[0].queue, ["go"]);
    let slice = NvimEvent::Slice {
        buf: BufId(4),
        tick: 5,
        start: 0,
        total: 1,
        lines: vec![b"yours".to_vec()],
        empty: false,
    };
    world.apply(Event::Nvim(slice));
    assert_eq!(
        prompts(&world),
        [
            "go | file:///p/a.txt=mine\n | file:///p/b.txt=yours\n | The person has unsaved changes in these files; the \
          text here is what is on their screen, and newer than the disk: a.txt, b.txt"
        ]
    );
}

#[test]
fn a_prompt_waits_for_the_answer_to_its_own_save() {
    let mut world = saving();
    world.action(Action::Cancel { session: key() });
    world.prompt("again");
    assert_eq!(saves(&world), [1, 2]);
    world.apply(Event::Nvim(NvimEvent::Saved { save: 1, failed: Vec::new(), busy: false }));
    assert_eq!(prompts(&world), [""; 0]);
    let failed = vec![(BufId(3), "E45".to_owned())];
    world.apply(Event::Nvim(NvimEvent::Saved { save: 2, failed, busy: false }));
    assert_eq!(prompts(&world), ["again"]);
    let told = world.effects.iter().any(|effect| {
        matches!(effect, Effect::Nvim(NvimCmd::Notify { text, .. }) if text == "a.txt is not saved: E45")
    });
    assert!(told, "{:?}", world.effects);
}

#[test]
fn a_save_that_the_mode_stands_in_the_way_of_is_tried_again() {
    let mut world = saving();
    world.apply(Event::Nvim(NvimEvent::Saved { save: 1, failed: Vec::new(), busy: true }));
    assert_eq!(prompts(&world), [""; 0]);
    world.apply(Event::Nvim(NvimEvent::Safe { buf: BufId(3) }));
    assert_eq!(saves(&world), [1, 2]);
    world.apply(Event::Nvim(NvimEvent::Saved { save: 2, failed: Vec::new(), busy: false }));
    assert_eq!(prompts(&world), ["go"]);
}

#[test]
fn an_agent_that_was_started_again_is_given_the_text_again() {
    let mut world = World::ready("mine\n");
    world.prompt("go");
    world.agent_says(AgentEvent::Exited(Exit { code: Some(1), ..Exit::default() }));
    world.effects.clear();
    world.prompt("again");
    world.agent_says(AgentEvent::Started { pgid: 78 });
    let info = AgentInfo { protocol_version: 1, embedded_context: true, ..AgentInfo::default() };
    world.agent_says(AgentEvent::Initialized(Box::new(info)));
    let call = world.effects.iter().find_map(|effect| match effect {
        Effect::Agent(_, AgentCmd::NewSession { call, .. }) => Some(*call),
        _ => None,
    });
    let opened = CallResult::NewSession { session: "acp".into(), raw: "{}".into() };
    world.agent_says(AgentEvent::Reply { call: call.expect("session/new"), result: Ok(opened) });
    assert!(prompts(&world)[0].starts_with("again | file:///p/a.txt=mine\n | "), "{:?}", prompts(&world));
}

#[test]
fn a_compaction_forgets_what_was_given() {
    let mut world = World::ready("mine\n");
    for (n, compacted) in [(0, false), (1, false), (2, true)] {
        if compacted {
            let update = Update::Compaction {
                id: "c".into(),
                status: Patch::Set("completed".into()),
                summary: Patch::Keep,
                error: Patch::Keep,
            };
            world.agent_says(AgentEvent::Update { session: "acp".into(), update });
        }
        world.prompt("go");
        assert_eq!(prompts(&world).last().is_some_and(|p| p.contains("mine")), n != 1, "prompt {n}");
        let call = world.effects.iter().rev().find_map(|effect| match effect {
            Effect::Agent(_, AgentCmd::Prompt { call, .. }) => Some(*call),
            _ => None,
        });
        let end = CallResult::Prompt { stop_reason: "end_turn".into(), raw: "{}".into() };
        world.agent_says(AgentEvent::Reply { call: call.expect("a prompt"), result: Ok(end) });
    }
}
