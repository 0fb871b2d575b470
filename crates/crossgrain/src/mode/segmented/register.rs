//! The steps of CFB with segments of 1 or 8 bits, for blocks of any size.
//!
//! A step encrypts the register. The first bits of the result are added to a segment of the message. The segment of
//! ciphertext is then shifted into the register from the right:
//!
//! ```text
//! O = E(I)    C# = P# ^ first s bits of O    next I = (last bits of I) | C#
//! ```
//!
//! Segments of 1 bit are the bits of a byte from the most significant one on.
//!
//! Source: SP 800-38A §6.3.

use zeroize::Zeroizing;

use crate::arch::Buffers;

/// The steps with segments of `BITS` bits on blocks of `BYTES` bytes, a multiple of 8.
pub(crate) struct SegmentWork<const BITS: usize, const BYTES: usize>;

impl<const BITS: usize, const BYTES: usize> SegmentWork<BITS, BYTES> {
    /// Steps for one byte.
    const STEPS: usize = 8 / BITS;

    /// A segment of a byte, in the lowest bits.
    #[inline(always)]
    const fn segment(byte: u8, step: usize) -> u8 {
        (byte << (BITS * step)) >> (8 - BITS)
    }

    /// The result for a segment: the first bits of an encrypted register are added to it.
    #[inline(always)]
    const fn added(input: u8, step: usize, encrypted: &[u8; BYTES]) -> u8 {
        Self::segment(input, step) ^ Self::segment(encrypted[0], 0)
    }

    /// Appends a segment to the first segments of a byte.
    #[inline(always)]
    const fn append(byte: &mut u8, segment: u8) {
        *byte = ((*byte as u16) << BITS) as u8 | segment;
    }

    /// Shifts a segment into the register, as one number from its words on.
    #[inline(always)]
    fn shift_in(register: &mut [u8; BYTES], segment: u8) {
        let mut entering = u64::from(segment);
        for word in register.as_chunks_mut().0.iter_mut().rev() {
            let bits = u64::from_be_bytes(*word);
            *word = (bits << BITS | entering).to_be_bytes();
            entering = bits >> (64 - BITS);
        }
    }

    /// Encrypts the segment of a byte with this number, given the encrypted register. Appends the result to `output`.
    #[inline(always)]
    pub(crate) fn encrypt_step(
        register: &mut [u8; BYTES],
        (input, step): (u8, usize),
        encrypted: &[u8; BYTES],
        output: &mut u8,
    ) {
        let segment = Self::added(input, step, encrypted);
        Self::shift_in(register, segment);
        Self::append(output, segment);
    }

    /// Encrypts a message, one step after another.
    #[inline(always)]
    pub(crate) fn encrypt(
        register: &mut [u8; BYTES],
        mut buffers: Buffers<'_>,
        mut cipher: impl FnMut(&mut [u8; BYTES]),
    ) {
        let mut block = Zeroizing::new([0; BYTES]);
        for at in 0..buffers.len_bytes() {
            let (input, mut output) = (buffers.input()[at], 0);
            for step in 0..Self::STEPS {
                *block = *register;
                cipher(&mut block);
                Self::encrypt_step(register, (input, step), &block, &mut output);
            }
            buffers.output_mut()[at] = output;
        }
    }

    /// Decrypts a message. The registers of many steps are encrypted together in `blocks`. The caller wipes them.
    #[inline(always)]
    pub(crate) fn decrypt(
        register: &mut [u8; BYTES],
        mut buffers: Buffers<'_>,
        blocks: &mut [[u8; BYTES]],
        mut cipher: impl FnMut(&mut [[u8; BYTES]]),
    ) {
        while !buffers.is_empty() {
            let count = (blocks.len() / Self::STEPS).min(buffers.len_bytes());
            let mut piece = buffers.take_front(count);
            let blocks = &mut blocks[..count * Self::STEPS];
            for (blocks, input) in blocks.chunks_exact_mut(Self::STEPS).zip(piece.input()) {
                for (step, block) in blocks.iter_mut().enumerate() {
                    *block = *register;
                    Self::shift_in(register, Self::segment(*input, step));
                }
            }
            cipher(blocks);
            for (at, blocks) in blocks.chunks_exact(Self::STEPS).enumerate() {
                let (input, mut output) = (piece.input()[at], 0);
                for (step, block) in blocks.iter().enumerate() {
                    Self::append(&mut output, Self::added(input, step, block));
                }
                piece.output_mut()[at] = output;
            }
        }
    }
}

/// Replaces the register by the one after this ciphertext: the last bytes of both, one after the other.
pub(crate) fn follow(register: &mut [u8], ciphertext: &[u8]) {
    let added = ciphertext.len().min(register.len());
    register.copy_within(added.., 0);
    let kept = register.len() - added;
    register[kept..].copy_from_slice(&ciphertext[ciphertext.len() - added..]);
}
