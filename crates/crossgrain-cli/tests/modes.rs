//! `crossgrain raw` in modes other than ecb and ctr. It agrees with openssl for any number of threads,
//! numbers sectors, and outputs nothing if a tag is wrong.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{IV, KEY_BITS, MIB, Place, crossgrain, fed, hex, key, openssl, openssl_with, painted};
use crossgrain::mode::{Initial, Mode};

/// Lengths around a block, a page and the program's chunk size.
const LENGTHS: [usize; 8] = [0, 1, 15, 16, 17, 4095, MIB + 7, 2 * MIB + 4097];

/// The arguments of `raw` for a mode with this cipher and key, and further ones.
fn raw<'a>(cipher: &'a str, mode: &'a str, key: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["raw", "--cipher", cipher, "--mode", mode, "--key", key][..], rest].concat()
}

/// The modes with a tag.
fn authenticated() -> impl Iterator<Item = Mode> {
    Mode::ALL.into_iter().filter(|mode| mode.is_authenticated())
}

/// A key for the mode, which consists of one or several cipher keys.
fn key_of(mode: Mode, bits: usize) -> String {
    key(bits).repeat(mode.entry().keys)
}

/// Pipes `data` through `raw`.
#[track_caller]
fn piped(data: &[u8], args: &[&str]) -> Vec<u8> {
    fed(crossgrain(args), data).printed()
}

/// Compares without printing megabytes.
#[track_caller]
fn assert_same(got: &[u8], want: &[u8], what: &str) {
    assert_eq!(got.len(), want.len(), "length: {what}");
    assert_eq!(got.iter().zip(want).position(|(got, want)| got != want), None, "first that differs: {what}");
}

#[test]
fn chained_modes_agree_with_openssl() {
    for (mode, needs_whole_blocks) in
        [("cbc", true), ("cfb", false), ("cfb8", false), ("cfb1", false), ("ofb", false)]
    {
        for (bits, len) in KEY_BITS.into_iter().flat_map(|bits| LENGTHS.map(|len| (bits, len))) {
            // OpenSSL takes 20 seconds for a MiB of CFB-1.
            let len = if mode == "cfb1" { len.min(MIB / 8 + 7) } else { len };
            let len = if needs_whole_blocks { len.next_multiple_of(16) } else { len };
            let (cipher, key, data) = (format!("aes-{bits}"), key(bits), painted(len, len as u64));
            let place = Place::with(&data);
            let Some(want) = openssl(&place, &format!("{cipher}-{mode}"), &key, Some(IV)) else { return };
            let what = format!("{cipher}-{mode}, {len} bytes");
            let args = |rest: &[&'static str]| -> Vec<String> {
                raw(&cipher, mode, &key, &[&["--iv", IV], rest].concat())
                    .into_iter()
                    .map(str::to_owned)
                    .collect()
            };
            for threads in ["1", "3"] {
                let sealed = args(&["--threads", threads]);
                let sealed: Vec<_> = sealed.iter().map(String::as_str).collect();
                assert_same(&piped(&data, &sealed), &want, &what);
                let opened = args(&["-d", "--threads", threads]);
                let opened: Vec<_> = opened.iter().map(String::as_str).collect();
                assert_same(&piped(&want, &opened), &data, &what);
            }
        }
    }
}

#[test]
fn padding_agrees_with_openssl() {
    let key = key(192);
    for (mode, iv) in [("cbc", Some(IV)), ("ecb", None)] {
        let ivs: Vec<_> = iv.iter().flat_map(|iv| ["--iv", iv]).collect();
        for len in (0..34).chain([MIB - 1, MIB, MIB + 1, 2 * MIB + 16]) {
            let (data, what) = (painted(len, len as u64), format!("{mode}, {len} bytes"));
            let place = Place::with(&data);
            let Some(want) = openssl_with(&place, &format!("aes-192-{mode}"), &key, iv, &[]) else { return };
            let padded = raw("aes-192", mode, &key, &[&ivs[..], &["--padding", "pkcs7"]].concat());
            assert_same(&piped(&data, &padded), &want, &what);
            assert_same(&piped(&want, &[&padded[..], &["-d"]].concat()), &data, &what);
            let unpadded = raw("aes-192", mode, &key, &[&ivs[..], &["--padding", "none", "-d"]].concat());
            assert_eq!(piped(&want, &unpadded).len(), len / 16 * 16 + 16, "{what}");
        }
    }
}

