//! Work on data larger than all caches. Ciphers are compared with a copy of the same bytes, and a keystream
//! with filling the output.

use std::cell::{LazyCell, RefCell};
use std::rc::Rc;

use crossgrain::engine::check;
use crossgrain::mode::{Ctr, Options};
use crossgrain::plan::JobSource;
use crossgrain::stream::Stream;
use crossgrain::{Buffers, Cipher, Direction, Features, Key};

use super::subject::{Candidate, Group, arbitrary_key, measured};
use super::{Filter, Timed, wrong};
use crate::error::Error;

/// Far larger than any last-level cache.
const BYTES: usize = 256 << 20;

/// The input and the output that all subjects share.
type Shared = Rc<RefCell<(Vec<u8>, Vec<u8>)>>;

/// From an input to an output.
type Work = Box<dyn FnMut(&[u8], &mut [u8])>;

/// Creates a subject after checking it.
type Make<'a> = &'a dyn Fn(&str) -> Result<Work, Error>;

/// The subjects that match the filter, one after another on the same memory, on one thread.
pub(super) fn group(features: Features, filter: Filter<'_>) -> Group {
    let without_aes = features.without(Features::AES);
    let makers: [(&str, Make<'_>); 6] = [
        ("aes-128-ctr/best", &|id| ctr(id, Cipher::Aes128, features)),
        ("aes-128-ctr/without-aes", &|id| ctr(id, Cipher::Aes128, without_aes)),
        ("serpent-256-ctr/best", &|id| ctr(id, Cipher::Serpent256, features)),
        ("memcpy", &|_| Ok(Box::new(|input, output| output.copy_from_slice(input)))),
        ("aes-128-keystream/best", &|id| keystream(id, Cipher::Aes128, features)),
        // A fill value other than zero, because some CPUs write zeros faster.
        ("memset", &|_| Ok(Box::new(|_, output| output.fill(0x5a)))),
    ];
    // Half a gigabyte, allocated only if a subject matches.
    let shared: LazyCell<Shared> = LazyCell::new(|| Rc::new(RefCell::new((vec![1; BYTES], vec![2; BYTES]))));
    let mut group = Vec::new();
    for (name, make) in makers {
        let id = format!("out-of-cache/{name}");
        if filter.passes(&id) {
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

/// The key, and options for the best plans under an ISA cap, checked against the reference.
fn checked(id: &str, cipher: Cipher, features: Features) -> Result<(Key, Options), Error> {
    let key = arbitrary_key(cipher)?;
    let options = measured(cipher, features);
    if !check::job_agrees(cipher, Direction::Encrypt, JobSource::Counter, &options)? {
        return Err(wrong(id));
    }
    Ok((key, options))
}

fn ctr(id: &str, cipher: Cipher, features: Features) -> Result<Work, Error> {
    let (key, options) = checked(id, cipher, features)?;
    let ctr = Ctr::with_options(&key, &[1; 16], &options)?;
    Ok(Box::new(move |input, output| {
        // Both have the same length.
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
