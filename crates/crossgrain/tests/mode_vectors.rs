//! Published answers of the modes, checked with the reference and with the engine under every ISA cap.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::BTreeSet;

use common::{CAPS, capped, counted, hex, key_of};
use crossgrain::engine::reference::{self, BlockCipher, aead, chaining, segmented, xts};
use crossgrain::mode::{Aead, Cbc, Cfb, Cfb1, Cfb8, Cmac, Eax, Gcm, Ofb, Options, OwnKeys, Tag, Xts, XtsKey};
use crossgrain::{Block, Buffers, Cipher, Direction, Key};

/// The plaintext of SP 800-38A, appendix F, and of SP 800-38B, appendix D.
const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
                     30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";

const KEY_128: &str = "2b7e151628aed2a6abf7158809cf4f3c";
const KEY_192: &str = "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b";
const KEY_256: &str = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";

fn every_cap() -> impl Iterator<Item = Options> {
    CAPS.into_iter().map(|cap| Options { short_nonces: true, ..capped(cap, 1) })
}

/// SP 800-38A, F.2, F.3 and F.4: mode, key, ciphertext.
const CHAINED: [(&str, &str, &str); 15] = [
    (
        "cbc",
        KEY_128,
        "7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
         73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7",
    ),
    (
        "cbc",
        KEY_192,
        "4f021db243bc633d7178183a9fa071e8 b4d9ada9ad7dedf4e5e738763f69145a
         571b242012fb7ae07fa9baac3df102e0 08b0e27988598881d920a9e64f5615cd",
    ),
    (
        "cbc",
        KEY_256,
        "f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d
         39f23369a9d9bacfa530e26304231461 b2eb05e2c39be9fcda6c19078c6a9d1b",
    ),
    ("cfb1", KEY_128, "68b3"),
    ("cfb1", KEY_192, "9359"),
    ("cfb1", KEY_256, "9029"),
    ("cfb8", KEY_128, "3b79424c9c0dd436bace9e0ed4586a4f 32b9"),
    ("cfb8", KEY_192, "cda2521ef0a905ca44cd057cbf0d47a0 678a"),
    ("cfb8", KEY_256, "dc1f1a8520a64db55fcc8ac554844e88 9700"),
    (
        "cfb",
        KEY_128,
        "3b3fd92eb72dad20333449f8e83cfb4a c8a64537a0b3a93fcde3cdad9f1ce58b
         26751f67a3cbb140b1808cf187a4f4df c04b05357c5d1c0eeac4c66f9ff7f2e6",
    ),
    (
        "cfb",
        KEY_192,
        "cdc80d6fddf18cab34c25909c99a4174 67ce7f7f81173621961a2b70171d3d7a
         2e1e8a1dd59b88b1c8e60fed1efac4c9 c05f9f9ca9834fa042ae8fba584b09ff",
    ),
    (
        "cfb",
        KEY_256,
        "dc7e84bfda79164b7ecd8486985d3860 39ffed143b28b1c832113c6331e5407b
         df10132415e54b92a13ed0a8267ae2f9 75a385741ab9cef82031623d55b1e471",
    ),
    (
        "ofb",
        KEY_128,
        "3b3fd92eb72dad20333449f8e83cfb4a 7789508d16918f03f53c52dac54ed825
         9740051e9c5fecf64344f7a82260edcc 304c6528f659c77866a510d9c1d6ae5e",
    ),
    (
        "ofb",
        KEY_192,
        "cdc80d6fddf18cab34c25909c99a4174 fcc28b8d4c63837c09e81700c1100401
         8d9a9aeac0f6596f559c6d4daf59a5f2 6d9f200857ca6c3e9cac524bd9acc92a",
    ),
    (
        "ofb",
        KEY_256,
        "dc7e84bfda79164b7ecd8486985d3860 4febdc6740d20b3ac88f6ad82a4fb08d
         71ab47a086e86eedf39d1c5bba97c408 0126141d67f37be8538f5a8be740e484",
    ),
];

fn chained(mode: &str, key: &Key, direction: Direction, options: &Options, iv: Block, data: &mut [u8]) {
    let buffers = Buffers::in_place(data);
    let chain = &mut iv.into();
    match mode {
        "cbc" => Cbc::with_options(key, direction, options).unwrap().apply(chain, buffers).unwrap(),
        "cfb" => Cfb::with_options(key, direction, options).unwrap().apply(chain, buffers).unwrap(),
        "cfb8" => Cfb8::with_options(key, direction, options).unwrap().apply(chain, buffers),
        "cfb1" => Cfb1::with_options(key, direction, options).unwrap().apply(chain, buffers),
        _ => Ofb::with_options(key, direction, options).unwrap().apply(chain, buffers).unwrap(),
    }
}

