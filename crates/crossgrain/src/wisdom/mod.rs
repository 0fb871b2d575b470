//! Wisdom: costs measured on this machine, kept in a file.
//!
//! The file is JSON and signed: by the CPU, its instructions, this library's version and the names in the
//! table of variants. A file that differs in any of it, is cut or changed is refused as a whole: plans then
//! go by estimates, and results are the same. Nothing is read or written here unless asked for.

#[cfg(feature = "device")]
mod devices;
mod file;
mod json;
mod refused;

pub use file::{PATH_VARIABLE, default_path, forget};
pub use refused::{Differs, Refused};

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::block::Cipher;
use crate::cipher::Entry;
use crate::plan::Costs;
use crate::variant::{Action, Variant, table};
use crate::word::{Features, cpu_model};

/// What costs depend on besides the variant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// This library's version.
    pub version: String,
    /// The CPU's model.
    pub cpu: String,
    /// The instructions that the CPU has, whatever the cap.
    pub features: String,
    /// A digest of the names of all variants.
    pub variants: String,
}

impl Signature {
    /// What holds here and now.
    pub fn here() -> Self {
        // Searches and derived kernels aside: whether they are in the table is a feature's choice, and other plans do not depend
        // on them.
        let is_derived = |row: &&Variant| row.family.is_some_and(|family| !Entry::of(family).by_hand);
        let planned =
            table().iter().filter(|row| !matches!(row.action, Action::Search(..)) && !is_derived(row));
        let names = planned.flat_map(|variant| variant.name.bytes().chain([b'\n']));
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cpu: cpu_model(),
            features: Features::of_cpu().to_string(),
            variants: digest(names),
        }
    }

    /// Whether costs signed so may be used by who signs as `here`.
    fn admit(&self, here: &Self) -> Result<(), Refused> {
        let differs = |file: &str, here: &str| {
            (file != here).then(|| Differs { file: file.to_owned(), here: here.to_owned() })
        };
        if let Some(differs) = differs(&self.version, &here.version) {
            return Err(Refused::Version(differs));
        }
        if let Some(differs) = differs(&self.cpu, &here.cpu) {
            return Err(Refused::Cpu(differs));
        }
        if let Some(differs) = differs(&self.features, &here.features) {
            return Err(Refused::Features(differs));
        }
        if self.variants == here.variants { Ok(()) } else { Err(Refused::Variants) }
    }
}

/// Measured costs by cipher and by device, and what they depend on. `crossgrain wisdom measure` makes them.
///
/// ```
/// use std::sync::Arc;
///
/// use crossgrain::Cipher;
/// use crossgrain::mode::Options;
/// use crossgrain::wisdom::{Wisdom, default_path};
///
/// let wisdom = default_path().and_then(|path| Wisdom::load(&path).ok());
/// let costs = wisdom.and_then(|wisdom| wisdom.costs(Cipher::Aes256).cloned());
/// let options = Options { costs: costs.map(Arc::new), ..Options::default() };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Wisdom {
    signature: Signature,
    by_cipher: BTreeMap<&'static str, Costs>,
    by_device: BTreeMap<String, DeviceCosts>,
}

/// What a device's driver was when its costs were measured, the costs, and how programs are best started there. Costs are `upload`, `download`, to open
/// it for a program (`open/aes-ctr`), and to run that for a cipher (`aes-128/aes-ctr`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceCosts {
    /// The device and its driver in words: costs are of no use for another.
    pub model: String,
    /// The costs.
    pub costs: Costs,
    /// How many threads a group has that runs a program (`aes-ctr`), and of what is written for the device when it is used, a group (`parallel/group`) and a run
    /// (`parallel/run`). A caller that starts a program looks whether it can be.
    pub threads: BTreeMap<String, u32>,
}

impl Wisdom {
    /// Nothing known yet.
    pub fn new(signature: Signature) -> Self {
        Self { signature, by_cipher: BTreeMap::new(), by_device: BTreeMap::new() }
    }

    /// What the costs depend on.
    pub const fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Keeps the costs of a cipher in the place of those known before. A cost that is no finite number, or
    /// negative, is left out: whatever was timed, it was not the variant.
    pub fn insert(&mut self, cipher: Cipher, costs: &Costs) {
        self.by_cipher.insert(cipher.name(), sound(costs));
    }

    /// Keeps the costs of a device, such as `cuda:0`, likewise.
    pub fn insert_device(&mut self, id: &str, device: &DeviceCosts) {
        let device = DeviceCosts { costs: sound(&device.costs), ..device.clone() };
        self.by_device.insert(id.to_owned(), device);
    }

    /// Devices with costs, in order.
    pub fn devices(&self) -> impl Iterator<Item = (&str, &DeviceCosts)> {
        self.by_device.iter().map(|(id, device)| (id.as_str(), device))
    }

    /// The costs of a cipher, if they are known.
    pub fn costs(&self, cipher: Cipher) -> Option<&Costs> {
        self.by_cipher.get(cipher.name())
    }

    /// This, and what `older` knows of ciphers and devices that this knows nothing of.
    fn over(&self, older: Self) -> Self {
        let mut both = self.clone();
        for (cipher, costs) in older.by_cipher {
            both.by_cipher.entry(cipher).or_insert(costs);
        }
        for (id, device) in older.by_device {
            both.by_device.entry(id).or_insert(device);
        }
        both
    }
}

/// Costs that a plan can reckon with.
fn sound(costs: &Costs) -> Costs {
    let sound = costs.iter().filter(|(_, known)| known.cost.is_sound());
    sound.map(|(name, known)| (name.to_owned(), known)).collect()
}

/// FNV-1a in hex: it finds accidents and other tables, and stops nobody who means harm.
fn digest(bytes: impl Iterator<Item = u8>) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    format!("{:016x}", bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME)))
}
