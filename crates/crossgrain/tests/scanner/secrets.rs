//! The secrets that follow from a key: the key, its round keys in every layout, and values that modes derive
//! from them.

use crossgrain::engine::block::Family;
use crossgrain::engine::cipher::aes::description::schedule;
use crossgrain::engine::cipher::folded::{self, FoldedConstants};
use crossgrain::engine::cipher::serpent;
use crossgrain::engine::cipher::{Description, Entry, Keys, OnBytes, OnWords, Scheduled, Visitor, visit};
use crossgrain::engine::circuit::affine::multiply;
use crossgrain::engine::reference::{self, modes};
use crossgrain::{Block, Direction, Features, Key};

/// Secrets by name.
pub(crate) type Secrets = Vec<(String, Vec<u8>)>;

/// Length in bytes of the pieces that are searched for. Short enough to find part of a secret, long enough to
/// avoid chance matches.
const PIECE_BYTES: usize = 8;

/// A secret as bytes, and reversed, as in numbers read with the opposite byte order.
fn plain(name: &str, bytes: &[u8], secrets: &mut Secrets) {
    for piece in bytes.chunks_exact(PIECE_BYTES) {
        secrets.push((name.to_owned(), piece.to_vec()));
        secrets.push((format!("{name}, reversed"), piece.iter().rev().copied().collect()));
    }
}

/// A round key as bytes, and in all layouts that kernels across the grain keep it in.
fn round_key(number: usize, key: &[u8], secrets: &mut Secrets) {
    let name = format!("round key {number}");
    for piece in key.chunks_exact(PIECE_BYTES) {
        secrets.push((name.clone(), piece.to_vec()));
        for constant in [0, 0x63] {
            let bit = |i: usize| (piece[i / 8] ^ constant) >> (i % 8) & 1;
            let bits: Vec<u8> = (0..64).flat_map(|i| [0_u8.wrapping_sub(bit(i)); 8]).collect();
            secrets.push((format!("{name}, bit by bit"), bits));
            let bytes: Vec<u8> = piece.iter().flat_map(|byte| [byte ^ constant; 8]).collect();
            secrets.push((format!("{name}, byte by byte"), bytes));
        }
    }
    for key in key.chunks_exact(16) {
        for (constant, bits) in [(0, 0..4), (0, 4..8), (0x63, 0..4), (0x63, 4..8)] {
            let slice =
                |bit: u32| key.iter().map(move |byte| 0_u8.wrapping_sub((byte ^ constant) >> bit & 1));
            secrets.push((format!("{name}, sliced"), bits.flat_map(slice).collect()));
        }
    }
}

fn inv_mix_columns(key: &[u8]) -> Vec<u8> {
    let column = |column: &[u8]| {
        let sum =
            |row: usize| (0..4).fold(0, |sum, i| sum ^ multiply(column[(row + i) % 4], [14, 11, 13, 9][i]));
        [sum(0), sum(1), sum(2), sum(3)]
    };
    key.chunks_exact(4).flat_map(column).collect()
}

/// The round keys of AES and of Rijndael, with blocks of `BYTES` bytes.
fn of_rijndael<const BYTES: usize>(key: &[u8], secrets: &mut Secrets) {
    let keys = schedule::<BYTES>(key, Direction::Encrypt);
    // Round key 0 is part of the key, which is searched for separately. Parts of the key may reappear in the
    // next round keys.
    for (number, bytes) in keys.chunks(BYTES).enumerate().skip(1) {
        round_key(number, &inv_mix_columns(bytes), secrets);
        round_key(number, bytes, secrets);
    }
}

fn of_serpent(key: &Key, secrets: &mut Secrets) {
    let keys = serpent::key::RoundKeys::expand(key);
    for keys in [keys.before_transform(), keys] {
        for (number, words) in keys.words().iter().enumerate() {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            round_key(number, &bytes, secrets);
        }
    }
}

