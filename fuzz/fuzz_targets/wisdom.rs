//! Wisdom files: costs that were measured on this machine.
//!
//! The first byte is the kind of the rest: the text of a file, or changes to a valid one.
//! Holds: nothing panics. A file that was changed is refused unless the change makes no difference, and an error is one line.

#![no_main]

mod edit;

use std::sync::OnceLock;

use crossgrain::Cipher;
use crossgrain::engine::variant::table;
use crossgrain::plan::compose::Cost;
use crossgrain::plan::{Costs, Known};
use crossgrain::wisdom::{DeviceCosts, Signature, Wisdom};
use libfuzzer_sys::fuzz_target;

/// A valid file.
fn valid() -> &'static Wisdom {
    static VALID: OnceLock<Wisdom> = OnceLock::new();
    VALID.get_or_init(|| {
        let known = Known { cost: Cost { fixed_ns: 12.5, per_byte_ns: 0.25 }, spread: Some(0.125) };
        let names = table().iter().take(3).map(|variant| variant.name.clone());
        let costs: Costs = names.map(|name| (name, known)).collect();
        let mut wisdom = Wisdom::new(Signature::here());
        wisdom.insert(Cipher::Aes128, &costs);
        let upload: Costs = [("upload".to_owned(), known)].into_iter().collect();
        let threads = [("aes-ctr".to_owned(), 128)].into();
        wisdom.insert_device("cuda:0", &DeviceCosts { model: "a GPU".to_owned(), costs: upload, threads });
        wisdom
    })
}

fn read(text: &str) -> Option<Wisdom> {
    match Wisdom::from_json(text) {
        Ok(wisdom) => {
            assert_eq!(Wisdom::from_json(&wisdom.to_json()).as_ref(), Ok(&wisdom));
            Some(wisdom)
        }
        Err(refused) => {
            assert!(!refused.to_string().contains('\n'));
            None
        }
    }
}

fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0..128, changes)) => {
            if let Some(wisdom) = read(&edit::text(&valid().to_json(), changes)) {
                assert_eq!(&wisdom, valid());
            }
        }
        Some((_, text)) => {
            if let Ok(text) = std::str::from_utf8(text) {
                read(text);
            }
        }
        None => {}
    }
});
