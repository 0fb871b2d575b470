//! Expressions: operators by precedence, and operands.

use super::{KEYWORDS, LARGEST, Meaning, Parser, Result};
use crate::loops::program::{Expr, Kind, Op};
use crate::loops::source::{At, Fault, Kind as Is};

/// Maximum nesting of brackets and unary operators.
const NESTING: usize = 48;
/// Maximum number of operations per line.
const OPERATIONS: usize = 200;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.deeper(|parser| parser.binary(0))
    }

    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == NESTING {
            return Err(Fault::new(self.at(), "this expression nests too deep: give a part of it a name"));
        }
        self.nesting += 1;
        let read = read(self);
        self.nesting -= 1;
        read
    }

    /// Parses operators of at least this precedence: `|`, `^`, `&`, shifts, sums, products.
    pub(super) fn binary(&mut self, rank: usize) -> Result<Expr> {
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

    pub(super) fn shifts_by_a_number(&self, op: Op, by: &Expr, at: At) -> Result<()> {
        let is_shift = matches!(op, Op::ShiftLeft | Op::ShiftRight | Op::RotateLeft);
        if is_shift && !matches!(by, Expr::Number(0..=31)) {
            return Err(Fault::new(at, "words are shifted by a number from 0 to 31"));
        }
        Ok(())
    }

    pub(super) fn unary(&mut self) -> Result<Expr> {
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

    pub(super) fn rotation(&mut self) -> Result<Expr> {
        self.expect("(")?;
        let value = self.expression()?;
        self.expect(",")?;
        let at = self.at();
        let by = self.expression()?;
        self.shifts_by_a_number(Op::RotateLeft, &by, at)?;
        self.expect(")")?;
        Ok(Expr::Binary(Op::RotateLeft, Box::new(value), Box::new(by)))
    }

    pub(super) fn named(&mut self, name: &str, at: At) -> Result<Expr> {
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
