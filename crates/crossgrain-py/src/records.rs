//! Many records of one length, each under its own key, in one call.

use crossgrain::mode::{OwnKeys, Record};
use crossgrain::{BLOCK_BYTES, Buffers, Cipher, Error as Refusal, Key};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::buffer::{Lent, taken};
use crate::modes::{How, Reading, direction, into_output};
use crate::{Error, refused};

/// The modes that records may have.
const MODES: [&str; 3] = ["ecb", "cbc", "ctr"];

/// Encrypts or decrypts records, into `out` or else into new bytes. Keys and initial values follow one another. One
/// initial value serves all records.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's side names them")]
pub(crate) fn apply_records<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    out: Option<Bound<'py, PyAny>>,
    cipher: &str,
    mode: &str,
    decrypt: bool,
    keys: &Bound<'py, PyAny>,
    ivs: &Bound<'py, PyAny>,
    how: How,
) -> PyResult<Bound<'py, PyAny>> {
    let (data, keys, ivs) = (Lent::to_read(data, "data")?, taken(keys, "keys")?, taken(ivs, "ivs")?);
    let cipher = cipher.parse::<Cipher>().map_err(refused)?;
    let Some(mode) = MODES.into_iter().find(|name| *name == mode) else {
        return Err(Error::new_err(format!("mode {mode:?} has no records: choose ecb, cbc or ctr")));
    };
    let keys = split_keys(cipher, &keys)?;
    let record_bytes = record_bytes(data.len_bytes(), keys.len())?;
    let ivs = split_ivs(mode, &ivs, keys.len())?;
    let how = how.worth(data.len_bytes());
    let options = how.options(py, cipher)?;
    let work = |buffers: Buffers<'_>| {
        let own = OwnKeys::with_options(cipher, &options)?;
        let mut records = records(buffers, record_bytes, &keys, &ivs);
        match mode {
            "ecb" => own.ecb(direction(decrypt), &mut records),
            "cbc" => own.cbc(direction(decrypt), &mut records),
            _ => own.ctr(&mut records),
        }
    };
    let lens_bytes = [data.len_bytes(), 0];
    into_output(py, (&data, Reading::Once), out, lens_bytes, how.threads, |buffers, _| work(buffers))
}

/// The keys, which follow one another.
fn split_keys(cipher: Cipher, keys: &[u8]) -> PyResult<Vec<Key>> {
    if !keys.len().is_multiple_of(cipher.key_bytes()) {
        let (is, of) = (keys.len(), cipher.key_bytes());
        return Err(PyValueError::new_err(format!(
            "keys has {is} bytes: give {of} for each record of {cipher}"
        )));
    }
    let keys = keys.chunks_exact(cipher.key_bytes()).map(|key| Key::new(cipher, key));
    keys.collect::<Result<_, Refusal>>().map_err(refused)
}

/// The length of each record.
fn record_bytes(len_bytes: usize, count: usize) -> PyResult<usize> {
    match (len_bytes.checked_div(count), len_bytes.checked_rem(count)) {
        (Some(record_bytes), Some(0)) => Ok(record_bytes),
        (None, _) if len_bytes == 0 => Ok(0),
        _ => Err(PyValueError::new_err(format!(
            "data has {len_bytes} bytes, which {count} records of one length cannot have: give a key for each record"
        ))),
    }
}

/// The initial value of each record.
fn split_ivs(mode: &str, ivs: &[u8], count: usize) -> PyResult<Vec<[u8; BLOCK_BYTES]>> {
    let (blocks, rest) = ivs.as_chunks::<BLOCK_BYTES>();
    match (mode, blocks, rest) {
        ("ecb", [], []) => Ok(vec![[0; BLOCK_BYTES]; count]),
        ("ecb", ..) => Err(PyValueError::new_err("ecb has no use for ivs: leave it out")),
        (_, [one], []) => Ok(vec![*one; count]),
        (_, blocks, []) if blocks.len() == count => Ok(blocks.to_vec()),
        _ => Err(PyValueError::new_err(format!(
            "ivs has {} bytes: give {BLOCK_BYTES}, or {BLOCK_BYTES} for each of {count} records",
            ivs.len()
        ))),
    }
}

/// The records that the data is cut into.
fn records<'a>(
    mut rest: Buffers<'a>,
    record_bytes: usize,
    keys: &'a [Key],
    ivs: &[[u8; BLOCK_BYTES]],
) -> Vec<Record<'a>> {
    let mut records = Vec::with_capacity(keys.len());
    for (key, iv) in keys.iter().zip(ivs) {
        let (record, others) = rest.split_at(record_bytes);
        records.push(Record::new(key, *iv, record));
        rest = others;
    }
    records
}
