//! Records under a key each: what comes of them is what each mode makes of one record after another, whatever their lengths, and under
//! every cap.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{CAPS, capped, counted, hex, painted};
use crossgrain::mode::{Cbc, Cmac, Ctr, Ecb, OwnKeys, Record, Tag};
use crossgrain::{Block, Cipher, Direction, Error, Key};

/// A record before it is encrypted.
struct Plain {
    key: Key,
    iv: Block,
    data: Vec<u8>,
}

/// Lengths of records: none, one, more than there are lanes; alike and mixed.
fn lengths() -> Vec<Vec<usize>> {
    let mixed = |count: usize, most: usize| (0..count).map(|i| i * 7919 % (most + 1)).collect();
    vec![
        vec![],
        vec![0],
        vec![1],
        vec![16],
        vec![5000],
        vec![16; 70],
        vec![3; 33],
        vec![64; 40],
        vec![300; 9],
        (0..70).collect(),
        mixed(100, 600),
        mixed(37, 4000),
    ]
}

/// Records of these lengths, of which every fourth counter's low half wraps within.
fn plain(cipher: Cipher, lens: &[usize], whole_blocks: bool) -> Vec<Plain> {
    let record = |(number, &len_bytes): (usize, &usize)| {
        let seed = 31 * number as u64;
        let key = Key::new(cipher, &painted(cipher.key_bytes(), seed + 1)).unwrap();
        let mut iv: Block = painted(16, seed + 2).try_into().unwrap();
        if number % 4 == 1 {
            iv[8..].fill(0xff);
            iv[15] -= (number % 7) as u8;
        }
        if number % 8 == 3 {
            iv.fill(0xff);
        }
        let len_bytes = if whole_blocks { len_bytes / 16 * 16 } else { len_bytes };
        Plain { key, iv, data: painted(len_bytes, seed + 3) }
    };
    lens.iter().enumerate().map(record).collect()
}

/// What modes make of records.
#[derive(Debug, PartialEq)]
struct Results {
    ctr: Vec<Vec<u8>>,
    ecb: [Vec<Vec<u8>>; 2],
    cbc: [Vec<Vec<u8>>; 2],
    tags: Vec<Tag>,
}

/// Records of which modes take any length, and those of whole blocks.
struct Inputs {
    any: Vec<Plain>,
    whole: Vec<Plain>,
}

impl Inputs {
    fn new(cipher: Cipher, lens: &[usize]) -> Self {
        Self { any: plain(cipher, lens, false), whole: plain(cipher, lens, true) }
    }

    /// By the modes' own types, one after another.
    fn one_by_one(&self) -> Results {
        let ctr = |record: &Plain| {
            let mut data = record.data.clone();
            Ctr::new(&record.key, &record.iv).unwrap().apply(&mut data);
            data
        };
        let ecb = |record: &Plain, direction| {
            let mut data = record.data.clone();
            Ecb::new(&record.key, direction).unwrap().apply(&mut data).unwrap();
            data
        };
        let cbc = |record: &Plain, direction| {
            let mut data = record.data.clone();
            Cbc::new(&record.key, direction).unwrap().apply(&mut record.iv.into(), &mut data).unwrap();
            data
        };
        Results {
            ctr: self.any.iter().map(ctr).collect(),
            ecb: Direction::ALL.map(|way| self.whole.iter().map(|record| ecb(record, way)).collect()),
            cbc: Direction::ALL.map(|way| self.whole.iter().map(|record| cbc(record, way)).collect()),
            tags: self.any.iter().map(|record| Cmac::new(&record.key).unwrap().tag(&record.data)).collect(),
        }
    }

    fn at_once(&self, own: &OwnKeys) -> Results {
        let messages: Vec<_> = self.any.iter().map(|record| (&record.key, &record.data[..])).collect();
        Results {
            ctr: run(&self.any, |records| own.ctr(records)),
            ecb: Direction::ALL.map(|way| run(&self.whole, |records| own.ecb(way, records))),
            cbc: Direction::ALL.map(|way| run(&self.whole, |records| own.cbc(way, records))),
            tags: own.cmac(&messages).unwrap(),
        }
    }
}

