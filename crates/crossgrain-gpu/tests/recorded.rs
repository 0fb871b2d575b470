//! Recorded kernels give the same at every place, and invalid ones are refused. The Python package's tests
//! compare each step with NumPy.
//!
//! Without a device, its tests print that they are skipped. They fail instead if CROSSGRAIN_REQUIRE names
//! `wgpu` or `cuda`.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod present;

use crossgrain_gpu::Error;
use crossgrain_gpu::parallel::{Column, Place, Policy, Recorded};

fn places() -> Vec<Place> {
    let mut places: Vec<_> = [Policy::Seq, Policy::Par].map(|policy| policy.open().unwrap()).into();
    places.extend(present::gpus().into_iter().map(Place::on));
    places
}

fn column(place: &Place, numbers: &[u32]) -> Column {
    let bytes: Vec<_> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    Column::from_bytes(place, &bytes, 4).unwrap()
}

fn numbers(column: &Column) -> Vec<u32> {
    let mut bytes = vec![0; 4 * column.len()];
    column.to_bytes(&mut bytes, 4).unwrap();
    bytes.as_chunks().0.iter().map(|number| u32::from_ne_bytes(*number)).collect()
}

/// Computes 7x ^ y, its square, and an unused value. The input x is read again late, as a result.
fn kernel() -> Recorded {
    let mut kernel = Recorded::new(&[1, 1]).unwrap();
    let seven = kernel.constant(7, 1).unwrap();
    let product = kernel.step("MulU32", &[seven, 0], 0).unwrap();
    kernel.step("NotU32", &[product], 0).unwrap();
    let mixed = kernel.step("XorU32", &[product, 1], 0).unwrap();
    let square = kernel.step("MulU32", &[mixed, mixed], 0).unwrap();
    for value in [mixed, square, 0] {
        kernel.give(value).unwrap();
    }
    kernel
}

#[test]
fn every_place_gives_what_is_recorded() {
    for place in places() {
        for len in [0, 1, 255, 256, 257, 70_001] {
            let x: Vec<_> = (0..len).map(|at: u32| at.wrapping_mul(0x9e37_79b9)).collect();
            let y: Vec<_> = x.iter().map(|x| x.rotate_left(9)).collect();
            let made = kernel().transform(&[&column(&place, &x), &column(&place, &y)]).unwrap();
            let mixed: Vec<_> = x.iter().zip(&y).map(|(x, y)| x.wrapping_mul(7) ^ y).collect();
            let squares: Vec<_> = mixed.iter().map(|x| x.wrapping_mul(*x)).collect();
            let made: Vec<_> = made.iter().map(numbers).collect();
            assert!(made == [mixed, squares, x], "{len} numbers at {place:?}");
        }
        let mut same = Recorded::new(&[]).unwrap();
        same.give(0).unwrap();
        let made = same.generate(&place, 5..9).unwrap();
        assert_eq!(numbers(&made[0]), [5, 6, 7, 8]);
    }
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let told = |error: Error| assert!(matches!(error, Error::Kernel(why) if !why.contains('\n')));
    told(Recorded::new(&[2; 9]).unwrap_err());
    told(Recorded::new(&[3]).unwrap_err());
    let mut kernel = Recorded::new(&[1, 2]).unwrap();
    let wrong: [(&str, &[usize], u32); 7] = [
        ("AddU33", &[0, 0], 0),
        ("AddU32", &[0], 0),
        ("AddU32", &[0, 1], 0),
        ("AddU32", &[0, 2], 0),
        ("ShlU32", &[0], 32),
        ("ShlU64", &[1], 64),
        ("SelectU64", &[1, 1, 1], 0),
    ];
    for (name, values, count) in wrong {
        told(kernel.step(name, values, count).unwrap_err());
    }
    told(kernel.constant(0, 0).unwrap_err());
    told(kernel.give(2).unwrap_err());
    for _ in 0..8 {
        kernel.give(1).unwrap();
    }
    told(kernel.give(0).unwrap_err());
    let mut long = Recorded::new(&[1]).unwrap();
    let last = (0..1 << 20).find_map(|_| long.step("NotU32", &[0], 0).err());
    told(last.unwrap());
}

#[test]
fn other_vectors_are_refused() {
    let [one, other] = [Policy::Seq, Policy::Par].map(|policy| policy.open().unwrap());
    let [x, y, short] = [column(&one, &[1, 2]), column(&other, &[1, 2]), column(&one, &[1])];
    assert!(matches!(kernel().transform(&[&x]), Err(Error::Kernel(_))));
    assert!(matches!(kernel().transform(&[]), Err(Error::Kernel(_))));
    assert!(matches!(kernel().generate(&one, 0..1), Err(Error::Kernel(_))));
    assert!(matches!(kernel().transform(&[&x, &y]), Err(Error::Place)));
    assert!(matches!(kernel().transform(&[&x, &short]), Err(Error::Range { .. })));
    assert!(matches!(x.gather(&column(&one, &[2])), Err(Error::Range { .. })));
    assert!(matches!(x.reduce("SumF64"), Err(Error::Kernel(_))));
    assert!(matches!(Column::from_bytes(&one, &[0; 6], 4), Err(Error::Kernel(_))));
    assert!(matches!(x.to_bytes(&mut [0; 7], 4), Err(Error::Kernel(_))));
}
