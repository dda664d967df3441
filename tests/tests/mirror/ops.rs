//! What a person does to a buffer, by chance: one operation for each call, the same ones for the same seed.
//!
//! Owns the dice and the table of operations. It never runs one: `main.rs` does. An operation may fail in the editor
//! (nothing to undo, no such line); that is part of the game.

/// One thing that a person does.
#[derive(Clone, Debug)]
pub enum Op {
    /// A command line, or several lines of a script.
    Ex(String),
    /// Keys, played to their end before anything else happens.
    Keys(String),
    /// Keys as they are typed, piece by piece; the mirror is looked at after each.
    Typed(Vec<String>),
    /// A command line whose preview is looked at before it is carried out or given up.
    Preview { line: String, done: bool },
    /// What a plugin does.
    Lua(String),
    /// Another program writes a file (`None`: removes it), and Neovim notices; what the person then says.
    Disk { name: &'static str, bytes: Option<Vec<u8>>, choice: &'static str },
}

/// Numbers by chance, the same for the same seed.
pub struct Dice(u64);

impl Dice {
    /// Any seed will do.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is at least 1.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(n).unwrap_or(1)).unwrap_or(0)
    }

    /// One of these.
    pub fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// The files that there are at the start: name and bytes.
pub fn files() -> Vec<(&'static str, Vec<u8>)> {
    let line = |n: u32| format!("line {n} has a few words, é and 漢\n");
    let lines = |n: u32| (1..=n).map(line).collect::<String>();
    vec![
        ("a.txt", lines(20).into()),
        ("dos.txt", lines(8).replace('\n', "\r\n").into()),
        ("mixed.txt", b"one\r\ntwo\nthree\r\nlone\rcr\n".to_vec()),
        ("empty.txt", Vec::new()),
        ("newline.txt", b"\n".to_vec()),
        ("no-eol.txt", b"alpha\nbeta".to_vec()),
        ("bytes.dat", b"nul \0 here\n\xff\xfe raw\nend \xc3\n\0\n".to_vec()),
        ("latin.txt", b"caf\xe9\nna\xefve\nplain\n".to_vec()),
        ("bom.txt", b"\xef\xbb\xbfwith a mark\nnext\n".to_vec()),
        ("big.txt", lines(2500).into()),
    ]
}

const WORDS: &[&str] =
    &["a", "foo", "e", "bar baz", "ü", "漢字", "12", "🙂", "e\u{301}", "\u{2028}", "\u{10FE41}", "  x"];
const SPECIAL: &[&str] = &[
    "<CR>", "<BS>", "<C-w>", "<C-u>", "<C-t>", "<C-d>", "<Tab>", "<C-v>000", "<C-v>xff", "<C-o>dd", "<C-o>J",
    "<Up>", "<Left>", "<Del>", "<C-r>\"",
];
const PATTERNS: &[&str] = &["a", "e", "line", "\\d", "^$", "o\\|b", "x", "^", "\\n", "words"];
const ENTER: &[&str] = &["i", "a", "o", "O", "A", "I", "cc", "S", "C", "R", "s", "cw", "gI", "ggO", "Go"];
const MOVES: &[&str] = &["gg", "G", "3j", "k", "w", "$", "0", "5G", "10G", "}", "{"];

fn text(d: &mut Dice) -> String {
    (0..=d.below(3)).map(|_| d.of(WORDS)).collect()
}

fn typing(d: &mut Dice) -> Vec<String> {
    let mut pieces = vec![format!("{}{}", d.of(MOVES), d.of(ENTER))];
    for _ in 0..=d.below(5) {
        pieces.push(if d.flip() { text(d) } else { d.of(SPECIAL).into() });
    }
    pieces
}

/// A range of lines, some of which there are.
fn range(d: &mut Dice) -> String {
    match d.below(6) {
        0 => "%".into(),
        1 => String::new(),
        2 => "$".into(),
        3 => format!("{},$", 1 + d.below(10)),
        _ => {
            let first = 1 + d.below(12);
            format!("{first},{}", first + d.below(6))
        }
    }
}

