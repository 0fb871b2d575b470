//! The protocol over lines in memory, for all peers and for peers made up to fail.

use crate::botan::Botan;
use crate::hand_written::HandWritten;
use crate::ipsec_mb::IpsecMb;
use crate::libgcrypt::Libgcrypt;
use crate::openssl::OpenSsl;
use crate::peer::{Job, Mode, Operation, Peer, Setup};
use crate::protocol::{Session, serve};
use crate::rustcrypto::{AES_VERSION, CTR_VERSION, RustCrypto, SERPENT_VERSION, XTS_VERSION};
use crate::{hex, peer_named, vectors};

const CIPHERS: [&str; 3] = ["aes-128", "aes-192", "aes-256"];
const DIRECTIONS: [&str; 2] = ["encrypt", "decrypt"];
const KEY: &str = "000102030405060708090a0b0c0d0e0f";

fn rustcrypto() -> Session {
    Session::new(Ok(Box::new(RustCrypto)))
}

/// `None`, and a word about it, on a machine without the library.
fn openssl() -> Option<Session> {
    let Ok(peer) = OpenSsl::load() else {
        eprintln!("skipped: no libcrypto");
        return None;
    };
    Some(Session::new(Ok(Box::new(peer))))
}

fn sessions() -> impl Iterator<Item = Session> {
    [Some(rustcrypto()), openssl(), libgcrypt()].into_iter().flatten()
}

/// `None`, and a word about it, on a machine without the library.
fn libgcrypt() -> Option<Session> {
    let Ok(peer) = Libgcrypt::load() else {
        eprintln!("skipped: no libgcrypt");
        return None;
    };
    Some(Session::new(Ok(Box::new(peer))))
}

/// `None`, and a word about it, on a machine without the library.
fn botan() -> Option<Session> {
    let Ok(peer) = Botan::load() else {
        eprintln!("skipped: no libbotan-2");
        return None;
    };
    Some(Session::new(Ok(Box::new(peer))))
}

/// `None`, and a word about it, on a machine without the library.
fn ipsec_mb() -> Option<Session> {
    let Ok(peer) = IpsecMb::load() else {
        eprintln!("skipped: ipsec-mb (not installed)");
        return None;
    };
    Some(Session::new(Ok(Box::new(peer))))
}

/// Everything a peer answers to the lines of a text.
fn replies(session: Session, text: &[u8]) -> Vec<String> {
    let mut output = Vec::new();
    serve(session, text, &mut output).unwrap();
    let output = String::from_utf8(output).unwrap();
    output.lines().map(str::to_owned).collect()
}

