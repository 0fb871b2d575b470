//! The modes, over whatever lends its bytes.

use crossgrain::mode::{Aead, Cbc, Cfb, Ctr, Eax, Ecb, Gcm, Ofb, Options, Xts, XtsKey};
use crossgrain::plan::Plans;
use crossgrain::variant::Policy;
use crossgrain::{BLOCK_BYTES, Block, Buffers, Cipher, Direction, Error as Refusal, Key};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffer::{Lent, taken};
use crate::{Error, pool, refused};

/// How a mode is to be run, as Python's side hands it on.
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
    /// The same on as many threads as so much is worth.
    pub(crate) fn worth(mut self, len_bytes: usize) -> Self {
        self.threads = pool::worth(self.threads, len_bytes);
        self
    }

    pub(crate) fn options(&self) -> PyResult<Options> {
        let plans = self.plans.iter().map(|plans| plans.parse::<Plans>().map(Into::into));
        Ok(Options {
            policy: self.policy.parse::<Policy>().map_err(refused)?,
            features: self.isa.as_deref().map(str::parse).transpose().map_err(refused)?,
            variants: self.variants.clone(),
            plans: plans.collect::<Result<_, _>>().map_err(refused)?,
            threads: self.threads,
            ..Options::default()
        })
    }
}

/// A job over one message, without a tag.
struct Job<'a> {
    cipher: Cipher,
    mode: &'a str,
    direction: Direction,
    key: &'a [u8],
    iv: &'a [u8],
    sector: u128,
    sector_bytes: usize,
    options: Options,
}

impl Job<'_> {
    fn iv(&self) -> Result<Block, Failure> {
        self.iv.try_into().map_err(|_| {
            Failure::Usage(format!("{} takes an iv of 16 bytes, not {}", self.mode, self.iv.len()))
        })
    }

    fn run(&self, buffers: Buffers<'_>) -> Result<(), Failure> {
        let Self { cipher, direction, ref options, .. } = *self;
        if !matches!(self.mode, "ctr" | "cbc" | "cfb" | "ofb") && !self.iv.is_empty() {
            return Err(Failure::Usage(format!("{} takes no iv: leave it out", self.mode)));
        }
        if self.mode == "xts" {
            let key = XtsKey::new(cipher, self.key)?;
            return Ok(Xts::new(&key, direction, self.sector_bytes, options)?.apply(self.sector, buffers)?);
        }
        let key = Key::new(cipher, self.key)?;
        match self.mode {
            "ecb" => Ecb::new(&key, direction, options)?.apply(buffers)?,
            "ctr" => Ctr::new(&key, &self.iv()?, options)?.apply(buffers),
            "cbc" => Cbc::new(&key, direction, options)?.apply(&mut self.iv()?.into(), buffers)?,
            "cfb" => Cfb::new(&key, direction, options)?.apply(&mut self.iv()?.into(), buffers)?,
            "ofb" => Ofb::new(&key, direction, options)?.apply(&mut self.iv()?.into(), buffers)?,
            mode => {
                let known = "ctr, ecb, cbc, cfb, ofb or xts";
                return Err(Failure::Usage(format!("no mode is called {mode:?}: choose {known}")));
            }
        }
        Ok(())
    }
}

/// Why a job cannot be done.
enum Failure {
    Refused(Refusal),
    Usage(String),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => refused(refusal),
            Failure::Usage(why) => Error::new_err(why),
        }
    }
}

fn direction(decrypt: bool) -> Direction {
    if decrypt { Direction::Decrypt } else { Direction::Encrypt }
}

/// Encrypts or decrypts by a mode without a tag; into `out`, or else into new bytes.
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
    let (data, key) = (Lent::to_read(data, "data")?, taken(key, "the key")?);
    let (iv, how) = (taken(iv, "the iv")?, how.worth(data.len_bytes()));
    let job = Job {
        cipher: cipher.parse().map_err(refused)?,
        mode,
        direction: direction(decrypt),
        key: &key,
        iv: &iv,
        sector,
        sector_bytes,
        options: how.options()?,
    };
    let lens_bytes = [data.len_bytes(), 0];
    into_output(py, (&data, Reading::Once), out, lens_bytes, how.threads, |buffers, _| job.run(buffers))
}

/// How often input is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Once,
    /// Both times the same bytes must be found, or what somebody wrote in between would come out as if it were authentic: what
    /// others may write to is copied first.
    Twice,
}

/// Runs work from the first bytes of the input into `out`, or else into new bytes: `body_bytes` that correspond to
/// input, and `tail_bytes` that do not.
fn into_output<'py>(
    py: Python<'py>,
    (data, reading): (&Lent, Reading),
    out: Option<Bound<'py, PyAny>>,
    [body_bytes, tail_bytes]: [usize; 2],
    threads: usize,
    work: impl FnOnce(Buffers<'_>, &mut [u8]) -> Result<(), Failure> + Send,
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
                // Nobody else knows the new bytes yet.
                body.copy_from_slice(input);
                work(Buffers::in_place(body), tail)
            };
            Ok(pool::run(py, threads, work)??)
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
        pool::run(py, threads, || work(Buffers::apart(&copy, body)?, tail))??;
    } else {
        let (buffers, tail) = data.pair(&mut lent, body_bytes)?;
        pool::run(py, threads, || work(buffers, tail))??;
    }
    Ok(out)
}

/// The authenticated modes, by name.
fn sealing(
    cipher: &str,
    mode: &str,
    key: &[u8],
    tag_bytes: usize,
    options: &Options,
) -> Result<Box<dyn Aead>, Failure> {
    let key = Key::new(cipher.parse()?, key)?;
    match mode {
        "eax" => Ok(Box::new(Eax::new(&key, tag_bytes, options)?)),
        "gcm" => Ok(Box::new(Gcm::new(&key, tag_bytes, options)?)),
        _ => Err(Failure::Usage(format!("no mode with a tag is called {mode:?}: choose gcm or eax"))),
    }
}

/// Encrypts and makes a tag, which stands behind the ciphertext; or compares the tag there, and decrypts what is before it
/// if it is right.
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
    nonce: &Bound<'py, PyAny>,
    aad: &Bound<'py, PyAny>,
    tag_bytes: usize,
    how: How,
) -> PyResult<Bound<'py, PyAny>> {
    let (data, key) = (Lent::to_read(data, "data")?, taken(key, "the key")?);
    let (nonce, aad) = (taken(nonce, "the nonce")?, taken(aad, "aad")?);
    let how = how.worth(data.len_bytes());
    let options = how.options()?;
    let mode = || sealing(cipher, mode, &key, tag_bytes, &options);
    if tag_bytes > BLOCK_BYTES {
        // Refused, before so much memory is asked for.
        mode()?;
    }
    if !decrypt {
        let lens_bytes = [data.len_bytes(), tag_bytes];
        return into_output(py, (&data, Reading::Once), out, lens_bytes, how.threads, |buffers, place| {
            let tag = mode()?.seal(&nonce, &aad, buffers)?;
            place.copy_from_slice(&tag[..tag_bytes]);
            Ok(())
        });
    }
    let Some(body_bytes) = data.len_bytes().checked_sub(tag_bytes) else {
        let why = format!("data of {} bytes holds no tag of {tag_bytes}: is it cut off?", data.len_bytes());
        return Err(Error::new_err(why));
    };
    // What is decrypted may lie where it stands.
    let tag = data.bytes()[body_bytes..].to_vec();
    into_output(py, (&data, Reading::Twice), out, [body_bytes, 0], how.threads, |buffers, _| {
        Ok(mode()?.open(&nonce, &aad, &tag, buffers)?)
    })
}
