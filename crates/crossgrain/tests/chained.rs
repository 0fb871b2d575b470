//! Modes other than ECB and CTR give the reference's bytes: at odd lengths, in place and out of place, in
//! pieces, for many messages at once, with every kind of plan and any number of threads.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{CAPS, capped, cases, counted, forced, here, key, painted};
use crossgrain::Policy;
use crossgrain::engine::reference::{self, BlockCipher, aead, chaining, segmented, xts};
use crossgrain::engine::variant::{Action, Variant, table};
use crossgrain::mode::{
    Aead, AeadMessage, Cbc, CbcMode, Cfb, CfbMode, Chain, Chained, ChainedMode, Cmac, Eax, Gcm, Message, Ofb,
    OfbMode, Options, SECTOR_BYTES_MAX, Segmented, Tag, Xts, XtsKey,
};
use crossgrain::plan::Fused;
use crossgrain::{Block, Buffers, Cipher, Direction, Error, Features, Key};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::sample::select;
use proptest::{prop_oneof, proptest};

const IV: Block = *b"as good as any  ";

/// The reference of a chained mode.
type Reference = fn(&dyn BlockCipher, Direction, Block, &mut [u8]);

/// A chained mode of the engine, applied to messages with their initialisation vectors.
type Engine = fn(&Key, Direction, &Options, &mut [Message<'_>]) -> Result<(), Error>;

/// Limits a length to those that a mode takes, and that its reference computes in time.
type Cut = fn(usize) -> usize;

/// The chained modes: name, lengths, reference, engine.
const CHAINED: [(&str, Cut, Reference, Engine); 5] = [
    ("cbc", |len| len / 16 * 16, chaining::cbc, chained::<CbcMode>),
    ("cfb", |len| len, chaining::cfb, chained::<CfbMode>),
    ("ofb", |len| len, |cipher, _, iv, data| chaining::ofb(cipher, iv, data), chained::<OfbMode>),
    (
        "cfb8",
        |len| len.min(len / 20 + 50),
        |cipher, direction, iv, data| segmented::cfb_segments(8, cipher, direction, iv, data),
        segments::<8>,
    ),
    (
        "cfb1",
        |len| len.min(len / 160 + 20),
        |cipher, direction, iv, data| segmented::cfb_segments(1, cipher, direction, iv, data),
        segments::<1>,
    ),
];

fn segments<const BITS: usize>(
    key: &Key,
    direction: Direction,
    options: &Options,
    messages: &mut [Message<'_>],
) -> Result<(), Error> {
    Segmented::<BITS>::with_options(key, direction, options).unwrap().apply_many(messages);
    Ok(())
}

fn chained<M: ChainedMode>(
    key: &Key,
    direction: Direction,
    options: &Options,
    messages: &mut [Message<'_>],
) -> Result<(), Error> {
    Chained::<M>::with_options(key, direction, options).unwrap().apply_many(messages)
}

/// A mode that takes a piece.
fn chained_piece<M: ChainedMode>(
    key: &Key,
    direction: Direction,
    options: &Options,
) -> impl Fn(&mut Chain, Buffers<'_>) {
    let mode = Chained::<M>::with_options(key, direction, options).unwrap();
    move |chain, buffers| mode.apply(chain, buffers).unwrap()
}

fn segmented_piece<const BITS: usize>(
    key: &Key,
    direction: Direction,
    options: &Options,
) -> impl Fn(&mut Chain, Buffers<'_>) {
    let mode = Segmented::<BITS>::with_options(key, direction, options).unwrap();
    move |chain, buffers| mode.apply(chain, buffers)
}

/// Options that force the table variant of the whole cipher, which no default plan uses.
fn by_table(direction: Direction) -> Options {
    let name = format!("aes-{}/blocks/portable-table", direction.name());
    Options {
        variants: vec![name],
        policy: Policy::Any,
        threads: 1,
        features: Some(Features::of_cpu()),
        ..Options::default()
    }
}

fn ways() -> impl Strategy<Value = Options> {
    let ways = |cap| move |threads| Options { short_nonces: true, ..capped(cap, threads) };
    select(&CAPS[..]).prop_flat_map(move |cap| select(vec![1, 2]).prop_map(ways(cap)))
}

/// Lengths in bytes: mostly odd and short, some of several bundles.
fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..40_usize, 3 => 0..700_usize, 1 => 0..20_000_usize]
}

/// Runs work in a pool of three threads, the largest number that these tests request.
fn with_three_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap().install(work)
}

proptest! {
    #![proptest_config(cases(192))]

    #[test]
    fn chained_modes_agree_with_the_reference_for_many_messages(
        (name, cut, by_reference, by_engine) in select(&CHAINED[..]),
        options in ways(),
        cipher in select(&Cipher::ALL[..]),
        direction in select(&Direction::ALL[..]),
        lens in vec(lengths(), 1..40),
        in_place in any::<bool>(),
    ) {
        let key = key(cipher, 1);
        let inputs: Vec<_> = (0..).zip(&lens).map(|(i, &len)| painted(cut(len), i)).collect();
        let iv = |i: usize| -> Block { painted(16, 100 + i as u64).try_into().unwrap() };
        let mut outputs = if in_place { inputs.clone() } else { inputs.iter().map(|input| vec![0; input.len()]).collect() };
        let buffers = |(input, output)| -> Buffers<'_> {
            if in_place { Buffers::in_place(output) } else { Buffers::apart(input, output).unwrap() }
        };
        let places = inputs.iter().map(Vec::as_slice).zip(outputs.iter_mut().map(Vec::as_mut_slice));
        let mut messages: Vec<_> =
            places.map(buffers).enumerate().map(|(i, buffers)| Message { chain: iv(i).into(), buffers }).collect();
        by_engine(&key, direction, &options, &mut messages).unwrap();
        drop(messages);
        let cipher = reference::cipher(&key);
        for (i, (input, output)) in inputs.into_iter().zip(outputs).enumerate() {
            let mut want = input;
            by_reference(&*cipher, direction, iv(i), &mut want);
            assert!(output == want, "{name} {direction:?} message {i} of {} bytes", want.len());
        }
    }

    #[test]
    fn chained_modes_go_on_where_they_left_off(
        mode in 0..CHAINED.len(),
        options in ways(),
        cipher in select(&Cipher::ALL[..]),
        direction in select(&Direction::ALL[..]),
        pieces in vec((lengths(), any::<bool>()), 1..12),
        last in lengths(),
    ) {
        fn pieces_of(apply: impl Fn(&mut Chain, Buffers<'_>), input: &[u8], pieces: &[(usize, bool)]) -> Vec<u8> {
            let (mut chain, mut output, mut at) = (IV.into(), input.to_vec(), 0);
            for &(len, in_place) in pieces {
                let (from, to) = (&input[at..][..len], &mut output[at..][..len]);
                let buffers = if in_place { Buffers::in_place(to) } else { Buffers::apart(from, to).unwrap() };
                apply(&mut chain, buffers);
                at += len;
            }
            output
        }
        let (name, cut, by_reference, _) = CHAINED[mode];
        let key = key(cipher, 2);
        let mut pieces: Vec<_> = pieces.into_iter().map(|(len, in_place)| (cut(len), in_place)).collect();
        pieces.push((cut(last), true));
        let input = painted(pieces.iter().map(|(len, _)| len).sum(), 3);
        let got = match mode {
            0 => pieces_of(chained_piece::<CbcMode>(&key, direction, &options), &input, &pieces),
            1 => pieces_of(chained_piece::<CfbMode>(&key, direction, &options), &input, &pieces),
            2 => pieces_of(chained_piece::<OfbMode>(&key, direction, &options), &input, &pieces),
            3 => pieces_of(segmented_piece::<8>(&key, direction, &options), &input, &pieces),
            _ => pieces_of(segmented_piece::<1>(&key, direction, &options), &input, &pieces),
        };
        let mut want = input;
        by_reference(&*reference::cipher(&key), direction, IV, &mut want);
        assert!(got == want, "{name} {direction:?} {pieces:?}");
    }

    #[test]
    fn xts_agrees_with_the_reference(
        options in ways(),
        cipher in select(&Cipher::ALL[..]),
        direction in select(&Direction::ALL[..]),
        sector_bytes in prop_oneof![16..80_usize, select(vec![16, 32, 512, 520, 528, 4096, 8192 + 16]), 16..5000_usize],
        sectors in 0..12_usize,
        last_bytes in prop_oneof![2 => 0..1_usize, 1 => 16..5000_usize],
        first_sector in prop_oneof![0..9_u128, (0..9_u128).prop_map(|n| u128::MAX - n), any::<u128>()],
        in_place in any::<bool>(),
    ) {
        let xts_key = xts_key(cipher, 4);
        let len = sectors * sector_bytes + if last_bytes < sector_bytes { last_bytes } else { 0 };
        let input = painted(len, 5);
        let mut output = input.clone();
        let buffers =
            if in_place { Buffers::in_place(&mut output) } else { Buffers::apart(&input, &mut output).unwrap() };
        Xts::with_options(&xts_key, direction, sector_bytes, &options).unwrap().apply(first_sector, buffers).unwrap();
        let want = xts_by_reference(cipher, 4, direction, sector_bytes, first_sector, &input);
        assert!(output == want, "{direction:?} {len} bytes in sectors of {sector_bytes}");
    }

    #[test]
    fn cmac_agrees_with_the_reference(
        options in ways(),
        cipher in select(&Cipher::ALL[..]),
        lens in vec(lengths(), 0..40),
    ) {
        let key = key(cipher, 6);
        let messages: Vec<_> = (0..).zip(&lens).map(|(i, &len)| painted(len, i)).collect();
        let slices: Vec<_> = messages.iter().map(Vec::as_slice).collect();
        let tags = Cmac::with_options(&key, &options).unwrap().tag_many(&slices);
        let by_reference = reference::cipher(&key);
        let want: Vec<_> = messages.iter().map(|message| Tag::from(aead::cmac(&*by_reference, message))).collect();
        assert_eq!(tags, want);
    }

    #[test]
    fn authenticated_modes_agree_with_the_reference(
        gcm in any::<bool>(),
        options in ways(),
        cipher in select(&Cipher::ALL[..]),
        tag_bytes in select(vec![4, 8, 12, 13, 16]),
        lens in vec((lengths(), 0..40_usize, prop_oneof![2 => 12..13_usize, 1 => 1..40_usize]), 1..30),
        in_place in any::<bool>(),
        forged in vec(prop_oneof![2 => 0..1_u8, 1 => any::<u8>()], 30),
    ) {
        let key = key(cipher, 7);
        let mode: Box<dyn Aead> = if gcm {
            Box::new(Gcm::with_options(&key, tag_bytes, &options).unwrap())
        } else {
            Box::new(Eax::with_options(&key, tag_bytes, &options).unwrap())
        };
        let by_reference = if gcm { aead::gcm } else { aead::eax };
        let plain: Vec<_> = (0..).zip(&lens).map(|(i, &(len, _, _))| painted(len, i)).collect();
        let nonces: Vec<_> = (0..).zip(&lens).map(|(i, &(_, _, len))| painted(len, 50 + i)).collect();
        let aads: Vec<_> = (0..).zip(&lens).map(|(i, &(_, len, _))| painted(len, 90 + i)).collect();
        fn buffers<'a>(in_place: bool, input: &'a [u8], output: &'a mut [u8]) -> Buffers<'a> {
            if in_place { Buffers::in_place(output) } else { Buffers::apart(input, output).unwrap() }
        }
        let names = || nonces.iter().zip(&aads);
        let mut sealed: Vec<_> = plain.clone();
        let places = plain.iter().zip(&mut sealed).map(|(input, output)| buffers(in_place, input, output));
        let message = |(buffers, (nonce, aad))| AeadMessage::new(nonce, aad, buffers);
        let mut messages: Vec<_> = places.zip(names().map(|(nonce, aad)| (&nonce[..], &aad[..]))).map(message).collect();
        mode.seal_many(&mut messages).unwrap();
        let tags: Vec<_> = messages.iter().map(|message| message.tag).collect();
        drop(messages);
        let block_cipher = reference::cipher(&key);
        for (i, plain) in plain.iter().enumerate() {
            let mut want = plain.clone();
            let tag = by_reference(&*block_cipher, Direction::Encrypt, &nonces[i], &aads[i], &mut want);
            assert!(sealed[i] == want, "message {i} of {} bytes", want.len());
            assert_eq!(tags[i][..], tag[..tag_bytes], "tag {i} of {} bytes", want.len());
        }
        // One bit is changed in some tags. Exactly those messages must be refused, and no plaintext released.
        let wrong = |i: usize| forged[i] != 0;
        let given = |i: usize| {
            let mut tag = tags[i].to_vec();
            let bit = usize::from(forged[i]) % (8 * tag_bytes);
            tag[bit / 8] ^= u8::from(wrong(i)) << (bit % 8);
            Tag::try_from(&tag[..]).unwrap()
        };
        let mut opened = if in_place { sealed.clone() } else { sealed.iter().map(|data| vec![0xa5; data.len()]).collect() };
        let untouched = opened.clone();
        let places = sealed.iter().zip(&mut opened).map(|(input, output)| buffers(in_place, input, output));
        let message = |((buffers, (nonce, aad)), tag)| AeadMessage { tag, ..AeadMessage::new(nonce, aad, buffers) };
        let given = (0..lens.len()).map(given);
        let mut messages: Vec<_> = places.zip(names().map(|(nonce, aad)| (&nonce[..], &aad[..]))).zip(given).map(message).collect();
        let results = mode.open_many(&mut messages).unwrap();
        drop(messages);
        for (i, result) in results.into_iter().enumerate() {
            assert_eq!(result, if wrong(i) { Err(Error::Forged) } else { Ok(()) }, "message {i}");
            // GCM decrypts while it computes the tag, and overwrites the output with zeros if the tag is
            // wrong.
            let left = if gcm { vec![0; plain[i].len()] } else { untouched[i].clone() };
            assert!(opened[i] == if wrong(i) { left } else { plain[i].clone() }, "message {i}");
        }
    }
}

#[test]
fn gcm_hashes_any_number_of_blocks_on_any_machine() {
    let key = key(Cipher::Aes256, 11);
    let by_reference = reference::cipher(&key);
    for cap in CAPS {
        let gcm = Gcm::with_options(&key, 16, &capped(cap, 1)).unwrap();
        // A stride of the widest registers is 32 blocks. The lengths reach past three strides, so a pass has
        // a first, a middle and a last one.
        for len_bytes in (0..102 * 16).step_by(16).chain([1, 15, 17, 511, 513, 9000]) {
            let (aad, mut data) = (painted(len_bytes / 3, 1), painted(len_bytes, 2));
            let mut want = data.clone();
            let tag = aead::gcm(&*by_reference, Direction::Encrypt, b"twelve bytes", &aad, &mut want);
            let sealed = gcm.seal(b"twelve bytes", &aad, &mut data).unwrap();
            assert_eq!((sealed, data), (tag.into(), want), "{cap}, {len_bytes} bytes");
        }
    }
}

/// Four messages at a time, each with its own length, associated data and tag.
#[test]
fn gcm_takes_short_messages_together() {
    let key = key(Cipher::Aes192, 5);
    for cap in CAPS {
        let gcm = Gcm::with_options(&key, 12, &capped(cap, 1)).unwrap();
        for lens in [[0, 1, 16, 17], [64, 63, 48, 33], [65, 256, 255, 0], [257, 3, 3, 3], [15, 16, 1350, 64]]
        {
            for aad_bytes in [0, 13, 33, 600] {
                agrees_with_one_at_a_time(&gcm, &lens, aad_bytes, cap);
            }
        }
    }
}

fn agrees_with_one_at_a_time(gcm: &Gcm, lens: &[usize], aad_bytes: usize, cap: &str) {
    const COUNT: usize = 9;
    const FORGED: usize = 6;
    fn messages<'a>(
        nonces: &'a [Vec<u8>],
        aads: &'a [Vec<u8>],
        data: &'a mut [Vec<u8>],
    ) -> Vec<AeadMessage<'a>> {
        let both = nonces.iter().zip(aads).zip(data);
        both.map(|((nonce, aad), data)| AeadMessage::new(nonce, aad, data)).collect()
    }
    let nonces: Vec<_> = (0..COUNT).map(|i| painted(12, i as u64)).collect();
    let aads: Vec<_> = (0..COUNT).map(|i| painted(aad_bytes / (i + 1), 3)).collect();
    let plain: Vec<_> = lens.iter().cycle().take(COUNT).map(|&len| painted(len, 4)).collect();
    let (mut alone, mut many) = (plain.clone(), plain.clone());
    let mut tags = Vec::new();
    for (i, data) in alone.iter_mut().enumerate() {
        tags.push(gcm.seal(&nonces[i], &aads[i], data).unwrap());
    }
    let mut sealed = messages(&nonces, &aads, &mut many);
    gcm.seal_many(&mut sealed).unwrap();
    assert!(sealed.iter().zip(&tags).all(|(message, tag)| message.tag == *tag), "{cap} {lens:?} {aad_bytes}");
    drop(sealed);
    assert!(many == alone, "{cap} {lens:?} {aad_bytes}");
    tags[FORGED] = Tag::try_from(&[7; 12][..]).unwrap();
    let mut sealed = messages(&nonces, &aads, &mut many);
    sealed.iter_mut().zip(tags).for_each(|(message, tag)| message.tag = tag);
    let opened = gcm.open_many(&mut sealed).unwrap();
    drop(sealed);
    for (i, opened) in opened.into_iter().enumerate() {
        let (want, left) = match i {
            FORGED => (Err(Error::Forged), vec![0; plain[i].len()]),
            _ => (Ok(()), plain[i].clone()),
        };
        assert_eq!(opened, want, "{cap} {lens:?} {aad_bytes}, message {i}");
        assert!(many[i] == left, "{cap} {lens:?} {aad_bytes}, message {i}");
    }
}

