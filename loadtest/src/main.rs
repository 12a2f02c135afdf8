//! `loadtest`: load tests for realtime servers. See `loadtest --help`.

fn main() -> std::process::ExitCode {
    greenroom_loadtest::cli::main()
}