fn substitute(d: &mut Dice, range: &str) -> String {
    let with = d.of(&["X", "", "\\r", "<&>", "\\n", "\\U&", "\\r\\r", "é"]);
    format!("{range}s/{}/{with}/{}", d.of(PATTERNS), d.of(&["", "g"]))
}

fn global(d: &mut Dice) -> String {
    let what = d.of(&[
        "d",
        "normal A!",
        "normal x",
        "m0",
        "t.",
        "normal yyp",
        "normal J",
        "s/a/A/",
        "j",
        "normal ddp",
        "normal O-",
    ]);
    format!("{}/{}/{what}", d.of(&["g", "v"]), d.of(PATTERNS))
}

fn history(d: &mut Dice) -> Op {
    let n = d.below(12);
    match d.below(10) {
        0 | 1 => Op::Keys("u".into()),
        2 => Op::Keys(format!("{}u", n + 1)),
        3 => Op::Keys(format!("{}<C-r>", n / 3 + 1)),
        4 => Op::Keys(d.of(&["g-", "g+", "3g-", "2g+", "U"]).into()),
        5 => Op::Ex(format!("undo {n}")),
        6 => Op::Ex("undo 0".into()),
        7 => Op::Ex(format!("earlier {}{}", n + 1, d.of(&["", "f"]))),
        8 => Op::Ex(format!("later {}{}", n + 1, d.of(&["", "f"]))),
        _ => Op::Keys("99u".into()),
    }
}

fn registers(d: &mut Dice) -> Op {
    let at = d.of(MOVES);
    Op::Keys(match d.below(12) {
        0 => format!("{at}yyp"),
        1 => format!("{at}3yyP"),
        2 => format!("{at}ddp"),
        3 => format!("{at}2p"),
        4 => format!("{at}P"),
        5 => format!("{at}gp"),
        6 => format!("{at}]p"),
        7 => format!("{at}<C-v>2jly$p"),
        8 => format!("{at}<C-v>jd$P"),
        9 => format!("{at}viwyviwp"),
        10 => format!("{at}V2jdgg2P"),
        _ => format!("{at}d}}p"),
    })
}

fn normal(d: &mut Dice) -> Op {
    let at = d.of(MOVES);
    Op::Keys(match d.below(16) {
        0 => format!("{at}{}J", d.below(5) + 1),
        1 => format!("{at}3gJ"),
        2 => format!("{at}qaA-<Esc>jq3@a"),
        3 => format!("{at}<C-v>3jI>><Esc>"),
        4 => format!("{at}<C-v>3j$A<<<Esc>"),
        5 => format!("{at}<C-v>2jlcZZ<Esc>"),
        6 => format!("{at}<C-v>2jl{}", d.of(&["d", "rx", "~", "<C-a>", "g<C-a>", ">", "D"])),
        7 => format!("{at}V2j{}", d.of(&[">", "<", "=", "gU", "g?", "J", "d", "gq"])),
        8 => format!("{at}{}", d.of(&["x", "X", "D", "~", "<C-a>", "<C-x>", "rx", "r<CR>", "dw", "3.", "."])),
        9 => "ggdG".into(),
        10 => format!("{at}dd"),
        11 => format!("{at}{}dd", d.below(30)),
        12 => format!("{at}g??"),
        13 => format!("{at}3oXY<Esc>"),
        14 => format!("{at}Rxy<CR>z<BS><BS><Esc>"),
        _ => format!("{at}>>2."),
    })
}