/// The words of a key and of its round keys, each repeated in two adjacent lanes, the layout of schedules of
/// many keys.
pub(crate) fn in_lanes(key: &Key) -> Secrets {
    let mut words: Vec<(String, Vec<u8>)> = vec![("key".to_owned(), key.bytes().to_vec())];
    if key.cipher().family() == Family::Serpent {
        let keys = serpent::key::RoundKeys::expand(key);
        for keys in [keys.before_transform(), keys] {
            let bytes = |words: &[u32; 4]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
            words.extend(keys.words().iter().map(|words| ("round key".to_owned(), bytes(words))));
        }
    } else {
        let keys = schedule::<16>(key.bytes(), Direction::Encrypt);
        words.extend(keys.chunks(16).skip(1).map(|bytes| ("round key".to_owned(), bytes.to_vec())));
    }
    let lanes = |(name, bytes): (String, Vec<u8>)| {
        let words: Vec<_> = bytes.as_chunks::<4>().0.to_vec();
        words.into_iter().map(move |word| (format!("{name}, in lanes"), [word, word].concat()))
    };
    words.into_iter().flat_map(lanes).collect()
}

/// The key and its round keys.
pub(crate) fn of_key(key: &Key) -> Secrets {
    let mut secrets = Secrets::new();
    plain("key", key.bytes(), &mut secrets);
    match key.cipher().family() {
        Family::Aes => of_rijndael::<16>(key.bytes(), &mut secrets),
        Family::Serpent => of_serpent(key, &mut secrets),
        described => {
            let keys = Entry::of(described).expand(key, Features::of_cpu());
            visit(&mut OfDescribed { keys: &keys, secrets: &mut secrets });
        }
    }
    secrets
}

/// The round keys of a described cipher in both directions, in the layouts that its kernels keep.
struct OfDescribed<'a> {
    keys: &'a Keys,
    secrets: &'a mut Secrets,
}

impl OfDescribed<'_> {
    fn round_keys(&mut self, bytes: &[u8]) {
        for (number, bytes) in bytes.chunks_exact(16).enumerate() {
            round_key(number, bytes, self.secrets);
        }
    }
}

/// S-box constants that kernels fold into the round keys: those of GFNI on input and output, and the output
/// constants of nibble tables.
fn constants<C: Description>() -> [Vec<FoldedConstants>; 2] {
    let all: Vec<_> = C::BOXES.iter().map(|sbox| sbox.folded).collect();
    let of_outputs = all.iter().map(|lacks| FoldedConstants { input: 0, ..*lacks }).collect();
    [all, of_outputs]
}

impl Visitor for OfDescribed<'_> {
    fn bytes<C: OnBytes + Scheduled>(&mut self) {
        for direction in Direction::ALL.into_iter().filter(|_| C::FAMILY == self.keys.family()) {
            self.round_keys(self.keys.of(direction));
            for constants in constants::<C>() {
                let mut bytes = self.keys.of(direction).to_vec();
                folded::on_bytes::<C>(&constants, direction, &mut bytes);
                self.round_keys(&bytes);
            }
        }
    }

    fn words<C: OnWords + Scheduled>(&mut self) {
        for direction in Direction::ALL.into_iter().filter(|_| C::FAMILY == self.keys.family()) {
            self.round_keys(self.keys.of(direction));
            let words = self.keys.of(direction).as_chunks().0.iter().map(|&bytes| u32::from_be_bytes(bytes));
            let words: Vec<_> = words.collect();
            let in_memory =
                |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
            self.round_keys(&in_memory(&words));
            for constants in constants::<C>() {
                let mut words = words.clone();
                let _ = folded::on_words::<C>(&constants, direction, &mut words);
                self.round_keys(&in_memory(&words));
            }
        }
    }
}

/// The same for a cipher with wide blocks.
pub(crate) fn of_wide_key(block_bytes: usize, key: &[u8]) -> Secrets {
    let mut secrets = Secrets::new();
    plain("key", key, &mut secrets);
    match block_bytes {
        24 => of_rijndael::<24>(key, &mut secrets),
        _ => of_rijndael::<32>(key, &mut secrets),
    }
    secrets
}

/// A value that is secret in plain form.
pub(crate) fn of_bytes(name: &str, bytes: &[u8]) -> Secrets {
    let mut secrets = Secrets::new();
    plain(name, bytes, &mut secrets);
    secrets
}

fn encrypted(key: &Key, mut block: Block) -> Block {
    modes::ecb(&*reference::cipher(key), Direction::Encrypt, &mut block);
    block
}

