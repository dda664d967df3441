//! Real agents without Bosun: enough to see that each and the scripted model understand each other, and what it does to
//! files. When one of these fails, look at the agent's release or at the model server, not at the sidecar.

use bosun_tests::agents::{Agent, CLAUDE, CODEX, HERMES, OPENCODE, REASONIX};
use bosun_tests::model::ModelServer;
use tempfile::TempDir;

use crate::host::Host;
use crate::{model, strays};

/// An agent in a project with notes.txt, what plays its model, and the folder that everything is in.
fn start(agent: &Agent) -> (Host, ModelServer, String, TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("the temporary folder");
    let project = root.join("project");
    std::fs::create_dir(&project).expect("a project");
    let notes = project.join("notes.txt");
    std::fs::write(&notes, "alpha\nbeta\ngamma\n").expect("a file");
    let model = model(agent, &notes, "gamma", "GAMMA");
    let env = agent.settle(&root.join("home"), &model.url()).expect("settings");
    let host = Host::start(agent, env, &project);
    (host, model, notes.to_string_lossy().into_owned(), folder)
}

#[test]
fn reasonix_answers_and_works_on_the_text_that_the_host_has() {
    let (mut host, model, notes, _folder) = start(&REASONIX);
    host.files.insert(notes.clone(), "alpha\nbeta, unsaved\ngamma\n".into());
    assert_eq!(host.prompt("Say hello [[text]]"), "end_turn");
    assert!(host.said["agent_message_chunk"].contains("- two"), "{:?}", host.said);
    assert!(host.said["agent_thought_chunk"].contains("I should greet."), "{:?}", host.said);

    assert_eq!(host.prompt("Change gamma [[edit]]"), "end_turn");
    assert_eq!(host.files[&notes], "alpha\nbeta, unsaved\nGAMMA\n", "{:?}", host.said);
    assert!(model.tool_results().iter().any(|r| r.contains("beta, unsaved")), "{:?}", model.tool_results());
    assert_eq!(std::fs::read_to_string(&notes).expect("the file"), "alpha\nbeta\ngamma\n");
    assert_eq!(strays(&model), Vec::<String>::new());
}

/// The agent changes the file itself, once it is allowed to: this host never touches one. What it wrote through the
/// host beside that.
fn changes_the_disk_itself(agent: &Agent) -> Option<String> {
    let (mut host, model, notes, _folder) = start(agent);
    assert_eq!(host.prompt("Change gamma [[edit]]"), "end_turn");
    let disk = std::fs::read_to_string(&notes).expect("the file");
    assert_eq!(disk, "alpha\nbeta\nGAMMA\n", "{:?} {:?}", host.said, model.tool_results());
    assert_eq!(host.asked.len(), 1, "{:?}", host.asked);
    assert_eq!(strays(&model), Vec::<String>::new());
    host.files.remove(&notes)
}

#[test]
fn opencode_changes_the_disk_itself_and_asks_the_host_to_write_as_well() {
    assert_eq!(changes_the_disk_itself(&OPENCODE).as_deref(), Some("alpha\nbeta\nGAMMA\n"));
}

#[test]
fn hermes_changes_the_disk_itself() {
    assert_eq!(changes_the_disk_itself(&HERMES), None);
}

#[test]
fn codex_changes_the_disk_itself() {
    assert_eq!(changes_the_disk_itself(&CODEX), None);
}

#[test]
fn claude_changes_the_disk_itself() {
    assert_eq!(changes_the_disk_itself(&CLAUDE), None);
}
