//! `bench`: the project's speed beside the raw floors. See `bench --help`.

fn main() -> std::process::ExitCode {
    greenroom_loadtest::bench::main()
}
