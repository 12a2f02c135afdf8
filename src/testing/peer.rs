//! A raw TCP peer that says exactly what a test tells it to, byte by byte.

use super::PATIENCE;
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A TCP connection under a test's control.
///
/// ```
/// use greenroom::App;
/// use greenroom::testing::{Peer, TestServer};
///
/// let server = TestServer::start(App::new().get("/", || "hi"));
/// let mut peer = Peer::connect(&server);
/// peer.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
/// let answer = peer.answer();
/// assert_eq!((answer.status, answer.text()), (200, "hi"));
/// ```
pub struct Peer {
    stream: TcpStream,
    patience: Duration,
    /// Received and not yet asked for.
    unread: Vec<u8>,
}

/// An HTTP answer as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Status line and fields, without the empty line.
    pub head: String,
    /// The body, by Content-Length, decoded from chunks, or up to the end of the connection.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first header field of that name, in any case.
    pub fn header<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.headers(name).next()
    }

    /// All header fields of that name, in any case.
    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.head.lines().skip(1).filter_map(move |line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The body as text.
    ///
    /// # Panics
    /// If it isn't UTF-8.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body of text")
    }
}

impl Peer {
    /// Connects.
    ///
    /// # Panics
    /// If that fails.
    pub fn connect(to: impl Into<SocketAddr>) -> Self {
        Self::try_connect(to).expect("the server accepts connections")
    }

    /// Connects.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn try_connect(to: impl Into<SocketAddr>) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&to.into(), PATIENCE)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            patience: PATIENCE,
            unread: Vec::new(),
        })
    }

    /// Sets how long every later wait may take.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The socket itself, for options.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends bytes.
    ///
    /// # Panics
    /// If the connection has failed or takes nothing for the patience.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).expect("the server takes the bytes");
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// The connection has failed, or takes nothing for the patience.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.set_write_timeout(Some(self.patience))?;
        self.stream.write_all(bytes.as_ref())
    }

    /// Sends bytes one by one, each in a packet of its own as far as the kernel goes along.
    ///
    /// # Panics
    /// As [`Peer::send`].
    pub fn send_slowly(&mut self, bytes: impl AsRef<[u8]>, pause: Duration) {
        for byte in bytes.as_ref() {
            self.send([*byte]);
            std::thread::sleep(pause);
        }
    }

    /// Takes exactly so many bytes.
    ///
    /// # Panics
    /// If they don't come.
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        let until = Instant::now() + self.patience;
        while self.unread.len() < count {
            assert!(
                self.more(until).expect("the connection holds"),
                "the stream ended early: {}",
                self.shown()
            );
        }
        self.unread.drain(..count).collect()
    }

    /// Takes what is there, waiting for at least one byte; `None` at the end of the stream, reset or in order.
    ///
    /// # Panics
    /// If nothing comes within the patience.
    pub fn some(&mut self) -> Option<Vec<u8>> {
        if self.unread.is_empty() {
            match self.more(Instant::now() + self.patience) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("nothing came: {error}"),
            }
        }
        Some(std::mem::take(&mut self.unread))
    }

    /// Takes bytes up to the end of `mark`.
    ///
    /// # Panics
    /// If it doesn't come.
    pub fn take_until(&mut self, mark: &str) -> Vec<u8> {
        let until = Instant::now() + self.patience;
        loop {
            let found = self
                .unread
                .windows(mark.len())
                .position(|window| window == mark.as_bytes());
            if let Some(at) = found {
                return self.unread.drain(..at + mark.len()).collect();
            }
            let more = self.more(until).expect("the connection holds");
            assert!(more, "the stream ended before {mark:?}: {}", self.shown());
        }
    }

    /// Takes everything up to the end of the stream.
    ///
    /// # Panics
    /// If the end doesn't come in order.
    pub fn take_to_end(&mut self) -> Vec<u8> {
        let until = Instant::now() + self.patience;
        while self.more(until).expect("the stream ends in order") {}
        std::mem::take(&mut self.unread)
    }

    /// Asserts that the server closes the connection (in order or by a reset) without another byte.
    ///
    /// # Panics
    /// If bytes come, or the connection stays open for the patience.
    pub fn expect_end(&mut self) {
        let until = Instant::now() + self.patience;
        match self.more(until) {
            Ok(false) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
            other => panic!("the connection should end: {other:?}, {}", self.shown()),
        }
        assert!(self.unread.is_empty(), "bytes before the end: {}", self.shown());
    }

    /// Asserts that the server sends nothing and keeps the connection open for `pause`.
    ///
    /// # Panics
    /// If it sends or closes.
    pub fn expect_silence(&mut self, pause: Duration) {
        match self.more(Instant::now() + pause) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
            other => panic!("silence expected: {other:?}, {}", self.shown()),
        }
    }

    /// Takes one HTTP answer to a request that wasn't HEAD.
    ///
    /// # Panics
    /// If none comes whole.
    pub fn answer(&mut self) -> Answer {
        let head = self.answer_head();
        self.answer_with(head)
    }

    /// Takes the head of an HTTP answer, for requests whose answer has no body.
    ///
    /// # Panics
    /// If none comes.
    pub fn answer_head(&mut self) -> Answer {
        let head = String::from_utf8(self.take_until("\r\n\r\n")).expect("a head of text");
        let head = head.trim_end().to_owned();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            status: status.unwrap_or_else(|| panic!("no status line: {head:?}")),
            head,
            body: Vec::new(),
        }
    }

    fn answer_with(&mut self, mut answer: Answer) -> Answer {
        if answer.status < 200 || answer.status == 204 || answer.status == 304 {
            return answer;
        }
        if answer.header("transfer-encoding") == Some("chunked") {
            loop {
                let line = String::from_utf8(self.take_until("\r\n")).expect("a chunk size");
                let size = usize::from_str_radix(line.trim_end(), 16).expect("a chunk size in hexadecimal");
                answer.body.extend(self.take(size));
                assert_eq!(self.take(2), b"\r\n");
                if size == 0 {
                    return answer;
                }
            }
        }
        answer.body = match answer.header("content-length") {
            Some(length) => self.take(length.parse().expect("a Content-Length of digits")),
            None => self.take_to_end(),
        };
        answer
    }

    /// Ends this side's half of the connection.
    ///
    /// # Panics
    /// If the connection has failed already.
    pub fn finish(&mut self) {
        self.stream.shutdown(Shutdown::Write).expect("an open connection");
    }

    /// Ends the connection abruptly: the server gets a reset.
    ///
    /// # Panics
    /// If the socket refuses the option.
    pub fn reset(self) {
        SockRef::from(&self.stream)
            .set_linger(Some(Duration::ZERO))
            .expect("a socket option");
    }

    /// Reads once more; false at the end of the stream.
    fn more(&mut self, until: Instant) -> io::Result<bool> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut bytes = [0; 16 * 1024];
        loop {
            return match self.stream.read(&mut bytes) {
                Ok(count) => {
                    self.unread.extend_from_slice(&bytes[..count]);
                    Ok(count > 0)
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The two names of a passed SO_RCVTIMEO.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    Err(io::ErrorKind::TimedOut.into())
                }
                Err(error) => Err(error),
            };
        }
    }

    fn shown(&self) -> String {
        let cut = &self.unread[..self.unread.len().min(500)];
        format!("unread so far {:?}", String::from_utf8_lossy(cut))
    }
}