/// Ciphertext stealing is batched over many sectors. This covers more sectors than a batch, in place and out
/// of place.
#[test]
fn xts_takes_many_sectors_that_end_within_a_block() {
    for (cipher, sector_bytes) in [(Cipher::Aes128, 17), (Cipher::Aes256, 520), (Cipher::Serpent256, 47)] {
        let input = painted(150 * sector_bytes + 33, 23);
        for direction in Direction::ALL {
            let xts = Xts::with_options(&xts_key(cipher, 24), direction, sector_bytes, &Options::default())
                .unwrap();
            let want = xts_by_reference(cipher, 24, direction, sector_bytes, 7, &input);
            let mut got = input.clone();
            xts.apply(7, &mut got).unwrap();
            assert!(got == want, "{cipher} {direction:?} {sector_bytes} in place");
            got.fill(0);
            xts.apply(7, Buffers::apart(&input, &mut got).unwrap()).unwrap();
            assert!(got == want, "{cipher} {direction:?} {sector_bytes} apart");
        }
    }
}

fn xts_key(cipher: Cipher, seed: u64) -> XtsKey {
    XtsKey::new(cipher, &painted(2 * cipher.key_bytes(), seed)).unwrap()
}

fn xts_by_reference(
    cipher: Cipher,
    seed: u64,
    direction: Direction,
    sector_bytes: usize,
    first_sector: u128,
    input: &[u8],
) -> Vec<u8> {
    let bytes = painted(2 * cipher.key_bytes(), seed);
    let (data_key, tweak_key) = bytes.split_at(cipher.key_bytes());
    let by = |bytes| reference::cipher(&Key::new(cipher, bytes).unwrap());
    let (data_cipher, tweak_cipher) = (by(data_key), by(tweak_key));
    let mut data = input.to_vec();
    for (i, sector) in (0..).zip(data.chunks_mut(sector_bytes)) {
        xts::xts(&*data_cipher, &*tweak_cipher, direction, first_sector.wrapping_add(i), sector);
    }
    data
}

