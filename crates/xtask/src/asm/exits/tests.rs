//! Plants each breach of rule 6, and expects the rule to find it.

use super::exceptions::Exception;
use super::read_but;
use crate::asm::parse::functions;
use crate::asm::tests::{entry, function};

/// The symbol of `crossgrain::arch::clear_registers`.
const CLEARER: &str = "_RNvNtCskWcP9wWCoyF_10crossgrain4arch15clear_registers";

/// The symbol of `<crossgrain::mode::Ecb>::apply`.
const APPLY: &str = "_RNvMNtCskWcP9wWCoyF_10crossgrain4modeNtB2_3Ecb5apply";

/// The symbol of `crossgrain::part::inner`, which no listing has.
const INNER: &str = "_RNvNtCskWcP9wWCoyF_10crossgrain4part5inner";

/// The symbol of `<crossgrain::run::threads::Threads>::together::{closure#0}`.
const SHARE: &str = "_RNCNvMNtNtCskWcP9wWCoyF_10crossgrain3run7threadsNtB4_7Threads8together0B8_";

const LISTING: &str =
    "fn mode::Ecb::apply<'a>(&self)\nfn mode::Ecb::block(&self)\nconst fn mode::Ecb::new()\n";

/// Clears each of `registers`.
fn cleared(instruction: &str, registers: impl Iterator<Item = String>) -> String {
    registers.map(|register| format!("{}\n", instruction.replace('R', &register))).collect()
}

/// The function that clears registers: it detects the CPU's registers, and clears them.
fn clearer() -> String {
    let general = ["eax", "ecx", "edx", "esi", "edi", "r8d", "r9d", "r10d", "r11d"];
    let general = cleared("xorl R, R", general.iter().map(|name| format!("%{name}"))) + "retq\n";
    let sse2 = cleared("pxor R, R", (0..16).map(|number| format!("%xmm{number}")));
    let wide = cleared("vpxord R, R, R", (16..32).map(|number| format!("%zmm{number}")))
        + &cleared("kxorq R, R, R", (0..8).map(|number| format!("%k{number}")));
    format!(
        "movq FEATURES(%rip), %rax\ntestb $2, %al\njne .LBB0_2\ntestb $1, %al\njne .LBB0_1\n\
         {sse2}{general}.LBB0_1:\nvzeroall\n{general}.LBB0_2:\nvzeroall\n{wide}{general}nop"
    )
}

/// The text of a library whose `Ecb::apply` and clearer have these bodies.
fn text(apply: &str, clearer: &str) -> String {
    let kernel = function(&entry("avx2"), "vpxor (%rdi), %ymm0, %ymm0");
    let inner = function(INNER, &format!("callq {}", entry("avx2")));
    let share = function(SHARE, &format!("callq *40(%rcx)\njmp {CLEARER}"));
    let text = kernel + &inner + &share + &function(CLEARER, clearer) + &function(APPLY, apply);
    text.replace("\t.LBB", ".LBB") // labels begin in the first column
}

fn faults(apply: &str, clearer: &str) -> Vec<String> {
    let text = text(apply, clearer);
    read_but(&[], &functions(&text), LISTING).faults
}

/// A body that runs a kernel, and then clears the registers.
fn sound() -> String {
    format!(
        "testq %rsi, %rsi\nje .LBB9_1\ncallq {INNER}\ncallq *{CLEARER}@GOTPCREL(%rip)\n.LBB9_1:\nmovl $1, %eax"
    )
}

#[test]
fn an_entry_that_clears_has_no_fault() {
    assert_eq!(faults(&sound(), &clearer()), [""; 0]);
    let text = text(&sound(), &clearer());
    let read = read_but(&[], &functions(&text), LISTING);
    assert_eq!(read.entries, 2);
    assert_eq!(read.unread.into_iter().collect::<Vec<_>>(), ["Ecb::block"]);
}

