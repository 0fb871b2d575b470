//! Plants each breach of rule 5 into a kernel, and expects the rule to find it.

use super::{Exception, Kind, faults_but, found};
use crate::asm::parse::functions;
use crate::asm::rules::kernels;
use crate::asm::tests::{entry, function};

const NONE: [Kind; 0] = [];

/// The kinds of breaches in a kernel with this body.
fn kinds(body: &str) -> Vec<Kind> {
    let text = function(&entry("avx512"), body);
    found(&functions(&text)[0]).into_keys().collect()
}

#[test]
fn vectors_and_masks_that_become_general_registers_or_flags_are_found() {
    for planted in [
        "vmovd %xmm0, %eax",
        "vmovq %xmm17, %r9",
        "movd %xmm0, %ecx",
        "vpextrb $3, %xmm1, %eax",
        "pextrw $1, %xmm1, %eax",
        "vpextrq $1, %xmm1, %rax",
        "vextractps $1, %xmm1, %eax",
        "vpmovmskb %ymm2, %eax",
        "movmskps %xmm2, %eax",
        "vcvttsd2si %xmm3, %rax",
        "kmovq %k1, %rax",
        "kortestq %k0, %k0",
        "ktestb %k1, %k2",
        "ptest %xmm1, %xmm1",
        "vptest (%rdi), %ymm1",
        "vtestps %ymm1, %ymm2",
        "ucomisd %xmm0, %xmm1",
        "vcomiss (%rdi), %xmm1",
        "pcmpistri $0, %xmm0, %xmm1",
    ] {
        assert_eq!(kinds(planted), [Kind::Move], "{planted}");
    }
}

#[test]
fn gathers_and_scatters_are_found() {
    for planted in [
        "vpgatherdd (%rdi,%zmm1,4), %zmm0 {%k1}",
        "vgatherqpd %ymm2, 8(%rsi,%ymm1), %ymm0",
        "vpscatterqq %zmm0, (%rdi,%zmm1,8) {%k1}",
    ] {
        assert_eq!(kinds(planted), [Kind::Gather], "{planted}");
    }
}

#[test]
fn data_that_selects_memory_is_found() {
    assert_eq!(kinds("vpcmpeqb %zmm0, %zmm1, %k1\nvmovdqu8 %zmm2, (%rdi) {%k1}"), [Kind::Select]);
    assert_eq!(
        kinds("vpmovb2m %zmm0, %k2\nkshiftrq $1, %k2, %k3\nvmovdqu8 (%rdi), %zmm2 {%k3} {z}"),
        [Kind::Select]
    );
    assert_eq!(kinds("vpmaskmovd (%rdi), %ymm0, %ymm1"), [Kind::Select]);
    // A length made this mask.
    assert_eq!(kinds("bzhiq %rsi, %rax, %rax\nkmovq %rax, %k1\nvmovdqu8 (%rdi), %zmm0 {%k1} {z}"), NONE);
}

#[test]
fn a_spilled_vector_must_not_become_an_address_or_a_condition() {
    let spilled = "pushq %rbx\nsubq $64, %rsp\nvpxor %ymm0, %ymm1, %ymm2\nvmovdqu %ymm2, 16(%rsp)\n";
    let kinds = |rest: &str| kinds(&(spilled.to_owned() + rest));
    assert_eq!(kinds("movzbl 47(%rsp), %eax\nmovb (%rsi,%rax), %cl"), [Kind::Address]);
    assert_eq!(
        kinds(
            "movq 16(%rsp), %rax\nmovq %rax, 8(%rsp)\naddq $8, 8(%rsp)\nmovq 8(%rsp), %rcx\nmovq (%rcx), %rdx"
        ),
        [Kind::Address]
    );
    assert_eq!(kinds("leaq 16(%rsp), %r8\nmovl 4(%r8), %eax\ntestl %eax, %eax\nje .LBB0_1"), [Kind::Branch]);
    assert_eq!(kinds("cmpb $0, 20(%rsp,%rdx)\njne .LBB0_1"), [Kind::Branch]);
    assert_eq!(kinds("movl 16(%rsp), %eax\ndivl %ecx"), [Kind::Branch]);
    assert_eq!(kinds("movq 16(%rsp), %rax\njmpq *%rax"), [Kind::Branch]);
}

#[test]
fn what_is_no_data_may_be_an_address_or_a_condition() {
    for sound in [
        // A vector that is only copied may hold pointers.
        "vmovups (%rdi), %ymm0\nvmovups %ymm0, -40(%rsp)\nmovq -40(%rsp), %rax\nmovb (%rax), %cl",
        // The same place holds a pointer afterwards.
        "vpxor %xmm1, %xmm2, %xmm0\nvmovdqu %xmm0, -40(%rsp)\nmovq %rdi, -40(%rsp)\nmovq -40(%rsp), %rax\nmovb (%rax), %cl",
        "vpxor %xmm0, %xmm0, %xmm0\nvmovdqu %xmm0, -40(%rsp)\ncmpq $0, -40(%rsp)\nje .LBB0_1",
        // Reloaded data is used as data only.
        "vpxor %xmm1, %xmm2, %xmm0\nvmovdqu %xmm0, -40(%rsp)\nmovq -40(%rsp), %rax\nxorq (%rdi), %rax\nmovq %rax, (%rsi)",
        "vpcmpeqb %zmm0, %zmm1, %k1\nvpaddd %zmm1, %zmm2, %zmm3 {%k1}\nkmovq %rax, %k1",
        "vmovd %eax, %xmm0\nvpinsrq $1, %rdi, %xmm0, %xmm0\nvzeroupper",
        "vptestmb %zmm0, %zmm0, %k1",
    ] {
        assert_eq!(kinds(sound), NONE, "{sound}");
    }
}

#[test]
fn data_is_followed_around_a_loop() {
    let body = "subq $64, %rsp\nxorl %eax, %eax\n.LBB0_1:\nmovb (%rsi,%rax), %cl\nvpaddd (%rdi), %xmm0, %xmm0\n\
                vmovdqa %xmm0, (%rsp)\nmovl (%rsp), %eax\ndecq %rdx\njne .LBB0_1";
    let text = function(&entry("avx2"), body).replace("\t.LBB0_1:", ".LBB0_1:");
    assert_eq!(found(&functions(&text)[0]).into_keys().collect::<Vec<_>>(), [Kind::Address]);
}

#[test]
fn an_exception_is_for_one_kernel_and_must_be_used() {
    let text = function(&entry("avx512"), "vmovd %xmm0, %eax");
    let functions = functions(&text);
    let faults = |kernel, kinds| {
        let exception = Exception { kernel, isas: &["avx512"], kinds, reason: "a test" };
        faults_but(&[exception], &kernels(&functions))
    };
    assert_eq!(faults("part::Round", &[Kind::Move]), [""; 0]);
    let both = faults("part::Round", &[Kind::Move, Kind::Branch]);
    assert_eq!(both, ["unused exception: no part::Round for avx512 branches on data; remove it"]);
    let wide = Exception { kernel: "part::Round", isas: &["avx2"], kinds: &[Kind::Move], reason: "a test" };
    assert_eq!(faults_but(&[wide], &kernels(&functions)).len(), 2);
    let other = faults("part::Rou", &[Kind::Move]);
    assert_eq!(other.len(), 2, "{other:?}");
    assert!(other[0].starts_with("<part::Round as Enter>::enter_avx512 moves a vector or mask register"));
    assert!(other[0].ends_with(": vmovd %xmm0, %eax (x1)"));
}
