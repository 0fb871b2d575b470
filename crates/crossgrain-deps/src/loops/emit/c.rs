//! The fixed parts of emitted C programs.

/// Before the declarations.
pub(super) const HEAD: &str = r#"/* Written by `crossgrain deps`. Names of the loops begin with `my_`.
   Compile with `cc -O2 -fopenmp`, and run as `./program [NAME=VALUE]...`.
   It fails if the serial and the parallel version differ, and otherwise prints the times of both. */
#ifndef _OPENMP
#error "compile with -fopenmp: without it, both versions are serial"
#endif
#include <errno.h>
#include <inttypes.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define refuse(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(2))

static inline uint32_t rotl(uint32_t word, int by) { return word << (by & 31) | word >> (-by & 31); }
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }

/* The number of iterations of a loop. */
static inline int64_t trips(int64_t from, int64_t to, int64_t step) {
    const int64_t room = step > 0 ? to - from : from - to;
    return room < 0 ? 0 : room / (step > 0 ? step : -step) + 1;
}

/* Arithmetic and subscripts of the first run, which checks both. */
static inline int64_t fits(int is_wrong, int64_t number) {
    if (is_wrong || number >= INT64_C(1) << 62 || number <= -(INT64_C(1) << 62))
        refuse("a number of the loops is too large with these sizes");
    return number;
}

static inline int64_t plus(int64_t a, int64_t b) {
    int64_t sum = 0;
    const int is_wrong = __builtin_add_overflow(a, b, &sum);
    return fits(is_wrong, sum);
}

static inline int64_t minus(int64_t a, int64_t b) {
    int64_t difference = 0;
    const int is_wrong = __builtin_sub_overflow(a, b, &difference);
    return fits(is_wrong, difference);
}

static inline int64_t product(int64_t a, int64_t b) {
    int64_t product = 0;
    const int is_wrong = __builtin_mul_overflow(a, b, &product);
    return fits(is_wrong, product);
}

static inline int64_t within(const char *place, int64_t at, int64_t from, int64_t len) {
    if (at < from || at - from >= len)
        refuse("%s: subscript %" PRId64 " is not from %" PRId64 " to %" PRId64, place, at, from,
               from + len - 1);
    return at - from;
}

/* Memory for words. */
static int64_t elements(const char *name, int64_t len, int64_t others) {
    if (len < 1) refuse("`%s` has no elements with these sizes", name);
    if (len > (INT64_C(1) << 32) / others)
        refuse("`%s` is too large: arrays have at most 2^32 words together", name);
    return len * others;
}

static uint32_t *words(int64_t cells) {
    uint32_t *const words = calloc((size_t)cells, sizeof(uint32_t));
    if (!words) refuse("there is not enough memory for these sizes");
    return words;
}

static uint32_t *taken(int64_t cells) {
    static int64_t total;
    total += cells;
    if (total > INT64_C(1) << 32) refuse("the arrays are too large: they have at most 2^32 words together");
    return words(cells);
}

"#;

/// After the loops: initial values and digests.
pub(super) const FILL: &str = "static uint32_t painted(uint32_t seed, int64_t cell) {
    const uint32_t word = (seed + (uint32_t)cell * 0x9e3779b9u) * 0x85ebca6bu;
    return word ^ word >> 15;
}

static void fill(uint32_t *words, int64_t cells, uint32_t seed) {
    for (int64_t cell = 0; cell < cells; cell++) words[cell] = painted(seed, cell);
}

static uint64_t add_word(uint64_t sum, uint32_t word) { return (sum ^ word) * 0x100000001b3u; }

static uint64_t add(uint64_t sum, const uint32_t *words, int64_t cells) {
    for (int64_t cell = 0; cell < cells; cell++) sum = add_word(sum, words[cell]);
    return sum;
}

static uint64_t add_number(uint64_t sum, int64_t number) {
    return add_word(add_word(sum, (uint32_t)number), (uint32_t)((uint64_t)number >> 32));
}

";

/// The end: arguments, comparison and times. Versions are called through volatile pointers, so a compiler
/// cannot omit repeated runs.
pub(super) const MAIN: &str = r#"static int64_t number(const char *text, int argument) {
    char *end = NULL;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    const int begins = *text == '-' || (*text >= '0' && *text <= '9');
    const int is_number = begins && end != text && *end == 0 && errno == 0;
    if (!is_number || number > INT64_C(1) << 40 || number < -(INT64_C(1) << 40))
        refuse("argument %d: a number of at most 2^40 is wanted after `=`", argument);
    return number;
}

static uint64_t once(void (*version)(void), double *seconds) {
    void (*volatile called)(void) = version;
    reset();
    const double start = omp_get_wtime();
    called();
    *seconds = omp_get_wtime() - start;
    return digest();
}

static void compare(uint64_t a, uint64_t b) {
    if (a == b) return;
    fprintf(stderr, "the versions differ: %016" PRIx64 " %016" PRIx64 "\n", a, b);
    exit(1);
}

static double fastest(void (*version)(void), int64_t runs, uint64_t wanted) {
    double best = 0, seconds = 0;
    for (int64_t run = 0; run < runs; run++) {
        compare(wanted, once(version, &seconds));
        if (run == 0 || seconds < best) best = seconds;
    }
    return best > 1e-9 ? best : 1e-9;
}

int main(int argc, char **argv) {
    int64_t threads = omp_get_max_threads(), runs = 5;
    for (int k = 1; k < argc; k++) {
        char *const value = strchr(argv[k], '=');
        if (!value) refuse("argument %d: NAME=VALUE is wanted; %s", k, NAMES);
        *value = 0;
        const int64_t to = number(value + 1, k);
        if (set(argv[k], to)) continue;
        int64_t *option = NULL;
        if (!strcmp(argv[k], "threads")) option = &threads;
        if (!strcmp(argv[k], "runs")) option = &runs;
        if (!option) refuse("argument %d: the name is unknown; %s", k, NAMES);
        if (to < 1 || to > 1024) refuse("argument %d: a number from 1 to 1024 is wanted", k);
        *option = to;
    }
    allocate();
    double seconds = 0;
    const uint64_t wanted = once(checked, &seconds);
    compare(wanted, once(serial, &seconds));
    omp_set_num_threads((int)threads);
    const uint64_t got = once(parallel, &seconds);
    compare(wanted, got);
    printf("%016" PRIx64 " %016" PRIx64 "\n%7s %12s %9s\n", wanted, got, "threads", "seconds", "speed-up");
    const double alone = fastest(serial, runs, wanted);
    printf("%7s %12.6f %9.2f\n", "serial", alone, 1.0);
    for (int64_t count = 1; count <= threads; count++) {
        omp_set_num_threads((int)count);
        const double time = fastest(parallel, runs, wanted);
        printf("%7" PRId64 " %12.6f %9.2f\n", count, time, alone / time);
    }
    return 0;
}
"#;
