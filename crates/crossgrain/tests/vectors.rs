//! Published answers for AES. The reference, a second implementation and every forced variant must give them.
//! The sources are noted with the answers.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::{
    ALL_CAP, CAPS, bundle_blocks, capped, ciphers, counted, expected, forced_jobs, here, hex, key_of, loads,
    other, other_single, run, stores,
};
use crossgrain::engine::arch::Tile;
use crossgrain::engine::block::Family;
use crossgrain::engine::cipher::aes::description::schedule;
use crossgrain::engine::cipher::aes::key::RoundKeys;
use crossgrain::engine::cipher::aes::steps::Part;
use crossgrain::engine::kernel::Keys;
use crossgrain::engine::layout::repr::Repr;
use crossgrain::engine::reference;
use crossgrain::engine::variant::{Action, Variant, table};
use crossgrain::mode::{Ctr, Ecb, Options, OwnKeys, Record};
use crossgrain::plan::{Job, JobSource};
use crossgrain::{Block, Buffers, Cipher, Direction, Features, Key};

/// Every variant with every job of AES that it can be forced into.
fn aes_jobs() -> impl Iterator<Item = (&'static Variant, Job, Options)> {
    forced_jobs().into_iter().filter(|(_, job, _)| job.cipher.family() == Family::Aes)
}

/// A key, a plaintext block and its ciphertext.
struct Answer {
    source: String,
    key: Key,
    plain: Block,
    crypt: Block,
}

/// The answers in `published/aes-ecb.txt`.
fn published() -> Vec<Answer> {
    let mut source = "";
    let mut answers = Vec::new();
    for line in include_str!("published/aes-ecb.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(heading) = line.strip_prefix('[') {
            source = heading.trim_end_matches(']');
        } else if !line.is_empty() {
            let [key, plain, crypt] = line.split(' ').map(hex).collect::<Vec<_>>().try_into().unwrap();
            answers.push(answer(source, &key, &plain, &crypt));
        }
    }
    assert_eq!(answers.len(), 107);
    answers
}

fn answer(source: &str, key: &[u8], plain: &[u8], crypt: &[u8]) -> Answer {
    Answer {
        source: source.to_owned(),
        key: key_of(key),
        plain: plain.try_into().unwrap(),
        crypt: crypt.try_into().unwrap(),
    }
}

/// All of AESAVS VarTxt and VarKey, generated from their description. VarTxt uses a zero key and plaintexts
/// of leading ones; VarKey uses keys of leading ones and a zero plaintext. The second implementation supplies
/// the answers.
fn variable_text_and_key() -> Vec<Answer> {
    let leading_ones = |len_bytes: usize, ones: usize| -> Vec<u8> {
        let bit = |index: usize| u8::from(index < ones) << (7 - index % 8);
        (0..len_bytes).map(|i| (8 * i..8 * i + 8).map(bit).sum()).collect()
    };
    let judged = |source: &str, key: Vec<u8>, plain: Vec<u8>| {
        let mut crypt = plain.clone();
        other(&key_of(&key), Direction::Encrypt, JobSource::Bytes, 0, &mut crypt);
        answer(source, &key, &plain, &crypt)
    };
    let mut answers = Vec::new();
    for len in ciphers(Family::Aes).into_iter().map(Cipher::key_bytes) {
        answers.extend((1..=128).map(|ones| judged("AESAVS VarTxt", vec![0; len], leading_ones(16, ones))));
        answers
            .extend((1..=8 * len).map(|ones| judged("AESAVS VarKey", leading_ones(len, ones), vec![0; 16])));
    }
    answers
}