fn chained_by_reference(mode: &str, key: &Key, direction: Direction, iv: Block, data: &mut [u8]) {
    let cipher = reference::cipher(key);
    match mode {
        "cbc" => chaining::cbc(&*cipher, direction, iv, data),
        "cfb" => chaining::cfb(&*cipher, direction, iv, data),
        "cfb8" => segmented::cfb_segments(8, &*cipher, direction, iv, data),
        "cfb1" => segmented::cfb_segments(1, &*cipher, direction, iv, data),
        _ => chaining::ofb(&*cipher, iv, data),
    }
}

#[test]
fn sp_800_38a() {
    counted(CHAINED.len(), "known answers");
    let iv: Block = hex("000102030405060708090a0b0c0d0e0f").try_into().unwrap();
    let plain = hex(PLAIN);
    for (mode, key, ciphertext) in CHAINED {
        let (key, ciphertext) = (key_of(&hex(key)), hex(ciphertext));
        // The last block of a stream mode may be partial.
        let lens = if mode == "cbc" { &[64][..] } else { &[64, 63, 49, 48, 1][..] };
        let lens: BTreeSet<_> = lens.iter().map(|&len| ciphertext.len().min(len)).collect();
        for (&len, direction) in lens.iter().flat_map(|len| Direction::ALL.map(|way| (len, way))) {
            let (from, to) = match direction {
                Direction::Encrypt => (&plain[..len], &ciphertext[..len]),
                Direction::Decrypt => (&ciphertext[..len], &plain[..len]),
            };
            let mut data = from.to_vec();
            chained_by_reference(mode, &key, direction, iv, &mut data);
            assert_eq!(data, to, "{mode} {direction:?} by the reference");
            for options in every_cap() {
                let mut data = from.to_vec();
                chained(mode, &key, direction, &options, iv, &mut data);
                assert_eq!(data, to, "{mode} {direction:?} {:?}", options.features);
            }
        }
    }
}

/// SP 800-38B, D.1 to D.3 (and RFC 4493 §4): key, and the tags of the first 0, 16, 40 and 64 bytes.
const CMAC: [(&str, [&str; 4]); 3] = [
    (
        KEY_128,
        [
            "bb1d6929e95937287fa37d129b756746",
            "070a16b46b4d4144f79bdd9dd04a287c",
            "dfa66747de9ae63030ca32611497c827",
            "51f0bebf7e3b9d92fc49741779363cfe",
        ],
    ),
    (
        KEY_192,
        [
            "d17ddf46adaacde531cac483de7a9367",
            "9e99a7bf31e710900662f65e617c5184",
            "8a1de5be2eb31aad089a82e6ee908b0e",
            "a1d5df0eed790f794d77589659f39a11",
        ],
    ),
    (
        KEY_256,
        [
            "028962f61b7bf89efc6b551f4667d983",
            "28a7023f452e8f82bd4bf28d8c37c35c",
            "aaf3d8f1de5640c232f5b169b9c911e6",
            "e1992190549f6ed5696a2c056c315410",
        ],
    ),
];

#[test]
fn sp_800_38b() {
    counted(CMAC.iter().map(|(_, tags)| tags.len()).sum(), "known answers");
    let plain = hex(PLAIN);
    let messages = [0, 16, 40, 64].map(|len| &plain[..len]);
    for (key, tags) in CMAC {
        let (key, tags) = (key_of(&hex(key)), tags.map(|tag| Block::try_from(hex(tag)).unwrap()));
        let cipher = reference::cipher(&key);
        assert_eq!(messages.map(|message| aead::cmac(&*cipher, message)), tags);
        for options in every_cap() {
            let cmac = Cmac::with_options(&key, &options).unwrap();
            let tags = tags.map(Tag::from);
            assert_eq!(cmac.tag_many(&messages), tags, "{:?}", options.features);
            assert_eq!(messages.map(|message| cmac.tag(message)), tags);
            let own = OwnKeys::with_options(key.cipher(), &options).unwrap();
            assert_eq!(own.cmac(&messages.map(|message| (&key, message))).unwrap(), tags);
        }
    }
}