fn doubled(block: Block) -> Block {
    let number = u128::from_be_bytes(block);
    ((number << 1) ^ ((number >> 127) * 0x87)).to_be_bytes()
}

fn sum(a: Block, b: Block) -> Block {
    (u128::from_be_bytes(a) ^ u128::from_be_bytes(b)).to_be_bytes()
}

/// CMAC's L and subkeys. For EAX also the chain values after the first blocks and the tags of empty strings.
pub(crate) fn of_cmac(key: &Key) -> Secrets {
    let mut secrets = Secrets::new();
    let l = encrypted(key, [0; 16]);
    let k1 = doubled(l);
    plain("L", &l, &mut secrets);
    plain("K1", &k1, &mut secrets);
    plain("K2", &doubled(k1), &mut secrets);
    for t in 0..3 {
        let mut block = [0; 16];
        block[15] = t;
        plain(&format!("chain of {t}"), &encrypted(key, block), &mut secrets);
        plain(&format!("OMAC of {t}"), &encrypted(key, sum(block, k1)), &mut secrets);
    }
    secrets
}

/// OCB's L_*, L_$ and L₀ to L₁₅, and the offsets of the first blocks after an offset of zeros.
pub(crate) fn of_ocb(key: &Key) -> Secrets {
    let mut secrets = Secrets::new();
    let (mut step, mut offset, mut steps) = (encrypted(key, [0; 16]), [0; 16], Vec::new());
    for number in 0..18 {
        plain(&format!("L {number}"), &step, &mut secrets);
        steps.extend((number > 1).then_some(step));
        step = doubled(step);
    }
    for number in 1..64_usize {
        offset = sum(offset, steps[number.trailing_zeros() as usize]);
        plain(&format!("offset {number}"), &offset, &mut secrets);
    }
    secrets
}

/// The keys that GCM-SIV derives from these nonces.
pub(crate) fn of_gcm_siv(key: &Key, nonces: &[&[u8]]) -> Secrets {
    let mut secrets = Secrets::new();
    for nonce in nonces {
        let by = reference::cipher(key);
        let (hash_key, made) = reference::gcm_siv::derived(key.cipher(), &*by, nonce);
        plain("hash key", &hash_key, &mut secrets);
        secrets.extend(of_key(&Key::new(key.cipher(), &made).unwrap()));
    }
    secrets
}

/// The product in GCM's field (SP 800-38D §6.3).
fn product(a: Block, b: Block) -> Block {
    let (a, mut b) = (u128::from_be_bytes(a), u128::from_be_bytes(b));
    let mut sum = 0;
    for bit in (0..128).rev() {
        sum ^= (a >> bit & 1).wrapping_neg() & b;
        b = (b >> 1) ^ ((b & 1) * (0xe1 << 120));
    }
    sum.to_be_bytes()
}

/// GCM's H and its powers, plain and times x, and the tag masks under these nonces.
pub(crate) fn of_gcm(key: &Key, nonces: &[&[u8]]) -> Secrets {
    let mut secrets = Secrets::new();
    let h = encrypted(key, [0; 16]);
    let mut power = h;
    for number in 1..=32 {
        plain(&format!("H^{number}"), &power, &mut secrets);
        let value = u128::from_be_bytes(power);
        let times_x = (value << 1) ^ ((value >> 127) * (0xc2 << 120 | 1));
        plain(&format!("x H^{number}"), &times_x.to_be_bytes(), &mut secrets);
        power = product(power, h);
    }
    for nonce in nonces {
        let first = match nonce.len() {
            12 => [nonce, &[0, 0, 0, 1][..]].concat().try_into().unwrap(),
            len => {
                let mut padded = [0; 16];
                padded[..len].copy_from_slice(nonce);
                let hashed = product(padded, h);
                product(sum(hashed, (8 * len as u128).to_be_bytes()), h)
            }
        };
        plain("E(J0)", &encrypted(key, first), &mut secrets);
    }
    secrets
}

/// The tweaks of the sectors' first blocks.
pub(crate) fn of_xts(tweak: &Key, sectors: &[u128]) -> Secrets {
    let mut secrets = of_key(tweak);
    for sector in sectors {
        plain("tweak", &encrypted(tweak, sector.to_le_bytes()), &mut secrets);
    }
    secrets
}
