//! The types of `arch` that are written with `unsafe`: boxes, lines, tiles and buffers. They keep their promises on
//! integers. `cargo xtask sanitize` runs this suite under Miri, which also finds undefined behaviour.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::cell::Cell;
use std::rc::Rc;

use crossgrain::engine::arch::{Line, Portable, Tile, Wiped};
use crossgrain::engine::cipher::aes::key::RoundKeys;
use crossgrain::engine::cipher::aes::table;
use crossgrain::engine::kernel::{Source, WholePart};
use crossgrain::{Block, Buffers, Cipher, Direction, Features, Key};

/// A value with the alignment of the widest register. It counts its drops.
#[repr(align(64))]
struct Told(Rc<Cell<usize>>, u8);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

trait Tells {
    fn told(&mut self) -> &mut u8;
}

impl Tells for Told {
    fn told(&mut self) -> &mut u8 {
        &mut self.1
    }
}

#[test]
fn boxes_align_their_value_and_drop_it_once() {
    let dropped = Rc::new(Cell::new(0));
    for number in 0..20 {
        let mut own = Wiped::new(Told(Rc::clone(&dropped), number));
        assert!((&raw const *own).addr().is_multiple_of(64));
        *own.told() += 1;
        let mut viewed: Wiped<dyn Tells> = own.as_dyn(|own| own);
        assert_eq!(*viewed.told(), number + 1);
        let boxed: Box<dyn Tells> = Box::new(Told(Rc::clone(&dropped), 7));
        assert_eq!(*Wiped::from(boxed).told(), 7);
        assert_eq!(dropped.get(), 2 * usize::from(number) + 1);
    }
    assert_eq!(dropped.get(), 40);
}

#[test]
#[should_panic = "assertion failed"]
fn boxes_refuse_a_view_of_something_else() {
    let pair = Wiped::new([[1_u8; 2]; 2]);
    drop(pair.as_dyn::<[u8; 2]>(|pair| &mut pair[1]));
}

#[test]
fn lines_are_bytes() {
    let mut lines = Wiped::<[Line; 3]>::zeros();
    assert_eq!(Line::all_bytes(&*lines), &[0; 192]);
    let block: Block = std::array::from_fn(|i| i as u8);
    lines[1] = Line::of(&block);
    assert_eq!(lines[1].block(), &block);
    assert_eq!(Line::all_bytes(&*lines)[64..128], [block; 4].concat());
    Line::all_bytes_mut(&mut *lines)[191] = 5;
    assert_eq!(lines[2].bytes()[63], 5);
    lines[2].bytes_mut()[0] = 6;
    assert_eq!(lines[2].load::<u64>(Portable), u64::from_le_bytes([6, 0, 0, 0, 0, 0, 0, 0]));
}

#[test]
fn tiles_are_words() {
    let mut tile = Tile::new();
    *tile.bundle_mut::<u64, 2>(Portable, 3) = [1, 2];
    assert_eq!(tile.bytes()[48..64], [1_u64.to_le_bytes(), 2_u64.to_le_bytes()].concat());
    assert_eq!(tile.bundles_mut::<u64, 2>(Portable, 4)[3], [1, 2]);
    tile.wipe();
    assert_eq!(tile.bundle::<u64, 2>(Portable, 3), &[0, 0]);
}

#[test]
fn buffers_split_into_disjoint_parts() {
    let input: Vec<u8> = (0..100).collect();
    let mut output = vec![0; 100];
    let (mut first, rest) = Buffers::from((&input, &mut output)).split_at(33);
    let (middle, mut last) = rest.split_at(50);
    first.output_mut().fill(1);
    last.output_mut().fill(2);
    assert_eq!(middle.input(), &input[33..83]);
    let word: u64 = last.load(Portable, 3);
    last.store(9, word);
    assert_eq!(output[..33], [1; 33]);
    assert_eq!(output[33..83], [0; 50]);
    assert_eq!(output[92..100], input[86..94]);
}

#[test]
fn a_kernel_runs_in_place_and_apart() {
    let key = Key::new(Cipher::Aes128, &[7; 16]).unwrap();
    let keys = RoundKeys::expand(&key, Features::NONE);
    let [encrypts, decrypts] = Direction::ALL.map(|direction| table::TCipher::new(direction, &keys));
    let plain: Vec<u8> = (0..48).collect();
    let (mut apart, mut in_place) = (vec![0; 48], plain.clone());
    encrypts.run(Source::Bytes, Buffers::from((&plain, &mut apart)));
    encrypts.run(Source::Bytes, Buffers::in_place(&mut in_place));
    assert_eq!(apart, in_place);
    decrypts.run(Source::Bytes, Buffers::in_place(&mut in_place));
    assert_eq!(in_place, plain);
}
