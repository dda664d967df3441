//! Tests of the editor of commands: its command line, its variables, and its talk with the other end of a socket.

use std::process::Command;

use super::*;

fn asked(args: &[&str]) -> Result<Wish, String> {
    wish(args.iter().map(OsString::from).collect(), Path::new("/p"))
}

fn files(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

#[test]
fn the_command_line_names_files_and_a_line() {
    assert_eq!(asked(&["a", "/b"]), Ok(Wish { line: None, files: files(&["/p/a", "/b"]) }));
    assert_eq!(asked(&["+12", "a"]), Ok(Wish { line: Some(12), files: files(&["/p/a"]) }));
    assert_eq!(asked(&["a", "+"]), Ok(Wish { line: Some(-1), files: files(&["/p/a"]) }));
    assert_eq!(asked(&["--", "-a", "+1"]), Ok(Wish { line: None, files: files(&["/p/-a", "/p/+1"]) }));
}

#[test]
fn what_is_no_file_and_no_line_is_said_and_never_run() {
    for args in [&["+/word", "a"][..], &["+q!", "a"], &["-R", "a"], &["+0", "a"]] {
        let why = asked(args).unwrap_err();
        assert!(why.contains(args[0]) && why.contains("usage"), "{why}");
    }
    assert!(asked(&[]).unwrap_err().contains("which file"));
    assert!(asked(&["+3"]).unwrap_err().contains("which file"));
}

#[test]
fn an_address_is_a_socket_or_a_port_of_this_machine() {
    assert_eq!(address_of("/run/nvim.1.0"), Ok(Address::Socket("/run/nvim.1.0".into())));
    let tcp = |text: &str| Ok(Address::Tcp(text.parse().unwrap()));
    assert_eq!(address_of("127.0.0.1:66"), tcp("127.0.0.1:66"));
    assert_eq!(address_of("localhost:66"), tcp("127.0.0.1:66"));
    assert_eq!(address_of("[::1]:66"), tcp("[::1]:66"));
    for other in ["192.0.2.1:66", "0.0.0.0:66", "example.org:66", "nvim", "127.0.0.1:nvim"] {
        assert!(address_of(other).unwrap_err().contains(other), "{other}");
    }
    assert!(address_of("").unwrap_err().contains(ADDRESS));
}

#[test]
fn the_variables_are_shell_lines_also_where_the_path_is_odd() {
    let env = editor_env("/run/nvim.1.0", Path::new("/opt/bosun-1/bosun"));
    let names: Vec<_> = env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "BOSUN_EDITOR_ADDRESS"]);
    assert!(env[..4].iter().all(|(_, line)| line == "/opt/bosun-1/bosun edit"), "{env:?}");
    assert_eq!(env[4].1, "/run/nvim.1.0");

    let folder = tempfile::tempdir().unwrap();
    for name in
        ["two words", "it's", "$HOME `x`", "semi;colon", "back\\slash", "\"quoted\"", "tab\there", "höher"]
    {
        let exe = folder.path().join(name);
        std::os::unix::fs::symlink("/bin/echo", &exe).unwrap();
        let line = &editor_env("/s", &exe)[2].1;
        // As git runs it.
        let script = format!("{line} \"$@\"");
        let said = Command::new("sh").args(["-c", &script, line, "a file"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "edit a file\n", "{line}: {said:?}");
    }
}

#[test]
fn without_an_address_no_variable_is_set() {
    assert_eq!(editor_env("", Path::new("/bosun")), []);
}

/// The other end: answers as Neovim would, and gives the arguments of `open`.
async fn opened(stream: &mut UnixStream) -> Value {
    let mut bytes = Vec::new();
    for answer in [Value::Array(vec![7.into(), Value::Map(Vec::new())]), Value::Boolean(true)] {
        let request = loop {
            let mut cursor = Cursor::new(bytes.as_slice());
            if let Ok(value) = rmpv::decode::read_value(&mut cursor) {
                let used = usize::try_from(cursor.position()).unwrap();
                bytes.drain(..used);
                break value;
            }
            assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "it speaks");
        };
        if answer == Value::Boolean(true) {
            assert_eq!(request[2], "nvim_exec_lua".into());
            tell(stream, &[1.into(), request[1].clone(), Value::Nil, answer], 1).await;
            return request[3][1].clone();
        }
        assert_eq!(request[2], "nvim_get_api_info".into());
        tell(stream, &[1.into(), request[1].clone(), Value::Nil, answer], 1).await;
    }
    unreachable!("the second request returns");
}

/// Writes a message in pieces of `size` bytes.
async fn tell(stream: &mut UnixStream, parts: &[Value], size: usize) {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, &Value::Array(parts.to_vec())).unwrap();
    for piece in bytes.chunks(size) {
        stream.write_all(piece).await.unwrap();
        tokio::task::yield_now().await;
    }
}

fn some_wish() -> Wish {
    Wish { line: Some(3), files: vec!["/p/a".into(), OsString::from_vec(b"/p/\xff".to_vec()).into()] }
}

#[tokio::test]
async fn the_code_that_neovim_tells_is_the_exit_code_also_when_it_ends_in_the_same_moment() {
    for code in [0, 1] {
        let (mut neovim, ours) = UnixStream::pair().unwrap();
        let waiting = tokio::spawn(visit(ours, some_wish()));
        let args = opened(&mut neovim).await;
        let files = Value::Array(vec!["/p/a".into(), Value::Binary(b"/p/\xff".to_vec())]);
        assert_eq!(args, Value::Array(vec![files, 3.into(), 7.into()]));
        tell(&mut neovim, &[2.into(), "other".into(), Value::Array(vec![])], 1024).await;
        assert!(!waiting.is_finished());
        tell(&mut neovim, &[2.into(), "bosun_visited".into(), Value::Array(vec![code.into()])], 1024).await;
        drop(neovim);
        assert_eq!(waiting.await.unwrap(), Ok(code));
    }
}

#[tokio::test]
async fn a_neovim_that_goes_away_or_refuses_is_said() {
    let (mut neovim, ours) = UnixStream::pair().unwrap();
    let waiting = tokio::spawn(visit(ours, some_wish()));
    opened(&mut neovim).await;
    drop(neovim);
    assert_eq!(waiting.await.unwrap(), Err("Neovim is gone".into()));

    let (mut neovim, ours) = UnixStream::pair().unwrap();
    let waiting = tokio::spawn(visit(ours, some_wish()));
    let error = Value::Array(vec![0.into(), "module 'bosun.visit' not found\n\tno file".into()]);
    tell(&mut neovim, &[1.into(), INFO.into(), error, Value::Nil], 1024).await;
    let why = waiting.await.unwrap().unwrap_err();
    assert!(why.ends_with("module 'bosun.visit' not found"), "{why}");
}
