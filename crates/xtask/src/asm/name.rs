//! Classifies functions by their demangled names: the module that defines them, and the types involved.
//!
//! It is not enough that a name *mentions* a module: `<__m512i as Debug>::fmt` is not an intrinsic, although
//! it contains `core_arch`. A name is therefore split into the path of the function, the type and trait of a
//! method, and the generic arguments.

/// The library's prefix in names.
const LIBRARY: &str = "crossgrain::";

/// The module of the library's words and ISAs.
const WORDS: &str = "crossgrain::arch::";

/// The module of the intrinsics.
const INTRINSICS: &str = "core::core_arch::";

/// The beginning of the name of an ISA's entry function. The ISA follows.
const ENTRY: &str = "enter_";

/// Intrinsics that may remain functions. They detect the CPU's features once.
const DETECTION: [&str; 4] = ["__cpuid", "__cpuid_count", "__get_cpuid_max", "_xgetbv"];

/// Functions that may have the library's types as arguments but compute nothing.
const HARMLESS: [&str; 2] = ["core::panicking::", "core::ptr::drop_in_place::"];

/// Whether the function is an intrinsic that must be inlined into a kernel.
pub(crate) fn is_intrinsic(name: &str) -> bool {
    let path = outermost(name, "::");
    // A method of another crate's trait on `__m512i` is not an intrinsic, so the trait decides.
    let owner = match implementation(path[0]) {
        Some((_, Some(of_trait))) => of_trait,
        Some((of_type, None)) => of_type,
        None => name,
    };
    owner.starts_with(INTRINSICS) && !path.iter().any(|segment| DETECTION.contains(segment))
}

/// Whether the function is a gate, load, store or similar function of the library: it is defined in the
/// module of words, or is a method of a type or trait of that module.
pub(crate) fn is_gate(name: &str) -> bool {
    match implementation(outermost(name, "::")[0]) {
        Some((of_type, of_trait)) => {
            of_type.starts_with(WORDS) || of_trait.is_some_and(|path| path.starts_with(WORDS))
        }
        None => name.starts_with(WORDS),
    }
}

/// Whether the function is code of the library, or code of the language instantiated for a type or closure of
/// the library. Panics and drops do not count.
pub(crate) fn is_own_code(name: &str) -> bool {
    name.contains(LIBRARY) && !HARMLESS.iter().any(|start| name.starts_with(start))
}

/// The ISA and the kernel of an entry: `avx512` and `Round<..>` for `<Round<..> as Enter>::enter_avx512`.
pub(crate) fn entry(name: &str) -> Option<(&str, &str)> {
    let path = outermost(name, "::");
    let [methods, function] = path.as_slice() else {
        return None;
    };
    let (kernel, of_trait) = implementation(methods)?;
    let isa = function.strip_prefix(ENTRY)?;
    of_trait.is_some_and(|path| path.starts_with(WORDS)).then_some((isa, kernel))
}

/// Whether the function is defined in the module of words, and its own name begins with `start`.
pub(crate) fn is_of_words(name: &str, start: &str) -> bool {
    let path = outermost(name, "::");
    name.starts_with(WORDS) && path.iter().any(|segment| segment.starts_with(start))
}

/// The names that the listing of public functions may have for a function of the library: `Type::function`,
/// `Trait::function`, or only `function` outside of types. Empty for closures, and for functions of other
/// crates.
pub(crate) fn listed(name: &str) -> Vec<String> {
    let mut path = outermost(name, "::");
    let first = path.remove(0);
    path.retain(|segment| !segment.starts_with('<'));
    match (implementation(first), path.as_slice()) {
        (Some((of_type, of_trait)), [function]) => {
            let owners = [Some(of_type), of_trait].into_iter().flatten();
            let own = owners.filter(|owner| owner.starts_with(LIBRARY));
            own.map(|owner| format!("{}::{function}", last_part(owner))).collect()
        }
        (None, [.., function]) if name.starts_with(LIBRARY) && !function.starts_with('{') => {
            vec![(*function).to_owned()]
        }
        _ => Vec::new(),
    }
}

/// The last part of a path, without generic arguments.
fn last_part(path: &str) -> &str {
    let path = path.split('<').next().unwrap_or(path);
    path.rsplit("::").next().unwrap_or(path)
}

/// A readable short form of a name. Words and items of the language keep the last part of their paths. Other
/// paths lose the library's prefix.
pub(crate) fn short(name: &str) -> String {
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut text = String::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_of_path(c) != is_of_path(first));
        let (token, after) = rest.split_at(end.unwrap_or(rest.len()));
        text.push_str(short_path(token));
        rest = after;
    }
    text
}

fn short_path(path: &str) -> &str {
    if path.starts_with(WORDS) || path.starts_with("core::") {
        let last = path.rsplit("::").find(|part| !part.is_empty());
        return last.unwrap_or(path);
    }
    path.strip_prefix(LIBRARY).unwrap_or(path)
}

/// The type and the trait of a path's first segment `<type as trait>` or `<type>`, without references and
/// arrays. `None` if the path begins with a crate.
fn implementation(segment: &str) -> Option<(&str, Option<&str>)> {
    let inside = inside_angles(segment)?;
    Some(match outermost(inside, " as ").as_slice() {
        [of_type, of_trait] => (bare(of_type), Some(of_trait)),
        _ => (bare(inside), None),
    })
}

fn bare(of_type: &str) -> &str {
    let of_type = of_type.trim_start_matches(['<', '&', '[', '(', '*']);
    let of_type = of_type.strip_prefix("mut ").unwrap_or(of_type);
    of_type.strip_prefix("const ").unwrap_or(of_type)
}

