//! Keys that control a search at a terminal, as in hashcat.

use crate::system::KeyInput;

/// The keys, for the user.
pub(super) const HELP: &str = "keys: s status, p pause, r resume, q quit";

/// A key that controls the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Key {
    Status,
    Pause,
    Resume,
    Quit,
}

/// Reads keys from the terminal.
pub(super) struct Keys(KeyInput);

impl Keys {
    /// `None` if standard input is not a terminal, or the system cannot read single keys.
    pub(super) fn open() -> Option<Self> {
        KeyInput::open().map(Self)
    }

    /// The keys typed since the last call.
    pub(super) fn typed(&mut self) -> Vec<Key> {
        let key = |byte: u8| match byte.to_ascii_lowercase() {
            b's' => Some(Key::Status),
            b'p' => Some(Key::Pause),
            b'r' => Some(Key::Resume),
            b'q' => Some(Key::Quit),
            _ => None,
        };
        self.0.typed().into_iter().filter_map(key).collect()
    }

    /// Restores the terminal before the program ends.
    pub(super) fn restore(&mut self) {
        self.0.restore();
    }
}
