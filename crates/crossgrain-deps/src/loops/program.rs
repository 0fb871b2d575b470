//! The program as data: variables, loops, conditions and statements, all numbered in text order.

use std::cmp::Ordering;

use super::source::At;

/// Maximum depth of nested loops.
pub const DEPTH: usize = 6;

/// The kind of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number unknown to the analysis, with an optional lower bound. Runs use `run`.
    Param { at_least: Option<i64>, run: i64 },
    /// The counter of a loop.
    Counter,
    /// A number that statements change, for example a pointer, with its initial value.
    Int(i64),
    /// A 32-bit word.
    Word,
    /// An array of words, with the first and last value of each subscript.
    Array(Vec<(i64, i64)>),
    /// A constant array of words.
    Table(Vec<(i64, i64)>, Vec<u32>),
}

/// A variable.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Whether the value after the loops is unused.
    pub(super) is_local: bool,
    /// The subscript ranges of an array as declared, which may contain parameters. Empty for others.
    pub(super) spans: Vec<Span>,
}

/// The first value of a subscript, and the number of its values.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) from: Expr,
    pub(super) len: Expr,
}

impl Variable {
    /// The subscript ranges of an array or a table. Empty for a scalar.
    pub(super) fn dims(&self) -> &[(i64, i64)] {
        match &self.kind {
            Kind::Array(dims) | Kind::Table(dims, _) => dims,
            _ => &[],
        }
    }

    /// Number of values that it holds.
    pub(super) fn cells(&self) -> usize {
        self.dims().iter().map(|(from, to)| (to - from + 1) as usize).product()
    }

    /// Whether it holds a number instead of words.
    pub(super) const fn is_int(&self) -> bool {
        matches!(self.kind, Kind::Param { .. } | Kind::Counter | Kind::Int(_))
    }
}

/// An operation on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Exclusive or.
    Xor,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Shift left by 0 to 31 bits.
    ShiftLeft,
    /// Shift right by 0 to 31 bits.
    ShiftRight,
    /// Rotate left by 0 to 31 bits.
    RotateLeft,
}

impl Op {
    /// The operator in a program's text.
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

    /// The result for numbers. `None` if it does not fit 64 bits, or if the operation is of words alone.
    pub(super) fn of_ints(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Self::Add => a.checked_add(b),
            Self::Subtract => a.checked_sub(b),
            Self::Multiply => a.checked_mul(b),
            _ => None,
        }
    }

    /// Whether the operation exists for numbers as well as words.
    pub(super) const fn is_of_ints(self) -> bool {
        matches!(self, Self::Add | Self::Subtract | Self::Multiply)
    }

    /// Whether statements `x = x op …` give the same result in any order.
    pub(super) const fn is_of_reductions(self) -> bool {
        !matches!(self, Self::ShiftLeft | Self::ShiftRight | Self::RotateLeft)
    }
}

/// A read or write of a variable.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    /// Its number, in the order of execution.
    pub(super) number: usize,
    pub(super) variable: usize,
    pub(super) subscripts: Vec<Expr>,
    pub(super) at: At,
    /// The reference as in the text, without blanks.
    pub(super) text: String,
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Number(i64),
    /// A parameter or a loop counter.
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
    /// An upper bound on its number of operations.
    pub(super) cost: usize,
}

/// `for counter = from to to step step`. If several bounds are given, the tightest applies.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) counter: usize,
    pub(super) from: Vec<Expr>,
    pub(super) to: Vec<Expr>,
    pub(super) step: i64,
    pub(super) at: At,
    /// The loops that contain it, outermost first.
    pub(super) around: Vec<usize>,
    pub(super) body: Vec<Node>,
}

/// How two values are compared. Numbers are signed; if one of them is a word, both are words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub(super) const ALL: [Self; 6] =
        [Self::Equal, Self::Unequal, Self::LessOrEqual, Self::GreaterOrEqual, Self::Less, Self::Greater];

    /// The operator in a program's text.
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Whether it holds for values in this order.
    pub(super) const fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The comparison that holds if and only if this one does not.
    pub(super) const fn negated(self) -> Self {
        match self {
            Self::Equal => Self::Unequal,
            Self::Unequal => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }
}

