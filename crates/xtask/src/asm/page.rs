//! The table of `docs/security.md` that lists the checks of each instruction set.

use super::isa::{ISAS, Isa};

/// The page, from the root of the checkout.
pub(crate) const PAGE: &str = "docs/security.md";

/// The table's task in the page's comments.
pub(crate) const TASK: &str = "asm --page";

/// One line for each instruction set.
pub(crate) fn table() -> String {
    let head = "| instruction set | run with secret key and data under valgrind | data stays in vector registers \
                (rule 5) | registers cleared at exits (rule 6) | not checked by a program |\n|---|---|---|---|---|\n";
    ISAS.iter().fold(head.to_owned(), |text, isa| text + &line(isa))
}

fn line(isa: &Isa) -> String {
    let valgrind = if isa.valgrind { "yes" } else { "no: valgrind does not know it" };
    let has_vectors = isa.name != "portable";
    let data = if has_vectors { "yes" } else { "says little: data is mostly in general registers" };
    let (name, cleared, unchecked) = (isa.name, cleared(isa, has_vectors), unchecked(isa));
    format!("| {name} | {valgrind} | {data} | {cleared} | {unchecked} |\n")
}

/// The registers that must be cleared for this set.
fn cleared(isa: &Isa, has_vectors: bool) -> &'static str {
    match isa.never {
        _ if !has_vectors => "general registers",
        [] => "zmm0 to zmm31, k0 to k7",
        ["%zmm"] => "ymm0 to ymm15",
        _ => "xmm0 to xmm15",
    }
}

fn unchecked(isa: &Isa) -> &'static str {
    if isa.valgrind {
        "searches, which branch on matches"
    } else {
        "searches; values that a kernel loads from memory into general registers: read by people; other widths of the same source run under valgrind"
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE, TASK, table};
    use crate::{pages, root};

    #[test]
    fn the_page_has_a_line_for_each_instruction_set() {
        let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
        let stands = pages::between(&page, TASK).unwrap();
        assert_eq!(stands.trim(), table().trim(), "run `cargo xtask {TASK}`");
    }
}
