//! Formats of files: headers that an independent writer makes, headers of VeraCrypt and TrueCrypt that were
//! published, and hostile headers. Files by the tools themselves are tested with the command line.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::io::Cursor;

use aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit, KeyIvInit as _, consts,
};
use cbc::cipher::BlockModeEncrypt as _;
use crossgrain_search::format::{Details, Format, HeaderPlace, Locked};
use crossgrain_search::{Error, Hash, Kdf};
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};
use xts_mode::{Xts128, get_tweak_default};

const PASSPHRASE: &[u8] = b"Tr0ub4dor&3";

/// Pseudo-random bytes.
fn painted(len_bytes: usize, seed: u8) -> Vec<u8> {
    let digests = (0_u32..).flat_map(|at| Sha256::digest([&[seed][..], &at.to_le_bytes()].concat()));
    digests.take(len_bytes).collect()
}

fn read(name: &str, file: &[u8], details: &Details) -> Result<Locked, Error> {
    Format::named(name).unwrap().read(Cursor::new(file.to_vec()), details)
}

/// Whether a passphrase opens a file.
fn opens(locked: &Locked, passphrase: &[u8]) -> bool {
    let mut key = vec![0; locked.test.key_bytes().unwrap()];
    locked.kdf.derive(passphrase, &mut key).unwrap();
    let planted = locked.test.planted(&key).unwrap();
    assert!(planted.holds(&key).unwrap(), "{locked:?}");
    locked.test.holds(&key).unwrap()
}

/// CRC-32 of ISO 3309.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// XTS by the crate `xts-mode`, of sectors from number 0 on.
fn xts<C>(keys: [&[u8]; 2], sector_bytes: usize, data: &mut [u8])
where
    C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = consts::U16> + KeyInit,
{
    let [data_key, tweak_key] = keys.map(|key| C::new_from_slice(key).unwrap());
    Xts128::new(data_key, tweak_key).encrypt_area(data, sector_bytes, 0, get_tweak_default);
}

/// A layer of a cascade, by name.
fn layer(cipher: &str, keys: [&[u8]; 2], body: &mut [u8]) {
    let len_bytes = body.len();
    match cipher {
        "aes" => xts::<aes::Aes256>(keys, len_bytes, body),
        "serpent" => xts::<serpent::Serpent>(keys, len_bytes, body),
        "camellia" => xts::<camellia::Camellia256>(keys, len_bytes, body),
        _ => xts::<kuznyechik::Kuznyechik>(keys, len_bytes, body),
    }
}

/// A header of VeraCrypt or TrueCrypt. The ciphers are listed as the documentation names a cascade: the one that
/// encrypts last comes first.
fn header(magic: &[u8; 4], kdf: &dyn Fn(&[u8]) -> Kdf, cascade: &str) -> Vec<u8> {
    let salt = painted(64, 1);
    let mut body = vec![0; 448];
    body[..4].copy_from_slice(magic);
    body[4..6].copy_from_slice(&[0, 5]);
    body[192..448].copy_from_slice(&painted(256, 2));
    let keys_sum = crc(&body[192..]).to_be_bytes();
    body[8..12].copy_from_slice(&keys_sum);
    body[36..44].copy_from_slice(&(1_u64 << 20).to_be_bytes());
    let fields_sum = crc(&body[..188]).to_be_bytes();
    body[188..192].copy_from_slice(&fields_sum);
    let mut order: Vec<_> = cascade.split('-').collect();
    order.reverse();
    let mut keys = vec![0; 64 * order.len()];
    kdf(&salt).derive(PASSPHRASE, &mut keys).unwrap();
    for (at, cipher) in order.iter().enumerate() {
        layer(cipher, [&keys[32 * at..][..32], &keys[32 * (order.len() + at)..][..32]], &mut body);
    }
    [salt, body].concat()
}