/// The key expansions of FIPS 197 appendix A: key, then all words of the schedule.
const KEY_EXPANSIONS: [&str; 3] = [
    // A.1
    "2b7e1516 28aed2a6 abf71588 09cf4f3c a0fafe17 88542cb1 23a33939 2a6c7605 f2c295f2 7a96b943 5935807a
     7359f67f 3d80477d 4716fe3e 1e237e44 6d7a883b ef44a541 a8525b7f b671253b db0bad00 d4d1c6f8 7c839d87
     caf2b8bc 11f915bc 6d88a37a 110b3efd dbf98641 ca0093fd 4e54f70e 5f5fc9f3 84a64fb2 4ea6dc4f ead27321
     b58dbad2 312bf560 7f8d292f ac7766f3 19fadc21 28d12941 575c006e d014f9a8 c9ee2589 e13f0cc8 b6630ca6",
    // A.2
    "8e73b0f7 da0e6452 c810f32b 809079e5 62f8ead2 522c6b7b fe0c91f7 2402f5a5 ec12068e 6c827f6b 0e7a95b9
     5c56fec2 4db7b4bd 69b54118 85a74796 e92538fd e75fad44 bb095386 485af057 21efb14f a448f6d9 4d6dce24
     aa326360 113b30e6 a25e7ed5 83b1cf9a 27f93943 6a94f767 c0a69407 d19da4e1 ec1786eb 6fa64971 485f7032
     22cb8755 e26d1352 33f0b7b3 40beeb28 2f18a259 6747d26b 458c553e a7e1466c 9411f1df 821f750a ad07d753
     ca400538 8fcc5006 282d166a bc3ce7b5 e98ba06f 448c773c 8ecc7204 01002202",
    // A.3
    "603deb10 15ca71be 2b73aef0 857d7781 1f352c07 3b6108d7 2d9810a3 0914dff4 9ba35411 8e6925af a51a8b5f
     2067fcde a8b09c1a 93d194cd be49846e b75d5b9a d59aecb8 5bf3c917 fee94248 de8ebe96 b5a9328a 2678a647
     98312229 2f6c79b3 812c81ad dadf48ba 24360af2 fab8b464 98c5bfc9 bebd198e 268c3ba7 09e04214 68007bac
     b2df3316 96e939e4 6c518d80 c814e204 76a9fb8a 5025c02d 59c58239 de136967 6ccc5a71 fa256395 9674ee15
     5886ca5d 2e2f31d7 7e0af1fa 27cf73c3 749c47ab 18501dda e2757e4f 7401905a cafaaae3 e4d59b34 9adf6ace
     bd10190d fe4890d1 e6188d0b 046df344 706c631e",
];

#[test]
fn key_expansion_gives_the_words_of_fips_197_appendix_a() {
    for (cipher, words) in ciphers(Family::Aes).into_iter().zip(KEY_EXPANSIONS.map(hex)) {
        let key = key_of(&words[..cipher.key_bytes()]);
        assert_eq!(words.len(), 16 * (cipher.rounds() + 1));
        assert_eq!(*schedule::<16>(key.bytes(), Direction::Encrypt), words);
        for features in [Features::NONE, Features::of_cpu()] {
            assert_eq!(RoundKeys::expand(&key, features).blocks().as_flattened(), words);
        }
    }
}

#[test]
fn reference_and_another_implementation_give_every_answer() {
    let answers: Vec<_> = published().into_iter().chain(variable_text_and_key()).collect();
    counted(answers.len() + KEY_EXPANSIONS.len() + CTR_ANSWERS.len() + CHAINS.len(), "known answers");
    for Answer { source, key, plain, crypt } in answers {
        for (direction, from, to) in [(Direction::Encrypt, plain, crypt), (Direction::Decrypt, crypt, plain)]
        {
            assert_eq!(expected(&key, direction, JobSource::Bytes, 0, &from), to, "reference, {source}");
            let mut block = from;
            other(&key, direction, JobSource::Bytes, 0, &mut block);
            assert_eq!(block, to, "another implementation, {source}");
        }
    }
}

