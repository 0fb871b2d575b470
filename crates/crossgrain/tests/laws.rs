//! Circuits, representations, conversions, counters and key schedules against their definitions: in every
//! lane of every register, for every bit that can be distinguished.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{bundle_blocks, cases, ciphers, here, key, key_of, loads, other, painted, skip, stores};
use crossgrain::engine::arch::{Isa, Kernel, Register, Tile};
use crossgrain::engine::block::Family;
use crossgrain::engine::cipher::Description;
use crossgrain::engine::cipher::aes::description::{Aes, schedule};
use crossgrain::engine::cipher::aes::key::RoundKeys;
use crossgrain::engine::cipher::aes::linear_circuit as aes_linear;
use crossgrain::engine::cipher::kuznyechik::Kuznyechik;
use crossgrain::engine::cipher::serpent::description as serpent;
use crossgrain::engine::cipher::serpent::sbox_circuit as serpent_sbox;
use crossgrain::engine::circuit::affine::multiply;
use crossgrain::engine::circuit::pi_sbox::{self, Permutation};
use crossgrain::engine::circuit::{Bits, aes_sbox};
use crossgrain::engine::kernel::{Count, Keys};
use crossgrain::engine::layout::repr::{Repr, lane, shifted};
use crossgrain::engine::mode::ctr::counter::{ByteOrder, Counter};
use crossgrain::engine::variant::{Action, Variant, table};
use crossgrain::for_each_register;
use crossgrain::plan::JobSource;
use crossgrain::{BLOCK_BYTES, Buffers, Direction, Features};
use proptest::prelude::any;
use proptest::proptest;

/// Bytes in a tile.
const TILE_BYTES: usize = 8192;

/// MixColumns' matrix and its inverse by their first rows (FIPS 197 §5.1.3 and §5.3.3).
const MIX_COLUMN: [u8; 4] = [2, 3, 1, 1];
const INV_MIX_COLUMN: [u8; 4] = [14, 11, 13, 9];

/// Four bytes, row 0 first.
type Column = [u8; 4];

/// The product of the circulant matrix with this first row and a column.
fn multiplied(row: Column, column: Column) -> Column {
    std::array::from_fn(|r| (0..4).fold(0, |sum, i| sum ^ multiply(row[(4 + i - r) % 4], column[i])))
}

/// Runs a law on every register type that this CPU has.
macro_rules! on_every_register {
    ($law:ident) => {
        on_register($law::<u32>);
        on_register($law::<u64>);
        for_each_register!(all, W => on_register($law::<W>));
        for_each_register!(more_gates, W => on_register($law::<W>));
        for_each_register!(aes, W => on_register($law::<W>));
    };
}

fn on_register<I: Isa>(law: fn(I)) {
    match I::detect(Features::of_cpu()) {
        Some(isa) => {
            law(isa);
            common::counted(1, "laws of a register");
        }
        None => skip(I::NAME, "a circuit in its registers"),
    }
}

/// The circuits, as maps on columns.
#[derive(Clone, Copy, Debug)]
enum Circuit {
    Sbox,
    InvSbox,
    MixColumn,
    InvMixColumn,
}

/// One column per lane, in bit planes: plane `8·row + bit` holds that bit of every lane.
type Planes = [[u8; 64]; 32];

struct OnPlanes<'a, W: Register>(W::Isa, Circuit, &'a mut Planes);

impl<W: Register> Kernel for OnPlanes<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, circuit, planes) = self;
        let word = |plane: usize| W::load(isa, &planes[plane][..W::BYTES]);
        let column: [Bits<W>; 4] = std::array::from_fn(|row| std::array::from_fn(|bit| word(8 * row + bit)));
        let column = match circuit {
            Circuit::Sbox => column.map(aes_sbox::forward),
            Circuit::InvSbox => column.map(aes_sbox::inverse),
            Circuit::MixColumn => aes_linear::mix_column(column),
            Circuit::InvMixColumn => aes_linear::inv_mix_column(column),
        };
        for (plane, word) in planes.iter_mut().zip(column.into_iter().flatten()) {
            word.store(&mut plane[..W::BYTES]);
        }
    }
}

