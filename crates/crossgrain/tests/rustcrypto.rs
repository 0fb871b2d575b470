//! RustCrypto's traits: our types agree with other implementations, used directly and under mode crates.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use aes_gcm::AesGcm;
use aes_gcm::aead::{Aead, AeadCore, AeadInOut, Payload};
use cipher::array::Array;
use cipher::common::{InnerInit, Key};
use cipher::consts::{U12, U16};
use cipher::{
    AlgorithmName, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser,
    InnerIvInit, KeyInit, KeyIvInit, StreamCipher, StreamCipherCoreWrapper, StreamCipherSeek,
};
use common::{CAPS, capped, painted};
use crossgrain::mode::{Aead as _, Mode, Options};
use crossgrain::rustcrypto::{Aes128, Aes192, Aes256, BlockCipher, Kind, Serpent128, Serpent192, Serpent256};
use crossgrain::rustcrypto::{Ccm, Ctr, Gcm, GcmSiv, Ocb, Siv};
use crossgrain::{Block, Error};
use ctr::{CtrCore, flavors::Ctr128BE};
use eax::Eax;
use zeroize::ZeroizeOnDrop;

type BlockArray = Array<u8, U16>;
type CtrCrate<C> = StreamCipherCoreWrapper<CtrCore<C, Ctr128BE>>;

const IV: Block = *b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x80";

/// Block counts below, at and above both batch sizes.
const COUNTS: [usize; 13] = [0, 1, 2, 4, 7, 8, 33, 63, 64, 65, 130, 512, 1029];

trait Other: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> {}
impl<C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>> Other for C {}

fn blocks(count: usize, seed: u64) -> Vec<BlockArray> {
    painted(16 * count, seed).as_chunks().0.iter().map(|block| Array(*block)).collect()
}

fn bytes(blocks: &[BlockArray]) -> Vec<Block> {
    blocks.iter().map(|block| block.0).collect()
}

/// Runs work on a copy and gives the copy.
fn done<T: Clone, O>(input: &T, work: impl FnOnce(&mut T) -> O) -> T {
    let mut copy = input.clone();
    work(&mut copy);
    copy
}

/// Every call of our cipher, compared with the other implementation.
fn check_blocks<K: Kind>(ours: &BlockCipher<K>, other: &impl Other, what: &str) {
    for input in COUNTS.map(|count| blocks(count, 1)) {
        let what = format!("{what}, {} blocks", input.len());
        let crypt = done(&input, |data| other.encrypt_blocks(data));
        assert!(done(&input, |data| ours.encrypt_blocks(data)) == crypt, "{what}");
        assert!(done(&crypt, |data| ours.decrypt_blocks(data)) == input, "{what}");
        let mut apart = blocks(input.len(), 2);
        ours.encrypt_blocks_b2b(&input, &mut apart).unwrap();
        assert!(apart == crypt, "{what}, apart");
        ours.decrypt_blocks_b2b(&crypt, &mut apart).unwrap();
        assert!(apart == input, "{what}, apart");
        let mut apart = bytes(&apart);
        ours.encrypt_n(&bytes(&input), &mut apart).unwrap();
        assert!(apart == bytes(&crypt), "{what}, encrypt_n");
        ours.decrypt_n(&bytes(&crypt), &mut apart).unwrap();
        assert!(apart == bytes(&input), "{what}, decrypt_n");
        for (from, to) in input.iter().zip(&crypt).take(3) {
            assert!(done(from, |block| ours.encrypt_block(block)) == *to, "{what}, single");
            assert!(done(to, |block| ours.decrypt_block(block)) == *from, "{what}, single");
        }
    }
}

/// Mode crates over our cipher, compared with the same over the other implementation.
fn check_modes<K: Kind>(ours: &BlockCipher<K>, other: &impl Other, what: &str) {
    let iv = &IV.into();
    for input in COUNTS.map(|count| blocks(count, 3)) {
        let what = format!("{what}, {} blocks", input.len());
        let ecb = done(&input, |data| ecb::Encryptor::inner_init(other).encrypt_blocks(data));
        assert!(done(&input, |data| ecb::Encryptor::inner_init(ours).encrypt_blocks(data)) == ecb, "{what}");
        assert!(done(&ecb, |data| ecb::Decryptor::inner_init(ours).decrypt_blocks(data)) == input, "{what}");
        let cbc = done(&input, |data| cbc::Encryptor::inner_iv_init(other, iv).encrypt_blocks(data));
        assert!(
            done(&input, |data| cbc::Encryptor::inner_iv_init(ours, iv).encrypt_blocks(data)) == cbc,
            "{what}"
        );
        assert!(
            done(&cbc, |data| cbc::Decryptor::inner_iv_init(ours, iv).decrypt_blocks(data)) == input,
            "{what}"
        );
        let input = bytes(&input).concat();
        let ctr = done(&input, |data| ctr_crate(other).apply_keystream(data));
        assert!(done(&input, |data| ctr_crate(ours).apply_keystream(data)) == ctr, "{what}");
    }
}

