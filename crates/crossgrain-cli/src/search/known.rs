//! Known data of a search, converted from arguments in hex and from names.

use std::fs::File as Opened;
use std::path::Path;

use crossgrain::mode::{Initial, Mode, Options};
use crossgrain::wide::{Rijndael, State};
use crossgrain::{Cipher, Features};
use crossgrain_search::format::{Details, Format, HeaderPlace};
use crossgrain_search::{
    BlockMode, BlockSearch, Data, Error as Refusal, Hash, Kdf, Known, Look, Plausible, Search, Tagged,
    XtsSector, pairs, wide_pairs,
};

use super::args::Args;
use super::goals::{Goal, of_file, of_texts};
use super::names::{HeaderName, KdfName, LookName};
use crate::error::Error;
use crate::input::{no_text, read_small, shown};
use crate::secret;
use crate::typed::AnyCipher;
use crate::wisdom;

/// Plaintext, a mask of its known bits, and ciphertext.
struct Texts {
    plaintext: Vec<u8>,
    mask: Vec<u8>,
    ciphertext: Vec<u8>,
}

/// A search and its targets.
pub(super) struct Sought {
    pub(super) search: Search,
    pub(super) goals: Vec<Goal>,
    /// Advice for a search without a find.
    pub(super) advice: Option<String>,
}

impl Args {
    /// Whether arguments say how the right key is recognised.
    pub(super) fn has_target(&self) -> bool {
        let is_text = [&self.plain, &self.crypt, &self.hashcat].iter().any(|texts| !texts.is_empty());
        let is_file = !self.file.is_empty() || self.targets.is_some();
        is_text || is_file || self.tag.is_some() || self.looks.is_some()
    }

    /// The requested search. `is_text` says whether candidates are text, which is padded with zeros to make a
    /// key.
    pub(super) fn search(&self, is_text: bool) -> Result<Sought, Error> {
        let mut all = Vec::new();
        if self.file.is_empty() {
            if self.looks.is_some() && !self.plain.is_empty() {
                return Err(Error::usage("the plaintext is known: leave out --looks, or --plain"));
            }
            let cipher = self.cipher.ok_or_else(|| Error::usage("there is no cipher: give --cipher"))?;
            match &self.targets {
                Some(path) => {
                    for (number, pair) in pairs_in(path)? {
                        let name = format!("target in line {number}");
                        let one = self.data(cipher, Some(&pair), is_text);
                        let one =
                            one.map_err(|error| Error::usage(format!("{name}: {}", error.message())))?;
                        all.push(Sought { goals: vec![self.goal(cipher, name, Some(pair))], ..one });
                    }
                }
                None => all.push(self.data(cipher, None, is_text)?),
            }
        }
        for path in &self.file {
            all.push(self.locked(path)?);
        }
        merged(all)
    }

    /// The search for a key by data, given as arguments or as a pair in hashcat's format.
    fn data(&self, cipher: AnyCipher, pair: Option<&String>, is_text: bool) -> Result<Sought, Error> {
        let search = Search::new(self.known(cipher, pair)?, self.kdf(is_text)?)?;
        Ok(Sought { search, goals: vec![self.goal(cipher, "the data".to_owned(), None)], advice: None })
    }

    fn goal(&self, cipher: AnyCipher, name: String, pair: Option<String>) -> Goal {
        let mut texts = vec![cipher.name().to_owned(), self.mode().name().to_owned()];
        // Everything that, with a candidate, decides whether it is right.
        let options = [&self.iv, &self.tag, &self.salt].map(|text| format!("{text:?}"));
        texts.extend(options);
        texts.push(format!("{:?}", (self.sector, self.looks, self.kdf, self.iterations, self.log_n)));
        texts.push(format!("{:?}", (self.block_size, self.lanes, self.memory)));
        // A pair of a list is the same target as that pair alone.
        let pairs = pair.map_or_else(|| self.hashcat.clone(), |pair| vec![pair]);
        for list in [&self.aad, &self.plain, &self.crypt, &pairs] {
            texts.push(format!("{list:?}"));
        }
        Goal { name, fingerprint: of_texts(&texts), doubt: None }
    }

