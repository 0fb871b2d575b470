//! Changes to a valid text, so that a target gets past the checks of its syntax.

/// Applies changes to a text, one after another. A change is a place in two bytes, how many bytes are removed there, and the bytes
/// that take their place. The byte 255, which UTF-8 never has, ends it.
pub(crate) fn text(valid: &str, changes: &[u8]) -> String {
    let mut text = valid.as_bytes().to_vec();
    for change in changes.split(|&byte| byte == 255) {
        let [high, low, removed, new @ ..] = change else { continue };
        let from = usize::from(u16::from_be_bytes([*high, *low])) % (text.len() + 1);
        let to = text.len().min(from + usize::from(*removed));
        text.splice(from..to, new.iter().copied());
    }
    String::from_utf8_lossy(&text).into_owned()
}
