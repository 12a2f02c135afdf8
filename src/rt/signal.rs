//! SIGTERM and SIGINT, told to whoever asks, on a host thread of their own.

use super::spawn;
use parking_lot::Mutex;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

type Listener = Box<dyn FnMut() + Send>;

static LISTENERS: Mutex<Vec<Listener>> = Mutex::new(Vec::new());
static STARTED: OnceLock<()> = OnceLock::new();
static STARTING: Mutex<()> = Mutex::new(());

/// SIGTERM or SIGINT: calls `f` on a host thread of its own, each time one comes. Process-wide, later calls add. From
/// the first call on the signals no longer end the process by themselves. A panic in `f` is contained and counted.
///
/// # Errors
/// When the signals can't be taken over or the thread not be started.
pub(crate) fn on_terminate(f: impl FnMut() + Send + 'static) -> io::Result<()> {
    {
        let _one = STARTING.lock();
        if STARTED.get().is_none() {
            let signals = Signals::new([SIGTERM, SIGINT])?;
            std::thread::Builder::new()
                .name("greenroom-signal".into())
                .spawn(|| listen(signals))?;
            let _ = STARTED.set(());
        }
    }
    LISTENERS.lock().push(Box::new(f));
    Ok(())
}

fn listen(mut signals: Signals) {
    for _signal in signals.forever() {
        // Taken out, so that a listener may add another.
        let mut listeners = std::mem::take(&mut *LISTENERS.lock());
        for listener in &mut listeners {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(listener)) {
                spawn::panicked("a signal listener", &*payload);
            }
        }
        let mut added = LISTENERS.lock();
        listeners.append(&mut added);
        *added = listeners;
    }
}
