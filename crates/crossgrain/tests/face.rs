//! The interface that callers see first: constructors with default options, types accepted as buffers, tags
//! with the mode's length.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{key, painted};
use crossgrain::mode::{
    Aead, AeadMessage, Cbc, Cfb, Cfb1, Cfb8, Chain, Cmac, Ctr, Eax, Ecb, Gcm, Mode, Ofb, Options, Tag, Xts,
    XtsKey,
};
use crossgrain::plan::compose;
use crossgrain::stream::Stream;
use crossgrain::wisdom::Refused;
use crossgrain::{Buffers, Cipher, Direction, Error, Key, wide};
use subtle::ConstantTimeEq as _;

const IV: [u8; 16] = *b"sixteen bytes iv";
const ENCRYPT: Direction = Direction::Encrypt;

#[test]
fn new_is_with_default_options() {
    let (options, cipher) = (Options::default(), Cipher::Aes256);
    let key = key(cipher, 1);
    let done = |apply: &dyn Fn(&mut [u8])| {
        let mut data = painted(1024, 2);
        apply(&mut data);
        data
    };
    for direction in Direction::ALL {
        let pairs = [Ecb::new(&key, direction), Ecb::with_options(&key, direction, &options)];
        let [a, b] = pairs.map(|mode| done(&|data| mode.as_ref().unwrap().apply(data).unwrap()));
        assert_eq!(a, b);
        let pairs = [Cbc::new(&key, direction), Cbc::with_options(&key, direction, &options)];
        let [a, b] =
            pairs.map(|mode| done(&|data| mode.as_ref().unwrap().apply(&mut IV.into(), data).unwrap()));
        assert_eq!(a, b);
        let xts_key = XtsKey::new(cipher, &painted(64, 3)).unwrap();
        let pairs =
            [Xts::new(&xts_key, direction, 512), Xts::with_options(&xts_key, direction, 512, &options)];
        let [a, b] = pairs.map(|mode| done(&|data| mode.as_ref().unwrap().apply(7, data).unwrap()));
        assert_eq!(a, b);
        assert!(Cfb::new(&key, direction).is_ok() && Ofb::new(&key, direction).is_ok());
        assert!(Cfb8::new(&key, direction).is_ok() && Cfb1::new(&key, direction).is_ok());
        let wide_key = wide::Key::new(wide::Rijndael::Block256Key256, key.bytes()).unwrap();
        assert!(wide::Stream::new(&wide_key, Mode::Ctr, direction).is_ok());
    }
    let pairs = [Ctr::new(&key, &IV), Ctr::with_options(&key, &IV, &options)];
    let [a, b] = pairs.map(|mode| done(&|data| mode.as_ref().unwrap().apply_at(5, data)));
    assert_eq!(a, b);
    let pairs = [Stream::new(&key), Stream::with_options(&key, &options)];
    let [a, b] = pairs.map(|stream| done(&|data| stream.as_ref().unwrap().fill_bytes_at(5, data)));
    assert_eq!(a, b);
    let pairs = [Cmac::new(&key), Cmac::with_options(&key, &options)];
    let [a, b] = pairs.map(|mac| mac.unwrap().tag(b"message"));
    assert_eq!(a, b);
    assert_eq!((Gcm::new(&key).unwrap().tag_bytes(), Eax::new(&key).unwrap().tag_bytes()), (16, 16));
}

/// Slices, arrays and vectors, in place and out of place, give the same bytes.
#[test]
fn buffers_are_made_of_whatever_has_bytes() {
    let ctr = Ctr::new(&key(Cipher::Aes128, 4), &IV).unwrap();
    let input: [u8; 100] = painted(100, 5).try_into().unwrap();
    let (mut array, mut vector, mut boxed) = (input, input.to_vec(), Box::<[u8]>::from(input));
    let mut apart = [0; 100];
    ctr.apply_at(0, &mut array);
    ctr.apply_at(0, &mut vector);
    ctr.apply_at(0, &mut *boxed);
    ctr.apply_at(0, (&input, &mut apart));
    assert_eq!((&vector[..], &*boxed, apart), (&array[..], &array[..], array));
    let mut slice = [0; 100];
    ctr.apply_at(40, (&input[40..], &mut slice[40..]));
    ctr.apply_at(0, Buffers::apart(&input[..40], &mut slice[..40]).unwrap());
    assert_eq!(slice, array);
}

#[test]
#[should_panic = "the output has 31 bytes and the input 32: make them equal"]
fn buffers_of_different_lengths_panic() {
    let _ = Buffers::from((&[0; 32], &mut [0; 31]));
}

