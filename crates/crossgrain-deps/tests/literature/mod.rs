//! Loops from the literature on dependence analysis, newly written, with their known results.
#![allow(dead_code, reason = "each test uses its own part of this")]

mod conditions;

pub(crate) use conditions::CONDITIONS;
use crossgrain_deps::loops::{Analysis, Program};

/// A loop nest.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    /// For each loop in text order, the cause that makes it serial, or the treatment that it needs beyond
    /// private counters.
    pub(crate) loops: &'static [&'static str],
}

impl Known {
    pub(crate) fn program(&self) -> Program {
        Program::parse(self.text).unwrap_or_else(|fault| panic!("{}: {fault}", self.name))
    }

    pub(crate) fn analysis(&self) -> Analysis {
        Analysis::of(&self.program()).unwrap_or_else(|fault| panic!("{}: {fault}", self.name))
    }
}

/// `serial: flow a (1)`, or `parallel: private t`.
pub(crate) fn verdicts(analysis: &Analysis) -> Vec<String> {
    let all = analysis.loops.iter().map(|looped| {
        let counters: Vec<_> = analysis.loops.iter().map(|looped| &looped.counter).collect();
        if looped.is_parallel() {
            let mut looped = looped.clone();
            looped.private.retain(|name| !counters.contains(&name));
            return ["parallel".to_owned()].into_iter().chain(looped.steps()).collect::<Vec<_>>().join("; ");
        }
        let of = |&number: &usize| {
            let dependence = &analysis.dependences[number];
            format!("{} {} {}", dependence.kind.name(), dependence.variable, dependence.distance_vector())
        };
        let mut all: Vec<_> = looped.hindrances.iter().map(of).collect();
        all.sort();
        all.dedup();
        format!("serial: {}", all.join(", "))
    });
    all.collect()
}

