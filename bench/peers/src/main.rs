//! Other people's AES and Serpent behind one line protocol, and AES written by hand as a yardstick.
//!
//! A benchmark starts this binary once as a child, keeps it alive, and takes its samples between its
//! own, so that a change in clock speed or load reaches both sides alike. It is a program of its own
//! because how a rival was compiled, and which instructions its library may use, are settled for a
//! whole process.
//!
//! ```text
//! crossgrain-peers rustcrypto|openssl|libgcrypt|ipsec-mb|botan|ring|aws-lc-rs|graviola|hand-written
//!
//! name                                                     who answers, with its version
//! run  CIPHER MODE DIRECTION KEYHEX IVHEX DATAHEX          the output in hex
//! time CIPHER MODE DIRECTION BYTES REPEATS                 nanoseconds for all repeats together
//! ```
//!
//! One request a line, one answer a line; a request that cannot be served is answered by
//! `error REASON`, and the end of input ends the program. CIPHER is `aes-128`, `aes-192`, `aes-256`,
//! `serpent-128` and so on, as `peer::Cipher` lists them. MODE is one of:
//!
//! * `ecb`, `cbc` and `ctr` (the whole block is one big-endian counter) or, for a peer that has it, `ctr64` (only the last
//!   eight bytes count);
//! * `rekey`: `ecb` with the key set up anew for every block;
//! * `xts`: sectors of 4096 bytes; KEYHEX is both keys, IVHEX the number of the first sector;
//! * `gcm`, `ocb`, `ccm`: IVHEX is a nonce of 12 bytes, and the last 16 bytes of the data are the tag, of zeros before it is made;
//! * `cmac`: the same without a nonce, and the data before the tag stays.
//!
//! Behind a mode `:N` cuts the data into many messages of N bytes, each with its tag behind it, that have the same key and
//! nonce, and `xts:N` into sectors of N bytes. DIRECTION is `encrypt` or `decrypt`. Empty hex is written `-` both ways.
//!
//! # Building each peer
//!
//! ```text
//! cargo build --release -p crossgrain-peers
//! RUSTFLAGS='--cfg aes_backend="soft"' cargo build --release -p crossgrain-peers --target-dir target/peers-software
//! ```
//!
//! The first picks its AES by what the CPU offers. The second holds only the bit-sliced software of
//! the `aes` crate; it has its own target directory because other flags rebuild every dependency.
//! aws-lc-rs and graviola are there with `--features crates`, which takes minutes to compile. The others are loaded at run time
//! and are the same in both; `OPENSSL_ia32cap` in the environment takes
//! CPU features away from OpenSSL.

#[cfg(feature = "crates")]
mod aws_lc;
mod botan;
#[cfg(feature = "crates")]
mod graviola;
mod hand_written;
mod hex;
mod ipsec_mb;
mod libgcrypt;
mod library;
mod openssl;
mod peer;
mod protocol;
mod ring;
mod rustcrypto;
mod sealing;
mod vectors;

use std::env;
use std::io;
use std::process::ExitCode;

use peer::Peer;
use protocol::Session;

fn main() -> ExitCode {
    let arguments: Vec<String> =
        env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let [name] = arguments.as_slice() else {
        return usage();
    };
    let Some(peer) = peer_named(name) else {
        return usage();
    };
    match protocol::serve(Session::new(peer), io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("crossgrain-peers: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The peer the command line asks for; the inner error is a peer that is known and not to be had here.
fn peer_named(name: &str) -> Option<Result<Box<dyn Peer>, String>> {
    match name {
        "rustcrypto" => Some(Ok(Box::new(rustcrypto::RustCrypto))),
        "openssl" => Some(openssl::OpenSsl::load().map(|peer| Box::new(peer) as _)),
        "libgcrypt" => Some(libgcrypt::Libgcrypt::load().map(|peer| Box::new(peer) as _)),
        "ipsec-mb" => Some(ipsec_mb::IpsecMb::load().map(|peer| Box::new(peer) as _)),
        "botan" => Some(botan::Botan::load().map(|peer| Box::new(peer) as _)),
        "ring" => Some(Ok(Box::new(ring::Ring))),
        #[cfg(feature = "crates")]
        "aws-lc-rs" => Some(Ok(Box::new(aws_lc::AwsLc))),
        #[cfg(feature = "crates")]
        "graviola" => Some(Ok(Box::new(graviola::Graviola))),
        #[cfg(not(feature = "crates"))]
        "aws-lc-rs" | "graviola" => Some(Err(format!("{name} needs the feature `crates`"))),
        "hand-written" => Some(hand_written::HandWritten::load().map(|peer| Box::new(peer) as _)),
        _ => None,
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: crossgrain-peers rustcrypto|openssl|libgcrypt|ipsec-mb|botan|ring|aws-lc-rs|graviola|hand-written"
    );
    ExitCode::from(2)
}

#[cfg(test)]
mod tests;
