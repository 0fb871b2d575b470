//! The contracts of registers. Each method of the traits in `arch` does what its documentation says, on every
//! register type of this machine, for all inputs that the contract covers.
//!
//! Each law computes the same result from arrays of bytes. It skips inputs for which the contract allows
//! several results.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![allow(dead_code, reason = "machines lack some kinds of registers")]

mod common;

use common::{counted, painted, skip};
use crossgrain::engine::arch::{
    AesLanes, ByteLanes, ByteTables, CarrylessLanes, GaloisBytes, Isa, Kernel, Lane32, Lane64, Register,
};
use crossgrain::engine::cipher::Description as _;
use crossgrain::engine::cipher::aes::description::Aes;
use crossgrain::engine::circuit::affine::multiply;
use crossgrain::for_each_register;
use crossgrain::{Block, Features};

/// Runs a law on every register of a kind.
macro_rules! on_each {
    ($kind:ident, $law:ident) => {
        for_each_register!($kind, W => run::<W>($law::<W>, stringify!($law)))
    };
}

/// Runs a law with the register's instructions enabled, if the CPU has them.
fn run<W: Register>(law: fn(W::Isa), name: &str) {
    match W::Isa::detect(Features::of_cpu()) {
        Some(isa) => {
            isa.enter(Law::<W> { isa, law });
            counted(1, "laws of a register");
        }
        None => skip(W::Isa::NAME, name),
    }
}

struct Law<W: Register> {
    isa: W::Isa,
    law: fn(W::Isa),
}

impl<W: Register> Kernel for Law<W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        (self.law)(self.isa);
    }
}

/// Bytes for a register, different for each seed.
fn bytes_for<W: Register>(seed: u64) -> Vec<u8> {
    painted(W::BYTES, seed)
}

/// A register with these bytes.
fn loaded<W: Register>(isa: W::Isa, bytes: &[u8]) -> W {
    W::load(isa, bytes)
}

/// The bytes of a register.
fn stored<W: Register>(word: W) -> Vec<u8> {
    let mut bytes = vec![0xee; W::BYTES];
    word.store(&mut bytes);
    bytes
}

/// Applies a function of two blocks to each 128-bit lane.
fn by_lanes(a: &[u8], b: &[u8], of: impl Fn(&Block, &Block) -> Block) -> Vec<u8> {
    let lanes = a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0);
    lanes.flat_map(|(a, b)| of(a, b)).collect()
}

fn shuffle_bytes<W: ByteLanes>(isa: W::Isa) {
    let data = bytes_for::<W>(1);
    for shift in 0..=255_u8 {
        // The result for indices 16 to 127 is machine-dependent.
        let indices: Vec<u8> = (0..W::BYTES).map(|i| (i as u8).wrapping_add(shift) & 0x8f).collect();
        let want = by_lanes(&data, &indices, |lane, indices| {
            indices.map(|index| if index < 16 { lane[usize::from(index)] } else { 0 })
        });
        assert_eq!(stored(loaded::<W>(isa, &data).shuffle_bytes(loaded(isa, &indices))), want);
    }
}

fn shuffle_bytes_up_to_15<W: ByteLanes>(isa: W::Isa) {
    let data = bytes_for::<W>(1);
    for shift in 0..=127_u8 {
        // The result for indices 128 to 255 is machine-dependent.
        let indices: Vec<u8> = (0..W::BYTES).map(|i| (i as u8).wrapping_add(shift) & 0x7f).collect();
        let want = by_lanes(&data, &indices, |lane, indices| {
            indices.map(|index| if index < 16 { lane[usize::from(index)] } else { 0 })
        });
        assert_eq!(stored(loaded::<W>(isa, &data).shuffle_bytes_up_to_15(isa, loaded(isa, &indices))), want);
    }
}

fn byte_where_top_bit_is_clear<W: ByteLanes>(isa: W::Isa) {
    for byte in 0..=255_u8 {
        let selector: Vec<u8> = (0..W::BYTES).map(|i| (i as u8).wrapping_add(byte.wrapping_mul(3))).collect();
        let want: Vec<u8> = selector.iter().map(|&s| if s < 128 { byte } else { 0 }).collect();
        assert_eq!(stored(W::byte_where_top_bit_is_clear(isa, byte, loaded(isa, &selector))), want);
    }
}

