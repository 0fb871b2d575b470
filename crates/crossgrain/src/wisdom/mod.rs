//! Wisdom: costs measured on this machine, stored in a file.
//!
//! The file is JSON. Its signature is the CPU, its instructions, this library's version and the names in the
//! variant table that every build has. A file is refused as a whole if any of these differs, or if it is
//! truncated or changed. Plans then use estimates, and results stay the same.
//!
//! Cargo features decide which ciphers and variants a build has. A build reads the file of a build with other
//! features: plans ignore the costs of unknown ciphers and variants, and [`Wisdom::merge`] keeps them. This
//! module reads and writes files only on request.

#[cfg(feature = "device")]
mod devices;
mod file;
mod json;
mod refused;

pub use file::{PATH_VARIABLE, default_path, forget};
pub use refused::{Differs, Refused};

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::arch::{Features, cpu_model};
use crate::block::{Cipher, Family};
use crate::plan::Costs;
#[cfg(feature = "own-keys")]
use crate::plan::Fused;
use crate::variant::{Action, Variant, find, table};

/// The facts, apart from the variant, that costs depend on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// This library's version.
    pub version: String,
    /// The CPU's model.
    pub cpu: String,
    /// The CPU's instructions, regardless of the cap.
    pub features: String,
    /// A digest of the names of the variants that do not depend on Cargo features.
    pub variants: String,
}

impl Fingerprint {
    /// The signature of this machine and version.
    pub fn here() -> Self {
        // Cargo features decide whether the table has searches, single steps, kernels for records with their own
        // keys, and ciphers other than AES. A build without them can use the remaining costs.
        let is_optional = |row: &&Variant| match row.action {
            Action::Search(..) | Action::SearchStep(..) => true,
            Action::Tile(..) if row.is_step() => true,
            #[cfg(feature = "own-keys")]
            Action::Fused(fused, ..) | Action::Pass(fused) if fused == Fused::OwnKeys => true,
            _ => row.family.is_some_and(|family| family != Family::Aes),
        };
        let planned = table().iter().filter(|row| !is_optional(row));
        let names = planned.flat_map(|variant| variant.name.bytes().chain([b'\n']));
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cpu: cpu_model(),
            features: Features::of_cpu().to_string(),
            variants: digest(names),
        }
    }

    /// Checks that costs with this signature may be used under the signature `here`.
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

/// Measured costs by cipher and by device, with their signature. `crossgrain wisdom measure` creates them.
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
    signature: Fingerprint,
    /// By the cipher's name. Another build's names of ciphers and variants are among them.
    by_cipher: BTreeMap<String, Costs>,
    by_device: BTreeMap<String, DeviceCosts>,
}

/// The measurements of a device: its driver, the costs, and the best group sizes. Costs are named `upload`,
/// `download`, `open/aes-ctr` to open the device for a program, and `aes-128/aes-ctr` to run the program for
/// a cipher.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceCosts {
    /// The device and its driver in words. The costs are useless for any other device or driver.
    pub model: String,
    /// The costs.
    pub costs: Costs,
    /// The best number of threads in a group for each program (`aes-ctr`). For programs that are generated
    /// when the device is used, also the number in a group (`parallel/group`) and in a run (`parallel/run`).
    /// A caller must check that the program accepts the number.
    pub threads: BTreeMap<String, u32>,
}

impl Wisdom {
    /// Wisdom without costs.
    pub fn new(signature: Fingerprint) -> Self {
        Self { signature, by_cipher: BTreeMap::new(), by_device: BTreeMap::new() }
    }

    /// The signature of the costs.
    pub const fn signature(&self) -> &Fingerprint {
        &self.signature
    }

    /// Stores the costs of a cipher, replacing any known before. Negative and non-finite costs are dropped,
    /// since they are not valid times of a variant.
    pub fn insert(&mut self, cipher: Cipher, costs: &Costs) {
        self.by_cipher.insert(cipher.name().to_owned(), sound(costs));
    }

    /// Stores the costs of a device, for example `cuda:0`, in the same way.
    pub fn insert_device(&mut self, id: &str, device: &DeviceCosts) {
        let device = DeviceCosts { costs: sound(&device.costs), ..device.clone() };
        self.by_device.insert(id.to_owned(), device);
    }

    /// The devices with costs, in order.
    pub fn devices(&self) -> impl Iterator<Item = (&str, &DeviceCosts)> {
        self.by_device.iter().map(|(id, device)| (id.as_str(), device))
    }

    /// The costs of a cipher, if known. Names of variants that this build does not have may be among them. Plans
    /// ignore these.
    pub fn costs(&self, cipher: Cipher) -> Option<&Costs> {
        self.by_cipher.get(cipher.name())
    }

    /// The number of costs that name a cipher or a variant that this build does not have. Another set of Cargo
    /// features may include it.
    pub fn unknown(&self) -> usize {
        let unknown = |(cipher, costs): (&String, &Costs)| {
            let is_unknown = cipher.parse::<Cipher>().is_err();
            costs.iter().filter(|(name, _)| is_unknown || find(name).is_err()).count()
        };
        self.by_cipher.iter().map(unknown).sum()
    }

    /// These costs, plus those in `older` for ciphers and devices that these lack.
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

/// The costs that a plan can use.
fn sound(costs: &Costs) -> Costs {
    let sound = costs.iter().filter(|(_, known)| known.cost.is_sound());
    sound.map(|(name, known)| (name.to_owned(), known)).collect()
}

/// FNV-1a in hex. It detects accidental changes and other tables, but no deliberate forgery.
fn digest(bytes: impl Iterator<Item = u8>) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    format!("{:016x}", bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME)))
}
