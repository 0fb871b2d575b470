//! From text to a program: every name is declared before it is used, and every fault has its place.

use std::collections::HashMap;

use super::program::{DEPTH, Expr, Kind, Loop, Node, Op, Program, Reference, Statement, Variable};
use super::source::{At, Fault, Kind as Is, Token, tokens};

/// Deepest nest of brackets and signs in an expression.
const NESTING: usize = 48;
/// Most operations in a line.
const OPERATIONS: usize = 200;
/// Most statements, and most loops.
const STATEMENTS: usize = 300;
/// Most values that all arrays and tables hold together.
const CELLS: i64 = 1 << 20;
/// Most subscripts.
const SUBSCRIPTS: usize = 4;
/// Numbers in a program are at most this: products of a few of them fit 64 bits.
const LARGEST: i64 = 1 << 40;

const KEYWORDS: [&str; 13] =
    ["const", "param", "int", "word", "array", "table", "local", "for", "to", "step", "end", "min", "max"];

type Result<T> = std::result::Result<T, Fault>;

/// What a name means where the parser is.
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
    cells: i64,
    nesting: usize,
    /// Operations in this line.
    operations: usize,
    program: Program,
}

/// Reads a program.
pub(super) fn parse(text: &str) -> Result<Program> {
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        next: 0,
        names: HashMap::new(),
        around: Vec::new(),
        cells: 0,
        nesting: 0,
        operations: 0,
        program: Program::default(),
    };
    let body = parser.body(None)?;
    parser.program.body = body;
    Ok(parser.program)
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        // The last token is the end, which is never taken.
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

    fn take_word(&mut self, word: &str) -> bool {
        let is = matches!(&self.peek().kind, Is::Name(here) if here == word);
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

    /// A name as it is written.
    fn word(&mut self) -> Result<(String, At)> {
        let Token { kind: Is::Name(name), at, .. } = self.peek().clone() else {
            return Err(self.unlike("a name"));
        };
        self.next += 1;
        Ok((name, at))
    }

    /// Lines up to the `end` of the loop at `opened`, or up to the end of the text.
    fn body(&mut self, opened: Option<At>) -> Result<Vec<Node>> {
        let mut body = Vec::new();
        loop {
            match (&self.peek().kind, opened) {
                (Is::End, None) => return Ok(body),
                (Is::End, Some(at)) => return Err(Fault::new(at, "this loop has no `end`")),
                (Is::Line, _) => self.next += 1,
                (Is::Name(name), Some(_)) if name == "end" => {
                    self.next += 1;
                    self.line_ends()?;
                    return Ok(body);
                }
                _ => body.extend(self.line()?),
            }
        }
    }

    fn line(&mut self) -> Result<Option<Node>> {
        let Token { kind: Is::Name(first), at, .. } = self.peek().clone() else {
            return Err(self.unlike("a declaration, a loop or a statement"));
        };
        if self.program.statements.len() + self.program.loops.len() > STATEMENTS {
            let message = format!(
                "more than {STATEMENTS} lines of statements and loops: take the loops in question alone"
            );
            return Err(Fault::new(at, message));
        }
        self.operations = 0;
        match first.as_str() {
            "for" => return self.looped().map(Some),
            "const" | "param" | "int" | "word" | "array" | "table" | "local" => self.declaration()?,
            "end" => return Err(Fault::new(at, "`end` without a loop")),
            _ => return self.statement().map(Some),
        }
        Ok(None)
    }

    fn declaration(&mut self) -> Result<()> {
        let (mut what, at) = self.word()?;
        if !self.around.is_empty() {
            return Err(Fault::new(at, "declare it before the loops"));
        }
        let is_local = what == "local";
        if is_local {
            what = self.word()?.0;
        }
        loop {
            self.declared(&what, is_local, at)?;
            if !self.take_sign(",") {
                return self.line_ends();
            }
        }
    }

    /// One name of a declaration.
    fn declared(&mut self, what: &str, is_local: bool, declared_at: At) -> Result<()> {
        let (name, at) = self.word()?;
        self.free(&name, at)?;
        let kind = match what {
            "const" => {
                self.expect("=")?;
                let number = self.number()?;
                self.names.insert(name, Meaning::Const(number));
                return Ok(());
            }
            "param" => {
                let at_least = if self.take_sign(">=") { Some(self.number()?) } else { None };
                self.expect("=")?;
                Kind::Param { at_least, run: self.run_of_param(at_least)? }
            }
            "int" => Kind::Int(if self.take_sign("=") { self.number()? } else { 0 }),
            "word" => Kind::Word,
            "array" => Kind::Array(self.dims()?),
            "table" => {
                let dims = self.dims()?;
                self.expect("=")?;
                let values = self.values(&dims)?;
                Kind::Table(dims, values)
            }
            _ => return Err(Fault::new(declared_at, "`local` is for `int`, `word` and `array`")),
        };
        self.variable(name, kind, is_local);
        Ok(())
    }

    fn run_of_param(&mut self, at_least: Option<i64>) -> Result<i64> {
        let at = self.at();
        let run = self.number()?;
        match at_least {
            Some(least) if run < least => Err(Fault::new(at, format!("{run} is less than {least}"))),
            _ => Ok(run),
        }
    }

    fn variable(&mut self, name: String, kind: Kind, is_local: bool) -> usize {
        let number = self.program.variables.len();
        self.names.insert(name.clone(), Meaning::Variable(number));
        self.program.variables.push(Variable { name, kind, is_local });
        number
    }

    fn free(&self, name: &str, at: At) -> Result<()> {
        if KEYWORDS.contains(&name) || name == Op::RotateLeft.sign() {
            return Err(Fault::new(at, format!("`{name}` is a word of the language: choose another name")));
        }
        if self.names.contains_key(name) {
            return Err(Fault::new(at, format!("`{name}` is declared already")));
        }
        Ok(())
    }

    /// `[4][0..n]`: an extent, or the first and the last subscript.
    fn dims(&mut self) -> Result<Vec<(i64, i64)>> {
        let at = self.at();
        let mut dims = Vec::new();
        let mut cells: i64 = 1;
        while self.take_sign("[") {
            let first = self.extent()?;
            let dim = if self.take_sign("..") { (first, self.extent()?) } else { (0, first - 1) };
            self.expect("]")?;
            if dim.1 < dim.0 {
                return Err(Fault::new(at, "it has no elements"));
            }
            cells = cells.saturating_mul(dim.1 - dim.0 + 1);
            dims.push(dim);
        }
        self.cells = self.cells.saturating_add(cells);
        if dims.is_empty() || dims.len() > SUBSCRIPTS {
            return Err(Fault::new(
                at,
                format!("1 to {SUBSCRIPTS} extents are wanted, as in `[n]` or `[4][0..n]`"),
            ));
        }
        if self.cells > CELLS {
            return Err(Fault::new(
                at,
                format!("the arrays hold more than {CELLS} words together: make them smaller"),
            ));
        }
        Ok(dims)
    }

    /// `{1, 2, 3}`.
    fn values(&mut self, dims: &[(i64, i64)]) -> Result<Vec<u32>> {
        let (wanted, opened) = (dims.iter().map(|(from, to)| to - from + 1).product::<i64>(), self.at());
        let mut values = Vec::new();
        self.expect("{")?;
        while !self.take_sign("}") {
            let at = self.at();
            let word = u32::try_from(self.number()?);
            values.push(word.map_err(|_| Fault::new(at, "a word of 32 bits is wanted"))?);
            if !self.take_sign(",") && !self.is_sign("}") {
                return Err(self.unlike("`,` or `}`"));
            }
        }
        if values.len() as i64 != wanted {
            return Err(Fault::new(opened, format!("{wanted} words are wanted, not {}", values.len())));
        }
        Ok(values)
    }

    /// A number that is known: made of numbers and constants.
    fn number(&mut self) -> Result<i64> {
        self.known_number(false, "a number is wanted: made of constants, and at most 2^40")
    }

    /// Likewise, for an array: parameters count as what they are where the loops are run.
    fn extent(&mut self) -> Result<i64> {
        self.known_number(true, "a number is wanted: made of constants and parameters, and at most 2^40")
    }

    fn known_number(&mut self, by_params: bool, wanted: &str) -> Result<i64> {
        let at = self.at();
        let value = self.expression()?;
        let number = self.known(&value, by_params).filter(|number| number.abs() <= LARGEST);
        number.ok_or_else(|| Fault::new(at, wanted))
    }

    fn known(&self, value: &Expr, by_params: bool) -> Option<i64> {
        match value {
            Expr::Number(number) => Some(*number),
            Expr::Symbol(variable) => match self.program.variables[*variable].kind {
                Kind::Param { run, .. } if by_params => Some(run),
                _ => None,
            },
            Expr::Negative(inner) => self.known(inner, by_params)?.checked_neg(),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.known(a, by_params)?, self.known(b, by_params)?);
                match op {
                    Op::Add => a.checked_add(b),
                    Op::Subtract => a.checked_sub(b),
                    Op::Multiply => a.checked_mul(b),
                    _ => None,
                }
            }
            Expr::Read(_) | Expr::Not(_) => None,
        }
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
        if !matches!(&self.peek().kind, Is::Name(name) if name == "to") {
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
        self.program.loops[number].body = self.body(Some(at))?;
        self.around.pop();
        self.names.remove(&name);
        Ok(Node::Loop(number))
    }

    /// A bound, or the tightest of several: `min(a, b)` or `max(a, b)`.
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
                read.text
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
            return Err(Fault::new(target.at, format!("`{}` is a table, which is constant", target.text)));
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
            return Err(Fault::new(value_at, format!("`{}` is a number, and this is a word", target.text)));
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

    /// A variable that can be assigned to, or read, with all its subscripts.
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

    fn expression(&mut self) -> Result<Expr> {
        self.deeper(|parser| parser.binary(0))
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == NESTING {
            return Err(Fault::new(self.at(), "this expression nests too deep: give a part of it a name"));
        }
        self.nesting += 1;
        let read = read(self);
        self.nesting -= 1;
        read
    }

    /// Operations of at least this rank: `|`, `^`, `&`, shifts, sums, products.
    fn binary(&mut self, rank: usize) -> Result<Expr> {
        const RANKS: [&[Op]; 6] = [
            &[Op::Or],
            &[Op::Xor],
            &[Op::And],
            &[Op::ShiftLeft, Op::ShiftRight],
            &[Op::Add, Op::Subtract],
            &[Op::Multiply],
        ];
        let Some(ops) = RANKS.get(rank) else { return self.unary() };
        let mut value = self.binary(rank + 1)?;
        while let Some(op) = ops.iter().copied().find(|op| self.is_sign(op.sign())) {
            self.next += 1;
            let at = self.at();
            self.operations += 1;
            if self.operations > OPERATIONS {
                return Err(Fault::new(at, "this line is too long: give a part of it a name"));
            }
            let right = self.binary(rank + 1)?;
            self.shifts_by_a_number(op, &right, at)?;
            value = Expr::Binary(op, Box::new(value), Box::new(right));
        }
        Ok(value)
    }

    fn shifts_by_a_number(&self, op: Op, by: &Expr, at: At) -> Result<()> {
        let is_shift = matches!(op, Op::ShiftLeft | Op::ShiftRight | Op::RotateLeft);
        if is_shift && !matches!(by, Expr::Number(0..=31)) {
            return Err(Fault::new(at, "words are shifted by a number from 0 to 31"));
        }
        Ok(())
    }

    fn unary(&mut self) -> Result<Expr> {
        let at = self.at();
        if self.take_sign("-") {
            return Ok(match self.deeper(Self::unary)? {
                Expr::Number(number) => Expr::Number(-number),
                inner => Expr::Negative(Box::new(inner)),
            });
        }
        if self.take_sign("~") {
            return self.deeper(Self::unary).map(|inner| Expr::Not(Box::new(inner)));
        }
        if self.take_sign("(") {
            let inner = self.expression()?;
            return self.expect(")").map(|()| inner);
        }
        if self.take_word(Op::RotateLeft.sign()) {
            return self.rotation();
        }
        match self.peek().kind.clone() {
            Is::Number(number) if number <= LARGEST => {
                self.next += 1;
                Ok(Expr::Number(number))
            }
            Is::Number(_) => Err(Fault::new(at, "numbers are at most 2^40")),
            Is::Name(name) => self.named(&name, at),
            _ => Err(self.unlike("a value")),
        }
    }

    fn rotation(&mut self) -> Result<Expr> {
        self.expect("(")?;
        let value = self.expression()?;
        self.expect(",")?;
        let at = self.at();
        let by = self.expression()?;
        self.shifts_by_a_number(Op::RotateLeft, &by, at)?;
        self.expect(")")?;
        Ok(Expr::Binary(Op::RotateLeft, Box::new(value), Box::new(by)))
    }

    fn named(&mut self, name: &str, at: At) -> Result<Expr> {
        match self.names.get(name) {
            Some(Meaning::Const(number)) => {
                self.next += 1;
                Ok(Expr::Number(*number))
            }
            Some(&Meaning::Variable(variable))
                if matches!(self.program.variables[variable].kind, Kind::Param { .. } | Kind::Counter) =>
            {
                self.next += 1;
                Ok(Expr::Symbol(variable))
            }
            Some(Meaning::Variable(_)) => self.reference().map(Expr::Read),
            None if KEYWORDS.contains(&name) => Err(self.unlike("a value")),
            None => Err(self.unknown(name, at)),
        }
    }
}

/// Numbers the reads of a value in the order in which they take place.
fn renumber(value: &mut Expr, number: &mut usize) {
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
