//! Data dependences of your own loops, written in a small language.
//!
//! ```
//! use crossgrain_deps::loops::{Analysis, Program};
//!
//! let program = Program::parse(
//!     "const n = 100
//!      array a[n], b[n]
//!      word t
//!      for i = 1 to n - 1
//!        t = b[i] ^ 5
//!        a[i] = a[i - 1] + t
//!      end",
//! )?;
//! let analysis = Analysis::of(&program)?;
//! let outer = &analysis.loops[0];
//! assert!(!outer.is_parallel());
//! let dependence = &analysis.dependences[outer.hindrances[0]];
//! assert_eq!(dependence.to_string(), "flow on a from 6:8 a[i] to 6:15 a[i-1], distance (1), direction (<)");
//! # Ok::<(), crossgrain_deps::loops::Fault>(())
//! ```
//!
//! # The language
//!
//! A line is a declaration, the head of a loop, `end`, or a statement; `#` begins a comment. After a comma or an opening brace a line goes on.
//!
//! | line | meaning |
//! |---|---|
//! | `const n = 100` | a number |
//! | `param n >= 1 = 100` | a number that the analysis does not know; but for the least if that is given; loops are run with the last |
//! | `int p = 0` | a number that statements change, such as a pointer |
//! | `word t` | a word of 32 bits |
//! | `array a[n], b[0..n][4]` | words by subscripts: from 0, or from and to |
//! | `table s[4] = {1, 2, 3, 4}` | constant words; subscripts may be anything |
//! | `local word t` | the same, whose value after the loops matters to nobody; also `int` and `array` |
//! | `for i = 0 to n - 1 step 2` | a loop up to its `end`; a bound may be `min(…)` or `max(…)` of several |
//! | `a[2*i + 1] = rotl(t, 8) ^ a[i]` | a statement; also `+=`, `-=`, `*=`, `^=`, `&=`, `\|=`, `<<=`, `>>=` |
//!
//! Words are computed modulo 2³² with `+ - * ^ & | ~ << >>` and `rotl`; shifts are by a number. Subscripts of arrays are affine: sums of counters, parameters, numbers
//! with constant factors, and `int` variables that every iteration changes by the same amount; or one entry of a table at such subscripts.
//! Bounds are affine in counters and parameters.
//!
//! # What is bounded
//!
//! Texts, nests, arrays, the exact test and runs all have limits, so every input ends in moderate time. What the exact test cannot decide
//! within its limit counts as a dependence, and says so.

mod affine;
mod analysis;
mod cover;
mod dependence;
mod emit;
mod parse;
mod program;
mod quick;
mod run;
mod solve;
mod source;
mod verdict;
mod walk;

pub use analysis::{Analysis, Dependence, Looped, Site};
pub use dependence::{Decided, Direction, Distance};
pub use emit::Language;
pub use program::{DEPTH, Op, Program};
pub use run::Memory;
pub use source::{At, Fault};
