//! Plants each fault that the rules forbid into correct assembly text, and expects the rules to find it.

use super::parse::{Callee, Function, Instruction, functions};
use super::{isa::ISAS, rules};

const XOR_512: &str = "_RNvNtNtNtCsgEmfK2I1SDS_4core9core_arch3x867avx512f16__mm512_xor_si512";
const CPUID: &str = "_RNvNtNtNtCsgEmfK2I1SDS_4core9core_arch3x865cpuid13___cpuid_count";
const DEBUG_512: &str = "_RNvXs1g_NtCsgEmfK2I1SDS_4core3fmtRNtNtNtB8_9core_arch3x867___m512iNtB6_5Debug3fmtCs7JknKr01gZ3_10crossgrain";
const GATE: &str =
    "_RNvXsf_NtCskWcP9wWCoyF_10crossgrain4archNtB5_4W512NtNtNtCsgEmfK2I1SDS_4core3ops3bit6BitXor6bitxor";
const RUN: &str = "_RNvXNtCs7JknKr01gZ3_10crossgrain4partINtB2_5RoundNtNtB4_4arch4W512ENtBN_6Kernel3runB4_";
const SUB_BYTES: &str = "_RINvNtCskWcP9wWCoyF_10crossgrain7circuit9sub_bytesNtNtB4_4arch4W512EB4_";
const OUT_OF_RANGE: &str = "_RNvNtNtCsgEmfK2I1SDS_4core5slice5index16slice_index_fail";

/// Correct kernel bodies for each line of the table of ISAs.
const SOUND: [(&str, &str); 14] = [
    ("portable", "xorq %rax, %rcx"),
    ("sse2", "pxor (%rdi), %xmm0"),
    ("avx2", "vpxor (%rdi), %ymm0, %ymm0"),
    ("avx512", "vpternlogq $150, (%rdi), %zmm1, %zmm0"),
    ("vbmi512", "vpermt2b %zmm1, %zmm2, %zmm0"),
    ("gfni256", "vgf2p8affineqb $0, %ymm1, %ymm0, %ymm0"),
    ("gfni512", "vgf2p8affineqb $0, %zmm1, %zmm0, %zmm0"),
    ("gfnivbmi512", "vpermi2b %zmm1, %zmm2, %zmm0"),
    ("aesni", "aesenc %xmm1, %xmm0"),
    ("vaes256", "vaesenc %ymm1, %ymm0, %ymm0"),
    ("vaes512", "vaesenc %zmm1, %zmm0, %zmm0"),
    ("clmul", "pclmulqdq $0, %xmm1, %xmm0"),
    ("vclmul256", "vpclmulqdq $0, %ymm1, %ymm0, %ymm0"),
    ("vclmul512", "vpclmulqdq $0, %zmm1, %zmm0, %zmm0"),
];

/// The symbol of `<crossgrain::part::Round as crossgrain::arch::Enter>::enter_ISA`.
pub(super) fn entry(isa: &str) -> String {
    let name = format!("enter_{isa}");
    let length = name.len();
    format!("_RNvYNtNtCskWcP9wWCoyF_10crossgrain4part5RoundNtNtB6_4arch5Enter{length}{name}B6_")
}

/// A function in the form that LLVM prints.
pub(super) fn function(symbol: &str, body: &str) -> String {
    format!(
        "\t.globl\t{symbol}\n\t.type\t{symbol},@function\n{symbol}:\n.Lfunc_begin0:\n\
         \t.cfi_startproc\n\t{}\n\tretq\n.Lfunc_end0:\n\t.size\t{symbol}, .Lfunc_end0-{symbol}\n\n",
        body.replace('\n', "\n\t")
    )
}

/// Correct text, with the kernel of one ISA replaced.
fn text(isa: &str, body: &str) -> String {
    let body_of = |(name, sound)| function(&entry(name), if name == isa { body } else { sound });
    SOUND.into_iter().map(body_of).collect()
}

fn sound() -> String {
    text("", "")
}

fn faults(text: &str) -> Vec<String> {
    let functions = functions(text);
    rules::faults(&functions, &rules::kernels(&functions), ISAS)
}

