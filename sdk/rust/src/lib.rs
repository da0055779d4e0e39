// SPDX-License-Identifier: Apache-2.0
//! Finds the line that froze a program: a thread of lagwatch captures the stacks of all threads while a loop does not
//! respond, and writes them to disk at once. `lagwatch reports` shows them.
//!
//! ```no_run
//! let _monitor = lagwatch::Monitor::start(&[("app", "shop"), ("threshold_ms", "500")]).unwrap();
//! let main_loop = lagwatch::Loop::watch(lagwatch::name!("main"));
//! loop {
//!     main_loop.wait(|| { /* epoll, recv, … */ });
//!     main_loop.dispatch(lagwatch::name!("resize"), || { /* handle it */ });
//! }
//! ```
//!
//! Names are C strings that live as long as the program: reports may look at them at any time.

mod raw;

/// A name, as a C string of the program's: `name!("resize")`.
#[macro_export]
macro_rules! name {
    ($text:literal) => {
        // SAFETY: it ends with a zero. One within the text cuts it.
        unsafe { ::std::ffi::CStr::from_ptr(concat!($text, "\0").as_ptr().cast()) }
    };
}

use std::ffi::{CStr, CString};
use std::fmt;
use std::marker::PhantomData;

/// The reason for which lagwatch is off: a program goes on without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Off(pub String);

impl fmt::Display for Off {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "lagwatch is off: {}", self.0)
    }
}

impl std::error::Error for Off {}

/// The monitor of the process, until it is dropped. One that was started while another runs stops nothing.
#[derive(Debug)]
pub struct Monitor {
    is_first: bool,
}

impl Monitor {
    /// Starts it. Options are those of docs/configuration.md by their names, with values as texts. May block. While another
    /// one runs, that one's options stay in force.
    ///
    /// # Errors
    /// [`Off`] for an option that does not exist or cannot be read, and if lagwatch cannot watch here.
    pub fn start(options: &[(&str, &str)]) -> Result<Monitor, Off> {
        let mut raw = raw::Options::default();
        let mut texts = Vec::new(); // borrowed until the start
        // SAFETY: the library fills in its own struct, which is smaller than ours.
        unsafe { raw::lw_options_init(&mut raw) };
        for (name, value) in options {
            let refused = || Off(format!("no option {name}={value}"));
            let (name, value) = (CString::new(*name).map_err(|_| refused())?, CString::new(*value).map_err(|_| refused())?);
            // SAFETY: both texts end with a zero, and outlive `raw`.
            if unsafe { raw::lw_options_set(&mut raw, name.as_ptr(), value.as_ptr()) } == 0 {
                return Err(refused());
            }
            texts.push((name, value));
        }
        // SAFETY: the options were filled in above.
        match unsafe { raw::lw_start(&raw) } {
            raw::LW_OFF => Err(Off(why_off())),
            status => Ok(Monitor { is_first: status != raw::LW_ALREADY_STARTED }),
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        if self.is_first {
            // SAFETY: has no effect if the monitor is off.
            unsafe { raw::lw_stop(0) };
        }
    }
}

/// Returns why the monitor is off; empty if it is on.
pub fn why_off() -> String {
    // SAFETY: valid until this thread's next call.
    unsafe { CStr::from_ptr(raw::lw_why_off()) }.to_string_lossy().into_owned()
}

/// Requests a report with the stacks of all threads. Returns false if lagwatch is off, or made one just now.
pub fn dump(reason: &CStr) -> bool {
    // SAFETY: the text is copied.
    unsafe { raw::lw_dump_now(reason.as_ptr()) != 0 }
}

/// Sets the fact "app.KEY" of later reports; an empty value removes it. It is sent: it must not name a person.
pub fn set_value(key: &CStr, value: &CStr) -> bool {
    // SAFETY: both texts are copied.
    unsafe { raw::lw_set_value(key.as_ptr(), value.as_ptr()) != 0 }
}

/// A loop of the thread that watches it, until it is dropped.
#[derive(Debug)]
pub struct Loop {
    handle: *mut raw::LwLoop,
    of_this_thread: PhantomData<*const ()>, // neither Send nor Sync
}

impl Loop {
    /// Watches a loop of the calling thread.
    pub fn watch(name: &CStr) -> Loop {
        // SAFETY: the name is copied. A null handle is accepted by all functions.
        let handle = unsafe { raw::lw_watch_loop(name.as_ptr()) };
        Loop { handle, of_this_thread: PhantomData }
    }

    /// Runs the handler of one event, which is a dispatch. Hot: two reads of the tick counter.
    pub fn dispatch<T>(&self, tag: &'static CStr, handler: impl FnOnce() -> T) -> T {
        let _end = Ends(self.handle, raw::lw_dispatch_end);
        // SAFETY: the handle is of this thread; the tag is static.
        unsafe { raw::lw_dispatch_begin(self.handle, tag.as_ptr()) };
        handler()
    }

    /// Runs a wait for events: the time around it is dispatches. Hot, besides the wait.
    pub fn wait<T>(&self, wait: impl FnOnce() -> T) -> T {
        let _end = Ends(self.handle, end_wait);
        // SAFETY: the handle is of this thread.
        unsafe { raw::lw_loop_wait_begin(self.handle) };
        wait()
    }

    /// The loop has come round without a wait. Hot.
    pub fn turn(&self, tag: Option<&'static CStr>) {
        // SAFETY: the handle is of this thread; the tag is static.
        unsafe { raw::lw_loop_turn(self.handle, tag.map_or(std::ptr::null(), CStr::as_ptr)) };
    }

    /// Runs a part of the thread's work that has a deadline of its own. Hot: one read of the tick counter.
    pub fn scope<T>(&self, name: &'static CStr, deadline_ms: u32, work: impl FnOnce() -> T) -> T {
        let _end = Ends(self.handle, raw::lw_scope_end);
        // SAFETY: the handle is of this thread; the name is static.
        unsafe { raw::lw_scope_begin(self.handle, name.as_ptr(), deadline_ms) };
        work()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // SAFETY: the handle is of this thread, and is not used any more.
        unsafe { raw::lw_unwatch_loop(self.handle) };
    }
}

/// Ends what has begun, also when the handler panics.
struct Ends(*mut raw::LwLoop, unsafe extern "C" fn(*mut raw::LwLoop));

impl Drop for Ends {
    fn drop(&mut self) {
        // SAFETY: made by a method of `Loop`, on its thread, and gone before it.
        unsafe { (self.1)(self.0) };
    }
}

unsafe extern "C" fn end_wait(handle: *mut raw::LwLoop) {
    raw::lw_loop_wait_end(handle, std::ptr::null());
}
