//! Random nests that transformations change: uniform distances, triangles, and bodies of several parts.

use std::fmt::Write as _;

use super::Random;

/// The text of a nest.
pub(crate) fn stencil(seed: u64) -> String {
    let mut random = Random::new(seed.wrapping_mul(31).wrapping_add(7));
    // The first few numbers of this generator are similar for similar seeds.
    let depth = (0..9).map(|_| random.from(1, 3) as usize).last().unwrap_or(2);
    let head = "param n >= 1 = 4\narray a[-40..40][-40..40], b[-40..40][-40..40], c[-40..40], d[-40..40]\n\
                word s, u\nlocal word t\n";
    let is_sweep = seed.is_multiple_of(2);
    let mut maker = Maker { random, text: head.to_owned(), names: Vec::new(), is_sweep };
    maker.looped(if is_sweep { depth.max(2) } else { depth });
    if maker.random.one_in(4) {
        maker.looped(if is_sweep { 2 } else { 1 });
    }
    maker.text
}

struct Maker {
    random: Random,
    text: String,
    names: Vec<String>,
    /// Whether the nest is perfect and each element depends on near ones.
    is_sweep: bool,
}

impl Maker {
    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn looped(&mut self, left: usize) {
        let name = ["i", "j", "k"][self.names.len()].to_owned();
        let step = [1, 1, 1, 1, 1, -1, 2][self.random.from(0, 6) as usize];
        let (least, most) =
            (self.random.from(-1, 2), ["4", "n", "n + 1", "5"][self.random.from(0, 3) as usize]);
        let (mut from, mut to) = (least.to_string(), most.to_owned());
        if step < 0 {
            (from, to) = (to, from);
        }
        // Triangles and parallelograms.
        if let Some(outer) = self.names.last().filter(|_| self.random.one_in(3)) {
            match self.random.from(0, 3) {
                0 => from = outer.clone(),
                1 => to = outer.clone(),
                2 => from = format!("{least} - {outer}"),
                _ => (from, to) = (format!("{from} + {outer}"), format!("{to} + {outer}")),
            }
        }
        let step = if step == 1 { String::new() } else { format!(" step {step}") };
        self.line(&format!("for {name} = {from} to {to}{step}"));
        self.names.push(name);
        let is_perfect = self.is_sweep || !self.random.one_in(3);
        let parts = if left > 1 && is_perfect { 0 } else { self.random.from(1, 3) };
        let place = self.random.from(0, parts);
        for part in 0..=parts {
            if left > 1 && part == place {
                self.looped(left - 1);
            } else if part < parts || left == 1 {
                self.statement();
            }
        }
        self.names.pop();
        self.line("end");
    }

    /// A new value from near elements.
    fn sweep(&mut self) {
        let last = self.names.len() - 1;
        let (i, j) = (self.names[last - 1].clone(), self.names[last].clone());
        let near: Vec<_> = (0..self.random.from(1, 3))
            .map(|_| format!("a[{i} + {}][{j} + {}]", self.random.from(-2, 0), self.random.from(-2, 2)))
            .collect();
        let near = near.join(" + ");
        if self.random.one_in(2) {
            self.line(&format!("a[{i}][{j}] = {near}"));
        } else {
            let own = if self.random.one_in(3) { "u" } else { "t" };
            self.line(&format!("{own} = {near}\na[{i}][{j}] = {own} * 3"));
        }
    }

    fn statement(&mut self) {
        if self.is_sweep && !self.random.one_in(8) {
            return self.sweep();
        }
        let is_guarded = self.random.one_in(8);
        if is_guarded {
            let counter = self.counter();
            let condition =
                [format!("{counter} < 3"), format!("{counter} != 2"), format!("{} > 77", self.element())];
            let chosen = self.random.from(0, 2) as usize;
            self.line(&format!("if {}", condition[chosen]));
        }
        match self.random.from(0, 9) {
            0 => {
                let element = self.element();
                self.line(&format!("s = s + {element}"));
            }
            1 | 2 => {
                let (first, second, target) = (self.element(), self.element(), self.element());
                self.line(&format!("t = {first} ^ {second}\n{target} = t * 3"));
            }
            3 => {
                let (element, target) = (self.element(), self.element());
                self.line(&format!("{target} = {element} + t"));
            }
            _ => {
                let target = self.element();
                let mut line = format!("{target} = 5");
                for _ in 0..self.random.from(1, 3) {
                    write!(line, " + {}", self.element()).unwrap_or_default();
                }
                self.line(&line);
            }
        }
        if is_guarded {
            self.line("end");
        }
    }

    fn counter(&mut self) -> String {
        let at = self.random.from(0, self.names.len() as i64 - 1) as usize;
        self.names[at].clone()
    }

    /// An element at uniform subscripts: counters with offsets.
    fn element(&mut self) -> String {
        let mut subscript = |counter: &str| match self.random.from(-3, 3) {
            by @ ..0 => format!("{counter} - {}", -by.max(-2)),
            0 | 3 => counter.to_owned(),
            by => format!("{counter} + {by}"),
        };
        let last = self.names.len() - 1;
        let before = last.saturating_sub(1);
        let (i, j) = (subscript(&self.names[before]), subscript(&self.names[last]));
        match self.random.from(0, 9) {
            0..=5 => format!("a[{i}][{j}]"),
            6 => format!("b[{i}][{j}]"),
            7 => format!("c[{j}]"),
            8 => format!("d[{i}]"),
            9 if self.random.one_in(2) => format!("a[{j}][{i}]"),
            _ => format!("b[{i}][{j}]"),
        }
    }
}
