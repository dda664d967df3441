//! Says in words why something ended: exits, errors, stop reasons, token counts.
//!
//! Owns wording only. Pure; called by the lifecycle and turn parts of the session room. All text of an agent that
//! passes through here is escaped for display.

use serde_json::Value;

use crate::model::{AgentInfo, Exit, RpcError};

use super::display;
use super::entry::StopReason;

/// How many of the last stderr lines are shown.
const STDERR_LINES: usize = 8;

/// `exit code 1`, `killed by SIGKILL`, and why, as far as known.
pub(super) fn exit_line(exit: &Exit) -> String {
    let how = match (exit.code, exit.signal) {
        (_, Some(signal)) => format!("killed by {}", signal_name(signal)),
        (Some(code), None) => format!("exit code {code}"),
        (None, None) => String::new(),
    };
    match (&exit.reason, how.is_empty()) {
        (Some(reason), true) => display::one_line(reason),
        (Some(reason), false) => format!("{} ({how})", display::one_line(reason)),
        (None, true) => "the connection is over".to_owned(),
        (None, false) => how,
    }
}

/// `exit_line` and the last lines of stderr.
pub(super) fn exit_lines(exit: &Exit) -> Vec<String> {
    let mut out = vec![exit_line(exit)];
    let skip = exit.stderr.len().saturating_sub(STDERR_LINES);
    out.extend(exit.stderr.iter().skip(skip).map(|line| format!("stderr: {}", display::one_line(line))));
    out
}

/// The name of a signal, as `kill -l` has it.
pub(super) fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        // The numbers of SIGBUS and others differ between systems.
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

/// The message of an error, and what its data adds: many agents put the only useful words there.
pub(super) fn error_lines(error: &RpcError) -> Vec<String> {
    let message = unwrap_message(&error.message);
    let mut out = display::lines(&message);
    if let Some(text) = error.data.as_deref().and_then(data_text)
        && text.trim() != message.trim()
        && !text.trim().is_empty()
    {
        out.extend(display::lines(&text));
    }
    if out.iter().all(|line| line.trim().is_empty()) {
        out = vec![format!("error {}", error.code)];
    }
    if error.code == RpcError::AUTH_REQUIRED {
        out.push(
            "The agent wants you to sign in first: do so with its own command, then send the prompt again."
                .into(),
        );
    }
    out
}

/// Some agents carry their provider's whole JSON answer as the message.
fn unwrap_message(message: &str) -> String {
    serde_json::from_str::<Value>(message)
        .ok()
        .and_then(|v| {
            let inner = v.get("error").unwrap_or(&v);
            inner.get("message").and_then(Value::as_str).map(str::to_owned)
        })
        .unwrap_or_else(|| message.to_owned())
}

fn data_text(raw: &str) -> Option<String> {
    match serde_json::from_str::<Value>(raw).ok()? {
        Value::String(text) => Some(text),
        Value::Object(map) => ["details", "message"].iter().find_map(|key| match map.get(*key)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        }),
        _ => None,
    }
}

/// The stop reason as it came, typed.
pub(super) fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "max_turn_requests" => StopReason::MaxTurnRequests,
        "refusal" => StopReason::Refusal,
        "cancelled" | "canceled" => StopReason::Cancelled,
        other => StopReason::Other(other.to_owned()),
    }
}

/// The word that scripts see in `BosunTurnEnd`.
pub(super) fn stop_word(reason: &StopReason) -> &str {
    match reason {
        StopReason::EndTurn => "end_turn",
        StopReason::MaxTokens => "max_tokens",
        StopReason::MaxTurnRequests => "max_turn_requests",
        StopReason::Refusal => "refusal",
        StopReason::Cancelled => "cancelled",
        StopReason::Other(word) => word,
        StopReason::Error(_) => "error",
        StopReason::AgentExit(_) => "agent_exit",
    }
}

/// What a person should know about an end that was not an error. `silent`: nothing came in this turn.
pub(super) fn stop_lines(reason: &StopReason, silent: bool) -> Vec<String> {
    match reason {
        StopReason::EndTurn if silent => vec!["The agent ended the turn without saying anything.".into()],
        StopReason::MaxTokens => {
            vec!["The agent reached its limit of tokens; the answer may be incomplete.".into()]
        }
        StopReason::MaxTurnRequests => {
            vec!["The agent reached its limit of requests in one turn; ask it to go on.".into()]
        }
        StopReason::Refusal => {
            vec!["The agent refused, and will not remember this exchange. Your prompt is kept above.".into()]
        }
        StopReason::Other(word) => {
            vec![format!("The agent stopped for a reason of its own: {}", display::one_line(word))]
        }
        _ => Vec::new(),
    }
}

/// Token counts of a prompt's raw result, as shown text.
pub(super) fn usage_text(raw: &str) -> Option<String> {
    let value: Value = serde_json::from_str(raw).ok()?;
    let usage = value.get("usage")?;
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    match (count("inputTokens"), count("outputTokens"), count("totalTokens")) {
        (Some(input), Some(output), _) => Some(format!("{input} tokens in, {output} out")),
        (_, _, Some(total)) => Some(format!("{total} tokens")),
        _ => None,
    }
}

/// The agent's own name and version, for display.
pub(super) fn agent_text(info: &AgentInfo) -> String {
    display::one_line(format!("{} {}", info.name, info.version).trim())
}
