//! child
