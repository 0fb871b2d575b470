//! Kernels with state: it is in no stored text. Also the generators, and loops.

use crossgrain::engine::arch::Lanes;
use crossgrain::engine::device::Kernel;
use crossgrain::stream::Stream;
use crossgrain::{Cipher, Key};
use crossgrain_gpu::parallel::{
    AesBlocks, BitLoop, BitMap, Bits, Combine, DeviceVec, Loop, Map, MapLoop, Place, Policy, SerpentBlocks,
    Sum, copy_if, count_if, find, for_each_bundle, generate, transform, transform_reduce,
};
use crossgrain_gpu::{Cipher as OnDevice, Error};

use super::{lens, numbers, places, spy};

/// State of the kernels below. Stored texts must not contain it.
pub(super) const SECRETS: [u32; 4] = [0x9d4f_13c7, 0x6b81_e2a5, 0xd37a_590f, 0x0001_ffff];

/// A number times the first secret, plus the second.
struct Scaled([u32; 2]);

impl Map<1, 1> for Scaled {
    #[inline(always)]
    fn map<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
        [x.multiply_lanes(x.uniform(self.0[0])).add_lanes(x.uniform(self.0[1])) ^ x.filled(7)]
    }
}

/// The bits of a number where a secret has ones. Each bit of the secret is a word of equal bits.
struct Within(u32);

impl BitMap<1, 1> for Within {
    #[inline(always)]
    fn map<W: Lanes>(&self, [mut x]: [[W; 32]; 1]) -> [[W; 32]; 1] {
        for (at, bit) in x.iter_mut().enumerate() {
            *bit = *bit & bit.uniform(0_u32.wrapping_sub(self.0 >> at & 1));
        }
        [x]
    }
}

/// Sums modulo a power of two. The mask is state.
struct SumWithin(u32);

impl Combine<1> for SumWithin {
    const IDENTITY: [u32; 1] = [0];

    #[inline(always)]
    fn combine<W: Lanes>(&self, [a]: [W; 1], [b]: [W; 1]) -> [W; 1] {
        [a.add_lanes(b) & a.uniform(self.0)]
    }
}

/// A sum with state in the kernel and in the combining function.
fn secret_sum(elements: &DeviceVec<1>, secrets: [u32; 4]) -> [u32; 1] {
    transform_reduce(&Scaled([secrets[0], secrets[1]]), &SumWithin(secrets[3]), elements).unwrap()
}

#[test]
fn kernels_with_state_give_what_a_loop_gives() {
    for place in places() {
        for (len, turn) in lens().zip(0..) {
            let secrets = SECRETS.map(|secret| secret.rotate_right(turn));
            let elements: Vec<[u32; 1]> = numbers(len);
            let vector = DeviceVec::from_slice(&place, &elements).unwrap();
            let scaled = |[x]: [u32; 1]| (x.wrapping_mul(secrets[0]).wrapping_add(secrets[1])) ^ 7;
            let got = transform(&Scaled([secrets[0], secrets[1]]), &vector).unwrap().to_vec().unwrap();
            let wanted: Vec<_> = elements.iter().map(|&element| [scaled(element)]).collect();
            assert!(got == wanted, "{len} at {place:?}");
            let got = transform(&Bits(Within(secrets[2])), &vector).unwrap().to_vec().unwrap();
            let wanted: Vec<_> = elements.iter().map(|[x]| [x & secrets[2]]).collect();
            assert!(got == wanted, "{len} at {place:?}");
            let secrets = [secrets[0], secrets[1], 0, SECRETS[3]];
            let wanted = elements.iter().map(|&element| scaled(element)).fold(0, u32::wrapping_add);
            assert_eq!(secret_sum(&vector, secrets), [wanted & SECRETS[3]], "{len} at {place:?}");
        }
    }
}