#[test]
fn data_that_does_not_end_in_padding() {
    let key = key(128);
    let args = raw("aes-128", "ecb", &key, &["--padding", "pkcs7", "-d", "in", "-o", "out"]);
    // Plaintexts whose last block does not end in valid padding.
    for end in [&[0; 16][..], &[17; 16], &[255; 16], &[1, 2, 2, 3], &[2, 16], &[1, 0]] {
        let plain = [&[9; 16][..], &vec![7; 16 - end.len()], end].concat();
        let place = Place::with(&piped(&plain, &raw("aes-128", "ecb", &key, &[])));
        let line = place.refuses(3, &args);
        assert!(line.contains("padding"), "{line}");
    }
    assert!(Place::with(b"").refuses(4, &args).contains("empty"));
    assert!(Place::with(&[1; 17]).refuses(4, &args).contains("17 bytes"));
}

/// The encrypted sectors of an image, each encrypted separately, equal the encrypted image.
#[test]
fn sectors_go_by_their_numbers() {
    let key = hex(&painted(64, 1));
    for sector in [16, 512, 520, 4096, 1000, MIB - 16, MIB + 16, 3 * MIB] {
        let image = painted(3 * MIB / sector * sector, 2);
        let size = sector.to_string();
        let xts = |first: usize, rest: &[&str], data: &[u8]| {
            let first = (7 + first).to_string();
            let place = ["--sector-size", &size, "--sector", &first];
            piped(data, &raw("aes-256", "xts", &key, &[&place, rest].concat()))
        };
        let sealed = xts(0, &[], &image);
        assert_same(&xts(0, &["--threads", "1"], &image), &sealed, "one thread");
        assert_same(&xts(0, &["-d", "--threads", "3"], &sealed), &image, "back");
        let count = image.len() / sector;
        for i in [0, 1, count / 2, count - 1].into_iter().filter(|&i| i < count) {
            let one = i * sector..(i + 1) * sector;
            assert_same(&xts(i, &[], &image[one.clone()]), &sealed[one], &format!("sector {i} of {sector}"));
        }
    }
}

#[test]
fn a_sector_that_is_too_short() {
    let key = hex(&painted(32, 3));
    for len in [1, 15, 512 + 15, 2 * MIB + 3] {
        let place = Place::with(&painted(len, 4));
        let line = place.refuses(4, &raw("aes-128", "xts", &key, &["in", "-o", "out"]));
        assert!(line.contains("sector"), "{line}");
    }
}

/// IEEE 1619-2007, vector 2 of XTS-AES-128; McGrew and Viega's case 4 of GCM; vector 3 of the EAX paper.
#[test]
fn published_answers() {
    let key = ["11".repeat(16), "22".repeat(16)].concat();
    let got = piped(&[0x44; 32], &raw("aes-128", "xts", &key, &["--sector", "219902325555"]));
    assert_eq!(hex(&got), "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0");
    let gcm = ["--nonce", "cafebabefacedbaddecaf888", "--aad", "feedfacedeadbeeffeedfacedeadbeefabaddad2"];
    let plain = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                 1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
    let got = piped(&unhex(plain), &raw("aes-128", "gcm", "feffe9928665731c6d6a8f9467308308", &gcm));
    let want = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
                21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091\
                5bc94fbc3221a5db94fae95ae7121a47";
    assert_eq!(hex(&got), want);
    let eax = ["--nonce", "70c3db4f0d26368400a10ed05d2bff5e", "--aad", "234a3463c1264ac6"];
    let got = piped(&unhex("1a47cb4933"), &raw("aes-128", "eax", "01f74ad64077f2e704c0f60ada3dd523", &eax));
    assert_eq!(hex(&got), "d851d5bae03a59f238a23e39199dc9266626c40f80");
}