/// `if left is right … else … end`.
#[derive(Clone, Debug)]
pub(super) struct If {
    pub(super) left: Expr,
    pub(super) is: Comparison,
    pub(super) right: Expr,
    pub(super) at: At,
    /// The loops that contain it, outermost first.
    pub(super) around: Vec<usize>,
    pub(super) then: Vec<Node>,
    pub(super) otherwise: Vec<Node>,
    /// An upper bound on the number of operations in the condition.
    pub(super) cost: usize,
}

/// A part of a body, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Loop(usize),
    If(usize),
    Statement(usize),
}

/// A program in the language of [`loops`](super).
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub(super) variables: Vec<Variable>,
    pub(super) loops: Vec<Loop>,
    pub(super) ifs: Vec<If>,
    pub(super) statements: Vec<Statement>,
    pub(super) body: Vec<Node>,
    /// Number of references.
    pub(super) references: usize,
}

impl Expr {
    /// Whether it is a number instead of a 32-bit word.
    pub(super) fn is_int(&self, program: &Program) -> bool {
        match self {
            Self::Number(_) | Self::Symbol(_) => true,
            Self::Read(read) => program.variables[read.variable].is_int(),
            Self::Negative(inner) => inner.is_int(program),
            Self::Not(_) => false,
            Self::Binary(op, a, b) => op.is_of_ints() && a.is_int(program) && b.is_int(program),
        }
    }

    /// The value, given the values of symbols. `None` if it reads a variable or does not fit 64 bits.
    pub(super) fn known(&self, of_symbol: &impl Fn(usize) -> Option<i64>) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Symbol(variable) => of_symbol(*variable),
            Self::Negative(inner) => inner.known(of_symbol)?.checked_neg(),
            Self::Binary(op, a, b) => op.of_ints(a.known(of_symbol)?, b.known(of_symbol)?),
            Self::Read(_) | Self::Not(_) => None,
        }
    }

    /// All reads of this expression in order. Reads in subscripts come before the read that they index.
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

impl Span {
    /// The span of subscripts from `from` to `to`.
    pub(super) fn between(from: Expr, to: Expr) -> Self {
        let room = Expr::Binary(Op::Subtract, Box::new(to), Box::new(from.clone()));
        let len = Expr::Binary(Op::Add, Box::new(room), Box::new(Expr::Number(1)));
        Self { from, len }
    }
}

impl Statement {
    /// All reads of this statement.
    pub(super) fn reads(&self) -> Vec<&Reference> {
        let mut found = Vec::new();
        self.value.reads(&mut found);
        self.target.subscripts.iter().for_each(|subscript| subscript.reads(&mut found));
        found
    }
}

impl Reference {
    /// The position and the text.
    pub(super) fn place(&self) -> (At, &str) {
        (self.at, &self.text)
    }
}

impl If {
    /// All reads of the condition.
    pub(super) fn reads(&self) -> Vec<&Reference> {
        let mut found = Vec::new();
        self.left.reads(&mut found);
        self.right.reads(&mut found);
        found
    }
}

impl Program {
    /// The name of a variable.
    pub(super) fn name(&self, variable: usize) -> &str {
        &self.variables[variable].name
    }

    /// The statements of a loop, including those in inner loops.
    pub(super) fn statements_in(&self, number: usize) -> Vec<usize> {
        let mut found = Vec::new();
        self.gather(&self.loops[number].body, &mut found);
        found
    }

    fn gather(&self, body: &[Node], found: &mut Vec<usize>) {
        for node in body {
            match *node {
                Node::Loop(inner) => self.gather(&self.loops[inner].body, found),
                Node::If(inner) => {
                    self.gather(&self.ifs[inner].then, found);
                    self.gather(&self.ifs[inner].otherwise, found);
                }
                Node::Statement(statement) => found.push(statement),
            }
        }
    }
}