fn ctr_crate<C: BlockCipherEncrypt<BlockSize = U16>>(cipher: C) -> CtrCrate<C> {
    CtrCrate::from_core(CtrCore::inner_iv_init(cipher, &IV.into()))
}

#[test]
fn ciphers_and_mode_crates_over_them_agree_with_another_implementation_under_every_cap() {
    fn check<K: Kind, O: Other + KeyInit>(options: &Options, what: &str) {
        let key = painted(K::CIPHER.key_bytes(), 4);
        let ours = BlockCipher::<K>::with_options(&key, options).unwrap();
        let other = O::new_from_slice(&key).unwrap();
        check_blocks(&ours, &other, what);
        check_modes(&ours, &other, what);
    }
    use crossgrain::rustcrypto::kind;
    for cap in CAPS {
        let options = capped(cap, 1);
        check::<kind::Aes128, aes::Aes128>(&options, cap);
        check::<kind::Aes192, aes::Aes192>(&options, cap);
        check::<kind::Aes256, aes::Aes256>(&options, cap);
        check::<kind::Serpent128, serpent::Serpent>(&options, cap);
        check::<kind::Serpent192, serpent::Serpent>(&options, cap);
        check::<kind::Serpent256, serpent::Serpent>(&options, cap);
    }
}

#[test]
fn types_are_what_their_names_say() {
    fn check<T: KeyInit + Other + AlgorithmName + Clone + std::fmt::Debug, O: Other + KeyInit>(name: &str) {
        let key = painted(T::key_size(), 5);
        let (ours, other) = (T::new_from_slice(&key).unwrap(), O::new_from_slice(&key).unwrap());
        let block = Array(IV);
        assert_eq!(
            done(&block, |block| ours.encrypt_block(block)),
            done(&block, |block| other.encrypt_block(block))
        );
        let clone = ours.clone();
        drop(ours);
        assert_eq!(
            done(&block, |block| clone.decrypt_block(block)),
            done(&block, |block| other.decrypt_block(block))
        );
        assert_eq!(format!("{clone:?}"), format!("{name} {{ .. }}"));
        assert_eq!(Name::<T>::told(), name);
        assert!(T::new_from_slice(&key[1..]).is_err());
    }
    check::<Aes128, aes::Aes128>("Aes128");
    check::<Aes192, aes::Aes192>("Aes192");
    check::<Aes256, aes::Aes256>("Aes256");
    check::<Serpent128, serpent::Serpent>("Serpent128");
    check::<Serpent192, serpent::Serpent>("Serpent192");
    check::<Serpent256, serpent::Serpent>("Serpent256");
}

/// The name that a type reports to mode crates.
struct Name<T>(std::marker::PhantomData<T>);

impl<T: AlgorithmName> std::fmt::Display for Name<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        T::write_alg_name(f)
    }
}

impl<T: AlgorithmName> Name<T> {
    fn told() -> String {
        Self(std::marker::PhantomData).to_string()
    }
}

#[test]
fn all_types_promise_to_wipe_their_keys() {
    const fn promises<T: ZeroizeOnDrop + Send + Sync>() {}
    promises::<Aes128>();
    promises::<Aes192>();
    promises::<Aes256>();
    promises::<Ctr<Aes128>>();
    promises::<Ctr<Aes192>>();
    promises::<Ctr<Aes256>>();
    promises::<Serpent256>();
    promises::<Ctr<Serpent256>>();
}