    /// The search for the passphrase of a file.
    fn locked(&self, path: &Path) -> Result<Sought, Error> {
        let name = format!("'{}'", shown(path));
        let details = self.details()?;
        let mut input = Opened::open(path).map_err(|error| Error::read(&name, &error))?;
        let read = match self.format {
            Some(format) => Ok(format),
            None => Format::detect(&mut input),
        };
        let locked = read.and_then(|format| format.read(input, &details));
        let (doubt, advice, search) = locked
            .and_then(|mut locked| Ok((locked.doubt.take(), locked.advice.take(), locked.search()?)))
            .map_err(|error| match error {
                Refusal::ReadFile(error) => Error::read(&name, &error),
                error => Error::usage(format!("{name}: {error}")),
            })?;
        let header = format!("{:?}", self.header.unwrap_or(HeaderName::Outer));
        let fingerprint = of_file(path, &header).map_err(|error| Error::read(&name, &error))?;
        Ok(Sought { search, goals: vec![Goal { name, fingerprint, doubt }], advice })
    }

    /// The facts about a file that were given as options.
    fn details(&self) -> Result<Details, Error> {
        let plaintext = match self.plain.as_slice() {
            [] => None,
            [one] => Some(partly_known("--plain", one)?),
            _ => return Err(Error::usage("a file has one beginning: give --plain once")),
        };
        let cipher = match self.cipher {
            None => None,
            Some(AnyCipher::Usual(cipher)) => Some(cipher),
            Some(AnyCipher::Wide(cipher)) => {
                let told = format!("no file has the cipher {cipher}: give another, or --plain and --crypt");
                return Err(Error::usage(told));
            }
        };
        Ok(Details {
            cipher,
            mode: self.mode,
            hash: self.hash,
            is_pbkdf2: self.pbkdf2,
            iterations: self.iterations,
            pim: self.pim,
            slot: self.slot,
            header: self.header.map(|header| match header {
                HeaderName::Outer => HeaderPlace::Outer,
                HeaderName::Hidden => HeaderPlace::Hidden,
                HeaderName::Backup => HeaderPlace::Backup,
                HeaderName::HiddenBackup => HeaderPlace::HiddenBackup,
                HeaderName::System => HeaderPlace::System,
            }),
            plaintext,
            look: self.looks.map(look),
        })
    }

    /// The mode of operation.
    fn mode(&self) -> Mode {
        self.mode.unwrap_or(Mode::Ecb)
    }

    fn known(&self, cipher: AnyCipher, pair: Option<&String>) -> Result<Known, Error> {
        let (initial, is_tagged) = (self.mode().entry().initial, self.mode().is_authenticated());
        let takes_iv = matches!(initial, Initial::Block | Initial::Nonce { .. });
        self.wants("--iv", self.iv.is_some(), takes_iv)?;
        self.wants("--sector", self.sector.is_some(), initial == Initial::Sector)?;
        self.wants("--tag", self.tag.is_some(), is_tagged)?;
        self.wants("--aad", !self.aad.is_empty(), is_tagged)?;
        let cipher = match cipher {
            AnyCipher::Usual(cipher) => cipher,
            AnyCipher::Wide(cipher) => return self.wide_known(cipher, pair),
        };
        let options = Options { threads: 1, short_nonces: true, ..Options::default() };
        if is_tagged && pair.is_some() {
            return Err(Error::usage("a list of targets has plaintexts, and no tags: choose another mode"));
        }
        if is_tagged {
            return Ok(Known::Test(Box::new(self.tagged(cipher, options)?)));
        }
        if let Some(look) = self.looks.map(look) {
            let (mode, ciphertext) = (self.block_mode()?, hex("--crypt", self.one_crypt()?)?);
            return Ok(Known::Test(Box::new(Plausible { cipher, mode, ciphertext, look, options })));
        }
        let texts = self.texts(pair)?;
        if initial == Initial::Sector {
            let [Texts { plaintext, mask, ciphertext }] = <[Texts; 1]>::try_from(texts)
                .map_err(|_| Error::usage("a sector of xts is one text: give --plain and --crypt once"))?;
            let sector = self.sector.unwrap_or(0);
            return Ok(Known::Test(Box::new(XtsSector { cipher, sector, plaintext, mask, ciphertext })));
        }
        let mode = self.block_mode()?;
        let mut known = Vec::new();
        for Texts { plaintext, mask, ciphertext } in &texts {
            known.extend(pairs(mode, Data { plaintext, mask, ciphertext })?);
        }
        // A mode test plans for every key, so it uses stored estimates. A block search plans once.
        let options = Options { costs: wisdom::costs(cipher), ..options };
        Ok(Known::Blocks(BlockSearch::new(cipher, &known, &options)?))
    }

