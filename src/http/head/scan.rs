//! The search for the end of a head, line by line, across any number of reads (RFC 9112 section 2.2).
//!
//! Looks at each byte once, and refuses what no later byte can mend: another protocol, lines without CRLF, a bad
//! request line, too much of anything. What is in the field lines is not its business.

use super::{HeadError, HeadLimits};
use crate::http::request_line::{self, RequestLine};
use ::http::StatusCode;

/// Empty lines skipped before a request line. RFC 9112 section 2.2 asks for one, which old clients send after a body;
/// more than a few are no mistake (H29).
pub(super) const MAX_EMPTY_LINES: usize = 4;

const LINE_TOO_LONG: HeadError = HeadError::new(StatusCode::URI_TOO_LONG, "the request line is too long");
const NOT_CRLF: HeadError = HeadError::bad("a line that does not end with CRLF");

/// How far the search has come; positions are those of the input.
#[derive(Clone, Copy, Default)]
pub(super) struct Scan {
    /// Where the request line starts, after empty lines.
    start: usize,
    /// Where the line starts that is being looked at.
    line_start: usize,
    /// Everything before this has been looked at.
    searched: usize,
    /// Complete lines, the request line included.
    lines: usize,
}

impl Scan {
    /// Where the request line starts.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// How many field lines there are.
    pub(super) fn fields(&self) -> usize {
        self.lines.saturating_sub(1)
    }

    /// Everything before this position has been looked at and need not be again.
    #[cfg(test)]
    pub(super) fn searched(&self) -> usize {
        self.searched
    }

    /// Looks for the empty line that ends the head, from where the last call stopped, and gives the position behind
    /// it. Parses the request line into `request_line` on the way.
    ///
    /// # Errors
    /// 400, 414, 431, or what [`request_line::parse`] says.
    pub(super) fn find_end(
        &mut self,
        window: &[u8],
        limits: &HeadLimits,
        request_line: &mut RequestLine,
    ) -> Result<Option<usize>, HeadError> {
        if self.lines == 0 && !self.skip_empty_lines(window)? {
            return Ok(None);
        }
        let from = self.searched;
        for lf in memchr::memchr_iter(b'\n', &window[from..]).map(|at| from + at) {
            // The request line is never empty here.
            if self.lines == 0 {
                *request_line = parse_request_line(&window[self.start..lf], limits)?;
            } else if lf == self.line_start || window[lf - 1] != b'\r' {
                return Err(NOT_CRLF);
            } else if lf == self.line_start + 1 {
                return Ok(Some(lf + 1));
            } else if self.lines > limits.max_fields {
                return Err(HeadError::too_large("too many header fields"));
            }
            self.lines += 1;
            self.line_start = lf + 1;
        }
        self.searched = window.len();
        if self.lines == 0 {
            let line = &window[self.start..];
            request_line::method_len(line)?;
            if line.len() >= limits.max_line.saturating_add(2) {
                return Err(LINE_TOO_LONG);
            }
        }
        Ok(None)
    }

    /// Moves the start past empty lines; false if what follows isn't there yet.
    fn skip_empty_lines(&mut self, window: &[u8]) -> Result<bool, HeadError> {
        loop {
            match &window[self.start..] {
                [b'\r', b'\n', ..] if self.start >= 2 * MAX_EMPTY_LINES => {
                    return Err(HeadError::bad("too many empty lines before the request"));
                }
                [b'\r', b'\n', ..] => self.start += 2,
                [] | [b'\r'] => return Ok(false),
                _ => break,
            }
        }
        self.searched = self.searched.max(self.start);
        Ok(true)
    }
}

/// Parses the request line, given up to but not including its LF. The checks come in the order in which bytes arrive,
/// so that the answer doesn't depend on how they were cut.
fn parse_request_line(line: &[u8], limits: &HeadLimits) -> Result<RequestLine, HeadError> {
    let method_len = request_line::method_len(line)?.ok_or(HeadError::bad("malformed request line"))?;
    if line.len() > limits.max_line.saturating_add(1) {
        return Err(LINE_TOO_LONG);
    }
    request_line::parse(line.strip_suffix(b"\r").ok_or(NOT_CRLF)?, method_len)
}