#[test]
fn unequal_numbers_of_blocks_are_refused_and_nothing_is_written() {
    let ours = Aes128::new(&[6; 16].into());
    let mut output = [[0xa5; 16]; 3];
    for refused in [ours.encrypt_n(&[[0; 16]; 4], &mut output), ours.decrypt_n(&[[0; 16]; 2], &mut output)] {
        assert!(matches!(refused, Err(Error::LengthMismatch { output_bytes: 48, .. })));
    }
    assert_eq!(output, [[0xa5; 16]; 3]);
    let refused = Aes128::with_options(&[0; 15], &Options::default());
    assert!(matches!(refused, Err(Error::KeyLength { len_bytes: 15, .. })));
}

#[test]
fn stream_ciphers_agree_with_another_implementation_in_pieces_and_wherever_they_are_sought() {
    fn check<S, O: Other + KeyInit>(name: &str)
    where
        S: KeyIvInit + StreamCipher + StreamCipherSeek + Clone + AlgorithmName + std::fmt::Debug,
        S: cipher::common::IvSizeUser<IvSize = U16>,
    {
        let key = painted(S::key_size(), 7);
        let key: &Key<S> = key.as_slice().try_into().unwrap();
        let mut ours = S::new(key, &IV.into());
        let mut other = ctr_crate(O::new_from_slice(key).unwrap());
        let mut position = 0_u64;
        for len in [1, 15, 16, 17, 0, 31, 1000, 5, 70_000, 3] {
            let input = painted(len, 8);
            let want = done(&input, |data| other.apply_keystream(data));
            let mut apart = vec![0; len];
            ours.clone().apply_keystream_b2b(&input, &mut apart);
            assert!(apart == want, "{name}: {len} bytes at {position}");
            let keystream = done(&input, |data| ours.clone().write_keystream(data));
            assert!(keystream.iter().zip(&input).zip(&want).all(|((k, i), w)| k ^ i == *w), "{name}");
            assert!(
                done(&input, |data| ours.apply_keystream(data)) == want,
                "{name}: {len} bytes at {position}"
            );
            position += len as u64;
            assert_eq!(ours.current_pos::<u64>(), position);
        }
        for position in [0_u64, 1, 15, 16, 17, 1023, 65_536, 70_001] {
            ours.seek(position);
            other.seek(position);
            assert_eq!(ours.current_pos::<u64>(), position);
            let input = painted(100, 9);
            let want = done(&input, |data| other.apply_keystream(data));
            assert!(done(&input, |data| ours.apply_keystream(data)) == want, "{name}: sought {position}");
        }
        assert_eq!(format!("{ours:?}"), format!("{name} {{ .. }}"));
        assert_eq!(Name::<S>::told(), name);
    }
    check::<Ctr<Aes128>, aes::Aes128>("Ctr128BE<Aes128>");
    check::<Ctr<Aes192>, aes::Aes192>("Ctr128BE<Aes192>");
    check::<Ctr<Aes256>, aes::Aes256>("Ctr128BE<Aes256>");
    check::<Ctr<Serpent128>, serpent::Serpent>("Ctr128BE<Serpent128>");
    check::<Ctr<Serpent192>, serpent::Serpent>("Ctr128BE<Serpent192>");
    check::<Ctr<Serpent256>, serpent::Serpent>("Ctr128BE<Serpent256>");
}

#[test]
fn a_stream_ends_where_positions_do() {
    let mut ours = Ctr::<Aes128>::new(&[1; 16].into(), &IV.into());
    ours.seek(u128::MAX - 32);
    assert_eq!(ours.current_pos::<u128>(), u128::MAX - 32);
    assert!(ours.try_current_pos::<u64>().is_err());
    let mut data = [0; 33];
    assert!(ours.try_apply_keystream(&mut data).is_err());
    assert_eq!(data, [0; 33]);
    ours.apply_keystream(&mut data[..16]);
    assert_eq!(ours.current_pos::<u128>(), u128::MAX - 16);
    assert!(ours.try_apply_keystream(&mut [0; 2]).is_err());
    ours.apply_keystream(&mut data[..1]);
    assert_eq!(ours.current_pos::<u128>(), u128::MAX - 15);
}