fn lines_op(d: &mut Dice) -> Op {
    let r = range(d);
    Op::Ex(match d.below(16) {
        0 => format!("{r}m{}", d.of(&["0", "$", "3", "."])),
        1 => format!("{r}t{}", d.of(&["0", "$", "3", "."])),
        2 => format!("{r}{}", d.of(&["sort", "sort!", "sort n", "sort u", "sort /e/"])),
        3 => format!("{r}{}", d.of(&["d", "j", "j!", ">", "<", "retab!", "left 2", "center 40", "right 50"])),
        4 => format!(
            "{r}!{}",
            d.of(&["sort", "cat", "tr a-z A-Z", "true", "rev", "printf x", "printf 'a\\nb'"])
        ),
        5 => format!(
            "{}r {}",
            d.of(&["", "0", "$"]),
            d.of(&["a.txt", "no-eol.txt", "empty.txt", "newline.txt", "dos.txt", "none.txt"])
        ),
        6 => format!("{}r !printf 'a\\nb'", d.of(&["", "0", "$"])),
        7 => format!("{r}normal {}", d.of(&["Ax", "x", "yyp", "dd", "Oq", "u", "J"])),
        8 => format!("append\n{}\nsecond\n.", d.of(&["first", "", "ü"])),
        9 => "0append\ntop\n.".into(),
        10 => format!("{r}change\nnew\n."),
        11 => "%d".into(),
        12 => "%d\nundo".into(),
        13 => "1,2d\nundojoin\ns/$/joined/".into(),
        14 => "%d\nput =''\n1d".into(),
        _ => {
            format!("{r}y z\n{}put {}z", d.of(&["0", "", "$"]), d.of(&["", "! "])).replace("put ! ", "put! ")
        }
    })
}

fn options(d: &mut Dice) -> Op {
    Op::Ex(
        d.of(&[
            "setlocal ff=dos",
            "setlocal ff=unix",
            "setlocal ff=mac",
            "setlocal bin",
            "setlocal nobin",
            "setlocal eol",
            "setlocal noeol",
            "setlocal fixeol",
            "setlocal nofixeol",
            "setlocal bomb",
            "setlocal nobomb",
            "setlocal fenc=latin1",
            "setlocal fenc=utf-8",
            "setlocal noeol nofixeol",
            "setlocal autoread",
            "setlocal nomodified",
            "setlocal modified",
            "setlocal undolevels=3",
            "setlocal undolevels=1000",
            "set ff=dos",
            "set ff=unix",
            "set noeol",
            "set eol",
        ])
        .into(),
    )
}

fn open(d: &mut Dice) -> Op {
    let names: Vec<&str> = files().iter().map(|f| f.0).collect();
    let name = names[d.below(names.len())];
    Op::Ex(match d.below(14) {
        0..4 => format!("edit {name}"),
        4 => "edit!".into(),
        5 => format!("edit! ++ff={}", d.of(&["unix", "dos", "mac"])),
        6 => "edit! ++bin".into(),
        7 => format!("edit! ++enc={}", d.of(&["latin1", "utf-8"])),
        8 => "edit! ++bad=keep ++enc=utf-8".into(),
        9 => format!("{} {name}", d.of(&["bunload!", "bdelete!", "bwipeout!"])),
        10 => d.of(&["bnext", "bunload!", "bdelete!", "buffer #"]).into(),
        11 => {
            format!("{} new-{}.txt", d.of(&["saveas!", "file", "edit", "keepalt file", "write!"]), d.below(3))
        }
        12 => "edit".into(),
        _ => "bufdo! silent! %s/words/WORDS/".into(),
    })
}

fn diff(d: &mut Dice) -> Op {
    let act = d.of(&["%diffput", "%diffget", "diffput", "diffget", "1,5diffput", "3,$diffget"]);
    Op::Ex(format!(
        "only\ndiffthis\nvsplit {}\ndiffthis\nsilent! {act}\ndiffoff!\nonly",
        d.of(&["a.txt", "dos.txt", "empty.txt", "newline.txt"])
    ))
}