    /// The known blocks of a cipher with wide blocks.
    fn wide_known(&self, cipher: Rijndael, pair: Option<&String>) -> Result<Known, Error> {
        if self.looks.is_some() {
            let told =
                "--looks needs a cipher with blocks of 16 bytes: give --plain, in part with ? for digits";
            return Err(Error::usage(told));
        }
        let iv = match (&self.iv, self.mode().entry().initial) {
            (Some(iv), _) => hex("--iv", iv)?,
            (None, Initial::Block) => return Err(Error::usage("this mode starts from a block: give --iv")),
            (None, _) => vec![0; cipher.block_bytes()],
        };
        let state = State::new(cipher, &iv)?;
        let mut known = Vec::new();
        for Texts { plaintext, mask, ciphertext } in &self.texts(pair)? {
            known.extend(wide_pairs(self.mode(), state.block(), Data { plaintext, mask, ciphertext })?);
        }
        Ok(Known::Blocks(BlockSearch::of_wide(cipher, &known, Features::from_environment()?)?))
    }

    /// Refuses an option that is given but has no effect.
    fn wants(&self, option: &str, is_given: bool, is_used: bool) -> Result<(), Error> {
        if !is_given || is_used {
            return Ok(());
        }
        Err(Error::usage(format!("this mode has no use for {option}: leave it out")))
    }

    /// All texts: those of a pair in hashcat's format, or from --plain and --crypt, or from --hashcat.
    fn texts(&self, pair: Option<&String>) -> Result<Vec<Texts>, Error> {
        let split = |line: &'_ String| {
            let parts = line.split_once(':').map(|(crypt, plain)| (plain.to_owned(), crypt.to_owned()));
            parts.ok_or_else(|| Error::usage("a pair is CT:PT, both in hex, the ciphertext first"))
        };
        let typed: Vec<(String, String)> = if let Some(pair) = pair {
            vec![split(pair)?]
        } else if self.hashcat.is_empty() {
            self.plain.iter().cloned().zip(self.crypt.iter().cloned()).collect()
        } else {
            self.hashcat.iter().map(split).collect::<Result<_, _>>()?
        };
        if typed.is_empty() || self.plain.len() != self.crypt.len() {
            return Err(Error::usage(
                "what is known is not told: give --plain and --crypt, as often as one another, or --looks",
            ));
        }
        let text = |(plain, crypt): &(String, String)| {
            let (plaintext, mask) = partly_known("--plain", plain)?;
            let ciphertext = hex("--crypt", crypt)?;
            if ciphertext.len() < plaintext.len() {
                let (less, more) = (ciphertext.len(), plaintext.len());
                let why =
                    format!("there are {more} bytes of plaintext and {less} of ciphertext: give more of it");
                return Err(Error::usage(why));
            }
            Ok(Texts { plaintext, mask, ciphertext })
        };
        typed.iter().map(text).collect()
    }

    fn one_crypt(&self) -> Result<&str, Error> {
        match self.crypt.as_slice() {
            [one] => Ok(one),
            _ => Err(Error::usage("there is not one ciphertext: give --crypt once")),
        }
    }

    fn tagged(&self, cipher: Cipher, options: Options) -> Result<Tagged, Error> {
        let nonce = match (&self.iv, self.mode().entry().initial) {
            (Some(nonce), _) => nonce,
            (None, Initial::Nonce { least: 0, .. }) => "",
            (None, _) => return Err(Error::usage("there is no nonce: give --iv")),
        };
        let tag = self
            .tag
            .as_deref()
            .ok_or_else(|| Error::usage("there is no tag to know a key by: give --tag"))?;
        if !self.plain.is_empty() || self.looks.is_some() {
            return Err(Error::usage("the tag tells the key: leave out --plain and --looks"));
        }
        Ok(Tagged {
            cipher,
            mode: self.mode(),
            nonce: hex("--iv", nonce)?,
            aads: self.aad.iter().map(|aad| hex("--aad", aad)).collect::<Result<_, _>>()?,
            ciphertext: hex("--crypt", self.one_crypt()?)?,
            tag: hex("--tag", tag)?,
            options,
        })
    }

    fn block_mode(&self) -> Result<BlockMode, Error> {
        let iv = match (&self.iv, self.mode().entry().initial) {
            (Some(iv), _) => hex("--iv", iv)?,
            (None, Initial::Block) => return Err(Error::usage("this mode starts from a block: give --iv")),
            (None, _) => Vec::new(),
        };
        Ok(BlockMode::new(self.mode(), &iv)?)
    }

    /// Refuses parameters that the key derivation ignores.
    fn check_parameters(&self) -> Result<(), Error> {
        use KdfName::{Argon2id, Pbkdf2Sha1, Pbkdf2Sha256, Pbkdf2Sha512, Scrypt};
        let parameters: [(_, _, &[KdfName]); 4] = [
            ("--salt", self.salt.is_some(), &[Pbkdf2Sha1, Pbkdf2Sha256, Pbkdf2Sha512, Scrypt, Argon2id]),
            ("--iterations", self.iterations.is_some(), &[Pbkdf2Sha1, Pbkdf2Sha256, Pbkdf2Sha512, Argon2id]),
            ("--log-n", self.log_n.is_some(), &[Scrypt]),
            ("--memory", self.memory.is_some(), &[Argon2id]),
        ];
        for (option, is_given, of) in parameters {
            if is_given && !self.kdf.is_some_and(|kdf| of.contains(&kdf)) {
                return Err(Error::usage(format!("this kdf has no {option}: leave it out")));
            }
        }
        Ok(())
    }

    fn kdf(&self, is_text: bool) -> Result<Kdf, Error> {
        self.check_parameters()?;
        let lacking = |option: &str| Error::usage(format!("this kdf has a parameter more: give {option}"));
        let salt =
            || self.salt.as_deref().ok_or_else(|| lacking("--salt")).and_then(|salt| hex("--salt", salt));
        let iterations = || self.iterations.ok_or_else(|| lacking("--iterations"));
        let pbkdf2 = |hash| Ok::<_, Error>(Kdf::Pbkdf2 { hash, salt: salt()?, iterations: iterations()? });
        Ok(match self.kdf {
            None if is_text => Kdf::Zeros,
            None | Some(KdfName::Exact) => Kdf::Exact,
            Some(KdfName::Zeros) => Kdf::Zeros,
            Some(KdfName::Repeat) => Kdf::Repeat,
            Some(KdfName::Sha256) => Kdf::Sha256,
            Some(KdfName::Pbkdf2Sha1) => pbkdf2(Hash::Sha1)?,
            Some(KdfName::Pbkdf2Sha256) => pbkdf2(Hash::Sha256)?,
            Some(KdfName::Pbkdf2Sha512) => pbkdf2(Hash::Sha512)?,
            Some(KdfName::Scrypt) => Kdf::Scrypt {
                salt: salt()?,
                log_n: self.log_n.ok_or_else(|| lacking("--log-n"))?,
                r: self.block_size,
                p: self.lanes,
            },
            Some(KdfName::Argon2id) => Kdf::Argon2id {
                salt: salt()?,
                memory_kib: self.memory.ok_or_else(|| lacking("--memory"))?,
                passes: iterations()?,
                lanes: self.lanes,
            },
        })
    }
}

