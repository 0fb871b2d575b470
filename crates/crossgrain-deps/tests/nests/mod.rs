//! Random loop nests with their texts.
#![allow(dead_code, reason = "each test uses its own part of this")]

pub(crate) mod stencils;

use std::fmt::Write as _;

/// Marsaglia's xorshift.
pub(crate) struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number within these bounds.
    fn from(&mut self, least: i64, most: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        least + ((self.0 >> 11) % (most - least + 1) as u64) as i64
    }

    fn one_in(&mut self, count: i64) -> bool {
        self.from(1, count) == 1
    }
}

/// A constant, and a factor for each enclosing loop.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    constant: i64,
    factors: Vec<i64>,
}

impl Sum {
    fn random(random: &mut Random, depth: usize, largest: i64) -> Self {
        let mut factor = || if random.one_in(2) { 0 } else { random.from(-largest, largest) };
        let factors = (0..depth).map(|_| factor()).collect();
        Self { constant: random.from(-3, 6), factors }
    }

    pub(crate) fn value(&self, counters: &[i64]) -> i64 {
        self.constant
            + self.factors.iter().zip(counters).map(|(factor, counter)| factor * counter).sum::<i64>()
    }

    fn text(&self, names: &[String]) -> String {
        let mut text = self.constant.to_string();
        for (factor, name) in self.factors.iter().zip(names).filter(|(factor, _)| **factor != 0) {
            write!(text, " + {factor}*{name}").unwrap();
        }
        text
    }
}

/// A read or write: the variable, its subscripts, and its place in the text.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) variable: &'static str,
    pub(crate) subscripts: Vec<Sum>,
    pub(crate) at: (u32, u32),
}

#[derive(Debug)]
pub(crate) enum Node {
    /// Its number, bounds and step.
    Loop(usize, Sum, Sum, i64, Vec<Node>),
    /// Its number, condition and branches.
    If(usize, Condition, Vec<Node>, Vec<Node>),
    /// The reads, in order, and then the write.
    Statement(Vec<Access>, Access),
}

#[derive(Debug)]
pub(crate) enum Condition {
    /// A comparison of two sums.
    OfSums(Sum, &'static str, Sum),
    /// A comparison of an element with a number.
    OfWords(Access),
}

impl Condition {
    /// Whether it holds, unless it depends on words.
    pub(crate) fn holds(&self, counters: &[i64]) -> Option<bool> {
        let Self::OfSums(left, sign, right) = self else { return None };
        let (left, right) = (left.value(counters), right.value(counters));
        Some(match *sign {
            "==" => left == right,
            "!=" => left != right,
            "<" => left < right,
            "<=" => left <= right,
            ">" => left > right,
            _ => left >= right,
        })
    }
}

/// Arrays and words, with their numbers of subscripts.
const VARIABLES: [(&str, usize); 5] = [("a", 1), ("b", 2), ("s", 0), ("t", 0), ("c", 1)];

/// Generates a nest and its text together.
pub(crate) struct Maker {
    random: Random,
    text: String,
    line: u32,
    loops: usize,
    ifs: usize,
    names: Vec<String>,
    /// Whether changing numbers `p` and `q` occur in subscripts, and `n` in bounds.
    has_numbers: bool,
}

impl Maker {
    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
        self.line += 1;
    }

    fn nodes(&mut self, deepest: usize) -> Vec<Node> {
        let count = self.random.from(1, 2);
        (0..count).map(|_| self.node(deepest)).collect()
    }

    fn node(&mut self, deepest: usize) -> Node {
        let depth = self.names.len();
        if depth == 0 || (depth < deepest && !self.random.one_in(3)) {
            self.looped(deepest)
        } else if self.random.one_in(4) && self.ifs < 4 {
            self.condition(deepest)
        } else {
            self.statement()
        }
    }

    fn condition(&mut self, deepest: usize) -> Node {
        let (number, depth) = (self.ifs, self.names.len());
        self.ifs += 1;
        let signs = ["==", "!=", "<", "<=", ">", ">="];
        let sign = signs[self.random.from(0, 5) as usize];
        let mut line = "if ".to_owned();
        let condition = if self.random.one_in(3) {
            let access = self.access(&mut line);
            write!(line, " {sign} {}", self.random.from(0, 1) << 31).unwrap();
            Condition::OfWords(access)
        } else {
            let sum = |maker: &mut Self| Sum::random(&mut maker.random, depth, 2);
            let (left, right) = (sum(self), sum(self));
            let number =
                if self.has_numbers { ["", "", " + p", " - q"][self.random.from(0, 3) as usize] } else { "" };
            write!(line, "{}{number} {sign} {}", left.text(&self.names), right.text(&self.names)).unwrap();
            Condition::OfSums(left, sign, right)
        };
        self.line(&line);
        let then = self.nodes(deepest);
        let mut otherwise = Vec::new();
        if self.random.one_in(2) {
            self.line("else");
            otherwise = self.nodes(deepest);
        }
        self.line("end");
        Node::If(number, condition, then, otherwise)
    }

