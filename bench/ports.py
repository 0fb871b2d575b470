"""How many of an instruction a core begins in a cycle, and which kinds get in each other's way.

Makes a C program of loops without dependences, each of one kind of instruction or of two in turns, and runs it. A cycle
is a third of a multiplication that waits for the one before. The median of many turns stands. Needs a C compiler and
a CPU with AVX-512, VAES and GFNI. `crates/xtask/src/limits/cores.rs` is what it told.
"""

import itertools
import pathlib
import subprocess
import tempfile

# In braces: the registers' width, and the number of one that nothing waits for, of a vector (i) or an integer (n).
VECTOR = {
    "aes": "vaesenc %%{r}14,%%{r}15,%%{r}{i}",
    "gfni": "vgf2p8affineqb $0,%%{r}14,%%{r}15,%%{r}{i}",
    "product": "vpclmulqdq $0,%%{r}14,%%{r}15,%%{r}{i}",
    "multiply": "vpmulld %%{r}14,%%{r}15,%%{r}{i}",
    "shuffle": "vpshufb %%{r}14,%%{r}15,%%{r}{i}",
    "permute": "vpermb %%{r}14,%%{r}15,%%{r}{i}",
    "unpack": "vpunpcklbw %%{r}14,%%{r}15,%%{r}{i}",
    "shift": "vpslld $3,%%{r}14,%%{r}{i}",
    "logic": "vpternlogq $0x96,%%{r}14,%%{r}15,%%{r}{i}",
    "add": "vpaddd %%{r}14,%%{r}15,%%{r}{i}",
    "load": "vmovdqu64 (%1),%%{r}{i}",
    "store": "vmovdqu64 %%{r}{i},(%1)",
}
INTEGER = {
    "integer add": "add $3,%%r{n}",
    "integer rotate": "rol $3,%%r{n}",
    "integer multiply": "imul $3,%%r8,%%r{n}",
    "integer load": "mov (%1),%%r{n}",
    "integer store": "mov %%r{n},(%1)",
    "integer copy": "mov %%r8,%%r{n}",
}
UNROLLED = 12

PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>
static char memory[4096] __attribute__((aligned(64)));
static int order(const void *a, const void *b) {{ double d = *(double *)a - *(double *)b; return (d > 0) - (d < 0); }}
static uint64_t cycles(void) {{
    uint64_t start = __rdtsc(); long n = 10000;
    asm volatile("1: imul %%rax,%%rax\\n imul %%rax,%%rax\\n imul %%rax,%%rax\\n imul %%rax,%%rax\\n dec %0\\n jnz 1b"
                 : "+r"(n) :: "rax");
    return __rdtsc() - start;
}}
static void show(const char *name, void (*loop)(long)) {{
    double found[101];
    for (int i = 0; i < 101; i++) {{
        uint64_t clock = cycles(), start = __rdtsc();
        loop(40000);
        found[i] = (double)(__rdtsc() - start) / clock * 120000 / 40000 / {unrolled};
    }}
    qsort(found, 101, sizeof *found, order);
    printf("%-24s %.3f\\n", name, found[50]);
}}
{loops}
int main(void) {{
{calls}
}}
"""


def loop(index, register, instructions):
    text = (instructions[i % len(instructions)].format(r=register, i=i, n=9 + i % 6) for i in range(UNROLLED))
    body = "".join(f'"{line}\\n"' for line in text)
    clobbered = ",".join([f'"xmm{i}"' for i in range(16)] + [f'"r{n}"' for n in range(8, 15)])
    return f'static void loop{index}(long n) {{ asm volatile("1:" {body} "dec %0\\n jnz 1b" : "+r"(n) : "r"(memory) : {clobbered}); }}'


def main():
    cases = {}
    for kind, register in itertools.product(VECTOR, ("xmm", "ymm", "zmm")):
        cases[f"{kind} {register}"] = register, [VECTOR[kind]]
    for kind in INTEGER:
        cases[kind] = "", [INTEGER[kind]]
    for register, pair in itertools.product(("ymm", "zmm"), itertools.combinations(VECTOR, 2)):
        cases["+".join(pair) + " " + register] = register, [VECTOR[kind] for kind in pair]
    loops = "\n".join(loop(i, *case) for i, case in enumerate(cases.values()))
    calls = "\n".join(f'    show("{name}", loop{i});' for i, name in enumerate(cases))
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "ports.c"), pathlib.Path(folder, "ports")
        source.write_text(PROGRAM.format(loops=loops, calls=calls, unrolled=UNROLLED))
        subprocess.run(["cc", "-O1", "-o", program, source], check=True)
        print("cycles an instruction")
        subprocess.run([program], check=True)


if __name__ == "__main__":
    main()
