//! busy