#[test]
fn every_variant_gives_every_answer() {
    let answers: Vec<_> = published().into_iter().chain(variable_text_and_key()).collect();
    let (mut asked, mut rows) = (0, BTreeSet::new());
    for (variant, job, options) in aes_jobs() {
        rows.insert(&variant.name);
        for answer in answers.iter().filter(|answer| answer.key.cipher() == job.cipher) {
            asked += 1;
            let Answer { source, key, plain, crypt } = answer;
            // Count from the plaintext and encrypt zeros: the keystream is the ciphertext.
            let (mut block, first, want) = match (job.source, job.direction) {
                (JobSource::Counter, _) => ([0; 16], u128::from_be_bytes(*plain), crypt),
                (_, Direction::Encrypt) => (*plain, 0, crypt),
                (_, Direction::Decrypt) => (*crypt, 0, plain),
            };
            run(key, job.direction, job.source, first, &options, &mut block);
            assert_eq!(block, *want, "{} {job:?}, {source}", variant.name);
        }
    }
    counted(asked, "known answers asked of variants");
    counted(rows.len(), "variants that gave known answers");
}

/// All answers of one key size in a single call, each under its own key.
#[test]
fn all_answers_at_once_each_under_its_key() {
    let answers: Vec<_> = published().into_iter().chain(variable_text_and_key()).collect();
    for cipher in ciphers(Family::Aes) {
        let answers: Vec<_> = answers.iter().filter(|answer| answer.key.cipher() == cipher).collect();
        for (cap, direction) in CAPS.into_iter().flat_map(|cap| Direction::ALL.map(|way| (cap, way))) {
            let own = OwnKeys::with_options(cipher, &capped(cap, 1)).unwrap();
            let encrypts = direction == Direction::Encrypt;
            let from = |answer: &&Answer| if encrypts { answer.plain } else { answer.crypt };
            let mut data: Vec<_> = answers.iter().map(from).collect();
            let records = answers.iter().zip(&mut data);
            let records = records.map(|(answer, data)| Record::new(&answer.key, [0; 16], data));
            own.ecb(direction, &mut records.collect::<Vec<_>>()).unwrap();
            for (data, Answer { source, plain, crypt, .. }) in data.iter().zip(&answers) {
                assert_eq!(data, if encrypts { crypt } else { plain }, "{source} {cap}");
            }
        }
    }
}

/// SP 800-38A appendix F.5: the keys are those of F.1, and the first counter block is f0f1…ff.
const CTR_PLAIN: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
                         30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";
const CTR_FIRST: u128 = 0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff;
const CTR_ANSWERS: [(Cipher, &str); 3] = [
    // F.5.1 and F.5.2
    (
        Cipher::Aes128,
        "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
         5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
    ),
    // F.5.3 and F.5.4
    (
        Cipher::Aes192,
        "1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94
         1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050",
    ),
    // F.5.5 and F.5.6
    (
        Cipher::Aes256,
        "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
         2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
    ),
];

#[test]
fn reference_and_every_variant_give_the_counter_answers_both_ways() {
    let plain = hex(CTR_PLAIN);
    for (cipher, crypt) in CTR_ANSWERS {
        let key = key_of(
            &hex(KEY_EXPANSIONS[Cipher::ALL.iter().position(|&c| c == cipher).unwrap()])
                [..cipher.key_bytes()],
        );
        let crypt = hex(crypt);
        for (from, to) in [(&plain, &crypt), (&crypt, &plain)] {
            let reference = expected(&key, Direction::Encrypt, JobSource::Counter, CTR_FIRST, from);
            assert_eq!(&reference, to, "reference, {cipher}");
            let jobs = aes_jobs().filter(|(_, job, _)| job.cipher == cipher);
            for (variant, _, options) in jobs.filter(|(_, job, _)| job.source == JobSource::Counter) {
                let mut data = from.clone();
                Ctr::with_options(&key, &CTR_FIRST.to_be_bytes(), &options).unwrap().apply(&mut data);
                assert_eq!(&data, to, "{}, {cipher}", variant.name);
            }
            for cap in CAPS {
                let mut data = [64, 63, 16, 1, 0].map(|len| from[..len].to_vec());
                let records = data.each_mut().map(|data| Record::new(&key, CTR_FIRST.to_be_bytes(), data));
                OwnKeys::with_options(cipher, &capped(cap, 1)).unwrap().ctr(&mut { records }).unwrap();
                assert!(data.iter().all(|data| *data == to[..data.len()]), "{cap}, {cipher}");
            }
        }
    }
}