#[test]
fn state_is_in_no_text_and_does_not_stay() {
    for spy in spy::spies() {
        let place = Place::on(spy.gpu.clone());
        let elements = DeviceVec::from_slice(&place, &numbers(100)).unwrap();
        for secrets in [SECRETS, SECRETS.map(|secret| !secret)] {
            transform(&Bits(Within(secrets[2])), &elements).unwrap();
            secret_sum(&elements, secrets);
        }
        let told = spy.told();
        assert_eq!(told.texts.len(), 2, "two programs, each compiled once");
        for secret in SECRETS.into_iter().flat_map(|secret| [secret, !secret]) {
            assert!(told.texts.iter().all(|text| !has_word(text.as_bytes(), secret)), "{secret:#x}");
            let bits = |at: u32| 0_u32.wrapping_sub(secret >> at & 1);
            let spread: Vec<_> = (0..32).map(bits).collect();
            let is_given = |state: &Vec<u32>| state.contains(&secret) || *state == spread;
            assert!(told.states.iter().any(is_given), "{secret:#x} was given");
        }
        let given = |run: &[Vec<u32>]| run[0].iter().any(|&word| word != 0);
        let is_wiped =
            |run: &[Vec<u32>]| run[0].len() == run[1].len() && run[1].iter().all(|&word| word == 0);
        assert_eq!(told.states.len(), 2 * 4);
        assert!(told.states.chunks(2).all(|run| given(run) && is_wiped(run)));
    }
}

/// The blocks of a stream from block `first`, as words.
fn stream_blocks(key: &Key, first: u128, len: usize) -> Vec<[u32; 4]> {
    let mut bytes = vec![0; 16 * len];
    Stream::new(key).unwrap().fill_bytes_at(first.wrapping_mul(16), &mut bytes);
    let word = |bytes: &[u8; 16], at: usize| u32::from_le_bytes(bytes.as_chunks::<4>().0[at]);
    bytes.as_chunks::<16>().0.iter().map(|block| std::array::from_fn(|at| word(block, at))).collect()
}

/// A key that starts with the secrets.
fn secret_key(cipher: Cipher) -> Key {
    let bytes: Vec<_> = SECRETS.iter().cycle().take(8).flat_map(|secret| secret.to_le_bytes()).collect();
    Key::new(cipher, &bytes[..cipher.key_bytes()]).unwrap()
}

/// The same blocks from a kernel.
fn generated(key: &Key, first: u128, place: &Place, len: usize) -> DeviceVec<4> {
    match AesBlocks::new(key, first) {
        Ok(blocks) => generate(&Loop(blocks), place, len).unwrap(),
        Err(_) => generate(&Loop(SerpentBlocks::new(key, first).unwrap()), place, len).unwrap(),
    }
}

/// Ciphers whose generators exist as kernels.
const CIPHERS: [Cipher; 6] = [
    Cipher::Aes128,
    Cipher::Aes192,
    Cipher::Serpent128,
    Cipher::Serpent192,
    Cipher::Aes256,
    Cipher::Serpent256,
];

#[test]
fn generators_give_the_published_stream() {
    let [seq, par, devices @ ..] = &places()[..] else { panic!("the CPU is always there") };
    generators_agree(&[seq.clone(), par.clone()], &CIPHERS);
    // A device loops over any number of rounds, but Vulkan in software compiles each loop for ten seconds.
    generators_agree(devices, &CIPHERS[4..]);
    let [aes, serpent] = [Cipher::Aes128, Cipher::Serpent128].map(secret_key);
    assert_eq!(AesBlocks::new(&serpent, 0).unwrap_err(), Error::Key);
    assert_eq!(SerpentBlocks::new(&aes, 0).unwrap_err(), Error::Key);
}

#[test]
#[ignore = "takes a minute"]
fn generators_of_all_key_sizes_give_the_published_stream() {
    generators_agree(&places(), &CIPHERS);
}

fn generators_agree(places: &[Place], ciphers: &[Cipher]) {
    for place in places {
        for &cipher in ciphers {
            let key = secret_key(cipher);
            for (first, len) in [(0, 1), (0, 0), (1 << 40, 33), ((1 << 64) - 700, 1400), ((1 << 60) - 1, 513)]
            {
                let got = generated(&key, first, place, len).to_vec().unwrap();
                assert!(got == stream_blocks(&key, first, len), "{cipher:?} at {place:?}");
            }
        }
    }
}

#[test]
fn a_generator_is_the_same_program_for_every_key() {
    for (cipher, rounds, keys) in [(Cipher::Aes256, 13, 15), (Cipher::Serpent256, 4, 33)] {
        for spy in spy::spies() {
            let place = Place::on(spy.gpu.clone());
            for first in [0, u128::MAX] {
                let key = Key::new(cipher, &[first as u8 ^ 0x5a; 32]).unwrap();
                generated(&key, first, &place, 10);
            }
            let told = spy.told();
            let [text] = &told.texts[..] else { panic!("it is compiled once") };
            assert!(text.matches(&format!("number < {rounds}u")).count() == 1);
            assert!(told.states.iter().all(|state| state.len() == 128 * (keys + 1)), "and the counter");
        }
    }
}

