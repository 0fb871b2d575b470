//! Nothing is timed before it has given published answers: of NIST SP 800-38A, F.1 (ECB) and F.5 (CTR), and of
//! NESSIE's "Test vectors for Serpent", set 1, vector 0.
//!
//! There is one block for each of Serpent's key sizes: the key's first bit and no other is set, the plaintext
//! is zero, and so it is the first counter of a key stream as well.
//! The first counter of F.5 carries out of its last byte and no further, so the same answers hold
//! for a counter of 64 bits.
//! Of SM4, Camellia, ARIA and Kuznyechik there is the block of their standards; as an initial counter it makes the same block of zeros.
//! Of CBC and CMAC there are SP 800-38A, F.2, and SP 800-38B, D.1, both with the same keys and plaintext; of GCM two cases of its
//! authors. OCB and CCM have no published answers with these keys, nonces of 12 bytes and tags of 16: those here are what
//! OpenSSL 3.5 gives, and libgcrypt too, for GCM's key, nonce and message.
//! Of XTS there are two blocks: IEEE Std 1619-2007, vectors 2 (AES-128) and 10 (AES-256, of which they are the first); with the same keys,
//! for Serpent what libgcrypt 1.10.1 and RustCrypto give, for SM4, Camellia and ARIA what libgcrypt 1.12.4 and crossgrain give.

use crate::hex;
use crate::peer::{Cipher, Direction, Job, Mode, Operation, Setup};

const PLAIN: &str = concat!(
    "6bc1bee22e409f96e93d7e117393172a",
    "ae2d8a571e03ac9c9eb76fac45af8e51",
    "30c81c46a35ce411e5fbc1191a0a52ef",
    "f69f2445df4f9b17ad2b417be66c3710",
);

const ZEROS: &str = "00000000000000000000000000000000";

/// The first block that CBC adds.
const CBC_IV: &str = "000102030405060708090a0b0c0d0e0f";

const COUNTER: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

/// [`PLAIN`] with room for a tag.
const CMAC_PLAIN: &str = concat!(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
    "00000000000000000000000000000000",
);

/// Test cases 3 and 15 of McGrew and Viega, "The Galois/Counter Mode of Operation", with room for the tag.
const GCM_KEY: &str = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
const GCM_NONCE: &str = "cafebabefacedbaddecaf888";
const GCM_PLAIN: &str = concat!(
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72",
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
    "00000000000000000000000000000000",
);

/// Why there is no example of some sectors.
const NO_XTS: &str = "XTS is not defined for keys of 192 bits";
const NO_EXAMPLE: &str = "there is no published example of this";

/// The key and initial counter of the published example for a job.
pub(crate) fn setup(job: Job) -> Result<Setup, String> {
    let Given { key, iv, .. } = given(job)?;
    Setup::new(job, hex::decode(key)?, hex::decode(iv)?)
}

/// Runs an operation made from [`setup`] over the published data of the same job.
pub(crate) fn check(operation: &mut dyn Operation, job: Job) -> Result<(), String> {
    let (Given { plain, .. }, crypt) = (given(job)?, crypt(job)?);
    let (input, expected) = match job.direction {
        Direction::Encrypt => (plain, crypt),
        Direction::Decrypt => (crypt, plain),
    };
    let (message, expected) = (hex::decode(input)?, hex::decode(expected)?);
    let mut buffer = message.clone();
    operation.apply(&mut buffer)?;
    let mut messages = message.repeat(COPIES);
    if job.stride().is_some() {
        operation.apply_many(&mut messages, message.len())?;
    } else {
        messages = expected.repeat(COPIES);
    }
    if buffer == expected && messages == expected.repeat(COPIES) {
        return Ok(());
    }
    Err(format!("wrong answer to the published vector for {job:?}: not timed"))
}

/// Messages that are checked together: more than any peer computes side by side.
const COPIES: usize = 40;

fn is_serpent(cipher: Cipher) -> bool {
    matches!(cipher, Cipher::Serpent128 | Cipher::Serpent192 | Cipher::Serpent256)
}