/// Lines of FIPS 197 appendix C.1: a part with its input state, its output state and the number of the round
/// key.
const TRACE: [(Part, Direction, usize, &str, &str); 11] = {
    use Direction::{Decrypt, Encrypt};
    use Part::{AddRoundKey, Cipher, MixColumns, Round, ShiftRows, SubBytes};
    const INPUT: &str = "00112233445566778899aabbccddeeff";
    const START_1: &str = "00102030405060708090a0b0c0d0e0f0";
    const S_BOX_1: &str = "63cab7040953d051cd60e0e7ba70e18c";
    const S_ROW_1: &str = "6353e08c0960e104cd70b751bacad0e7";
    const M_COL_1: &str = "5f72641557f5bc92f7be3b291db9f91a";
    const START_2: &str = "89d810e8855ace682d1843d8cb128fe4";
    const OUTPUT: &str = "69c4e0d86a7b0430d8cdb78070b4c55a";
    const INV_START_1: &str = "7ad5fda789ef4e272bca100b3d9ff59f";
    const INV_S_ROW_1: &str = "7a9f102789d5f50b2beffd9f3dca4ea7";
    const INV_S_BOX_1: &str = "bd6e7c3df2b5779e0b61216e8b10b689";
    const INV_K_ADD_1: &str = "e9f74eec023020f61bf2ccf2353c21c7";
    const INV_START_2: &str = "54d990a16ba09ab596bbf40ea111702f";
    const INV_S_BOX_2: &str = "fde3bad205e5d0d73547964ef1fe37f1";
    [
        (AddRoundKey, Encrypt, 0, INPUT, START_1),
        (SubBytes, Encrypt, 1, START_1, S_BOX_1),
        (ShiftRows, Encrypt, 1, S_BOX_1, S_ROW_1),
        (MixColumns, Encrypt, 1, S_ROW_1, M_COL_1),
        (Round, Encrypt, 1, START_1, START_2),
        (Cipher, Encrypt, 0, INPUT, OUTPUT),
        (ShiftRows, Decrypt, 9, INV_START_1, INV_S_ROW_1),
        (SubBytes, Decrypt, 9, INV_S_ROW_1, INV_S_BOX_1),
        (MixColumns, Decrypt, 9, INV_K_ADD_1, INV_START_2),
        (Round, Decrypt, 9, INV_S_BOX_1, INV_S_BOX_2),
        (Cipher, Decrypt, 0, OUTPUT, INPUT),
    ]
};

#[test]
fn every_part_gives_its_line_of_the_trace_in_fips_197_appendix_c() {
    let key = key_of(&hex("000102030405060708090a0b0c0d0e0f"));
    let keys = Keys::of(&key, Features::NONE);
    let (loads, stores) = (loads(), stores());
    let of = |repr: Repr| move |variant: &Variant| variant.repr == repr;
    for variant in table().iter().filter(|variant| matches!(variant.action, Action::Tile(..))) {
        let Action::Tile(part, direction, bind) = variant.action else { continue };
        let Some(step) = Part::of(part) else { continue };
        let Some(variant) = here(variant) else { continue };
        let (_, _, round, from, to) =
            TRACE.into_iter().find(|&(p, d, ..)| p == step && d == direction).unwrap();
        let (_, load) = loads.iter().find(|(load, _)| of(variant.repr)(load)).unwrap();
        let (_, store) = stores.iter().find(|(store, _)| of(variant.repr)(store)).unwrap();
        let blocks = bundle_blocks(variant.repr);
        let (mut tile, mut scratch) = (Tile::new(), Tile::new());
        let mut state = hex(from).repeat(blocks);
        load.load(&state, &mut tile, &mut scratch);
        bind(Features::of_cpu(), part, direction, &keys, round).unwrap().run(&mut tile, blocks);
        store.store(&tile, &mut scratch, false, Buffers::in_place(&mut state));
        assert!(state == hex(to).repeat(blocks), "{}", variant.name);
    }
}

