//! Computes several sums of eight bits in few XORs.
//!
//! A sum is a byte with a bit set for each term. A program starts from the eight single bits, and each step
//! adds two existing sums. The same program read backwards, with every step's target added to both operands,
//! computes the transposed map. It computes eight sums from one bit per target, in (targets − 8) more XORs.
//!
//! Source: Boyar and Peralta, "A new combinational logic minimization technique with applications to
//! cryptology" (SEA 2010). The distance of a byte is the least number of existing sums that add to it. If a
//! target has distance 2, the next step makes it. Otherwise the step makes the sum that minimises the
//! targets' total distance. Ties go to the greatest sum of squared distances, then to a random choice. There
//! are only 256 bytes, so distances are a table. After a new sum s, d(t) is the smaller of d(t) and d(t ⊕ s)
//! + 1, because no sum is needed twice. One choice therefore evaluates at most 256 sums for each target.

use super::map::XorShift;

/// The two operands of each step.
pub(super) type Program = Vec<(u8, u8)>;

/// A program for these targets, none of them 0, or `None` if it would take more than `limit` steps.
pub(super) fn program(targets: &[u8], limit: usize, random: &mut XorShift) -> Option<Program> {
    let mut steps = Steps::new();
    let mut left = targets.to_vec();
    loop {
        left.retain(|&target| steps.distance[usize::from(target)] > 1);
        left.sort_unstable();
        left.dedup();
        if left.is_empty() {
            return Some(steps.program);
        }
        if steps.program.len() + left.len() > limit {
            return None;
        }
        let near: Vec<_> = left.iter().copied().filter(|&target| steps.is_near(target)).collect();
        let next = if near.is_empty() { steps.best(&left, random) } else { near[random.below(near.len())] };
        steps.add(next);
    }
}

struct Steps {
    program: Program,
    /// The existing sums.
    sums: Vec<u8>,
    /// The distance of each byte.
    distance: [u8; 256],
}

impl Steps {
    fn new() -> Self {
        let distance = std::array::from_fn(|sum| sum.count_ones() as u8);
        Self { program: Vec::new(), sums: (0..8).map(|bit| 1 << bit).collect(), distance }
    }

    /// Whether one step makes it.
    fn is_near(&self, sum: u8) -> bool {
        self.distance[usize::from(sum)] == 2
    }

    /// The sum to make next.
    fn best(&self, targets: &[u8], random: &mut XorShift) -> u8 {
        let value = |sum: u8| {
            let after = |&target: &u8| {
                let distances = [target, target ^ sum].map(|at| self.distance[usize::from(at)]);
                u32::from(distances[0].min(distances[1] + 1))
            };
            let (all, squares) = targets
                .iter()
                .map(after)
                .fold((0, 0), |(all, squares), distance| (all + distance, squares + distance * distance));
            (all, std::cmp::Reverse(squares))
        };
        let near = (1..=255).filter(|&sum| self.is_near(sum));
        near.min_by_key(|&sum| (value(sum), random.next())).unwrap_or(1)
    }

    /// Makes a sum of distance 2.
    fn add(&mut self, sum: u8) {
        let operand =
            self.sums.iter().copied().find(|&operand| self.distance[usize::from(operand ^ sum)] == 1);
        let operand = operand.unwrap_or(sum);
        self.program.push((operand, operand ^ sum));
        self.sums.push(sum);
        let before = self.distance;
        self.distance = std::array::from_fn(|at| before[at].min(before[at ^ usize::from(sum)] + 1));
    }
}
