//! The bound socket.