/// Long enough for several threads, and for several tiles of every plan.
const LONG: usize = 3 * 256 * 1024 + 16 * 5;

#[test]
fn long_messages_are_the_same_by_any_number_of_threads() {
    let (cipher, key) = (Cipher::Aes256, key(Cipher::Aes256, 8));
    let by_reference = reference::cipher(&key);
    let input = painted(LONG, 9);
    for direction in Direction::ALL {
        let whole_sector = xts_by_reference(cipher, 10, direction, LONG, 77, &input);
        let short_sectors = xts_by_reference(cipher, 10, direction, 512, 77, &input);
        let chained = CHAINED.map(|(_, cut, by, _)| {
            let mut want = input[..cut(LONG)].to_vec();
            by(&*by_reference, direction, IV, &mut want);
            want
        });
        with_three_threads(|| {
            for (cap, threads) in CAPS.into_iter().flat_map(|cap| [1, 3].map(|threads| (cap, threads))) {
                let options = capped(cap, threads);
                for ((name, _, _, by_engine), want) in CHAINED.iter().zip(&chained) {
                    let mut data = input[..want.len()].to_vec();
                    let mut message = [Message::new(IV, &mut data)];
                    by_engine(&key, direction, &options, &mut message).unwrap();
                    assert!(data == *want, "{name} {direction:?} {cap} {threads}");
                }
                for (sector_bytes, want) in [(LONG, &whole_sector), (512, &short_sectors)] {
                    let mut data = input.clone();
                    let xts =
                        Xts::with_options(&xts_key(cipher, 10), direction, sector_bytes, &options).unwrap();
                    xts.apply(77, &mut data).unwrap();
                    assert!(data == *want, "xts {direction:?} {cap} {threads} {sector_bytes}");
                }
            }
        });
    }
}

