//! Bit-sliced AES, 32 blocks per thread. Word `8·row + bit` of a column holds that bit of all 32 blocks; see
//! `bits`.
//!
//! As in `cipher::aes::bitsliced`, the S-box constant is folded into the round keys.

pub(crate) mod cached_counter;
#[cfg(feature = "search")]
pub(crate) mod search;
pub(crate) mod tables;

use zeroize::Zeroizing;

use super::bitsliced::key_words as key_bits;
use super::key::RoundKeys;
use super::{Aes, linear_circuit};
use crate::arch::{Features, each};
use crate::block::{Cipher, Key};
use crate::circuit::emit::{Language, Signature};
use crate::circuit::trace::Sym;
use crate::circuit::{Bits, aes_sbox};
use crate::device::bits::{self, COLUMNS, ROWS, column_words};
use crate::device::recorded::on_bytes;
use crate::device::text::{Text, byte, key_words, mapped};
use crate::device::{Form, KEY_WORDS_MAX, Kernel, Programs, Task, Work};

/// AES's programs.
pub(crate) static PROGRAMS: Programs = Programs {
    gates: Form::Bits,
    others: &[
        (Task::Generate, Form::CachedCounter, "aes-random-cached"),
        (Task::Encrypt, Form::OneTable, "aes-encrypt-table"),
        (Task::Decrypt, Form::OneTable, "aes-decrypt-table"),
        (Task::Count, Form::OneTable, "aes-ctr-table"),
        (Task::Generate, Form::OneTable, "aes-random-table"),
        (Task::Encrypt, Form::FourTables, "aes-encrypt-tables"),
        (Task::Decrypt, Form::FourTables, "aes-decrypt-tables"),
        (Task::Count, Form::FourTables, "aes-ctr-tables"),
        (Task::Generate, Form::FourTables, "aes-random-tables"),
    ],
    cuda_bits_group_threads: [64, 256, 64, 256],
    cuda_bits_shared_bytes: 0,
    text: |kernel, language, group_threads| match kernel.form {
        Form::OneTable | Form::FourTables => tables::text(kernel, language),
        Form::CachedCounter => cached_counter::text(kernel, language),
        Form::Bits | Form::Words => text(kernel, language, group_threads),
    },
    work,
    keys,
    recorded: on_bytes::<Aes>,
};

fn work(kernel: Kernel, cipher: Cipher) -> Work {
    let rounds = cipher.rounds() as f64;
    match kernel.form {
        Form::OneTable | Form::FourTables => tables::work(kernel.task, rounds),
        Form::CachedCounter => Work { gates: cached_counter::gates(rounds), look_ups: 0.0 },
        Form::Bits | Form::Words => Work { gates: gates(kernel.task, rounds), look_ups: 0.0 },
    }
}

/// The keys of a program. Programs of gates have one word per round-key bit, of 32 equal bits; the S-box
/// constant is folded into all round keys but the first. Programs with tables have the words of the round
/// keys, then the tables.
fn keys(kernel: Kernel, key: &Key) -> Zeroizing<Vec<u32>> {
    let keys = RoundKeys::expand(key, Features::NONE);
    if kernel.form.looks_up() {
        let mut words = Zeroizing::new(Vec::with_capacity(KEY_WORDS_MAX));
        tables::keys(kernel.task, &keys, &mut words);
        return words;
    }
    kernel.in_order::<128>(key_bits(&keys))
}

/// The text of a program of gates.
fn text(kernel: Kernel, language: Language, group_threads: u32) -> String {
    let mut text = Text::new(kernel, language);
    bits::structures(&mut text);
    if kernel.task == Task::Decrypt {
        decrypt(&mut text);
    } else {
        encrypt(&mut text);
    }
    bits::entry(text, kernel, group_threads)
}

/// Adds a circuit on a column and the words of its round key, which begin at vector `k` of `keys`.
fn keyed_column(
    text: &mut Text,
    name: &str,
    circuit: impl FnOnce([Bits<Sym>; 4], [Bits<Sym>; 4]) -> [Bits<Sym>; 4],
) {
    let inputs = [column_words("x"), key_words(32)].concat();
    let parameters = [("x", "Column"), ("k", "u32")];
    let signature =
        Signature { parameters: &parameters, inputs, result: "Column", outputs: column_words("") };
    text.circuit(name, &signature, |words: [Sym; 64]| on_words(words, circuit));
}

