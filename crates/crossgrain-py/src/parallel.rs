//! Parallel algorithms over vectors of numbers, and kernels that Python's half records.
//!
//! A process opens each place once, by name, and keeps the programs compiled for it. A place that is lost is
//! opened again at its next use.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crossgrain_gpu::Error as Failure;
use crossgrain_gpu::parallel::{Column, Place, Policy, Recorded};
use pyo3::prelude::*;

use crate::Error;
use crate::buffer::Lent;
use crate::device::{first_hardware, not_built};
use crate::pool;

/// Open places by the name the caller gave, each with its resolved name.
type Places = HashMap<String, (String, Place)>;

/// The places that this process has opened.
static PLACES: Mutex<Option<(u32, Places)>> = Mutex::new(None);

/// Calls `work` with the open places of this process. Those of a parent that forked this process are
/// forgotten, because their devices do not exist here.
///
/// The caller holds Python's global lock, and so does a thread that forks. The mutex is therefore unlocked in
/// a child.
fn with_places<T>(_: Python<'_>, work: impl FnOnce(&mut Places) -> T) -> T {
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if places.as_ref().is_some_and(|(of, _)| *of != process) {
        std::mem::forget(places.take());
    }
    work(&mut places.get_or_insert_with(|| (process, HashMap::new())).1)
}

/// Resolves `auto`: to the first GPU that is not software on the CPU, or else to `par`.
fn resolved(name: &str) -> String {
    if name != "auto" {
        return name.to_owned();
    }
    first_hardware().unwrap_or_else(|| "par".to_owned())
}

/// The place of this name, and its resolved name.
fn place(py: Python<'_>, asked: &str) -> PyResult<(String, Place)> {
    let refused = |error: Failure| Error::new_err(error.to_string());
    let policy: Policy = asked.parse().map_err(refused)?;
    with_places(py, |places| {
        if let Some(known) = places.get(asked) {
            return Ok(known.clone());
        }
        if cfg!(not(feature = "gpu")) && matches!(policy, Policy::Cuda(_) | Policy::Wgpu(_)) {
            return Err(not_built(asked));
        }
        let name = resolved(asked);
        let opened = match places.get(&name) {
            Some(known) => known.clone(),
            None => {
                let policy: Policy = name.parse().map_err(refused)?;
                let opened = policy.open().map_err(|why| Error::new_err(format!("{name}: {why}")))?;
                (name.clone(), opened)
            }
        };
        for key in [asked.to_owned(), name] {
            places.insert(key, opened.clone());
        }
        Ok(opened)
    })
}

/// Runs work at a place, without the global lock.
fn at<T: Send>(py: Python<'_>, name: &str, work: impl FnOnce() -> Result<T, Failure> + Send) -> PyResult<T> {
    let done = pool::run(py, usize::from(name != "par"), work)?;
    done.map_err(|error| {
        if matches!(error, Failure::Lost(_)) {
            with_places(py, |places| places.retain(|_, (of, _)| of != name));
        }
        match error {
            Failure::Kernel(_) | Failure::Range { .. } | Failure::Place => Error::new_err(error.to_string()),
            _ => Error::new_err(format!("{name}: {error}")),
        }
    })
}

/// The resolved name of a place.
#[pyfunction]
pub(crate) fn place_name(py: Python<'_>, name: &str) -> PyResult<String> {
    place(py, name).map(|(name, _)| name)
}

/// Numbers at a place, as untyped words.
#[pyclass(frozen, name = "Numbers")]
pub(crate) struct Numbers {
    column: Column,
    place: String,
}

impl Numbers {
    /// Applies an algorithm to the numbers.
    fn made(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Column) -> Result<Column, Failure> + Send,
    ) -> PyResult<Self> {
        let column = at(py, &self.place, || work(&self.column))?;
        Ok(Self { column, place: self.place.clone() })
    }
}

#[pymethods]
impl Numbers {
    /// Copies the numbers of an array to a place.
    #[new]
    fn new(py: Python<'_>, array: &Bound<'_, PyAny>, place_name: &str) -> PyResult<Self> {
        let (name, place) = place(py, place_name)?;
        let lent = Lent::to_read(array, "the array")?;
        let column = at(py, &name, || Column::from_bytes(&place, lent.bytes(), lent.item_bytes()))?;
        Ok(Self { column, place: name })
    }

    /// Writes the numbers into an array.
    fn write(&self, py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut lent = Lent::to_write(array, "the array")?;
        let item_bytes = lent.item_bytes();
        at(py, &self.place, || self.column.to_bytes(lent.bytes_mut(), item_bytes))
    }

    #[getter]
    fn place(&self) -> &str {
        &self.place
    }

    fn __len__(&self) -> usize {
        self.column.len()
    }

    fn reduce(&self, py: Python<'_>, name: &str) -> PyResult<u64> {
        at(py, &self.place, || self.column.reduce(name))
    }

    fn inclusive_scan(&self, py: Python<'_>, name: &str) -> PyResult<Self> {
        self.made(py, |column| column.inclusive_scan(name))
    }

    fn gather(&self, py: Python<'_>, indices: &Self) -> PyResult<Self> {
        self.made(py, |column| column.gather(&indices.column))
    }

    fn order(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py, Column::order)
    }

    fn chosen(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py, Column::chosen)
    }

    fn find(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        at(py, &self.place, || self.column.find())
    }

    fn outermost(&self, py: Python<'_>, is_last: bool) -> PyResult<Option<usize>> {
        at(py, &self.place, || self.column.outermost(is_last))
    }
}

/// A kernel, during recording and afterwards.
#[pyclass]
pub(crate) struct Kernel(Recorded);

#[pymethods]
impl Kernel {
    #[new]
    fn new(inputs: Vec<usize>) -> PyResult<Self> {
        Ok(Self(Recorded::new(&inputs).map_err(refused)?))
    }

    fn constant(&mut self, bits: u64, words: usize) -> PyResult<usize> {
        self.0.constant(bits, words).map_err(refused)
    }

    fn step(&mut self, name: &str, values: Vec<usize>, count: u32) -> PyResult<usize> {
        self.0.step(name, &values, count).map_err(refused)
    }

    fn give(&mut self, value: usize) -> PyResult<()> {
        self.0.give(value).map_err(refused)
    }

    /// The results of the kernel for these inputs.
    fn transform(&self, py: Python<'_>, sources: Vec<PyRef<'_, Numbers>>) -> PyResult<Vec<Numbers>> {
        let Some(name) = sources.first().map(|source| source.place.clone()) else {
            return Err(Error::new_err("a kernel takes one array or more: give some, or use generate"));
        };
        let columns: Vec<_> = sources.iter().map(|source| &source.column).collect();
        let made = at(py, &name, || self.0.transform(&columns))?;
        Ok(made.into_iter().map(|column| Numbers { column, place: name.clone() }).collect())
    }

    /// The results of the kernel for the numbers of a range.
    fn generate(&self, py: Python<'_>, place_name: &str, start: usize, end: usize) -> PyResult<Vec<Numbers>> {
        let (name, place) = place(py, place_name)?;
        let made = at(py, &name, || self.0.generate(&place, start..end))?;
        Ok(made.into_iter().map(|column| Numbers { column, place: name.clone() }).collect())
    }
}

fn refused(error: Failure) -> PyErr {
    Error::new_err(error.to_string())
}