/// One search for all targets.
fn merged(mut all: Vec<Sought>) -> Result<Sought, Error> {
    if all.len() == 1
        && let Some(one) = all.pop()
    {
        return Ok(one);
    }
    let (mut searches, mut goals) = (Vec::new(), Vec::<Goal>::new());
    for one in all {
        // The same target twice would be found twice.
        let is_new = |goal: &Goal| goals.iter().all(|own| own.fingerprint != goal.fingerprint);
        if one.goals.iter().all(is_new) {
            searches.push(one.search);
            goals.extend(one.goals);
        }
    }
    Ok(Sought { search: Search::several(searches)?, goals, advice: None })
}

/// The pairs in a list of targets, with the numbers of their lines.
fn pairs_in(path: &Path) -> Result<Vec<(usize, String)>, Error> {
    let bytes = read_small(path)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| {
        let why = no_text(&bytes, "give a list of CT:PT in hex");
        Error::usage(format!("'{}' {why}", shown(path)))
    })?;
    // Some editors write a mark in front of UTF-8.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = (1..).zip(text.lines().map(str::trim));
    let pairs: Vec<_> = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect();
    if pairs.is_empty() {
        return Err(Error::usage(format!("'{}' has no targets: give CT:PT in hex, one a line", shown(path))));
    }
    Ok(pairs.into_iter().map(|(number, line)| (number, line.to_owned())).collect())
}

fn look(name: LookName) -> Look {
    match name {
        LookName::Any => Look::Anything,
        LookName::Printable => Look::Printable,
        LookName::Text => Look::Text,
        LookName::File => Look::file(),
    }
}

fn hex(what: &str, digits: &str) -> Result<Vec<u8>, Error> {
    Ok(secret::decode_hex(what, digits.as_bytes())?.to_vec())
}

/// Bytes of which some hex digits are `?`, and a mask of the known bits.
fn partly_known(what: &str, digits: &str) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let bytes = hex(what, &digits.replace('?', "0"))?;
    let known: String = digits.chars().map(|digit| if digit == '?' { '0' } else { 'f' }).collect();
    Ok((bytes, hex(what, &known)?))
}
