//! Proposals that a person judges: edited before they land, left without an answer, refused with a reason.

use bosun_tests::editor::Scripted;
use bosun_tests::steps::*;
use bosun_tests::{Editor, Setup};
use serde_json::{Value, json};

const OLD: &str = "one\ntwo\nthree\nfour\nfive\n";
const NEW: &str = "ONE\ntwo\nTHREE\nfour\nFIVE\n";

/// The buffers of the open diff tab that a person may edit.
const PROPOSAL: &str = "
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      local buf = vim.api.nvim_win_get_buf(win)
      if vim.bo[buf].buftype == 'acwrite' and vim.bo[buf].modifiable and vim.wo[win].diff then return buf end
    end";

fn tabs(editor: &Editor) -> Value {
    editor.lua("return #vim.api.nvim_list_tabpages()", &[])
}

/// Opens the diff of the first question, goes to the proposal, and waits for it to be there.
fn open(editor: &Editor) -> i64 {
    editor.exec("Bosun diff");
    let buf = editor.wait_for("the proposal", || editor.lua(PROPOSAL, &[]).as_i64());
    editor.input("<C-w>t<C-w>l");
    editor.eventually("the cursor there", || editor.lua("return vim.api.nvim_get_current_buf()", &[]) == buf);
    buf
}

fn text(editor: &Editor, buf: i64) -> String {
    editor.lines(buf).join("\n") + "\n"
}

/// `a.txt` is open, and an agent does this with it.
fn stage(story: &[Value]) -> (Editor, i64, Scripted, String) {
    let editor = Setup::new().file("a.txt", OLD).file("b.txt", "b\n").start();
    let buf = editor.edit("a.txt");
    let agent = editor.script(story);
    let session = editor.ask("go");
    editor.await_pending(1);
    (editor, buf, agent, session)
}

fn asked_write() -> Vec<Value> {
    vec![auto(), prompt(), read(1, "a.txt"), answered(1), write(2, "a.txt", NEW)]
}

fn after(mut story: Vec<Value>, more: &[Value]) -> Vec<Value> {
    story.extend_from_slice(more);
    story
}

#[test]
fn one_hunk_dropped_and_another_edited_in_the_proposal_is_what_lands_and_the_agent_is_told() {
    let told = answered_with(2, json!({"result": {}}));
    let story = after(asked_write(), &[told, end_turn(), prompt(), end_turn()]);
    let (editor, buf, agent, session) = stage(&story);
    let proposal = open(&editor);
    assert_eq!(text(&editor, proposal), NEW);
    editor.input("3Gdo5Gcc5<Esc>");
    let mine = "ONE\ntwo\nthree\nfour\n5\n";
    editor.eventually("the edited proposal", || text(&editor, proposal) == mine);
    assert_eq!(text(&editor, buf), OLD, "nothing lands before it is written");
    editor.input(":w<CR>");
    assert_eq!(editor.turn_end(1), "end_turn");
    editor.eventually("the tab is gone", || tabs(&editor) == 1);
    assert_eq!((text(&editor, buf), editor.disk("a.txt")), (mine.to_owned(), mine.as_bytes().to_vec()));
    editor.input("u");
    editor.eventually("one `u` takes it back", || text(&editor, buf) == OLD);
    editor.prompt(&session, "again");
    assert_eq!(editor.turn_end(2), "end_turn");
    let sent = agent.read().received("session/prompt");
    let words = sent[1]["params"]["prompt"].to_string();
    assert!(words.contains("The person edited your change of") && words.contains("a.txt"), "{words}");
    editor.assert_sound(&agent);
}

#[test]
fn a_permission_that_is_edited_is_allowed_once_and_the_write_that_follows_lands_as_edited() {
    let story = [
        auto(),
        prompt(),
        read(1, "a.txt"),
        answered(1),
        ask(2, edit_tool("t", "a.txt", OLD, NEW), allow_or_reject()),
        answered_with(2, json!({"result": {"outcome": {"outcome": "selected", "optionId": "yes"}}})),
        write(3, "a.txt", NEW),
        answered_with(3, json!({"result": {}})),
        end_turn(),
    ];
    let (editor, buf, agent, _) = stage(&story);
    let proposal = open(&editor);
    editor.input("1Gdo5GA!<Esc>");
    let mine = "one\ntwo\nTHREE\nfour\nFIVE!\n";
    editor.eventually("the edited proposal", || text(&editor, proposal) == mine);
    editor.input(":w<CR>");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!((text(&editor, buf), editor.disk("a.txt")), (mine.to_owned(), mine.as_bytes().to_vec()));
    assert_eq!(editor.pending(), Vec::<Value>::new(), "what was edited is not asked about again");
    editor.assert_sound(&agent);
}

