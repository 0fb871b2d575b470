//! S-boxes whose structure is recovered from their table.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use crossgrain::engine::cipher::sbox::AES;
use crossgrain::engine::circuit::affine::{Affine, INVERSES, Inversion};
use crossgrain::engine::circuit::synthesize;
use crossgrain::engine::circuit::trace::Width;

type Table = [u8; 256];

fn table(value: impl Fn(u8) -> u8) -> Table {
    std::array::from_fn(|x| value(x as u8))
}

fn inverse(of: &Table) -> Table {
    table(|y| of.iter().position(|&entry| entry == y).unwrap() as u8)
}

/// The product of a byte and a matrix, given by its rows as the specifications write them.
fn rows(rows: [u8; 8], first_bit: impl Fn(usize) -> usize, x: u8) -> u8 {
    let row = |row: u8| (0..8).filter(|&at| row << at & 0x80 != 0 && x >> first_bit(at) & 1 == 1).count() & 1;
    (0..8).map(|at| (row(rows[at]) as u8) << first_bit(at)).sum()
}

/// The inverse modulo this polynomial, by trying all bytes.
fn inverse_modulo(polynomial: u16, x: u8) -> u8 {
    let times = |y: u8| {
        (0..8).rev().fold(0_u16, |sum, bit| {
            let doubled = (sum << 1) ^ ((sum >> 7) * polynomial);
            doubled ^ (u16::from(x) * u16::from(y >> bit & 1))
        })
    };
    (0..=255).find(|&y| times(y) == 1).unwrap_or(0)
}

/// FIPS 197 §5.1.1.
fn aes() -> Table {
    let affine = |x: u8| [1, 2, 3, 4].iter().fold(x ^ 0x63, |sum, &count| sum ^ x.rotate_left(count));
    table(|x| affine(inverse_modulo(0x11b, x)))
}

/// GB/T 32907-2016: polynomial x⁸+x⁷+x⁶+x⁵+x⁴+x²+x+1, and a circulant matrix before and after inversion.
fn sm4() -> Table {
    let affine = |x| rows(std::array::from_fn(|at| 0xd3_u8.rotate_right(at as u32)), |at| 7 - at, x) ^ 0xd3;
    table(|x| affine(inverse_modulo(0x1f5, affine(x))))
}

/// For each bit of the result, the XOR of the listed input bits; bit 1 is the most significant.
fn sums(of: [&[u8]; 8], x: u8) -> u8 {
    of.iter().fold(0, |y, bits| y << 1 | bits.iter().fold(0, |sum, bit| sum ^ x >> (8 - bit) & 1))
}

/// "Specification of Camellia, a 128-bit block cipher" (2001), section 4.4.
fn camellia() -> [Table; 4] {
    let f = |x| sums([&[6, 2], &[7, 1], &[8, 5, 3], &[8, 3], &[7, 4], &[5, 2], &[8, 1], &[6, 4]], x);
    let h = |x| sums([&[5, 6, 2], &[6, 2], &[7, 4], &[8, 2], &[7, 3], &[8, 1], &[5, 1], &[6, 3]], x);
    // Bits 8 to 1 are the coefficients of αⁱ and αⁱβ, with α = β²³⁸ and β⁸ = β⁶ + β⁵ + β³ + 1.
    let times = |a: u8, b: u8| {
        (0..8).rev().fold(0_u8, |sum, bit| {
            let doubled = (sum << 1) ^ ((sum >> 7) * 0x69);
            doubled ^ (a * (b >> bit & 1))
        })
    };
    let power = |of: u8, exponent: usize| (0..exponent).fold(1, |product, _| times(product, of));
    let basis: [u8; 8] =
        std::array::from_fn(|at| times(power(power(2, 238), at % 4), if at < 4 { 1 } else { 2 }));
    let value = |x: u8| (0..8).filter(|&at| x >> at & 1 == 1).fold(0, |sum, at| sum ^ basis[at]);
    let g = |x: u8| (0..=255).find(|&y| times(value(x), value(y)) == u8::from(x != 0)).unwrap();
    let first = table(|x| h(g(f(x ^ 0xc5))) ^ 0x6e);
    let by = |x: u8| first[usize::from(x)];
    [first, table(|x| by(x).rotate_left(1)), table(|x| by(x).rotate_left(7)), table(|x| by(x.rotate_left(1)))]
}