/// Sources: Banerjee, "Dependence Analysis for Supercomputing" (1988) and "Loop Transformations" (1993);
/// Wolfe, "High Performance Compilers" (1996); Kennedy and Allen, "Optimizing Compilers for Modern
/// Architectures" (2002); Pugh, "The Omega test" (1991); Maslov, "Delinearization" (1992).
pub(crate) const LITERATURE: &[Known] = &[
    Known {
        name: "recurrence",
        text: include_str!("../../examples/loops/recurrence.loops"),
        loops: &["serial: flow a (1)"],
    },
    Known {
        name: "shift",
        text: include_str!("../../examples/loops/shift.loops"),
        loops: &["parallel; copy a for 5:10 a[i+1]"],
    },
    Known {
        name: "last_value",
        text: include_str!("../../examples/loops/last-value.loops"),
        loops: &[
            "parallel; write 5:3 a[0] in the last iteration alone; run the last iteration after all others",
        ],
    },
    Known {
        name: "even_and_odd",
        text: "param n >= 0 = 20
               array a[2*n + 2]
               for i = 0 to n
                 a[2*i] = a[2*i + 1] + 1
               end",
        loops: &["parallel"],
    },
    Known {
        name: "strides_of_three",
        text: "array a[0..130]
               for i = 0 to 20
                 a[3*i + 1] = a[6*i] ^ 7
               end",
        loops: &["parallel"],
    },
    Known {
        name: "halves_by_bounds",
        text: "array a[200]
               for i = 0 to 99
                 a[i] = a[i + 100] + 1
               end",
        loops: &["parallel"],
    },
    Known {
        name: "halves_symbolic",
        text: "param n = 50
               array a[0..2*n]
               for i = 1 to n
                 a[i + n] = a[i]
               end",
        loops: &["parallel"],
    },
    Known {
        name: "offset_symbolic",
        text: "param n >= 1 = 5
               param m = 40
               array a[0..m + n]
               for i = 1 to m
                 a[i] = a[i + n] + 3
               end",
        loops: &["parallel; copy a for 5:25 a[i+n]"],
    },
    Known {
        name: "distance_ten",
        text: "array a[0..110]
               for i = 1 to 100
                 a[i + 10] = a[i] + 1
               end",
        loops: &["serial: flow a (10)"],
    },
    Known {
        name: "doubling",
        text: "array a[0..20]
               for i = 1 to 10
                 a[2*i] = a[i] + 1
               end",
        loops: &["serial: flow a (1..5)"],
    },
    Known {
        name: "reversal",
        text: "array a[0..20]
               for i = 0 to 20
                 a[i] = a[20 - i] + 1
               end",
        loops: &["serial: flow a (2..20)"],
    },
    Known {
        name: "wavefront",
        text: "param n >= 2 = 9
               array a[n][n]
               for i = 1 to n - 1
                 for j = 1 to n - 1
                   a[i][j] = a[i - 1][j] + a[i][j - 1]
                 end
               end",
        loops: &["serial: flow a (1, 0)", "serial: flow a (0, 1)"],
    },
    Known {
        name: "no_interchange",
        text: "param n = 9
               array a[n][0..n]
               for i = 1 to n - 1
                 for j = 0 to n - 1
                   a[i][j] = a[i - 1][j + 1] * 3
                 end
               end",
        loops: &["serial: flow a (1, -1)", "parallel"],
    },
    Known {
        name: "diagonal",
        text: "param n = 9
               array a[n][n]
               for i = 1 to n - 1
                 for j = 1 to n - 1
                   a[i][j] = a[i - 1][j - 1] + 1
                 end
               end",
        loops: &["serial: flow a (1, 1)", "parallel"],
    },
    Known {
        name: "rows",
        text: "param n = 9
               array a[n][0..n]
               for i = 0 to n - 1
                 for j = 0 to n - 1
                   a[i][j + 1] = a[i][j] + 1
                 end
               end",
        loops: &["parallel", "serial: flow a (0, 1)"],
    },
    Known {
        name: "matrix_product",
        text: "param n = 7
               array a[n][n], b[n][n], c[n][n]
               for i = 0 to n - 1
                 for j = 0 to n - 1
                   c[i][j] = 0
                   for k = 0 to n - 1
                     c[i][j] += a[i][k] * b[k][j]
                   end
                 end
               end",
        loops: &["parallel", "parallel", "parallel; reduce c by +"],
    },
    Known {
        name: "transposition",
        text: "param n = 9
               array a[n][n]
               local word t
               for i = 0 to n - 1
                 for j = i + 1 to n - 1
                   t = a[i][j]
                   a[i][j] = a[j][i]
                   a[j][i] = t
                 end
               end",
        loops: &["parallel; private t", "parallel; private t"],
    },
    Known {
        name: "scalar_expansion",
        text: "param n = 30
               array a[n], b[n]
               word t
               for i = 0 to n - 1
                 t = a[i] + 1
                 b[i] = t * t
               end",
        loops: &["parallel; private t; run the last iteration after all others"],
    },
    Known {
        name: "induction",
        text: "param n = 30
               array a[0..2*n], b[n]
               int j = 0
               for i = 0 to n - 1
                 j = j + 2
                 a[j] = b[i]
               end",
        loops: &["parallel; j in closed form, 2 an iteration"],
    },
    Known {
        name: "induction_across_loops",
        text: "array a[60], b[60]
               int p = 0
               for i = 0 to 9
                 for j = 0 to 5
                   a[p] = b[p] + 1
                   p = p + 1
                 end
               end",
        loops: &["parallel; p in closed form, 6 an iteration", "parallel; p in closed form, 1 an iteration"],
    },
    Known {
        name: "inner_product",
        text: "param n = 30
               array a[n], b[n]
               word s
               for i = 0 to n - 1
                 s = s + a[i] * b[i]
               end",
        loops: &["parallel; reduce s by +"],
    },
    Known {
        name: "prefix_sums",
        text: "param n = 30
               array a[n], b[n]
               word s
               for i = 0 to n - 1
                 s = s + a[i]
                 b[i] = s
               end",
        loops: &["serial: flow s (1..)"],
    },
    Known {
        name: "column_sums",
        text: "param n = 8
               param m = 6
               array a[m], b[n][m]
               for i = 0 to n - 1
                 for j = 0 to m - 1
                   a[j] = a[j] + b[i][j]
                 end
               end",
        loops: &["parallel; reduce a by +", "parallel"],
    },
    Known {
        name: "coupled",
        text: "param n = 9
               array a[0..n][0..n + 1]
               for i = 0 to n - 1
                 a[i + 1][i + 2] = a[i][i] + 1
               end",
        loops: &["parallel"],
    },
    Known {
        name: "dark_shadow",
        text: "array b[0..46][-10..4], c[-200..400][-200..200]
               for x = -6 to 8
                 for y = -6 to 8
                   c[11*x + 13*y][7*x - 9*y] = 1
                   for u = 27 to 45
                     for v = -10 to 4
                       b[u][v] = c[u][v]
                     end
                   end
                 end
               end",
        loops: &[
            "parallel; write 7:24 b[u][v] in the last iteration alone; run the last iteration after all others",
            "parallel; write 7:24 b[u][v] in the last iteration alone; run the last iteration after all others",
            "parallel",
            "parallel",
        ],
    },
    Known {
        name: "elimination",
        text: "param n = 8
               array a[n][n]
               for k = 0 to n - 2
                 for i = k + 1 to n - 1
                   for j = k + 1 to n - 1
                     a[i][j] = a[i][j] - a[i][k] * a[k][j]
                   end
                 end
               end",
        loops: &[
            "serial: flow a (1.., 0, 0), flow a (1.., 0, 1..), flow a (1.., 1.., 0)",
            "parallel",
            "parallel",
        ],
    },
    Known {
        name: "two_grids",
        text: "param n = 20
               array a[n], b[n]
               for t = 1 to 5
                 for i = 1 to n - 2
                   b[i] = a[i - 1] + a[i + 1]
                 end
                 for i = 1 to n - 2
                   a[i] = b[i]
                 end
               end",
        loops: &["serial: flow a (1..4)", "parallel", "parallel"],
    },
    Known {
        name: "red_and_black",
        text: "array a[0..40]
               for i = 1 to 39 step 2
                 a[i] = a[i - 1] + a[i + 1]
               end
               for i = 2 to 38 step 2
                 a[i] = a[i - 1] + a[i + 1]
               end",
        loops: &["parallel", "parallel"],
    },
    Known {
        name: "cycle_of_two",
        text: "param n = 20
               array a[0..n], b[0..n]
               for i = 0 to n - 1
                 a[i + 1] = b[i] + 1
                 b[i + 1] = a[i] + 2
               end",
        loops: &["serial: flow a (1), flow b (1)"],
    },
    Known {
        name: "distributable",
        text: "param n = 20
               array a[n], b[n], c[n]
               for i = 1 to n - 1
                 a[i] = b[i] + 1
                 c[i] = a[i - 1] * 2
               end",
        loops: &["serial: flow a (1)"],
    },
    Known {
        name: "private_array",
        text: "param n = 9
               param m >= 1 = 6
               array b[n][m], c[n][m], t[m]
               for i = 0 to n - 1
                 for j = 0 to m - 1
                   t[j] = b[i][j] + 1
                 end
                 for j = 0 to m - 1
                   c[i][j] = t[m - 1 - j]
                 end
               end",
        loops: &["parallel; private t; run the last iteration after all others", "parallel", "parallel"],
    },
    Known {
        name: "backwards",
        text: "param n = 20
               array a[n]
               for i = n - 1 to 1 step -1
                 a[i] = a[i - 1]
               end",
        loops: &["parallel; copy a for 4:25 a[i-1]"],
    },
    Known {
        name: "antidiagonals",
        text: "param n = 6
               array a[2*n], b[n]
               for i = 0 to n - 1
                 for j = 0 to n - 1
                   a[i + j] = b[i]
                 end
               end",
        loops: &["serial: output a (1.., ..-1)", "parallel"],
    },
    Known {
        name: "delinearized",
        text: "array a[0..110]
               for i = 0 to 9
                 for j = 0 to 4
                   a[10*i + j] = a[10*i + j + 5] + 1
                 end
               end",
        loops: &["parallel", "parallel"],
    },
    Known {
        name: "linearized",
        text: "array a[0..110]
               for i = 0 to 9
                 for j = 0 to 9
                   a[10*i + j + 1] = a[10*i + j] + 1
                 end
               end",
        loops: &["serial: flow a (1, -9)", "serial: flow a (0, 1)"],
    },
    Known {
        name: "tiled",
        text: "param n = 30
               array a[n], b[n]
               for t = 0 to n - 1 step 8
                 for i = t to min(t + 7, n - 1)
                   a[i] = b[i] + a[i]
                 end
               end",
        loops: &["parallel", "parallel"],
    },
];