fn plugin(d: &mut Dice) -> Op {
    let first = d.below(8);
    let last = first + d.below(5);
    Op::Lua(match d.below(14) {
        0 => format!(r"vim.api.nvim_buf_set_lines(0, {first}, {last}, false, {{ 'a\nb', '\255\254', '\195' }})"),
        1 => format!(r"vim.api.nvim_buf_set_lines(0, {first}, {last}, false, {{ 'one', '', 'three' }})"),
        2 => format!("vim.api.nvim_buf_set_lines(0, {first}, {last}, false, {{}})"),
        3 => "vim.api.nvim_buf_set_lines(0, 0, -1, true, {})".into(),
        4 => "vim.api.nvim_buf_set_lines(0, 0, -1, true, { '' })".into(),
        5 => format!("vim.api.nvim_buf_set_text(0, {first}, 0, {first}, 0, {{ 'in', 'sert' }})"),
        6 => format!("vim.api.nvim_buf_set_text(0, {first}, 0, {last}, 0, {{ '' }})"),
        7 => format!("vim.fn.setline({last}, {{ 'set', 'line' }})"),
        8 => format!("vim.fn.deletebufline('', {first}, {last})"),
        9 => format!("vim.fn.append({first}, {{ 'app', 'end' }})"),
        10 => r"vim.api.nvim_put({ 'put', 'text' }, 'b', true, true)".into(),
        11 => r"vim.api.nvim_paste('pasted\ntwo\nthree', true, -1)".into(),
        12 => format!(
            "vim.lsp.util.apply_text_edits({{ {{ range = {{ start = {{ line = {first}, character = 0 }}, ['end'] = {{ line = {last}, character = 0 }} }}, newText = 'lsp\\ntext\\n' }} }}, 0, 'utf-16')"
        ),
        _ => "for _, b in ipairs(vim.api.nvim_list_bufs()) do if vim.api.nvim_buf_is_loaded(b) and vim.api.nvim_buf_get_name(b) ~= '' then vim.api.nvim_buf_set_lines(b, 0, 0, true, { 'everywhere' }) vim.api.nvim_buf_call(b, function() vim.cmd('silent! undo') end) end end".into(),
    })
}

fn disk(d: &mut Dice) -> Op {
    let name = d.of(&["a.txt", "dos.txt", "empty.txt", "newline.txt", "no-eol.txt", "bytes.dat"]);
    let bytes: Option<&[u8]> = [
        Some(&b"from outside\nsecond\n"[..]),
        Some(b""),
        Some(b"\n"),
        Some(b"no newline"),
        Some(b"dos\r\nlines\r\n"),
        Some(b"raw \xff\n"),
        None,
    ][d.below(7)];
    Op::Disk { name, bytes: bytes.map(<[u8]>::to_vec), choice: d.of(&["reload", "edit", ""]) }
}

/// The next operation. `lines` and `bytes` are the size of the current buffer: it must not grow without end.
pub fn next(d: &mut Dice, lines: usize, bytes: usize, large: bool) -> Op {
    let (most_lines, most_bytes) = if large { (4_000, 250_000) } else { (300, 12_000) };
    if lines > most_lines {
        return Op::Ex(format!("{},$d _", most_lines / 2));
    }
    if bytes > most_bytes {
        return Op::Ex("%s/.\\{60}\\zs.*//".into());
    }
    // A large buffer is worth a few operations at a time.
    if large && d.below(4) == 0 {
        return Op::Ex("edit a.txt".into());
    }
    match d.below(40) {
        0..5 => Op::Keys(format!("{}<Esc>", typing(d).concat())),
        5..8 => Op::Typed(typing(d)),
        8 => {
            // Not beyond the last line: Neovim would ask whether to swap a backwards range.
            let range = d.of(&["%", "", "$"]);
            Op::Preview { line: substitute(d, range), done: d.flip() }
        }
        9..12 => {
            let range = range(d);
            Op::Ex(substitute(d, &range))
        }
        12..14 => Op::Ex(global(d)),
        14..20 => history(d),
        20..23 => registers(d),
        23..27 => normal(d),
        27..31 => lines_op(d),
        31..33 => plugin(d),
        33 => options(d),
        34..36 => open(d),
        36 => diff(d),
        37 => Op::Ex(d.of(&["write!", "write!", "wall!", "update!", "noautocmd write!"]).into()),
        38 => disk(d),
        _ => Op::Keys(format!("{}<Esc>99u", typing(d).concat())),
    }
}