/// Runs a circuit on one column per lane.
fn through<W: Register>(isa: W::Isa, circuit: Circuit, columns: &[Column]) -> Vec<Column> {
    assert_eq!(columns.len(), W::BITS);
    let mut planes = [[0; 64]; 32];
    for (lane, column) in columns.iter().enumerate() {
        for (plane, bits) in planes.iter_mut().enumerate() {
            bits[lane / 8] |= (column[plane / 8] >> (plane % 8) & 1) << (lane % 8);
        }
    }
    isa.enter(OnPlanes::<W>(isa, circuit, &mut planes));
    let bit = |lane: usize, plane: usize| planes[plane][lane / 8] >> (lane % 8) & 1;
    let byte = |lane, row| (0..8).fold(0, |byte, plane| byte | bit(lane, 8 * row + plane) << plane);
    (0..W::BITS).map(|lane| std::array::from_fn(|row| byte(lane, row))).collect()
}

#[test]
fn s_box_circuits_are_the_tables_on_all_inputs_in_every_lane() {
    fn law<W: Register>(isa: W::Isa) {
        for k in 0..256 {
            let inputs: Vec<Column> = (0..W::BITS)
                .map(|lane| [0, 64, 128, 192].map(|row| ((lane + k + row) % 256) as u8))
                .collect();
            for (lane, (output, input)) in
                through::<W>(isa, Circuit::Sbox, &inputs).iter().zip(&inputs).enumerate()
            {
                let want = input.map(|byte| Aes::BOXES[0].table[usize::from(byte)] ^ aes_sbox::CONSTANT);
                assert_eq!(*output, want, "S-box in lane {lane} of {}", W::BITS);
            }
            for (lane, (output, input)) in
                through::<W>(isa, Circuit::InvSbox, &inputs).iter().zip(&inputs).enumerate()
            {
                let want = input.map(|byte| Aes::BOXES[1].table[usize::from(byte ^ aes_sbox::CONSTANT)]);
                assert_eq!(*output, want, "inverse S-box in lane {lane} of {}", W::BITS);
            }
        }
    }
    on_every_register!(law);
}

/// π or its inverse on eight bits per lane.
struct OnBytes<'a, W: Register>(W::Isa, Permutation, &'a mut [[u8; 64]; 8]);

impl<W: Register> Kernel for OnBytes<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, permutation, planes) = self;
        let bits: Bits<W> = std::array::from_fn(|i| W::load(isa, &planes[i][..W::BYTES]));
        for (plane, word) in planes.iter_mut().zip(pi_sbox::gates(permutation, bits)) {
            word.store(&mut plane[..W::BYTES]);
        }
    }
}

#[test]
fn kuznyechiks_s_box_circuits_are_the_tables_on_all_inputs_in_every_lane() {
    fn law<W: Register>(isa: W::Isa) {
        let [pi, inverse] = [0, 1].map(|number: usize| &Kuznyechik::BOXES[number]);
        for (sbox, k) in [pi, inverse].into_iter().flat_map(|sbox| (0..256).map(move |k| (sbox, k))) {
            let input = |lane: usize| ((lane + k) % 256) as u8;
            let mut planes = [[0; 64]; 8];
            for (lane, i) in (0..W::BITS).flat_map(|lane| (0..8).map(move |i| (lane, i))) {
                planes[i][lane / 8] |= (input(lane) >> i & 1) << (lane % 8);
            }
            isa.enter(OnBytes::<W>(isa, sbox.pi.unwrap(), &mut planes));
            for lane in 0..W::BITS {
                let bit = |i: usize| planes[i][lane / 8] >> (lane % 8) & 1;
                let output = (0..8).fold(0, |output, i| output | bit(i) << i);
                assert_eq!(output, sbox.table[usize::from(input(lane))], "lane {lane} of {}", W::BITS);
            }
        }
    }
    on_every_register!(law);
}

/// One of Serpent's S-boxes on four bits per lane.
struct OnNibbles<'a, W: Register>(W::Isa, Direction, usize, &'a mut [[u8; 64]; 4]);