#[test]
fn many_messages_are_the_same_by_any_number_of_threads() {
    let key = key(Cipher::Aes128, 11);
    let by_reference = reference::cipher(&key);
    // More messages than any plan has lanes, with lengths that end at different times.
    let plain: Vec<_> = (0..600).map(|i| painted(16 * (i * 37 % 101) + i % 3, i as u64)).collect();
    let want: Vec<_> = plain
        .iter()
        .map(|plain| {
            let mut data = plain.clone();
            let tag =
                aead::eax(&*by_reference, Direction::Encrypt, &data.len().to_le_bytes(), b"x", &mut data);
            (data, Tag::from(tag))
        })
        .collect();
    with_three_threads(|| {
        for (cap, threads) in CAPS.into_iter().flat_map(|cap| [1, 3].map(|threads| (cap, threads))) {
            let eax = Eax::with_options(&key, 16, &capped(cap, threads)).unwrap();
            let mut sealed = plain.clone();
            let nonces: Vec<_> = plain.iter().map(|data| data.len().to_le_bytes()).collect();
            let mut messages: Vec<_> = sealed
                .iter_mut()
                .zip(&nonces)
                .map(|(data, nonce)| AeadMessage::new(nonce, b"x", data))
                .collect();
            eax.seal_many(&mut messages).unwrap();
            let tags: Vec<_> = messages.iter().map(|message| message.tag).collect();
            drop(messages);
            assert!(
                sealed.iter().zip(&tags).eq(want.iter().map(|(data, tag)| (data, tag))),
                "{cap} {threads}"
            );
        }
    });
}

