//! Reductions: each thread has a part of the result, and the parts are combined after the loop. Elements of
//! arrays are updated atomically instead.

use super::Writer;
use super::value::bare;
use crate::loops::program::{Expr, Op, Statement};
use crate::loops::verdict::Treatment;

impl Writer<'_> {
    /// The variables of a loop's reductions that are no arrays, with their operations.
    fn scalars(&self, treatment: &Treatment) -> Vec<(usize, Op)> {
        let all = treatment.reductions.iter().map(|(&variable, &op)| (variable, op));
        all.filter(|(variable, _)| self.program.variables[*variable].dims().is_empty()).collect()
    }

    /// The OpenMP clauses for reductions of scalars.
    pub(super) fn clauses(&self, treatment: &Treatment) -> String {
        let scalars = self.scalars(treatment).into_iter();
        scalars.map(|(variable, op)| format!(" reduction({}:{})", op.sign(), self.names[variable])).collect()
    }

    /// Begins the iterations of a parallel loop in Rust.
    pub(super) fn open_iterations(&mut self, treatment: &Treatment, i: &str, rest: &str) {
        let scalars = self.scalars(treatment);
        if scalars.is_empty() {
            return self.open(&format!("(0..{rest}).into_par_iter().for_each(|k_{i}|"));
        }
        let neutral = |op: Op| match op {
            Op::Multiply => "1_u32",
            Op::And => "u32::MAX",
            _ => "0_u32",
        };
        let neutral: String = scalars.iter().map(|(_, op)| format!("{}, ", neutral(*op))).collect();
        let parts = self.parts(&scalars, "mut ");
        self.open(&format!("(0..{rest}).into_par_iter().fold(|| ({neutral}), |({parts}), k_{i}|"));
    }

    /// Ends the iterations of a parallel loop in Rust, and combines the parts of results.
    pub(super) fn close_iterations(&mut self, treatment: &Treatment) {
        let scalars = self.scalars(treatment);
        if scalars.is_empty() {
            return self.close("});");
        }
        let parts = self.parts(&scalars, "");
        self.line(&format!("({parts})"));
        self.close(&format!("}}).for_each(|({parts})| {{"));
        self.depth += 1;
        for (variable, op) in scalars {
            let name = self.names[variable].clone();
            self.line(&fetched(op.sign(), &name, &format!("part_{name}")));
        }
        self.close("});");
    }

    /// The elements of a tuple with the parts of results.
    fn parts(&self, scalars: &[(usize, Op)], before: &str) -> String {
        scalars.iter().map(|(variable, _)| format!("{before}part_{}, ", self.names[*variable])).collect()
    }

    /// One step of a reduction in C.
    pub(super) fn reduced_in_c(&mut self, statement: &Statement, with: &Expr) -> String {
        if !statement.target.subscripts.is_empty() {
            self.out += "#pragma omp atomic\n";
        }
        let Some(op) = operation(statement) else { return String::new() };
        format!("{} {}= {};", self.place(&statement.target), op.sign(), bare(self.word(with)))
    }

    /// One step of a reduction in Rust.
    pub(super) fn reduced_in_rust(&self, statement: &Statement, with: &Expr) -> String {
        let Some(op) = operation(statement) else { return String::new() };
        let (place, value) = (self.place(&statement.target), self.word(with));
        if !statement.target.subscripts.is_empty() {
            return fetched(op.sign(), &place, &bare(value));
        }
        let part = format!("part_{place}");
        format!("{part} = {};", bare(self.combined(op, &part, &value, with)))
    }
}

/// The operation of a reduction, including `-`.
fn operation(statement: &Statement) -> Option<Op> {
    match &statement.value {
        Expr::Binary(op, ..) => Some(*op),
        _ => None,
    }
}

/// Combines an atomic word with a value, in Rust.
fn fetched(sign: &str, place: &str, with: &str) -> String {
    let method = match sign {
        "+" => "fetch_add",
        "-" => "fetch_sub",
        "^" => "fetch_xor",
        "&" => "fetch_and",
        "|" => "fetch_or",
        _ => {
            return format!(
                "let _ = {place}.fetch_update(Relaxed, Relaxed, |old| Some(old.wrapping_mul({with})));"
            );
        }
    };
    format!("{place}.{method}({with}, Relaxed);")
}
