//! The modes of operation, on any objects that lend their bytes.

use crossgrain::Policy;
use crossgrain::mode::{Aead as _, Initial, Lengths, Mode, Options, Start};
use crossgrain::plan::Plans;
use crossgrain::{BLOCK_BYTES, Buffers, Cipher, Direction, Error as Refusal};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use zeroize::Zeroizing;

use crate::buffer::{Lent, taken};
use crate::{Error, Forged, Truncated, pool, refused, wisdom};

/// Options of a mode, as passed by Python's half.
#[derive(FromPyObject)]
pub(crate) struct How {
    #[pyo3(item)]
    pub(crate) threads: usize,
    #[pyo3(item)]
    policy: String,
    #[pyo3(item)]
    isa: Option<String>,
    #[pyo3(item)]
    variants: Vec<String>,
    /// Plans as JSON.
    #[pyo3(item)]
    plans: Vec<String>,
}

impl How {
    /// The same options with the number of threads that suits this length.
    pub(crate) fn worth(mut self, len_bytes: usize) -> Self {
        self.threads = pool::worth(self.threads, len_bytes);
        self
    }

    /// The options for a cipher, with the costs that are stored for it.
    pub(crate) fn options(&self, py: Python<'_>, cipher: Cipher) -> PyResult<Options> {
        let plans = self.plans.iter().map(|plans| plans.parse::<Plans>().map(Into::into));
        Ok(Options {
            policy: self.policy.parse::<Policy>().map_err(refused)?,
            features: self.isa.as_deref().map(str::parse).transpose().map_err(refused)?,
            variants: self.variants.clone(),
            plans: plans.collect::<Result<_, _>>().map_err(refused)?,
            threads: self.threads,
            costs: wisdom::costs(py, cipher)?,
            short_nonces: false,
        })
    }
}

/// Properties of a mode, as shown to users: the name, a summary, whether it has a tag, the number of cipher
/// keys in its key, bytes of an iv or nonce, whether messages are whole blocks, whether encryption and
/// decryption are parallel, and the leak if two messages share an iv or nonce.
type Facts = (&'static str, &'static str, bool, usize, Option<usize>, bool, (bool, bool), &'static str);

/// All modes.
#[pyfunction]
pub(crate) fn modes() -> Vec<Facts> {
    let facts = |mode: Mode| {
        let entry = mode.entry();
        let iv_bytes = match entry.initial {
            Initial::Block => Some(BLOCK_BYTES),
            Initial::Nonce { usual, .. } => Some(usual),
            Initial::Nothing | Initial::Sector => None,
        };
        let parallel = (mode.is_parallel(Direction::Encrypt), mode.is_parallel(Direction::Decrypt));
        let is_whole = entry.lengths == Lengths::WholeBlocks;
        let (has_tag, reuse) = (mode.is_authenticated(), entry.reuse.describe());
        (entry.name, entry.summary, has_tag, entry.keys, iv_bytes, is_whole, parallel, reuse)
    };
    Mode::ALL.map(facts).to_vec()
}

pub(crate) const fn direction(decrypt: bool) -> Direction {
    if decrypt { Direction::Decrypt } else { Direction::Encrypt }
}

/// Encrypts or decrypts by a mode without a tag, into `out` or else into new bytes.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's side names them")]
pub(crate) fn apply<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    out: Option<Bound<'py, PyAny>>,
    cipher: &str,
    mode: &str,
    decrypt: bool,
    key: &Bound<'py, PyAny>,
    iv: &Bound<'py, PyAny>,
    sector: u128,
    sector_bytes: usize,
    how: How,
) -> PyResult<Bound<'py, PyAny>> {
    let (data, key) = (Lent::to_read(data, "data")?, taken(key, "key")?);
    let (iv, how) = (taken(iv, "iv")?, how.worth(data.len_bytes()));
    let (cipher, mode) = (cipher.parse().map_err(refused)?, mode.parse::<Mode>().map_err(refused)?);
    let (start, options) = (Start { iv: &iv, sector, sector_bytes }, how.options(py, cipher)?);
    let work = |buffers: Buffers<'_>| {
        mode.unauthenticated(cipher, &key, direction(decrypt), &start, &options)?.apply_whole(buffers)
    };
    let lens_bytes = [data.len_bytes(), 0];
    into_output(py, (&data, Reading::Once), out, lens_bytes, how.threads, |buffers, _| work(buffers))
}

/// The number of times that the input is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Once,
    /// Both reads must see the same bytes; otherwise a concurrent writer could make unauthenticated data
    /// appear as authentic. Mutable memory is therefore copied first.
    Twice,
}

