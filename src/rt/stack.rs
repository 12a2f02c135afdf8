//! The stacks of green threads: where they end, what happens when one overflows, and giving pages back.
//!
//! `may` tells nobody where a stack lies, so its top is worked out from the address of the first frame, which shares the
//! topmost page with `generator`'s bookkeeping. That is checked once at start against the kernel's own list; if it did
//! not hold, trimming is off and an overflow ends the process without the message.
//!
//! By itself `generator` answers an overflow by dropping the green thread's frames without unwinding: locks stay
//! locked, memory half written. The process is ended instead, since nothing can be relied on any more.
#![allow(unsafe_code, reason = "signal handlers, and pages of a stack given back")]

use super::green::{Inner, Me};
use super::worker;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// x86_64 and aarch64 as `generator` sets them up. Larger pages (some aarch64 kernels) fail the check at start.
const PAGE: usize = 4096;
/// Words at the bottom that `generator` fills when it maps a stack, and looks at when the green thread has ended: none
/// of them left counts as an overflow.
const SENTINELS: usize = 8;

static BYTES: AtomicUsize = AtomicUsize::new(0);
/// Set once the layout was found to be as expected.
static SENTINEL: OnceLock<[usize; SENTINELS]> = OnceLock::new();
/// SIGSEGV's and SIGBUS's actions of before `generator` took them.
static PREVIOUS: OnceLock<[libc::sigaction; 2]> = OnceLock::new();
static MESSAGE: OnceLock<String> = OnceLock::new();
const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The size that stacks get: whole pages, at least four. In bytes.
pub(super) fn set_bytes(bytes: usize) -> usize {
    let bytes = bytes.next_multiple_of(PAGE).max(4 * PAGE);
    BYTES.store(bytes, Ordering::Release);
    bytes
}

/// The top of the stack whose first frame holds `mark`.
pub(super) fn top(mark: &u8) -> usize {
    (ptr::from_ref(mark) as usize).next_multiple_of(PAGE)
}

/// True if `address` lies in the guard page below the stack with this top.
fn in_guard(top: usize, address: usize) -> bool {
    let bottom = top.wrapping_sub(BYTES.load(Ordering::Acquire));
    (bottom.wrapping_sub(PAGE)..bottom).contains(&address)
}

/// Compares the layout with what the kernel says of one stack that is in use, and remembers the words at its bottom.
pub(super) fn learn_layout(top: usize) {
    let bottom = top - BYTES.load(Ordering::Acquire);
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else {
        return;
    };
    let mapped = maps
        .lines()
        .filter_map(|line| line.split_once(' '))
        .any(|(range, rest)| {
            let address = |text| usize::from_str_radix(text, 16).ok();
            let Some((start, end)) = range.split_once('-') else {
                return false;
            };
            // What lies above may have been merged into the same line.
            address(start) == Some(bottom) && address(end) >= Some(top) && rest.starts_with("rw")
        });
    if mapped {
        // SAFETY: the kernel has just said that these words are mapped, and the stack is that of a green thread which
        // never ends and does not reach down there.
        let words: [usize; SENTINELS] =
            std::array::from_fn(|i| unsafe { ptr::read_volatile((bottom as *const usize).add(i)) });
        if words.iter().all(|&word| word != 0) {
            let _ = SENTINEL.set(words);
        }
    }
}

