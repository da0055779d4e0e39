// SPDX-License-Identifier: Apache-2.0
//! The functions of lagwatch/c.h that the crate calls. The options are opaque: they are set by their names.
use std::os::raw::{c_char, c_int};

/// Room for lw_options, which begins with its size and may grow; a library that is newer than the crate has more of them.
const OPTIONS_BYTES: usize = 4096;

#[repr(C, align(16))]
pub struct Options([u8; OPTIONS_BYTES]);

impl Default for Options {
    fn default() -> Self {
        Options([0; OPTIONS_BYTES])
    }
}

#[repr(C)]
pub struct LwLoop {
    _opaque: [u8; 0],
}

pub const LW_ALREADY_STARTED: c_int = 1;
pub const LW_OFF: c_int = 2;

extern "C" {
    pub fn lw_options_init(options: *mut Options);
    pub fn lw_options_set(options: *mut Options, name: *const c_char, value: *const c_char) -> c_int;
    pub fn lw_start(options: *const Options) -> c_int;
    pub fn lw_stop(flush_timeout_ms: u32);
    pub fn lw_why_off() -> *const c_char;
    pub fn lw_dump_now(reason: *const c_char) -> c_int;
    pub fn lw_set_value(key: *const c_char, value: *const c_char) -> c_int;
    pub fn lw_watch_loop(name: *const c_char) -> *mut LwLoop;
    pub fn lw_unwatch_loop(handle: *mut LwLoop);
    pub fn lw_dispatch_begin(handle: *mut LwLoop, tag: *const c_char);
    pub fn lw_dispatch_end(handle: *mut LwLoop);
    pub fn lw_loop_wait_begin(handle: *mut LwLoop);
    pub fn lw_loop_wait_end(handle: *mut LwLoop, tag: *const c_char);
    pub fn lw_loop_turn(handle: *mut LwLoop, tag: *const c_char);
    pub fn lw_scope_begin(handle: *mut LwLoop, name: *const c_char, deadline_ms: u32);
    pub fn lw_scope_end(handle: *mut LwLoop);
}
