//! A lesson in one form and width on random values, checked and ready to be timed.

use std::marker::PhantomData;
use std::time::Instant;

use crossgrain::engine::arch::{Isa, Register};
use crossgrain::plan::measure::Subject;

use crate::lanes;
use crate::lesson::{Form, Lesson, Memory, Run, values_in_tile};

pub(crate) struct Trial<W: Register, L, const VALUE: usize, const IN: usize, const OUT: usize> {
    isa: W::Isa,
    form: Form,
    memory: Box<Memory>,
    lesson: PhantomData<L>,
}

impl<W, L, const VALUE: usize, const IN: usize, const OUT: usize> Trial<W, L, VALUE, IN, OUT>
where
    W: Register,
    L: Lesson<VALUE, IN, OUT>,
{
    /// The trial, after a check that its results equal those of the plain loop.
    pub(crate) fn checked(isa: W::Isa, form: Form) -> Self {
        let (a, b) = (values(VALUE, IN, 1), values(VALUE, IN, 2));
        let mut memory = Memory::new();
        for (values, tile) in [(&a, &mut memory.a), (&b, &mut memory.b)] {
            match form {
                Form::Across => lanes::across(values, W::BITS, VALUE, IN, tile),
                Form::Along | Form::Converted => lanes::along(values, VALUE, tile),
            }
        }
        let mut trial = Self { isa, form, memory, lesson: PhantomData };
        trial.run(1);
        let found = match form {
            Form::Across => lanes::read_across(&trial.memory.out, W::BITS, VALUE, OUT),
            Form::Along | Form::Converted => lanes::read_along(&trial.memory.out, VALUE),
        };
        let expected: Vec<_> = a.into_iter().zip(b).map(|(a, b)| L::plain(a, b)).collect();
        assert!(found == expected, "wrong answers: {}, {} bits, {form:?}", L::TITLE, W::BITS);
        trial
    }

    fn run(&mut self, repeats: u32) {
        let Self { isa, form, memory, lesson } = self;
        let (isa, form, lesson) = (*isa, *form, *lesson);
        isa.enter(Run::<W, L, VALUE, IN, OUT> { isa, form, repeats, memory, lesson });
    }
}

impl<W, L, const VALUE: usize, const IN: usize, const OUT: usize> Subject for Trial<W, L, VALUE, IN, OUT>
where
    W: Register,
    L: Lesson<VALUE, IN, OUT>,
{
    fn time_ns(&mut self, repeats: u32) -> u64 {
        let start = Instant::now();
        self.run(repeats);
        start.elapsed().as_nanos() as u64
    }
}

/// Arbitrary values of `bits` bits that fill a tile: a Weyl sequence, mixed (splitmix64).
fn values(value_bits: usize, bits: usize, seed: u64) -> Vec<u32> {
    let value = |index: usize| {
        let mut x = (seed << 32 | index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x >> 32) as u32 >> (32 - bits)
    };
    (0..values_in_tile(value_bits)).map(value).collect()
}