/// Messages of a page or more in one buffer that start at any offset within a cache line. Long messages are
/// processed from line-aligned addresses.
#[test]
fn many_long_messages_begin_at_any_place() {
    const COUNT: usize = 35;
    let key = key(Cipher::Aes256, 12);
    let by_reference = reference::cipher(&key);
    for (at, len, gap) in [(0, 4096, 0), (16, 4096, 0), (32, 4112, 16), (48, 4288, 0), (8, 4096, 5)] {
        let plain = painted(at + COUNT * (len + gap), len as u64);
        let mut want = plain.clone();
        for message in want[at..].chunks_exact_mut(len + gap) {
            chaining::cbc(&*by_reference, Direction::Encrypt, IV, &mut message[..len]);
        }
        let messages: Vec<_> = plain[at..].chunks_exact(len + gap).map(|message| &message[..len]).collect();
        let tags: Vec<_> =
            messages.iter().map(|message| Tag::from(aead::cmac(&*by_reference, message))).collect();
        for cap in CAPS {
            let mut got = plain.clone();
            let places = got[at..].chunks_exact_mut(len + gap).map(|message| &mut message[..len]);
            let mut places: Vec<_> = places.map(|place| Message::new(IV, place)).collect();
            chained::<CbcMode>(&key, Direction::Encrypt, &capped(cap, 1), &mut places).unwrap();
            drop(places);
            assert!(got == want, "{cap}: {len} bytes from {at} on, {gap} between");
            let cmac = Cmac::with_options(&key, &capped(cap, 1)).unwrap();
            assert!(cmac.tag_many(&messages) == tags, "{cap}: {len} bytes from {at} on, {gap} between");
        }
    }
}