/// RFC 5794: the second S-box of ARIA; the first is that of AES.
fn aria() -> Table {
    let matrix = [0x57, 0x3f, 0xed, 0xc3, 0x43, 0xce, 0x63, 0xf6];
    table(|x| rows(matrix, |at| at, INVERSES[usize::from(x)]) ^ 0xe2)
}

/// RFC 7801, section 4.1.
const KUZNYECHIK: &str = "
    fceedd11cf6e3116fbc4fada23c5044de977f0db932e99ba1736f1bb14cd5fc1
    f918655ae25cef21811c3c428b018e4f058402aee36a8fa0060bed987fd4d31f
    eb342c51eac848abf22a68a2fd3aceccb5700e56080c7612bf7213479cb75d87
    15a19629107b9ac7f391786f9d9eb2b13275193dff358a7e6d54c680c3bd0d57
    dff524a93ea843c9d779d6f67c22b903e00fecde7a94b0bcdce828504e330a4a
    a79760731e0062441ab83882649f2641ad454692275e552f8ca3a57d69d5953b
    0758b34086ac1df730376be488d9e789e11b83494c3ff8fe8d53aa90cad88561
    207167a42d2b095bcb9b25d0bee56c5259a674d2e6f4b4c0d166afc2394b63b6";

fn kuznyechik() -> Table {
    let digits: String = KUZNYECHIK.split_whitespace().collect();
    let table = table(|x| u8::from_str_radix(&digits[2 * usize::from(x)..][..2], 16).unwrap());
    assert_eq!(inverse(&inverse(&table)), table);
    table
}

/// The standards' S-boxes that are an inversion between affine maps.
fn standards() -> Vec<(&'static str, Table)> {
    let [s1, s2, s3, s4] = camellia();
    let mut all = vec![("AES", aes()), ("SM4", sm4()), ("ARIA's second", aria())];
    all.extend([("Camellia's s1", s1), ("s2", s2), ("s3", s3), ("s4", s4)]);
    let inverses: Vec<_> = all.iter().map(|(name, table)| (*name, inverse(table))).collect();
    [all, inverses].concat()
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn affine(&mut self) -> Affine {
        loop {
            let affine = Affine { matrix: self.next().to_le_bytes(), constant: self.next() as u8 };
            if affine.inverse().is_some() {
                return affine;
            }
        }
    }

    fn permutation(&mut self) -> Table {
        let mut table = table(|x| x);
        for at in (1..256).rev() {
            table.swap(at, self.next() as usize % (at + 1));
        }
        table
    }
}

#[test]
fn tables_made_here_are_those_of_the_standards() {
    assert_eq!(aes(), AES.table);
    assert_eq!(aes()[..4], [0x63, 0x7c, 0x77, 0x7b]);
    assert_eq!(sm4()[..8], [0xd6, 0x90, 0xe9, 0xfe, 0xcc, 0xe1, 0x3d, 0xb7]);
    assert_eq!(sm4()[255], 0x48);
    assert_eq!(camellia()[0][..8], [112, 130, 44, 236, 179, 39, 192, 229]);
    assert_eq!(camellia().map(|table| table[1]), [130, 5, 65, 44]);
    assert_eq!(aria()[..8], [0xe2, 0x4e, 0x54, 0xfc, 0x94, 0xc2, 0x4a, 0xcc]);
}

#[test]
fn s_boxes_of_standards_are_inversions() {
    for (name, table) in standards() {
        let found = Inversion::of(&table).unwrap_or_else(|| panic!("{name}"));
        assert!(found.computes(&table), "{name}");
        assert!(found.inverse().unwrap().computes(&inverse(&table)), "{name}");
    }
    let aes = Inversion::of(&aes()).unwrap();
    assert_eq!(aes.input, Affine { matrix: [1, 2, 4, 8, 16, 32, 64, 128], constant: 0 });
    // The matrix that the instruction's documentation gives for AES.
    assert_eq!((aes.output.galois(), aes.output.constant), (0xf1e3_c78f_1f3e_7cf8, 0x63));
}