#[track_caller]
fn assert_one_fault(text: &str, expected: &str) {
    let faults = faults(text);
    assert!(faults.len() == 1 && faults[0].starts_with(expected), "{faults:#?}");
}

fn only(text: &str) -> Function<'_> {
    let mut functions = functions(text);
    assert_eq!(functions.len(), 1);
    functions.remove(0)
}

#[test]
fn sound_text_has_no_fault() {
    assert_eq!(SOUND.map(|(isa, _)| isa).len(), ISAS.len());
    assert_eq!(faults(&sound()), [""; 0]);
}

#[test]
fn an_intrinsic_left_as_a_function_is_found() {
    let planted = sound() + &function(XOR_512, "vpxorq %zmm1, %zmm0, %zmm0");
    assert_one_fault(&planted, "intrinsic left as a function: _mm512");
}

#[test]
fn a_call_or_a_jump_to_an_intrinsic_is_found_in_any_function() {
    for call in [format!("callq\t{XOR_512}"), format!("jmpq *{XOR_512}@GOTPCREL(%rip)")] {
        let planted = sound() + &function(SUB_BYTES, &call);
        assert_one_fault(&planted, "intrinsic called: _mm512_xor_si512");
        assert!(faults(&planted)[0].contains("(x1), first by"));
    }
    let planted = text("avx512", &format!("{}\ncallq {XOR_512}\njne {XOR_512}", SOUND[3].1));
    assert_one_fault(&planted, "intrinsic called: _mm512_xor_si512 (x2)");
}

#[test]
fn asking_the_cpu_and_printing_a_register_are_no_faults() {
    let call = format!("callq {CPUID}\ncallq {DEBUG_512}");
    let text = sound() + &function(CPUID, "cpuid") + &function(DEBUG_512, &call);
    assert_eq!(faults(&text), [""; 0]);
}

#[test]
fn a_gate_that_a_kernel_calls_is_found() {
    let call = format!("{}\ncallq *{GATE}@GOTPCREL(%rip)", SOUND[3].1);
    assert_one_fault(
        &text("avx512", &call),
        "gate called: <W512 as BitXor>::bitxor (x1), first by <part::Round as Enter>::enter_avx512",
    );
    let jump = format!("{}\njmpq *{RUN}@GOTPCREL(%rip)", SOUND[3].1);
    assert_one_fault(&text("avx512", &jump), "gate called: <part::Round<W512> as Kernel>::run");
}

#[test]
fn kernel_code_left_outside_its_entry_is_found() {
    let call = format!("pxor %xmm0, %xmm1\ncallq {SUB_BYTES}");
    assert_one_fault(&text("sse2", &call), "kernel code not inlined: circuit::sub_bytes::<W512>");
}

#[test]
fn panics_copies_and_other_kernels_may_be_called() {
    let calls = format!(
        "pxor %xmm0, %xmm1\ncallq {OUT_OF_RANGE}\ncallq *memcpy@GOTPCREL(%rip)\ncallq *%rax\ncallq {}",
        entry("portable")
    );
    let text = text("sse2", &calls);
    assert_eq!(faults(&text), [""; 0]);
    let functions = functions(&text);
    let calls: Vec<Callee> = functions[1].calls().collect();
    assert_eq!(calls.len(), 4);
    assert_eq!(calls[2], Callee::Unknown);
}

#[test]
fn an_isa_without_kernels_is_found() {
    let text = sound().replace(&entry("vaes256"), &entry("vaes256").replace("enter", "leave"));
    assert_one_fault(&text, "vaes256: no kernel is entered through enter_vaes256");
}

#[test]
fn an_isa_without_a_line_in_the_table_is_found() {
    let planted = sound() + &function(&entry("neon"), "nop");
    assert_one_fault(&planted, "enter_neon is missing from the table of ISAs");
}

#[test]
fn a_kernel_that_does_not_use_its_isa_is_found() {
    assert_one_fault(
        &text("sse2", "xorq %rax, %rcx"),
        "sse2: not its instructions: <part::Round as Enter>::enter_sse2",
    );
    let scalar = text("avx2", "vpxor %xmm1, %xmm0, %xmm0\nvmovdqu %ymm0, (%rdi)");
    assert_one_fault(&scalar, "avx2: not its instructions: <part::Round as Enter>::enter_avx2");
    let narrow = faults(&text("vaes512", "vaesenc %ymm1, %ymm0, %ymm0"));
    assert_eq!(narrow.len(), 2, "{narrow:#?}");
}