/// Every kernel for chains, and the pass that replaces it, with more and with fewer messages than it has lanes.
#[test]
fn every_kernel_of_chains_gives_the_same() {
    let is_of_chains = |variant: &&Variant| {
        matches!(variant.action, Action::Fused(Fused::Chains, ..) | Action::Pass(Fused::Chains))
    };
    let mut count = 0;
    for variant in table().iter().filter(is_of_chains).filter_map(here) {
        for cipher in Cipher::ALL.into_iter().filter(|cipher| variant.serves(cipher.family())) {
            let (key, options) = (key(cipher, 13), forced(variant, Direction::Encrypt));
            let by_reference = reference::cipher(&key);
            let modes = CHAINED.into_iter().filter(|(name, ..)| ["cbc", "cfb", "ofb"].contains(name));
            for (messages, (name, cut, by, engine)) in
                modes.flat_map(|mode| [1, 5, 40].map(|messages| (messages, mode)))
            {
                let plain: Vec<_> = (0..messages).map(|i| painted(cut(i * 977 % 1500), i as u64)).collect();
                let (mut want, mut got) = (plain.clone(), plain.clone());
                want.iter_mut().for_each(|data| by(&*by_reference, Direction::Encrypt, IV, data));
                let mut places: Vec<_> = got.iter_mut().map(|data| Message::new(IV, data)).collect();
                engine(&key, Direction::Encrypt, &options, &mut places).unwrap();
                drop(places);
                assert!(got == want, "{} {cipher} {name}, {messages} messages", variant.name);
                count += 1;
            }
        }
    }
    counted(count, "groups of chains by a kernel");
}