fn key(cipher: Cipher) -> &'static str {
    match cipher {
        Cipher::Aes128 => "2b7e151628aed2a6abf7158809cf4f3c",
        Cipher::Aes192 => "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
        Cipher::Aes256 => "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        Cipher::Serpent128 => "80000000000000000000000000000000",
        Cipher::Serpent192 => "800000000000000000000000000000000000000000000000",
        Cipher::Serpent256 => "8000000000000000000000000000000000000000000000000000000000000000",
        standard => block_of(standard).0,
    }
}

/// Key, plaintext and ciphertext of a standard with one block (GB/T 32907-2016 A.1, RFC 3713, RFC 5794, RFC 7801).
fn block_of(cipher: Cipher) -> (&'static str, &'static str, &'static str) {
    match cipher {
        Cipher::Sm4 => (
            "0123456789abcdeffedcba9876543210",
            "0123456789abcdeffedcba9876543210",
            "681edf34d206965e86b3e94f536e4246",
        ),
        Cipher::Camellia128 => (
            "0123456789abcdeffedcba9876543210",
            "0123456789abcdeffedcba9876543210",
            "67673138549669730857065648eabe43",
        ),
        Cipher::Camellia192 => (
            "0123456789abcdeffedcba98765432100011223344556677",
            "0123456789abcdeffedcba9876543210",
            "b4993401b3e996f84ee5cee7d79b09b9",
        ),
        Cipher::Camellia256 => (
            "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff",
            "0123456789abcdeffedcba9876543210",
            "9acc237dff16d76c20ef7c919e3a7509",
        ),
        Cipher::Aria128 => (
            "000102030405060708090a0b0c0d0e0f",
            "00112233445566778899aabbccddeeff",
            "d718fbd6ab644c739da95f3be6451778",
        ),
        Cipher::Aria192 => (
            "000102030405060708090a0b0c0d0e0f1011121314151617",
            "00112233445566778899aabbccddeeff",
            "26449c1805dbe7aa25a468ce263a9e79",
        ),
        Cipher::Aria256 => (
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "00112233445566778899aabbccddeeff",
            "f92bd7c79fb72e2f2b8f80c1972d24fc",
        ),
        Cipher::Kuznyechik => (
            "8899aabbccddeeff0011223344556677fedcba98765432100123456789abcdef",
            "1122334455667700ffeeddccbbaa9988",
            "7f679d90bebc24305a468d42b9d4edcd",
        ),
        _ => ("", "", ""),
    }
}

/// Whether its example is [`block_of`].
fn has_one_block(cipher: Cipher) -> bool {
    !block_of(cipher).0.is_empty()
}

/// Whether no example is known: modes that were added later have some of AES alone, and those with a nonce not for all of its
/// keys.
fn lacks_example(mode: Mode, cipher: Cipher) -> bool {
    let is_aes = matches!(cipher, Cipher::Aes128 | Cipher::Aes192 | Cipher::Aes256);
    match mode {
        Mode::Ecb | Mode::Rekey | Mode::Ctr | Mode::Ctr64 => false,
        Mode::Xts => cipher == Cipher::Kuznyechik,
        Mode::Cbc | Mode::Cmac => !is_aes,
        Mode::Gcm | Mode::Ocb | Mode::Ccm => !is_aes || cipher == Cipher::Aes192,
    }
}

/// What an example is made of but the answer.
struct Given {
    key: &'static str,
    iv: &'static str,
    plain: &'static str,
}

