//! Wisdom: the costs that `crossgrain wisdom measure` has stored on this machine. Python plans with them, as
//! the command line does.

use std::ffi::CString;
use std::sync::{Arc, OnceLock};

use crossgrain::Cipher;
use crossgrain::plan::Costs;
use crossgrain::wisdom::{Refused, Wisdom, default_path};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

static KEPT: OnceLock<Option<Wisdom>> = OnceLock::new();

/// The stored costs of a cipher's variants, if any. The file is read once. A refused file causes a warning,
/// and a missing file does not.
pub(crate) fn costs(py: Python<'_>, cipher: Cipher) -> PyResult<Option<Arc<Costs>>> {
    if KEPT.get().is_none() {
        read(py)?;
    }
    let kept = KEPT.get().and_then(Option::as_ref);
    Ok(kept.and_then(|wisdom| wisdom.costs(cipher)).cloned().map(Arc::new))
}

/// Reads the file. The cell is set before the warning, which runs Python code.
fn read(py: Python<'_>) -> PyResult<()> {
    let Some(path) = default_path() else {
        let _ = KEPT.set(None);
        return Ok(());
    };
    match py.detach(|| Wisdom::load(&path)) {
        Ok(wisdom) => drop(KEPT.set(Some(wisdom))),
        Err(Refused::Missing) => drop(KEPT.set(None)),
        Err(refused) => {
            if KEPT.set(None).is_ok() {
                let told = CString::new(format!("wisdom ignored: {}: {refused}", path.display()));
                PyErr::warn(py, &py.get_type::<PyUserWarning>(), &told.unwrap_or_default(), 1)?;
            }
        }
    }
    Ok(())
}
