//! CTR that takes its first two rounds from a table in counter order.
//!
//! In round 1, column 0 depends only on bytes 0, 5, 10 and 15. One of them is the lowest counter byte b
//! (the last or first of the block). The others are constant for 2⁴⁰ blocks in either byte order, so column
//! 0 after round 1 is a function of b. The other three columns depend on the bytes next to b and change
//! once in 256 blocks. After its SubBytes, round 2 is linear over columns. The state after round 2 is
//! therefore `table[b] ⊕ rest`. The table costs 256 blocks per key and nonce, and `rest` one block per 256.
//! Eight of the ten rounds of AES-128 remain.
//!
//! The table is read at public places, in order: constant-time.
//!
//! Layout: `Repr::Blocks`, as in `instructions`.
//! Needs `AesLanes`.
//! Source: the caching of Park and Lee, "FACE: fast AES CTR mode encryption" (2018), here for registers of
//! several blocks.
//! Invariant: the table sets twelve bytes of its state to zero, and `rest` four. SubBytes maps each to S(0),
//! which is 0x63. After MixColumns these add up to 0x63 in every byte, and the table includes the correction.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::frames::counters;
use super::head::{GROUP_BLOCKS, NONCE_BITS};
use super::instructions::{BUNDLE_BLOCKS_MAX, Bundle, Cipher, IN_FLIGHT, over_bundles};
use super::key::WideKeys;
use super::rounds::{MIDDLE_LEAST, Middle};
use crate::arch::{AesLanes, Buffers, Isa, Kernel, Line, Wiped, each, ones_then_zeros};
use crate::block::{BLOCK_BYTES, Block, Direction, Family};
use crate::kernel::{Keys, Source, WholePart};
use crate::message::AeadMessage;
use crate::mode::ctr::counter::{ByteOrder, Counter};
use crate::mode::gcm::ghash::Ghash;
use crate::mode::gcm::kernel::{GcmKernel, GcmNonce, GcmParams};
use crate::mode::gcm_siv::kernel::GcmSivJob;

/// The number of blocks under one nonce for which the table pays. Making it costs two rounds of 256 blocks, memory and
/// the wiping of the table before: 250 ns on an Intel core (model 167), where it saves two rounds of a block, 0.13 ns.
const WORTH_BLOCKS: u64 = 2048;

/// Calls with fewer blocks do not use the table. Threads share it, so each use takes and releases a lock and
/// a reference.
const FEW_BLOCKS: usize = 128;

/// CTR by AES instructions, with rounds 1 and 2 from a table once that pays.
pub struct CachedCounter<W: AesLanes> {
    plain: Cipher<W>,
    isa: W::Isa,
    nonce: Mutex<Nonce>,
}

/// The most recent nonce, the number of blocks encrypted under it, and its table, if there is one.
///
/// Its fields are replaced one by one. A move of the whole would also copy gaps between fields from the stack, where
/// earlier calls may have left parts of a key.
struct Nonce {
    /// The high bits of its counters, and their byte order. They mean nothing before the first block.
    high: u128,
    order: ByteOrder,
    blocks: u64,
    table: Option<Arc<Wiped<Table>>>,
}

impl Nonce {
    const fn none() -> Self {
        Self { high: 0, order: ByteOrder::Big, blocks: 0, table: None }
    }

    /// Begins with no blocks of the nonce of a counter, unless it is this one.
    fn go_to(&mut self, counter: Counter) {
        let Counter { value: high, order } = counter.without_low(NONCE_BITS);
        if self.blocks == 0 || self.high != high || self.order != order {
            self.forget();
            self.high = high;
            self.order = order;
        }
    }

    fn forget(&mut self) {
        self.blocks = 0;
        self.table = None;
    }
}

/// The column-0 part of the state after round 2, for every lowest counter byte. The first entries are
/// repeated at the end for bundles that begin near the end.
type Table = [Line; (GROUP_BLOCKS + BUNDLE_BLOCKS_MAX) * BLOCK_BYTES / size_of::<Line>()];

impl<W: AesLanes> CachedCounter<W> {
    /// CTR under a key; `None` for keys of other ciphers.
    pub fn new(isa: W::Isa, keys: &Keys<'_>) -> Option<Wiped<Self>> {
        let key = keys.key_of(Family::Aes)?;
        let plain = Cipher::with_keys(isa, Direction::Encrypt, WideKeys::none(key.cipher().rounds()));
        let mut cached = Wiped::new(Self { plain, isa, nonce: Mutex::new(Nonce::none()) });
        cached.plain.take(key.bytes());
        Some(cached)
    }

