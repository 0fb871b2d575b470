//! AES by look-ups in tables that join SubBytes and MixColumns, a block a thread after another.
//!
//! The tables stand in the memory that a group of threads shares, once for each of 32 neighbouring threads, so that each
//! reads from a bank of its own: word `32·(2·byte + table % 2) + lane` of a pair of tables, or `32·byte + lane` of a
//! single one, of whose words the other three tables' are rotations. Four tables take 128 KiB, and an address is then one
//! permutation of bytes; a single one takes 32 KiB.
//! Source: the Rijndael submission §5.2.1; the tables are those of `part::aes::table`.
//! Holds: **addresses are secret.** Banks do not tell them, but no more is promised, and it is for policy `any` alone.

use super::text::{Text, words};
use super::{Form, Kernel, Task};
use crate::circuit::emit::{Field, Language, Signature};
use crate::circuit::trace::Sym;
use crate::part::aes::key::RoundKeys;
use crate::part::aes::table::encryption_tables;
use crate::word::each;

/// Blocks of a thread.
pub(super) const THREAD_BLOCKS: u32 = 32;

/// Round keys of the longest key; the tables follow them.
const ROUND_KEY_WORDS: usize = 4 * 15;

/// Words of a table, once for each of 32 threads.
const TABLE_WORDS: u32 = 256 * 32;

/// The round keys, column by column, and the four tables.
pub(super) fn keys(round_keys: &RoundKeys, to: &mut Vec<u32>) {
    let columns = round_keys.blocks().as_flattened().as_chunks::<4>().0;
    to.extend(columns.iter().map(|column| u32::from_le_bytes(*column)));
    to.resize(ROUND_KEY_WORDS, 0);
    to.extend(encryption_tables().as_flattened());
}

/// The program's text.
pub(super) fn text(kernel: Kernel, language: Language) -> String {
    let mut text = Text::new(kernel, language);
    text.structure("State", &[("x", Field::Words(4))]);
    text.push(&declaration(kernel, language));
    look_ups(&mut text, kernel.form);
    columns(&mut text);
    cipher(&mut text);
    if kernel.task == Task::Count {
        text.swap_bytes();
    }
    let body = body(&text, kernel);
    text.entry(kernel, &body)
}

fn declaration(kernel: Kernel, language: Language) -> String {
    let words = kernel.shared_bytes() / 4;
    match (language, kernel.form) {
        // More than 48 KiB are had only when they are asked for at the start.
        (Language::Cuda, Form::FourTables) => "extern __shared__ u32 tables[];\n\n".to_owned(),
        (Language::Cuda, _) => format!("__shared__ u32 tables[{words}];\n\n"),
        (Language::Wgsl, _) => format!("var<workgroup> tables: array<u32, {words}>;\n\n"),
    }
}

/// `look_up0` to `look_up3`: what byte r of a word contributes to a column, from row r; and `sub0` to `sub3`: as seen two
/// rows below, where row r has the byte that the S-box gives.
fn look_ups(text: &mut Text, form: Form) {
    for byte in 0..4 {
        look_up(text, form, &format!("look_up{byte}"), byte, byte);
        look_up(text, form, &format!("sub{byte}"), byte, (byte + 2) % 4);
    }
}

/// Byte `byte` of a word in a table.
fn look_up(text: &mut Text, form: Form, name: &str, byte: usize, table: usize) {
    let index = if byte == 0 { "(v & 255u)".to_owned() } else { format!("((v >> {}u) & 255u)", 8 * byte) };
    let body = match (form, text.language) {
        // The byte between zeros and four times the lane: the address within a pair of tables.
        (Form::FourTables, Language::Cuda) => {
            let offset_bytes = 65536 * (table / 2) + 128 * (table % 2);
            format!(
                "    let address = __byte_perm(v, 4u * lane, 0x77{byte}4);
    return *(const u32 *)((const char *)tables + address + {offset_bytes});
"
            )
        }
        (Form::FourTables, Language::Wgsl) => {
            let offset = 16384 * (table / 2) + 32 * (table % 2);
            format!("    return tables[64u * {index} + lane + {offset}u];\n")
        }
        _ if table == 0 => format!("    return tables[32u * {index} + lane];\n"),
        _ => format!(
            "    let t = tables[32u * {index} + lane];
    return (t << {}u) | (t >> {}u);
",
            8 * table,
            32 - 8 * table
        ),
    };
    text.function(name, &[("v", "u32"), ("lane", "u32")], "u32", &body);
}

