//! The parser. Every name must be declared before use, and every fault has its place.

mod declare;
mod value;

use std::collections::HashMap;

pub(super) use declare::resized;

use super::program::{Comparison, DEPTH, Expr, If, Kind, Loop, Node, Op, Program, Reference, Statement};
use super::source::{At, Fault, Kind as Is, Token, quoted, tokens};

/// Maximum number of statements and loops together.
const STATEMENTS: usize = 300;
/// Maximum magnitude of numbers in a program. Products of a few of them fit 64 bits.
pub(super) const LARGEST: i64 = 1 << 40;

/// Maximum depth of nested conditions.
const CONDITIONS: usize = 8;

const KEYWORDS: [&str; 15] = [
    "const", "param", "int", "word", "array", "table", "local", "for", "to", "step", "if", "else", "end",
    "min", "max",
];

type Result<T> = std::result::Result<T, Fault>;

/// The word that closes a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closed {
    End,
    Else,
    /// `else if`, which shares its `end` with the first `if`.
    ElseIf,
}

/// The block that `end` or `else` closes.
#[derive(Clone, Copy)]
enum Opened {
    Loop,
    Then,
    Else,
}

/// The present meaning of a name.
#[derive(Clone, Copy)]
enum Meaning {
    Const(i64),
    Variable(usize),
}

pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    next: usize,
    names: HashMap<String, Meaning>,
    around: Vec<usize>,
    /// Number of conditions around the present line.
    conditions: usize,
    cells: i64,
    nesting: usize,
    /// Number of operations in this line.
    operations: usize,
    program: Program,
}

