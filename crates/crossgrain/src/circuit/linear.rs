//! Sums of eight bits in few additions.
//!
//! A sum is a byte: which of the bits it adds. A program starts from the eight single bits, and each step adds two
//! sums that are there. The same program read backwards, with every step's target added to both its operands,
//! computes the transposed map: from as many bits as there are targets, eight sums, by (targets − 8) additions more.
//!
//! Source: Boyar and Peralta, "A new combinational logic minimization technique with applications to cryptology" (SEA
//! 2010). For each byte the least number of available sums that add to it is known; a step makes a target that takes two,
//! and else the sum after which all targets together take fewest, of equals the one after which they differ most, and at
//! random of those. Bytes are few: adding the sum s to those there makes a distance d(t) the smaller of d(t) and d(t ⊕ s) + 1,
//! because no sum is needed twice. So a choice takes 256 of them for each target.

use super::map::XorShift;

/// The two sums that each step adds.
pub(super) type Program = Vec<(u8, u8)>;

/// A program for these targets, none of them 0; nothing if it would take more steps than the limit.
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
    /// The sums that are there.
    sums: Vec<u8>,
    /// For each byte how many of them add to it.
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

    /// Makes a sum that is near.
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