/// IEEE 1619-2007, appendix B, vectors 1 to 3 and 15 to 18 of XTS-AES-128: two keys, sector number, plaintext
/// and ciphertext.
const XTS: [(&str, &str, u128, &str, &str); 7] = [
    (
        "00000000000000000000000000000000",
        "00000000000000000000000000000000",
        0,
        "0000000000000000000000000000000000000000000000000000000000000000",
        "917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e",
    ),
    (
        "11111111111111111111111111111111",
        "22222222222222222222222222222222",
        0x33_3333_3333,
        "4444444444444444444444444444444444444444444444444444444444444444",
        "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0",
    ),
    (
        "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0",
        "22222222222222222222222222222222",
        0x33_3333_3333,
        "4444444444444444444444444444444444444444444444444444444444444444",
        "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89",
    ),
    (
        "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0",
        "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0",
        0x12_3456_789a,
        "000102030405060708090a0b0c0d0e0f10",
        "6c1625db4671522d3d7599601de7ca09ed",
    ),
    (
        "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0",
        "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0",
        0x12_3456_789a,
        "000102030405060708090a0b0c0d0e0f1011",
        "d069444b7a7e0cab09e24447d24deb1fedbf",
    ),
    (
        "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0",
        "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0",
        0x12_3456_789a,
        "000102030405060708090a0b0c0d0e0f101112",
        "e5df1351c0544ba1350b3363cd8ef4beedbf9d",
    ),
    (
        "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0",
        "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0",
        0x12_3456_789a,
        "000102030405060708090a0b0c0d0e0f10111213",
        "9d84c813f719aa2c7be3f66171c7c5c2edbf9dac",
    ),
];

#[test]
fn ieee_1619() {
    counted(XTS.len(), "known answers");
    for (data_key, tweak_key, sector, plain, ciphertext) in XTS {
        let keys = [data_key, tweak_key].map(hex);
        let [plain, ciphertext] = [plain, ciphertext].map(hex);
        let [data_cipher, tweak_cipher] = [0, 1].map(|i| reference::cipher(&key_of(&keys[i])));
        for direction in Direction::ALL {
            let (from, to) = match direction {
                Direction::Encrypt => (&plain, &ciphertext),
                Direction::Decrypt => (&ciphertext, &plain),
            };
            let mut data = from.clone();
            xts::xts(&*data_cipher, &*tweak_cipher, direction, sector, &mut data);
            assert_eq!(data, *to, "{direction:?} by the reference");
            // The engine refuses equal keys, which the first vector has.
            let Ok(key) = XtsKey::new(Cipher::Aes128, &keys.concat()) else {
                assert_eq!(keys[0], keys[1]);
                continue;
            };
            for options in every_cap() {
                let mut data = from.clone();
                let xts = Xts::with_options(&key, direction, data.len(), &options).unwrap();
                xts.apply(sector, &mut data).unwrap();
                assert_eq!(data, *to, "{direction:?} {:?}", options.features);
            }
        }
    }
}

