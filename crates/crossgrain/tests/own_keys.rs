//! Records with a key each. The result equals that of the mode applied to one record after another, for all
//! lengths and under every cap.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{ALL_CAP, CAPS, capped, counted, painted};
use crossgrain::mode::{Cbc, Cmac, Ctr, Ecb, OwnKeys, Record, Tag};
use crossgrain::{Block, Cipher, Direction, Error, Key};

/// A record before it is encrypted.
struct Plain {
    key: Key,
    iv: Block,
    data: Vec<u8>,
}

/// Lengths of records: no record, one, more than the lanes; equal and mixed.
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

/// Records with these lengths. In every fourth record the low half of the counter wraps.
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

/// The results of the modes on the records.
#[derive(Debug, PartialEq)]
struct Results {
    ctr: Vec<Vec<u8>>,
    ecb: [Vec<Vec<u8>>; 2],
    cbc: [Vec<Vec<u8>>; 2],
    tags: Vec<Tag>,
}

/// Records of any length, and records of whole blocks, for the modes that need those.
struct Inputs {
    any: Vec<Plain>,
    whole: Vec<Plain>,
}

impl Inputs {
    fn new(cipher: Cipher, lens: &[usize]) -> Self {
        Self { any: plain(cipher, lens, false), whole: plain(cipher, lens, true) }
    }

    /// Results of the modes' own types, one record after another.
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

/// Processes every other record in place and the rest from one buffer to another.
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

/// Whether a cipher has kernels with one key per lane. Other ciphers are run one key after another.
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
        let (lists, caps) = if has_kernel(cipher) {
            (lengths(), &CAPS[..])
        } else {
            (vec![vec![40, 0, 5, 300]], &CAPS[CAPS.len() - 1..])
        };
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
        let own = OwnKeys::with_options(cipher, &capped(ALL_CAP, 2)).unwrap();
        assert!(inputs.at_once(&own) == inputs.one_by_one(), "{cipher}");
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
