//! Messages of a job, where they lie, and a digest of what came out.

use crossgrain::BLOCK_BYTES;

use crate::job::{Job, Situation};

/// A page.
const PAGE_BYTES: usize = 4096;

/// Room before a message. After it there is room for a tag.
const LINE_BYTES: usize = 64;

/// As many bytes as the longest keys of a mode have.
const KEY_BYTES_MAX: usize = 64;

pub(crate) type Tag = [u8; BLOCK_BYTES];

/// One message.
pub(crate) struct Message<'a> {
    pub(crate) source: &'a [u8],
    /// Where the result goes.
    pub(crate) output: &'a mut [u8],
    pub(crate) key: &'a [u8],
    pub(crate) nonce: &'a [u8],
    pub(crate) tag: &'a mut Tag,
}

impl Message<'_> {
    /// The place of the result, after the message was copied there unless it is there.
    #[inline(always)]
    pub(crate) fn copied(&mut self, is_there: bool) -> &mut [u8] {
        if !is_there {
            self.output.copy_from_slice(self.source);
        }
        self.output
    }
}

/// The same for C: `struct message` of `c/peer.h`. There is room for a tag before and after the message.
#[repr(C)]
pub(crate) struct InC {
    source: *const u8,
    to: *mut u8,
    bytes: usize,
    key: *const u8,
    nonce: *const u8,
    tag: *mut Tag,
}

/// The memory of all messages of a job.
pub(crate) struct Messages {
    bytes: Vec<usize>,
    source: Pages,
    output: Pages,
    keys: Vec<[u8; KEY_BYTES_MAX]>,
    nonces: Vec<Tag>,
    tags: Vec<Tag>,
    key_bytes: usize,
    nonce_bytes: usize,
}

impl Messages {
    /// Messages to be sealed. The bytes of keys, nonces and messages are the same for all who are compared.
    pub(crate) fn new(job: &Job) -> Self {
        let rooms: usize = job.bytes.iter().copied().map(room).sum();
        let (mut source, mut output) = (Pages::new(rooms), Pages::new(rooms));
        let mut at = LINE_BYTES;
        for (number, &bytes) in job.bytes.iter().enumerate() {
            let message = source.bytes()[at..][..bytes].iter_mut().enumerate();
            message.for_each(|(i, byte)| *byte = ((i.wrapping_mul(i) >> 5) + number) as u8);
            if job.situation == Situation::Again {
                let message = &source.bytes()[at..][..bytes];
                output.bytes()[at..][..bytes].copy_from_slice(message);
            }
            at += room(bytes);
        }
        let numbers = 0..job.bytes.len();
        let key = |number: usize| std::array::from_fn(|i| (i * 29 + 7 * number + 1) as u8);
        Self {
            bytes: job.bytes.clone(),
            source,
            output,
            keys: numbers.clone().map(key).collect(),
            nonces: numbers.map(nonce).collect(),
            tags: vec![Tag::default(); job.bytes.len()],
            key_bytes: job.key_bytes(),
            nonce_bytes: job.nonce_bytes(),
        }
    }

    /// Turns sealed messages into messages to open.
    pub(crate) fn turn(&mut self) {
        std::mem::swap(&mut self.source, &mut self.output);
        self.output.bytes().fill(0);
        let mut at = LINE_BYTES;
        for (&bytes, tag) in self.bytes.iter().zip(&self.tags) {
            // Interfaces read it either before or after the ciphertext.
            self.source.bytes()[at - BLOCK_BYTES..][..BLOCK_BYTES].copy_from_slice(tag);
            self.source.bytes()[at + bytes..][..BLOCK_BYTES].copy_from_slice(tag);
            at += room(bytes);
        }
    }

    /// All of them.
    pub(crate) fn all(&mut self) -> Vec<Message<'_>> {
        self.with_room(0)
    }

    /// All of them, each followed by some bytes at both places. A message to be opened is followed by its tag.
    pub(crate) fn with_room(&mut self, more: usize) -> Vec<Message<'_>> {
        let (mut source, mut output) = (&*self.source.bytes(), self.output.bytes());
        let mut messages = Vec::with_capacity(self.bytes.len());
        let secrets = self.keys.iter().zip(&self.nonces).zip(&mut self.tags);
        for (&bytes, ((key, nonce), tag)) in self.bytes.iter().zip(secrets) {
            let (from, to);
            (from, source) = source.split_at(room(bytes));
            (to, output) = output.split_at_mut(room(bytes));
            let place = LINE_BYTES..LINE_BYTES + bytes + more;
            messages.push(Message {
                source: &from[place.clone()],
                output: &mut to[place],
                key: &key[..self.key_bytes],
                nonce: &nonce[..self.nonce_bytes],
                tag,
            });
        }
        messages
    }

    /// All of them for C. What is encrypted again and again is read where it is written.
    pub(crate) fn in_c(&mut self, again: bool) -> Vec<InC> {
        let (source, output) = (self.source.bytes().as_ptr(), self.output.bytes().as_mut_ptr());
        let secrets = self.keys.iter().zip(&self.nonces).zip(&mut self.tags);
        let mut at = LINE_BYTES;
        let message = |(&bytes, ((key, nonce), tag)): (&usize, ((&[u8; KEY_BYTES_MAX], &Tag), &mut Tag))| {
            let to = output.wrapping_add(at);
            let source = if again { to.cast_const() } else { source.wrapping_add(at) };
            at += room(bytes);
            InC { source, to, bytes, key: key.as_ptr(), nonce: nonce.as_ptr(), tag }
        };
        self.bytes.iter().zip(secrets).map(message).collect()
    }

    /// A digest of all output and tags, to compare implementations by.
    pub(crate) fn digest(&mut self, job: &Job) -> u64 {
        let mut digest = 0_u64;
        let mut add = |bytes: &[u8]| {
            for word in bytes.chunks(8) {
                let mut whole = [0; 8];
                whole[..word.len()].copy_from_slice(word);
                let mixed = (digest ^ u64::from_le_bytes(whole)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                digest = mixed ^ (mixed >> 29);
            }
        };
        for message in self.all() {
            if job.has_output() {
                add(message.output);
            }
            if job.has_tag() && job.situation != Situation::KeySetup {
                add(message.tag);
            }
        }
        digest
    }
}

/// Bytes of memory for a message.
fn room(bytes: usize) -> usize {
    LINE_BYTES + (bytes + BLOCK_BYTES).next_multiple_of(LINE_BYTES)
}

/// A nonce differs from others in its first eleven bytes. Its last four bytes are zeros, because GCM and CTR count in these.
fn nonce(number: usize) -> Tag {
    let mut nonce = [5; BLOCK_BYTES];
    nonce[9..11].copy_from_slice(&(number as u16).to_be_bytes());
    nonce[12..].fill(0);
    nonce
}

/// Bytes that begin on a page.
struct Pages {
    memory: Vec<u8>,
    start: usize,
}

impl Pages {
    fn new(bytes: usize) -> Self {
        // Not zeros: memory that was never written is one page of the system for all.
        let memory = vec![1; bytes + PAGE_BYTES];
        let start = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        Self { memory, start }
    }

    fn bytes(&mut self) -> &mut [u8] {
        let end = self.memory.len() - PAGE_BYTES;
        &mut self.memory[self.start..][..end]
    }
}
