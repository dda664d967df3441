//! The little Markdown that a line shows by itself: headings, fences, code, bold, lists, quotes, links.
//!
//! Owns the rules for one line and the fence it may be in. It never changes text: it only says which bytes stand out.
//! Not a Markdown parser: an unclosed fence ends with its message, and nothing here looks back.

use super::render::Span;

/// An open code fence: its character, length and depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    mark: u8,
    len: usize,
    indent: usize,
}

/// Lines longer than this get no marks within the line.
const LONG: usize = 4096;

/// The marks of a line; `fence` is carried from line to line.
pub fn spans(line: &str, fence: &mut Option<Fence>) -> Vec<Span> {
    let whole = |group| vec![Span { col: 0, end: line.len(), group }];
    let body = line.trim_start_matches([' ', '\t']);
    let indent = line.len() - body.len();
    // An agent's fences stand as deep as its lists do, so any depth opens one; only a deeper line does not close it.
    let deepest = fence.map_or(usize::MAX, |open| open.indent + 3);
    if let Some((mark, len)) = fence_run(body).filter(|_| indent <= deepest) {
        let info = &body[len..];
        match *fence {
            None if mark == b'~' || !info.contains('`') => {
                *fence = Some(Fence { mark, len, indent });
                return whole("BosunCodeFence");
            }
            Some(open) if open.mark == mark && len >= open.len && info.trim().is_empty() => {
                *fence = None;
                return whole("BosunCodeFence");
            }
            _ => {}
        }
    }
    if line.is_empty() {
        return Vec::new();
    }
    if fence.is_some() {
        return whole("BosunCode");
    }
    let hashes = body.bytes().take_while(|b| *b == b'#').count();
    if (1..=6).contains(&hashes) && body[hashes..].starts_with(' ') {
        return whole("BosunHeading");
    }
    if body.starts_with('>') {
        return whole("BosunQuote");
    }
    let mut out = Vec::new();
    if let Some(len) = bullet(body) {
        out.push(Span { col: indent, end: indent + len, group: "BosunBullet" });
    }
    if line.len() <= LONG {
        inline(line, &mut out);
    }
    out
}

fn fence_run(body: &str) -> Option<(u8, usize)> {
    let mark = *body.as_bytes().first().filter(|b| matches!(b, b'`' | b'~'))?;
    let len = body.bytes().take_while(|b| *b == mark).count();
    (len >= 3).then_some((mark, len))
}

fn bullet(body: &str) -> Option<usize> {
    let bytes = body.as_bytes();
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let len = match bytes.get(digits)? {
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    (bytes.get(len) == Some(&b' ')).then_some(len)
}

/// Looks at each byte a bounded number of times: what has no end once has none later in the line.
fn inline(line: &str, out: &mut Vec<Span>) {
    let bytes = line.as_bytes();
    let mut at = 0;
    let mut unclosed_ticks: Vec<usize> = Vec::new();
    let mut unclosed_bold = false;
    let mut link = next_link(line, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'`' => {
                let run = bytes[at..].iter().take_while(|b| **b == b'`').count();
                let known = unclosed_ticks.contains(&run);
                let end = if known { None } else { closing(bytes, at + run, b'`', run) };
                match end {
                    Some(end) => {
                        out.push(Span { col: at, end, group: "BosunCode" });
                        at = end;
                    }
                    None => {
                        if !known {
                            unclosed_ticks.push(run);
                        }
                        at += run;
                    }
                }
            }
            b'*' if !unclosed_bold
                && bytes[at..].starts_with(b"**")
                && bytes.get(at + 2).is_some_and(|b| *b != b' ') =>
            {
                match closing(bytes, at + 2, b'*', 2) {
                    Some(end) => {
                        out.push(Span { col: at, end, group: "BosunBold" });
                        at = end;
                    }
                    None => {
                        unclosed_bold = true;
                        at += 2;
                    }
                }
            }
            b'[' if link.is_some_and(|(start, _)| at >= start) => {
                if link.is_some_and(|(start, _)| at > start) {
                    link = next_link(line, at);
                }
                match link {
                    Some((start, end)) if start == at => {
                        out.push(Span { col: start, end, group: "BosunLink" });
                        at = end;
                    }
                    _ => at += 1,
                }
            }
            _ => at += 1,
        }
    }
}

/// The first link that lies at or after `from`. Its text begins at the last bracket before its middle.
fn next_link(line: &str, from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    loop {
        let middle = at + line[at..].find("](")?;
        let end = middle + line[middle..].find(')')? + 1;
        if let Some(n) = line[at..middle].rfind('[') {
            return Some((at + n, end));
        }
        at = middle + 1;
    }
}

/// The end of a run of exactly `len` marks at or after `from`.
fn closing(bytes: &[u8], from: usize, mark: u8, len: usize) -> Option<usize> {
    let mut at = from;
    while at < bytes.len() {
        if bytes[at] != mark {
            at += 1;
            continue;
        }
        let run = bytes[at..].iter().take_while(|b| **b == mark).count();
        if run == len && at > from {
            return Some(at + run);
        }
        at += run;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(lines: &[&str]) -> Vec<String> {
        let mut fence = None;
        lines
            .iter()
            .map(|line| {
                let spans = spans(line, &mut fence);
                spans
                    .iter()
                    .map(|s| format!("{}:{}", s.group.trim_start_matches("Bosun"), &line[s.col..s.end]))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect()
    }

    #[test]
    fn a_fence_is_closed_only_by_one_as_long() {
        assert_eq!(
            show(&["````md", "```", "x", "```", "````", "**b** `c` y"]),
            ["CodeFence:````md", "Code:```", "Code:x", "Code:```", "CodeFence:````", "Bold:**b** Code:`c`"]
        );
        assert_eq!(show(&["~~~", "```", "~~~", "t"]), ["CodeFence:~~~", "Code:```", "CodeFence:~~~", ""]);
    }

    #[test]
    fn a_fence_in_a_list_is_closed_at_its_own_depth() {
        assert_eq!(
            show(&["1. x", "      ```sh", "      ls", "      ```", "\t**b**"]),
            ["Bullet:1.", "CodeFence:      ```sh", "Code:      ls", "CodeFence:      ```", "Bold:**b**"]
        );
        assert_eq!(show(&["```", "    ```", "```"]), ["CodeFence:```", "Code:    ```", "CodeFence:```"]);
    }

    #[test]
    fn lines_of_their_own_kind_stand_out() {
        assert_eq!(
            show(&["# Title", "#no", "> q", "- item [a](b)", "12. x", "a ``b ` c`` d", "é **ü**"]),
            [
                "Heading:# Title",
                "",
                "Quote:> q",
                "Bullet:- Link:[a](b)",
                "Bullet:12.",
                "Code:``b ` c``",
                "Bold:**ü**"
            ]
        );
    }

    #[test]
    fn unfinished_marks_mark_nothing() {
        assert_eq!(
            show(&["**a", "`b", "[c](d", "[e]", "\\`x`", "** a **", "\\"]),
            ["", "", "", "", "", "", ""]
        );
    }
}
