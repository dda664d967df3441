//! Tests of [`super::calls`]: what Neovim is really asked.

use std::path::PathBuf;

use lsp_types::{Position, Range};

use super::*;
use crate::event::{Form, Stamp};

const GROUPS: &[&str] = &["BosunUser", "BosunTool"];

/// The calls, shown as Lua would write them: maps without their nil fields.
fn show(cmd: NvimCmd) -> String {
    let call = |c: &Call| {
        let args = match (c.method, c.args.as_slice()) {
            ("nvim_exec_lua", [code, Value::Array(args)]) if code.as_str() == Some(RECV) => args,
            (_, args) => return format!("{} {}", c.method, render_all(args)),
        };
        render_all(args)
    };
    calls(cmd, GROUPS).iter().map(call).collect::<Vec<_>>().join("\n")
}

fn render_all(values: &[Value]) -> String {
    values.iter().map(render).collect::<Vec<_>>().join(", ")
}

fn render(value: &Value) -> String {
    match value {
        Value::Map(pairs) => {
            let field = |(k, v): &(Value, Value)| {
                (!v.is_nil()).then(|| format!("{}={}", k.as_str().unwrap_or("?"), render(v)))
            };
            format!("{{{}}}", pairs.iter().filter_map(field).collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", render_all(items)),
        other => other.to_string(),
    }
}

fn check(cmd: NvimCmd, expected: &str) {
    assert_eq!(show(cmd), expected);
}

fn at(start: (u32, u32), end: (u32, u32), new: &str) -> TextEdit {
    let position = |(line, col)| Position::new(line, col);
    TextEdit { range: Range::new(position(start), position(end)), new_text: new.into() }
}

fn check_edit(edit: TextEdit, expected: &str) {
    assert_eq!(render(&text_edit(&edit)), expected, "{edit:?}");
}

#[test]
fn buffers_are_attached_without_their_text() {
    check(NvimCmd::Attach { buf: BufId(3) }, "nvim_buf_attach 3, false, {}");
    check(NvimCmd::Detach { buf: BufId(3) }, "nvim_buf_detach 3\n\"unfollow\", {buf=3}");
    check(
        NvimCmd::Slice { buf: BufId(3), start: 100, later: true },
        "\"slice\", {buf=3, start=100, later=true}",
    );
}

#[test]
fn an_edit_of_whole_lines_cannot_be_taken_for_one_inside_a_line() {
    check_edit(at((4, 0), (4, 0), "x\n"), "{whole=true, sl=4, sc=0, el=4, ec=0, lines=[\"x\"]}");
    check_edit(at((4, 0), (4, 0), "x"), "{whole=false, sl=4, sc=0, el=4, ec=0, lines=[\"x\"]}");
    check_edit(at((1, 0), (3, 0), ""), "{whole=true, sl=1, sc=0, el=3, ec=0, lines=[]}");
    check_edit(at((0, 0), (1, 0), "\n"), "{whole=true, sl=0, sc=0, el=1, ec=0, lines=[\"\"]}");
    check_edit(
        at((1, 0), (2, 0), "a\n\nb\n"),
        "{whole=true, sl=1, sc=0, el=2, ec=0, lines=[\"a\", \"\", \"b\"]}",
    );
    check_edit(at((2, 3), (2, 5), "yy"), "{whole=false, sl=2, sc=3, el=2, ec=5, lines=[\"yy\"]}");
    check_edit(at((2, 0), (2, 5), ""), "{whole=false, sl=2, sc=0, el=2, ec=5, lines=[\"\"]}");
    check_edit(at((0, 0), (0, 0), ""), "{whole=false, sl=0, sc=0, el=0, ec=0, lines=[\"\"]}");
}

#[test]
fn an_edit_names_its_tick_and_how_the_text_ends() {
    let call = EditCall {
        through: Vec::new(),
        op: OpId(9),
        buf: BufId(3),
        tick: 17,
        edits: vec![at((0, 1), (0, 2), "b\0")],
        eol: false,
        empty: false,
        save: true,
        disk: Some(Stamp { sec: 5, nsec: 6, size: 7 }),
        clean: Some(Form { crlf: true, ..Form::default() }),
        recreate: true,
    };
    check(
        NvimCmd::Edit(call),
        "\"edit\", {op=9, buf=3, tick=17, through=[], edits=[{whole=false, sl=0, sc=1, el=0, ec=2, lines=[\"b\\0\"]}], \
         eol=false, empty=false, save=true, disk={sec=5, nsec=6, size=7}, clean={fileformat=\"dos\", bomb=false}, \
         recreate=true}",
    );
}

#[test]
fn marks_of_a_patch_are_flat_numbers_and_name_groups_by_their_place() {
    let mark = |row, group| ViewMark { row, col: 1, end: 4, group };
    let patch = ViewPatch {
        session: SessionKey::new("s1"),
        buf: BufId(5),
        version: 2,
        first: 10,
        last: 11,
        lines: vec!["one".into(), "two\nthree".into()],
        marks: vec![mark(0, "BosunTool"), mark(1, "NoSuchGroup"), mark(1, "BosunUser")],
        questions: vec![(QuestionId(8), 12, 14)],
    };
    check(
        NvimCmd::Patch(patch),
        "\"patch\", {session=\"s1\", buf=5, version=2, first=10, last=11, lines=[\"one\", \"two three\"], \
         marks=[0, 1, 4, 2, 1, 1, 4, 1], questions=[{id=8, first=12, last=14}]}",
    );
}

#[test]
fn the_welcome_lists_the_groups() {
    check(
        NvimCmd::Welcome { protocol: 1, version: "0.1.0".into(), log: "/l/bosun.log".into() },
        "\"welcome\", {protocol=1, version=\"0.1.0\", log=\"/l/bosun.log\", groups=[\"BosunUser\", \"BosunTool\"]}",
    );
}

#[test]
fn state_and_questions_are_whole_tables() {
    let session = SessionState {
        id: SessionKey::new("s1"),
        agent: "demo".into(),
        agent_info: "Demo 1".into(),
        title: "Fix".into(),
        cwd: PathBuf::from("/p"),
        state: "running",
        queue: vec!["next".into()],
        usage: Some((10, 100)),
        cost: None,
        mode: Some("code".into()),
        commands: vec![("plan".into(), "Makes one".into(), None)],
        turn: 2,
        cause: None,
    };
    check(
        NvimCmd::Sessions(vec![session]),
        "\"sessions\", {list=[{id=\"s1\", agent=\"demo\", agent_info=\"Demo 1\", title=\"Fix\", cwd=\"/p\", \
         state=\"running\", queue=[\"next\"], usage={used=10, size=100}, mode=\"code\", \
         commands=[{name=\"plan\", description=\"Makes one\"}], turn=2}]}",
    );
    let question = QuestionState {
        id: QuestionId(4),
        session: SessionKey::new("s1"),
        title: "Edit a".into(),
        body: vec!["more".into()],
        options: vec![PermissionOption { id: "y".into(), name: "Yes".into(), kind: OptionKind::AllowOnce }],
        files: vec!["/p/a".into()],
        merge: true,
        write: Some(OpId(9)),
    };
    check(
        NvimCmd::Questions(vec![question]),
        "\"questions\", {list=[{id=4, session=\"s1\", title=\"Edit a\", body=[\"more\"], \
         options=[{id=\"y\", name=\"Yes\", kind=\"allow_once\"}], files=[\"/p/a\"], \
         merge=true, write=9}]}",
    );
    check(NvimCmd::Groups(vec![7, 8]), "\"groups\", {pgids=[7, 8]}");
}

#[test]
fn news_carry_their_data() {
    let data = serde_json::json!({ "session": "s1", "n": -1, "f": 1.5, "none": null, "list": [true] });
    check(
        NvimCmd::UserEvent { name: "BosunTurnEnd".into(), data },
        "\"user_event\", {name=\"BosunTurnEnd\", data={session=\"s1\", n=-1, f=1.5, list=[true]}}",
    );
    check(
        NvimCmd::Notify { level: "warn".into(), text: "x".into() },
        "\"notify\", {level=\"warn\", text=\"x\"}",
    );
    check(
        NvimCmd::SaveBuffers { save: 3, bufs: vec![BufId(1), BufId(2)] },
        "\"save_buffers\", {save=3, bufs=[1, 2]}",
    );
    check(
        NvimCmd::PromptReturned { session: SessionKey::new("s1"), text: "t".into(), why: "w".into() },
        "\"prompt_returned\", {session=\"s1\", text=\"t\", why=\"w\"}",
    );
}

fn texts(old: &str, new: &str) -> DiffTexts {
    DiffTexts {
        editable: true,
        question: QuestionId(2),
        index: 0,
        count: 1,
        path: "a".into(),
        buf: None,
        old: old.into(),
        new: new.into(),
        note: None,
        merge: None,
    }
}

#[test]
fn a_diff_is_a_head_its_sides_and_an_end() {
    check(
        NvimCmd::Diff(texts("a\nb\n", "a\nc")),
        "\"diff\", {question=2, index=0, count=1, path=\"a\", old_total=2, new_total=2, editable=true, \
         eol=false}\n\
         \"diff_lines\", {question=2, index=0, side=\"old\", start=0, lines=[\"a\", \"b\"]}\n\
         \"diff_lines\", {question=2, index=0, side=\"new\", start=0, lines=[\"a\", \"c\"]}\n\
         \"diff_done\", {question=2, index=0}",
    );
    let open = DiffTexts { buf: Some(BufId(6)), note: Some("part".into()), ..texts("a\n", "\n") };
    check(
        NvimCmd::Diff(open),
        "\"diff\", {question=2, index=0, count=1, path=\"a\", buf=6, old_total=0, new_total=1, note=\"part\", \
         editable=true, eol=true}\n\
         \"diff_lines\", {question=2, index=0, side=\"new\", start=0, lines=[\"\"]}\n\
         \"diff_done\", {question=2, index=0}",
    );
}

#[test]
fn a_merge_also_carries_what_both_started_from_the_other_side_and_the_places_in_conflict() {
    let merge = MergeAsk {
        base: b"a\n".to_vec(),
        ours: b"o\xfe\n".to_vec(),
        theirs: b"n\0\nx".to_vec(),
        result: b"r\n\xff".to_vec(),
        conflicts: vec![(0, 1), (2, 2)],
        from_disk: false,
    };
    let d = DiffTexts { buf: Some(BufId(6)), merge: Some(merge), ..texts("a\n", "r\n\u{fffd}") };
    let head = "\"diff\", {question=2, index=0, count=1, path=\"a\", buf=6, old_total=0, new_total=2, editable=true, \
                eol=false, merge=true, from_disk=false";
    check(
        NvimCmd::Diff(d.clone()),
        &format!(
            "{head}, conflicts=[[0, 1], [2, 2]]}}\n\
             \"diff_lines\", {{question=2, index=0, side=\"base\", start=0, lines=[\"a\"]}}\n\
             \"diff_lines\", {{question=2, index=0, side=\"theirs\", start=0, lines=[\"n\\0\", \"x\"]}}\n\
             \"diff_lines\", {{question=2, index=0, side=\"new\", start=0, lines=[\"r\", [255]]}}\n\
             \"diff_done\", {{question=2, index=0}}",
        ),
    );
    let closed = DiffTexts { buf: None, ..d };
    let ours = "\"diff_lines\", {question=2, index=0, side=\"old\", start=0, lines=[[111, 254]]}";
    assert!(show(NvimCmd::Diff(closed)).contains(ours), "the person's text is sent when no buffer shows it");
}

#[test]
fn the_sides_of_a_large_diff_come_in_slices() {
    let (short, long) = ("x".repeat(999) + "\n", "y".repeat(100_000) + "\n");
    let all = calls(NvimCmd::Diff(texts("", &(short.repeat(200) + &long + &short))), GROUPS);
    let slices: Vec<(u64, Vec<usize>)> = all[1..all.len() - 1]
        .iter()
        .map(|c| {
            let table = c.args[1].as_array().unwrap()[1].clone();
            let mut t = crate::nvim::table::Table::from(table, "slice").unwrap();
            (t.uint("start").unwrap(), t.lines("lines").unwrap().iter().map(Vec::len).collect())
        })
        .collect();
    let starts: Vec<_> = slices.iter().map(|(start, lines)| (*start, lines.len())).collect();
    assert_eq!(starts, [(0, 65), (65, 65), (130, 65), (195, 5), (200, 1), (201, 1)]);
}

#[test]
fn a_path_that_is_not_utf8_keeps_its_bytes() {
    use std::os::unix::ffi::OsStringExt;
    let odd = PathBuf::from(std::ffi::OsString::from_vec(b"/l/\xff".to_vec()));
    assert_eq!(path(&odd), Value::Binary(b"/l/\xff".to_vec()));
}
