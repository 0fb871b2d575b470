//! Libraries in C, called in loops in C (`c/`). A message costs the same as in a program in C.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use crate::job::Job;
use crate::messages::{InC, Messages};
use crate::worker::{How, Refusal, Time, Worker};

/// `struct job` of `c/peer.h`.
#[repr(C)]
struct CJob {
    cipher: *const c_char,
    mode: *const c_char,
    key_bytes: usize,
    nonce_bytes: usize,
    opens: c_int,
    fresh: c_int,
    rekeys: c_int,
    only_keys: c_int,
    many: c_int,
    count: usize,
    messages: *mut InC,
    repeats: u64,
    ns: u64,
    text: [c_char; 256],
}

type Run = unsafe extern "C" fn(*mut CJob) -> c_int;

unsafe extern "C" {
    fn botan(job: *mut CJob) -> c_int;
    fn ipsec_mb(job: *mut CJob) -> c_int;
    fn libgcrypt(job: *mut CJob) -> c_int;
    fn nettle(job: *mut CJob) -> c_int;
    fn openssl(job: *mut CJob) -> c_int;
}

/// The libraries by the names that the command line has for them.
pub(crate) const LIBRARIES: [(&str, Library); 5] = [
    ("botan", Library(botan)),
    ("ipsec-mb", Library(ipsec_mb)),
    ("libgcrypt", Library(libgcrypt)),
    ("nettle", Library(nettle)),
    ("openssl", Library(openssl)),
];

/// A library.
#[derive(Clone, Copy)]
pub(crate) struct Library(Run);

impl Library {
    /// Calls it, and gives the nanoseconds and its words.
    fn call(self, mut job: CJob) -> Result<(u64, String), Refusal> {
        // SAFETY: every pointer is null or of memory as long as `peer.h` says, which outlives the call; the functions are
        // those of `c/`, which take a job by that header.
        let code = unsafe { self.0(&raw mut job) };
        // SAFETY: the text is as it was, all zeros, or was written by `snprintf`, so it ends in a zero.
        let text = unsafe { CStr::from_ptr(job.text.as_ptr()) }.to_string_lossy().into_owned();
        match code {
            0 => Ok((job.ns, text)),
            1 => Err(Refusal::None("not in this library")),
            _ => Err(Refusal::Failed(text)),
        }
    }
}

const NOTHING: CJob = CJob {
    cipher: ptr::null(),
    mode: ptr::null(),
    key_bytes: 0,
    nonce_bytes: 0,
    opens: 0,
    fresh: 0,
    rekeys: 0,
    only_keys: 0,
    many: 0,
    count: 0,
    messages: ptr::null_mut(),
    repeats: 0,
    ns: 0,
    text: [0; 256],
};

impl Worker for Library {
    fn name(&self) -> Result<String, Refusal> {
        self.call(NOTHING).map(|(_, name)| name)
    }

    fn run(&self, job: &Job, how: How, messages: &mut Messages) -> Time {
        let (cipher, mode) = (CString::new(job.cipher.to_string())?, CString::new(job.mode_name())?);
        let mut messages = messages.in_c(how.again);
        self.call(CJob {
            cipher: cipher.as_ptr(),
            mode: mode.as_ptr(),
            key_bytes: job.key_bytes(),
            nonce_bytes: job.nonce_bytes(),
            opens: how.opens.into(),
            fresh: how.fresh.into(),
            rekeys: how.rekeys.into(),
            only_keys: how.only_keys.into(),
            many: how.many.into(),
            count: messages.len(),
            messages: messages.as_mut_ptr(),
            repeats: how.repeats,
            ..NOTHING
        })
        .map(|(ns, _)| ns)
    }
}
