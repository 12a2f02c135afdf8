//! Whether a figure can be trusted, and the exit status that says so.

use crate::failure::Failures;

/// Above this share of a core the generator may be what is measured.
const BUSY: f64 = 0.85;

/// The judgement of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The figure stands: exit 0.
    Pass,
    /// Connections failed, or nothing was measured: exit 3.
    Void,
    /// The generator was busy: the true figure is higher. Exit 3.
    Floor,
    /// No connection could be opened, or none was left, and not for the generator's own limits: exit 4.
    ServerGone,
}

impl Verdict {
    /// Judges a run that ended with `open` connections, `messages` measured and the busiest generator thread using `busy` of a core.
    pub fn of(open: usize, messages: u64, failures: &Failures, busy: f64) -> Self {
        if open == 0 && !failures.iter().any(|(failure, _)| failure.is_own_limit()) {
            Self::ServerGone
        } else if messages == 0 || failures.total() > 0 {
            Self::Void
        } else if busy > BUSY {
            Self::Floor
        } else {
            Self::Pass
        }
    }

    /// The process's exit status.
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Void | Self::Floor => 3,
            Self::ServerGone => 4,
        }
    }

    /// One line for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Void => "VOID: connections failed or nothing was measured; the figure can't be trusted",
            Self::Floor => {
                "FLOOR: the generator's own core was over 85 % busy; the true figure may be higher"
            }
            Self::ServerGone => "the server is gone: no connection was left",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn each_verdict_has_its_cause() {
        let none = Failures::default();
        let mut refused = Failures::default();
        refused.add(Failure::Refused);
        let mut full = Failures::default();
        full.add(Failure::FdLimit);
        assert_eq!(Verdict::of(4, 100, &none, 0.5), Verdict::Pass);
        assert_eq!(Verdict::of(4, 100, &none, 0.86), Verdict::Floor);
        assert_eq!(Verdict::of(4, 0, &none, 0.1), Verdict::Void);
        assert_eq!(Verdict::of(3, 100, &refused, 0.1), Verdict::Void);
        assert_eq!(Verdict::of(0, 100, &refused, 0.1), Verdict::ServerGone);
        assert_eq!(Verdict::of(0, 0, &full, 0.1), Verdict::Void);
    }
}