#[test]
fn veracrypt_headers_open_under_every_hash_and_cascade() {
    let cascades = [
        "aes",
        "serpent",
        "camellia",
        "kuznyechik",
        "serpent-aes",
        "camellia-kuznyechik",
        "camellia-serpent",
        "kuznyechik-aes",
        "kuznyechik-serpent-camellia",
    ];
    let hashes =
        [Hash::Sha512, Hash::Sha256, Hash::Whirlpool, Hash::Streebog, Hash::Blake2s, Hash::Ripemd160];
    let details = |hash| Details { pim: Some(1), hash, ..Details::default() };
    for (at, cascade) in cascades.iter().enumerate() {
        let hash = hashes[at % hashes.len()];
        let kdf = |salt: &[u8]| Kdf::Pbkdf2 { hash, salt: salt.to_vec(), iterations: 16_000 };
        let mut file = header(b"VERA", &kdf, cascade);
        assert!(
            opens(&read("veracrypt", &file, &details(Some(hash))).unwrap(), PASSPHRASE),
            "{cascade} {hash:?}"
        );
        assert!(!opens(&read("veracrypt", &file, &details(Some(hash))).unwrap(), b"other"), "{cascade}");
        file[100] ^= 1;
        assert!(!opens(&read("veracrypt", &file, &details(Some(hash))).unwrap(), PASSPHRASE), "{cascade}");
    }
    // All hashes at once, and a hidden volume.
    let kdf = |salt: &[u8]| Kdf::Pbkdf2 { hash: Hash::Streebog, salt: salt.to_vec(), iterations: 16_000 };
    let file = header(b"VERA", &kdf, "serpent-aes");
    assert!(opens(&read("veracrypt", &file, &details(None)).unwrap(), PASSPHRASE));
    let hidden = [painted(65_536, 9), file.clone()].concat();
    let of_hidden = Details { header: Some(HeaderPlace::Hidden), ..details(Some(Hash::Streebog)) };
    assert!(opens(&read("veracrypt", &hidden, &of_hidden).unwrap(), PASSPHRASE));
    let copy = [painted(1000, 9), file, painted(131_072 - 512, 8)].concat();
    let of_copy = Details { header: Some(HeaderPlace::Backup), ..details(Some(Hash::Streebog)) };
    assert!(opens(&read("veracrypt", &copy, &of_copy).unwrap(), PASSPHRASE));
}

/// Iterations by VeraCrypt's documentation ("Header Key Derivation", "PIM"): of a volume, of one with PIM 3, of a
/// system drive, and of one with PIM 3.
#[test]
fn veracrypt_derives_keys_with_the_documented_iterations() {
    let file = painted(63 * 512, 5);
    for (hash, want) in [
        (Hash::Sha512, [500_000, 18_000, 500_000, 18_000]),
        (Hash::Whirlpool, [500_000, 18_000, 500_000, 18_000]),
        (Hash::Sha256, [500_000, 18_000, 200_000, 6144]),
        (Hash::Blake2s, [500_000, 18_000, 200_000, 6144]),
        (Hash::Streebog, [500_000, 18_000, 200_000, 6144]),
        (Hash::Ripemd160, [655_331, 18_000, 327_661, 6144]),
    ] {
        let places = [None, Some(HeaderPlace::System)];
        let cases = places.iter().flat_map(|header| [(*header, None), (*header, Some(3))]);
        for ((header, pim), want) in cases.zip(want) {
            let details = Details { hash: Some(hash), header, pim, ..Details::default() };
            let Kdf::Pbkdf2 { iterations, .. } = read("veracrypt", &file, &details).unwrap().kdf else {
                panic!("{hash:?}")
            };
            assert_eq!(iterations, want, "{hash:?} {header:?} {pim:?}");
        }
    }
}

