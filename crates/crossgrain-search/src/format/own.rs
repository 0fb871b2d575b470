//! Files of `crossgrain encrypt`. The container crate reads them. Candidates are passphrases, or keys if no
//! passphrase opens the file.

use super::{Details, Format, Locked, Source};
use crate::{Error, File, Kdf};
use crossgrain::mode::Options;
use crossgrain_container as container;

pub(super) const FORMAT: Format = Format {
    name: "crossgrain",
    about: "Files of `crossgrain encrypt`",
    takes: &[],
    is_it: |beginning| beginning.starts_with(b"crossgrain"),
    read,
};

fn read(mut source: Box<dyn Source>, _: &Details) -> Result<Locked, Error> {
    let file = File::read(&mut source, Options { threads: 1, ..Options::default() });
    let file = file.map_err(|error| match error {
        container::Error::Io(error) => Error::ReadFile(error),
        error => Error::File(error),
    })?;
    if let container::Kdf::Slots(slots) = &file.header.kdf
        && slots.kinds().all(|kind| matches!(kind, container::SlotKind::X25519 { .. }))
    {
        return Err(Error::File(container::Error::WantsIdentity));
    }
    Ok(Locked::certain(Kdf::Exact, file))
}