fn jobs(modes: &[&'static str]) -> Vec<[&'static str; 3]> {
    let mut jobs = Vec::new();
    for cipher in CIPHERS {
        for &mode in modes {
            jobs.extend(DIRECTIONS.map(|direction| [cipher, mode, direction]));
        }
    }
    jobs
}

fn is_nanoseconds(answer: &str) -> bool {
    answer.parse::<u64>().is_ok_and(|nanoseconds| nanoseconds > 0)
}

#[test]
fn run_gives_the_answers_of_fips_197() {
    let plain = "00112233445566778899AABBCCDDEEFF";
    let whole_key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let answers = [
        (32, "69c4e0d86a7b0430d8cdb78070b4c55a"),
        (48, "dda97ca4864cdfe06eaf70a0ec0d7191"),
        (64, "8ea2b7ca516745bfeafc49904b496089"),
    ];
    for mut session in sessions() {
        for (cipher, (digits, crypt)) in CIPHERS.into_iter().zip(answers) {
            let key = &whole_key[..digits];
            let there = session.answer(&format!("run {cipher} ecb encrypt {key} - {plain}"));
            assert_eq!(there, crypt);
            let back = session.answer(&format!("run {cipher} ecb decrypt {key} - {crypt}"));
            assert_eq!(back, plain.to_lowercase());
        }
    }
}

#[test]
fn rustcrypto_times_every_job() {
    let mut session = rustcrypto();
    for [cipher, mode, direction] in jobs(&["ecb", "rekey", "ctr", "ctr64"]) {
        let answer = session.answer(&format!("time {cipher} {mode} {direction} 4096 2"));
        assert!(is_nanoseconds(&answer), "{cipher} {mode} {direction}: {answer}");
    }
}

#[test]
fn openssl_times_every_job_it_has() {
    let Some(mut session) = openssl() else { return };
    for [cipher, mode, direction] in jobs(&["ecb", "ctr"]) {
        let answer = session.answer(&format!("time {cipher} {mode} {direction} 4096 2"));
        assert!(is_nanoseconds(&answer), "{cipher} {mode} {direction}: {answer}");
    }
    let answer = session.answer("time aes-128 ctr64 encrypt 4096 2");
    assert_eq!(answer, "error OpenSSL has no ctr64");
}

#[test]
fn peers_agree_on_gcm_and_time_it() {
    let crates =
        || ["ring", "aws-lc-rs", "graviola"].map(|name| peer_named(name)?.ok()).into_iter().flatten();
    let data = hex::encode(&(0..116).map(|i| ((i * 7) >> 3) as u8).collect::<Vec<_>>());
    for (cipher, key) in [("aes-128", KEY.to_owned()), ("aes-256", format!("{KEY}{KEY}"))] {
        let line = |direction: &str, data: &str| {
            format!("run {cipher} gcm {direction} {key} 000102030405060708090a0b {data}")
        };
        let message = &data[..200];
        let mut answers = Vec::new();
        let libraries = [openssl(), libgcrypt(), ipsec_mb()].into_iter().flatten();
        for mut session in crates().map(|peer| Session::new(Ok(peer))).chain(libraries) {
            let sealed = session.answer(&line("encrypt", &data));
            let opened = session.answer(&line("decrypt", &sealed));
            assert_eq!(opened, format!("{message}{}", "0".repeat(32)));
            let forged = format!("{}ffffffff", &sealed[..sealed.len() - 8]);
            assert!(session.answer(&line("decrypt", &forged)).starts_with("error "), "{cipher}");
            let answer = session.answer(&format!("time {cipher} gcm encrypt 80 2"));
            assert!(is_nanoseconds(&answer), "{cipher}: {answer}");
            answers.push(sealed);
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{cipher}");
    }
}

/// Messages that end within a block.
#[test]
fn peers_agree_on_other_tags_and_time_them() {
    let data = hex::encode(&(0..116).map(|i| ((i * 7) >> 3) as u8).collect::<Vec<_>>());
    for (cipher, key, mode) in [
        ("aes-128", KEY.to_owned(), "ocb"),
        ("aes-256", KEY.repeat(2), "ocb"),
        ("aes-128", KEY.to_owned(), "ccm"),
        ("aes-256", KEY.repeat(2), "ccm"),
    ] {
        let line = |direction: &str, data: &str| {
            format!("run {cipher} {mode} {direction} {key} 000102030405060708090a0b {data}")
        };
        let mut answers = Vec::new();
        for mut session in [openssl(), libgcrypt()].into_iter().flatten() {
            let sealed = session.answer(&line("encrypt", &data));
            for _ in 0..2 {
                let opened = session.answer(&line("decrypt", &sealed));
                assert_eq!(opened, format!("{}{}", &data[..200], "0".repeat(32)), "{cipher} {mode}");
            }
            let forged = format!("{}ffffffff", &sealed[..sealed.len() - 8]);
            assert!(session.answer(&line("decrypt", &forged)).starts_with("error "), "{cipher} {mode}");
            for request in [format!("{mode} encrypt 80"), format!("{mode}:100 encrypt 2320")] {
                let answer = session.answer(&format!("time {cipher} {request} 2"));
                assert!(is_nanoseconds(&answer), "{cipher} {request}: {answer}");
            }
            answers.push(sealed);
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{cipher} {mode}");
    }
}

#[test]
fn many_messages_are_messages_by_themselves() {
    let one = "000102030405060708090a0b0c0d0e0f";
    for (mode, iv, message) in [
        ("gcm", "000102030405060708090a0b", format!("{}{}", one.repeat(4), "0".repeat(32))),
        ("cbc", KEY, one.repeat(4)),
        ("ctr", KEY, one.repeat(4)),
    ] {
        for mut session in [openssl(), libgcrypt()].into_iter().flatten() {
            let mut answer = |mode: &str, data: &str| {
                session.answer(&format!("run aes-256 {mode} encrypt {KEY}{KEY} {iv} {data}"))
            };
            let (single, many) = (answer(mode, &message), answer(&format!("{mode}:64"), &message.repeat(3)));
            assert_eq!(many, single.repeat(3), "{mode}");
        }
    }
    for bad in ["gcm:0", "gcm:", "gcm:x", "gcm:2147483648"] {
        let answer = rustcrypto().answer(&format!("time aes-128 {bad} encrypt 80 1"));
        assert!(answer.starts_with("error "), "{bad}: {answer}");
    }
}

/// Lengths of all kinds at once, so that lanes run dry at different times.
#[test]
fn ipsec_mb_computes_what_openssl_computes() {
    let (Some(mut theirs), Some(mut openssl)) = (ipsec_mb(), openssl()) else { return };
    for (cipher, key) in
        [("aes-128", KEY.to_owned()), ("aes-192", "5a".repeat(24)), ("aes-256", KEY.repeat(2))]
    {
        for direction in DIRECTIONS {
            for (mode, blocks) in
                [("cbc", 1), ("cbc", 7), ("cbc:16", 40), ("cbc:48", 100), ("cbc:1024", 1000)]
            {
                let line = format!("run {cipher} {mode} {direction} {key} {KEY} {}", KEY.repeat(blocks));
                assert_eq!(theirs.answer(&line), openssl.answer(&line), "{cipher} {mode} {direction}");
            }
        }
    }
    for request in
        ["aes-256 cbc:4096 encrypt 65536", "aes-128 cmac:64 encrypt 5120", "aes-256 cmac:4096 encrypt 65792"]
    {
        let answer = theirs.answer(&format!("time {request} 2"));
        assert!(is_nanoseconds(&answer), "{request}: {answer}");
    }
    for bad in [
        "aes-128 ctr encrypt 16",
        "aes-128 cbc encrypt 17",
        "aes-128 cmac decrypt 32",
        "serpent-128 cbc encrypt 16",
    ] {
        let answer = theirs.answer(&format!("time {bad} 1"));
        assert!(answer.starts_with("error "), "{bad}: {answer}");
    }
    let answer = theirs.answer("time aes-128 cbc encrypt 16 1");
    assert!(is_nanoseconds(&answer), "after a refusal: {answer}");
}

#[test]
fn a_sector_may_have_another_size() {
    let (key, data) = (format!("{KEY}{}", "f0".repeat(16)), "5a".repeat(1024));
    for mut session in sessions() {
        let mut answer = |mode: &str, data: &str| {
            session.answer(&format!("run aes-128 {mode} encrypt {key} {} {data}", "0".repeat(32)))
        };
        let (by_sectors, first) = (answer("xts:512", &data), answer("xts", &data[..1024]));
        assert_eq!(by_sectors[..1024], first);
        assert_ne!(by_sectors, answer("xts:1024", &data));
        assert_eq!(answer("xts:1024", &data), answer("xts", &data));
    }
}

#[test]
fn peers_agree_on_serpent_and_time_it() {
    let data: Vec<u8> = (0..16 * 100).map(|i| ((i * 7) >> 3) as u8).collect();
    let data = hex::encode(&data);
    for (cipher, key) in [("serpent-128", KEY.to_owned()), ("serpent-256", format!("{KEY}{KEY}"))] {
        for (mode, iv) in [("ecb", "-"), ("ctr", "ffffffffffffffffffffffffffffff77")] {
            for direction in DIRECTIONS {
                let line = format!("run {cipher} {mode} {direction} {key} {iv} {data}");
                let want = rustcrypto().answer(&line);
                let others = [libgcrypt(), botan().filter(|_| mode == "ecb")];
                for mut session in others.into_iter().flatten() {
                    assert_eq!(session.answer(&line), want, "{cipher} {mode} {direction}");
                    let answer = session.answer(&format!("time {cipher} {mode} {direction} 4096 2"));
                    assert!(is_nanoseconds(&answer), "{cipher} {mode} {direction}: {answer}");
                }
            }
        }
    }
    let Some(mut session) = botan() else { return };
    assert!(session.answer("name").starts_with("Botan 2."));
    assert!(session.answer("time serpent-128 ctr encrypt 16 1").starts_with("error "));
}

#[test]
fn sectors_of_described_ciphers_are_timed() {
    let Some(mut session) = libgcrypt() else { return };
    for cipher in ["sm4", "camellia-128", "camellia-256"] {
        for direction in DIRECTIONS {
            let answer = session.answer(&format!("time {cipher} xts {direction} 8192 2"));
            assert!(is_nanoseconds(&answer), "{cipher} {direction}: {answer}");
        }
    }
    assert!(session.answer("time camellia-192 xts encrypt 8192 2").contains("192 bits"));
}

#[test]
fn peers_agree_on_sectors_and_time_them() {
    // Two sectors, of which the second is short and ends within a block.
    let data = hex::encode(&(0..4096 + 100).map(|i| ((i * 7) >> 3) as u8).collect::<Vec<_>>());
    let number = "feffffffffffffff0000000000000000";
    for (cipher, key) in
        [("aes-128", KEY.to_owned()), ("aes-256", KEY.repeat(2)), ("serpent-256", KEY.repeat(2))]
    {
        let other = "f0".repeat(key.len() / 2);
        for direction in DIRECTIONS {
            let line = format!("run {cipher} xts {direction} {key}{other} {number} {data}");
            let want = rustcrypto().answer(&line);
            assert_eq!(want.len(), data.len(), "{want}");
            let others = [libgcrypt(), openssl().filter(|_| cipher != "serpent-256")];
            for mut session in others.into_iter().flatten() {
                assert_eq!(session.answer(&line), want, "{cipher} {direction}");
                let answer = session.answer(&format!("time {cipher} xts {direction} 8192 2"));
                assert!(is_nanoseconds(&answer), "{cipher} {direction}: {answer}");
            }
            let answer = rustcrypto().answer(&format!("time {cipher} xts {direction} 8192 2"));
            assert!(is_nanoseconds(&answer), "{cipher} {direction}: {answer}");
        }
    }
}

#[test]
fn peers_agree_where_the_counter_wraps() {
    let Some(mut theirs) = openssl() else { return };
    let mut ours = rustcrypto();
    let iv = "fffffffffffffffffffffffffffffff0";
    for len in [0, 1, 15, 16, 17, 1023, 4096, 5003] {
        let data: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
        let data = hex::encode(&data);
        let line = format!("run aes-128 ctr encrypt {KEY} {iv} {data}");
        let crypt = ours.answer(&line);
        assert_eq!(theirs.answer(&line), crypt, "{len} bytes");
        let line = format!("run aes-128 ctr decrypt {KEY} {iv} {crypt}");
        assert_eq!(theirs.answer(&line), data, "{len} bytes back");
    }
}

#[test]
fn ctr64_leaves_the_first_half_of_the_block_alone() {
    let mut session = rustcrypto();
    let mut stream = |mode, iv, blocks: usize| {
        let zeros = "0".repeat(32 * blocks);
        session.answer(&format!("run aes-128 {mode} encrypt {KEY} {iv} {zeros}"))
    };
    let narrow = stream("ctr64", "0123456789abcdefffffffffffffffff", 2);
    let wrapped = stream("ctr", "0123456789abcdef0000000000000000", 1);
    let carried = stream("ctr", "0123456789abcdf00000000000000000", 1);
    assert_eq!(narrow[32..], wrapped);
    assert_ne!(narrow[32..], carried);
}

#[test]
fn every_repeat_counts_from_the_start() {
    for session in sessions() {
        let line = format!("run aes-256 ctr encrypt {KEY}{KEY} {KEY} 00112233\n");
        let answers = replies(session, line.repeat(2).as_bytes());
        assert_eq!(answers[0], answers[1]);
    }
    let job = Job::parse("aes-128", "ctr", "encrypt").unwrap();
    let setup = vectors::setup(job).unwrap();
    let mut operation = RustCrypto.operation(&setup).unwrap();
    for _ in 0..2 {
        operation.apply(&mut [0; 7]).unwrap(); // leaves part of a block in the stream's buffer
        vectors::check(operation.as_mut(), job).unwrap();
    }
    let Ok(peer) = OpenSsl::load() else { return };
    let mut operation = peer.operation(&setup).unwrap();
    for _ in 0..2 {
        operation.apply(&mut [0; 7]).unwrap();
        vectors::check(operation.as_mut(), job).unwrap();
    }
}

#[test]
fn every_line_gets_one_answer_and_bad_ones_an_error() {
    let bad = [
        "",
        "   ",
        "hello",
        "name now",
        "run",
        "time aes-128 ecb encrypt 16",
        "time aes-128 ecb encrypt 16 1 1",
        "time aes-129 ecb encrypt 16 1",
        "time aes-128 xex encrypt 16 1",
        "time aes-128 ecb sideways 16 1",
        "time aes-128 ecb encrypt 17 1",
        "time aes-128 ecb encrypt 16 0",
        "time aes-128 ecb encrypt -16 1",
        "time aes-128 ecb encrypt 99999999999999999999 1",
        "time aes-128 ecb encrypt 18446744073709551615 1",
        "time aes-128 ecb encrypt 2147483648 1",
        "run aes-128 ecb encrypt 000102030405060708090a0b0c0d0e - -",
        "run aes-128 ecb encrypt 000102030405060708090a0b0c0d0e0f - 00",
        "run aes-128 ecb encrypt 000102030405060708090a0b0c0d0e0f 00 -",
        "run aes-128 ctr encrypt 000102030405060708090a0b0c0d0e0f - -",
        "run aes-128 ctr encrypt 000102030405060708090a0b0c0d0e0g - -",
        "run aes-128 ctr encrypt 000102030405060708090a0b0c0d0e0f0 - -",
        "run aes-256 ctr encrypt 000102030405060708090a0b0c0d0e0f - -",
    ];
    for session in sessions() {
        let answers = replies(session, bad.join("\n").as_bytes());
        assert_eq!(answers.len(), bad.len());
        for (line, answer) in bad.into_iter().zip(answers) {
            assert!(answer.starts_with("error "), "{line:?}: {answer}");
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_like_any_other_word() {
    let answers = replies(rustcrypto(), b"\xff\xfe\nname\r\nname");
    assert_eq!(answers.len(), 3);
    assert!(answers[0].starts_with("error no request "));
    assert_eq!(answers[1], answers[2]);
}

#[test]
fn empty_data_is_a_dash_both_ways() {
    for mut session in sessions() {
        let answer = session.answer(&format!("run aes-128 ecb encrypt {KEY} - -"));
        assert_eq!(answer, "-");
        let answer = session.answer(&format!("run aes-128 ctr decrypt {KEY} {KEY} -"));
        assert_eq!(answer, "-");
    }
}

#[test]
fn sizes_may_come_in_any_order() {
    for mut session in sessions() {
        for bytes in [16, 1 << 20, 0, 4096, 3 << 20, 32] {
            let answer = session.answer(&format!("time aes-128 ctr encrypt {bytes} 1"));
            assert!(answer.parse::<u64>().is_ok(), "{bytes} bytes: {answer}");
        }
    }
}

#[test]
fn names_carry_the_versions_linked() {
    let lock = include_str!("../../../Cargo.lock").replace("\r\n", "\n");
    for (package, version) in [
        #[cfg(feature = "crates")]
        ("aws-lc-rs", crate::aws_lc::AWS_LC_VERSION),
        #[cfg(feature = "crates")]
        ("graviola", crate::graviola::GRAVIOLA_VERSION),
        ("ring", crate::ring::RING_VERSION),
        ("aes", AES_VERSION),
        ("ctr", CTR_VERSION),
        ("serpent", SERPENT_VERSION),
        ("xts-mode", XTS_VERSION),
    ] {
        let entry = format!("name = \"{package}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&entry), "{package} is not {version} any more");
    }
    let name = rustcrypto().answer("name");
    let start =
        format!("RustCrypto aes {AES_VERSION} + serpent {SERPENT_VERSION} + ctr {CTR_VERSION} + xts-mode ");
    assert!(name.starts_with(&start), "{name}");
    if name.contains("software") {
        assert!(!aes::hardware_accelerated());
    }
    let Some(mut session) = openssl() else { return };
    assert!(session.answer("name").starts_with("OpenSSL "));
}

#[test]
fn a_peer_that_is_missing_says_why_each_time() {
    let session = Session::new(Err("no libcrypto:\ntried".into()));
    let line = format!("run aes-128 ecb encrypt {KEY} - -");
    let text = format!("name\n{line}\ntime aes-128 ecb encrypt 16 1\n");
    let answers = replies(session, text.as_bytes());
    assert_eq!(answers, ["error no libcrypto: tried"; 3]);
}

#[test]
fn the_yardstick_gives_what_rustcrypto_gives() {
    let Ok(peer) = HandWritten::load() else {
        return eprintln!("skipped: hand-written (no VAES on 512 bits)");
    };
    let data = "00f1".repeat(512);
    let iv = "000102030405060708090a0bfffffffd";
    let lines =
        format!("run aes-128 ecb encrypt {KEY} - {data}\nrun aes-128 ctr encrypt {KEY} {iv} {data}\n");
    let want = replies(rustcrypto(), lines.as_bytes());
    assert_eq!(want.len(), 2);
    assert_eq!(replies(Session::new(Ok(Box::new(peer))), lines.as_bytes()), want);
    let other = format!("run aes-128 ecb encrypt {KEY} - 00\nrun aes-256 ecb encrypt {KEY}{KEY} - {data}\n");
    let Ok(peer) = HandWritten::load() else { return };
    assert!(
        replies(Session::new(Ok(Box::new(peer))), other.as_bytes())
            .iter()
            .all(|line| line.starts_with("error"))
    );
}

#[test]
fn only_known_peers_are_named() {
    assert!(peer_named("rustcrypto").is_some());
    assert!(peer_named("openssl").is_some());
    assert!(peer_named("libgcrypt").is_some());
    assert!(peer_named("botan").is_some());
    assert!(peer_named("ipsec-mb").is_some());
    assert!(peer_named("hand-written").is_some());
    assert!(peer_named("OpenSSL").is_none());
}

/// RustCrypto, but counter mode has one bit wrong.
struct Wrong;

/// Flips a bit of what another operation gives.
struct Flip(Box<dyn Operation>);

impl Peer for Wrong {
    fn name(&self) -> String {
        "wrong".into()
    }

    fn operation(&self, setup: &Setup) -> Result<Box<dyn Operation>, String> {
        let right = RustCrypto.operation(setup)?;
        match setup.job().mode {
            Mode::Ecb | Mode::Rekey => Ok(right),
            _ => Ok(Box::new(Flip(right))),
        }
    }
}

impl Operation for Flip {
    fn apply(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        self.0.apply(buffer)?;
        if let Some(last) = buffer.last_mut() {
            *last ^= 1;
        }
        Ok(())
    }
}

#[test]
fn a_wrong_answer_is_never_timed() {
    let mut session = Session::new(Ok(Box::new(Wrong)));
    for _ in 0..2 {
        let answer = session.answer("time aes-192 ctr decrypt 4096 1");
        assert!(answer.starts_with("error wrong answer"), "{answer}");
    }
    assert!(is_nanoseconds(&session.answer("time aes-192 ecb decrypt 4096 1")));
}