fn inside_angles(segment: &str) -> Option<&str> {
    segment.strip_prefix('<')?.strip_suffix('>')
}

/// Splits at the separators outside of brackets. The first part always exists.
fn outermost<'n>(text: &'n str, separator: &str) -> Vec<&'n str> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut before) = (0_usize, 0, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before == '-' => {} // the arrow of a function type
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= start && text[at..].starts_with(separator) => {
                parts.push(&text[start..at]);
                start = at + separator.len();
            }
            _ => {}
        }
        before = c;
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_mentions_core_arch_need_not_be_an_intrinsic() {
        assert!(is_intrinsic("core::core_arch::x86::avx512f::_mm512_xor_si512"));
        assert!(is_intrinsic("core::core_arch::x86::avx512f::_mm512_ternarylogic_epi64::<150i32>"));
        assert!(is_intrinsic("<core::core_arch::simd::Simd<i32, 16usize>>::splat"));
        assert!(is_intrinsic("<core::core_arch::x86::__m512i as core::core_arch::x86::m512iExt>::as_i32x16"));
        assert!(!is_intrinsic("core::core_arch::x86::cpuid::__cpuid_count"));
        assert!(!is_intrinsic("core::core_arch::x86::xsave::_xgetbv"));
        assert!(!is_intrinsic("<&core::core_arch::x86::__m512i as core::fmt::Debug>::fmt"));
        assert!(!is_intrinsic("core::ptr::drop_in_place::<core::core_arch::x86::__m512i>"));
        assert!(!is_intrinsic("crossgrain::arch::enter_avx2::<Gate<core::core_arch::x86::__m256i>>"));
    }

    #[test]
    fn a_gate_belongs_to_the_module_of_words_by_path_type_or_trait() {
        assert!(is_gate("crossgrain::arch::x86_64::exchange"));
        assert!(is_gate("<crossgrain::arch::x86_64::Word512 as core::ops::bit::BitXor>::bitxor"));
        assert!(is_gate("<&mut crossgrain::arch::Word512 as core::ops::bit::BitXor>::bitxor"));
        assert!(is_gate("<crossgrain::arch::x86_64::Word512>::rotate::<7u32>"));
        assert!(is_gate("<u64 as crossgrain::arch::Word>::load"));
        assert!(is_gate("<crossgrain::part::Round<u64> as crossgrain::arch::Kernel>::run"));
        assert!(!is_gate("crossgrain::circuit::sub_bytes::<crossgrain::arch::Word512>"));
        assert!(!is_gate("<crossgrain::part::Round<crossgrain::arch::Word512>>::new"));
        assert!(!is_gate("crossgrain::wordy::exchange"));
        assert!(!is_gate("core::slice::index::slice_index_fail"));
    }

    #[test]
    fn own_code_is_seen_in_generic_arguments() {
        assert!(is_own_code("crossgrain::circuit::sub_bytes::<u64>"));
        assert!(is_own_code("core::array::from_fn::<u64, 8usize, crossgrain::circuit::mix::{closure#0}>"));
        assert!(!is_own_code("core::panicking::assert_failed::<crossgrain::arch::Word512>"));
        assert!(!is_own_code("core::ptr::drop_in_place::<crossgrain::arch::tile::Tile>"));
        assert!(!is_own_code("core::slice::index::slice_index_fail"));
    }

    #[test]
    fn entries_tell_isa_and_kernel() {
        assert_eq!(
            entry(
                "<crossgrain::part::Round<A, fn(B) -> C> as crossgrain::arch::x86_64::tokens::_::Enter>::enter_avx2"
            ),
            Some(("avx2", "crossgrain::part::Round<A, fn(B) -> C>"))
        );
        assert_eq!(entry("<K as crossgrain::arch::x86_64::tokens::_::Enter>::enter_avx2::{closure#0}"), None);
        assert_eq!(entry("<K as crossgrain::mode::Enter>::enter_avx2"), None);
        assert_eq!(entry("<crossgrain::arch::Avx2 as crossgrain::arch::Isa>::enter::<K>"), None);
        assert_eq!(entry("memcpy"), None);
    }

    #[test]
    fn the_listing_names_functions_by_type_by_trait_or_alone() {
        assert_eq!(listed("<crossgrain::mode::ecb::Ecb>::apply::<&mut [u8]>"), ["Ecb::apply"]);
        let of_trait = "<crossgrain::mode::gcm::Gcm as crossgrain::mode::aead::Aead>::seal";
        assert_eq!(listed(of_trait), ["Gcm::seal", "Aead::seal"]);
        assert_eq!(listed("<crossgrain::mode::ecb::Ecb as core::fmt::Debug>::fmt"), ["Ecb::fmt"]);
        assert_eq!(listed("crossgrain::check::forced"), ["forced"]);
        assert_eq!(listed("<crossgrain::mode::ecb::Ecb>::apply::{closure#0}"), [""; 0]);
        assert_eq!(listed("core::ptr::drop_in_place::<crossgrain::mode::ecb::Ecb>"), [""; 0]);
        assert_eq!(listed("memcpy"), [""; 0]);
    }

    #[test]
    fn short_names_keep_what_tells_kernels_apart() {
        assert_eq!(
            short("crossgrain::cipher::aes::Round<crossgrain::arch::x86_64::Word512, (u8, 4usize)>"),
            "cipher::aes::Round<Word512, (u8, 4usize)>"
        );
    }
}
