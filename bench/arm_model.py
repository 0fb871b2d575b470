"""Cycles per byte of the kernels on cores of ARM, by the model of llvm-mca. No such core is needed.

    cargo build --release -p crossgrain --example each_variant --target aarch64-unknown-linux-gnu
    python3 bench/arm_model.py PROGRAM [FILTER] [--cores neoverse-n1,neoverse-v2] [--estimates GHZ]

The program runs every variant on two amounts of data under qemu, which logs the blocks of code that it executes. The
instructions of these blocks, in the order of their execution, are given to llvm-mca. The difference between the two
amounts is the cost of the additional bytes. The model assumes that every load hits the first-level cache, that every
branch is predicted, and that loads and stores do not overlap.
"""

import argparse
import re
import subprocess
import tempfile

QEMU = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-cpu", "max"]
# Where qemu loads a position-independent program.
BASE = 0x5500000000
BRANCH = re.compile(r"^(b|b\.\w+|bl|blr|br|ret|cbn?z|tbn?z)$")
# A block of code executed.
EXECUTED = re.compile(r"^Trace \d+: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/[0-9a-f/]+\] ?(.*)$")
# The functions in which a run begins, and to which it returns.
BEGINS, ENDS = "Trial3run", "each_variant4main"


def instructions(program):
    """Address, mnemonic and operands of each instruction of a program."""
    text = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True)
    found = {}
    for line in text.stdout.splitlines():
        if match := re.match(r"^\s+([0-9a-f]+):\s+(\S+)\s*([^/]*)", line):
            found[int(match[1], 16)] = match[2], match[3].strip()
    return found


def text_of(mnemonic, operands):
    """An instruction for llvm-mca, whose branches lead nowhere. Nothing for what it cannot read."""
    operands = re.sub(r"<[^>]*>", "", operands).strip()
    if mnemonic in ("udf", ".inst", ".word", "bti", "nop"):
        return None
    if mnemonic in ("bl", "blr", "ret", "br"):
        return "b #4"  # the model would take a call for one into unknown code
    if mnemonic == "b" or mnemonic.startswith("b."):
        return f"{mnemonic} #4"
    if mnemonic in ("cbz", "cbnz", "tbz", "tbnz"):
        return f"{mnemonic} {operands.rsplit(',', 1)[0]}, #4"
    if mnemonic in ("adr", "adrp"):
        return f"{mnemonic} {operands.split(',')[0]}, #0"
    return f"{mnemonic} {operands}"


def runs(program, pattern):
    """The executed blocks of each run: variant, bytes, and addresses in the program."""
    command = [*QEMU, "-strace", "-d", "exec,nochain", program, pattern]
    with tempfile.NamedTemporaryFile("w") as output, open(output.name) as printed:
        log = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True)
        blocks, is_announced = [], False
        for line in log.stderr:
            if " write(1," in line:  # the program prints a line before a run
                is_announced = True
            elif is_announced and (match := EXECUTED.match(line)):
                if blocks or BEGINS in match[2]:
                    blocks.append(int(match[1], 16) - BASE)
                if blocks and ENDS in match[2]:
                    name, len_bytes = printed.readline().split()
                    yield name, int(len_bytes), blocks
                    blocks, is_announced = [], False
        log.wait()


def executed(blocks, code):
    """The instructions of blocks in order. A block ends with a branch, or where the next one begins."""
    listed = []
    for at, following in zip(blocks, [*blocks[1:], None]):
        while at in code:
            mnemonic, operands = code[at]
            listed.append(text_of(mnemonic, operands))
            at += 4
            if BRANCH.match(mnemonic) or at == following:
                break
    return [line for line in listed if line]


def cycles(lines, core):
    """The cycles that the model takes for these instructions."""
    mca = ["llvm-mca-19", "-mtriple=aarch64", f"-mcpu={core}", "-mattr=+aes,+sha3,+sha2,+lse,+v8.4a", "-iterations=1", "-skip-unsupported-instructions=lack-sched"]
    with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        told = subprocess.run([*mca, "-all-views=0", "-summary-view", file.name], capture_output=True, text=True)
    if not (match := re.search(r"^Total Cycles:\s+(\d+)", told.stdout, re.M)):
        raise SystemExit(told.stderr[:2000])
    return int(match[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("filter", nargs="?", default="")
    parser.add_argument("--cores", default="neoverse-v2,neoverse-v1,neoverse-n2,neoverse-n1")
    parser.add_argument("--estimates", type=float, metavar="GHZ", help="print lines for the planner, for the first core")
    arguments = parser.parse_args()
    code, cores = instructions(arguments.program), arguments.cores.split(",")
    before = None
    if not arguments.estimates:
        print(f"{'cycles/byte':40}", *(f"{core:>12}" for core in cores), "instructions/byte")
    for name, len_bytes, blocks in runs(arguments.program, arguments.filter):
        lines = executed(blocks, code)
        taken = [cycles(lines, core) for core in cores[: 1 if arguments.estimates else None]]
        if before and before[0] == name and len_bytes > before[1]:
            more = len_bytes - before[1]
            each = [(now - then) / more for now, then in zip(taken, before[2])]
            if arguments.estimates:
                fixed_ns = max(before[2][0] - each[0] * before[1], 0.0) / arguments.estimates
                print(f"{fixed_ns:8.1f} {each[0] / arguments.estimates:10.5f} {name}", flush=True)
            else:
                shown = (f"{one:12.3f}" for one in each)
                print(f"{name:40}", *shown, f"{(len(lines) - before[3]) / more:12.3f}", flush=True)
        before = name, len_bytes, taken, len(lines)


if __name__ == "__main__":
    main()
