//! Modes of operation: sequences of program runs. Modes know no variant and no instruction set.
//!
//! * Without a tag: `ecb`, `chained` (CBC, CFB, OFB), `segmented` (CFB-8, CFB-1), `ctr` and `xts`. `unauthenticated`
//!   is their common interface.
//! * Authenticated: `gcm`, `gcm_siv`, `ocb`, `ccm`, `eax` and `siv`. `aead` is their common interface.
//! * A tag only: `cmac`, which EAX and SIV also use.
//! * `own_keys` runs CTR, ECB, CBC and CMAC over records that each have their own key.
//! * `registry` lists the modes. `lists` has lists for groups of messages.
//!
//! Each mode has a folder. Its `mod.rs` is the mode's entry, which knows no variant. `reference` is a slow
//! form that tests compare with. Other files are used by kernels: `chained::chain`, `ctr::counter`,
//! `gcm::ghash`, `gcm::kernel`, `ocb::kernel`, `ocb::mask` and `xts::tweak`. Those files lie below the planner; the entries
//! lie above it.
//!
//! [`Options`] chooses the plans of a mode and binds them to its key.

mod aead;
pub(crate) mod ccm;
pub(crate) mod chained;
pub(crate) mod cmac;
pub(crate) mod ctr;
pub(crate) mod eax;
pub(crate) mod ecb;
pub(crate) mod gcm;
pub(crate) mod gcm_siv;
mod lists;
pub(crate) mod ocb;
#[cfg(feature = "own-keys")]
mod own_keys;
mod registry;
pub(crate) mod segmented;
pub(crate) mod siv;
mod unauthenticated;
pub(crate) mod xts;

pub use aead::Aead;
pub use ccm::Ccm;
pub use chained::{Cbc, CbcMode, Cfb, CfbMode, Chain, Chained, ChainedMode, Message, Ofb, OfbMode};
pub use cmac::Cmac;
pub use ctr::Ctr;
pub(crate) use ctr::Finish;
pub use eax::Eax;
pub use ecb::Ecb;
pub use gcm::Gcm;
pub use gcm_siv::GcmSiv;
pub use ocb::Ocb;
#[cfg(feature = "own-keys")]
pub use own_keys::OwnKeys;
pub use registry::{CipherUse, Entry, Initial, Lengths, Mode, Parallel, Reuse, Start};
pub use segmented::{Cfb1, Cfb8, Segmented};
pub(crate) use segmented::{SegmentWork, follow};
pub use siv::{Siv, SivKey};
pub use unauthenticated::{Place, Unauthenticated};
pub use xts::{SECTOR_BYTES_MAX, Xts, XtsKey};

use std::sync::{Arc, OnceLock};

use crate::arch::{Features, STACK_BYTES, wipe_stack};
use crate::block::{Direction, Error, Key};
use crate::kernel::Keys;
#[cfg(feature = "own-keys")]
pub use crate::message::Record;
pub use crate::message::{AeadMessage, Tag};
use crate::plan::{Costs, Job, JobSource, Limits, Plan, Plans, choose, choose_by_estimates};
use crate::run::{Program, Threads};
use crate::variant::{Policy, find};

/// Options of a mode. The default is constant-time variants, all instructions that the CPU has and
/// `CROSSGRAIN_ISA` allows, and all threads of rayon's pool.
///
/// Later versions may add fields. Name the fields that differ from the default, and end with
/// `..Options::default()`.
///
/// ```
/// use crossgrain::mode::{Ctr, Options};
/// use crossgrain::{Cipher, Key};
///
/// let options = Options { threads: 1, features: Some("portable".parse()?), ..Options::default() };
/// let stream = Ctr::with_options(&Key::new(Cipher::Aes128, &[7; 16])?, &[0; 16], &options)?;
/// println!("{}", stream.plans()[0]); // what runs
/// # Ok::<(), crossgrain::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The leaks that variants may have.
    pub policy: Policy,
    /// Instructions that may be used. `None` means those that the environment allows.
    pub features: Option<Features>,
    /// Names of variants that must be used. Empty to choose freely.
    pub variants: Vec<String>,
    /// Plans that must be used, one for each job of the mode. Empty to choose them.
    pub plans: Vec<Arc<Plans>>,
    /// The largest number of threads. 0 means all of rayon's current pool.
    pub threads: usize,
    /// The costs of variants on this machine, as measured in a [`Wisdom`](crate::wisdom::Wisdom). `None`
    /// means the estimates shipped.
    pub costs: Option<Arc<Costs>>,
    /// Whether nonces may be shorter than 7 bytes in EAX, GCM and OCB, for data of other programs. Such nonces
    /// soon repeat, and then messages can be read and forged. See [`Mode::nonce_bytes_min`].
    pub short_nonces: bool,
}