/// Remembers what the process does on a fault so far. Before `generator` first runs.
pub(super) fn remember_handlers() -> io::Result<()> {
    let mut previous = [MaybeUninit::<libc::sigaction>::zeroed(); 2];
    for (signal, action) in SIGNALS.into_iter().zip(&mut previous) {
        // SAFETY: asks only; `action` lives across the call.
        if unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    // SAFETY: both were filled by the kernel.
    let _ = PREVIOUS.set(previous.map(|action| unsafe { action.assume_init() }));
    Ok(())
}

/// Takes the faults over. After `generator` has installed its own handler, which it does with its first stack.
pub(super) fn install_handlers() -> io::Result<()> {
    let bytes = BYTES.load(Ordering::Acquire);
    let _ = MESSAGE.set(format!(
        "greenroom: a green thread has overflowed its stack of {bytes} bytes; raise CN1_HTTP_VT_STACK \
         (Config::stack_bytes) or put large values on the heap. The process ends.\n"
    ));
    // SAFETY: all zeros is a valid sigaction; the handler is a function of the signature that SA_SIGINFO asks for.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        action.sa_sigaction = on_fault as *const () as libc::sighandler_t;
        action
    };
    for signal in SIGNALS {
        // SAFETY: `action` lives across the call; the old action is not asked for.
        if unsafe { libc::sigaction(signal, &action, ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Sees to it that the calling thread has a stack of its own for signal handlers; threads of std's have one if std set
/// up its own overflow handler, which it does not in a library without a Rust `main`.
pub(super) fn prepare_thread() {
    const BYTES: usize = 64 * 1024;
    // SAFETY: asks only; then hands over memory that is never freed, as the thread never ends.
    unsafe {
        let mut stack: libc::stack_t = std::mem::zeroed();
        if libc::sigaltstack(ptr::null(), &mut stack) == 0 && stack.ss_flags & libc::SS_DISABLE != 0 {
            stack.ss_sp = Box::leak(vec![0u8; BYTES].into_boxed_slice()).as_mut_ptr().cast();
            stack.ss_size = BYTES;
            stack.ss_flags = 0;
            libc::sigaltstack(&stack, ptr::null_mut());
        }
    }
}

/// Async-signal-safe: reads a thread-local without a destructor, atomics and memory that lives for ever; writes;
/// aborts.
extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo of a fault, so the address is there.
    let address = unsafe { (*info).si_addr() } as usize;
    if let Some(local) = worker::local() {
        let current = local.current.get();
        let top = if current.is_null() {
            local.doorbell_stack
        } else {
            // SAFETY: set only while that green thread's first frame holds the record.
            unsafe { (*current).stack_top }
        };
        if in_guard(top, address)
            && let Some(message) = MESSAGE.get()
        {
            // SAFETY: the message lives for ever.
            unsafe {
                libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
                libc::abort();
            }
        }
    }
    // Not ours: the action of before takes the fault when the instruction is run again.
    let index = usize::from(signal != SIGNALS[0]);
    if let Some(previous) = PREVIOUS.get() {
        // SAFETY: what the kernel itself once reported.
        unsafe { libc::sigaction(signal, &previous[index], ptr::null_mut()) };
    }
}

/// Maps the next pages of the calling thread's stack in one call: `may` builds its scheduler in a frame of 130 KiB, and the
/// faults of that many pages one by one are a fifth of the time in which a process starts.
pub(super) fn map_ahead() {
    /// Within the 128 KiB that a new program's stack can grow by without being asked.
    const AHEAD: usize = 112 * 1024;
    let mark = 0u8;
    let top = ptr::from_ref(&mark) as usize & !(PAGE - 1);
    // SAFETY: mapping changes no content, and where nothing may be mapped the kernel refuses, which does no harm.
    unsafe {
        libc::madvise(
            (top - AHEAD) as *mut libc::c_void,
            AHEAD,
            libc::MADV_POPULATE_WRITE,
        )
    };
}

/// Gives back the pages of this green thread's stack that lie below what is in use now (one madvise call). For a
/// session that has used much stack once and goes idle: what it needs later is mapped again on touch, filled with
/// zeros.
///
/// # Panics
/// On a host thread.
pub(crate) fn trim_stack() {
    let mark = 0u8;
    let inner = Me::current().inner();
    if SENTINEL.get().is_none() {
        return;
    }
    // Half a page covers this call's own frames and the red zone.
    let used = (ptr::from_ref(&mark) as usize - PAGE / 2) & !(PAGE - 1);
    let bottom = inner.stack_top - BYTES.load(Ordering::Acquire);
    if used > bottom {
        inner.trimmed.set(true);
        // SAFETY: the range lies within this green thread's own stack, below every frame in use; private anonymous
        // memory reads as zeros afterwards. `untrim` restores the words at the bottom before `generator` looks.
        unsafe { libc::madvise(bottom as *mut libc::c_void, used - bottom, libc::MADV_DONTNEED) };
    }
}

/// Restores what `generator` looks for at the bottom of a stack. By the green thread itself, at its end.
pub(super) fn untrim(inner: &Inner) {
    if inner.trimmed.get()
        && let Some(words) = SENTINEL.get()
    {
        let bottom = inner.stack_top - BYTES.load(Ordering::Acquire);
        for (i, &word) in words.iter().enumerate() {
            // SAFETY: the bottom words of this green thread's own stack, far below its frames.
            unsafe { ptr::write_volatile((bottom as *mut usize).add(i), word) };
        }
    }
}