// B53
#[test]
fn a_write_that_is_not_what_was_allowed_is_asked_about_and_says_so() {
    let story = [
        auto(),
        prompt(),
        ask(2, edit_tool("t", "a.txt", OLD, NEW), allow_or_reject()),
        answered(2),
        write(3, "a.txt", "other\n"),
        answered(3),
        end_turn(),
    ];
    let (editor, buf, agent, _) = stage(&story);
    editor.answer(&editor.pending()[0], "allow_once");
    let question = editor.wait_for("another question", || {
        editor
            .pending()
            .into_iter()
            .find(|q| q["title"].as_str().is_some_and(|title| title.contains("write")))
    });
    assert!(question["body"].to_string().contains("not what you allowed"), "{question}");
    editor.answer(&question, "reject_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(text(&editor, buf), OLD);
    editor.assert_sound(&agent);
}

// B44
#[test]
fn leaving_a_permission_diff_in_any_way_answers_nothing_and_the_end_of_the_turn_answers_once() {
    let story = after(
        vec![auto(), prompt(), ask(1, edit_tool("t", "a.txt", OLD, NEW), allow_or_reject())],
        &[answered(1), end_turn()],
    );
    let (editor, _, agent, session) = stage(&story);
    for way in [":q", ":bd", ":bw", ":only", ":tabclose", "ZQ"] {
        for window in ["<C-w>t", "<C-w>t<C-w>l", "<C-w>b"] {
            if window == "<C-w>t" && way.starts_with(":b") {
                // There it is the person's own buffer that goes, not ours.
                continue;
            }
            open(&editor);
            let keys =
                if way.starts_with(':') { format!("{window}{way}<CR>") } else { format!("{window}{way}") };
            editor.input(&keys);
            editor.eventually(way, || tabs(&editor) == 1);
            assert_eq!(editor.pending().len(), 1, "{way} in {window}: the question stays");
            assert_eq!(agent.read().replies(&json!(1)).len(), 0, "{way} in {window}: nothing is answered");
        }
    }
    open(&editor);
    editor.cancel(&session);
    editor.turn_end(1);
    editor.eventually("the tab goes with its question", || tabs(&editor) == 1);
    let replies = agent.read().replies(&json!(1));
    assert_eq!(replies.len(), 1);
    assert_eq!(replies[0]["result"]["outcome"]["outcome"], "cancelled");
}

// B44
#[test]
fn leaving_neovim_with_a_permission_diff_open_is_not_held_up_and_permits_nothing() {
    let story = [
        auto(),
        prompt(),
        ask(1, edit_tool("t", "a.txt", OLD, NEW), allow_or_reject()),
        answered(1),
        end_turn(),
    ];
    let (mut editor, _, agent, _) = stage(&story);
    open(&editor);
    editor.input("ccmine<Esc>");
    editor.eventually("an edit", || editor.lua("return vim.fn.getline('.')", &[]) == "mine");
    editor.input(":qa<CR>");
    assert!(editor.ended(std::time::Duration::from_secs(5)), "it quits");
    let replies = agent.read().replies(&json!(1));
    assert!(
        replies.iter().all(|reply| reply["result"]["outcome"]["outcome"] != "selected"),
        "no permission is given by leaving: {replies:?}"
    );
    assert_eq!(editor.disk("a.txt"), OLD.as_bytes());
}

// B58
#[test]
fn two_sessions_with_a_question_each_get_their_own_answers() {
    let editor = Setup::new().file("a.txt", OLD).start();
    let story = |id: u64| {
        [
            auto(),
            prompt(),
            ask(id, edit_tool("t", "a.txt", OLD, NEW), allow_or_reject()),
            answered(id),
            end_turn(),
        ]
    };
    let (one, first) = editor.preset("one", &story(1));
    let (two, second) = editor.preset("two", &story(1));
    editor.setup(json!({"agents": {"one": one, "two": two}}));
    let start = "local id = require('bosun').new({ agent = ... }); assert(require('bosun').prompt('go', { session = id })); return id";
    let sessions = ["one", "two"].map(|name| editor.lua(start, &[json!(name)]));
    let pending = editor.await_pending(2);
    let of = |session: &Value| pending.iter().find(|q| q["session"] == *session).expect("a question").clone();
    // The later one first.
    editor.answer(&of(&sessions[1]), "reject_once");
    editor.answer(&of(&sessions[0]), "allow_once");
    editor.eventually("both turns end", || editor.events("BosunTurnEnd").len() == 2);
    for (agent, option) in [(first, "yes"), (second, "no")] {
        let replies = agent.read().replies(&json!(1));
        assert_eq!(replies.len(), 1);
        assert_eq!(replies[0]["result"]["outcome"], json!({"outcome": "selected", "optionId": option}));
    }
}

#[test]
fn of_three_diffs_one_outside_the_folder_is_shown_by_itself_and_each_is_accepted_in_turn() {
    let mut tool = edit_tool("t", "a.txt", OLD, NEW);
    let more = [
        json!({"type": "diff", "path": "/nowhere/else.txt", "oldText": "x\n", "newText": "secret\n"}),
        json!({"type": "diff", "path": "$CWD/b.txt", "oldText": "b\n", "newText": "B\n"}),
    ];
    tool["content"].as_array_mut().unwrap().extend(more);
    let story = [auto(), prompt(), ask(1, tool, allow_or_reject()), answered(1), end_turn()];
    let (editor, _, agent, _) = stage(&story);
    let question = editor.pending().remove(0);
    assert_eq!(question["files"].as_array().map(Vec::len), Some(3));
    open(&editor);
    editor.input(":w<CR>");
    editor.eventually("the file outside, by itself", || {
        let screen = editor.screen();
        screen.contains("outside the session's folder") && screen.contains("secret")
    });
    assert_eq!(agent.read().replies(&json!(1)).len(), 0);
    editor.input("<C-w>t<C-w>l:w<CR>");
    editor.eventually("only its own part is there", || editor.screen().contains("only a part of the file"));
    editor.input("<C-w>b]f");
    editor.eventually("the third file", || editor.lua(PROPOSAL, &[]).as_i64().is_some());
    assert_eq!(editor.pending().len(), 1);
    editor.input("<C-w>b1");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(agent.read().replies(&json!(1)).len(), 1);
    editor.assert_sound(&agent);
}

#[test]
fn a_rejection_with_a_reason_reaches_the_agent_with_the_answer_to_its_write() {
    let story = after(asked_write(), &[answered(2), end_turn()]);
    let (editor, buf, agent, _) = stage(&story);
    open(&editor);
    editor.input("Rkeep the numbers small<CR>");
    assert_eq!(editor.turn_end(1), "end_turn");
    let reply = agent.read().replies(&json!(2)).remove(0);
    assert_eq!(reply["error"]["message"], "the user rejected this write: keep the numbers small");
    assert_eq!(text(&editor, buf), OLD);
    editor.assert_sound(&agent);
}

#[test]
fn with_write_approval_review_a_write_lands_without_a_question() {
    let editor = Setup::new().file("a.txt", OLD).start();
    let buf = editor.edit("a.txt");
    let story = after(asked_write(), &[answered_with(2, json!({"result": {}})), end_turn()]);
    let agent = editor.script_with(&story, json!({"write_approval": "review"}));
    editor.ask("go");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(text(&editor, buf), NEW);
    assert_eq!(editor.events("BosunPermission").len(), 0);
    editor.assert_sound(&agent);
}

#[test]
fn an_edited_permission_of_an_agent_that_writes_the_disk_itself_is_amended_once_it_has_landed() {
    let editor = Setup::new().file("a.txt", OLD).start();
    let buf = editor.edit("a.txt");
    let (go, path) = (editor.aside("go"), editor.path("a.txt"));
    let mut done = edit_tool("t", "a.txt", OLD, NEW);
    done["sessionUpdate"] = json!("tool_call_update");
    done["status"] = json!("completed");
    let agent = editor.script(&[
        auto(),
        prompt(),
        ask(1, edit_tool("t", "a.txt", OLD, NEW), allow_or_reject()),
        answered(1),
        gate(&go),
        update(done),
        gate(&editor.aside("end")),
        end_turn(),
    ]);
    let session = editor.ask("go");
    editor.await_pending(1);
    let proposal = open(&editor);
    editor.input("1Gdo5GA!<Esc>");
    let mine = "one\ntwo\nTHREE\nfour\nFIVE!\n";
    editor.eventually("the edited proposal", || text(&editor, proposal) == mine);
    editor.input(":w<CR>");
    editor.eventually("the tab is gone", || tabs(&editor) == 1);
    std::fs::write(&path, NEW).expect("the agent's own write");
    editor.open_gate(&go);
    editor.eventually("the edits", || text(&editor, buf) == mine);
    editor.eventually("also on the disk", || editor.disk("a.txt") == mine.as_bytes());
    editor.open_gate(&editor.aside("end"));
    assert_eq!(editor.turn_end(1), "end_turn");
    editor.await_transcript(&session, "to review (:Bosun review)");
    editor.assert_sound(&agent);
}

// B53
#[test]
fn a_file_that_an_agent_wrote_otherwise_than_it_was_allowed_is_spoken_of() {
    let editor = Setup::new().file("a.txt", OLD).start();
    let buf = editor.edit("a.txt");
    let end = editor.aside("end");
    let agent = editor.script(&[
        auto(),
        prompt(),
        ask(1, edit_tool("t", "a.txt", OLD, NEW), allow_or_reject()),
        answered(1),
        gate(&end),
        end_turn(),
    ]);
    let session = editor.ask("go");
    let question = editor.await_pending(1).remove(0);
    editor.answer(&question, "allow_once");
    editor.await_pending(0);
    std::fs::write(editor.path("a.txt"), "other\n").expect("the agent's own write");
    editor.eventually("the buffer follows", || text(&editor, buf) == "other\n");
    editor.await_transcript(&session, "something else than what you allowed");
    editor.open_gate(&end);
    assert_eq!(editor.turn_end(1), "end_turn");
    editor.assert_sound(&agent);
}