/// An answer of an authenticated mode: key, nonce, associated data, plaintext, ciphertext with tag.
type Sealed = [&'static str; 5];

/// The EAX paper's appendix G.
const EAX: [Sealed; 10] = [
    [
        "233952dee4d5ed5f9b9c6d6ff80ff478",
        "62ec67f9c3a4a407fcb2a8c49031a8b3",
        "6bfb914fd07eae6b",
        "",
        "e037830e8389f27b025a2d6527e79d01",
    ],
    [
        "91945d3f4dcbee0bf45ef52255f095a4",
        "becaf043b0a23d843194ba972c66debd",
        "fa3bfd4806eb53fa",
        "f7fb",
        "19dd5c4c9331049d0bdab0277408f67967e5",
    ],
    [
        "01f74ad64077f2e704c0f60ada3dd523",
        "70c3db4f0d26368400a10ed05d2bff5e",
        "234a3463c1264ac6",
        "1a47cb4933",
        "d851d5bae03a59f238a23e39199dc9266626c40f80",
    ],
    [
        "d07cf6cbb7f313bdde66b727afd3c5e8",
        "8408dfff3c1a2b1292dc199e46b7d617",
        "33cce2eabff5a79d",
        "481c9e39b1",
        "632a9d131ad4c168a4225d8e1ff755939974a7bede",
    ],
    [
        "35b6d0580005bbc12b0587124557d2c2",
        "fdb6b06676eedc5c61d74276e1f8e816",
        "aeb96eaebe2970e9",
        "40d0c07da5e4",
        "071dfe16c675cb0677e536f73afe6a14b74ee49844dd",
    ],
    [
        "bd8e6e11475e60b268784c38c62feb22",
        "6eac5c93072d8e8513f750935e46da1b",
        "d4482d1ca78dce0f",
        "4de3b35c3fc039245bd1fb7d",
        "835bb4f15d743e350e728414abb8644fd6ccb86947c5e10590210a4f",
    ],
    [
        "7c77d6e813bed5ac98baa417477a2e7d",
        "1a8c98dcd73d38393b2bf1569deefc19",
        "65d2017990d62528",
        "8b0a79306c9ce7ed99dae4f87f8dd61636",
        "02083e3979da014812f59f11d52630da30137327d10649b0aa6e1c181db617d7f2",
    ],
    [
        "5fff20cafab119ca2fc73549e20f5b0d",
        "dde59b97d722156d4d9aff2bc7559826",
        "54b9f04e6a09189a",
        "1bda122bce8a8dbaf1877d962b8592dd2d56",
        "2ec47b2c4954a489afc7ba4897edcdae8cc33b60450599bd02c96382902aef7f832a",
    ],
    [
        "a4a4782bcffd3ec5e7ef6d8c34a56123",
        "b781fcf2f75fa5a8de97a9ca48e522ec",
        "899a175897561d7e",
        "6cf36720872b8513f6eab1a8a44438d5ef11",
        "0de18fd0fdd91e7af19f1d8ee8733938b1e8e7f6d2231618102fdb7fe55ff1991700",
    ],
    [
        "8395fcf1e95bebd697bd010bc766aac3",
        "22e7add93cfc6393c57ec0b3c17d6b44",
        "126735fcc320d25a",
        "ca40d7446e545ffaed3bd12a740a659ffbbb3ceab7",
        "cb8920f87a6c75cff39627b56e3ed197c552d295a7cfc46afc253b4652b1af3795b124ab6e",
    ],
];

/// McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B, cases 1 to 6.
const GCM: [Sealed; 6] = [
    [
        "00000000000000000000000000000000",
        "000000000000000000000000",
        "",
        "",
        "58e2fccefa7e3061367f1d57a4e7455a",
    ],
    [
        "00000000000000000000000000000000",
        "000000000000000000000000",
        "",
        "00000000000000000000000000000000",
        "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf",
    ],
    [
        "feffe9928665731c6d6a8f9467308308",
        "cafebabefacedbaddecaf888",
        "",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
      1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
      21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f59854d5c2af327cd64a62cf35abd2ba6fab4",
    ],
    [
        "feffe9928665731c6d6a8f9467308308",
        "cafebabefacedbaddecaf888",
        "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
      1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
      21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47",
    ],
    [
        "feffe9928665731c6d6a8f9467308308",
        "cafebabefacedbad",
        "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
      1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c7423
      73806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f45983612d2e79e3b0785561be14aaca2fccb",
    ],
    [
        "feffe9928665731c6d6a8f9467308308",
        "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b",
        "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
      1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca7
      01e4a9a4fba43c90ccdcb281d48c7c6fd62875d2aca417034c34aee5619cc5aefffe0bfa462af43c1699d050",
    ],
];

/// The reference of an authenticated mode.
type ByReference = fn(&dyn BlockCipher, Direction, &[u8], &[u8], &mut [u8]) -> Block;

fn sealed(answers: &[Sealed], by_reference: ByReference, engine: fn(&Key, &Options) -> Box<dyn Aead>) {
    counted(answers.len(), "known answers");
    for (i, answer) in answers.iter().enumerate() {
        let [key, nonce, aad, plain, sealed] = answer.map(hex);
        let key = key_of(&key);
        let (ciphertext, tag) = sealed.split_at(plain.len());
        let cipher = reference::cipher(&key);
        for (direction, from, to) in
            [(Direction::Encrypt, &plain[..], ciphertext), (Direction::Decrypt, ciphertext, &plain[..])]
        {
            let mut data = from.to_vec();
            assert_eq!(
                by_reference(&*cipher, direction, &nonce, &aad, &mut data),
                tag,
                "{i} by the reference"
            );
            assert_eq!(data, to, "{i} by the reference");
        }
        for mode in every_cap().map(|options| engine(&key, &options)) {
            let mut data = plain.clone();
            assert_eq!(mode.seal(&nonce, &aad, &mut data).unwrap()[..], *tag, "{i}");
            assert_eq!(data, ciphertext, "{i}");
            mode.open(&nonce, &aad, tag, &mut data).unwrap();
            assert_eq!(data, plain, "{i}");
        }
    }
}

#[test]
fn eax_paper() {
    sealed(&EAX, aead::eax, |key, options| Box::new(Eax::with_options(key, 16, options).unwrap()));
}

#[test]
fn gcm_paper() {
    sealed(&GCM, aead::gcm, |key, options| Box::new(Gcm::with_options(key, 16, options).unwrap()));
}
