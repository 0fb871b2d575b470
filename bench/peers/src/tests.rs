//! Workers against one another, without processes.

use crossgrain::Cipher;
use crossgrain::mode::Mode;

use crate::job::{self, Job, Situation};
use crate::messages::Messages;
use crate::worker::{How, Refusal, Worker, serve};
use crate::{named, rust, rustcrypto};

const WORKERS: [&str; 9] = [
    "crossgrain",
    "rustcrypto",
    "ring",
    "hand-written",
    "libgcrypt",
    "openssl",
    "ipsec-mb",
    "nettle",
    "botan",
];

/// Workers that are here. A missing library costs its own checks alone.
fn workers() -> Vec<(&'static str, Box<dyn Worker>)> {
    let is_here = |(name, worker): &(&str, Box<dyn Worker>)| match worker.name() {
        Ok(_) => true,
        Err(refusal) => {
            eprintln!("skipped: {name} ({refusal:?})");
            false
        }
    };
    WORKERS.into_iter().filter_map(|name| Some((name, named(name)?))).filter(is_here).collect()
}

/// Everything a worker answers to the lines of a text.
fn answers(worker: &dyn Worker, text: &str) -> Vec<String> {
    let mut output = Vec::new();
    serve(worker, text.as_bytes(), &mut output).unwrap();
    String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
}

/// Workers that have a job must agree. Old libraries lack modes, and some fail.
fn agree(id: &str, workers: &[(&str, Box<dyn Worker>)]) -> usize {
    let mut first: Option<String> = None;
    let mut agreeing = 0;
    for (name, worker) in workers {
        let request = format!("check {id}");
        let answer = answers(worker.as_ref(), &format!("{request}\n{request}\n"));
        assert_eq!(answer[0], answer[1], "{id}/{name}");
        if answer[0].starts_with("none") || answer[0].starts_with("error") {
            continue;
        }
        assert_eq!(*first.get_or_insert(answer[0].clone()), answer[0], "{id}/{name}");
        agreeing += 1;
    }
    agreeing
}

#[test]
fn jobs_are_read_as_they_are_written() {
    let mut jobs = 0;
    for job in job::all() {
        assert_eq!(Job::parse(&job.to_string()), Some(job.clone()), "{job}");
        jobs += 1;
    }
    assert!(jobs > 1000, "{jobs}");
    for bad in ["", "aes-256-gcm", "aes-256-gcm/apart", "aes-256-gcm/apart/x", "aes-256-gcm/apart/16/more"] {
        assert_eq!(Job::parse(bad), None, "{bad}");
    }
    for bad in ["aes-255-gcm/apart/16", "aes-256-xex/apart/16", "aes-256-gcm/beside/16"] {
        assert_eq!(Job::parse(bad), None, "{bad}");
    }
}

#[test]
fn workers_compute_the_same() {
    let workers = workers();
    let mut agreeing = 0;
    for mode in ["gcm", "ocb", "ccm", "eax", "siv", "gcm-siv", "ctr"] {
        for situation in ["in-place", "apart", "open", "new-key", "many"] {
            for length in ["1", "64", "100", "1400", "imix"] {
                if mode != "ctr" || situation != "open" {
                    agreeing += agree(&format!("aes-256-{mode}/{situation}/{length}"), &workers);
                }
            }
        }
    }
    assert!(agreeing > 2 * 170, "{agreeing}");
}

#[test]
fn other_modes_and_ciphers_are_the_same_too() {
    let workers = workers();
    for id in [
        "aes-128-ecb/again/1048576",
        "aes-128-ctr/again/1048576",
        "aes-128-ecb/open/4096",
        "aes-128-ecb/new-key/16",
        "aes-128-xts/apart/512",
        "aes-256-xts/open/4096",
        "aes-256-cbc/open/1408",
        "serpent-256-ctr/apart/4096",
        "serpent-256-xts/apart/4096",
        "sm4-ctr/apart/4096",
        "camellia-128-ctr/apart/4096",
        "kuznyechik-ecb/apart/4096",
    ] {
        assert!(agree(id, &workers) > 1, "{id}");
    }
    for id in
        ["aes-128-cbc/many/1024", "aes-256-cmac/many/64", "aes-256-cmac/apart/1400", "aes-128-ocb/apart/13"]
    {
        agree(id, &workers);
    }
}

