//! Load tests for realtime servers.
fn main() {}