#[test]
fn a_register_that_is_left_out_is_found() {
    for (lacks, fault) in [
        ("pxor %xmm7, %xmm7\n", "path for SSE2: xmm7"),
        ("vpxord %zmm19, %zmm19, %zmm19\n", "path for AVX-512: zmm19"),
        ("kxorq %k5, %k5, %k5\n", "path for AVX-512: k5"),
        ("kxorq %k0, %k0, %k0\n", "path for AVX-512: k0"),
    ] {
        let left = faults(&sound(), &clearer().replace(lacks, ""));
        assert_eq!(left, [format!("clear_registers leaves registers on the {fault}")]);
    }
    let general = faults(&sound(), &clearer().replacen("xorl %r9d, %r9d\n", "", 1));
    assert_eq!(general, ["clear_registers leaves registers on the path for SSE2: r9"]);
    let upper = faults(&sound(), &clearer().replace("vzeroall\nvpxord", "vzeroupper\nvpxord"));
    assert!(
        upper[0].starts_with("clear_registers leaves registers on the path for AVX-512: zmm0 zmm1"),
        "{upper:?}"
    );
}

#[test]
fn a_register_that_is_used_after_it_was_cleared_is_found() {
    let used = clearer().replace("kxorq %k7, %k7, %k7\n", "kxorq %k7, %k7, %k7\nvmovdqu64 (%rdi), %zmm20\n");
    assert_eq!(faults(&sound(), &used), ["clear_registers leaves registers on the path for AVX-512: zmm20"]);
}

#[test]
fn an_instruction_set_without_a_path_is_found() {
    let narrow = clearer().replacen("jne .LBB0_2", "nop", 1);
    assert_eq!(faults(&sound(), &narrow), ["clear_registers has no path for AVX-512"]);
    let missing = text(&sound(), &clearer()).replace("clear_registers", "clear_nothing_s");
    assert_eq!(
        read_but(&[], &functions(&missing), LISTING).faults,
        ["no function of the words is called clear_registers"]
    );
}

#[test]
fn a_return_that_does_not_clear_is_found() {
    let fault = ["may return with a kernel's registers: <mode::Ecb>::apply"];
    for planted in [
        format!("callq {INNER}"),
        format!("callq {CLEARER}\ncallq {INNER}"),
        format!("callq {INNER}\ntestb $1, %al\nje .LBB9_1\ncallq {CLEARER}\n.LBB9_1:\nnop"),
        format!("callq {CLEARER}\njmp {INNER}"),
        format!("callq {CLEARER}\ncallq *24(%rax)"),
        format!("callq {CLEARER}\nmovq 24(%rsi), %rax\njmpq *%rax"),
    ] {
        assert_eq!(faults(&planted, &clearer()), fault, "{planted}");
    }
    assert_eq!(faults(&format!("callq {INNER}\njmp {CLEARER}"), &clearer()), [""; 0]);
    let copy = "movq memcpy@GOTPCREL(%rip), %r12\nmovq %r12, %rax\ncallq *%r12";
    assert_eq!(faults(&format!("callq {INNER}\ncallq {CLEARER}\n{copy}"), &clearer()), [""; 0]);
    let drop = "movq (%r14), %rax\ntestq %rax, %rax\nje .LBB9_2\nmovq %rbx, %rdi\ncallq *%rax\n.LBB9_2:\nnop";
    assert_eq!(faults(&format!("callq {INNER}\ncallq {CLEARER}\n{drop}"), &clearer()), [""; 0]);
}

#[test]
fn a_share_of_a_job_that_does_not_clear_is_found() {
    let text = text(&sound(), &clearer());
    let leaves = text.replacen(&format!("callq *40(%rcx)\n\tjmp {CLEARER}"), "callq *40(%rcx)", 1);
    let faults = read_but(&[], &functions(&leaves), LISTING).faults;
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(
        faults[0].starts_with("may return with a kernel's registers: <run::threads::Threads>::together"),
        "{faults:?}"
    );
    let lacks = text.replace("8together0B8_", "8separate0B8_");
    let faults = read_but(&[], &functions(&lacks), LISTING).faults;
    assert!(
        faults[0].starts_with("no function is <crossgrain::run::threads::Threads>::together"),
        "{faults:?}"
    );
}

#[test]
fn an_exception_must_be_used() {
    let exception = || Exception { function: "Ecb::apply", reason: "a test" };
    let leaves = text(&format!("callq {INNER}"), &clearer());
    assert_eq!(read_but(&[exception()], &functions(&leaves), LISTING).faults, [""; 0]);
    let clears = text(&sound(), &clearer());
    let unused = read_but(&[exception()], &functions(&clears), LISTING).faults;
    assert_eq!(unused, ["unused exception: Ecb::apply; remove it"]);
}