fn given(job: Job) -> Result<Given, String> {
    let plain = if is_serpent(job.cipher) { ZEROS } else { PLAIN };
    Ok(match (job.mode, job.cipher) {
        (mode, cipher) if lacks_example(mode, cipher) => return Err(NO_EXAMPLE.into()),
        (Mode::Ecb | Mode::Rekey, cipher) if has_one_block(cipher) => {
            Given { key: key(cipher), iv: "-", plain: block_of(cipher).1 }
        }
        (Mode::Ctr | Mode::Ctr64, cipher) if has_one_block(cipher) => {
            Given { key: key(cipher), iv: block_of(cipher).1, plain: ZEROS }
        }
        (Mode::Ecb | Mode::Rekey, cipher) => Given { key: key(cipher), iv: "-", plain },
        (Mode::Ctr | Mode::Ctr64, cipher) if is_serpent(cipher) => {
            Given { key: key(cipher), iv: ZEROS, plain }
        }
        (Mode::Ctr | Mode::Ctr64, cipher) => Given { key: key(cipher), iv: COUNTER, plain },
        (Mode::Xts, cipher) if cipher.key_bytes() == 16 => Given {
            key: "1111111111111111111111111111111122222222222222222222222222222222",
            iv: "33333333330000000000000000000000",
            plain: "4444444444444444444444444444444444444444444444444444444444444444",
        },
        (Mode::Xts, cipher) if cipher.key_bytes() == 32 => Given {
            key: concat!(
                "2718281828459045235360287471352662497757247093699959574966967627",
                "3141592653589793238462643383279502884197169399375105820974944592",
            ),
            iv: "ff000000000000000000000000000000",
            plain: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        },
        (Mode::Xts, _) => return Err(NO_XTS.into()),
        (Mode::Cbc, cipher) => Given { key: key(cipher), iv: CBC_IV, plain },
        (Mode::Cmac, cipher) => Given { key: key(cipher), iv: "-", plain: CMAC_PLAIN },
        (Mode::Gcm | Mode::Ocb | Mode::Ccm, Cipher::Aes128) => {
            Given { key: GCM_KEY.split_at(32).0, iv: GCM_NONCE, plain: GCM_PLAIN }
        }
        (Mode::Gcm | Mode::Ocb | Mode::Ccm, _) => Given { key: GCM_KEY, iv: GCM_NONCE, plain: GCM_PLAIN },
    })
}

fn crypt(job: Job) -> Result<&'static str, String> {
    Ok(match (job.mode, job.cipher) {
        (mode, cipher) if lacks_example(mode, cipher) => return Err(NO_EXAMPLE.into()),
        (Mode::Xts, cipher) => sector(cipher)?,
        (_, cipher) if has_one_block(cipher) => block_of(cipher).2,
        (Mode::Cbc | Mode::Cmac | Mode::Ocb | Mode::Ccm, cipher) => chained(job.mode, cipher),
        (Mode::Gcm, Cipher::Aes128) => concat!(
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e",
            "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985",
            "4d5c2af327cd64a62cf35abd2ba6fab4",
        ),
        (Mode::Gcm, Cipher::Aes256) => concat!(
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa",
            "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
            "b094dac5d93471bdec1a502270e3cc6c",
        ),
        (Mode::Gcm, _) => return Err(NO_EXAMPLE.into()),
        (_, Cipher::Serpent128) => "264e5481eff42a4606abda06c0bfda3d",
        (_, Cipher::Serpent192) => "9e274ead9b737bb21efcfca548602689",
        (_, Cipher::Serpent256) => "a223aa1288463c0e2be38ebd825616c0",
        (Mode::Ecb | Mode::Rekey, Cipher::Aes128) => concat!(
            "3ad77bb40d7a3660a89ecaf32466ef97",
            "f5d3d58503b9699de785895a96fdbaaf",
            "43b1cd7f598ece23881b00e3ed030688",
            "7b0c785e27e8ad3f8223207104725dd4",
        ),
        (Mode::Ecb | Mode::Rekey, Cipher::Aes192) => concat!(
            "bd334f1d6e45f25ff712a214571fa5cc",
            "974104846d0ad3ad7734ecb3ecee4eef",
            "ef7afd2270e2e60adce0ba2face6444e",
            "9a4b41ba738d6c72fb16691603c18e0e",
        ),
        (Mode::Ecb | Mode::Rekey, Cipher::Aes256) => concat!(
            "f3eed1bdb5d2a03c064b5a7e3db181f8",
            "591ccb10d410ed26dc5ba74a31362870",
            "b6ed21b99ca6f4f9f153e7b1beafed1d",
            "23304b7a39f9f3ff067d8d8f9e24ecc7",
        ),
        (Mode::Ctr | Mode::Ctr64, Cipher::Aes128) => concat!(
            "874d6191b620e3261bef6864990db6ce",
            "9806f66b7970fdff8617187bb9fffdff",
            "5ae4df3edbd5d35e5b4f09020db03eab",
            "1e031dda2fbe03d1792170a0f3009cee",
        ),
        (Mode::Ctr | Mode::Ctr64, Cipher::Aes192) => concat!(
            "1abc932417521ca24f2b0459fe7e6e0b",
            "090339ec0aa6faefd5ccc2c6f4ce8e94",
            "1e36b26bd1ebc670d1bd1d665620abf7",
            "4f78a7f6d29809585a97daec58c6b050",
        ),
        (Mode::Ctr | Mode::Ctr64, Cipher::Aes256) => concat!(
            "601ec313775789a5b7a7f504bbf3d228",
            "f443e3ca4d62b59aca84e990cacaf5c5",
            "2b0930daa23de94ce87017ba2d84988d",
            "dfc9c58db67aada613c2dd08457941a6",
        ),
        _ => return Err(NO_EXAMPLE.into()),
    })
}

