//! `crossgrain inspect`: prints the contents of a header, without a key.

use std::fmt::Write as _;

use crossgrain::engine::text::{grouped, size};
use crossgrain_container::{Header, PREFIX_BYTES, SlotKind, plaintext_bytes};
use serde_json::json;

use super::args::InspectArgs;
use super::{kdf_json, read_header, slot_kinds, slots_json};
use crate::error::Error;
use crate::input::Input;

/// Reads a header and prints it with the lengths that follow from it.
pub(crate) fn inspect(args: &InspectArgs) -> Result<(), Error> {
    let mut input = Input::open(args.input.as_deref().filter(|path| path.as_os_str() != "-"))?;
    let header = read_header(&mut input)?;
    let head_bytes = (header.to_bytes().len() + PREFIX_BYTES) as u64;
    let plaintext_bytes =
        input.len_bytes().map(|len_bytes| len_bytes.checked_sub(head_bytes).and_then(plaintext_bytes));
    let text = if args.json { as_json(&header, plaintext_bytes) } else { as_text(&header, plaintext_bytes) };
    let mut output = crate::output::Output::standard()?;
    let written = std::io::Write::write_all(&mut output, text.as_bytes());
    written.map_err(|error| Error::print(&error))
}

/// `plaintext_bytes` is `None` for a stream, whose length is unknown, and `Some(None)` for a truncated file.
fn as_json(header: &Header, plaintext_bytes: Option<Option<u64>>) -> String {
    let truncated = plaintext_bytes.map(|known| known.is_none());
    let value = json!({
        "version": header.version(), "suite": header.suite.name(), "kdf": kdf_json(&header.kdf),
        "slots": slots_json(&header.kdf),
        "plaintext_bytes": plaintext_bytes.flatten(), "truncated": truncated,
    });
    format!("{value}\n")
}

fn as_text(header: &Header, plaintext_bytes: Option<Option<u64>>) -> String {
    let mut text = format!("version    {}\nsuite      {}\n", header.version(), header.suite);
    for (number, kind) in (1..).zip(slot_kinds(&header.kdf)) {
        let label = if header.version() == 1 { "key".to_owned() } else { format!("slot {number}") };
        let kind = match kind {
            SlotKind::Key => "a key file".to_owned(),
            SlotKind::Passphrase(costs) => format!(
                "a passphrase, by Argon2id with {}, {} passes and {} lanes",
                size(u64::from(costs.memory_kib) << 10),
                costs.passes,
                costs.lanes
            ),
            SlotKind::X25519 { .. } => "an identity (X25519)".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{label:<11}{kind}");
    }
    let _ = match plaintext_bytes {
        Some(Some(len_bytes)) => {
            writeln!(text, "plaintext  {} bytes, if the file is whole", grouped(len_bytes))
        }
        Some(None) => writeln!(text, "plaintext  the file is cut off"),
        None => writeln!(text, "plaintext  unknown, for this is a stream"),
    };
    text
}
