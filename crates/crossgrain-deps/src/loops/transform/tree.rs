//! A program as a tree, which transformations rewrite.

use crate::loops::affine::Affine;
use crate::loops::parse::renumber;
use crate::loops::program::{Expr, If, Loop, Node, Op, Program, Statement, Variable};

/// A part of a body. Loops and conditions leave the bodies in their own data empty.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Loop(Loop, Vec<Tree>),
    If(If, Vec<Tree>, Vec<Tree>),
    Statement(Statement),
}

impl Tree {
    /// The number of loops in it.
    pub(super) fn loops(&self) -> usize {
        match self {
            Self::Loop(_, body) => 1 + body.iter().map(Self::loops).sum::<usize>(),
            Self::If(_, then, otherwise) => then.iter().chain(otherwise).map(Self::loops).sum(),
            Self::Statement(_) => 0,
        }
    }

    /// Substitutes an expression for a counter.
    pub(super) fn put(&mut self, counter: usize, value: &Expr) {
        let put = |expr: &mut Expr| put(expr, counter, value);
        match self {
            Self::Loop(looped, body) => {
                looped.from.iter_mut().chain(&mut looped.to).for_each(put);
                body.iter_mut().for_each(|inner| inner.put(counter, value));
            }
            Self::If(condition, then, otherwise) => {
                [&mut condition.left, &mut condition.right].into_iter().for_each(put);
                then.iter_mut().chain(otherwise).for_each(|inner| inner.put(counter, value));
            }
            Self::Statement(statement) => {
                put(&mut statement.value);
                statement.target.subscripts.iter_mut().for_each(put);
            }
        }
    }
}

fn put(expr: &mut Expr, counter: usize, value: &Expr) {
    match expr {
        Expr::Symbol(symbol) if *symbol == counter => *expr = value.clone(),
        Expr::Number(_) | Expr::Symbol(_) => {}
        Expr::Read(read) => read.subscripts.iter_mut().for_each(|subscript| put(subscript, counter, value)),
        Expr::Negative(inner) | Expr::Not(inner) => put(inner, counter, value),
        Expr::Binary(_, a, b) => {
            put(a, counter, value);
            put(b, counter, value);
        }
    }
}

/// Parts of a program as trees.
pub(super) fn trees(program: &Program, body: &[Node]) -> Vec<Tree> {
    with(program, body, None)
}

/// Parts of a program as trees, with others in the place of a loop.
fn with(program: &Program, body: &[Node], new: Option<(usize, &[Tree])>) -> Vec<Tree> {
    let all = |body: &[Node]| with(program, body, new);
    let trees = body.iter().flat_map(|&node| match (node, new) {
        (Node::Loop(number), Some((replaced, new))) if number == replaced => new.to_vec(),
        (Node::Loop(number), _) => {
            let looped = &program.loops[number];
            vec![Tree::Loop(Loop { body: Vec::new(), ..looped.clone() }, all(&looped.body))]
        }
        (Node::If(number), _) => {
            let condition = &program.ifs[number];
            let (then, otherwise) = (all(&condition.then), all(&condition.otherwise));
            let condition = If { then: Vec::new(), otherwise: Vec::new(), ..condition.clone() };
            vec![Tree::If(condition, then, otherwise)]
        }
        (Node::Statement(number), _) => vec![Tree::Statement(program.statements[number].clone())],
    });
    trees.collect()
}

/// The program with trees in the place of a loop. Loops before it keep their numbers, and the first loop of
/// the trees has the number of the replaced one.
pub(super) fn replaced(program: &Program, variables: Vec<Variable>, number: usize, new: &[Tree]) -> Program {
    let body = with(program, &program.body, Some((number, new)));
    let mut builder = Builder { program: Program { variables, ..Program::default() }, around: Vec::new() };
    builder.program.body = builder.body(body);
    builder.program
}

/// Numbers the parts of trees in text order.
struct Builder {
    program: Program,
    around: Vec<usize>,
}

impl Builder {
    fn body(&mut self, body: Vec<Tree>) -> Vec<Node> {
        body.into_iter().map(|tree| self.node(tree)).collect()
    }

    fn node(&mut self, tree: Tree) -> Node {
        match tree {
            Tree::Loop(looped, body) => {
                let (number, around) = (self.program.loops.len(), self.around.clone());
                self.program.loops.push(Loop { around, ..looped });
                self.around.push(number);
                self.program.loops[number].body = self.body(body);
                self.around.pop();
                Node::Loop(number)
            }
            Tree::If(mut condition, then, otherwise) => {
                renumber(&mut condition.left, &mut self.program.references);
                renumber(&mut condition.right, &mut self.program.references);
                let (number, around) = (self.program.ifs.len(), self.around.clone());
                self.program.ifs.push(If { around, ..condition });
                self.program.ifs[number].then = self.body(then);
                self.program.ifs[number].otherwise = self.body(otherwise);
                Node::If(number)
            }
            Tree::Statement(mut statement) => {
                let mut next = self.program.references;
                renumber(&mut statement.value, &mut next);
                statement.target.subscripts.iter_mut().for_each(|subscript| renumber(subscript, &mut next));
                statement.target.number = next;
                self.program.references = next + 1;
                self.program.statements.push(statement);
                Node::Statement(self.program.statements.len() - 1)
            }
        }
    }
}

/// A bound or a condition as a sum of counters and parameters.
pub(super) fn linear(expr: &Expr) -> Option<Affine> {
    match expr {
        Expr::Number(number) => Some(Affine::number(*number)),
        Expr::Symbol(variable) => Some(Affine::symbol(*variable)),
        Expr::Negative(inner) => linear(inner)?.times(-1),
        Expr::Binary(op, a, b) => {
            let (a, b) = (linear(a)?, linear(b)?);
            match (op, a.known(), b.known()) {
                (Op::Add, ..) => a.plus(1, &b),
                (Op::Subtract, ..) => a.minus(&b),
                (Op::Multiply, Some(factor), _) => b.times(factor),
                (Op::Multiply, _, Some(factor)) => a.times(factor),
                _ => None,
            }
        }
        Expr::Read(_) | Expr::Not(_) => None,
    }
}

/// A sum as an expression.
pub(super) fn expression(sum: &Affine) -> Expr {
    let binary = |op, a, b| Expr::Binary(op, Box::new(a), Box::new(b));
    let term = |symbol: usize, factor: i64| match factor {
        1 => Expr::Symbol(symbol),
        _ => binary(Op::Multiply, Expr::Number(factor), Expr::Symbol(symbol)),
    };
    // Positive terms come first.
    let mut terms: Vec<_> = sum.terms.iter().map(|(&symbol, &factor)| (symbol, factor)).collect();
    terms.sort_by_key(|&(symbol, factor)| (factor < 0, symbol));
    let mut terms = terms.into_iter();
    let Some((symbol, factor)) = terms.next() else { return Expr::Number(sum.constant) };
    let sum_of_terms = terms.fold(term(symbol, factor), |sum, (symbol, factor)| match factor {
        i64::MIN..0 => binary(Op::Subtract, sum, term(symbol, factor.saturating_neg())),
        _ => binary(Op::Add, sum, term(symbol, factor)),
    });
    match sum.constant {
        0 => sum_of_terms,
        i64::MIN..0 => binary(Op::Subtract, sum_of_terms, Expr::Number(sum.constant.saturating_neg())),
        _ => binary(Op::Add, sum_of_terms, Expr::Number(sum.constant)),
    }
}