impl<W: Register> Kernel for OnNibbles<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, direction, index, planes) = self;
        let bits: [W; 4] = std::array::from_fn(|i| W::load(isa, &planes[i][..W::BYTES]));
        let bits = match direction {
            Direction::Encrypt => serpent_sbox::forward(index, bits),
            Direction::Decrypt => serpent_sbox::inverse(index, bits),
        };
        for (plane, word) in planes.iter_mut().zip(bits) {
            word.store(&mut plane[..W::BYTES]);
        }
    }
}

#[test]
fn serpents_s_box_circuits_are_the_tables_on_all_inputs_in_every_lane() {
    fn law<W: Register>(isa: W::Isa) {
        for (index, k) in (0..8).flat_map(|index| (0..16).map(move |k| (index, k))) {
            let input = |lane: usize| (lane + k) % 16;
            for direction in Direction::ALL {
                let table = match direction {
                    Direction::Encrypt => serpent::S_BOXES[index],
                    Direction::Decrypt => serpent::inverted(&serpent::S_BOXES[index]),
                };
                let mut planes = [[0; 64]; 4];
                for (lane, i) in (0..W::BITS).flat_map(|lane| (0..4).map(move |i| (lane, i))) {
                    planes[i][lane / 8] |= ((input(lane) >> i & 1) << (lane % 8)) as u8;
                }
                isa.enter(OnNibbles::<W>(isa, direction, index, &mut planes));
                for lane in 0..W::BITS {
                    let bit = |i: usize| planes[i][lane / 8] >> (lane % 8) & 1;
                    let output = (0..4).fold(0, |output, i| output | bit(i) << i);
                    assert_eq!(
                        output,
                        table[input(lane)],
                        "S{index} {direction:?}, lane {lane} of {}",
                        W::BITS
                    );
                }
            }
        }
    }
    on_every_register!(law);
}

/// First every column with a single bit set, in every lane, then random columns.
fn columns(lanes: usize) -> impl Iterator<Item = Vec<Column>> {
    let single = move |k: usize| -> Vec<Column> {
        (0..lanes).map(|lane| (1_u32 << ((lane + k) % 32)).to_le_bytes()).collect()
    };
    let random = move |seed| -> Vec<Column> {
        painted(4 * lanes, seed).chunks(4).map(|column| column.try_into().unwrap()).collect()
    };
    (0..32).map(single).chain((0..32).map(random))
}

#[test]
fn mix_column_circuits_are_the_matrices_in_every_lane() {
    fn law<W: Register>(isa: W::Isa) {
        for (circuit, matrix) in [(Circuit::MixColumn, MIX_COLUMN), (Circuit::InvMixColumn, INV_MIX_COLUMN)] {
            for inputs in columns(W::BITS) {
                let want: Vec<_> = inputs.iter().map(|&column| multiplied(matrix, column)).collect();
                assert_eq!(through::<W>(isa, circuit, &inputs), want, "{circuit:?} on {} lanes", W::BITS);
            }
        }
    }
    on_every_register!(law);
}

#[test]
fn mix_column_circuits_undo_one_another() {
    fn law<W: Register>(isa: W::Isa) {
        for (first, second) in
            [(Circuit::MixColumn, Circuit::InvMixColumn), (Circuit::InvMixColumn, Circuit::MixColumn)]
        {
            for inputs in columns(W::BITS) {
                let mixed = through::<W>(isa, first, &inputs);
                assert_eq!(through::<W>(isa, second, &mixed), inputs, "{first:?} on {} lanes", W::BITS);
            }
        }
    }
    on_every_register!(law);
}

/// Every representation that some variant uses.
fn reprs() -> Vec<Repr> {
    let mut reprs: Vec<Repr> = Vec::new();
    for variant in table() {
        if !reprs.contains(&variant.repr) {
            reprs.push(variant.repr);
        }
    }
    reprs
}

/// The phases that a tile can have. Along the grain only phase 0 exists, because ShiftRows moves the bytes.
fn phases(repr: Repr) -> std::ops::Range<usize> {
    if repr == Repr::Blocks { 0..1 } else { 0..4 }
}

#[test]
fn the_index_map_gives_every_bit_of_a_bundle_a_place_of_its_own() {
    for repr in reprs() {
        for phase in phases(repr) {
            let mut taken = vec![false; bundle_blocks(repr) * 128];
            for (block, byte, bit) in bits_of(bundle_blocks(repr)) {
                let place = repr.place(block, byte, bit, phase);
                assert!(!std::mem::replace(&mut taken[place], true), "{repr} phase {phase}: {place} twice");
            }
        }
    }
}