#[test]
fn a_kernel_wider_than_its_isa_is_found() {
    let wide = format!("{}\nvmovdqu %ymm0, (%rdi)", SOUND[1].1);
    assert_one_fault(&text("sse2", &wide), "sse2: uses %ymm: <part::Round as Enter>::enter_sse2");
    assert_one_fault(&text("portable", "vpxor %ymm0, %ymm0, %ymm0"), "portable: uses %ymm");
    let wide = format!("{}\nvmovdqu64 %zmm0, (%rdi)", SOUND[2].1);
    assert_one_fault(&text("avx2", &wide), "avx2: uses %zmm");
}

#[test]
fn an_isa_whose_own_instructions_are_nowhere_is_found() {
    let fault = "avx512: no kernel has the instructions";
    assert_one_fault(&text("avx512", "vpxorq %zmm1, %zmm0, %zmm0"), fault);
    let other = entry("avx512").replace("5Round", "5Whole");
    let enough = text("avx512", "vpxorq %zmm1, %zmm0, %zmm0") + &function(&other, SOUND[3].1);
    assert_eq!(faults(&enough), [""; 0]);
}

#[test]
fn wide_spills_to_a_frame_that_is_not_aligned_are_found() {
    let spills =
        "vpxorq %zmm1, %zmm0, %zmm0\nvpternlogq $150, (%rdi), %zmm1, %zmm0\nvmovdqu64 %zmm0, 8(%rsp)";
    assert_one_fault(&text("avx512", spills), "frame not aligned: <part::Round as Enter>::enter_avx512");
    assert_eq!(faults(&text("avx512", &format!("andq $-64, %rsp\n{spills}"))), [""; 0]);
    let narrow = format!("{}\nmovaps %xmm0, 16(%rsp)", SOUND[1].1);
    assert_eq!(faults(&text("sse2", &narrow)), [""; 0]);
}

#[test]
fn data_comments_and_local_labels_are_no_functions() {
    let text = ".Lanon.0:\n\t.asciz\t\"vpxor\"\nTABLE:\n\t.quad\t.Lanon.0\nmain:\n.LBB0_1:\n\
                \tjne\t.LBB0_1 # again\n\t#APP\n\tjmpq\t*.LJTI0_0(,%rax,8)\n\tjmpq\t*%rax\n\tretq\n";
    let main = only(text);
    assert_eq!(main.name, "main");
    assert_eq!(main.body.len(), 4);
    assert_eq!(main.body[0], Instruction { mnemonic: "jne", operands: ".LBB0_1" });
    assert_eq!(main.calls().count(), 0);
}

#[test]
fn an_alias_is_a_function_of_its_own() {
    let aliases = "second = first\n\t.set third, first\n\t.set size, .Ltmp1-.Ltmp0\n";
    let text = function("first", "nop") + aliases;
    let names: Vec<String> = functions(&text).into_iter().map(|function| function.name).collect();
    assert_eq!(names, ["first", "second", "third"]);
}

#[test]
fn frames_are_measured_also_where_a_loop_takes_them() {
    assert_eq!(only(&function("f", "subq $64, %rsp\nsubq $8, %rax")).frame_bytes(), 64);
    assert_eq!(only(&function("f", "addq $-128, %rsp\naddq $-8, %rsp")).frame_bytes(), 128);
    let probing = "movq %rsp, %r11\nsubq $77824, %r11\nsubq $4096, %rsp\nmovq $0, (%rsp)\nsubq $544, %rsp";
    assert_eq!(only(&function("f", probing)).frame_bytes(), 77824 + 544);
}

#[test]
fn stack_traffic_counts_vectors_only() {
    let body = "vmovaps %ymm0, 64(%rsp,%rdi)\nvmovdqu64 %zmm1, (%rsp) {%k1}\n\
                vpxor 32(%rsp), %ymm0, %ymm0\nmovq %rax, 8(%rsp)\nvmovaps %ymm0, (%rdi)";
    assert_eq!(only(&function("f", body)).stack_traffic(), (2, 1));
}