/// The extent of a Monte Carlo run.
#[derive(Clone, Copy)]
struct Extent {
    stages: usize,
    stage_blocks: usize,
}

/// The full chain of AESAVS.
const WHOLE: Extent = Extent { stages: 100, stage_blocks: 1000 };

/// AESAVS Monte Carlo in ECB: key, input, and the output of the last of 100 stages, as in the files
/// ECBMCT128.rsp, ECBMCT192.rsp and ECBMCT256.rsp of NIST's validation suite (CAVS 11.1).
const CHAINS: [(Direction, &str, &str, &str); 6] = [
    (
        Direction::Encrypt,
        "139a35422f1d61de3c91787fe0507afd",
        "b9145a768b7dc489a096b546f43b231f",
        "fb2649694783b551eacd9d5db6126d47",
    ),
    (
        Direction::Decrypt,
        "0c60e7bf20ada9baa9e1ddf0d1540726",
        "b08a29b11a500ea3aca42c36675b9785",
        "d1d2bfdc58ffcad2341b095bce55221e",
    ),
    (
        Direction::Encrypt,
        "b9a63e09e1dfc42e93a90d9bad739e5967aef672eedd5da9",
        "85a1f7a58167b389cddc8a9ff175ee26",
        "5d1196da8f184975e240949a25104554",
    ),
    (
        Direction::Decrypt,
        "4b97585701c03fbebdfa8555024f589f1482c58a00fdd9fd",
        "d0bd0e02ded155e4516be83f42d347a4",
        "b63ef1b79507a62eba3dafcec54a6328",
    ),
    (
        Direction::Encrypt,
        "f9e8389f5b80712e3886cc1fa2d28a3b8c9cd88a2d4a54c6aa86ce0fef944be0",
        "b379777f9050e2a818f2940cbbd9aba4",
        "c5d2cb3d5b7ff0e23e308967ee074825",
    ),
    (
        Direction::Decrypt,
        "2b09ba39b834062b9e93f48373b8dd018dedf1e5ba1b8af831ebbacbc92a2643",
        "89649bd0115f30bd878567610223a59d",
        "e3d3868f578caf34e36445bf14cefc68",
    ),
];

/// The output of each stage. A stage feeds each output back as input. The next stage's key is the previous
/// key XOR the latest key-length bytes of output (AESAVS §6.4.1). `bind` gives a block operation under a key.
fn monte_carlo<B: FnMut(&mut Block)>(
    key: &str,
    input: &str,
    Extent { stages, stage_blocks }: Extent,
    bind: impl Fn(&Key) -> B,
) -> Vec<Block> {
    let (mut key, mut block): (_, Block) = (hex(key), hex(input).try_into().unwrap());
    let mut stage = || {
        let mut step = bind(&key_of(&key));
        let mut before = block;
        for _ in 0..stage_blocks {
            before = block;
            step(&mut block);
        }
        let outputs = [before, block].concat();
        let newest = &outputs[32 - key.len()..];
        key.iter_mut().zip(newest).for_each(|(byte, output)| *byte ^= output);
        block
    };
    (0..stages).map(|_| stage()).collect()
}

/// Block by block through `Ecb`.
fn by_mode(direction: Direction, options: &Options) -> impl Fn(&Key) -> Box<dyn FnMut(&mut Block)> {
    move |key| {
        let ecb = Ecb::with_options(key, direction, options).unwrap();
        Box::new(move |block| ecb.apply(block).unwrap())
    }
}

