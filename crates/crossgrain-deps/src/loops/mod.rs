//! Data-dependence analysis of loops that you write in a small language.
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
//! Each line is a declaration, the head of a loop or of a condition, `else`, `end`, or a statement. `#` starts a comment. A line
//! continues after a comma or an opening brace.
//!
//! | line | meaning |
//! |---|---|
//! | `const n = 100` | a number |
//! | `param n >= 1 = 100` | a number unknown to the analysis, except for an optional lower bound; runs use the last number, and emitted programs take others |
//! | `int p = 0` | a number that statements change, for example a pointer |
//! | `word t` | a 32-bit word |
//! | `array a[n], b[0..n][4]` | an array of words; subscripts start from 0, or have a first and a last value |
//! | `table s[4] = {1, 2, 3, 4}` | constant words; their subscripts need not be affine |
//! | `local word t` | a word whose value after the loops is unused; also `int` and `array` |
//! | `for i = 0 to n - 1 step 2` | a loop that ends with `end`; a bound may be `min(…)` or `max(…)` of several |
//! | `if i < n - 1` | a condition that ends with `end`, with `else if …` and `else` before it if needed; also `==`, `!=`, `<=`, `>`, `>=` |
//! | `a[2*i + 1] = rotl(t, 8) ^ a[i]` | a statement; also `+=`, `-=`, `*=`, `^=`, `&=`, `\|=`, `<<=`, `>>=` |
//!
//! Word arithmetic is modulo 2³², with `+ - * ^ & | ~ << >>` and `rotl`. Shift counts are numbers.
//! Subscripts of arrays are affine: sums of counters, parameters and numbers with constant factors, and of
//! `int` variables that every iteration changes by the same amount. A subscript may also be one table entry
//! at affine subscripts. Bounds are affine in counters and parameters.
//!
//! A condition compares two numbers, which are signed, or two words, which are not. If both sides are
//! affine, the analysis is exact. Otherwise it assumes that either branch may run, and that only one runs.
//!
//! # Transformations
//!
//! [`Analysis::transformed`] distributes, interchanges or skews serial loops where this makes loops parallel.
//!
//! # Limits
//!
//! Texts, nests, arrays, the exact test and runs are limited, so every input finishes in moderate time. If
//! the exact test reaches its limit, it reports a dependence and marks it as unknown.

mod affine;
mod analysis;
mod conditional;
mod cover;
mod dependence;
mod emit;
mod memory;
mod parse;
mod profile;
mod program;
mod quick;
mod run;
mod solve;
mod source;
mod transform;
mod verdict;
mod walk;

pub use analysis::{Analysis, Dependence, Looped, Site, Transformed};
pub use dependence::{Decided, Direction, Distance};
pub use emit::Language;
pub use memory::Memory;
pub use profile::Profiled;
pub use program::{DEPTH, Op, Program};
pub use source::{At, Fault};
pub use transform::{Step, Transformation};