/// Positions up to the end can be sought and read back. A refused seek leaves the stream where it was.
#[test]
fn a_seek_beyond_the_end_changes_nothing() {
    let mut ours = Ctr::<Aes128>::new(&[1; 16].into(), &IV.into());
    ours.seek(77_u128);
    for position in [u128::MAX, u128::MAX - 1, u128::MAX - 14] {
        assert!(ours.try_seek(position).is_err(), "{position}");
        assert_eq!(ours.try_current_pos::<u128>().ok(), Some(77));
        let (mut got, mut want) = ([0; 40], [0; 117]);
        ours.clone().apply_keystream(&mut got);
        Ctr::<Aes128>::new(&[1; 16].into(), &IV.into()).apply_keystream(&mut want);
        assert_eq!(got, want[77..]);
    }
    for position in [u128::MAX - 15, u128::MAX - 16, u128::MAX - 31, u128::MAX - 32] {
        ours.seek(position);
        assert_eq!(ours.try_current_pos::<u128>().ok(), Some(position));
        let left = (u128::MAX - 15 - position) as usize;
        assert!(ours.try_apply_keystream(&mut vec![0; left + 1]).is_err());
        assert_eq!(ours.try_current_pos::<u128>().ok(), Some(position), "nothing is used up");
        ours.try_apply_keystream(&mut vec![0; left]).unwrap();
    }
}

/// Our type, another implementation, and that crate's mode over our block cipher. All give the same sealed
/// message, open each other's, and refuse altered ones.
#[test]
fn authenticated_types_agree_with_mode_crates_over_ours_and_over_other_ciphers() {
    fn check<Ours, Composed, Other>(name: &str)
    where
        Ours: KeyInit + AeadInOut + Clone + AlgorithmName + std::fmt::Debug + ZeroizeOnDrop,
        Composed: KeyInit + AeadInOut + AeadCore<NonceSize = Ours::NonceSize>,
        Other: KeyInit + AeadInOut + AeadCore<NonceSize = Ours::NonceSize>,
    {
        let key = painted(Ours::key_size(), 12);
        let ours = Ours::new_from_slice(&key).unwrap();
        let composed = Composed::new_from_slice(&key).unwrap();
        let other = Other::new_from_slice(&key).unwrap();
        let mut nonce = Array::<u8, Ours::NonceSize>::default();
        let len = nonce.len();
        nonce.copy_from_slice(&painted(len, 13));
        for (aad_bytes, msg_bytes) in [(0, 0), (0, 1), (5, 16), (16, 33), (33, 4000), (1, 9000)] {
            let (aad, msg) = (&painted(aad_bytes, 14)[..], &painted(msg_bytes, 15)[..]);
            let sealed = other.encrypt(&nonce, Payload { msg, aad }).unwrap();
            let what = format!("{name}, {msg_bytes} bytes");
            assert!(ours.clone().encrypt(&nonce, Payload { msg, aad }).unwrap() == sealed, "{what}");
            assert!(composed.encrypt(&nonce, Payload { msg, aad }).unwrap() == sealed, "{what}, composed");
            assert!(ours.decrypt(&nonce, Payload { msg: &sealed, aad }).unwrap() == msg, "{what}");
            assert!(
                composed.decrypt(&nonce, Payload { msg: &sealed, aad }).unwrap() == msg,
                "{what}, composed"
            );
            for at in [0, msg_bytes / 2, msg_bytes, msg_bytes + 15] {
                let forged = done(&sealed, |sealed| sealed[at] ^= 0x20);
                assert!(ours.decrypt(&nonce, Payload { msg: &forged, aad }).is_err(), "{what}, byte {at}");
                let (mut data, tag) = (forged[..msg_bytes].to_vec(), forged[msg_bytes..].try_into().unwrap());
                assert!(ours.decrypt_inout_detached(&nonce, aad, (&mut data[..]).into(), &tag).is_err());
                // GCM decrypts while it computes the tag, and overwrites the output with zeros if the tag is
                // wrong.
                let left =
                    if name.contains("Gcm") { vec![0; msg_bytes] } else { forged[..msg_bytes].to_vec() };
                assert!(data == left, "{what}: byte {at}");
            }
            assert!(ours.decrypt(&nonce, Payload { msg: &sealed, aad: b"other" }).is_err(), "{what}, header");
            assert!(ours.decrypt(&nonce, &sealed[..15.min(sealed.len())]).is_err(), "{what}, too short");
        }
        assert_eq!(format!("{ours:?}"), format!("{name} {{ .. }}"));
        assert_eq!(Name::<Ours>::told(), name);
    }
    check::<crossgrain::rustcrypto::Eax<Aes128>, Eax<Aes128>, Eax<aes::Aes128>>("Eax<Aes128>");
    check::<crossgrain::rustcrypto::Eax<Aes192>, Eax<Aes192>, Eax<aes::Aes192>>("Eax<Aes192>");
    check::<crossgrain::rustcrypto::Eax<Aes256>, Eax<Aes256>, Eax<aes::Aes256>>("Eax<Aes256>");
    check::<crossgrain::rustcrypto::Eax<Serpent256>, Eax<Serpent256>, Eax<Serpent256>>("Eax<Serpent256>");
    check::<Gcm<Aes128>, AesGcm<Aes128, U12>, AesGcm<aes::Aes128, U12>>("Gcm<Aes128>");
    check::<Gcm<Aes256>, AesGcm<Aes256, U12>, AesGcm<aes::Aes256, U12>>("Gcm<Aes256>");
}