#[test]
fn monte_carlo_chains_of_free_choice_go_as_another_implementation_and_end_as_published() {
    for (direction, key, input, last) in CHAINS {
        let want = monte_carlo(key, input, WHOLE, |key| other_single(key, direction));
        assert_eq!(want[99].as_slice(), hex(last), "another implementation, {direction:?}, {key}");
        let got = monte_carlo(key, input, WHOLE, by_mode(direction, &capped(ALL_CAP, 1)));
        assert_eq!(got, want, "{direction:?}, {key}");
    }
}

/// The reference is slow, so this runs a fifth of the chain.
#[test]
fn monte_carlo_chains_of_the_reference_begin_as_another_implementation() {
    let extent = Extent { stages: 20, ..WHOLE };
    for (direction, key, input, _) in CHAINS {
        let reference = |key: &Key| {
            let aes = reference::cipher(key);
            move |block: &mut Block| match direction {
                Direction::Encrypt => aes.encrypt(block),
                Direction::Decrypt => aes.decrypt(block),
            }
        };
        let want = monte_carlo(key, input, extent, |key| other_single(key, direction));
        assert_eq!(monte_carlo(key, input, extent, reference), want, "{direction:?}, {key}");
    }
}

/// A variant on bundles fills a whole bundle for each block, so it runs a chain of shorter stages.
#[test]
fn monte_carlo_chains_of_every_variant_go_as_another_implementation() {
    for (variant, job, options) in aes_jobs().filter(|(_, job, _)| job.source == JobSource::Bytes) {
        let fits =
            |key: &str, direction| direction == job.direction && key_of(&hex(key)).cipher() == job.cipher;
        let (direction, key, input, _) =
            CHAINS.into_iter().find(|&(direction, key, ..)| fits(key, direction)).unwrap();
        let extent = match variant.action {
            Action::Whole(..) => WHOLE,
            _ => Extent { stages: 5, stage_blocks: 20 },
        };
        let want = monte_carlo(key, input, extent, |key| other_single(key, direction));
        let got = monte_carlo(key, input, extent, by_mode(direction, &options));
        assert_eq!(got, want, "{} {job:?}", variant.name);
    }
}

/// Checks NIST's single-block `ECB*.rsp` files (KAT_AES.zip) in the folder that CROSSGRAIN_VECTORS names, if
/// any. Variants are chosen freely under every cap.
#[test]
fn extra_vectors_hold_if_a_folder_of_them_is_given() {
    let Some(folder) = std::env::var_os("CROSSGRAIN_VECTORS") else {
        println!("skipped: extra vectors (CROSSGRAIN_VECTORS not set)");
        return;
    };
    let mut count = 0;
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("ECB") && name.ends_with(".rsp") && !name.contains("MCT") {
            count += holds(&path);
        }
    }
    println!("extra vectors: {count}");
}

/// Checks a file of `KEY = …`, `PLAINTEXT = …`, `CIPHERTEXT = …` records and gives their number.
fn holds(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap();
    let field = |record: &str, name: &str| {
        let mut lines = record.lines().filter_map(|line| line.split_once(" = "));
        lines.find(|(field, _)| *field == name).map(|(_, digits)| hex(digits))
    };
    let text = text.replace("\r\n", "\n");
    let records = text.split("\n\n").filter(|record| record.contains("KEY = "));
    records
        .map(|record| {
            let key = key_of(&field(record, "KEY").unwrap());
            let (plain, crypt) = (field(record, "PLAINTEXT").unwrap(), field(record, "CIPHERTEXT").unwrap());
            for cap in CAPS {
                let mut data = plain.clone();
                run(&key, Direction::Encrypt, JobSource::Bytes, 0, &capped(cap, 1), &mut data);
                assert_eq!(data, crypt, "{} under {cap}", path.display());
                run(&key, Direction::Decrypt, JobSource::Bytes, 0, &capped(cap, 1), &mut data);
                assert_eq!(data, plain, "{} under {cap}", path.display());
            }
        })
        .count()
}
