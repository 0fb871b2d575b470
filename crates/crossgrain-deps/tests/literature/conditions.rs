//! Loops with conditions, and their results.

use super::Known;

pub(crate) const CONDITIONS: &[Known] = &[
    Known {
        name: "if_guards_all_uses",
        text: "param n = 20
               array a[n], b[n]
               local word t
               for i = 0 to n - 1
                 if a[i] < 5000
                   t = b[i] * 3
                   b[i] = t + t
                 end
               end",
        loops: &["parallel; private t"],
    },
    Known {
        name: "if_used_after_the_guard",
        text: "param n = 20
               array a[n], b[n]
               local word t
               for i = 0 to n - 1
                 if a[i] < 2147483648
                   t = b[i] * 3
                 end
                 b[i] = t
               end",
        loops: &["serial: flow t (1..)"],
    },
    Known {
        name: "if_both_branches_write",
        text: "param n >= 1 = 20
               array a[n], b[n]
               word t
               for i = 0 to n - 1
                 if a[i] < 2147483648
                   t = b[i] * 3
                 else
                   t = 7
                 end
                 b[i] = t
               end",
        loops: &["parallel; private t; run the last iteration after all others"],
    },
    Known {
        name: "if_chain",
        text: "param n >= 2 = 20
               array a[n], b[n]
               word t
               for i = 0 to n - 1
                 if i == 0
                   t = a[1]
                 else if i == n - 1
                   t = a[n - 2]
                 else if a[i] < 2147483648
                   t = a[i - 1] ^ a[i + 1]
                 else
                   t = 1
                 end
                 b[i] = t
               end",
        loops: &["parallel; private t; run the last iteration after all others"],
    },
    Known {
        name: "if_first_iteration",
        text: "param n >= 1 = 20
               array a[n], b[n]
               word t
               for i = 0 to n - 1
                 if i == 0
                   t = 3
                 else
                   t = a[i - 1]
                 end
                 b[i] = t
               end",
        loops: &["parallel; private t; run the last iteration after all others"],
    },
    Known {
        name: "if_last_iteration",
        text: "param n = 20
               array a[n]
               word t
               for i = 0 to n - 1
                 if i == n - 1
                   t = a[i]
                 end
               end",
        loops: &["parallel"],
    },
    Known {
        name: "if_last_value_on_words",
        text: "param n = 20
               array a[n]
               word t
               for i = 0 to n - 1
                 if a[i] > 2147483648
                   t = a[i]
                 end
               end",
        loops: &["serial: output t (1..)"],
    },
    Known {
        name: "if_maximum",
        text: "param n = 20
               array a[n]
               word m
               for i = 0 to n - 1
                 if a[i] > m
                   m = a[i]
                 end
               end",
        loops: &["serial: flow m (1..)"],
    },
    Known {
        name: "if_sum",
        text: "param n = 20
               array a[n]
               word s
               for i = 0 to n - 1
                 if a[i] <= 2147483648
                   s += a[i]
                 else
                   s -= 1
                 end
               end",
        loops: &["parallel; reduce s by +"],
    },
    Known {
        name: "if_sum_that_is_tested",
        text: "param n = 20
               array a[n]
               word s
               for i = 0 to n - 1
                 if s != 17
                   s += a[i]
                 end
               end",
        loops: &["serial: flow s (1..)"],
    },
    Known {
        name: "if_halves",
        text: "param n >= 1 = 20
               array a[2*n], b[2*n]
               for i = 0 to 2*n - 1
                 if i < n
                   a[i] = i
                 else
                   b[i] = a[i]
                 end
               end",
        loops: &["parallel"],
    },
    Known {
        name: "if_transposed",
        text: "param n = 9
               array a[n][n]
               for i = 0 to n - 1
                 for j = 0 to n - 1
                   if j < i
                     a[i][j] = a[j][i] + 1
                   end
                 end
               end",
        loops: &["parallel", "parallel"],
    },
    Known {
        name: "if_not_the_diagonal",
        text: "param n = 9
               array a[n][n], x[n]
               for j = 0 to n - 1
                 for i = 0 to n - 1
                   if i != j
                     x[i] = x[i] - a[i][j] * x[j]
                   end
                 end
               end",
        loops: &["serial: flow x (1.., ..-1), flow x (1.., 0), flow x (1.., 1..)", "parallel"],
    },
    Known {
        name: "if_changes_an_integer_in_both_branches",
        text: "param n = 20
               array a[2*n], b[n]
               int p = 0
               for i = 0 to n - 1
                 if b[i] >= 2147483648
                   a[p] = b[i]
                   p = p + 2
                 else
                   p = p + 1
                   a[p] = b[i]
                   p = p + 1
                 end
               end",
        loops: &["parallel; p in closed form, 2 an iteration"],
    },
    Known {
        name: "if_on_an_integer",
        text: "param n >= 1 = 20
               array a[3*n], b[n]
               int p = 0
               for i = 0 to n - 1
                 if p < n
                   a[p] = b[i]
                 else
                   a[p] = a[p - n] + 1
                 end
                 p = p + 2
               end",
        loops: &["serial: flow a (1..)"],
    },
    Known {
        name: "if_loops_in_branches",
        text: "param n >= 1 = 9
               array a[n][n], t[n], s[n]
               for i = 0 to n - 1
                 if s[i] < 2147483648
                   for j = 0 to n - 1
                     t[j] = a[i][j]
                   end
                 else
                   for j = 0 to n - 1
                     t[j] = j
                   end
                 end
                 for j = 0 to n - 1
                   a[i][j] = t[n - 1 - j]
                 end
               end",
        loops: &[
            "parallel; private t; run the last iteration after all others",
            "parallel",
            "parallel",
            "parallel",
        ],
    },
];