fn interleave<W: ByteLanes>(isa: W::Isa) {
    let (a, b) = (bytes_for::<W>(2), bytes_for::<W>(3));
    let (low, high) = W::interleave(loaded(isa, &a), loaded(isa, &b));
    let from = |first: usize| {
        by_lanes(&a, &b, move |a, b| {
            std::array::from_fn(|i| if i % 2 == 0 { a[first + i / 2] } else { b[first + i / 2] })
        })
    };
    assert_eq!((stored(low), stored(high)), (from(0), from(8)));
}

fn lanes_in_memory<W: ByteLanes>(isa: W::Isa) {
    let (data, block) = (bytes_for::<W>(4), painted(16, 5).try_into().unwrap());
    assert_eq!(stored(W::broadcast(isa, &block)), block.repeat(W::BYTES / 16));
    let with_zeros = |bytes: &[u8]| [bytes, &vec![0; W::BYTES - bytes.len()]].concat();
    assert_eq!(stored(W::load_lowest(isa, &block)), with_zeros(&block));
    let mut lowest = [0xee; 16];
    loaded::<W>(isa, &data).store_lowest(&mut lowest);
    assert_eq!(lowest, data[..16]);
    for len_bytes in 0..=W::BYTES {
        let part = with_zeros(&data[..len_bytes]);
        let word = loaded::<W>(isa, &data);
        assert_eq!(stored(W::load_part(isa, &data[..len_bytes])), part);
        assert_eq!(stored(W::load_part_just_stored(isa, &data[..len_bytes])), part);
        assert_eq!(stored(word.first_bytes(len_bytes)), part);
        let mut room = vec![0xee; W::BYTES + 1];
        word.store_part(&mut room[..len_bytes]);
        assert!(room[..len_bytes] == data[..len_bytes] && room[len_bytes..].iter().all(|&byte| byte == 0xee));
        if len_bytes.is_multiple_of(16) {
            assert_eq!(stored(W::load_lanes(isa, &data[..len_bytes])), part);
            let mut room = vec![0xee; W::BYTES + 1];
            word.store_lanes(&mut room[..len_bytes]);
            assert!(
                room[..len_bytes] == data[..len_bytes] && room[len_bytes..].iter().all(|&byte| byte == 0xee)
            );
        }
    }
}

fn bytes_as_numbers<W: ByteLanes>(isa: W::Isa) {
    for shift in 0..=255_u8 {
        let a: Vec<u8> = (0..W::BYTES).map(|i| (i as u8).wrapping_mul(5).wrapping_add(shift)).collect();
        let b: Vec<u8> = (0..W::BYTES).map(|i| (i as u8).wrapping_mul(77) ^ shift).collect();
        let want: Vec<u8> = a.iter().zip(&b).map(|(a, b)| a.wrapping_add(*b)).collect();
        assert_eq!(stored(loaded::<W>(isa, &a).add_bytes(loaded(isa, &b))), want);
        let zeros = a.iter().enumerate().fold(0, |bits, (i, &byte)| bits | u64::from(byte == 0) << i);
        assert_eq!(loaded::<W>(isa, &a).zero_bytes(), zeros);
    }
}