/// Headers of volumes that VeraCrypt and TrueCrypt made, published as examples by hashcat 6.2.6 (`hashcat
/// --hash-info`). The passphrase of all is `hashcat`.
#[test]
fn published_headers_open() {
    let unhex = |text: &str| -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    };
    for line in include_str!("veracrypt.txt").lines().filter(|line| !line.starts_with('#')) {
        let [format, hash, place, cipher, digits] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let mut file = unhex(digits);
        let is_system = place == "system";
        if is_system {
            file = [painted(62 * 512, 5), file].concat();
        }
        let details = Details {
            hash: Hash::named(hash),
            cipher: cipher.parse().ok(),
            header: is_system.then_some(HeaderPlace::System),
            ..Details::default()
        };
        assert!(opens(&read(format, &file, &details).unwrap(), b"hashcat"), "{format} {hash} {place}");
    }
}

/// The anti-forensic splitter of LUKS, with SHA-256.
fn split(key: &[u8], stripes: usize) -> Vec<u8> {
    let mut all = painted(key.len() * (stripes - 1), 3);
    let mut sum = vec![0; key.len()];
    for stripe in all.chunks(key.len()) {
        sum.iter_mut().zip(stripe).for_each(|(sum, byte)| *sum ^= byte);
        for (index, piece) in (0_u32..).zip(sum.chunks_mut(32)) {
            let digest = Sha256::digest([&index.to_be_bytes()[..], piece].concat());
            piece.copy_from_slice(&digest[..piece.len()]);
        }
    }
    all.extend(sum.iter().zip(key).map(|(sum, byte)| sum ^ byte));
    all
}

/// A LUKS1 device of a few stripes.
fn luks1(cipher: &str, mode: &str, key_bytes: usize, encrypt: &dyn Fn(&[u8], &mut [u8])) -> Vec<u8> {
    const STRIPES: usize = 40;
    let pbkdf2 = |passphrase: &[u8], salt: &[u8], len_bytes: usize| {
        let mut key = vec![0; len_bytes];
        let kdf = Kdf::Pbkdf2 { hash: Hash::Sha256, salt: salt.to_vec(), iterations: 10 };
        kdf.derive(passphrase, &mut key).unwrap();
        key
    };
    let volume_key = painted(key_bytes, 4);
    let (salt, digest_salt) = (painted(32, 5), painted(32, 6));
    let mut device = vec![0; 4096];
    let mut put = |at: usize, bytes: &[u8]| device[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"LUKS\xba\xbe\0\x01");
    put(8, cipher.as_bytes());
    put(40, mode.as_bytes());
    put(72, b"sha256");
    put(108, &(key_bytes as u32).to_be_bytes());
    put(112, &pbkdf2(&volume_key, &digest_salt, 20));
    put(132, &digest_salt);
    put(164, &10_u32.to_be_bytes());
    // The third slot has the passphrase.
    let slot = 208 + 2 * 48;
    put(slot, &0x00ac_71f3_u32.to_be_bytes());
    put(slot + 4, &10_u32.to_be_bytes());
    put(slot + 8, &salt);
    put(slot + 40, &8_u32.to_be_bytes());
    put(slot + 44, &(STRIPES as u32).to_be_bytes());
    let mut stripes = split(&volume_key, STRIPES);
    stripes.resize(stripes.len().next_multiple_of(512), 0);
    encrypt(&pbkdf2(PASSPHRASE, &salt, key_bytes), &mut stripes);
    [device, stripes].concat()
}