    fn looped(&mut self, deepest: usize) -> Node {
        let depth = self.names.len();
        let step = [1, 1, 1, -1, 2, -2, 3][self.random.from(0, 6) as usize];
        let mut from = Sum { constant: self.random.from(-2, 3), factors: vec![0; depth] };
        let extent = self.random.from(0, 4) * i64::signum(step) * if i64::abs(step) > 1 { 2 } else { 1 };
        let mut to = Sum { constant: from.constant + extent, factors: vec![0; depth] };
        // Triangles and parallelograms.
        if depth > 0 && self.random.one_in(3) {
            let around = self.random.from(0, depth as i64 - 1) as usize;
            from.factors[around] = self.random.from(0, 1);
            to.factors[around] = self.random.from(0, 1);
        }
        let (number, name) = (self.loops, format!("i{}", self.loops));
        self.loops += 1;
        // A bound that the analysis does not know.
        let n = match (self.has_numbers && self.random.one_in(2), step > 0) {
            (false, _) => "",
            (_, true) => " + n",
            (_, false) => " - n",
        };
        let (from_text, to_text) = (from.text(&self.names), to.text(&self.names));
        let head = format!("for {name} = {from_text} to {to_text}{n} step {step}");
        self.line(&head);
        self.names.push(name);
        let body = self.nodes(deepest);
        self.names.pop();
        self.line("end");
        Node::Loop(number, from, to, step, body)
    }

    fn access(&mut self, line: &mut String) -> Access {
        let (variable, subscripts) = VARIABLES[self.random.from(0, 9).min(4) as usize % 5];
        let depth = self.names.len();
        let subscripts: Vec<_> = (0..subscripts).map(|_| Sum::random(&mut self.random, depth, 3)).collect();
        let at = (self.line, line.chars().count() as u32 + 1);
        *line += variable;
        for subscript in &subscripts {
            let number =
                if self.has_numbers { ["", "", " + p", " - q"][self.random.from(0, 3) as usize] } else { "" };
            write!(line, "[{}{number}]", subscript.text(&self.names)).unwrap();
        }
        Access { variable, subscripts, at }
    }

    fn statement(&mut self) -> Node {
        if self.has_numbers && self.random.one_in(3) {
            let (step, sum) = (self.random.from(-2, 3), Sum::random(&mut self.random, self.names.len(), 2));
            let change = match self.random.from(0, 4) {
                0 => format!("q = {}", sum.text(&self.names)),
                1 => format!("p = q + {step}"),
                2 => format!("q += {step}"),
                _ => format!("p = p + {step}"),
            };
            self.line(&change);
        }
        let mut line = String::new();
        let target = self.access(&mut line);
        line += " = ";
        let mut reads = Vec::new();
        // Occasionally a step of a reduction.
        if self.random.one_in(6) {
            let at = (self.line, line.chars().count() as u32 + 1);
            let own = line.trim_end_matches(" = ").to_owned();
            line += &own;
            line += " + ";
            reads.push(Access { at, ..target.clone() });
        }
        for _ in 0..self.random.from(0, 2) {
            reads.push(self.access(&mut line));
            line += " + ";
        }
        line += "5";
        self.line(&line);
        Node::Statement(reads, target)
    }
}

/// A nest and its text.
pub(crate) fn made(seed: u64) -> (String, Vec<Node>) {
    made_of(seed, false)
}

/// The text of a nest with changing numbers in subscripts, and unknown bounds.
pub(crate) fn made_with_numbers(seed: u64) -> String {
    made_of(seed, true).0
}

fn made_of(seed: u64, has_numbers: bool) -> (String, Vec<Node>) {
    let head = "array a[-120..120], b[-120..120][-120..120], c[-120..120]\nword s\nlocal word t\n";
    let numbers = if has_numbers { "int p = 2, q\nparam n >= 0 = 2\n" } else { "" };
    let head = format!("{head}{numbers}");
    let mut maker = Maker {
        random: Random::new(seed),
        line: head.lines().count() as u32 + 1,
        text: head,
        loops: 0,
        ifs: 0,
        names: Vec::new(),
        has_numbers,
    };
    // The first few numbers of this generator are similar for similar seeds.
    let deepest = (0..9).map(|_| maker.random.from(1, 3) as usize).last().unwrap();
    let nodes = maker.nodes(deepest);
    (maker.text, nodes)
}