#[test]
fn a_phase_is_one_shift_rows() {
    // FIPS 197 §5.1.2: ShiftRows moves row r of column c + r to column c.
    for (to, column, row) in (0..16).map(|to| (to, to / 4, to % 4)) {
        assert_eq!(shifted(to, 1), 4 * ((column + row) % 4) + row);
        for phase in 0..8 {
            assert_eq!(shifted(to, phase + 1), shifted(shifted(to, phase), 1));
        }
        assert_eq!(shifted(to, 4), to);
    }
}

#[test]
fn neighbours_lie_in_neighbouring_parts_of_a_register() {
    for bits in [32, 64, 128, 256, 512] {
        let parts = (bits / 128).max(1);
        for block in 0..bits {
            assert_eq!(lane(bits, block) / 128, block % parts, "block {block} of {bits}");
        }
    }
}

/// The bits of `blocks` blocks: block, byte, bit.
fn bits_of(blocks: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..blocks).flat_map(|block| (0..128).map(move |bit| (block, bit / 8, bit % 8)))
}

/// A tile with arbitrary contents, as left by an earlier bundle.
fn dirty_tile(seed: u64) -> Tile {
    let mut tile = Tile::new();
    tile.bytes_mut().copy_from_slice(&painted(TILE_BYTES, seed));
    tile.phase = (seed % 4) as u8;
    tile
}

fn set(bytes: &mut [u8], place: usize) {
    bytes[place / 8] |= 1 << (place % 8);
}

fn get(bytes: &[u8], place: usize) -> bool {
    bytes[place / 8] >> (place % 8) & 1 == 1
}

/// The tile contents for these blocks, built from the representation's index map.
fn laid_out(repr: Repr, blocks: &[u8], phase: usize) -> Vec<u8> {
    let mut tile = vec![0; blocks.len()];
    for (block, byte, bit) in bits_of(blocks.len() / BLOCK_BYTES) {
        if get(blocks, 8 * (BLOCK_BYTES * block + byte) + bit) {
            set(&mut tile, repr.place(block, byte, bit, phase));
        }
    }
    tile
}

#[test]
fn one_bit_loaded_lands_where_the_index_map_says() {
    for (variant, load) in loads() {
        let len = BLOCK_BYTES * bundle_blocks(variant.repr);
        let (mut tile, mut scratch) = (dirty_tile(1), dirty_tile(2));
        for (block, byte, bit) in bits_of(bundle_blocks(variant.repr)) {
            let (mut input, mut want) = (vec![0; len], vec![0; len]);
            set(&mut input, 8 * (BLOCK_BYTES * block + byte) + bit);
            set(&mut want, variant.repr.place(block, byte, bit, 0));
            load.load(&input, &mut tile, &mut scratch);
            assert!(tile.bytes()[..len] == want, "{}: bit {bit} of {byte} of {block}", variant.name);
            assert_eq!(tile.phase, 0, "{}", variant.name);
        }
    }
}

#[test]
fn one_bit_is_stored_from_where_the_index_map_says() {
    for (variant, store) in stores() {
        let len = BLOCK_BYTES * bundle_blocks(variant.repr);
        let (mut tile, mut scratch) = (Tile::new(), dirty_tile(3));
        let mut output = vec![0; len];
        for phase in phases(variant.repr) {
            tile.phase = phase as u8;
            for (block, byte, bit) in bits_of(bundle_blocks(variant.repr)) {
                let mut want = vec![0; len];
                set(&mut want, 8 * (BLOCK_BYTES * block + byte) + bit);
                tile.bytes_mut().fill(0);
                set(tile.bytes_mut(), variant.repr.place(block, byte, bit, phase));
                store.store(&tile, &mut scratch, false, Buffers::in_place(&mut output));
                let bit = format!("bit {bit} of {byte} of {block} in phase {phase}");
                assert!(output == want, "{}: {bit}", variant.name);
            }
        }
    }
}

