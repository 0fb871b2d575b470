//! Small tables as circuits.

use crossgrain::engine::arch::Lanes;

/// Looks up a table entry in every lane. The lowest bits of `index` select the entry; higher bits are
/// ignored.
///
/// All entries take part, so the time is the same for every index, and the index may be secret. For public
/// indices, [`Lanes::look_up_public`] reads a table from memory, and [`gather`](super::gather) reads from a
/// vector.
///
/// ```
/// use crossgrain_gpu::parallel::{DeviceVec, Lanes, Map, Policy, look_up, transform};
///
/// struct Power;
///
/// impl Map<1, 1> for Power {
///     #[inline(always)]
///     fn map<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
///         [look_up(&[1, 10, 100, 1000], x)]
///     }
/// }
///
/// let place = Policy::Auto.open()?;
/// let numbers = DeviceVec::from_slice(&place, &[[3], [0], [6]])?;
/// assert_eq!(transform(&Power, &numbers)?.to_vec()?, [[1000], [1], [100]]);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
#[inline(always)]
pub fn look_up<W: Lanes, const COUNT: usize>(table: &[u32; COUNT], index: W) -> W {
    const { assert!(COUNT.is_power_of_two() && COUNT <= 256, "a table has 1, 2, 4, … 256 entries") };
    let mut left = [index; COUNT];
    for (word, entry) in left.iter_mut().zip(table) {
        *word = index.filled(*entry);
    }
    for bit in 0..COUNT.trailing_zeros() {
        // This bit selects one of two neighbours.
        let mask = index.shift_lanes_up(31 - bit).top_of_lanes();
        for at in 0..COUNT >> (bit + 1) {
            left[at] = mask.select(left[2 * at + 1], left[2 * at]);
        }
    }
    left[0]
}
