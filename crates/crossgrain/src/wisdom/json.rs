//! Wisdom as text: one JSON object, with a digest of its contents.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::refused::Refused;
use super::{DeviceCosts, Fingerprint, Wisdom, digest};
use crate::plan::compose::Cost;
use crate::plan::{Costs, Known};
use crate::text::quoted;

/// The format's version. Increase it with every change that older programs would misread.
const FORMAT: u64 = 4;

/// A variant's fixed nanoseconds, nanoseconds per byte, and spread.
type Row = (f64, f64, Option<f64>);

/// The fields that every version of the format has.
#[derive(Deserialize)]
struct Head {
    format: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(rename = "format")]
    _format: u64,
    signature: Fingerprint,
    costs: BTreeMap<String, BTreeMap<String, Row>>,
    devices: BTreeMap<String, Device>,
    digest: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Device {
    model: String,
    costs: BTreeMap<String, Row>,
    threads: BTreeMap<String, u32>,
}

impl Wisdom {
    /// The wisdom as the text of a file.
    pub fn to_json(&self) -> String {
        let rows = |costs: &Costs| -> BTreeMap<String, Row> {
            let row = |(name, Known { cost, spread }): (&str, Known)| {
                (name.to_owned(), (cost.fixed_ns, cost.per_byte_ns, spread))
            };
            costs.iter().map(row).collect()
        };
        let costs: BTreeMap<_, _> =
            self.by_cipher.iter().map(|(cipher, costs)| (cipher, rows(costs))).collect();
        let device = |DeviceCosts { model, costs, threads }: &DeviceCosts| json!({"model": model, "costs": rows(costs), "threads": threads});
        let devices: BTreeMap<_, _> = self.devices().map(|(id, costs)| (id, device(costs))).collect();
        let Fingerprint { version, cpu, features, variants } = &self.signature;
        let signature = json!({"version": version, "cpu": cpu, "features": features, "variants": variants});
        let file = json!({
            "format": FORMAT, "signature": signature, "costs": costs, "devices": devices, "digest": self.digest(),
        });
        format!("{file}\n")
    }

    /// Parses the text of a file. It must be complete, and its signature must match this machine and version.
    /// Costs of ciphers and variants that this build does not have are kept, and [`Wisdom::unknown`] counts them.
    ///
    /// # Errors
    /// [`Refused`] if the text is doubtful in any way. Nothing of it is then used.
    pub fn from_json(text: &str) -> Result<Self, Refused> {
        let head: Head = serde_json::from_str(text).map_err(Refused::corrupt)?;
        if head.format > FORMAT {
            return Err(Refused::Future { format: head.format });
        }
        if head.format < FORMAT {
            return Err(Refused::Past { format: head.format });
        }
        let body: Body = serde_json::from_str(text).map_err(Refused::corrupt)?;
        body.signature.admit(&Fingerprint::here())?;
        let mut wisdom = Self::new(body.signature);
        for (cipher, rows) in body.costs {
            wisdom.by_cipher.insert(cipher, read_rows(rows)?);
        }
        for (id, Device { model, costs, threads }) in body.devices {
            wisdom.by_device.insert(id, DeviceCosts { model, costs: read_rows(costs)?, threads });
        }
        if wisdom.digest() == body.digest {
            Ok(wisdom)
        } else {
            Err(Refused::corrupt("it was changed since it was written"))
        }
    }

    /// A digest of the contents, independent of their formatting.
    fn digest(&self) -> String {
        let Fingerprint { version, cpu, features, variants } = &self.signature;
        let mut said =
            [version, cpu, features, variants].map(|text| format!("{text}\n")).concat().into_bytes();
        let ciphers = self.by_cipher.iter().map(|(cipher, costs)| (cipher.clone(), costs));
        let devices = self.devices().map(|(id, device)| (format!("{id}\n{}", device.model), &device.costs));
        for (of, costs) in ciphers.chain(devices) {
            said.extend(format!("{of}\n").bytes());
            for (name, Known { cost, spread }) in costs.iter() {
                said.extend(name.bytes().chain([b'\n']));
                let figures = [cost.fixed_ns, cost.per_byte_ns, spread.unwrap_or(-1.0)];
                said.extend(figures.iter().flat_map(|figure| figure.to_le_bytes()));
            }
        }
        for (id, device) in self.devices() {
            let threads = device.threads.iter().map(|(name, count)| format!("{id}\n{name}\n{count}\n"));
            said.extend(threads.flat_map(String::into_bytes));
        }
        digest(said.into_iter())
    }
}

fn read_rows(rows: BTreeMap<String, Row>) -> Result<Costs, Refused> {
    rows.into_iter().map(read_row).collect()
}

fn read_row((name, (fixed_ns, per_byte_ns, spread)): (String, Row)) -> Result<(String, Known), Refused> {
    let cost = Cost { fixed_ns, per_byte_ns };
    let unsound =
        |what| Refused::corrupt(format!("the {what} of \"{}\" is negative or too large", quoted(&name)));
    if !cost.is_sound() {
        return Err(unsound("cost"));
    }
    if spread.is_some_and(|spread| spread < 0.0) {
        return Err(unsound("spread"));
    }
    Ok((name, Known { cost, spread }))
}
