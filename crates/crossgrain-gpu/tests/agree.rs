//! Every program on every available device gives the reference's result, for whole spans, odd counts and
//! empty data.
//!
//! Without a device, its tests print that they are skipped. They fail instead if CROSSGRAIN_REQUIRE names
//! `wgpu` or `cuda`.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

#[path = "../../crossgrain/tests/judge/mod.rs"]
mod judge;
mod stand_in;

use std::time::Instant;

use crossgrain::engine::cipher::Entry;
use crossgrain::engine::device::{ALL, Kernel, Task};
use crossgrain::{Cipher as CipherName, Key};
use crossgrain_gpu::{Cipher, Error, Gpu, choose};
use judge::{bytes, expected};

const BLOCKS: [usize; 7] = [0, 1, 31, 32, 1024, 1057, 4097];
const COUNTERS: [u128; 3] = [0, 0x0123_4567_89ab_cdef_fedc_ba98_ffff_fe80, u128::MAX - 40];

/// Programs that Vulkan in software compiles for up to 15 seconds each. The same circuits are compared with
/// the reference as CUDA C in any case, and the WGSL is validated.
#[cfg(feature = "wgpu")]
const LONG_IN_SOFTWARE: [&str; 4] =
    ["aria-ctr", "camellia-ctr", "serpent-decrypt-bitsliced", "serpent-encrypt-bitsliced"];

fn key(cipher: CipherName) -> Key {
    Key::new(cipher, &bytes(cipher.key_bytes())).unwrap()
}

fn agrees(gpu: &Gpu, leaves_out: &[&str]) {
    println!("on {:?}", gpu.info());
    let keyed =
        |kernel: Kernel, key: &Key| Cipher::new(gpu, kernel, kernel.group_threads(gpu.language()), key);
    // A driver needs seconds per program. For ciphers with a description, one task suffices: AES covers the
    // other parts of their texts, and the core's tests compare all of them with the reference.
    let tried = |kernel: &Kernel| {
        (kernel.task == Task::Count || Entry::of(kernel.family).by_hand)
            && !leaves_out.contains(&kernel.name())
    };
    for kernel in ALL.iter().copied().filter(tried) {
        if !gpu.info().takes(kernel, gpu.language()) {
            let refused = keyed(kernel, &key(CipherName::Aes128)).unwrap_err();
            println!("{}: {refused}", kernel.name());
            continue;
        }
        let start = Instant::now();
        // The longest key comes first, because nothing may remain of the previous key.
        let ciphers = CipherName::ALL.into_iter().rev().filter(|cipher| cipher.family() == kernel.family);
        let keys: Vec<_> = ciphers.map(key).collect();
        let mut on_device = keyed(kernel, &keys[0]).unwrap();
        for (number, key) in keys.iter().enumerate() {
            on_device.set_key(key).unwrap();
            // The program is the same for all key sizes, so one length suffices for the others.
            let lengths = if number == 0 { &BLOCKS[..] } else { &BLOCKS[5..6] };
            for (&blocks, counter) in lengths.iter().zip(COUNTERS.into_iter().cycle()) {
                let tails: &[usize] = if kernel.task.counts() { &[0, 1, 15] } else { &[0] };
                for tail in tails {
                    let data = bytes(16 * blocks + tail);
                    let mut got = data.clone();
                    on_device.apply(counter, &mut got).unwrap();
                    let name = kernel.name();
                    assert!(
                        got == expected(kernel, key, counter, &data),
                        "{name}, {}, {blocks} blocks",
                        key.cipher()
                    );
                }
            }
        }
        println!("{}: {:?}", kernel.name(), start.elapsed());
    }
    let (kernel, other) = (ALL[0], key(CipherName::Serpent128));
    assert_eq!(keyed(kernel, &other).unwrap_err(), Error::Key);
    let mut odd = keyed(kernel, &key(CipherName::Aes128)).unwrap();
    assert_eq!(odd.set_key(&other), Err(Error::Key));
    assert_eq!(odd.apply(0, &mut [0; 17]), Err(Error::Length { len_bytes: 17 }));
    assert!(gpu.device().allocate(1 << 50).is_err(), "more memory than there is");
    assert!(gpu.device().allocate(1 << 12).is_ok(), "and the device goes on");
}

