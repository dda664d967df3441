//! How Reasonix is pointed at the scripted model: a home folder of its own, so that a person's is never touched.
//!
//! Owns nothing; writes two files. Called by the interop tests and the `model-server` binary.

use std::path::Path;

/// Writes Reasonix' settings into `home`, for a model at `url`. Run it with `REASONIX_HOME` set to that folder; its key
/// is read from `.env` in there, never from the environment. The key is made up: the scripted model asks for none.
pub fn reasonix_home(home: &Path, url: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(home)?;
    let config = format!(
        r#"config_version = 1
default_model = "scripted/scripted"
language = "en"

[[providers]]
name = "scripted"
kind = "openai"
base_url = "{url}/v1"
models = ["scripted"]
default = "scripted"
api_key_env = "SCRIPTED_API_KEY"
reasoning_protocol = "deepseek"
supported_efforts = ["low", "high"]
default_effort = "high"
"#
    );
    std::fs::write(home.join("config.toml"), config)?;
    std::fs::write(home.join(".env"), "SCRIPTED_API_KEY=made-up\n")
}
