//! Names with a meaning in C, in Rust, in their libraries or in emitted text, and programs that use them.
#![allow(dead_code, reason = "each test uses its own part of this")]

/// Keywords of C and C++, macros and functions of the C library, of POSIX and of OpenMP, and names that
/// compilers predefine.
const OF_C: &str = "auto break case char continue default do double else enum extern float goto if inline int long register \
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool _Complex _Atomic _Generic \
_Noreturn _Static_assert _Thread_local asm typeof alignas alignof bool constexpr false nullptr static_assert thread_local true \
class new delete this namespace template virtual int64_t uint32_t uint64_t intptr_t size_t ptrdiff_t wchar_t FILE NULL EOF BUFSIZ \
RAND_MAX EXIT_SUCCESS INT64_MAX UINT32_C PRIx64 PRId64 errno assert stdin stdout stderr printf puts fopen remove rename tmpfile \
malloc calloc free realloc abort exit atexit system getenv rand srand abs labs div ldiv qsort bsearch atoi strtol memcpy memcmp \
memset memmove strlen strcpy index rindex bcopy ffs y0 y1 yn j0 j1 jn gamma read write open close pipe time clock signal environ \
linux unix i386 main _OPENMP omp_get_thread_num omp_get_num_threads omp_lock_t omp parallel reduction atomic pragma define \
__LINE__ __FILE__ __func__ __COUNTER__ __attribute__ __builtin_trap __x86_64__ __STDC__ _Pragma _exit _IOFBF u_int u_char";

/// Keywords of Rust, and names of its prelude, of `std` and of rayon.
const OF_RUST: &str = "abstract as async await become box const crate dyn enum final fn for gen impl in let loop macro match mod \
move mut override priv pub ref self Self super trait try type unsafe unsized use where yield union raw static u8 i64 u32 u64 usize str \
char f64 Vec Box String Option Some None Result Ok Err Ord Eq Clone Copy Drop Fn Iterator IntoIterator Default From Into Send Sync \
println print assert assert_eq panic vec format std core alloc rayon prelude ParallelIterator into_par_iter for_each map rev iter \
collect fold load store fetch_add fetch_update Relaxed Ordering AtomicU32 AtomicI64 wrapping_add rotate_left min max";

/// Names of present and past emitters, similar names, and names of one or two characters.
const OF_THE_EMITTER: &str = "rotl least largest trips fill add add_number add_word digest reset serial parallel painted Variables sum words \
word cells cell seed checked within plus minus product elements taken allocate declared once compare fastest number set \
arguments pool total part part_my_i from to step room number halves a b v k x i old first by my my_ my_i my_my_i loop_my_i \
first_my_i trips_my_i \
k_my_i old_my_i my_first_i i__k i__first i__trips a__old i_ a_ _ __ ___ _x __x x_ x__ I A V K";

/// Keywords of the loop language, which no variable may have.
const OF_THE_LANGUAGE: [&str; 16] = [
    "const", "param", "int", "word", "array", "table", "local", "for", "to", "step", "if", "else", "end",
    "min", "max", "rotl",
];

/// All of these names, without duplicates.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = [OF_C, OF_RUST, OF_THE_EMITTER].iter().flat_map(|list| list.split(' ')).collect();
    names.retain(|name| !OF_THE_LANGUAGE.contains(name));
    names.sort_unstable();
    names.dedup();
    names
}

/// The roles of a name: its declaration, its use in the loop over `row_`, and a separate loop. `NAME` is
/// replaced by the name.
pub(crate) const ROLES: [[&str; 3]; 8] = [
    ["array NAME[24]", "NAME[row_] = NAME[row_] + 3", ""],
    ["word NAME", "NAME = NAME + (first_data[row_] ^ 1)", ""],
    ["int NAME = 5", "NAME = NAME + 3", ""],
    ["param NAME = 7", "data_[row_] = data_[row_] + NAME", ""],
    ["table NAME[4] = {1, 2, 3, 4}", "data_[row_] = data_[row_] ^ NAME[3]", ""],
    ["", "", "for NAME = 20 to 1 step -2\n first_data[NAME] = first_data[NAME] + 1\nend"],
    ["array NAME[24]", "NAME[row_] = NAME[row_ + 1] ^ 9", ""],
    ["local word NAME", "NAME = data_[row_] * 3\n data_[row_] = NAME ^ 5", ""],
];

/// A program in which each name has the given role.
pub(crate) fn program(named: &[(&str, &[&str; 3])]) -> String {
    let part = |part: usize| {
        let lines = named.iter().map(|(name, role)| role[part].replace("NAME", name) + "\n");
        lines.collect::<String>()
    };
    let (declared, used, looped) = (part(0), part(1), part(2));
    format!(
        "array data_[24], first_data[24]\n{declared}for row_ = 0 to 22\n data_[row_] = 1\n{used}end\n{looped}"
    )
}

/// Number of names per program, limited by the maximum number of lines.
const NAMES: usize = 100;

/// Programs that together use every name in every role once.
pub(crate) fn programs() -> Vec<(String, String)> {
    let mut programs = Vec::new();
    for (number, names) in names().chunks(NAMES).enumerate() {
        for turn in 0..ROLES.len() {
            let named: Vec<_> = names
                .iter()
                .enumerate()
                .map(|(at, &name)| (name, &ROLES[(at + turn) % ROLES.len()]))
                .collect();
            programs.push((format!("hostile_{number}_{turn}"), program(&named)));
        }
    }
    programs
}
