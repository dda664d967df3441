//! Bosun's sidecar: the process that hosts coding agents for Neovim.
//!
//! See ARCHITECTURE.md for the map. Data flows one way: edge -> app -> rooms -> effects -> edge.

pub mod agent;
pub mod app;
pub mod demo;
pub mod disk;
pub mod effect;
pub mod event;
pub mod guard;
pub mod model;
pub mod nvim;
pub mod pty;
pub mod reply;
pub mod run;
pub mod session;
pub mod trace;
pub mod uri;
pub mod view;
pub mod workspace;
