"""Find loads that defeat store forwarding, in one call of a benchmark job.

A CPU hands the bytes of a recent store to a load only if one store has all of them. A load that spans two recent
stores waits until both are in the cache, about fifteen cycles. In a call of 30 ns, one such load can take a third.

This steps through one call with gdb, computes the address and the size of every load and store, and prints the loads
whose bytes the last 400 instructions stored in parts. The last line is the number of instructions. It needs gdb and
an x86-64 CPU:

    cargo build --release -p crossgrain-peers
    JOB=aes-256-ocb/apart/64 gdb -q -batch -x bench/forwarding.py target/release/crossgrain-peers

A call ends where the function that the variable `UNTIL` names (a regular expression) is entered again. It is
`clear_registers` unless given, which every call of a mode runs once. Sizes come from the text of instructions, so
look at each finding: a store by `set…` writes one byte, and loads of lists by `memcpy` are not ours.
"""

import os
import re
import tempfile

import gdb

#: Older stores are in the cache by now.
RECENT = 400
#: Calls before the one that is traced: caches and predictors do not matter here, but lazy set-up does.
WARM_CALLS = 200
#: A limit, should a call never come back.
MOST = 20_000

MEMORY = re.compile(r"(-?0x[0-9a-f]+)?\(([^)]*)\)")
LINE = re.compile(r"=> 0x[0-9a-f]+ <(.*?)>:\s*(\S+)\s*(.*)")
#: Instructions that read or write part of a vector register.
PARTS = [
    (4, re.compile(r"v?mov(d|ss)$|v?pinsrd$|v?pextrd$")),
    (8, re.compile(r"v?mov(q|sd|lps|hps|lpd|hpd|ddup)$|v?pinsrq$|v?pextrq$|vpbroadcastq$|vbroadcastsd$")),
    (16, re.compile(r"vbroadcast[fi](32x4|64x2|128)$|vinsert[fi]|vextract[fi]")),
]
#: General registers by their size.
GENERAL = [
    (1, re.compile(r"[abcd]l$|(si|di|bp|sp)l$|r\d+b$")),
    (2, re.compile(r"[abcd]x$|(si|di|bp|sp)$|r\d+w$")),
    (4, re.compile(r"e|r\d+d$")),
]


def size(name, operands):
    """The bytes that an instruction reads or writes in memory."""
    for vector, size_bytes in (("zmm", 64), ("ymm", 32), ("xmm", 16)):
        if vector in operands:
            return next((part for part, names in PARTS if names.match(name)), size_bytes)
    if name.startswith(("set", "movzb", "movsb")):
        return 1
    if name.startswith(("movzw", "movsw")):
        return 2
    if name == "movslq":
        return 4
    general = re.search(r"%(\w+)", MEMORY.sub("", operands))
    if general:
        return next((part for part, names in GENERAL if names.match(general[1])), 8)
    return {"b": 1, "w": 2, "l": 4}.get(name[-1], 8)


def register(name):
    return int(gdb.parse_and_eval(f"(unsigned long)${name}"))


def address(operands, comment):
    """The address of a memory operand, or None."""
    memory = MEMORY.search(operands)
    if memory is None:
        return None
    base, index, scale = (memory[2].split(",") + ["", ""])[:3]
    if base == "%rip":
        return int(comment.split()[0], 16) if comment else None
    total = int(memory[1] or "0", 16)
    if base:
        total += register(base.strip("% "))
    if index:
        total += register(index.strip("% ")) * int(scale or "1", 0)
    return total % (1 << 64)


def begin(until):
    """Runs to the end of a warm call, and returns the address there."""
    job = os.environ["JOB"]
    with tempfile.NamedTemporaryFile("w", delete=False) as requests:
        requests.write(f"time {job} 3000\n")
    gdb.execute("set pagination off")
    gdb.execute("set confirm off")
    gdb.execute(f"start worker crossgrain < {requests.name}", to_string=True)
    os.unlink(requests.name)
    gdb.execute(f"rbreak {until}", to_string=True)
    breakpoints = gdb.breakpoints()
    for point in breakpoints:
        point.ignore_count = WARM_CALLS
    gdb.execute("continue", to_string=True)
    for point in breakpoints:
        point.enabled = False
    return register("pc")


def trace():
    end, stores, told = begin(os.environ.get("UNTIL", "clear_registers")), [], set()
    for number in range(MOST):
        text = gdb.execute("x/i $pc", to_string=True)
        line = LINE.match(text)
        function, name, rest = (line[1], line[2], line[3]) if line else ("?", "nop", "")
        operands, _, comment = (part.strip() for part in rest.partition("#"))
        if name == "push":
            stores.append((number, register("rsp") - 8, 8, text))
        elif not name.startswith(("lea", "nop", "prefetch", "j", "call")):
            place = address(operands, comment)
            if place is not None:
                access(number, (function, name, operands), (place, size(name, operands)), stores, told, text)
        del stores[:-RECENT]
        gdb.execute("stepi", to_string=True)
        if register("pc") == end:
            break
    print(f"{number + 1} instructions")


def access(number, instruction, bytes_at, stores, told, text):
    """Records a store, or tells of a load that spans recent stores."""
    function, name, operands = instruction
    place, length = bytes_at
    writes = re.search(r"\)(\{%k\d\})?$", operands) and not name.startswith(("cmp", "test", "bt"))
    if not (writes and re.match(r"v?mov|v?pextr|vextract|set", name)):
        recent = [s for s in stores if number - s[0] < RECENT and s[1] < place + length and place < s[1] + s[2]]
        is_whole = not recent or (recent[-1][1] <= place and place + length <= recent[-1][1] + recent[-1][2])
        if not is_whole and text not in told:
            told.add(text)
            print(f"{function[:140]}: {name} {operands}, {length} bytes")
            for before, _, stored, by in recent[-3:]:
                print(f"    {stored} bytes stored {number - before} instructions before: {by.strip()[-90:]}")
    if writes:
        stores.append((number, place, length, text))


trace()