/// Serpent, which cryptsetup has only with the kernel's help.
#[test]
fn luks_devices_with_serpent_open() {
    let xts = |key: &[u8], data: &mut [u8]| {
        let keys = [&key[..key.len() / 2], &key[key.len() / 2..]];
        xts::<serpent::Serpent>(keys, 512, data);
    };
    let cbc = |key: &[u8], data: &mut [u8]| {
        let essiv = serpent::Serpent::new_from_slice(&Sha256::digest(key)).unwrap();
        for (number, sector) in (0_u64..).zip(data.chunks_mut(512)) {
            let mut iv = Array::default();
            iv[..8].copy_from_slice(&number.to_le_bytes());
            essiv.encrypt_block(&mut iv);
            let mut cbc = cbc::Encryptor::<serpent::Serpent>::new_from_slices(key, &iv).unwrap();
            for block in sector.chunks_mut(16) {
                cbc.encrypt_block(block.try_into().unwrap());
            }
        }
    };
    let devices = [
        luks1("serpent", "xts-plain64", 64, &xts),
        luks1("serpent", "xts-plain", 32, &xts),
        luks1("serpent", "cbc-essiv:sha256", 32, &cbc),
    ];
    for device in devices {
        let locked = read("luks", &device, &Details::default()).unwrap();
        assert!(opens(&locked, PASSPHRASE) && !opens(&locked, b"other"));
        let third = Details { slot: Some(2), ..Details::default() };
        assert!(opens(&read("luks", &device, &third).unwrap(), PASSPHRASE));
    }
}

/// Formats are recognised by their first bytes, and the file is read from its beginning afterwards.
#[test]
fn formats_are_recognised() {
    for (bytes, name) in [
        (&b"Salted__"[..], "openssl"),
        (b"U2FsdGVkX1+abc", "openssl"),
        (b"LUKS\xba\xbe\0\x02", "luks"),
        (b"PK\x03\x04", "zip"),
        (b"age-encryption.org/v1\n", "age"),
        (b"-----BEGIN AGE ENCRYPTED FILE-----\n", "age"),
        (b"crossgrain\x01", "crossgrain"),
    ] {
        let mut source = Cursor::new(bytes.to_vec());
        assert_eq!(Format::detect(&mut source).unwrap().name, name);
        assert_eq!(source.position(), 0);
    }
    let error = Format::detect(&mut Cursor::new(b"Salted".to_vec())).unwrap_err();
    assert!(error.to_string().contains("veracrypt"), "{error}");
}

/// A zip archive with one entry of a few bytes.
fn zip() -> Vec<u8> {
    let aes = [1, 0x99, 7, 0, 2, 0, b'A', b'E', 3, 0, 0];
    let data = painted(16 + 2 + 5 + 10, 7);
    let len = (data.len() as u32).to_le_bytes();
    let common =
        [&[51, 0, 1, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &len, &[5, 0, 0, 0, 1, 0, 11, 0]].concat();
    let local = [b"PK\x03\x04", &common[..], b"a", &aes, &data].concat();
    let central = [b"PK\x01\x02\x33\0", &common[..], &[0; 14], b"a", &aes].concat();
    let (size, from) = ((central.len() as u32).to_le_bytes(), (local.len() as u32).to_le_bytes());
    let end = [b"PK\x05\x06", &[0, 0, 0, 0, 1, 0, 1, 0][..], &size, &from, &[0, 0]].concat();
    [local, central, end].concat()
}

/// A LUKS2 device with one slot. Its checksum is right.
fn luks2(json: &str) -> Vec<u8> {
    let mut device = vec![0; 0x4000];
    device[..8].copy_from_slice(b"LUKS\xba\xbe\0\x02");
    device[8..16].copy_from_slice(&0x4000_u64.to_be_bytes());
    device[72..78].copy_from_slice(b"sha256");
    device[4096..4096 + json.len()].copy_from_slice(json.as_bytes());
    let checksum = Sha256::digest(&device);
    device[448..480].copy_from_slice(&checksum);
    [device, painted(0x4000, 8)].concat()
}

const JSON: &str = r#"{"keyslots":{"0":{"type":"luks2","key_size":32,"af":{"type":"luks1","stripes":40,"hash":"sha256"},
"area":{"type":"raw","offset":"16384","size":"2048","encryption":"aes-xts-plain64","key_size":32},
"kdf":{"type":"argon2id","time":4,"memory":64,"cpus":1,"salt":"AAAAAAAAAAAAAAAAAAAAAA=="}}},
"digests":{"0":{"type":"pbkdf2","keyslots":["0"],"segments":["0"],"hash":"sha256","iterations":1000,
"salt":"AAAAAAAAAAAAAAAAAAAAAA==","digest":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}}"#;