#[test]
fn random_affine_equivalents_are_found_and_nothing_else() {
    let mut random = Random(1);
    for _ in 0..100 {
        let made = Inversion { input: random.affine(), output: random.affine() };
        assert!(Inversion::of(&table(|x| made.apply(x))).unwrap().computes(&table(|x| made.apply(x))));
        assert_eq!(Inversion::of(&random.permutation()), None);
        // Two entries exchanged.
        let mut broken = table(|x| made.apply(x));
        broken.swap(random.next() as usize % 128, 128 + random.next() as usize % 128);
        assert_eq!(Inversion::of(&broken), None);
    }
    assert_eq!(Inversion::of(&kuznyechik()), None);
    assert_eq!(Inversion::of(&[7; 256]), None);
    assert_eq!(Inversion::of(&table(|x| x)), None);
    assert_eq!(Affine { matrix: [1, 2, 3, 8, 16, 32, 64, 128], constant: 0 }.inverse(), None);
}

#[test]
fn structure_is_found_when_compiling() {
    const FOUND: Option<Inversion> = Inversion::of(&AES.table);
    assert_eq!(FOUND, Inversion::of(&aes()));
}

/// The number of two-input gates for a table.
fn gates(table: &Table) -> usize {
    let table = synthesize::Table::new(&table.map(u64::from)).unwrap();
    let graph = synthesize::synthesize(&table, Width::Two).unwrap();
    assert!(table.is_computed_by(&graph));
    graph.gates().len()
}

#[test]
fn affine_equivalents_of_inversion_are_small() {
    let complemented = table(|x| AES.table[usize::from(x)] ^ 0x10);
    let permuted = table(|x| AES.table[usize::from(x.rotate_left(3) ^ 2)].reverse_bits());
    for table in [AES.table, complemented, permuted] {
        assert!(gates(&table) <= 112, "{}", gates(&table));
    }
    let mut random = Random(2);
    let made: Vec<_> = (0..4)
        .map(|_| Inversion { input: random.affine(), output: random.affine() })
        .map(|made| table(|x| made.apply(x)))
        .collect();
    let tables = standards().into_iter().map(|(_, table)| table).chain(made);
    for table in tables {
        assert!(gates(&table) <= 114, "{}", gates(&table));
    }
}

/// Prints the figures that the documentation of the modules quotes.
#[test]
#[ignore = "takes a minute"]
fn gates_of_many_tables() {
    let mut random = Random(3);
    let mut print = |name: &str, count: usize, made: &mut dyn FnMut(&mut Random) -> Table| {
        let all: Vec<_> = (0..count).map(|_| gates(&made(&mut random))).collect();
        let mean = all.iter().sum::<usize>() as f64 / count as f64;
        println!("{name}: {:?} to {:?}, {mean:.1} on average", all.iter().min(), all.iter().max());
    };
    print("affine equivalents of inversion", 200, &mut |random| {
        let made = Inversion { input: random.affine(), output: random.affine() };
        table(|x| made.apply(x))
    });
    print("permutations", 20, &mut Random::permutation);
    print("tables", 20, &mut |random| std::array::from_fn(|_| random.next() as u8));
}

#[test]
fn tables_without_structure_are_smaller_than_decision_diagrams() {
    // The decision diagram takes 561 gates for a random table.
    let table = Random(4).permutation();
    assert!(gates(&table) <= 350, "{}", gates(&table));
}

#[test]
fn kuznyechiks_s_box_has_a_structure_of_nibbles() {
    for table in [kuznyechik(), inverse(&kuznyechik())] {
        println!("{} gates", gates(&table));
        assert!(gates(&table) <= 270, "{}", gates(&table));
    }
}

/// The gate counts of Shannon's expansion and the Reed–Muller form are upper bounds.
#[test]
fn small_tables_are_no_larger_than_before() {
    let count = |values: &[u64]| {
        let table = synthesize::Table::new(values).unwrap();
        synthesize::synthesize(&table, Width::Two).unwrap().gates().len()
    };
    assert_eq!(count(&[0, 1, 1, 0]), 1);
    assert_eq!(count(&[0, 0, 0, 1, 0, 1, 1, 1]), 4, "the majority of three");
    // PRESENT (2007), whose S-box takes 14 gates.
    assert!(count(&[0xc, 5, 6, 0xb, 9, 0, 0xa, 0xd, 3, 0xe, 0xf, 8, 4, 7, 1, 2]) <= 16);
    assert_eq!(count(&(0..256).collect::<Vec<_>>()), 0);
    let sums: Vec<_> = (0..256).map(|x| (x & 15) + (x >> 4)).collect();
    assert!(count(&sums) <= 31, "{}", count(&sums));
}