    /// Runs many blocks, with the tables of their nonces.
    #[inline(never)]
    fn run_tabled(&self, mut first: Counter, mut buffers: Buffers<'_>) {
        while !buffers.is_empty() {
            let len_bytes = buffers.len_bytes();
            let blocks = len_bytes.div_ceil(BLOCK_BYTES);
            let left = usize::try_from(first.left_in_low(NONCE_BITS));
            let blocks = left.map_or(blocks, |left| left.min(blocks));
            let (mut now, later) = buffers.split_at(len_bytes.min(blocks * BLOCK_BYTES));
            match self.table(first, blocks) {
                None => self.plain.run(Source::Counter(first), now),
                Some(table) => self.isa.enter(CachedRun::<W> {
                    isa: self.isa,
                    keys: &self.plain.keys,
                    table: &table,
                    first,
                    buffers: &mut now,
                }),
            }
            first = first.skip(blocks as u128);
            buffers = later;
        }
    }

    /// The table of the nonce of counter `first`, if it pays after `blocks` more blocks.
    #[inline(never)]
    fn table(&self, first: Counter, blocks: usize) -> Option<Arc<Wiped<Table>>> {
        let mut nonce = self.nonce.lock().unwrap_or_else(PoisonError::into_inner);
        nonce.go_to(first);
        nonce.blocks = nonce.blocks.saturating_add(blocks as u64);
        if nonce.table.is_none() && nonce.blocks >= WORTH_BLOCKS {
            let mut table = Wiped::zeros();
            self.isa.enter(Fill::<W> { isa: self.isa, keys: &self.plain.keys, first, table: &mut table });
            nonce.table = Some(Arc::new(table));
        }
        nonce.table.clone()
    }
}

impl<W: AesLanes> fmt::Debug for CachedCounter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CachedCounter({} bits)", W::BITS)
    }
}

impl<W: AesLanes> WholePart for CachedCounter<W> {
    fn run(&self, source: Source<'_>, buffers: Buffers<'_>) {
        match source {
            Source::Counter(first) if buffers.len_bytes() >= FEW_BLOCKS * BLOCK_BYTES => {
                self.run_tabled(first, buffers);
            }
            _ => self.plain.run(source, buffers),
        }
    }

    fn block(&self, block: &mut Block) {
        self.plain.block(block);
    }

    fn counts_bytes(&self) -> bool {
        true
    }

    fn rekey(&mut self, key: &[u8]) -> bool {
        self.nonce.get_mut().unwrap_or_else(PoisonError::into_inner).forget();
        self.plain.rekey(key)
    }

    fn is_shallow(&self) -> bool {
        self.plain.is_shallow()
    }

    #[allow(private_interfaces, reason = "only the mode calls it")]
    fn gcm_siv(&self, job: &mut GcmSivJob<'_, '_>) -> bool {
        self.plain.gcm_siv(job)
    }
}

impl<W: AesLanes> GcmKernel for CachedCounter<W> {
    fn prepare(&mut self, h: &Block) -> Ghash {
        self.plain.prepare_gcm(h)
    }

    fn one(&self, params: &GcmParams<'_>, nonce: &GcmNonce, message: &mut AeadMessage<'_>) -> bool {
        self.plain.gcm(params, nonce, message)
    }

    fn short(&self, params: &GcmParams<'_>, messages: &mut [AeadMessage<'_>], right: &mut [bool]) -> usize {
        self.plain.gcm_short(params, messages, right)
    }
}

/// All ones in column 0 of every block.
#[inline(always)]
fn column_zero<W: AesLanes>(isa: W::Isa) -> W {
    W::broadcast(isa, &0xffff_ffff_u128.to_le_bytes())
}

/// Counter blocks after round 1.
#[inline(always)]
fn after_round_1<W: AesLanes>(isa: W::Isa, counters: W, first: &Line, second: &Line) -> W {
    (counters ^ first.load(isa)).encrypt_round(second.load(isa))
}

/// Fills a table.
struct Fill<'a, W: AesLanes> {
    isa: W::Isa,
    keys: &'a WideKeys,
    first: Counter,
    table: &'a mut Table,
}