/// Prints in one line why a device is missing. Fails if the device is required.
fn skip(kind: &str, error: &Error) {
    let told = error.to_string();
    assert!(!told.is_empty() && !told.contains('\n'), "{told:?}");
    let required = std::env::var("CROSSGRAIN_REQUIRE").unwrap_or_default();
    assert!(required.split(',').all(|required| required != kind), "{kind} is required: {told}");
    eprintln!("skipped: {kind}: {told}");
}

#[cfg(feature = "wgpu")]
#[test]
fn wgpu_agrees_with_the_reference() {
    assert!(LONG_IN_SOFTWARE.iter().all(|long| ALL.iter().any(|kernel| kernel.name() == *long)));
    wgpu_agrees(&LONG_IN_SOFTWARE);
}

#[cfg(feature = "wgpu")]
#[test]
#[ignore = "takes a minute"]
fn wgpu_agrees_with_the_reference_in_every_program() {
    wgpu_agrees(&[]);
}

#[cfg(feature = "wgpu")]
fn wgpu_agrees(left_out_in_software: &[&str]) {
    use crossgrain_gpu::wgpu::{WgpuDevice, devices};
    let found = match devices() {
        Ok(found) => found,
        Err(error) => return skip("wgpu", &error),
    };
    for info in &found {
        let left_out = if info.is_software { left_out_in_software } else { &[] };
        agrees(&choose(&info.id).unwrap(), left_out);
    }
    let error = WgpuDevice::open(found.len()).unwrap_err().to_string();
    assert!(error.contains("there is no device wgpu:"), "{error}");
}

/// A row of groups is limited, for wgpu usually to 65,535. A larger run has several rows.
#[cfg(feature = "wgpu")]
#[test]
fn a_run_may_have_more_groups_than_a_row_holds() {
    let infos = match crossgrain_gpu::wgpu::devices() {
        Ok(infos) => infos,
        Err(error) => return skip("wgpu", &error),
    };
    let kernel = *ALL.iter().find(|kernel| kernel.name() == "serpent-ctr").unwrap();
    for info in infos {
        let gpu = choose(&info.id).unwrap();
        let (threads, key) = (kernel.group_threads(gpu.language()), key(CipherName::Serpent128));
        // The last row has some groups more than needed.
        let blocks = 65_535 * threads as usize + 1;
        assert!(blocks <= info.max_blocks && kernel.threads(blocks as u32) as usize >= blocks, "{info:?}");
        let mut data = vec![0; 16 * blocks];
        Cipher::new(&gpu, kernel, threads, &key).unwrap().apply_at_once(7, &mut data).unwrap();
        for first in [0, blocks / 2, blocks - 1] {
            let want = expected(kernel, &key, 7 + first as u128, &[0; 16]);
            assert_eq!(data[16 * first..][..16], want, "block {first} on {}", info.id);
        }
    }
}

#[cfg(feature = "cuda")]
#[test]
fn cuda_agrees_with_the_reference() {
    use crossgrain_gpu::cuda::{CudaDevice, devices};
    match devices() {
        Ok(found) => found.iter().for_each(|info| agrees(&choose(&info.id).unwrap(), &[])),
        Err(error) => {
            assert_eq!(CudaDevice::open(0).unwrap_err(), error);
            skip("cuda", &error);
        }
    }
}

#[cfg(feature = "cuda")]
#[test]
fn cuda_agrees_with_the_reference_by_a_driver_that_stands_in() {
    stand_in::again(&["--exact", "cuda_agrees_with_the_reference"], None);
}

/// As on a machine without a driver.
#[cfg(all(feature = "wgpu", target_os = "linux"))]
#[test]
fn without_a_driver_there_is_a_line_and_no_panic() {
    let mut test = std::process::Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "wgpu_agrees_with_the_reference", "--nocapture"]);
    let test = test.env("VK_DRIVER_FILES", "/nowhere").env("VK_ICD_FILENAMES", "/nowhere");
    let done = test.env_remove("CROSSGRAIN_REQUIRE").output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && told.contains("skipped: wgpu: no Vulkan"), "{told}");
}