/// Runs `work` from the first bytes of the input into `out`, or else into new bytes. The output has
/// `body_bytes` that correspond to input, and `tail_bytes` that do not.
pub(crate) fn into_output<'py>(
    py: Python<'py>,
    (data, reading): (&Lent, Reading),
    out: Option<Bound<'py, PyAny>>,
    [body_bytes, tail_bytes]: [usize; 2],
    threads: usize,
    work: impl FnOnce(Buffers<'_>, &mut [u8]) -> Result<(), Refusal> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let is_copied = reading == Reading::Twice && !data.is_fixed();
    let input = &data.bytes()[..body_bytes];
    let Some(out) = out else {
        let bytes = PyBytes::new_with(py, body_bytes + tail_bytes, |place| {
            let (body, tail) = place.split_at_mut(body_bytes);
            let work = || {
                if !is_copied {
                    return work(Buffers::apart(input, body)?, tail);
                }
                // The new bytes are not visible to others yet.
                body.copy_from_slice(input);
                work(Buffers::in_place(body), tail)
            };
            pool::run(py, threads, work)?.map_err(refused)
        });
        return Ok(bytes?.into_any());
    };
    let mut lent = Lent::to_write(&out, "out")?;
    if lent.len_bytes() != body_bytes + tail_bytes {
        let (is, must) = (lent.len_bytes(), body_bytes + tail_bytes);
        return Err(PyValueError::new_err(format!(
            "out has {is} bytes and the result {must}: make them equal"
        )));
    }
    if is_copied {
        let copy = pool::run(py, 1, || input.to_vec())?;
        let (body, tail) = lent.bytes_mut().split_at_mut(body_bytes);
        pool::run(py, threads, || work(Buffers::apart(&copy, body)?, tail))?.map_err(refused)?;
    } else {
        let (buffers, tail) = data.pair(&mut lent, body_bytes)?;
        pool::run(py, threads, || work(buffers, tail))?.map_err(refused)?;
    }
    Ok(out)
}

/// Encrypts and appends a tag; or verifies the tag at the end, and decrypts the rest if it is right.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's side names them")]
pub(crate) fn apply_sealed<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    out: Option<Bound<'py, PyAny>>,
    cipher: &str,
    mode: &str,
    decrypt: bool,
    key: &Bound<'py, PyAny>,
    nonce: Option<&Bound<'py, PyAny>>,
    aad: Option<&Bound<'py, PyAny>>,
    tag_bytes: usize,
    how: How,
) -> PyResult<Bound<'py, PyAny>> {
    let (data, key) = (Lent::to_read(data, "data")?, taken(key, "key")?);
    let how = how.worth(data.len_bytes());
    let (cipher, mode) = (cipher.parse().map_err(refused)?, mode.parse::<Mode>().map_err(refused)?);
    // Data of other programs may have short nonces.
    let options = Options { short_nonces: decrypt, ..how.options(py, cipher)? };
    let nonce = match nonce {
        Some(nonce) => taken(nonce, "nonce")?,
        None if mode.entry().aad_strings_max > 1 => Zeroizing::default(),
        None => {
            return Err(Error::new_err(format!(
                "{mode} needs a nonce: give one that this key never had before"
            )));
        }
    };
    let aads = strings(mode, aad)?;
    let aads: Vec<_> = aads.iter().map(|aad| &aad[..]).collect();
    let bound = || mode.aead(cipher, &key, tag_bytes, &options);
    if tag_bytes > BLOCK_BYTES {
        // Refused before the memory is allocated.
        bound().map_err(refused)?;
    }
    if !decrypt {
        let lens_bytes = [data.len_bytes(), tag_bytes];
        return into_output(py, (&data, Reading::Once), out, lens_bytes, how.threads, |buffers, place| {
            let tag = bound()?.seal_with(&nonce, &aads, buffers)?;
            place.copy_from_slice(&tag);
            Ok(())
        });
    }
    let Some(body_bytes) = data.len_bytes().checked_sub(tag_bytes) else {
        let why = format!("data of {} bytes holds no tag of {tag_bytes}: is it cut off?", data.len_bytes());
        return Err(Truncated::new_err(why));
    };
    // The tag is copied because decryption may be in place.
    let tag = data.bytes()[body_bytes..].to_vec();
    into_output(py, (&data, Reading::Twice), out, [body_bytes, 0], how.threads, |buffers, _| {
        bound()?.open_with(&nonce, &aads, &tag, buffers)
    })
    .map_err(|error| with_hint(py, error, mode, &aads))
}

/// The strings of associated data: none for `None`, one for bytes, or all those of a list or tuple.
fn strings(mode: Mode, aad: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Zeroizing<Vec<u8>>>> {
    let Some(aad) = aad else { return Ok(Vec::new()) };
    if !aad.is_instance_of::<PyList>() && !aad.is_instance_of::<PyTuple>() {
        return Ok(vec![taken(aad, "aad")?]);
    }
    if mode.entry().aad_strings_max == 1 {
        let why = format!("{mode} takes one string of associated data, and no list: give bytes, or use siv");
        return Err(Error::new_err(why));
    }
    aad.try_iter()?.map(|aad| taken(&aad?, "each string of aad")).collect()
}

/// Adds a hint to an error of SIV without associated data: earlier versions of `seal` authenticated an empty
/// string in this case.
fn with_hint(py: Python<'_>, error: PyErr, mode: Mode, aads: &[&[u8]]) -> PyErr {
    if mode.entry().aad_strings_max == 1 || !aads.is_empty() || !error.is_instance_of::<Forged>(py) {
        return error;
    }
    Forged::new_err(format!(
        "{}; data that an earlier version sealed without aad needs aad=b\"\"",
        error.value(py)
    ))
}
