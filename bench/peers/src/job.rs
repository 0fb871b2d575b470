//! Jobs: a cipher in a mode, a situation, and the length of a message.
//!
//! A job is written `CIPHER-MODE/SITUATION/LENGTH`, such as `aes-256-gcm/apart/64`.

use std::fmt;

use crossgrain::mode::{Initial, Mode};
use crossgrain::{BLOCK_BYTES, Cipher};

/// Lengths of messages that callers have, in bytes.
const LENGTHS: [usize; 19] =
    [1, 13, 16, 32, 63, 64, 65, 100, 128, 200, 256, 512, 1024, 1400, 4096, 16_384, 65_536, MIB, 64 * MIB];

const MIB: usize = 1 << 20;

/// The word for a mix of internet packets.
const MIX: &str = "imix";

/// Simple IMIX: of twelve IP packets seven have 40 bytes, four 576 and one 1500.
/// Source: Agilent Technologies, "The Journal of Internet Test Methodologies" (2007); RFC 6985 describes how mixes are named.
const MIX_BYTES: [usize; 12] = [40, 576, 40, 40, 576, 40, 1500, 40, 576, 40, 576, 40];

/// Messages of more bytes than this have no rows for new keys or for many in one call.
const SHORT_BYTES_MAX: usize = 16_384;

/// Messages in one call.
const MANY: usize = 64;

/// Messages that are not in one call go through the same few places, which fit into the first cache together.
const PLACES_BYTES: usize = 8192;

/// How a message is processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Situation {
    /// It is written into its place, then sealed there.
    Fresh,
    /// It is sealed from one place to another.
    Apart,
    /// It is encrypted where it is, and the result is encrypted next.
    Again,
    /// It is opened from one place to another.
    Open,
    /// It is sealed from one place to another under a key of its own, which is set up in the same time.
    NewKey,
    /// A key is set up, and no message follows.
    KeySetup,
    /// [`MANY`] messages are sealed from one place to another, in one call where the interface has one.
    Many,
}

use Situation::{Again, Apart, Fresh, KeySetup, Many, NewKey, Open};

impl Situation {
    const ALL: [Self; 7] = [Fresh, Apart, Again, Open, NewKey, KeySetup, Many];

    const fn name(self) -> &'static str {
        match self {
            Fresh => "in-place",
            Apart => "apart",
            Again => "again",
            Open => "open",
            NewKey => "new-key",
            KeySetup => "key-setup",
            Many => "many",
        }
    }
}

/// Something to be timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) cipher: Cipher,
    /// `None` stands for CMAC, which only makes tags.
    pub(crate) mode: Option<Mode>,
    pub(crate) situation: Situation,
    /// Bytes of the messages that one repeat takes.
    pub(crate) bytes: Vec<usize>,
    length: String,
}

impl Job {
    fn new(cipher: Cipher, mode: Option<Mode>, situation: Situation, length: &str) -> Option<Self> {
        let bytes = if length == MIX { MIX_BYTES.to_vec() } else { places(situation, length.parse().ok()?) };
        Some(Self { cipher, mode, situation, bytes, length: length.to_owned() })
    }

    /// Reads a job as it is written; `None` unless it is one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split('/');
        let (name, situation, length) = (words.next()?, words.next()?, words.next()?);
        let cipher = Cipher::ALL.into_iter().find(|cipher| starts_with(name, *cipher))?;
        let mode = name.get(cipher.to_string().len() + 1..)?;
        let mode = match Mode::ALL.into_iter().find(|known| known.name() == mode) {
            None if mode != "cmac" => return None,
            mode => mode,
        };
        let situation = Situation::ALL.into_iter().find(|known| known.name() == situation)?;
        Self::new(cipher, mode, situation, length).filter(|_| words.next().is_none())
    }

    /// Such as `gcm`.
    pub(crate) fn mode_name(&self) -> &'static str {
        self.mode.map_or("cmac", Mode::name)
    }

    /// Bytes of all keys of the mode.
    pub(crate) fn key_bytes(&self) -> usize {
        self.mode.map_or(self.cipher.key_bytes(), |mode| mode.key_bytes(self.cipher))
    }

    /// Bytes of a nonce, an initial block or a sector's number. CCM's leave four bytes for the length of a message.
    pub(crate) fn nonce_bytes(&self) -> usize {
        match self.mode.map(|mode| mode.entry().initial) {
            None | Some(Initial::Nothing) => 0,
            Some(Initial::Block | Initial::Sector) => BLOCK_BYTES,
            Some(Initial::Nonce { .. }) => match self.mode {
                Some(Mode::Ccm) => 11,
                Some(Mode::Eax) => BLOCK_BYTES, // as RustCrypto has it
                _ => 12,
            },
        }
    }

    /// Whether a message has a tag.
    pub(crate) fn has_tag(&self) -> bool {
        self.mode.is_none_or(Mode::is_authenticated)
    }

    /// Whether anything but the tags comes out.
    pub(crate) fn has_output(&self) -> bool {
        self.mode.is_some() && self.situation != KeySetup
    }

    /// The bytes of a message, on average.
    pub(crate) fn mean_bytes(&self) -> f64 {
        self.bytes.iter().sum::<usize>() as f64 / self.bytes.len() as f64
    }

    /// Implementations that leave instructions out are timed in bulk alone.
    pub(crate) fn is_bulk(&self) -> bool {
        self.situation == Again || self.bytes[0] == MIB
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}/{}/{}", self.cipher, self.mode_name(), self.situation.name(), self.length)
    }
}

