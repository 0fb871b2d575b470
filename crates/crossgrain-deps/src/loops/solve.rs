//! Decides whether a system of equations and inequalities has an integer solution.
//!
//! The method is exact: William Pugh, "The Omega test: a fast and practical integer programming algorithm
//! for dependence analysis" (1991).
//!
//! ```text
//! solve each equation for one variable, after changes of variables, and substitute
//! while inequalities remain:
//!     eliminate a variable by the Fourier-Motzkin method, exactly if possible
//!     otherwise: the real shadow has no solution  -> no
//!                the dark shadow has a solution   -> yes
//!                try the few hyperplanes on which the remaining solutions could lie
//! ```
//!
//! A [`Budget`] limits the work. If the budget or 127 bits do not suffice, the answer is
//! [`Answer::Unknown`].

use super::affine::{Affine, Symbol, System};

/// Whether a solution exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    No,
    Yes,
    Unknown,
}

/// Budget for one question, in rows.
const QUESTION: u64 = 200_000;
/// Maximum number of inequalities at a time.
const ROWS: usize = 600;

/// The total number of rows that may be examined.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) rows: u64,
}

/// Answers a question, and deducts its cost from the budget.
pub(super) fn solve(system: &System, budget: &mut Budget) -> Answer {
    if system.is_unknown {
        return Answer::Unknown;
    }
    let granted = budget.rows.min(QUESTION);
    let mut left = granted;
    let answer = Rows::new(system).answer(&mut left);
    budget.rows -= granted - left;
    answer.unwrap_or(Answer::Unknown)
}

/// The coefficients, followed by the constant.
type Row = Vec<i128>;

/// A system whose symbols are numbered from 0.
#[derive(Clone)]
struct Rows {
    zero: Vec<Row>,
    at_least_zero: Vec<Row>,
}

/// A variable to eliminate.
struct Choice {
    variable: usize,
    is_exact: bool,
    cost: usize,
}

impl Rows {
    fn new(system: &System) -> Self {
        let all = || system.zero.iter().chain(&system.at_least_zero);
        let mut symbols: Vec<_> = all().flat_map(|sum| sum.terms.keys().copied()).collect();
        symbols.sort_unstable();
        symbols.dedup();
        let place = |symbol: Symbol| symbols.partition_point(|&before| before < symbol);
        let row = |sum: &Affine| {
            let mut row = vec![0; symbols.len() + 1];
            row[symbols.len()] = i128::from(sum.constant);
            for (&symbol, &coefficient) in &sum.terms {
                row[place(symbol)] = i128::from(coefficient);
            }
            row
        };
        Self {
            zero: system.zero.iter().map(row).collect(),
            at_least_zero: system.at_least_zero.iter().map(row).collect(),
        }
    }

    /// `None` if the budget or the integer range does not suffice.
    fn answer(mut self, budget: &mut u64) -> Option<Answer> {
        loop {
            if !self.solve_equations(budget)? || !self.tighten(budget)? {
                return Some(Answer::No);
            }
            if !self.zero.is_empty() {
                continue;
            }
            let Some(choice) = self.choose() else { return Some(Answer::Yes) };
            if choice.cost > ROWS {
                return None;
            }
            if !choice.is_exact {
                return self.inexact(choice.variable, budget);
            }
            self.at_least_zero = self.shadow(choice.variable, false)?;
        }
    }

    /// Eliminates all equations. Returns false if one has no solution.
    fn solve_equations(&mut self, budget: &mut u64) -> Option<bool> {
        while let Some(mut row) = self.zero.pop() {
            loop {
                *budget = budget.checked_sub(1 + self.zero.len() as u64 + self.at_least_zero.len() as u64)?;
                let constant = row.len() - 1;
                let gcd = row[..constant].iter().fold(0, |gcd, &factor| greatest_common(gcd, factor));
                if gcd == 0 {
                    if row[constant] != 0 {
                        return Some(false);
                    }
                    break;
                }
                if row[constant] % gcd != 0 {
                    return Some(false);
                }
                row.iter_mut().for_each(|factor| *factor /= gcd);
                let least = (0..constant).filter(|&at| row[at] != 0).min_by_key(|&at| row[at].abs());
                let Some(variable) = least else { break };
                if row[variable].abs() == 1 {
                    self.substitute(variable, &row)?;
                    break;
                }
                // Substitutes for the variable: the variable minus a sum of the others. The coefficients of
                // the others then become remainders.
                for other in (0..constant).filter(|&at| at != variable && row[at] != 0).collect::<Vec<_>>() {
                    let quotient = row[other].div_euclid(row[variable]);
                    let change = |row: &mut Row| {
                        row[other] = row[other].checked_sub(quotient.checked_mul(row[variable])?)?;
                        Some(())
                    };
                    change(&mut row)?;
                    for row in self.zero.iter_mut().chain(&mut self.at_least_zero) {
                        change(row)?;
                    }
                }
            }
        }
        Some(true)
    }