/// A cipher's program has its round keys only during a run, and no text contains them.
#[test]
fn ciphers_are_given_their_keys_for_a_run() {
    for (name, cipher) in [
        ("aes-encrypt", Cipher::Aes256),
        ("aes-random-cached", Cipher::Aes128),
        ("serpent-ctr", Cipher::Serpent192),
        ("serpent-decrypt", Cipher::Serpent256),
    ] {
        let kernel = Kernel::find(name).unwrap();
        let [one, other] = [secret_key(cipher), Key::new(cipher, &vec![0x5a; cipher.key_bytes()]).unwrap()];
        for spy in spy::spies() {
            let threads = kernel.group_threads(spy.gpu.language());
            let mut on_device = OnDevice::new(&spy.gpu, kernel, threads, &one).unwrap();
            on_device.apply(7, &mut [0; 48]).unwrap();
            on_device.set_key(&other).unwrap();
            on_device.apply(7, &mut [0; 48]).unwrap();
            let (told, [one, other]) = (spy.told(), [&one, &other].map(|key| kernel.keys(key).to_vec()));
            let none = vec![0; one.len()];
            assert_eq!(told.states, [&one, &none, &other, &none].map(Vec::clone), "{name}");
            let [text] = &told.texts[..] else { panic!("it is compiled once") };
            // In bit-sliced layouts, a word of state is all ones or all zeros.
            let words = one.into_iter().filter(|word| word.count_ones() % 32 != 0).chain(SECRETS);
            assert!(words.into_iter().all(|word| !has_word(text.as_bytes(), word)), "{name}");
        }
    }
}

/// A number times a power of a secret, with a count of the rounds in a second number.
struct Power(u32, u32);

impl MapLoop<1, 2> for Power {
    fn rounds(&self) -> u32 {
        self.1
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, [x]: [W; 1]) -> [W; 2] {
        [x, x.filled(0)]
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, [x, count]: [W; 2]) -> [W; 2] {
        [x.multiply_lanes(x.uniform(self.0)), count.add_lanes(x.filled(1))]
    }

    #[inline(always)]
    fn last<W: Lanes>(&self, [x, count]: [W; 2]) -> [W; 2] {
        [x, count.add_lanes(x.uniform(7))]
    }
}

/// Whether a number that is halved this many times is not zero.
struct Halved(u32);

impl MapLoop<1, 1> for Halved {
    fn rounds(&self) -> u32 {
        self.0
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, x: [W; 1]) -> [W; 1] {
        x
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
        [x.shift_lanes_right::<1>()]
    }
}

#[test]
fn rounds_that_are_alike_are_as_many_as_is_told() {
    for place in places() {
        for rounds in [0, 1, 2, 1000] {
            let got = generate(&Loop(Power(SECRETS[0], rounds)), &place, 1001).unwrap().to_vec().unwrap();
            let power = SECRETS[0].wrapping_pow(rounds);
            assert!(
                got.into_iter().eq((0..1001).map(|at: u32| [at.wrapping_mul(power), rounds + 7])),
                "{place:?}"
            );
            let numbers = place.indices(0..1001).unwrap();
            let least = 1_usize.checked_shl(rounds).filter(|&least| least < 1001);
            assert_eq!(find(&Loop(Halved(rounds)), numbers).unwrap(), least, "{place:?}");
            let count = least.map_or(0, |least| 1001 - least);
            assert_eq!(count_if(&Loop(Halved(rounds)), numbers).unwrap(), count, "{place:?}");
        }
    }
}

#[test]
fn a_loop_is_the_same_program_for_every_number_of_rounds() {
    for spy in spy::spies() {
        let place = Place::on(spy.gpu.clone());
        for rounds in [3, 1 << 15] {
            generate(&Loop(Power(SECRETS[0], rounds)), &place, 10).unwrap();
        }
        let told = spy.told();
        let [text] = &told.texts[..] else { panic!("it is compiled once") };
        assert!(text.matches("number < keys[0u].x").count() == 1);
        let state = |rounds| vec![rounds, 0, 0, 0, SECRETS[0], 0, 0, 0, 7, 0, 0, 0];
        assert_eq!(told.states, [state(3), vec![0; 12], state(1 << 15), vec![0; 12]]);
    }
}