#[test]
fn tags_have_a_length_of_their_own() {
    let (key, data) = (key(Cipher::Aes256, 6), painted(100, 7));
    for tag_bytes in [4, 8, 12, 13, 14, 15, 16] {
        let modes: [Box<dyn Aead>; 2] = [
            Box::new(Gcm::with_options(&key, tag_bytes, &Options::default()).unwrap()),
            Box::new(Eax::with_options(&key, tag_bytes, &Options::default()).unwrap()),
        ];
        for mode in modes {
            let mut sealed = data.clone();
            let tag = mode.seal(&IV, b"aad", &mut sealed).unwrap();
            assert_eq!((tag.len(), tag.as_ref().len(), mode.tag_bytes()), (tag_bytes, tag_bytes, tag_bytes));
            // A correct tag with a byte more or less, or an empty tag, is refused, and nothing is written.
            let longer = [&tag[..], &[0]].concat();
            for wrong in [&tag[1..], &tag[..tag_bytes - 1], &longer, &[]] {
                let mut data = sealed.clone();
                let len_bytes = wrong.len();
                assert_eq!(mode.open(&IV, b"aad", wrong, &mut data), Err(Error::TagBytes { len_bytes }));
                assert_eq!(data, sealed);
            }
            let message = AeadMessage::new(&IV, b"aad", &mut sealed);
            let opened = mode.open_many(&mut [AeadMessage { tag: Tag::default(), ..message }]).unwrap();
            assert_eq!(opened, [Err(Error::TagBytes { len_bytes: 0 })]);
            mode.open(&IV, b"aad", &tag, &mut sealed).unwrap();
            assert_eq!(sealed, data);
        }
    }
}

#[test]
fn tags_compare_by_all_their_bytes() {
    let tag = |bytes: &[u8]| Tag::try_from(bytes).unwrap();
    let whole = Tag::from(IV);
    assert_eq!(whole, tag(&IV));
    assert!(bool::from(whole.ct_eq(&tag(&IV))));
    assert_ne!(whole, tag(&IV[..15]));
    assert_ne!(tag(&[0; 4]), tag(&[0; 5]));
    for bit in 0..128 {
        let mut other = IV;
        other[bit / 8] ^= 1 << (bit % 8);
        assert_ne!(whole, tag(&other));
        assert!(!bool::from(whole.ct_eq(&tag(&other))));
    }
    assert_eq!(Tag::try_from(&[0; 17][..]), Err(Error::TagBytes { len_bytes: 17 }));
    assert_eq!(format!("{:?}", tag(&[1, 0xab])), "Tag(01ab)");
}

/// The chain value after one piece is the start of the next.
#[test]
fn messages_are_made_of_an_iv_or_a_chain() {
    let cbc = Cbc::new(&key(Cipher::Aes128, 8), Direction::Encrypt).unwrap();
    let (mut whole, mut pieces) = (painted(64, 9), painted(64, 9));
    cbc.apply(&mut IV.into(), &mut whole).unwrap();
    let mut chain = Chain::from(IV);
    cbc.apply(&mut chain, &mut pieces[..32]).unwrap();
    cbc.apply_many(&mut [crossgrain::mode::Message::new(chain, &mut pieces[32..])]).unwrap();
    assert_eq!(whole, pieces);
}

/// Conversion to the `io::Error` that a reader or writer returns, with the cause kept.
#[test]
fn errors_become_input_output_errors() {
    use std::io::{Error as IoError, ErrorKind};
    let kind = |error: Error| IoError::from(error).kind();
    assert_eq!(kind(Error::Forged), ErrorKind::InvalidData);
    assert_eq!(kind(Error::CorruptPlan("it is cut".to_owned())), ErrorKind::InvalidData);
    assert_eq!(kind(Error::EmptyNonce), ErrorKind::InvalidInput);
    assert_eq!(kind(Error::NoRandom("it is away".to_owned())), ErrorKind::Other);
    let error = IoError::from(Error::PartialBlock { len_bytes: 17 });
    assert_eq!(error.to_string(), Error::PartialBlock { len_bytes: 17 }.to_string());
    assert_eq!(error.downcast::<Error>().unwrap(), Error::PartialBlock { len_bytes: 17 });
    let reading =
        || -> std::io::Result<()> { Ok(Ecb::new(&key(Cipher::Aes128, 1), ENCRYPT)?.apply(&mut [0; 3])?) };
    assert_eq!(reading().unwrap_err().kind(), ErrorKind::InvalidInput);
    let no_plan = Error::from(compose::Error::NoParts);
    assert_eq!(no_plan, Error::NoPlan("a flow needs at least one part".to_owned()));
    let unfit = Error::from(Refused::Variants).to_string();
    assert_eq!(unfit, "the wisdom cannot be used: it is of other variants than there are now: measure again");
}

#[test]
fn generated_keys_differ() {
    for cipher in Cipher::ALL {
        let (a, b) = (Key::generate(cipher).unwrap(), Key::generate(cipher).unwrap());
        assert_eq!((a.cipher(), a.bytes().len()), (cipher, cipher.key_bytes()));
        assert_ne!(a.bytes(), b.bytes());
        let [a, b] = [0; 2].map(|_| XtsKey::generate(cipher).unwrap());
        let encrypted = |key| {
            let mut data = [0; 32];
            Xts::new(key, ENCRYPT, 32).unwrap().apply(0, &mut data).unwrap();
            data
        };
        assert_ne!(encrypted(&a), encrypted(&b));
    }
    for cipher in wide::Rijndael::ALL {
        assert_eq!(wide::Key::generate(cipher).unwrap().cipher(), cipher);
    }
}