impl Options {
    /// The limits that these options set on this machine.
    ///
    /// # Errors
    /// [`Error::UnknownVariant`] for a name that no variant has, [`Error::BadIsaCap`] for an unreadable
    /// `CROSSGRAIN_ISA`.
    #[doc(hidden)]
    pub fn limits(&self) -> Result<Limits, Error> {
        self.limits_of(Features::usable(self.features)?)
    }

    fn limits_of(&self, usable: Features) -> Result<Limits, Error> {
        let forced = self.variants.iter().map(|name| find(name)).collect::<Result<_, _>>()?;
        Ok(Limits { forced, ..Limits::of(usable, self.policy) })
    }

    /// These options without named variants and plans. A mode uses them for computations other than the job
    /// that the variants or plans were named for.
    fn freely(&self) -> Self {
        Self { variants: Vec::new(), plans: Vec::new(), ..self.clone() }
    }

    /// The options for `job`, one of two jobs that belong together. Variants and plans for only the other job
    /// are left out.
    #[doc(hidden)]
    #[must_use]
    pub fn for_job(&self, job: Job, other: Job) -> Self {
        let is_named = |job: Job| match &self.plans[..] {
            [] => self.variants.iter().all(|name| find(name).is_ok_and(|variant| job.takes(variant))),
            plans => plans.iter().any(|plans| plans.job() == job),
        };
        if is_named(job) || !is_named(other) { self.clone() } else { self.freely() }
    }

    /// A key for the programs of a mode, and its round keys when they need them.
    fn keys<'a>(&self, key: &'a Key) -> Result<Keys<'a>, Error> {
        Ok(Keys::of(key, Features::usable(self.features)?))
    }

    /// Plans a job and binds it to a key.
    fn program(&self, job: Job, keys: &Keys<'_>) -> Result<Program, Error> {
        self.program_within(job, keys, self.limits_of(keys.features())?)
    }

    /// A program for CTR whose counters are secret, because they reveal something about the key. Not inlined: the
    /// stack is wiped below the caller's frame.
    #[inline(never)]
    fn program_of_secret_counter(&self, keys: &Keys<'_>) -> Result<Program, Error> {
        let job = Job { cipher: keys.cipher(), direction: Direction::Encrypt, source: JobSource::Counter };
        let limits = self.limits_of(keys.features())?;
        self.program_within(job, keys, Limits { secret_counter: true, ..limits })
    }

    fn program_within(&self, job: Job, keys: &Keys<'_>, limits: Limits) -> Result<Program, Error> {
        // On failure there is no program, whose set-up would wipe the stack.
        let plans = self.planned(job, &limits).inspect_err(|_| wipe_stack::<STACK_BYTES>())?;
        Program::of(plans, keys, Threads::at_most(self.threads))
    }

    /// The plans that these options give for a job.
    ///
    /// # Errors
    /// The errors in the options, and [`Error::NoPlan`] if they leave no plan.
    pub fn plans_of(&self, job: Job) -> Result<Vec<Plan>, Error> {
        Ok(self.planned(job, &self.limits()?)?.to_vec())
    }

    /// The given plans, if any. Otherwise the plans with the named variants, regardless of cost. Otherwise
    /// the cheapest plans.
    fn planned(&self, job: Job, limits: &Limits) -> Result<Arc<[Plan]>, Error> {
        if let Some(last) = self.plans.last() {
            if !limits.forced.is_empty() {
                return Err(Error::UnfitPlan("variants are named besides: give one or the other".to_owned()));
            }
            let plans = self.plans.iter().find(|plans| plans.job() == job).unwrap_or(last);
            return plans.within(job, limits).map(Arc::from);
        }
        match &self.costs {
            _ if !limits.forced.is_empty() => choose(job, limits, &Costs::default()).map(Arc::from),
            Some(costs) => choose(job, limits, &costs.filled(job.cipher)).map(Arc::from),
            None => estimated(job, limits),
        }
    }
}

/// Plans of a job within limits, in a list that only grows. Reading takes no lock, so threads that set up keys
/// do not wait for each other.
struct Known {
    job: Job,
    limits: Limits,
    plans: Arc<[Plan]>,
    next: OnceLock<Box<Self>>,
}

/// The plans by estimated costs. They are kept, so that a program for a short message does not cost a search.
fn estimated(job: Job, limits: &Limits) -> Result<Arc<[Plan]>, Error> {
    static FIRST: OnceLock<Box<Known>> = OnceLock::new();
    let mut place = &FIRST;
    while let Some(known) = place.get() {
        if known.job == job && known.limits == *limits {
            return Ok(Arc::clone(&known.plans));
        }
        place = &known.next;
    }
    let plans: Arc<[Plan]> = choose_by_estimates(job, limits)?.into();
    let known = Known { job, limits: limits.clone(), plans: Arc::clone(&plans), next: OnceLock::new() };
    let mut known = Box::new(known);
    // Other threads may append at the same time.
    while let Err(refused) = place.set(known) {
        known = refused;
        place = place.get().map_or(place, |other| &other.next);
    }
    Ok(plans)
}