/// A kernel that every device refuses. Either every second round has an additional gate, or all rounds
/// together have too much state.
struct Unfit {
    rounds: usize,
    is_even: bool,
}

impl BitLoop<1, 1> for Unfit {
    fn rounds(&self) -> usize {
        self.rounds
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, x: &[[W; 32]; 1], y: &mut [[W; 32]; 1]) {
        *y = *x;
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, number: usize, y: &[[W; 32]; 1], next: &mut [[W; 32]; 1]) {
        for (bit, next) in y[0].iter().zip(&mut next[0]) {
            *next = *bit & bit.uniform(u32::MAX);
        }
        if self.is_even || number.is_multiple_of(2) {
            next[0][0] = !next[0][0];
        }
    }

    #[inline(always)]
    fn last<W: Lanes>(&self, y: &[[W; 32]; 1], made: &mut [[W; 32]; 1]) {
        *made = *y;
    }
}

#[test]
fn loops_that_a_device_does_not_take_are_told() {
    for spy in spy::spies() {
        let place = Place::on(spy.gpu);
        let told = |rounds, is_even| {
            generate(&Loop(Unfit { rounds, is_even }), &place, 10)
                .map(drop)
                .map_err(|error| error.to_string())
        };
        assert_eq!(told(136, true), Ok(()));
        assert!(
            told(137, true).unwrap_err().contains("it has 4384 words of state, and there is room for 4352")
        );
        assert!(told(2, false).unwrap_err().contains("its rounds differ in more than their state"));
    }
    let place = Policy::Par.open().unwrap();
    let odd = generate(&Loop(Unfit { rounds: 5, is_even: false }), &place, 70).unwrap();
    assert!(odd.to_vec().unwrap().into_iter().eq((0..70).map(|at| [at ^ 1])));
}

/// A kernel whose function with this number, if it exists, leaves the last bit of its results unwritten.
struct Torn(usize);

impl Torn {
    #[inline(always)]
    fn copied<W: Lanes>(&self, part: usize, y: &[[W; 32]; 1], next: &mut [[W; 32]; 1]) {
        let count = if self.0 == part { 31 } else { 32 };
        next[0][..count].copy_from_slice(&y[0][..count]);
    }
}

impl BitLoop<1, 1> for Torn {
    fn rounds(&self) -> usize {
        1
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, x: &[[W; 32]; 1], y: &mut [[W; 32]; 1]) {
        self.copied(0, x, y);
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, _number: usize, y: &[[W; 32]; 1], next: &mut [[W; 32]; 1]) {
        self.copied(1, y, next);
    }

    #[inline(always)]
    fn last<W: Lanes>(&self, y: &[[W; 32]; 1], made: &mut [[W; 32]; 1]) {
        self.copied(2, y, made);
    }
}

#[test]
fn a_part_that_leaves_words_unwritten_is_told() {
    let is_told = |error: Error| error.to_string().contains("leaves words of its results as they were");
    for place in places() {
        for part in 0..3 {
            let torn = Loop(Torn(part));
            let mut elements = DeviceVec::from_slice(&place, &[[7]; 70]).unwrap();
            assert!(is_told(transform(&torn, &elements).unwrap_err()));
            assert!(is_told(transform_reduce(&torn, &Sum, &elements).unwrap_err()));
            assert!(is_told(find(&torn, &elements).unwrap_err()));
            assert!(is_told(count_if(&torn, &elements).unwrap_err()));
            assert!(is_told(copy_if(&torn, &elements).unwrap_err()));
            assert!(is_told(for_each_bundle(&torn, &mut elements).unwrap_err()));
        }
        assert_eq!(generate(&Loop(Torn(3)), &place, 70).map(|made| made.len()), Ok(70));
    }
}

/// Whether bytes contain a word in hex or decimal form.
pub(super) fn has_word(bytes: &[u8], word: u32) -> bool {
    let texts = [format!("{word:x}"), format!("{word:X}"), format!("{word}"), format!("{}", word as i32)];
    let texts = texts.map(String::into_bytes);
    let raw = [word.to_le_bytes(), word.to_be_bytes()];
    let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    texts.iter().any(|text| has(text)) || raw.iter().any(|raw| has(raw))
}
