//! Programs give the same results with other launch configurations. Invalid configurations are refused.

use crossgrain::engine::device::Kernel;
use crossgrain::{Cipher, Key};
use crossgrain_gpu::parallel::{
    Bits, DeviceVec, Launch, Loop, Place, Policy, Sum, copy_if, count_if, find, for_each_bundle, gather,
    generate, inclusive_scan, reduce, sort_by_key, transform, transform_reduce, zip,
};
use crossgrain_gpu::{Cipher as OnDevice, Error, Gpu, choose};

use super::turns::{Power, Tenth, power};
use super::weights::{HasWeight, Parity};
use super::{CHILD, HasBits, Last, Mixed, WideSum, numbers, spy};

/// The minimum number of threads, so that each takes many elements; large groups; and more threads than the
/// default.
const LAUNCHES: [Launch; 4] = [
    Launch { group_threads: 64, run_threads: 64 },
    Launch { group_threads: 128, run_threads: 384 },
    Launch { group_threads: 256, run_threads: 256 },
    Launch { group_threads: 192, run_threads: 192 << 11 },
];

/// The available devices. Other tests check that required ones exist.
fn gpus() -> Vec<Gpu> {
    if std::env::var_os(CHILD).is_some() {
        return Vec::new();
    }
    ["cuda:0", "wgpu:0"].into_iter().filter_map(|id| choose(id).ok()).collect()
}

/// The results of all algorithms at a place, as text.
fn answers(place: &Place) -> String {
    let len = 20_011;
    let three: DeviceVec<3> = DeviceVec::from_slice(place, &numbers(len)).unwrap();
    let two: DeviceVec<2> = DeviceVec::from_slice(place, &numbers(len)).unwrap();
    let mut one: DeviceVec<1> = DeviceVec::from_slice(place, &numbers(len)).unwrap();
    let range = place.indices(5..5 + len).unwrap();
    let told = [
        format!("{:?}", transform(&Mixed(7), &three).unwrap().to_vec().unwrap()),
        format!("{:?}", transform(&Bits(Parity), &one).unwrap().to_vec().unwrap()),
        format!("{:?}", reduce(&WideSum, &two).unwrap()),
        format!("{:?}", transform_reduce(&Bits(Parity), &Sum, range).unwrap()),
        format!("{:?}", transform_reduce(&Loop(Tenth(9)), &Sum::of::<f64>(), range).unwrap()),
        format!("{:?}", find(&Bits(HasWeight(14)), range).unwrap()),
        format!("{:?}", count_if(&HasBits(1 << 9), &two).unwrap()),
        format!("{:?}", copy_if(&HasBits(1 << 9), &two).unwrap().to_vec().unwrap()),
        format!("{:?}", inclusive_scan(&WideSum, &two).unwrap().to_vec().unwrap()),
        format!("{:?}", sort_by_key(&Last, two.view(..700).unwrap()).unwrap().to_vec().unwrap()),
        format!("{:?}", gather(&three, place.indices(100..900).unwrap()).unwrap().to_vec().unwrap()),
        format!("{:?}", zip::<2, 1, 3>(&two, &one).unwrap().to_vec().unwrap()),
    ];
    for_each_bundle(&Bits(Parity), &mut one).unwrap();
    told.join("\n") + &format!("{:?}", one.to_vec().unwrap())
}

#[test]
fn algorithms_give_the_same_by_whatever_threads() {
    let gpus = gpus();
    let wanted = answers(&Policy::Par.open().unwrap());
    for (gpu, launch) in gpus.iter().flat_map(|gpu| [LAUNCHES[0], LAUNCHES[3]].map(|launch| (gpu, launch))) {
        let place = Place::on(gpu.started(launch).unwrap());
        assert!(answers(&place) == wanted, "{launch:?} at {place:?}");
    }
}

/// With a hundred elements per thread and a thousand rounds each, the turns exceed the limit of Vulkan in
/// software.
#[test]
fn threads_with_many_elements_make_all_rounds_of_each() {
    for (gpu, launch) in gpus().iter().flat_map(|gpu| LAUNCHES.map(|launch| (gpu, launch))) {
        let place = Place::on(gpu.started(launch).unwrap());
        for (rounds, len) in [(1000, 6411), (40_000, 200)] {
            let got = generate(&Loop(Power(rounds)), &place, len).unwrap().to_vec().unwrap();
            let wanted: Vec<_> = (0..len as u32).map(|at| power(rounds, at)).collect();
            assert!(got == wanted, "{rounds} rounds, {launch:?} at {place:?}");
            let add = |a: [u32; 2], b: &[u32; 2]| [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])];
            let sum = transform_reduce(&Loop(Power(rounds)), &Sum, place.indices(0..len).unwrap());
            assert_eq!(sum.unwrap(), wanted.iter().fold([0; 2], add), "{rounds} rounds, {launch:?}");
        }
    }
}

#[test]
fn ciphers_give_the_same_by_whatever_groups() {
    let key = Key::new(Cipher::Serpent128, &[0x5c; 16]).unwrap();
    let kernel = Kernel::find("serpent-ctr").unwrap();
    for gpu in gpus() {
        let enciphered = |threads| {
            let mut data = vec![0x3a; 70_003];
            OnDevice::new(&gpu, kernel, threads, &key)?.apply(u128::MAX - 9, &mut data)?;
            Ok::<_, Error>(data)
        };
        let wanted = enciphered(kernel.group_threads(gpu.language())).unwrap();
        for threads in [64, 128, 192, 256] {
            assert!(enciphered(threads).unwrap() == wanted, "{threads} on {gpu:?}");
        }
        for threads in [0, 32, 100, 1 << 20] {
            assert_eq!(enciphered(threads), Err(Error::Group { threads }), "{gpu:?}");
        }
    }
}

#[test]
fn what_no_device_can_start_is_refused() {
    let [gpu, _] = spy::deaf();
    for (group_threads, run_threads, threads) in [
        (0, 0, 0),
        (32, 1 << 17, 32),
        (96, 1 << 17, 96),
        (2048, 1 << 17, 2048),
        (64, 0, 0),
        (64, 100, 100),
        (384, 1 << 17, 1 << 17),
        (64, 1 << 21, 1 << 21),
        (64, 1 << 31, 1 << 31),
    ] {
        let refused = gpu.started(Launch { group_threads, run_threads }).map(drop).unwrap_err();
        assert_eq!(refused, Error::Group { threads });
        assert!(refused.to_string().starts_with(&format!("{threads} threads")), "{refused}");
    }
    assert!(gpu.started(Launch::default()).is_ok());
}

/// Order-dependent sums always use the same number of threads.
#[test]
fn programs_are_started_as_is_told_where_no_answer_depends_on_it() {
    for spy in spy::started(LAUNCHES[1]) {
        let place = Place::on(spy.gpu.clone());
        let range = place.indices(0..100_000).unwrap();
        transform_reduce(&Loop(Power(3)), &Sum, range).unwrap();
        transform_reduce(&Loop(Tenth(3)), &Sum::of::<f64>(), range).unwrap();
        let told = spy.told();
        assert_eq!(told.jobs.iter().map(|job| job[1]).collect::<Vec<_>>(), [384, 100_032]);
        let entries = ["__launch_bounds__(128)", "@workgroup_size(128)"];
        let with = told.texts.iter().filter(|text| entries.iter().any(|entry| text.contains(entry))).count();
        assert_eq!((with, told.texts.len()), (1, 2));
    }
}