fn lanes_of_32_bits<W: Lane32>(isa: W::Isa) {
    assert_eq!(stored(W::splat_lanes(isa, 0x0403_0201)), [1, 2, 3, 4].repeat(W::BYTES / 4));
    let data = bytes_for::<W>(6);
    let want: Vec<u8> = data.as_chunks::<4>().0.iter().flat_map(|&[a, b, c, d]| [d, c, b, a]).collect();
    assert_eq!(stored(loaded::<W>(isa, &data).reverse_lane_bytes()), want);
    for lane in 0..W::BYTES / 4 {
        let mut data = vec![0; W::BYTES];
        data[4 * lane + lane % 4] = 0x80;
        let all = u64::MAX >> (64 - W::BYTES / 4);
        assert_eq!(loaded::<W>(isa, &data).zero_lanes(), all & !(1 << lane));
    }
    let rows: Vec<_> = (0..4).map(|i| bytes_for::<W>(10 + i)).collect();
    let columns = W::transpose_lanes(std::array::from_fn(|i| loaded(isa, &rows[i]))).map(stored);
    let lane = |word: &[u8], part: usize, i: usize| word[16 * part + 4 * i..][..4].to_vec();
    for part in 0..W::BYTES / 16 {
        for (i, j) in (0..16).map(|at| (at / 4, at % 4)) {
            assert_eq!(lane(&columns[i], part, j), lane(&rows[j], part, i));
        }
    }
}

fn lanes_of_64_bits<W: Lane64>(isa: W::Isa) {
    let lanes = |bytes: &[u8]| -> Vec<u64> {
        bytes.as_chunks().0.iter().map(|&lane| u64::from_le_bytes(lane)).collect()
    };
    for seed in 0..8 {
        let (a, b) = (bytes_for::<W>(170 + seed), bytes_for::<W>(190 + seed));
        let (x, y) = (loaded::<W>(isa, &a), loaded::<W>(isa, &b));
        let (a, b) = (lanes(&a), lanes(&b));
        let sums: Vec<_> = a.iter().zip(&b).map(|(a, b)| a.wrapping_add(*b)).collect();
        assert_eq!(lanes(&stored(x.add_lanes64(y))), sums);
        let rotated = |count| a.iter().map(|lane| lane.rotate_left(count)).collect::<Vec<_>>();
        assert_eq!(lanes(&stored(x.rotate_lanes64_left::<1>())), rotated(1));
        assert_eq!(lanes(&stored(x.rotate_lanes64_left::<36>())), rotated(36));
        assert_eq!(lanes(&stored(x.rotate_lanes64_left::<63>())), rotated(63));
    }
}

fn shifts<W: Register>(isa: W::Isa) {
    fn by<W: Register, const COUNT: u32>(isa: W::Isa) {
        let data = bytes_for::<W>(20);
        let each = |of: fn(u64) -> u64| -> Vec<u8> {
            data.as_chunks().0.iter().flat_map(|&group| of(u64::from_le_bytes(group)).to_le_bytes()).collect()
        };
        let word = loaded::<W>(isa, &data);
        assert_eq!(stored(word.shift_right::<COUNT>()), each(|group| group >> COUNT));
        assert_eq!(stored(word.shift_left::<COUNT>()), each(|group| group << COUNT));
    }
    by::<W, 1>(isa);
    by::<W, 7>(isa);
    by::<W, 32>(isa);
    by::<W, 63>(isa);
    let (a, b) = (bytes_for::<W>(21), bytes_for::<W>(22));
    let (first, second) = W::exchange_halves(loaded(isa, &a), loaded(isa, &b));
    let first_want = by_lanes(&a, &b, |a, b| [&a[..8], &b[..8]].concat().try_into().unwrap());
    let second_want = by_lanes(&a, &b, |a, b| [&a[8..], &b[8..]].concat().try_into().unwrap());
    assert_eq!((stored(first), stored(second)), (first_want, second_want));
    exchanges::<W, 0>(isa);
    exchanges::<W, 3>(isa);
    exchanges::<W, 5>(isa);
}

/// `Shift::exchange` moves each bit as documented.
fn exchanges<W: Register, const BIT: u32>(isa: W::Isa) {
    let (a, b) = (bytes_for::<W>(23), bytes_for::<W>(24));
    let clear = crossgrain::engine::arch::clear_positions(BIT);
    let (first, second) = loaded::<W>(isa, &a).exchange::<BIT>(loaded(isa, &b), W::splat(isa, clear));
    let groups = |bytes: &[u8]| -> Vec<u64> {
        bytes.as_chunks().0.iter().map(|&group| u64::from_le_bytes(group)).collect()
    };
    let (first, second) = (groups(&stored(first)), groups(&stored(second)));
    for (i, (a, b)) in groups(&a).into_iter().zip(groups(&b)).enumerate() {
        let by = 1 << BIT;
        assert_eq!(first[i], a & clear | (b & clear) << by, "{}", W::Isa::NAME);
        assert_eq!(second[i], (a & !clear) >> by | b & !clear, "{}", W::Isa::NAME);
    }
}

