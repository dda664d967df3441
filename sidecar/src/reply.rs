//! The handle with which a request of an agent is answered: exactly once, whatever happens.
//!
//! Owns the promise of an answer. It never blocks and never looks at what it carries. Made by the agent edge, kept by
//! the room that works on the request, spent by the app. Dropping it unspent answers with an error by itself, so no
//! path through the code can leave an agent waiting.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use crate::model::RpcError;

/// Identifies a request of an agent within its connection: the raw JSON of its id, echoed byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WireId(pub Arc<str>);

/// An answer on its way to the agent edge.
#[derive(Debug)]
pub struct Answer {
    /// Which request.
    pub id: WireId,
    /// Raw JSON of the result, or the error.
    pub result: Result<Arc<str>, RpcError>,
}

/// Owed to an agent. Spend it with [`Reply::send`].
#[derive(Debug)]
pub struct Reply {
    id: WireId,
    /// Taken by `send`; still there on drop means nobody answered. The channel is bounded in practice by the number of
    /// requests in flight, which the agent edge limits.
    out: Option<UnboundedSender<Answer>>,
}

impl Reply {
    /// Called by the agent edge for each request that comes in.
    pub fn new(id: WireId, out: UnboundedSender<Answer>) -> Self {
        Self { id, out: Some(out) }
    }

    /// The request this answers.
    pub fn id(&self) -> &WireId {
        &self.id
    }

    /// Answers. A connection that is gone swallows the answer.
    pub fn send(mut self, result: Result<Arc<str>, RpcError>) {
        if let Some(out) = self.out.take() {
            let _ = out.send(Answer { id: self.id.clone(), result });
        }
    }

    /// Answers with a JSON value.
    pub fn ok(self, value: &serde_json::Value) {
        self.send(Ok(value.to_string().into()));
    }

    /// Answers with an error.
    pub fn err(self, error: RpcError) {
        self.send(Err(error));
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(out) = self.out.take() {
            let error = RpcError::new(RpcError::INTERNAL, "the host gave this request up");
            let _ = out.send(Answer { id: self.id.clone(), result: Err(error) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_handle_answers_with_an_error() {
        let (tx, mut rx) = tokio::sync::mpsc::unbounded_channel();
        drop(Reply::new(WireId("7".into()), tx));
        let answer = rx.try_recv().unwrap();
        assert_eq!(&*answer.id.0, "7");
        assert_eq!(answer.result.unwrap_err().code, RpcError::INTERNAL);
    }

    #[test]
    fn a_spent_handle_answers_once() {
        let (tx, mut rx) = tokio::sync::mpsc::unbounded_channel();
        Reply::new(WireId("\"x\"".into()), tx).ok(&serde_json::json!({}));
        assert_eq!(&*rx.try_recv().unwrap().result.unwrap(), "{}");
        assert!(rx.try_recv().is_err());
    }
}