fn unhex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..][..2], 16).unwrap()).collect()
}

#[test]
fn what_is_sealed_opens_wherever_its_tag_is() {
    for (mode, len) in authenticated().flat_map(|mode| LENGTHS.map(|len| (mode, len))) {
        let (place, key) = (Place::with(&painted(len, 5)), key_of(mode, 256));
        let Initial::Nonce { least, most, .. } = mode.entry().initial else { panic!("{mode} has no nonce") };
        let nonce = "0011223344556677".repeat(2)[..2 * 7.clamp(least, most)].to_owned();
        let tags: Vec<_> =
            mode.entry().tag_bytes.iter().filter(|bytes| [16, 12, 4].contains(*bytes)).collect();
        for bytes in tags.into_iter().map(usize::to_string) {
            let given = ["--iv", &nonce, "--aad", "abcd", "--tag-bytes", &bytes];
            let run = |rest: &[&str]| {
                place.run(&raw("aes-256", mode.name(), &key, &[&given, rest].concat())).printed();
            };
            run(&["in", "-o", "sealed", "--force"]);
            run(&["in", "-o", "data", "--tag-file", "tag", "--force"]);
            let (data, tag) = (place.read("data"), place.read("tag"));
            assert_same(&place.read("sealed"), &[&data[..], &tag].concat(), "the tag at the end");
            assert_eq!((data.len(), tag.len().to_string()), (len, bytes.clone()));
            for rest in [
                &["-d", "sealed"][..],
                &["-d", "data", "--tag-file", "tag"],
                &["-d", "data", "--tag", &hex(&tag)],
            ] {
                run(&[rest, &["-o", "back", "--force"]].concat());
                assert_same(&place.read("back"), &place.read("in"), mode.name());
            }
        }
    }
}