    /// Substitutes the solution of an equation for a variable, whose coefficient in it is 1 or -1.
    fn substitute(&mut self, variable: usize, equation: &Row) -> Option<()> {
        for row in self.zero.iter_mut().chain(&mut self.at_least_zero) {
            let factor = row[variable].checked_mul(equation[variable])?;
            if factor != 0 {
                add(row, -factor, equation)?;
            }
        }
        Some(())
    }

    /// Divides inequalities by the GCD of their coefficients, keeps the tightest of parallel ones, and
    /// turns touching opposite ones into equations. Returns false if two contradict each other.
    fn tighten(&mut self, budget: &mut u64) -> Option<bool> {
        *budget = budget.checked_sub(1 + self.at_least_zero.len() as u64)?;
        let mut rows: Vec<(Row, i128)> = Vec::with_capacity(self.at_least_zero.len());
        for mut row in std::mem::take(&mut self.at_least_zero) {
            let Some(constant) = row.pop() else { continue };
            let gcd = row.iter().fold(0, |gcd, &factor| greatest_common(gcd, factor));
            if gcd == 0 {
                if constant < 0 {
                    return Some(false);
                }
                continue;
            }
            row.iter_mut().for_each(|factor| *factor /= gcd);
            rows.push((row, constant.div_euclid(gcd)));
        }
        // After sorting, the first of several parallel rows is the tightest.
        rows.sort_unstable();
        rows.dedup_by(|later, first| later.0 == first.0);
        for (row, constant) in &rows {
            let opposite: Row = row.iter().map(|factor| -factor).collect();
            let whole = || row.iter().copied().chain([*constant]).collect();
            let other = rows.binary_search_by(|(row, _)| row.cmp(&opposite)).ok();
            match other.map(|other| rows[other].1.checked_add(*constant)) {
                Some(None) => return None,
                Some(Some(room)) if room < 0 => return Some(false),
                Some(Some(0)) if opposite < *row => self.zero.push(whole()),
                Some(Some(0)) => {}
                _ => self.at_least_zero.push(whole()),
            }
        }
        Some(true)
    }

    /// The variable to eliminate next: preferably one with exact elimination, then one that gives few rows.
    /// `None` if no inequality is left.
    fn choose(&self) -> Option<Choice> {
        let variables = self.at_least_zero.first()?.len() - 1;
        let choice = |variable: usize| {
            let factors = || self.at_least_zero.iter().map(|row| row[variable]);
            let (lower, upper) = (factors().filter(|&f| f > 0).count(), factors().filter(|&f| f < 0).count());
            let is_exact = factors().all(|f| f <= 1) || factors().all(|f| f >= -1);
            let is_exact = is_exact || lower == 0 || upper == 0;
            (lower + upper > 0).then_some(Choice { variable, is_exact, cost: lower * upper })
        };
        (0..variables).filter_map(choice).min_by_key(|choice| (!choice.is_exact, choice.cost))
    }

    /// Eliminates a variable from the inequalities. The result is the real shadow or the dark shadow. Above
    /// each point of the dark shadow lies an integer solution.
    fn shadow(&self, variable: usize, is_dark: bool) -> Option<Vec<Row>> {
        let (with, mut rows): (Vec<_>, Vec<_>) =
            self.at_least_zero.iter().cloned().partition(|row| row[variable] != 0);
        let (lower, upper): (Vec<Row>, Vec<Row>) = with.into_iter().partition(|row| row[variable] > 0);
        for low in &lower {
            for high in &upper {
                let (a, b) = (low[variable], -high[variable]);
                let mut row = vec![0; low.len()];
                add(&mut row, b, low)?;
                add(&mut row, a, high)?;
                if is_dark {
                    let constant = row.len() - 1;
                    row[constant] = row[constant].checked_sub((a - 1).checked_mul(b - 1)?)?;
                }
                rows.push(row);
            }
        }
        Some(rows)
    }

    fn inexact(self, variable: usize, budget: &mut u64) -> Option<Answer> {
        let of = |at_least_zero| Self { zero: Vec::new(), at_least_zero };
        if of(self.shadow(variable, false)?).answer(budget)? == Answer::No {
            return Some(Answer::No);
        }
        if of(self.shadow(variable, true)?).answer(budget)? == Answer::Yes {
            return Some(Answer::Yes);
        }
        let most = self.at_least_zero.iter().map(|row| -row[variable]).max()?;
        for low in self.at_least_zero.iter().filter(|row| row[variable] > 0) {
            let factor = low[variable];
            let steps = (most.checked_mul(factor)? - most - factor) / most;
            for step in 0..=steps {
                let mut splinter = self.clone();
                let mut equation = low.clone();
                let constant = equation.len() - 1;
                equation[constant] = equation[constant].checked_sub(step)?;
                splinter.zero.push(equation);
                if splinter.answer(budget)? == Answer::Yes {
                    return Some(Answer::Yes);
                }
            }
        }
        Some(Answer::No)
    }
}

/// Adds a multiple of a row. `None` on overflow.
fn add(row: &mut Row, factor: i128, other: &Row) -> Option<()> {
    for (to, from) in row.iter_mut().zip(other) {
        *to = to.checked_add(factor.checked_mul(*from)?)?;
    }
    Some(())
}

fn greatest_common(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
