//! A program: its variables, its loops and its statements, all numbered in the order of the text.

use super::source::At;

/// Deepest nest of loops.
pub const DEPTH: usize = 6;

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number that the analysis does not know: at least this, and this one where the loops are run.
    Param { at_least: Option<i64>, run: i64 },
    /// The counter of a loop.
    Counter,
    /// A number that statements change, with its first value: a pointer, for example.
    Int(i64),
    /// A word of 32 bits.
    Word,
    /// Words by subscripts from and to these, both included.
    Array(Vec<(i64, i64)>),
    /// The same, constant.
    Table(Vec<(i64, i64)>, Vec<u32>),
}

/// A variable.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Whether what it holds after the loops matters to nobody.
    pub(super) is_local: bool,
}

impl Variable {
    /// The extents of an array or a table; none for a scalar.
    pub(super) fn dims(&self) -> &[(i64, i64)] {
        match &self.kind {
            Kind::Array(dims) | Kind::Table(dims, _) => dims,
            _ => &[],
        }
    }

    /// How many values it holds.
    pub(super) fn cells(&self) -> usize {
        self.dims().iter().map(|(from, to)| (to - from + 1) as usize).product()
    }

    /// Whether it holds a number rather than words.
    pub(super) const fn is_int(&self) -> bool {
        matches!(self.kind, Kind::Param { .. } | Kind::Counter | Kind::Int(_))
    }
}

/// An operation on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The exclusive or.
    Xor,
    /// Bits that are in both.
    And,
    /// Bits that are in either.
    Or,
    /// Towards the high end, by a number from 0 to 31.
    ShiftLeft,
    /// Towards the low end, likewise.
    ShiftRight,
    /// Towards the high end and around, likewise.
    RotateLeft,
}

impl Op {
    /// The sign in a program.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Xor => "^",
            Self::And => "&",
            Self::Or => "|",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::RotateLeft => "rotl",
        }
    }

    /// Whether numbers that are no words have it.
    pub(super) const fn is_of_ints(self) -> bool {
        matches!(self, Self::Add | Self::Subtract | Self::Multiply)
    }

    /// Whether steps `x = x op …` come to the same in every order.
    pub(super) const fn is_of_reductions(self) -> bool {
        !matches!(self, Self::ShiftLeft | Self::ShiftRight | Self::RotateLeft)
    }
}

/// A read or a write of a variable.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    /// Its number: references are numbered in the order in which they take place.
    pub(super) number: usize,
    pub(super) variable: usize,
    pub(super) subscripts: Vec<Expr>,
    pub(super) at: At,
    /// As in the text, without blanks.
    pub(super) text: String,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Number(i64),
    /// A parameter or the counter of a loop.
    Symbol(usize),
    Read(Reference),
    Negative(Box<Expr>),
    Not(Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
}

/// `target = value`.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) target: Reference,
    pub(super) value: Expr,
    /// How many operations it takes, or a little more.
    pub(super) cost: usize,
}

/// `for counter = from to to step step`: with several bounds, the tightest holds.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) counter: usize,
    pub(super) from: Vec<Expr>,
    pub(super) to: Vec<Expr>,
    pub(super) step: i64,
    pub(super) at: At,
    /// The loops around it, outermost first.
    pub(super) around: Vec<usize>,
    pub(super) body: Vec<Node>,
}

/// A part of a body, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Loop(usize),
    Statement(usize),
}

/// A program in the language of loops: see [`loops`](super).
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub(super) variables: Vec<Variable>,
    pub(super) loops: Vec<Loop>,
    pub(super) statements: Vec<Statement>,
    pub(super) body: Vec<Node>,
    /// The number of references.
    pub(super) references: usize,
}

impl Expr {
    /// Whether it is a number rather than a word of 32 bits.
    pub(super) fn is_int(&self, program: &Program) -> bool {
        match self {
            Self::Number(_) | Self::Symbol(_) => true,
            Self::Read(read) => program.variables[read.variable].is_int(),
            Self::Negative(inner) => inner.is_int(program),
            Self::Not(_) => false,
            Self::Binary(op, a, b) => op.is_of_ints() && a.is_int(program) && b.is_int(program),
        }
    }

    /// Everything that it reads, in order: subscripts before what they are subscripts of.
    pub(super) fn reads<'a>(&'a self, found: &mut Vec<&'a Reference>) {
        match self {
            Self::Number(_) | Self::Symbol(_) => {}
            Self::Read(read) => {
                read.subscripts.iter().for_each(|subscript| subscript.reads(found));
                found.push(read);
            }
            Self::Negative(inner) | Self::Not(inner) => inner.reads(found),
            Self::Binary(_, a, b) => {
                a.reads(found);
                b.reads(found);
            }
        }
    }
}

impl Statement {
    /// Everything that it reads.
    pub(super) fn reads(&self) -> Vec<&Reference> {
        let mut found = Vec::new();
        self.value.reads(&mut found);
        self.target.subscripts.iter().for_each(|subscript| subscript.reads(&mut found));
        found
    }
}

impl Program {
    /// The name of a variable.
    pub(super) fn name(&self, variable: usize) -> &str {
        &self.variables[variable].name
    }

    /// The statements of a loop, and of the loops in it.
    pub(super) fn statements_in(&self, number: usize) -> Vec<usize> {
        let mut found = Vec::new();
        self.gather(&self.loops[number].body, &mut found);
        found
    }

    fn gather(&self, body: &[Node], found: &mut Vec<usize>) {
        for node in body {
            match *node {
                Node::Loop(inner) => self.gather(&self.loops[inner].body, found),
                Node::Statement(statement) => found.push(statement),
            }
        }
    }
}