#[test]
fn what_is_forged_leaves_nothing_behind() {
    for mode in authenticated() {
        let (mode, key) = (mode.name(), key_of(mode, 128));
        let given = ["--nonce", "00112233445566778899aabb", "--aad", "abcd"];
        let sealed = piped(&painted(3 * MIB + 5, 6), &raw("aes-128", mode, &key, &given));
        let open = |rest: &[&'static str]| {
            raw("aes-128", mode, &key, &[&given, rest].concat())
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        for at in [0, 1, 16, MIB, sealed.len() - 17, sealed.len() - 16, sealed.len() - 1] {
            let mut forged = sealed.clone();
            forged[at] ^= 0x10;
            let place = Place::with(&forged);
            let args = open(&["-d", "in", "-o", "out"]);
            let args: Vec<_> = args.iter().map(String::as_str).collect();
            let line = place.refuses(3, &args);
            assert!(line.contains("not authentic"), "{line}");
            // An existing file stays, and a pipe receives nothing.
            place.write("out", b"of value");
            place.refuses(3, &[&args[..], &["--force"]].concat());
            let done = fed(crossgrain(&args[..args.len() - 3]), &forged);
            assert!(done.out.is_empty());
            done.refused(3);
        }
        for (what, cut) in [("a byte less", sealed.len() - 1), ("a tag and no data", 16)] {
            let args = open(&["-d", "in", "-o", "out"]);
            let args: Vec<_> = args.iter().map(String::as_str).collect();
            let line = Place::with(&sealed[..cut]).refuses(3, &args);
            assert!(line.contains("not authentic"), "{what}: {line}");
            assert!(Place::with(&sealed[..15]).refuses(4, &args).contains("cut off"));
        }
        for other in
            [["--nonce", "00112233445566778899aabc", "--aad", "abcd"], ["--nonce", given[1], "--aad", "abcf"]]
        {
            let args = raw("aes-128", mode, &key, &[&other, &["-d", "in", "-o", "out"][..]].concat());
            Place::with(&sealed).refuses(3, &args);
        }
    }
}

#[test]
fn chunks_of_any_size_make_the_same_bytes() {
    let (key, data) = (key(128), painted(3 * MIB + 48, 3));
    for mode in ["ecb", "ctr", "cbc", "cfb", "cfb8", "cfb1", "ofb"] {
        let initial: &[&str] = if mode == "ecb" { &[] } else { &["--iv", IV] };
        let run =
            |rest: &[&str], data: &[u8]| piped(data, &raw("aes-128", mode, &key, &[initial, rest].concat()));
        let sealed = run(&[], &data);
        for size in ["4K", "5000", "1MB", "256M"] {
            assert_same(&run(&["--chunk-size", size], &data), &sealed, &format!("{mode} by {size}"));
            assert_same(
                &run(&["--chunk-size", size, "-d"], &sealed),
                &data,
                &format!("{mode} by {size}, back"),
            );
        }
    }
}

/// RFC 5297, appendix A.1 and A.2, with the tag after the ciphertext. SIV with no string, an empty one and
/// two.
#[test]
fn siv_takes_a_list_of_strings_and_needs_no_nonce() {
    let key = "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
    let aad = ["--aad", "101112131415161718191a1b1c1d1e1f2021222324252627"];
    let plain = unhex("112233445566778899aabbccddee");
    let sealed = piped(&plain, &raw("aes-128", "siv", key, &aad));
    assert_eq!(hex(&sealed), "40c02b9690c4dc04daef7f6afe5c85632d07c6e8f37f950acd320a2ecc93");
    let key = "7f7e7d7c7b7a79787776757473727170404142434445464748494a4b4c4d4e4f";
    let aads = [
        "--nonce",
        "09f911029d74e35bd84156c5635688c0",
        "--aad",
        "00112233445566778899aabbccddeeffdeaddadadeaddadaffeeddccbbaa99887766554433221100",
        "--aad",
        "102030405060708090a0",
    ];
    let plain = b"this is some plaintext to encrypt using SIV-AES";
    let sealed = piped(plain, &raw("aes-128", "siv", key, &aads));
    let want = "cb900f2fddbe404326601965c889bf17dba77ceb094fa663b7a3f748ba8af829\
                ea64ad544a272e9c485b62a3fd5c0d7bdb6e3b432667eb06f4d14bff2fbd0f";
    assert_eq!(hex(&sealed), want);
    assert_eq!(piped(&sealed, &raw("aes-128", "siv", key, &[&aads[..], &["-d"]].concat())), plain);

    let lists: [&[&str]; 4] =
        [&[], &["--aad", ""], &["--aad", "", "--aad", ""], &["--aad", "", "--iv", "00"]];
    for (i, list) in lists.iter().enumerate() {
        let sealed = piped(plain, &raw("aes-128", "siv", key, list));
        let no_nonce = [list, &["--iv", ""][..]].concat();
        if i < 3 {
            assert_eq!(
                piped(plain, &raw("aes-128", "siv", key, &no_nonce)),
                sealed,
                "an empty nonce is none"
            );
        }
        for (j, other) in lists.iter().enumerate() {
            let args = raw("aes-128", "siv", key, &[other, &["-d", "in", "-o", "out"][..]].concat());
            let place = Place::with(&sealed);
            if i == j {
                place.run(&args).printed();
                assert_eq!(place.read("out"), plain);
                continue;
            }
            let line = place.refuses(3, &args);
            assert_eq!(line.contains("needs --aad \"\""), j == 0, "{line}");
        }
    }
    let line =
        Place::with(plain).refuses(2, &raw("aes-128", "siv", key, &["--aad"; 254].map(|_| "--aad=00")));
    assert!(line.contains("126 times"), "{line}");
}

#[test]
fn options_that_a_mode_has_no_use_for() {
    let (key, long) = (key(128), hex(&painted(32, 7)));
    let cases: [(&str, &[&str], &str); 22] = [
        ("gcm", &["--iv", IV, "--aad", "00", "--aad", "01"], "--aad once"),
        ("ecb", &["--iv", IV], "--iv"),
        ("xts", &["--iv", IV], "--iv"),
        ("ctr", &["--iv", IV, "--padding", "pkcs7"], "--padding"),
        ("ctr", &["--iv", IV, "--aad", "00"], "--aad"),
        ("cbc", &["--iv", IV, "--sector", "1"], "--sector"),
        ("cbc", &["--iv", IV, "--sector-size", "512"], "--sector-size"),
        ("ofb", &["--iv", IV, "--tag", "00"], "--tag"),
        ("gcm", &["--iv", IV, "--chunk-size", "4K"], "--chunk-size"),
        ("ctr", &["--iv", IV, "--chunk-size", "1K"], "4K to 256M"),
        ("cfb", &[], "--iv"),
        ("gcm", &[], "--iv"),
        ("gcm", &["--iv", ""], "nonce"),
        ("gcm", &["--iv", IV, "--tag", &IV[..32]], "-d"),
        ("eax", &["--iv", IV, "--tag-bytes", "3"], "3 bytes"),
        ("eax", &["--iv", IV, "-d", "--tag", "0011"], "2 bytes"),
        ("xts", &["--sector-size", "15"], "15 bytes"),
        ("ocb", &["--iv", IV], "7 to 15 bytes"),
        ("ccm", &["--iv", &IV[..12]], "7 to 13 bytes"),
        ("gcm-siv", &["--iv", IV], "has 12 bytes"),
        ("gcm-siv", &[], "nonce of 12 bytes"),
        ("ccm", &["--iv", &IV[..14], "--tag-bytes", "5"], "5 bytes"),
    ];
    for (mode, options, words) in cases {
        let key = if mode == "xts" { &long } else { &key };
        let args = raw("aes-128", mode, key, &[options, &["in", "-o", "out"]].concat());
        let line = Place::with(&painted(64, 8)).refuses(2, &args);
        assert!(line.contains(words), "{mode} {options:?}: {line}");
    }
}

#[test]
fn ciphers_that_gcm_siv_is_not_defined_for() {
    for cipher in ["aes-192", "serpent-256"] {
        let key = key(if cipher == "aes-192" { 192 } else { 256 });
        let args = raw(cipher, "gcm-siv", &key, &["--iv", &IV[..24], "in", "-o", "out"]);
        let line = Place::with(&[1; 40]).refuses(2, &args);
        assert!(line.contains(cipher) && line.contains("aes-128, aes-256"), "{line}");
    }
}

#[test]
fn a_key_of_xts_is_two_different_keys() {
    let place = Place::with(&painted(64, 9));
    let key = key(128);
    let line = place.refuses(2, &raw("aes-128", "xts", &key, &["in", "-o", "out"]));
    assert!(line.contains("32 bytes"), "{line}");
    let twice = key.repeat(2);
    let line = place.refuses(2, &raw("aes-128", "xts", &twice, &["in", "-o", "out"]));
    assert!(line.contains("halves") && !line.contains(&key), "{line}");
    place.write("key", &painted(31, 10));
    let args = ["raw", "--cipher", "aes-128", "--mode", "xts", "--key-file", "key", "in", "-o", "out"];
    let line = place.refuses(2, &args);
    assert!(line.contains("32 bytes"), "{line}");
    place.write("key", &painted(32, 10));
    place.run(&args).printed();
}