/// Each change of the JSON is refused in one line that names the problem.
#[test]
fn luks2_headers_that_make_no_sense_are_refused() {
    read("luks", &luks2(JSON), &Details::default()).unwrap();
    for (old, new, told) in [
        ("argon2id", "argon3", "argon3"),
        ("\"memory\":64", "\"memory\":4194305", "4194305 KiB"),
        ("\"memory\":64", "\"memory\":-1", "number"),
        ("\"key_size\":32,\"af\"", "\"key_size\":9999999999999999999999,\"af\"", "number"),
        ("\"key_size\":32,\"af\"", "\"key_size\":65,\"af\"", "65 bytes"),
        ("\"key_size\":32}", "\"key_size\":18446744073709551615}", "not supported"),
        ("stripes\":40", "stripes\":65537", "stripes"),
        ("stripes\":40", "stripes\":0", "stripes"),
        ("offset\":\"16384\"", "offset\":\"18446744073709551615\"", "no file has"),
        ("offset\":\"16384\"", "offset\":\"99999999\"", "too early"),
        ("aes-xts-plain64", "aes-xts-random", "aes-xts-random"),
        ("AAAAAAAAAAAAAAAAAAAAAA==\"}}},", "AAA\"}}},", "base64"),
        ("\"keyslots\":[\"0\"]", "\"keyslots\":[\"1\"]", "no digest"),
        ("iterations\":1000", "iterations\":0", "iterations"),
        ("iterations\":1000", "iterations\":4294967295", "iterations"),
        ("\"type\":\"luks1\"", "\"type\":\"luks3\"", "splitter"),
        ("{\"keyslots\"", "[\"keyslots\"", "JSON"),
        ("{\"keyslots\"", "{\"keyslot\"", "list of key slots"),
        ("\"type\":\"luks2\"", "\"type\":\"reencrypt\"", "no key slot"),
        ("\"hash\":\"sha256\"},", "\"hash\":\"md5\"},", "hash md5"),
    ] {
        let json = JSON.replacen(old, new, 1);
        assert_ne!(json, JSON, "{old}");
        let error = read("luks", &luks2(&json), &Details::default()).unwrap_err().to_string();
        assert!(error.contains(told) && !error.contains('\n'), "{new}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Whatever a header holds, reading it ends: with a file, or with one line.
    #[test]
    fn hostile_headers_are_read_or_refused(
        which in 0..6_usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let age = b"age-encryption.org/v1\n-> scrypt yYnEZfEg5+4OXpGKRfJLnQ 10\n\
                    CEH2pNDNTjVhhLsO5j/tSuKahIBLlFYPN07SXQ4Zn4U\n--- x\n";
        let json_at = 4096 + which % 2;
        let mut file = match which {
            0 => luks1("aes", "xts-plain64", 32, &|_, _| ()),
            1 => luks2(JSON),
            2 => zip(),
            3 => age.to_vec(),
            4 => [&b"Salted__"[..], &painted(72, 1)].concat(),
            _ => b"U2FsdGVkX1+AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".to_vec(),
        };
        for (at, value) in changes {
            let at = at.index(file.len().min(json_at + JSON.len()));
            file[at] = value;
        }
        if which == 1 {
            file[448..512].fill(0);
            let checksum = Sha256::digest(&file[..0x4000]);
            file[448..480].copy_from_slice(&checksum);
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        let name = ["luks", "luks", "zip", "age", "openssl", "openssl"][which];
        if let Err(error) = read(name, &file, &Details::default()) {
            let told = error.to_string();
            prop_assert!(!told.is_empty() && !told.contains(char::is_control), "{}", told);
        }
    }
}