/// The answers of XTS.
fn sector(cipher: Cipher) -> Result<&'static str, String> {
    Ok(match cipher {
        Cipher::Aes128 => "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0",
        Cipher::Aes256 => "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b",
        Cipher::Serpent128 => "1a0a095fcd070798418612afb3d76813ed81cd0687431abb133dd61e2be177be",
        Cipher::Serpent256 => "2bc9b46b1094a932aab020c6443d741f7501a7f6f5f7621b801b82cb0159917f",
        Cipher::Sm4 => "a74d726c11196a32be04e001ff29d0c7932f9f3ec29bfcb64dd17f63cbd3ea31",
        Cipher::Camellia128 => "c2b9dc441ddff2868d35420aa55e3d4fb53706ffbdd49170801fb239108944f5",
        Cipher::Camellia256 => "49cdb8bf2f7337289a7f6e5755b807884a0d8b5560edb67bf174ac96057b32ca",
        Cipher::Aria128 => "d56ad9855ee941ad9563f4a88c1103a938942a41049613cc8f59db8131b130b5",
        Cipher::Aria256 => "1dea3232198238d0b310671e3d8ff0f39b83da1ed049da7b974692f68918b1b3",
        _ => return Err(NO_XTS.into()),
    })
}

/// The answers of CBC, CMAC, OCB and CCM.
fn chained(mode: Mode, cipher: Cipher) -> &'static str {
    match (mode, cipher) {
        (Mode::Cbc, Cipher::Aes128) => concat!(
            "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2",
            "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
        ),
        (Mode::Cbc, Cipher::Aes192) => concat!(
            "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a",
            "571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd",
        ),
        (Mode::Cbc, _) => concat!(
            "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d",
            "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
        ),
        (Mode::Cmac, Cipher::Aes128) => concat!(
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
            "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
            "51f0bebf7e3b9d92fc49741779363cfe",
        ),
        (Mode::Cmac, Cipher::Aes192) => concat!(
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
            "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
            "a1d5df0eed790f794d77589659f39a11",
        ),
        (Mode::Cmac, _) => concat!(
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
            "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
            "e1992190549f6ed5696a2c056c315410",
        ),
        (Mode::Ocb, Cipher::Aes128) => concat!(
            "c7ee31d6686d0cbf47f36447aeb0b3ecd054c4f9cbc34e3729852a399353eb69",
            "c4bc5502c9177d98276c30182976a476f50fbc6a0324a28231308bfe854b84a3",
            "e8ae10e702852e60602a2e0937718e40",
        ),
        (Mode::Ocb, _) => concat!(
            "66340a3182e3bb67b9fef537596a294d812d73f64d724e95741575d3e6e0e983",
            "6f9b3212fc7316a1abe0fc00b92a8eb0c40e0cc9758ef5d4ecf8155bf485ccfe",
            "4bac187fda9b24447f9584a086d02b9e",
        ),
        (_, Cipher::Aes128) => concat!(
            "0893e94b9148801af0f73426abb00e3ca49bf09d79a20127a7eb1926fa890537",
            "87ff02d07d71813b885b85e7f96c4eedf420db126a0451ce13bd41ba018d1ba7",
            "fcec65994467a77b8b2642de912c012e",
        ),
        _ => concat!(
            "c5cccc57f32343875b5b95f98869ae19769c5e3a0dd458f949fd7701ee81615d",
            "7bcb73207c692d816ff9ace558b8b6364376462bca63ea887c3ca82e55a84c63",
            "f65231fde1f7ceb5bafa970014865614",
        ),
    }
}