#[test]
fn random_bundles_lie_as_the_index_map_says() {
    for (variant, load) in loads() {
        for seed in 0..8 {
            let input = painted(BLOCK_BYTES * bundle_blocks(variant.repr), seed);
            let mut tile = dirty_tile(seed + 1);
            load.load(&input, &mut tile, &mut dirty_tile(seed + 2));
            assert!(tile.bytes()[..input.len()] == laid_out(variant.repr, &input, 0), "{}", variant.name);
        }
    }
    for (variant, store) in stores() {
        for (seed, phase) in (0..8).flat_map(|seed| phases(variant.repr).map(move |phase| (seed, phase))) {
            let want = painted(BLOCK_BYTES * bundle_blocks(variant.repr), seed);
            let mut tile = dirty_tile(seed);
            tile.bytes_mut()[..want.len()].copy_from_slice(&laid_out(variant.repr, &want, phase));
            tile.phase = phase as u8;
            let mut output = vec![0; want.len()];
            store.store(&tile, &mut dirty_tile(seed + 2), false, Buffers::in_place(&mut output));
            assert!(output == want, "{} in phase {phase}", variant.name);
        }
    }
}

#[test]
fn a_bundle_loaded_in_any_way_and_stored_in_any_other_comes_back() {
    let stores = stores();
    for (way_in, load) in loads() {
        for (way_out, store) in stores.iter().filter(|(way_out, _)| way_out.repr == way_in.repr) {
            for seed in 0..8 {
                let names = format!("{} > {}", way_in.name, way_out.name);
                let input = painted(BLOCK_BYTES * bundle_blocks(way_in.repr), seed);
                let (mut tile, mut scratch) = (dirty_tile(seed), dirty_tile(seed + 1));
                load.load(&input, &mut tile, &mut scratch);

                let mut data = painted(input.len(), seed + 2);
                store.store(&tile, &mut scratch, false, Buffers::in_place(&mut data));
                assert!(data == input, "{names}, in place");

                let other = painted(input.len(), seed + 3);
                let sum: Vec<u8> = input.iter().zip(&other).map(|(a, b)| a ^ b).collect();
                store.store(&tile, &mut scratch, true, Buffers::apart(&other, &mut data).unwrap());
                assert!(data == sum, "{names}, added, apart");
                store.store(&tile, &mut scratch, true, Buffers::in_place(&mut data));
                assert!(data == other, "{names}, added, in place");
            }
        }
    }
}

/// First counters of bundles. Each possible carry occurs, within a bundle of `blocks` or just after it.
fn counters_that_carry(blocks: usize) -> Vec<u128> {
    let blocks = blocks as u128;
    let mut firsts = vec![0, 1, 0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978];
    for bit in 0..128 {
        let power = 1_u128 << bit;
        let back = [1, 2, blocks / 2, blocks - 1, blocks, blocks + 1];
        firsts.extend(back.map(|back| power.wrapping_sub(back)));
    }
    firsts.extend((1..=blocks + 1).map(|back| 0_u128.wrapping_sub(back)));
    firsts
}

/// Consecutive counter blocks.
fn counted(first: Counter, blocks: usize) -> Vec<u8> {
    let bytes_of = |value: u128| match first.order {
        ByteOrder::Big => value.to_be_bytes(),
        ByteOrder::Little => value.to_le_bytes(),
    };
    (0..blocks as u128).flat_map(|n| bytes_of(first.value.wrapping_add(n))).collect()
}

/// Compares one run of a counter source with blocks laid out by the index map.
fn check_run(variant: &Variant, source: &dyn Count, firsts: &[u128], blocks_of: impl Fn(Counter) -> Vec<u8>) {
    let blocks = bundle_blocks(variant.repr);
    let mut run = source.begin();
    let mut tile = dirty_tile(5);
    // Both byte orders in alternation: cached state for one order must not be used for the other.
    for first in firsts.iter().flat_map(|&first| [Counter::big_endian(first), Counter::little_endian(first)])
    {
        run.count(first, &mut tile, &mut [Tile::new(), Tile::new()], blocks);
        let want = laid_out(variant.repr, &blocks_of(first), usize::from(tile.phase));
        assert!(tile.bytes()[..want.len()] == want, "{} from {first:#x?}", variant.name);
    }
}