/// Applies a circuit to the words of a column and those of a round key.
fn on_words(
    words: [Sym; 64],
    circuit: impl FnOnce([Bits<Sym>; 4], [Bits<Sym>; 4]) -> [Bits<Sym>; 4],
) -> [Sym; 32] {
    let bytes: [Bits<Sym>; 8] = each!(at < 8 => each!(bit < 8 => words[8 * at + bit]));
    let column = circuit(each!(row < 4 => bytes[row]), each!(row < 4 => bytes[4 + row]));
    each!(at < 32 => column[at / 8][at % 8])
}

/// The number of gates per block.
fn gates(task: Task, rounds: f64) -> f64 {
    let [sub_byte, column] = part_gates(task);
    bits::gates(task, 16.0 * rounds * sub_byte + 4.0 * (rounds - 1.0) * column + 2.0 * 128.0)
}

/// The number of gates of an S-box, and of MixColumns with its key on one column.
pub(super) fn part_gates(task: Task) -> [f64; 2] {
    let parts = match task {
        Task::Decrypt => [mapped(aes_sbox::inverse), mapped(|words| on_words(words, mix_backwards))],
        _ => [mapped(aes_sbox::forward), mapped(|words| on_words(words, mix_forwards))],
    };
    parts.map(|graph| graph.gates().len() as f64)
}

/// MixColumns, then AddRoundKey.
pub(crate) fn mix_forwards(x: [Bits<Sym>; 4], key: [Bits<Sym>; 4]) -> [Bits<Sym>; 4] {
    sum(linear_circuit::mix_column(x), key)
}

/// AddRoundKey, then InvMixColumns.
pub(crate) fn mix_backwards(x: [Bits<Sym>; 4], key: [Bits<Sym>; 4]) -> [Bits<Sym>; 4] {
    linear_circuit::inv_mix_column(sum(x, key))
}

fn sum(a: [Bits<Sym>; 4], b: [Bits<Sym>; 4]) -> [Bits<Sym>; 4] {
    each!(row < 4 => linear_circuit::add(a[row], b[row]))
}

/// Adds `add_key` and the parts of an encryption round.
pub(super) fn forward_parts(text: &mut Text) {
    add_key(text);
    byte(text, "sub_byte", aes_sbox::forward);
    keyed_column(text, "mix_column_and_add", mix_forwards);
}

fn add_key(text: &mut Text) {
    keyed_column(text, "add_key", sum);
}

/// The state after a middle round of `s`, with the round key at `k`.
pub(super) fn middle_round(text: &Text) -> String {
    round(text, "mix_column_and_add", "sub_byte", 1)
}

/// The state after the last round of `s`, with the round key at `k`.
pub(super) fn last_round(text: &Text) -> String {
    round(text, "add_key", "sub_byte", 1)
}

/// The state whose column c is `function` of four bytes and of its words of the round key at `k`. Row r is
/// taken from column `c + step·r`, through `sub_byte`.
fn round(text: &Text, function: &str, sub_byte: &str, step: usize) -> String {
    let column = |column: usize| {
        let bytes =
            (0..4).map(|row| format!("{sub_byte}(s.{}.{})", COLUMNS[(column + step * row) % 4], ROWS[row]));
        format!("\n        {function}({}, k + {}u)", text.made("Column", bytes), 8 * column)
    };
    text.made("State", (0..4).map(column))
}

/// A state with the round key at `k` added.
pub(super) fn keyed(text: &Text, state: &str) -> String {
    let column = |at: usize| format!("add_key({state}.{}, k + {}u)", COLUMNS[at], 8 * at);
    text.made("State", (0..4).map(column))
}

fn encrypt(text: &mut Text) {
    forward_parts(text);
    let rounds = [middle_round(text), last_round(text)];
    cipher(text, rounds);
}

fn decrypt(text: &mut Text) {
    add_key(text);
    byte(text, "inverse_sub_byte", aes_sbox::inverse);
    keyed_column(text, "add_and_inverse_mix_column", mix_backwards);
    let rounds =
        ["add_and_inverse_mix_column", "add_key"].map(|part| round(text, part, "inverse_sub_byte", 3));
    cipher(text, rounds);
}

/// Adds the function `cipher`, from the expressions for the state after a middle round and after the last
/// round.
fn cipher(text: &mut Text, [middle, last]: [String; 2]) {
    let body = format!(
        "    var k = 0u;
    var s = {};
    for (var number = 1u; number < rounds; number = number + 1u) {{
        k = 32u * number;
        s = {middle};
    }}
    k = 32u * rounds;
    return {last};
",
        keyed(text, "block"),
    );
    text.function("cipher", &[("block", "State"), ("rounds", "u32")], "State", &body);
}