/// Every other record in place, the rest from one place to another.
fn run(records: &[Plain], work: impl Fn(&mut [Record<'_>]) -> Result<(), Error>) -> Vec<Vec<u8>> {
    let mut outputs: Vec<_> = records.iter().map(|record| record.data.clone()).collect();
    let mut given = Vec::new();
    for (number, (plain, output)) in records.iter().zip(&mut outputs).enumerate() {
        given.push(match number % 2 {
            0 => Record::new(&plain.key, plain.iv, output),
            _ => Record::new(&plain.key, plain.iv, (&plain.data, output)),
        });
    }
    work(&mut given).unwrap();
    drop(given);
    outputs
}

/// Ciphers that have kernels with a key a lane, and the others, which are run key after key.
fn has_kernel(cipher: Cipher) -> bool {
    matches!(
        cipher,
        Cipher::Aes128
            | Cipher::Aes192
            | Cipher::Aes256
            | Cipher::Serpent128
            | Cipher::Serpent192
            | Cipher::Serpent256
    )
}

#[test]
fn records_are_as_one_after_another() {
    let mut records = 0;
    for cipher in Cipher::ALL {
        let (lists, caps) =
            if has_kernel(cipher) { (lengths(), &CAPS[..]) } else { (vec![vec![40, 0, 5, 300]], &CAPS[8..]) };
        for lens in lists {
            let inputs = Inputs::new(cipher, &lens);
            let expected = inputs.one_by_one();
            for cap in caps {
                let own = OwnKeys::with_options(cipher, &capped(cap, 1)).unwrap();
                assert!(inputs.at_once(&own) == expected, "{cipher} {cap} {lens:?}");
                records += 6 * lens.len();
            }
        }
    }
    counted(records, "records under keys of their own compared with one after another");
}

#[test]
fn threads_share_records() {
    for cipher in [Cipher::Aes256, Cipher::Serpent128] {
        let lens: Vec<_> = (0..400).map(|i| i * 7919 % 4096).collect();
        assert!(lens.iter().sum::<usize>() > 600_000, "enough for several threads");
        let inputs = Inputs::new(cipher, &lens);
        let own = OwnKeys::with_options(cipher, &capped("avx512", 2)).unwrap();
        assert!(inputs.at_once(&own) == inputs.one_by_one(), "{cipher}");
    }
}

/// FIPS 197, SP 800-38A and AESAVS (`published/aes-ecb.txt`): all answers of a key size at once, each under its key.
#[test]
fn published_blocks_at_once() {
    for cipher in [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256] {
        let lines = include_str!("published/aes-ecb.txt").lines();
        let answers: Vec<[Vec<u8>; 3]> = lines
            .filter(|line| !line.is_empty() && !line.starts_with(['#', '[']))
            .map(|line| line.split(' ').map(hex).collect::<Vec<_>>().try_into().unwrap())
            .filter(|[key, ..]: &[Vec<u8>; 3]| key.len() == cipher.key_bytes())
            .collect();
        assert!(answers.len() > 10);
        let keys: Vec<_> = answers.iter().map(|[key, ..]| Key::new(cipher, key).unwrap()).collect();
        for (cap, direction) in CAPS.into_iter().flat_map(|cap| Direction::ALL.map(|way| (cap, way))) {
            let own = OwnKeys::with_options(cipher, &capped(cap, 1)).unwrap();
            let (from, to) = if direction == Direction::Encrypt { (1, 2) } else { (2, 1) };
            let mut data: Vec<_> = answers.iter().map(|answer| answer[from].clone()).collect();
            let records = keys.iter().zip(&mut data).map(|(key, data)| Record::new(key, [0; 16], data));
            own.ecb(direction, &mut records.collect::<Vec<_>>()).unwrap();
            for (data, answer) in data.iter().zip(&answers) {
                assert_eq!(*data, answer[to], "{cap}");
            }
        }
    }
}

/// SP 800-38A, F.5.1, F.5.3 and F.5.5: the key, and what the plaintext of all examples is encrypted to.
const CTR: [(&str, &str); 3] = [
    (
        "2b7e151628aed2a6abf7158809cf4f3c",
        "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
         5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
    ),
    (
        "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
        "1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94
         1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050",
    ),
    (
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
         2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
    ),
];

#[test]
fn published_counters() {
    let plain = hex("6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
         30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710");
    let iv: Block = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff").try_into().unwrap();
    for (key, crypt) in CTR {
        let (key, crypt) = (hex(key), hex(crypt));
        let cipher = Cipher::ALL.into_iter().find(|cipher| cipher.key_bytes() == key.len()).unwrap();
        let (key, other) = (Key::new(cipher, &key).unwrap(), Key::new(cipher, &vec![5; key.len()]).unwrap());
        for cap in CAPS {
            let mut data: Vec<_> = [64, 63, 16, 1, 0].map(|len| plain[..len].to_vec()).to_vec();
            let mut between = vec![3; 20];
            let mut records = vec![Record::new(&other, iv, &mut between)];
            records.extend(data.iter_mut().map(|data| Record::new(&key, iv, data)));
            OwnKeys::with_options(cipher, &capped(cap, 1)).unwrap().ctr(&mut records).unwrap();
            assert!(data.iter().all(|data| *data == crypt[..data.len()]), "{cipher} {cap}");
        }
    }
}

#[test]
fn what_is_wrong_is_said_before_anything_is_written() {
    let own = OwnKeys::new(Cipher::Aes128).unwrap();
    let key = Key::new(Cipher::Aes128, &[1; 16]).unwrap();
    let other = Key::new(Cipher::Aes192, &[1; 24]).unwrap();
    let (mut first, mut second) = ([7; 32], [7; 33]);
    let refused = Error::OtherCipher { cipher: Cipher::Aes128, given: Cipher::Aes192 };
    let mut records = [Record::new(&key, [0; 16], &mut first), Record::new(&other, [0; 16], &mut second)];
    assert_eq!(own.ctr(&mut records), Err(refused.clone()));
    assert_eq!(own.ecb(Direction::Encrypt, &mut records), Err(refused.clone()));
    assert_eq!(own.cmac(&[(&key, &[]), (&other, &[])]), Err(refused));
    records[1].key = &key;
    let refused = Err(Error::PartialBlock { len_bytes: 33 });
    for direction in Direction::ALL {
        assert_eq!(own.ecb(direction, &mut records), refused);
        assert_eq!(own.cbc(direction, &mut records), refused);
    }
    assert_eq!((first, second), ([7; 32], [7; 33]));
}
