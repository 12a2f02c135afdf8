//! The WebSocket protocol of RFC 6455 without I/O: bytes in, events out, bytes out.
//!
//! A server, a client and a load tool can all stand on it, over any transport and with any way of waiting. It
//! offers no extensions (permessage-deflate is neither offered nor accepted), and leaves to its user: sockets,
//! time, randomness, the writing of HTTP heads, and the answers to Pings and Closes.
//!
//! | module | concern | RFC 6455 |
//! |---|---|---|
//! | `handshake`, `client` | the opening handshake from either end | 4, 9.1, 11.3 |
//! | `origin` | which web pages may connect | 10.2 |
//! | `protocol`, `event` | the receiving state machine and what it reports | 5, 6.2, 7, 8 |
//! | `frame_head`, `opcode`, `frame` | frames, encoded once and shared | 5.2 |
//! | `mask`, `utf8`, `assembly` | unmasking, checking, putting together | 5.3, 5.4, 8.1 |
//! | `limits` | bounds on messages and their fragments | 10.4 |
//! | `message`, `text` | whole messages | 5.6 |
//! | `close`, `error` | close codes, and what a peer did wrong | 7 |

mod assembly;
mod client;
mod close;
mod error;
mod event;
mod frame;
mod frame_head;
mod handshake;
mod limits;
mod mask;
mod message;
mod opcode;
mod origin;
mod protocol;
mod text;
mod utf8;

pub use client::{AnswerError, ClientHandshake};
pub use close::{CloseCode, CloseFrame};
pub use error::ProtocolError;
pub use event::{Event, Received};
pub use frame::{EncodedFrame, encode_masked};
pub use frame_head::{EncodedHead, FrameHead};
pub use handshake::{Accept, AcceptKey, Refusal, UpgradeRequest};
pub use limits::Limits;
pub use mask::apply_mask;
pub use message::Message;
pub use opcode::OpCode;
pub use origin::{InvalidOrigin, Origin, OriginPolicy};
pub use protocol::{Protocol, Role, Step};
pub use text::Text;