#[test]
fn ciphers_by_table_take_every_frame() {
    let cipher = Cipher::Aes192;
    let key = key(cipher, 12);
    let by_reference = reference::cipher(&key);
    let input = painted(16 * 37, 13);
    for direction in Direction::ALL {
        for (i, (name, _, by, by_engine)) in CHAINED.into_iter().enumerate() {
            let cipher_direction = if i == 0 { direction } else { Direction::Encrypt };
            let (mut want, mut data) = (input.clone(), input.clone());
            by(&*by_reference, direction, IV, &mut want);
            let mut message = [Message::new(IV, &mut data)];
            by_engine(&key, direction, &by_table(cipher_direction), &mut message).unwrap();
            assert!(data == want, "{name} {direction:?}");
        }
        let mut data = input.clone();
        let xts = Xts::with_options(&xts_key(cipher, 14), direction, 16 * 5, &by_table(direction)).unwrap();
        xts.apply(3, &mut data).unwrap();
        assert!(data == xts_by_reference(cipher, 14, direction, 16 * 5, 3, &input), "xts {direction:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_written() {
    let (cipher, options) = (Cipher::Aes128, Options::default());
    let key = key(cipher, 17);
    let short = XtsKey::new(cipher, &[1; 16]).unwrap_err();
    assert_eq!(short, Error::TwoKeysLength { mode: "xts", cipher, len_bytes: 16 });
    assert_eq!(XtsKey::new(cipher, &[1; 32]).unwrap_err(), Error::EqualXtsKeys);
    let xts_key = xts_key(cipher, 18);
    for len_bytes in [0, 1, 15, SECTOR_BYTES_MAX + 1, usize::MAX] {
        let refused = Xts::with_options(&xts_key, Direction::Encrypt, len_bytes, &options).unwrap_err();
        assert_eq!(refused, Error::SectorBytes { len_bytes });
    }
    for len_bytes in [1, 15, 512 + 1, 3 * 512 + 15] {
        let (input, mut data) = (painted(len_bytes, 19), painted(len_bytes, 19));
        let refused =
            Xts::with_options(&xts_key, Direction::Encrypt, 512, &options).unwrap().apply(0, &mut data);
        assert_eq!(refused, Err(Error::ShortSector { len_bytes: len_bytes % 512 }));
        assert_eq!(data, input);
    }
    for direction in Direction::ALL {
        let (input, mut data) = (painted(33, 20), painted(33, 20));
        let refused = Cbc::with_options(&key, direction, &options).unwrap().apply(&mut IV.into(), &mut data);
        assert_eq!(refused, Err(Error::PartialBlock { len_bytes: 33 }));
        assert_eq!(data, input);
    }
    for len_bytes in [0, 3, 17] {
        assert_eq!(Eax::with_options(&key, len_bytes, &options).unwrap_err(), Error::TagBytes { len_bytes });
        assert_eq!(Gcm::with_options(&key, len_bytes, &options).unwrap_err(), Error::TagBytes { len_bytes });
    }
    let gcm = Gcm::with_options(&key, 16, &options).unwrap();
    assert_eq!(gcm.seal(&[], &[], &mut []), Err(Error::EmptyNonce));
    assert_eq!(gcm.open(&[], &[], &[0; 16], &mut []), Err(Error::EmptyNonce));
    // One bad message refuses the whole call, and nothing is written for any message.
    let (mut good, mut bad) = (painted(40, 22), painted(40, 23));
    let mut messages = [(&b"some nonce"[..], &mut good), (&b""[..], &mut bad)]
        .map(|(nonce, data)| AeadMessage { tag: [0; 16].into(), ..AeadMessage::new(nonce, &[], data) });
    assert_eq!(gcm.seal_many(&mut messages), Err(Error::EmptyNonce));
    assert_eq!(gcm.open_many(&mut messages), Err(Error::EmptyNonce));
    assert!(messages.iter().all(|message| message.tag[..] == [0; 16]));
    assert_eq!((good, bad), (painted(40, 22), painted(40, 23)));
    let refused = gcm.open(&[1; 12], &[], &[0; 12], &mut []);
    assert_eq!(refused, Err(Error::TagBytes { len_bytes: 12 }));
}

/// Many messages, each in pieces that end at different offsets within blocks. No keystream byte may be used
/// twice.
#[test]
fn pieces_that_end_within_blocks_go_on_there() {
    fn pieces_of<M: ChainedMode>(direction: Direction, by_reference: Reference, cap: &str) {
        let key = key(Cipher::Aes128, 24);
        let mode = Chained::<M>::with_options(&key, direction, &capped(cap, 1)).unwrap();
        let inputs: Vec<_> = (0..9).map(|i| painted(60 + 7 * i, i as u64)).collect();
        let (mut outputs, mut chains) = (inputs.clone(), vec![IV.into(); inputs.len()]);
        for round in 0..60 {
            // Per round, some messages get no bytes, some part of a block, some more than one block.
            let mut messages = Vec::new();
            for (i, output) in outputs.iter_mut().enumerate() {
                let (from, to) = (at(i, round).min(output.len()), at(i, round + 1).min(output.len()));
                let buffers = Buffers::in_place(&mut output[from..to]);
                messages.push(Message { chain: Chain::clone(&chains[i]), buffers });
            }
            mode.apply_many(&mut messages).unwrap();
            chains = messages.into_iter().map(|message| message.chain).collect();
        }
        for (input, output) in inputs.into_iter().zip(outputs) {
            let mut want = input;
            by_reference(&*reference::cipher(&key), direction, IV, &mut want);
            assert!(output == want, "{direction:?} {cap}");
        }
    }
    /// The offset of piece `round` of message `i`.
    fn at(i: usize, round: usize) -> usize {
        (0..round).map(|round| (i + 1) * (round * round + i) % 23).sum()
    }
    for (cap, direction) in CAPS.into_iter().flat_map(|cap| Direction::ALL.map(|direction| (cap, direction)))
    {
        pieces_of::<CfbMode>(direction, chaining::cfb, cap);
        pieces_of::<OfbMode>(direction, |cipher, _, iv, data| chaining::ofb(cipher, iv, data), cap);
    }
}

/// Messages of one short length stay where they are. Every number of them up to two groups of lanes and more, in place
/// and apart, from the beginning of a message and after a first piece.
#[test]
fn equal_short_messages_run_where_they_are() {
    fn run<M: ChainedMode>(cap: &str, by_reference: Reference, count: usize, blocks: usize) {
        let (key, direction) = (key(Cipher::Aes256, 25), Direction::Encrypt);
        let mode = Chained::<M>::with_options(&key, direction, &capped(cap, 1)).unwrap();
        let inputs: Vec<_> = (0..count).map(|i| painted(16 * (blocks + 2), i as u64)).collect();
        let (mut outputs, mut apart) = (inputs.clone(), inputs.clone());
        let mut chains: Vec<_> = (0..count).map(|i| Chain::from([i as u8; 16])).collect();
        for piece in [0..16 * blocks, 16 * blocks..16 * (blocks + 2)] {
            let mut messages = Vec::new();
            for (i, output) in outputs.iter_mut().enumerate() {
                let buffers = if i % 3 == 0 {
                    Buffers::in_place(&mut output[piece.clone()])
                } else {
                    Buffers::from((&inputs[i][piece.clone()], &mut output[piece.clone()]))
                };
                messages.push(Message::new(Chain::clone(&chains[i]), buffers));
            }
            mode.apply_many(&mut messages).unwrap();
            assert!(messages.iter().all(|message| message.buffers.is_empty()));
            chains = messages.into_iter().map(|message| message.chain).collect();
        }
        for (i, want) in apart.iter_mut().enumerate() {
            by_reference(&*reference::cipher(&key), direction, [i as u8; 16], want);
        }
        assert!(outputs == apart, "{cap}: {count} messages of {blocks} blocks");
    }
    for cap in CAPS {
        for (count, blocks) in
            (1..70).map(|count| (count, 1 + count % 7)).chain([(33, 64), (7, 65), (40, 70)])
        {
            run::<CbcMode>(cap, chaining::cbc, count, blocks);
            run::<CfbMode>(cap, chaining::cfb, count, blocks);
            run::<OfbMode>(cap, |cipher, _, iv, data| chaining::ofb(cipher, iv, data), count, blocks);
            let messages: Vec<_> = (0..count).map(|i| painted(16 * blocks, i as u64)).collect();
            let messages: Vec<_> = messages.iter().map(|message| &message[..]).collect();
            let cmac = Cmac::with_options(&key(Cipher::Aes128, 26), &capped(cap, 1)).unwrap();
            let tags: Vec<_> = messages.iter().map(|message| cmac.tag(message)).collect();
            assert!(cmac.tag_many(&messages) == tags, "{cap}: {count} messages of {blocks} blocks");
        }
    }
}

#[test]
fn nothing_becomes_nothing() {
    let key = key(Cipher::Aes256, 21);
    for options in CAPS.iter().flat_map(|cap| [1, 2].map(|threads| capped(cap, threads))) {
        for direction in Direction::ALL {
            let mut chain = IV.into();
            Cbc::with_options(&key, direction, &options).unwrap().apply(&mut chain, &mut []).unwrap();
            Cfb::with_options(&key, direction, &options).unwrap().apply(&mut chain, &mut []).unwrap();
            Ofb::with_options(&key, direction, &options).unwrap().apply(&mut chain, &mut []).unwrap();
            Segmented::<8>::with_options(&key, direction, &options).unwrap().apply(&mut chain, &mut []);
            assert_eq!(chain, IV.into());
            Segmented::<8>::with_options(&key, direction, &options).unwrap().apply_many(&mut []);
            Cbc::with_options(&key, direction, &options).unwrap().apply_many(&mut []).unwrap();
            let xts = Xts::with_options(&xts_key(Cipher::Aes256, 22), direction, 512, &options).unwrap();
            xts.apply(0, &mut []).unwrap();
        }
        Eax::with_options(&key, 16, &options).unwrap().seal_many(&mut []).unwrap();
        assert!(Gcm::with_options(&key, 16, &options).unwrap().open_many(&mut []).unwrap().is_empty());
    }
}
