//! Edits in place: lines go to the agent with an instruction, and what it makes of them is judged where it stands.

use bosun_tests::steps::*;
use bosun_tests::{Editor, Setup};
use serde_json::json;

const OLD: &str = "one\ntwo\nthree\nfour\nfive\n";
const NEW: &str = "one\nTWO\nTHREE\nfour\nfive\n";

/// `a.txt` is open, and the agent writes this into it when it is asked.
fn stage(content: &str) -> (Editor, i64, bosun_tests::editor::Scripted) {
    let editor = Setup::new().file("a.txt", OLD).start();
    let buf = editor.edit("a.txt");
    let story = [
        auto(),
        prompt(),
        read(1, "a.txt"),
        answered(1),
        write(2, "a.txt", content),
        answered(2),
        end_turn(),
    ];
    let agent = editor.script_with(&story, json!({"write_approval": "review"}));
    (editor, buf, agent)
}

fn text(editor: &Editor, buf: i64) -> String {
    editor.lines(buf).join("\n") + "\n"
}

fn await_hint(editor: &Editor) {
    editor.eventually("the hint", || editor.screen().contains("<CR> keeps, <BS> rejects"));
}

#[test]
fn selected_lines_are_edited_and_rejected_and_kept_on_the_spot() {
    let (editor, buf, agent) = stage(NEW);
    editor.input("2GVj:Bosun edit make them loud<CR>");
    await_hint(&editor);
    assert_eq!(text(&editor, buf), NEW);
    let sent = agent.read().received("session/prompt").remove(0)["params"]["prompt"].to_string();
    for words in ["make them loud", "lines 2 to 3 of a.txt only", "a.txt#L2-3", "two\\nthree\\n"] {
        assert!(sent.contains(words), "{words}: {sent}");
    }
    editor.input("2G<BS>");
    editor.eventually("the text of before", || text(&editor, buf) == OLD);
    editor.input("u");
    await_hint(&editor);
    editor.input("2G<CR>");
    editor.eventually("nothing is left to judge", || {
        editor.lua("return require('bosun.review').counts().hunks", &[]) == json!(0)
    });
    assert_eq!(text(&editor, buf), NEW);
    editor.eventually("the note is gone", || !editor.screen().contains("<CR> keeps"));
    editor.assert_sound(&agent);
}

#[test]
fn the_keys_are_the_persons_own_outside_of_the_lines_and_after_the_last_hunk() {
    let (editor, _, agent) = stage(NEW);
    editor.exec("nnoremap <buffer> <CR> <Cmd>let g:own = get(g:, 'own', 0) + 1<CR>");
    editor.input("2GVj:Bosun edit make them loud<CR>");
    await_hint(&editor);
    let own = |count: u32| {
        editor
            .eventually("the person's own map", || editor.lua("return vim.g.own or 0", &[]) == json!(count));
    };
    editor.input("5G<CR>");
    own(1);
    editor.input("3G<CR>");
    editor.eventually("all is kept", || {
        editor.lua("return require('bosun.review').counts().hunks", &[]) == json!(0)
    });
    own(1);
    editor.eventually("the map is back", || {
        editor.lua("return vim.fn.maparg('<CR>', 'n')", &[]).as_str().is_some_and(|map| map.contains("own"))
    });
    editor.input("3G<CR>");
    own(2);
    editor.assert_sound(&agent);
}

#[test]
fn the_operator_takes_a_motion_and_asks_what_to_do() {
    let (editor, buf, agent) = stage(NEW);
    editor.exec("nmap ge <Plug>(bosun-edit)");
    editor.input("2Ggej");
    editor.eventually("the question", || editor.screen().contains("Edit lines 2-3"));
    editor.input("loud<CR>");
    await_hint(&editor);
    assert_eq!(text(&editor, buf), NEW);
    editor.assert_sound(&agent);
}

#[test]
fn an_agent_that_changes_nothing_leaves_no_note() {
    let (editor, buf, agent) = stage(OLD);
    editor.input("2G:Bosun edit look at it<CR>");
    editor.eventually("it is said", || editor.exec("messages").contains("left these lines as they are"));
    editor.eventually("the note is gone", || !editor.screen().contains("the agent edits these lines"));
    assert_eq!(text(&editor, buf), OLD);
    editor.assert_sound(&agent);
}
