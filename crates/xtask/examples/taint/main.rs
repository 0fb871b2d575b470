//! A taint check to be run under valgrind's memcheck, by `cargo xtask taint`.
//!
//! Every variant for this CPU, as valgrind presents it, runs its jobs with key and data declared undefined.
//! Memcheck tracks undefined bits through registers and memory, and reports branches and addresses that
//! depend on them. A variant that declares no leak must cause no report. A variant that looks up tables with
//! secret indices must cause reports; these positive controls show that the check works.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod memcheck;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod modes;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn main() {
    println!("skipped: taint (not x86-64 under Linux)");
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn main() -> Result<std::process::ExitCode, crossgrain::Error> {
    check::run()
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod check {
    use std::process::ExitCode;

    use crossgrain::engine::check::{forced, jobs};
    use crossgrain::engine::variant::{Leaks, Variant, table};
    use crossgrain::mode::{Aead as _, Cbc, Chain, Ctr, Ecb, Gcm, Ocb, Options, OwnKeys, Record};
    use crossgrain::plan::{Fused, Job, JobSource};
    use crossgrain::{Buffers, Cipher, Direction, Error, Features, Key};

    use super::{memcheck, modes};

    /// Longer than the widest bundle of AVX2, with a tail.
    pub(super) const LEN_BYTES: usize = 16 * 300;

    /// Checks every variant. The exit code shows whether all of them behave as declared.
    pub(super) fn run() -> Result<ExitCode, Error> {
        if !memcheck::is_running() {
            eprintln!("taint: only memcheck sees anything here: run `cargo xtask taint`");
            return Ok(ExitCode::FAILURE);
        }
        let features = Features::of_cpu();
        let (here, absent): (Vec<_>, Vec<_>) =
            table().iter().partition(|variant| variant.is_available(features));
        let (mut tight, mut leaky, mut wrong) = (0, 0, 0);
        for variant in here {
            let Seen { claims_nothing, reports } = seen(variant, features)?;
            match (claims_nothing, reports) {
                (true, 0) => tight += 1,
                (false, 1..) => leaky += 1,
                (true, _) => println!("{} leaks: {reports} reports", variant.name),
                (false, 0) => println!("{} is said to leak, and no report says so", variant.name),
            }
            wrong += usize::from(claims_nothing != (reports == 0));
        }
        println!("counted: {tight} variants that leak nothing under memcheck");
        println!("{tight} variants leak nothing, {leaky} leak or run only beside one that does, {wrong} lie");
        wrong += modes::run()?;
        if !absent.is_empty() {
            println!(
                "skipped: {} variants under taint (valgrind does not know their instructions)",
                absent.len()
            );
        }
        let is_well = wrong == 0 && tight > 0 && leaky > 0;
        Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The result of a variant in all its jobs, with every key size.
    struct Seen {
        /// Whether all plans that ran declare no leak. Some variants form a plan only together with a leaking
        /// one.
        claims_nothing: bool,
        /// The number of memcheck's reports.
        reports: u64,
    }

    fn seen(variant: &Variant, features: Features) -> Result<Seen, Error> {
        let mut seen = Seen { claims_nothing: true, reports: 0 };
        for cipher in Cipher::ALL {
            // A search must branch on its hits.
            for job in jobs(variant, cipher).into_iter().filter(|job| !job.source.is_search()) {
                let options = forced(variant, job.direction, features);
                // Reports without secret data do not count. LLVM compares whole enums, including bytes that
                // were never written.
                let [open, secret] = [false, true].map(|is_secret| job_reports(job, &options, is_secret));
                let (open, (secret, leaks)) = (open?.0, secret?);
                seen.reports += secret - open;
                seen.claims_nothing &= leaks == Leaks::Nothing;
            }
        }
        Ok(seen)
    }

    /// The number of memcheck's reports for one job, and the leaks that its plan declares.
    fn job_reports(job: Job, options: &Options, is_secret: bool) -> Result<(u64, Leaks), Error> {
        let before = memcheck::count_errors();
        let (mut key, mut data) = ([7; 32], vec![9; LEN_BYTES]);
        if is_secret {
            memcheck::make_secret(&mut key);
            memcheck::make_secret(&mut data);
        }
        let (key, buffers) =
            (Key::new(job.cipher, &key[..job.cipher.key_bytes()])?, Buffers::in_place(&mut data));
        let leaks = match job.source {
            JobSource::Keys { .. } => Leaks::Nothing,
            // Whether a tag is right is public, and `modes` opens messages.
            JobSource::Mode(Fused::Ocb) if job.direction == Direction::Decrypt => Leaks::Nothing,
            JobSource::Mode(Fused::Gcm) => {
                let gcm = Gcm::with_options(&key, 16, options)?;
                gcm.seal(&[1; 12], &[], buffers)?;
                gcm.plans()[0].leaks()
            }
            JobSource::Mode(Fused::Ocb) => {
                let ocb = Ocb::with_options(&key, 16, options)?;
                ocb.seal(&[1; 12], &[], buffers)?;
                ocb.plans()[0].leaks()
            }
            JobSource::Mode(Fused::Chains) => {
                let cbc = Cbc::with_options(&key, Direction::Encrypt, options)?;
                cbc.apply(&mut Chain::from([1; 16]), buffers)?;
                cbc.plans()[0].leaks()
            }
            JobSource::Mode(Fused::OwnKeys) => {
                let own = OwnKeys::with_options(job.cipher, options)?;
                own.ecb(job.direction, &mut [Record::new(&key, [0; 16], buffers)])?;
                own.plans(job.direction)[0].leaks()
            }
            JobSource::Bytes => {
                let ecb = Ecb::with_options(&key, job.direction, options)?;
                ecb.apply(buffers)?;
                ecb.block(data.first_chunk_mut().expect("there is more than a block"));
                ecb.plans()[0].leaks()
            }
            JobSource::Counter => {
                let mut ctr = Ctr::with_options(&key, &[0xff; 16], options)?;
                ctr.apply(buffers);
                ctr.plans()[0].leaks()
            }
        };
        Ok((memcheck::count_errors() - before, leaks))
    }
}
