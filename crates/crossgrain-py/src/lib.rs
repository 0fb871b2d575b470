//! The native half of the Python package, `crossgrain._native`. It is thin, and private to the package.
//!
//! Only `buffer` and `bitgen` contain `unsafe` code, for memory that Python lends and for the C structure
//! through which NumPy calls a generator. The global lock is released while bytes are computed.

mod bitgen;
mod buffer;
mod chunks;
mod device;
mod draw;
mod file_object;
mod files;
mod format;
mod modes;
mod parallel;
mod plan;
mod pool;
mod records;
mod search;
mod search_candidates;
mod search_file;
mod search_targets;
mod search_words;
mod secret;
mod wisdom;

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(crossgrain, Error, PyValueError, "What the engine refuses, and how to mend it.");
create_exception!(crossgrain, NothingTried, Error, "A search had no candidate to try.");
create_exception!(crossgrain, WrongKey, Error, "The key, passphrase or identity is not that of the file.");
create_exception!(crossgrain, Forged, Error, "The data is not authentic: a tag is wrong.");
create_exception!(crossgrain, Damaged, Forged, "An encrypted file was changed.");
create_exception!(crossgrain, Truncated, Damaged, "The data is cut off.");

/// An error of the engine as a Python exception.
fn refused(error: crossgrain::Error) -> PyErr {
    match error {
        crossgrain::Error::Forged => Forged::new_err(error.to_string()),
        _ => Error::new_err(error.to_string()),
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<Error>())?;
    module.add("NothingTried", module.py().get_type::<NothingTried>())?;
    module.add("WrongKey", module.py().get_type::<WrongKey>())?;
    module.add("Forged", module.py().get_type::<Forged>())?;
    module.add("Damaged", module.py().get_type::<Damaged>())?;
    module.add("Truncated", module.py().get_type::<Truncated>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<bitgen::Core>()?;
    module.add_function(wrap_pyfunction!(buffer::bytes_of, module)?)?;
    module.add_function(wrap_pyfunction!(modes::modes, module)?)?;
    module.add_function(wrap_pyfunction!(modes::apply, module)?)?;
    module.add_function(wrap_pyfunction!(modes::apply_sealed, module)?)?;
    module.add_function(wrap_pyfunction!(records::apply_records, module)?)?;
    module.add_class::<chunks::Chunks>()?;
    module.add_class::<files::Reader>()?;
    module.add_class::<files::Writer>()?;
    module.add_function(wrap_pyfunction!(files::encrypt_file, module)?)?;
    module.add_function(wrap_pyfunction!(files::decrypt_file, module)?)?;
    module.add_function(wrap_pyfunction!(secret::generate_identity, module)?)?;
    module.add_function(wrap_pyfunction!(secret::recipient_of, module)?)?;
    module.add_function(wrap_pyfunction!(search::search_size, module)?)?;
    module.add_function(wrap_pyfunction!(search::search_check, module)?)?;
    module.add_function(wrap_pyfunction!(search_file::search_file, module)?)?;
    module.add_function(wrap_pyfunction!(search_words::search_skipped_rules, module)?)?;
    module.add_class::<search_words::WordPieces>()?;
    module.add_function(wrap_pyfunction!(search::search_shard, module)?)?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(plan::compose, module)?)?;
    module.add_function(wrap_pyfunction!(plan::ciphers, module)?)?;
    module.add_function(wrap_pyfunction!(plan::cpu, module)?)?;
    module.add_function(wrap_pyfunction!(device::gpus, module)?)?;
    module.add_class::<parallel::Numbers>()?;
    module.add_class::<parallel::Kernel>()?;
    module.add_function(wrap_pyfunction!(parallel::place_name, module)?)?;
    Ok(())
}