/// A worker that did not compare tags would be timed for less work.
#[test]
fn a_forged_message_is_refused() {
    for (name, worker) in workers() {
        for mode in [Mode::Gcm, Mode::Ocb, Mode::Ccm, Mode::Eax, Mode::Siv, Mode::GcmSiv] {
            let job = Job::parse(&format!("aes-128-{mode}/open/64")).unwrap();
            let mut messages = Messages::new(&job);
            let seals = How { repeats: 1, ..How::default() };
            if worker.run(&job, seals, &mut messages).is_err() {
                continue;
            }
            let last = messages.all().len() - 1;
            messages.all()[last].tag[3] ^= 1;
            messages.turn();
            let opened = worker.run(&job, How { opens: true, ..seals }, &mut messages);
            assert!(matches!(opened, Err(Refusal::Failed(_))), "{name} opened a forged message of {job}");
        }
    }
}

#[test]
fn a_key_setup_is_timed_without_messages() {
    for (name, worker) in workers() {
        let answer =
            answers(worker.as_ref(), "check aes-256-gcm/key-setup/0\ntime aes-256-gcm/key-setup/0 3\n");
        let is_number = answer[1].parse::<u64>().is_ok_and(|ns| ns > 0);
        assert!(is_number || answer[1].starts_with("none"), "{name}: {answer:?}");
    }
}

#[test]
fn every_line_gets_one_answer_and_bad_ones_an_error() {
    let text = "\nhello\nname now\ncheck\ncheck x\ntime aes-128-gcm/apart/16\ntime aes-128-gcm/apart/16 x\n";
    for (name, worker) in workers() {
        let answers = answers(worker.as_ref(), text);
        assert_eq!(answers.len(), 7, "{name}");
        assert!(answers.iter().all(|answer| answer.starts_with("error ")), "{name}: {answers:?}");
    }
}

#[test]
fn names_carry_the_versions_linked() {
    let lock = include_str!("../../../Cargo.lock").replace("\r\n", "\n");
    for (package, version) in [
        #[cfg(feature = "crates")]
        ("aws-lc-rs", rust::AWS_LC_VERSION),
        #[cfg(feature = "crates")]
        ("graviola", rust::GRAVIOLA_VERSION),
        ("ring", rust::RING_VERSION),
        ("aes", rustcrypto::AES_VERSION),
        ("aes-gcm", rustcrypto::GCM_VERSION),
        ("ctr", rustcrypto::CTR_VERSION),
        ("eax", rustcrypto::EAX_VERSION),
        ("serpent", rustcrypto::SERPENT_VERSION),
        ("xts-mode", rustcrypto::XTS_VERSION),
    ] {
        let entry = format!("name = \"{package}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&entry), "{package} is not {version} any more");
    }
}

/// One changed byte changes the digest.
#[test]
fn a_digest_is_of_every_byte() {
    let job = Job::parse("aes-128-gcm/apart/100").unwrap();
    assert_eq!((job.cipher, job.mode, job.situation), (Cipher::Aes128, Some(Mode::Gcm), Situation::Apart));
    let mut messages = Messages::new(&job);
    let before = messages.digest(&job);
    for at in [0, 50, 99] {
        messages.all()[1].output[at] ^= 1;
        assert_ne!(messages.digest(&job), before);
        messages.all()[1].output[at] ^= 1;
    }
    messages.all()[1].tag[15] ^= 1;
    assert_ne!(messages.digest(&job), before);
}
