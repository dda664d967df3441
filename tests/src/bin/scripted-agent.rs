//! Command line of the scripted agent; what it can play is described in `script.rs`.

fn main() {
    std::process::exit(bosun_tests::script::run(std::env::args().skip(1)));
}