/// Parses a program.
pub(super) fn parse(text: &str) -> Result<Program> {
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        next: 0,
        names: HashMap::new(),
        around: Vec::new(),
        conditions: 0,
        cells: 0,
        nesting: 0,
        operations: 0,
        program: Program::default(),
    };
    let (body, _) = parser.body(None)?;
    parser.program.body = body;
    Ok(parser.program)
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        // The last token is `End`, which is never consumed.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn at(&self) -> At {
        self.peek().at
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek().kind, Is::Sign(here) if here == sign)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let is = self.is_sign(sign);
        self.next += usize::from(is);
        is
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.peek().kind, Is::Name(here) if here == word)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.next += usize::from(is);
        is
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.unlike(&format!("`{sign}`"))) }
    }

    fn unlike(&self, wanted: &str) -> Fault {
        Fault::new(self.at(), format!("{wanted} is wanted here, not {}", self.peek().kind))
    }

    fn line_ends(&mut self) -> Result<()> {
        match self.peek().kind {
            Is::Line => {
                self.next += 1;
                Ok(())
            }
            Is::End => Ok(()),
            _ => Err(self.unlike("the end of the line")),
        }
    }

    /// Takes a name.
    fn word(&mut self) -> Result<(String, At)> {
        let Token { kind: Is::Name(name), at, .. } = self.peek().clone() else {
            return Err(self.unlike("a name"));
        };
        self.next += 1;
        Ok((name, at))
    }

    /// Parses lines until the `end` or `else` of the loop or condition at `opened`, or until the end of the
    /// text.
    fn body(&mut self, opened: Option<(At, Opened)>) -> Result<(Vec<Node>, Closed)> {
        let mut body = Vec::new();
        loop {
            match (&self.peek().kind, opened) {
                (Is::End, None) => return Ok((body, Closed::End)),
                (Is::End, Some((at, Opened::Loop))) => return Err(Fault::new(at, "this loop has no `end`")),
                (Is::End, Some((at, _))) => return Err(Fault::new(at, "this condition has no `end`")),
                (Is::Line, _) => self.next += 1,
                (Is::Name(name), Some(_)) if name == "end" => {
                    self.next += 1;
                    self.line_ends()?;
                    return Ok((body, Closed::End));
                }
                (Is::Name(name), Some((_, Opened::Then))) if name == "else" => {
                    self.next += 1;
                    if self.is_word("if") {
                        return Ok((body, Closed::ElseIf));
                    }
                    self.line_ends()?;
                    return Ok((body, Closed::Else));
                }
                _ => body.extend(self.line()?),
            }
        }
    }

    fn line(&mut self) -> Result<Option<Node>> {
        let Token { kind: Is::Name(first), at, .. } = self.peek().clone() else {
            return Err(self.unlike("a declaration, a loop or a statement"));
        };
        let Program { statements, loops, ifs, .. } = &self.program;
        if statements.len() + loops.len() + ifs.len() > STATEMENTS {
            let message = format!(
                "more than {STATEMENTS} lines of statements and loops: take the loops in question alone"
            );
            return Err(Fault::new(at, message));
        }
        self.operations = 0;
        match first.as_str() {
            "for" => return self.looped().map(Some),
            "if" => return self.condition().map(Some),
            "const" | "param" | "int" | "word" | "array" | "table" | "local" => self.declaration()?,
            "end" => return Err(Fault::new(at, "`end` without a loop")),
            "else" => return Err(Fault::new(at, "`else` without an `if`")),
            _ => return self.statement().map(Some),
        }
        Ok(None)
    }

    fn looped(&mut self) -> Result<Node> {
        let at = self.at();
        self.next += 1;
        if self.around.len() == DEPTH {
            return Err(Fault::new(at, format!("loops nest at most {DEPTH} deep")));
        }
        let (name, named_at) = self.word()?;
        self.free(&name, named_at)?;
        self.expect("=")?;
        let from = self.bounds()?;
        if !self.is_word("to") {
            return Err(Fault::new(at, "this loop has no bound: write `for i = first to last`"));
        }
        self.next += 1;
        let to = self.bounds()?;
        let step_at = self.at();
        let step = if self.take_word("step") { self.number()? } else { 1 };
        self.line_ends()?;
        if step == 0 {
            return Err(Fault::new(step_at, "a step of 0 never comes to the end"));
        }
        if step.abs() != 1 && from.len() > 1 {
            return Err(Fault::new(step_at, "with a step, give the first number without `min` or `max`"));
        }
        let number = self.program.loops.len();
        let counter = self.variable(name.clone(), Kind::Counter, true);
        let around = self.around.clone();
        self.program.loops.push(Loop { counter, from, to, step, at, around, body: Vec::new() });
        self.around.push(number);
        self.program.loops[number].body = self.body(Some((at, Opened::Loop)))?.0;
        self.around.pop();
        self.names.remove(&name);
        Ok(Node::Loop(number))
    }

    /// Parses `if left < right … else … end`.
    fn condition(&mut self) -> Result<Node> {
        let at = self.at();
        self.next += 1;
        if self.conditions == CONDITIONS {
            return Err(Fault::new(at, format!("conditions nest at most {CONDITIONS} deep")));
        }
        let mut left = self.expression()?;
        let is = Comparison::ALL.into_iter().find(|is| self.is_sign(is.sign()));
        let is = is.ok_or_else(|| self.unlike("a comparison, as in `if a[i] < 5`"))?;
        self.next += 1;
        let mut right = self.expression()?;
        self.line_ends()?;
        renumber(&mut left, &mut self.program.references);
        renumber(&mut right, &mut self.program.references);
        let (number, around, cost) = (self.program.ifs.len(), self.around.clone(), self.operations + 1);
        let (then, otherwise) = (Vec::new(), Vec::new());
        self.program.ifs.push(If { left, is, right, at, around, then, otherwise, cost });
        self.conditions += 1;
        let (then, closed) = self.body(Some((at, Opened::Then)))?;
        self.program.ifs[number].then = then;
        self.program.ifs[number].otherwise = match closed {
            Closed::End => Vec::new(),
            Closed::Else => self.body(Some((at, Opened::Else)))?.0,
            Closed::ElseIf => vec![self.condition()?],
        };
        self.conditions -= 1;
        Ok(Node::If(number))
    }

    /// Parses a bound, or several in `min(a, b)` or `max(a, b)`.
    fn bounds(&mut self) -> Result<Vec<Expr>> {
        if !(self.take_word("min") || self.take_word("max")) {
            return Ok(vec![self.bound()?]);
        }
        self.expect("(")?;
        let mut bounds = vec![self.bound()?];
        while self.take_sign(",") {
            bounds.push(self.bound()?);
        }
        self.expect(")")?;
        Ok(bounds)
    }

    fn bound(&mut self) -> Result<Expr> {
        let at = self.at();
        let bound = self.expression()?;
        let mut reads = Vec::new();
        bound.reads(&mut reads);
        if let Some(read) = reads.first() {
            let message = format!(
                "the bound reads `{}`, so the loop may run for ever: use numbers, parameters and counters",
                quoted(&read.text)
            );
            return Err(Fault::new(read.at, message));
        }
        if !bound.is_int(&self.program) {
            return Err(Fault::new(at, "a bound is a sum of numbers, parameters and counters"));
        }
        Ok(bound)
    }

    fn statement(&mut self) -> Result<Node> {
        let mut target = self.reference()?;
        if matches!(self.program.variables[target.variable].kind, Kind::Table(..)) {
            return Err(Fault::new(
                target.at,
                format!("`{}` is a table, which is constant", quoted(&target.text)),
            ));
        }
        let op = match self.peek().kind {
            Is::Sign("=") => None,
            Is::Sign("+=") => Some(Op::Add),
            Is::Sign("-=") => Some(Op::Subtract),
            Is::Sign("*=") => Some(Op::Multiply),
            Is::Sign("^=") => Some(Op::Xor),
            Is::Sign("&=") => Some(Op::And),
            Is::Sign("|=") => Some(Op::Or),
            Is::Sign("<<=") => Some(Op::ShiftLeft),
            Is::Sign(">>=") => Some(Op::ShiftRight),
            _ => return Err(self.unlike("`=`")),
        };
        self.next += 1;
        let value_at = self.at();
        let mut value = self.expression()?;
        if let Some(op) = op {
            self.shifts_by_a_number(op, &value, value_at)?;
            value = Expr::Binary(op, Box::new(Expr::Read(target.clone())), Box::new(value));
        }
        self.line_ends()?;
        if self.program.variables[target.variable].is_int() && !value.is_int(&self.program) {
            return Err(Fault::new(
                value_at,
                format!("`{}` is a number, and this is a word", quoted(&target.text)),
            ));
        }
        let mut number = self.program.references;
        renumber(&mut value, &mut number);
        target.subscripts.iter_mut().for_each(|subscript| renumber(subscript, &mut number));
        target.number = number;
        self.program.references = number + 1;
        let cost = self.operations + 1;
        self.program.statements.push(Statement { target, value, cost });
        Ok(Node::Statement(self.program.statements.len() - 1))
    }

    /// Parses a variable with all its subscripts, which may be assigned to or read.
    fn reference(&mut self) -> Result<Reference> {
        let start = self.peek().bytes.start;
        let (name, at) = self.word()?;
        let variable = match self.names.get(&name) {
            Some(Meaning::Variable(variable)) => *variable,
            Some(Meaning::Const(_)) => return Err(Fault::new(at, format!("`{name}` is constant"))),
            None => return Err(self.unknown(&name, at)),
        };
        if matches!(self.program.variables[variable].kind, Kind::Param { .. } | Kind::Counter) {
            return Err(Fault::new(at, format!("`{name}` cannot be assigned to")));
        }
        let mut subscripts = Vec::new();
        while self.take_sign("[") {
            subscripts.push(self.expression()?);
            self.expect("]")?;
        }
        let wanted = self.program.variables[variable].dims().len();
        if subscripts.len() != wanted {
            let message = format!("`{name}` has {wanted} subscripts, and here {}", subscripts.len());
            return Err(Fault::new(at, message));
        }
        let end = self.tokens[self.next - 1].bytes.end;
        let text = self.text[start..end].split_whitespace().collect();
        Ok(Reference { number: 0, variable, subscripts, at, text })
    }

    fn unknown(&self, name: &str, at: At) -> Fault {
        let message = format!(
            "`{name}` is not declared: declare it before, as const, param, int, word, array or table"
        );
        Fault::new(at, message)
    }
}

/// Numbers the reads of a value in order of execution.
pub(super) fn renumber(value: &mut Expr, number: &mut usize) {
    match value {
        Expr::Number(_) | Expr::Symbol(_) => {}
        Expr::Read(read) => {
            read.subscripts.iter_mut().for_each(|subscript| renumber(subscript, number));
            read.number = *number;
            *number += 1;
        }
        Expr::Negative(inner) | Expr::Not(inner) => renumber(inner, number),
        Expr::Binary(_, a, b) => {
            renumber(a, number);
            renumber(b, number);
        }
    }
}
