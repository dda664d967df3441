//! When patches go and how large they are: counts, never a clock.

use super::*;

#[test]
fn one_patch_is_in_flight_however_long_it_takes() {
    let mut screen = Screen::new();
    let index = screen.add(message("a"));
    let first = screen.view.flush(&key(), &screen.entries, 0).unwrap();
    screen.say(index, "b");
    assert!(screen.view.flush(&key(), &screen.entries, 10_000).is_none());
    assert_eq!(screen.view.next_deadline(), None, "nothing to wake up for");
    screen.view.ack(&key(), first.version);
    assert_eq!(screen.view.flush(&key(), &screen.entries, 10_000).unwrap().lines, ["ab"]);
}

#[test]
fn a_flood_costs_few_patches_and_is_never_far_behind() {
    let mut screen = Screen::new();
    let index = screen.add(message(""));
    let mut sent = String::new();
    let mut behind = 0;
    let mut waiting_since = None;
    for n in 0..20_000u64 {
        screen.now = n / 20;
        let piece = format!("chunk {n:06} of fifty bytes in all, more or less.\n");
        screen.say(index, &piece);
        sent.push_str(&piece);
        waiting_since.get_or_insert(screen.now);
        if screen.frame() && !screen.view.behind(&key()) {
            behind = behind.max(screen.now - waiting_since.take().unwrap_or(screen.now));
        }
    }
    assert!(screen.patches.len() <= 40, "{} patches in a second", screen.patches.len());
    assert!(behind <= 100, "{behind} ms");
    assert_eq!(screen.settle() + "\n", sent);
}

#[test]
fn a_chunk_costs_its_own_size_however_long_the_message_is() {
    let mut screen = Screen::new();
    let index = screen.add(message(&"a line of text\n".repeat(100_000)));
    screen.settle();
    screen.say(index, "more\n");
    screen.now += FRAME;
    let patch = screen.view.flush(&key(), &screen.entries, screen.now).unwrap();
    assert_eq!((patch.lines, patch.last - patch.first), (vec!["more".to_owned()], 0));
}

#[test]
fn changes_far_apart_do_not_resend_what_lies_between() {
    let mut screen = Screen::new();
    screen.add(tool("first", ToolStatus::InProgress));
    screen.add(message(&"x\n".repeat(5000)));
    let last = screen.add(message("tail"));
    screen.settle();
    screen.entries[0].body = tool("first", ToolStatus::Completed);
    screen.touch(0);
    screen.say(last, " more");
    for _ in 0..2 {
        screen.now += FRAME;
        let patch = screen.view.flush(&key(), &screen.entries, screen.now).unwrap();
        assert!(patch.lines.len() < 5, "{} lines", patch.lines.len());
        screen.view.ack(&key(), patch.version);
    }
}

#[test]
fn fifty_thousand_chunks_cost_what_they_are_long() {
    let mut costs = Vec::new();
    for thought in [false, true] {
        let mut screen = Screen::new();
        screen.add(match thought {
            false => message(""),
            true => Body::Thought { text: String::new(), message_id: None, open: true },
        });
        let mut half = 0;
        for n in 0..50_000u64 {
            screen.say(0, if n % 10 == 9 { "word\n" } else { "word " });
            screen.now += 1;
            screen.frame();
            if n == 25_000 {
                half = screen.view.rendered();
            }
        }
        screen.settle();
        let second = screen.view.rendered() - half;
        assert!(second * 2 <= half * 3, "{half} bytes for the first half, {second} for the second");
        costs.push(screen.view.rendered());
    }
    assert!(costs[0] <= 2 * 250_000, "{} bytes rendered for 250,000", costs[0]);
    assert!(costs[1] <= 250_000, "{} bytes rendered for a folded thought", costs[1]);
}

#[test]
fn a_line_without_end_is_sent_in_full_only_now_and_then() {
    let mut screen = Screen::new();
    screen.add(message(""));
    let mut last = 0;
    for n in 0..20_000u64 {
        screen.say(0, &"x".repeat(50));
        screen.now = n / 2;
        if screen.frame() {
            assert!(screen.now - last <= 600, "{} ms without a word", screen.now - last);
            last = screen.now;
        }
    }
    let sent = screen.view.rendered();
    assert!(sent < 20_000_000, "{sent} bytes for one line of 1,000,000");
    let before = screen.patches.len();
    screen.say(0, "\nnext");
    screen.now += FRAME;
    screen.frame();
    assert_eq!(screen.patches.len(), before + 1, "a line that is at its end is not held back");
    screen.settle();
    assert_eq!(screen.buf.len(), 2);
}

#[test]
fn a_large_transcript_comes_in_patches_of_bounded_size() {
    let mut screen = Screen::new();
    for n in 0..200 {
        screen.add(message(&format!("`{n}` **text**\n").repeat(1000)));
    }
    let text = screen.settle();
    assert_eq!(text.lines().count(), 200 * 1001 - 1);
    let waits = screen.patches.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(waits.clone().all(|wait| wait == BACKLOG_FRAME), "{:?}", waits.collect::<Vec<_>>());
}

#[test]
fn the_end_and_an_old_card_take_turns() {
    let mut screen = Screen::new();
    let card = screen.add(tool("a", ToolStatus::Pending));
    screen.add(message(&"x\n".repeat(5000)));
    screen.add(message("tail"));
    screen.settle();
    let mut ends = 0;
    for n in 0..100 {
        screen.entries[card].body = tool(&format!("a{n}"), ToolStatus::InProgress);
        screen.touch(card);
        screen.say(2, " more");
        screen.now += FRAME;
        let patch = screen.flush().unwrap();
        assert!(patch.lines.len() == 1);
        ends += usize::from(patch.first > 0);
        screen.ack();
    }
    assert_eq!(ends, 50);
}

#[test]
fn changes_near_each_other_go_together() {
    let mut screen = Screen::new();
    for n in 0..20 {
        screen.add(tool(&n.to_string(), ToolStatus::Pending));
    }
    screen.settle();
    for n in [3, 9] {
        screen.entries[n].body = tool(&n.to_string(), ToolStatus::Completed);
        screen.touch(n);
    }
    screen.now += FRAME;
    let patch = screen.flush().unwrap();
    assert_eq!((patch.first, patch.last, patch.lines.len()), (3, 10, 7));
    screen.ack();
    for n in [15, 19] {
        screen.entries[n].body = tool(&n.to_string(), ToolStatus::Completed);
        screen.touch(n);
    }
    screen.now += FRAME;
    let patch = screen.flush().unwrap();
    assert_eq!((patch.first, patch.last), (15, 20), "the end takes along what is above it");
}

#[test]
fn what_did_not_change_is_not_sent() {
    let mut screen = Screen::new();
    screen.add(tool("a", ToolStatus::Pending));
    screen.add(message("tail"));
    screen.settle();
    let before = screen.patches.len();
    screen.touch(0);
    screen.touch(1);
    screen.settle();
    assert_eq!(screen.patches.len(), before);
    assert!(!screen.view.behind(&key()));
}

#[test]
fn the_first_change_after_a_rest_is_due_at_once() {
    let mut screen = Screen::new();
    screen.add(message("a"));
    screen.settle();
    screen.now += 1000;
    screen.say(0, "b");
    assert!(screen.view.next_deadline().is_some_and(|due| due <= screen.now));
    assert!(screen.frame());
    screen.say(0, "c");
    assert!(!screen.frame(), "the next one waits for its frame");
    assert_eq!(screen.view.next_deadline(), Some(screen.now + FRAME));
}