fn carryless_products<W: CarrylessLanes>(isa: W::Isa) {
    let product = |a: u64, b: u64| {
        (0..64).filter(|bit| b >> bit & 1 == 1).fold(0_u128, |sum, bit| sum ^ u128::from(a) << bit)
    };
    let halves = |block: &Block| {
        let number = u128::from_le_bytes(*block);
        (number as u64, (number >> 64) as u64)
    };
    for seed in 0..8 {
        let (a, b) = (bytes_for::<W>(30 + seed), bytes_for::<W>(50 + seed));
        let (x, y) = (loaded::<W>(isa, &a), loaded::<W>(isa, &b));
        let low = |a: &Block, b: &Block| product(halves(a).0, halves(b).0).to_le_bytes();
        let high = |a: &Block, b: &Block| product(halves(a).1, halves(b).1).to_le_bytes();
        let cross = |a: &Block, b: &Block| {
            (product(halves(a).0, halves(b).1) ^ product(halves(a).1, halves(b).0)).to_le_bytes()
        };
        assert_eq!(stored(x.low_product(y)), by_lanes(&a, &b, low));
        assert_eq!(stored(x.high_product(y)), by_lanes(&a, &b, high));
        assert_eq!(stored(x.cross_products(y)), by_lanes(&a, &b, cross));
    }
}

/// The round of FIPS 197 §5.1, or of §5.3.5 with the inverse S-box.
fn round(state: &Block, key: &Block, [inverse, last]: [bool; 2]) -> Block {
    let (table, row) = match inverse {
        false => (&Aes::BOXES[0].table, [2, 3, 1, 1]),
        true => (&Aes::BOXES[1].table, [14, 11, 13, 9]),
    };
    let shifted: Block = std::array::from_fn(|i| {
        let columns = if inverse { 4 - i % 4 } else { i % 4 };
        table[usize::from(state[(i + 4 * columns) % 16])]
    });
    std::array::from_fn(|i| {
        let column = &shifted[i / 4 * 4..][..4];
        let mixed = (0..4).fold(0, |sum, j| sum ^ multiply(column[(i + j) % 4], row[j]));
        key[i] ^ if last { shifted[i] } else { mixed }
    })
}

fn aes_rounds<W: AesLanes>(isa: W::Isa) {
    for seed in 0..16 {
        let (a, b) = (bytes_for::<W>(70 + seed), bytes_for::<W>(90 + seed));
        let (state, key) = (loaded::<W>(isa, &a), loaded::<W>(isa, &b));
        let want = |inverse, last| by_lanes(&a, &b, |state, key| round(state, key, [inverse, last]));
        assert_eq!(stored(state.encrypt_round(key)), want(false, false));
        assert_eq!(stored(state.encrypt_last_round(key)), want(false, true));
        assert_eq!(stored(state.decrypt_round(key)), want(true, false));
        assert_eq!(stored(state.decrypt_last_round(key)), want(true, true));
    }
}