#[test]
fn counters_are_born_as_counters_laid_out() {
    for variant in table() {
        let Action::Count(bind) = variant.action else { continue };
        let Some(variant) = here(variant) else { continue };
        let blocks = bundle_blocks(variant.repr);
        let source = bind(Features::of_cpu()).unwrap();
        check_run(variant, &*source, &counters_that_carry(blocks), |first| counted(first, blocks));
    }
}

#[test]
fn encrypted_counters_are_born_as_encrypted_counters_laid_out() {
    for variant in table() {
        let Action::CountEncrypted(bind) = variant.action else { continue };
        let Some(variant) = here(variant) else { continue };
        let blocks = bundle_blocks(variant.repr);
        // Starting points in mixed order, so that state cached across bundles is not used past its range.
        let mut firsts: Vec<u128> = counters_that_carry(blocks).into_iter().step_by(5).collect();
        firsts.extend([1 << 16, 1 << 17, (1 << 16) + 512, (1 << 16) - 1, 1 << 16, 0, 1 << 80, 0]);
        for cipher in ciphers(variant.family.unwrap()) {
            let key = key(cipher, 6);
            let source = bind(Features::of_cpu(), &Keys::of(&key, Features::of_cpu())).unwrap();
            check_run(variant, &*source, &firsts, |first| {
                let mut blocks = counted(first, blocks);
                other(&key, Direction::Encrypt, JobSource::Bytes, 0, &mut blocks);
                blocks
            });
        }
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn round_keys_are_the_references(bytes in any::<[u8; 32]>()) {
        for cipher in ciphers(Family::Aes) {
            let key = key_of(&bytes[..cipher.key_bytes()]);
            let want = schedule::<16>(key.bytes(), Direction::Encrypt);
            for features in [Features::NONE, Features::of_cpu()] {
                let keys = RoundKeys::expand(&key, features);
                assert_eq!(keys.blocks().as_flattened(), &want[..]);
                assert_eq!(keys.rounds(), cipher.rounds());
            }
        }
    }

    /// FIPS 197 §5.3.5: the round keys in reverse order, with InvMixColumns applied to the inner ones.
    #[test]
    fn equivalent_inverse_round_keys_are_by_definition(bytes in any::<[u8; 32]>()) {
        for cipher in ciphers(Family::Aes) {
            let key = key_of(&bytes[..cipher.key_bytes()]);
            let forward = schedule::<16>(key.bytes(), Direction::Encrypt);
            let want = forward.chunks(16).rev().enumerate().flat_map(|(round, key)| {
                let columns = key.chunks(4).map(|column| column.try_into().unwrap());
                let mixed = columns.flat_map(|column| multiplied(INV_MIX_COLUMN, column)).collect();
                if round == 0 || round == cipher.rounds() { key.to_vec() } else { mixed }
            });
            let inverse = RoundKeys::expand(&key, Features::of_cpu()).equivalent_inverse();
            assert_eq!(inverse.blocks().as_flattened(), want.collect::<Vec<u8>>());
        }
    }
}

#[test]
fn what_follows_is_known_for_long_jobs_alone() {
    let mut data = vec![0; 2 * Buffers::LONG_BYTES];
    let (first, rest) = Buffers::in_place(&mut data).split_at(64);
    assert_eq!(first.ahead_bytes(), rest.len_bytes());
    // A piece of a piece counts everything that follows in the whole buffer.
    assert_eq!(first.split_at(16).0.ahead_bytes(), 2 * Buffers::LONG_BYTES - 16);
    let (middle, last) = rest.split_at(Buffers::LONG_BYTES);
    assert_eq!((middle.ahead_bytes(), last.ahead_bytes()), (Buffers::LONG_BYTES - 64, 0));
    // The rest is too short to count as long.
    assert_eq!(last.split_at(64).0.ahead_bytes(), 0);
}

#[test]
fn asking_ahead_touches_nothing() {
    let (input, mut output) = (vec![1; Buffers::LONG_BYTES], vec![2; Buffers::LONG_BYTES]);
    let mut buffers = Buffers::apart(&input, &mut output).unwrap();
    for at in [0, Buffers::LONG_BYTES - 64, Buffers::LONG_BYTES, usize::MAX / 2] {
        buffers.prefetch(at, 64);
    }
    assert!(output.iter().all(|&byte| byte == 2));
}
