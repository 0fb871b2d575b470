//! From memory to memory, where no cache holds what is worked on: ciphers beside a copy of the same bytes, a keystream
//! beside filling them.

use std::cell::{LazyCell, RefCell};
use std::rc::Rc;

use crossgrain::internal::check;
use crossgrain::mode::{Ctr, Options};
use crossgrain::plan::Birth;
use crossgrain::stream::Stream;
use crossgrain::{Buffers, Cipher, Direction, Features, Key};

use super::subject::{Candidate, Group, arbitrary_key, measured};
use super::{Timed, wrong};
use crate::error::Error;

/// Far more than any last cache.
const BYTES: usize = 256 << 20;

/// What all work on: input and output.
type Shared = Rc<RefCell<(Vec<u8>, Vec<u8>)>>;

/// From an input to an output.
type Work = Box<dyn FnMut(&[u8], &mut [u8])>;

/// A way to make such work, once it has been checked.
type Make<'a> = &'a dyn Fn(&str) -> Result<Work, Error>;

/// Everything under the filter, one after another on the same memory, on one thread.
pub(super) fn group(features: Features, filter: &str) -> Group {
    let without_aes = features.without(Features::AES).without(Features::VAES);
    let makers: [(&str, Make<'_>); 6] = [
        ("aes-128-ctr/best", &|id| ctr(id, Cipher::Aes128, features)),
        ("aes-128-ctr/without-aes", &|id| ctr(id, Cipher::Aes128, without_aes)),
        ("serpent-256-ctr/best", &|id| ctr(id, Cipher::Serpent256, features)),
        ("memcpy", &|_| Ok(Box::new(|input, output| output.copy_from_slice(input)))),
        ("aes-128-keystream/best", &|id| keystream(id, Cipher::Aes128, features)),
        // Zeros are written faster by some CPUs.
        ("memset", &|_| Ok(Box::new(|_, output| output.fill(0x5a)))),
    ];
    // Half a gigabyte, if anything is wanted.
    let shared: LazyCell<Shared> = LazyCell::new(|| Rc::new(RefCell::new((vec![1; BYTES], vec![2; BYTES]))));
    let mut group = Vec::new();
    for (name, make) in makers {
        let id = format!("out-of-cache/{name}");
        if id.contains(filter) {
            let (mut work, shared) = (make(&id)?, Rc::clone(&shared));
            let run = move || {
                let (input, output) = &mut *shared.borrow_mut();
                work(input, output);
            };
            group.push(Candidate { id, bytes: BYTES, threads: 1, work: Box::new(Timed(run)) });
        }
    }
    Ok(group)
}

/// The key, and the best plans under a cap of instructions, which have given the reference's bytes.
fn checked(id: &str, cipher: Cipher, features: Features) -> Result<(Key, Options), Error> {
    let key = arbitrary_key(cipher)?;
    let options = measured(cipher, features);
    if !check::job_agrees(cipher, Direction::Encrypt, Birth::Counter, &options)? {
        return Err(wrong(id));
    }
    Ok((key, options))
}

fn ctr(id: &str, cipher: Cipher, features: Features) -> Result<Work, Error> {
    let (key, options) = checked(id, cipher, features)?;
    let ctr = Ctr::with_options(&key, &[1; 16], &options)?;
    Ok(Box::new(move |input, output| {
        // Both are as long.
        if let Ok(buffers) = Buffers::apart(input, output) {
            ctr.apply_at(0, buffers);
        }
    }))
}

fn keystream(id: &str, cipher: Cipher, features: Features) -> Result<Work, Error> {
    let (key, options) = checked(id, cipher, features)?;
    let stream = Stream::with_options(&key, &options)?;
    Ok(Box::new(move |_, output| stream.fill_bytes_at(0, output)))
}