fn blocks_in_lanes<W: AesLanes>(isa: W::Isa) {
    let (a, b) = (bytes_for::<W>(110), bytes_for::<W>(111));
    let (x, y) = (loaded::<W>(isa, &a), loaded::<W>(isa, &b));
    assert_eq!(stored(x.preceded_by(y)), [&b[W::BYTES - 16..], &a[..W::BYTES - 16]].concat());
    assert_eq!(stored(x.lowest_in_all()), a[..16].repeat(W::BLOCKS));
    assert_eq!(stored(x.pinned()), a);
    if W::BLOCKS > 1 {
        let both = [&a[..], &b].concat();
        let of =
            |odd: usize| -> Vec<u8> { both.chunks(16).skip(odd).step_by(2).flatten().copied().collect() };
        let (even, odd) = W::unzip_blocks(x, y);
        assert_eq!((stored(even), stored(odd)), (of(0), of(1)));
    }
    let low = by_lanes(&b, &b, |b, _| (u128::from_le_bytes(*b) & u128::from(u64::MAX)).to_le_bytes());
    let want = by_lanes(&a, &low, |a, low| {
        let (a, low) = (u128::from_le_bytes(*a), u128::from_le_bytes(*low));
        (a >> 64 << 64 | u128::from((a as u64).wrapping_add(low as u64))).to_le_bytes()
    });
    assert_eq!(stored(x.add_low_u64(loaded(isa, &low))), want);
}

/// `matrix` times a byte, as the documentation of [`GaloisBytes::affine`] defines it.
fn times(matrix: u64, byte: u8) -> u8 {
    (0..8).fold(0, |sum, i| {
        let row = matrix.to_le_bytes()[7 - i];
        sum | u8::from((row & byte).count_ones() % 2 == 1) << i
    })
}

fn galois_bytes<W: GaloisBytes>(isa: W::Isa) {
    let inverse = |byte: u8| (0..=255).find(|&other| multiply(byte, other) == 1).unwrap_or(0);
    for seed in 0..32 {
        let matrix = u64::from_le_bytes(painted(8, 120 + seed).try_into().unwrap());
        let (a, b) = (bytes_for::<W>(160 + seed), bytes_for::<W>(200 + seed));
        let (x, y) = (loaded::<W>(isa, &a), loaded::<W>(isa, &b));
        let each = |of: &dyn Fn(u8) -> u8| a.iter().map(|&byte| of(byte)).collect::<Vec<u8>>();
        assert_eq!(stored(x.affine::<0x63>(isa, matrix)), each(&|byte| times(matrix, byte) ^ 0x63));
        let want = each(&|byte| times(matrix, inverse(byte)) ^ 5);
        assert_eq!(stored(x.affine_of_inverse::<5>(isa, matrix)), want);
        let products: Vec<u8> = a.iter().zip(&b).map(|(&a, &b)| multiply(a, b)).collect();
        assert_eq!(stored(x.multiply_bytes(y)), products);
    }
}

fn byte_tables<W: ByteTables>(isa: W::Isa) {
    let table = painted(256, 240);
    let registers = std::array::from_fn(|i| loaded::<W>(isa, &table[i * W::BYTES..][..W::BYTES]));
    for shift in 0..=255_u8 {
        let indices: Vec<u8> = (0..W::BYTES).map(|i| (i as u8).wrapping_add(shift)).collect();
        let want: Vec<u8> = indices.iter().map(|&index| table[usize::from(index)]).collect();
        assert_eq!(stored(loaded::<W>(isa, &indices).look_up(&registers)), want);
    }
}

#[test]
fn registers_of_bytes_keep_their_contract() {
    on_each!(all, shuffle_bytes);
    on_each!(all, shuffle_bytes_up_to_15);
    on_each!(all, byte_where_top_bit_is_clear);
    on_each!(all, interleave);
    on_each!(all, lanes_in_memory);
    on_each!(all, bytes_as_numbers);
    on_each!(aes, shuffle_bytes);
    on_each!(aes, lanes_in_memory);
}

#[test]
fn registers_of_words_keep_their_contract() {
    on_each!(all, lanes_of_32_bits);
    on_each!(all, lanes_of_64_bits);
    on_each!(all, shifts);
}

#[test]
fn registers_of_blocks_keep_their_contract() {
    on_each!(carryless_from_widest, carryless_products);
    on_each!(aes, aes_rounds);
    on_each!(aes, blocks_in_lanes);
}

#[test]
fn registers_with_galois_instructions_keep_their_contract() {
    on_each!(galois_of_16, galois_bytes);
    on_each!(galois_of_32, galois_bytes);
    on_each!(byte_tables, byte_tables);
    on_each!(byte_tables_and_galois, byte_tables);
}