impl<W: AesLanes> Kernel for Fill<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, first, table } = self;
        let first = Counter { value: first.value & !(GROUP_BLOCKS as u128 - 1), ..first };
        let (first_key, middle, _) = keys.split();
        let spare = W::splat(isa, 0x6363_6363_6363_6363);
        let zero = W::splat(isa, 0);
        let base = counters::<W>(isa, first.value, 1);
        let places = W::broadcast(isa, &first.order.places());
        for (i, place) in Line::all_bytes_mut(table).chunks_exact_mut(W::BYTES).enumerate() {
            // The lowest byte of `first` is zero, so nothing carries out of it.
            let low_byte = ((i * W::BLOCKS) % GROUP_BLOCKS) as u128;
            let counter = base.add_low_u64(W::broadcast(isa, &low_byte.to_le_bytes())).shuffle_bytes(places);
            let column = after_round_1::<W>(isa, counter, first_key, &middle[0]) & column_zero(isa);
            (column.encrypt_round(zero) ^ spare).store(place);
        }
    }
}

/// CTR within one nonce, with its table.
struct CachedRun<'a, 'b, W: AesLanes> {
    isa: W::Isa,
    keys: &'a WideKeys,
    table: &'a Table,
    first: Counter,
    buffers: &'a mut Buffers<'b>,
}

impl<W: AesLanes> Kernel for CachedRun<'_, '_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, table, first, buffers } = self;
        let (_, middle, last) = keys.split();
        let mut bundle = CachedBundle::<W> {
            states: CachedStates::new(isa, keys, table, first),
            middle: Middle::new(isa, &middle[TABLED..]),
            last: last.load(isa),
        };
        over_bundles(isa, &mut bundle, buffers);
    }
}

/// Rounds that the table and `rest` replace: the first two middle rounds.
const TABLED: usize = 2;

struct CachedBundle<'a, W: AesLanes> {
    states: CachedStates<'a, W>,
    middle: Middle<'a, W, { MIDDLE_LEAST - TABLED }>,
    last: W,
}

impl<W: AesLanes> Bundle<W> for CachedBundle<'_, W> {
    #[inline(always)]
    fn run<const N: usize>(&mut self, input: [W; N], block: usize) -> [W; N] {
        let mut state = self.states.after_round_2::<N>(block);
        let last_keys = each!(i < N => self.last ^ input[i]);
        self.middle.rounds::<N, true>(self.states.isa, &mut state, last_keys);
        state
    }
}

/// Counters after round 2, from a table.
struct CachedStates<'a, W: AesLanes> {
    isa: W::Isa,
    keys: &'a WideKeys,
    table: &'a Table,
    first: Counter,
    /// The part of the state after round 2 that the table omits, which is the same in a whole group.
    rest: W,
}

/// Ones, then zeros. Loaded from n blocks before the middle, it selects the first n blocks of a bundle.
pub(super) static FIRST_BLOCKS: [u8; 2 * BUNDLE_BLOCKS_MAX * BLOCK_BYTES] = ones_then_zeros();

impl<'a, W: AesLanes> CachedStates<'a, W> {
    /// Begins at a counter, with the table of its nonce.
    #[inline(always)]
    fn new(isa: W::Isa, keys: &'a WideKeys, table: &'a Table, first: Counter) -> Self {
        let mut states = Self { isa, keys, table, first, rest: W::splat(isa, 0) };
        states.rest = states.rest_of(first);
        states
    }

    #[inline(always)]
    fn rest_of(&self, counter: Counter) -> W {
        let block = W::broadcast(self.isa, &counter.block());
        let (first, middle, _) = self.keys.split();
        let columns = after_round_1(self.isa, block, first, &middle[0]) & !column_zero::<W>(self.isa);
        columns.encrypt_round(middle[1].load(self.isa))
    }

    /// The states of the counters from `first` plus `block` on. Bundles must follow one another.
    #[inline(always)]
    fn after_round_2<const N: usize>(&mut self, block: usize) -> [W; N] {
        let Self { isa, table, first, rest, .. } = self;
        let (isa, now) = (*isa, *rest);
        let counter = first.skip(block as u128);
        let low_byte = counter.value as usize % GROUP_BLOCKS;
        let entries = &Line::all_bytes(*table)[low_byte * BLOCK_BYTES..][..IN_FLIGHT * W::BYTES];
        let mut state: [W; N] = each!(i < N => W::load(isa, &entries[i * W::BYTES..][..W::BYTES]) ^ now);
        let blocks_left = GROUP_BLOCKS - low_byte;
        if blocks_left <= N * W::BLOCKS {
            self.rest = self.rest_of(counter.skip(GROUP_BLOCKS as u128));
            let change = now ^ self.rest;
            let mask = &FIRST_BLOCKS[(BUNDLE_BLOCKS_MAX - blocks_left) * BLOCK_BYTES..];
            for (i, word) in state.iter_mut().enumerate() {
                let before = W::load(isa, &mask[i * W::BYTES..][..W::BYTES]);
                *word = *word ^ (change & !before);
            }
        }
        state
    }
}
