//! Declarations: constants, parameters, numbers, words, arrays and tables.

use super::{KEYWORDS, LARGEST, Meaning, Parser, Result};
use crate::loops::program::{Expr, Kind, Op, Span, Variable};
use crate::loops::source::{At, Fault};

/// Maximum number of subscripts.
const SUBSCRIPTS: usize = 4;
/// Maximum number of values in all arrays and tables together.
const CELLS: i64 = 1 << 20;

/// The subscript ranges at test sizes, and as declared.
type Dims = (Vec<(i64, i64)>, Vec<Span>);

impl Parser<'_> {
    pub(super) fn declaration(&mut self) -> Result<()> {
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

    /// Parses one name of a declaration.
    pub(super) fn declared(&mut self, what: &str, is_local: bool, declared_at: At) -> Result<()> {
        let (name, at) = self.word()?;
        self.free(&name, at)?;
        let mut spans = Vec::new();
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
            "array" => {
                let dims;
                (dims, spans) = self.dims()?;
                Kind::Array(dims)
            }
            "table" => {
                let (dims, _) = self.dims()?;
                self.expect("=")?;
                let values = self.values(&dims)?;
                Kind::Table(dims, values)
            }
            _ => return Err(Fault::new(declared_at, "`local` is for `int`, `word` and `array`")),
        };
        let number = self.variable(name, kind, is_local);
        self.program.variables[number].spans = spans;
        Ok(())
    }

    pub(super) fn run_of_param(&mut self, at_least: Option<i64>) -> Result<i64> {
        let at = self.at();
        let run = self.number()?;
        match at_least {
            Some(least) if run < least => Err(Fault::new(at, format!("{run} is less than {least}"))),
            _ => Ok(run),
        }
    }

    pub(super) fn variable(&mut self, name: String, kind: Kind, is_local: bool) -> usize {
        let number = self.program.variables.len();
        self.names.insert(name.clone(), Meaning::Variable(number));
        self.program.variables.push(Variable { name, kind, is_local, spans: Vec::new() });
        number
    }

    pub(super) fn free(&self, name: &str, at: At) -> Result<()> {
        if KEYWORDS.contains(&name) || name == Op::RotateLeft.sign() {
            return Err(Fault::new(at, format!("`{name}` is a word of the language: choose another name")));
        }
        if self.names.contains_key(name) {
            return Err(Fault::new(at, format!("`{name}` is declared already")));
        }
        Ok(())
    }

    /// Parses extents, for example `[4][0..n]`: each is a length, or a first and a last subscript.
    pub(super) fn dims(&mut self) -> Result<Dims> {
        let at = self.at();
        let (mut dims, mut spans) = (Vec::new(), Vec::new());
        let mut cells: i64 = 1;
        while self.take_sign("[") {
            let (first, shown) = self.extent()?;
            let (dim, span) = if self.take_sign("..") {
                let (last, shown_last) = self.extent()?;
                ((first, last), Span::between(shown, shown_last))
            } else {
                ((0, first - 1), Span { from: Expr::Number(0), len: shown })
            };
            self.expect("]")?;
            if dim.1 < dim.0 {
                return Err(Fault::new(at, "it has no elements"));
            }
            cells = cells.saturating_mul(dim.1 - dim.0 + 1);
            dims.push(dim);
            spans.push(span);
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
        Ok((dims, spans))
    }

    /// Parses `{1, 2, 3}`.
    pub(super) fn values(&mut self, dims: &[(i64, i64)]) -> Result<Vec<u32>> {
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

    /// Parses a constant number.
    pub(super) fn number(&mut self) -> Result<i64> {
        let (number, _) =
            self.known_number(false, "a number is wanted: made of constants, and at most 2^40")?;
        Ok(number)
    }

    /// Parses a number for an array: its value, with parameters at their value for runs, and the expression.
    pub(super) fn extent(&mut self) -> Result<(i64, Expr)> {
        self.known_number(true, "a number is wanted: made of constants and parameters, and at most 2^40")
    }

    pub(super) fn known_number(&mut self, by_params: bool, wanted: &str) -> Result<(i64, Expr)> {
        let at = self.at();
        let value = self.expression()?;
        let of_symbol = |variable: usize| match self.program.variables[variable].kind {
            Kind::Param { run, .. } if by_params => Some(run),
            _ => None,
        };
        let number = value.known(&of_symbol).filter(|number| number.abs() <= LARGEST);
        Ok((number.ok_or_else(|| Fault::new(at, wanted))?, value))
    }
}

/// Evaluates the sizes of arrays again, with the present values of the parameters.
pub(in crate::loops) fn resized(mut variables: Vec<Variable>) -> std::result::Result<Vec<Variable>, String> {
    let runs: Vec<_> = variables
        .iter()
        .map(|variable| match variable.kind {
            Kind::Param { run, .. } => Some(run),
            _ => None,
        })
        .collect();
    let known =
        |value: &Expr| value.known(&|variable| runs[variable]).filter(|number| number.abs() <= LARGEST);
    let mut all: i64 = 0;
    for variable in &mut variables {
        let mut cells: i64 = 1;
        let mut dims = Vec::new();
        for span in &variable.spans {
            let (Some(from), Some(len)) = (known(&span.from), known(&span.len)) else {
                return Err(format!("the size of `{}` does not fit 2^40", variable.name));
            };
            if len < 1 {
                return Err(format!("`{}` has no elements with these sizes", variable.name));
            }
            cells = cells.saturating_mul(len);
            dims.push((from, from + len - 1));
        }
        if let Kind::Array(old) = &mut variable.kind {
            *old = dims;
        }
        all = all.saturating_add(if variable.dims().is_empty() { 0 } else { cells });
    }
    if all > CELLS {
        return Err(format!("the arrays hold more than {CELLS} words together: choose smaller sizes"));
    }
    Ok(variables)
}
