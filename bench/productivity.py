"""Counts lines and complexity of a generator of AES in counter mode: source lines and McCabe's number by lizard, Halstead's volume
and effort by multimetric. `cargo xtask reproduce source` runs this script and names the file with the emitted CUDA C.

Only functions are counted: no comments, tests or types. The key expansion is left out, because every version has the same one.
Each line of the output is a JSON object with the figures of one text.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import lizard

SOURCE = Path("crates")

# The functions of each file that a generator needs. The steps come first, then the code around them in a kernel of `parallel` and in
# the engine's own forms.
S_BOX = {
    "crossgrain/src/circuit/aes_sbox.rs": ["forward", "forward_input", "invert", "forward_output"],
}
STEPS = S_BOX | {
    "crossgrain/src/cipher/aes/linear_circuit.rs": ["neighbours", "mix_bit"],
}
AS_A_KERNEL = {
    "crossgrain-gpu/src/parallel/blocks.rs": ["key", "spread", "add_key", "begin"],
    "crossgrain-gpu/src/parallel/aes.rs": ["substituted", "rows", "rounds", "first", "round", "last"],
}
ON_CPUS = {
    "crossgrain/src/cipher/aes/bitsliced.rs": [
        "byte", "set_byte", "places_among", "key_byte", "add_round_key", "sub_byte", "sub_bytes_unfinished", "rows",
        "mix_column_and_add", "encrypt_round", "encrypt_middle", "encrypt",
    ],
    "crossgrain/src/mode/ctr/counter.rs": ["low", "count_bundle", "spread"],
}
ON_GPUS = {
    "crossgrain/src/cipher/aes/linear_circuit.rs": ["mix_column"],
    "crossgrain/src/cipher/aes/gpu/mod.rs": [
        "text", "keyed_column", "on_words", "mix_forwards", "sum", "forward_parts", "add_key", "middle_round",
        "last_round", "round", "keyed", "encrypt", "cipher",
    ],
    "crossgrain/src/device/text.rs": ["byte"],
    "crossgrain/src/device/bits.rs": [
        "structures", "column_words", "entry", "rows_of", "transposed", "counters", "body", "place", "stored", "each_block",
        "counted",
    ],
}
SEQUENTIAL = {
    "crossgrain/src/cipher/aes/description.rs": ["rijndael!", "substituted!", "shifted_from", "mix_column"],
    "crossgrain/src/cipher/plain.rs": ["add", "add_key", "substitute_sum", "linear"],
    "crossgrain/src/circuit/affine.rs": ["multiply", "apply"],
}


def functions(parts):
    """The text of these functions."""
    texts = []
    for name, wanted in parts.items():
        path = SOURCE / name
        lines = path.read_text().splitlines(keepends=True)
        found = {}
        for function in lizard.analyze_file(str(path)).function_list:
            # A method of the same name further down is another's.
            found.setdefault(function.name.split("::")[-1], function)
        missing = [name for name in wanted if name not in found and not name.endswith("!")]
        if missing:
            sys.exit(f"{path} has no function {', '.join(missing)}: mend bench/productivity.py")
        for name in wanted:
            if name.endswith("!"):
                # What a macro of one rule comes to.
                text = path.read_text().split(f"macro_rules! {name[:-1]} {{")[1].split("=> {\n", 1)[1]
                texts.append(text.split("\n    };")[0].replace("$", ""))
            else:
                texts.append("".join(lines[found[name].start_line - 1 : found[name].end_line]))
    return "\n".join(texts)


def measures(text, suffix):
    """Lines, McCabe's number, Halstead's volume and effort."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"counted{suffix}"
        path.write_text(text)
        counted = lizard.analyze_file(str(path))
        told = subprocess.run(
            [Path(sys.executable).parent / "multimetric", path], check=True, capture_output=True, text=True
        )
        halstead = json.loads(told.stdout)["overall"]
    return {
        "lines": counted.nloc,
        "mccabe": sum(function.cyclomatic_complexity for function in counted.function_list),
        "volume": halstead["halstead_volume"],
        "effort": halstead["halstead_effort"],
    }


def gate_by_gate(text):
    """A text whose declarations have a line for each name."""
    return re.sub(r", (?=\w+ = )", ",\n", text)


def main():
    emitted = Path(sys.argv[1]).read_text()
    by_hand = Path("bench/hand_written.cu").read_text()
    for name, text, suffix in [
        ("kernel", functions(STEPS | AS_A_KERNEL), ".rs"),
        ("s-box", functions(S_BOX), ".rs"),
        ("engine", functions(STEPS | ON_CPUS | ON_GPUS), ".rs"),
        ("by-hand", by_hand, ".cpp"),
        ("by-hand-gate-by-gate", gate_by_gate(by_hand), ".cpp"),
        ("emitted", emitted, ".cpp"),
        ("sequential", functions(SEQUENTIAL), ".rs"),
    ]:
        print(json.dumps({"text": name} | measures(text, suffix)))


main()