fn starts_with(name: &str, cipher: Cipher) -> bool {
    name.strip_prefix(&cipher.to_string()).is_some_and(|rest| rest.starts_with('-'))
}

/// As many messages of one length as a repeat takes.
fn places(situation: Situation, bytes: usize) -> Vec<usize> {
    let count = match situation {
        Many => MANY,
        Again => 1,
        _ => (PLACES_BYTES / bytes.max(1)).clamp(1, MANY),
    };
    vec![bytes; count]
}

/// Everything that is timed.
pub(crate) fn all() -> impl Iterator<Item = Job> {
    Cipher::ALL.into_iter().flat_map(|cipher| modes(cipher).flat_map(move |mode| of_mode(cipher, mode)))
}

/// The modes of a cipher that are compared with others.
fn modes(cipher: Cipher) -> impl Iterator<Item = Option<Mode>> {
    let modes: &[_] = match cipher {
        Cipher::Aes128 | Cipher::Aes256 => &[
            Some(Mode::Ecb),
            Some(Mode::Ctr),
            Some(Mode::Cbc),
            Some(Mode::Xts),
            None,
            Some(Mode::Gcm),
            Some(Mode::Ocb),
            Some(Mode::Ccm),
            Some(Mode::Eax),
            Some(Mode::Siv),
            Some(Mode::GcmSiv),
        ],
        Cipher::Serpent256 => {
            &[Some(Mode::Ecb), Some(Mode::Ctr), Some(Mode::Xts), Some(Mode::Ocb), Some(Mode::Eax)]
        }
        Cipher::Sm4 => &[Some(Mode::Ecb), Some(Mode::Ctr), Some(Mode::Xts), Some(Mode::Gcm)],
        _ => &[Some(Mode::Ecb), Some(Mode::Ctr), Some(Mode::Xts)],
    };
    modes.iter().copied().filter(move |mode| mode.is_none_or(|mode| mode.admits(cipher).is_ok()))
}

/// The situations and lengths of a mode. AES has all lengths in modes that take any length; other modes and ciphers have a few.
fn of_mode(cipher: Cipher, mode: Option<Mode>) -> Vec<Job> {
    let is_aes = matches!(cipher, Cipher::Aes128 | Cipher::Aes256);
    let takes_any = matches!(mode, Some(Mode::Ctr)) || mode.is_some_and(Mode::is_authenticated);
    let (lengths, situations): (&[usize], &[Situation]) = match mode {
        Some(Mode::Ctr) if is_aes => (&LENGTHS, &[Fresh, Apart, NewKey, Many]),
        _ if takes_any && is_aes => (&LENGTHS, &[Fresh, Apart, Open, NewKey, Many]),
        _ if takes_any => (&[16, 256, 4096, MIB], &[Apart]),
        None => (&[16, 64, 256, 1024, 1400, 16_384], &[Apart, Many]),
        Some(Mode::Cbc) => (&[16, 64, 256, 1024, 1408, 16_384, MIB], &[Apart, Open, Many]),
        Some(Mode::Xts) => (&[512, 4096, MIB], &[Apart, Open]),
        _ => (&[16, 256, 4096, MIB], &[Apart, Open, NewKey]),
    };
    let fits = |situation, bytes| match situation {
        NewKey => takes_any && bytes <= SHORT_BYTES_MAX || bytes == BLOCK_BYTES,
        Many => bytes <= SHORT_BYTES_MAX,
        _ => true,
    };
    let mut jobs = vec![(KeySetup, "0".to_owned())];
    for &situation in situations {
        jobs.extend(
            lengths.iter().filter(|&&bytes| fits(situation, bytes)).map(|b| (situation, b.to_string())),
        );
        if is_aes && takes_any {
            jobs.push((situation, MIX.to_owned()));
        }
    }
    if mode.is_some_and(|mode| matches!(mode, Mode::Ecb | Mode::Ctr)) {
        jobs.push((Again, MIB.to_string()));
    }
    if (cipher, mode) == (Cipher::Aes128, Some(Mode::Ecb)) {
        // One bundle of 64 blocks and 128 of them, as the literature times them.
        jobs.extend([1024, 128 * 1024].map(|bytes| (Again, bytes.to_string())));
    }
    jobs.into_iter().filter_map(|(situation, length)| Job::new(cipher, mode, situation, &length)).collect()
}