/// The sum of four words and a key, and the bytes of which four look-ups have the S-box in place.
fn columns(text: &mut Text) {
    text.structure("Looked", &[("x", Field::Words(4))]);
    text.structure("Word", &[("x", Field::Words(1))]);
    let signature = Signature {
        parameters: &[("x", "Looked"), ("key", "u32")],
        inputs: [words("x", 4), vec!["key".to_owned()]].concat(),
        result: "Word",
        outputs: words("", 1),
    };
    text.circuit("sum", &signature, |x: [Sym; 5]| [x[0] ^ x[1] ^ (x[2] ^ x[3] ^ x[4])]);
    text.circuit("bytes", &signature, |x: [Sym; 5]| {
        let bytes: [Sym; 4] = each!(row < 4 => x[row] & Sym::constant(0xff << (8 * row)));
        [bytes[0] ^ bytes[1] ^ (bytes[2] ^ bytes[3] ^ x[4])]
    });
}

fn cipher(text: &mut Text) {
    let looked = |text: &Text, column: usize, function: &str| {
        let word = |row| format!("{function}{row}(s.x[{}], lane)", (column + row) % 4);
        text.of_words("Looked", [0, 1, 2, 3].map(word))
    };
    let columns = [0, 1, 2, 3];
    let first = text.of_words("State", columns.map(|at| format!("block.x[{at}] ^ keys[{at}u]")));
    let round = |sum: &str, function: &str| {
        let column = |at| format!("\n        {sum}({}, keys[k + {at}u]).x[0]", looked(text, at, function));
        text.of_words("State", columns.map(column))
    };
    let (middle, last) = (round("sum", "look_up"), round("bytes", "sub"));
    let body = format!(
        "    var s = {first};
    for (var number = 1u; number < rounds; number = number + 1u) {{
        let k = 4u * number;
        s = {middle};
    }}
    let k = 4u * rounds;
    return {last};
"
    );
    text.function("cipher", &[("block", "State"), ("rounds", "u32"), ("lane", "u32")], "State", &body);
}

/// What a thread does: blocks of a group's threads lie side by side.
fn body(text: &Text, kernel: Kernel) -> String {
    let group = kernel.group_threads();
    let block = text.one_block(kernel.task, "job.rounds, lane");
    let block: String = block.lines().map(|line| format!("        {line}\n")).collect();
    format!(
        "{}    barrier();
    let lane = local % 32u;
    let base = {THREAD_BLOCKS}u * (thread - local) + local;
    for (var number = 0u; number < {THREAD_BLOCKS}u; number = number + 1u) {{
        let first = base + {group}u * number;
        if (first < job.blocks) {{
{block}        }}
    }}
",
        fill(kernel)
    )
}

/// Every thread of a group writes its share of the tables.
fn fill(kernel: Kernel) -> String {
    let (group, total) = (kernel.group_threads(), kernel.shared_bytes() / 4);
    let from = match kernel.form {
        Form::FourTables => {
            format!("512u * (at / {}u) + 256u * (at / 32u % 2u) + at / 64u % 256u", 2 * TABLE_WORDS)
        }
        _ => "at / 32u".to_owned(),
    };
    format!(
        "    for (var at = local; at < {total}u; at = at + {group}u) {{
        tables[at] = keys[{ROUND_KEY_WORDS}u + {from}];
    }}
"
    )
}