#[test]
fn the_stream_type_is_our_mode() {
    let key = painted(32, 10);
    let input = painted(5000, 11);
    let mode_key = crossgrain::Key::new(crossgrain::Cipher::Aes256, &key).unwrap();
    let mode = crossgrain::mode::Ctr::with_options(&mode_key, &IV, &Options::default()).unwrap();
    for position in [0_u64, 5, 4096] {
        let mut ours = Ctr::<Aes256>::with_options(&key, &IV, &Options::default()).unwrap();
        ours.seek(position);
        let want = done(&input, |data| mode.apply_at(position.into(), data));
        assert!(done(&input, |data| ours.apply_keystream(data)) == want);
    }
}

/// The modes that no crate of the tests has: our types give what our modes give.
#[test]
fn authenticated_types_are_our_modes() {
    fn check<C: Kind, A: KeyInit + AeadInOut + AlgorithmName>(mode: Mode, name: &str) {
        let key = painted(A::key_size(), 16);
        let ours = A::new_from_slice(&key).unwrap();
        let engine = mode.aead(C::CIPHER, &key, 16, &Options::default()).unwrap();
        let mut nonce = Array::<u8, A::NonceSize>::default();
        let len = nonce.len();
        nonce.copy_from_slice(&painted(len, 17));
        for (aad_bytes, msg_bytes) in [(0, 0), (3, 1), (16, 16), (20, 1000), (0, 9000)] {
            let (aad, msg) = (&painted(aad_bytes, 18)[..], &painted(msg_bytes, 19)[..]);
            let mut crypt = msg.to_vec();
            let tag = engine.seal(&nonce, aad, &mut crypt).unwrap();
            let want =
                if mode == Mode::Siv { [&tag[..], &crypt].concat() } else { [&crypt, &tag[..]].concat() };
            assert_eq!(
                ours.encrypt(&nonce, Payload { msg, aad }).unwrap(),
                want,
                "{name}, {msg_bytes} bytes"
            );
            assert_eq!(ours.decrypt(&nonce, Payload { msg: &want, aad }).unwrap(), msg, "{name}");
            for at in [0, msg_bytes / 2, msg_bytes + 15] {
                let forged = done(&want, |sealed| sealed[at] ^= 0x40);
                assert!(ours.decrypt(&nonce, Payload { msg: &forged, aad }).is_err(), "{name}, byte {at}");
            }
            assert!(ours.decrypt(&nonce, &want[..15]).is_err(), "{name}, too short");
        }
        assert!(A::new_from_slice(&key[1..]).is_err());
        assert_eq!(Name::<A>::told(), name);
    }
    check::<Aes128, Ccm<Aes128>>(Mode::Ccm, "Ccm<Aes128>");
    check::<Serpent192, Ccm<Serpent192>>(Mode::Ccm, "Ccm<Serpent192>");
    check::<Aes256, Ocb<Aes256>>(Mode::Ocb, "Ocb<Aes256>");
    check::<Serpent256, Ocb<Serpent256>>(Mode::Ocb, "Ocb<Serpent256>");
    check::<Aes128, GcmSiv<Aes128>>(Mode::GcmSiv, "GcmSiv<Aes128>");
    check::<Aes256, GcmSiv<Aes256>>(Mode::GcmSiv, "GcmSiv<Aes256>");
    check::<Aes192, Siv<Aes192>>(Mode::Siv, "Siv<Aes192>");
    check::<Aes256, Siv<Aes256>>(Mode::Siv, "Siv<Aes256>");
    check::<Serpent128, Siv<Serpent128>>(Mode::Siv, "Siv<Serpent128>");
}
