//! What was found: first to a file, and to the disk, then to the user.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crossgrain_search::Hit;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::output::continued;

/// Where keys go, from any thread.
pub(super) struct Results {
    file: Option<(File, PathBuf)>,
    json: bool,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    lines: Vec<Zeroizing<String>>,
    error: Option<Error>,
}

impl Results {
    /// Opens the file, if there is one; what is in it stays, and is not added again.
    pub(super) fn open(path: Option<&Path>, json: bool) -> Result<Self, Error> {
        let mut kept = Kept::default();
        let file = match path {
            Some(path) => {
                let failed = |error: io::Error| Error::write(format_args!("'{}'", path.display()), &error);
                let file = continued(File::options().read(true).append(true).create(true), path)?;
                if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
                    let mut text = Zeroizing::new(String::new());
                    (&file).read_to_string(&mut text).map_err(failed)?;
                    // A run that was cut off in a line leaves part of it: nothing is to be told of that, nor added to it.
                    let (whole, torn) = text.split_at(text.rfind('\n').map_or(0, |end| end + 1));
                    kept.lines = whole.lines().map(|line| Zeroizing::new(line.to_owned())).collect();
                    if !torn.is_empty() {
                        (&file).write_all(b"\n").map_err(failed)?;
                    }
                }
                Some((file, path.to_owned()))
            }
            None => None,
        };
        Ok(Self { file, json, kept: Mutex::new(kept) })
    }

    /// Keeps a key and tells it; whether that went well.
    pub(super) fn add(&self, hit: &Hit) -> bool {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let added = self.try_add(&mut kept.lines, hit);
        let is_added = added.is_ok();
        kept.error = kept.error.take().or(added.err());
        is_added
    }

    fn try_add(&self, lines: &mut Vec<Zeroizing<String>>, hit: &Hit) -> Result<(), Error> {
        let line = Zeroizing::new(line(hit).to_string());
        let is_new = !lines.contains(&line);
        let kept = self.file.as_ref().filter(|_| is_new).map_or(Ok(()), |(file, path)| {
            let whole = Zeroizing::new(format!("{}\n", *line));
            let written = (&mut &*file).write_all(whole.as_bytes()).and_then(|()| sync(file));
            written.map_err(|error| Error::write(format_args!("'{}'", path.display()), &error))
        });
        // What cannot be kept is told all the same.
        let told = tell(&line, self.json);
        kept?;
        lines.push(line);
        // What is on the disk is safe; who is not there to read it will look there.
        if self.file.is_some() { Ok(()) } else { told }
    }

    /// Tells what an earlier run found.
    pub(super) fn tell_kept(&self) -> Result<(), Error> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = kept.lines.iter().filter(|line| serde_json::from_str::<Value>(line).is_ok());
        whole.into_iter().try_for_each(|line| tell(line, self.json))
    }

    /// What went wrong when a key was kept, if anything did.
    pub(super) fn checked(&self) -> Result<(), Error> {
        let error = self.kept.lock().unwrap_or_else(PoisonError::into_inner).error.take();
        error.map_or(Ok(()), Err)
    }
}

/// Devices and pipes cannot be synced, and need not be.
fn sync(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.sync_data() } else { Ok(()) }
}

fn line(hit: &Hit) -> Value {
    let mut line =
        json!({ "key": base16ct::lower::encode_string(&hit.key), "number": hit.number.to_string() });
    if hit.candidate != hit.key {
        line["candidate"] = base16ct::lower::encode_string(&hit.candidate).into();
        if let Ok(text) = std::str::from_utf8(&hit.candidate) {
            line["text"] = text.into();
        }
    }
    line
}

/// Prints a key on standard output: its line as it is, or for people.
fn tell(line: &str, json: bool) -> Result<(), Error> {
    let parsed: Value = serde_json::from_str(line).unwrap_or_default();
    let field = |name: &str| parsed[name].as_str().unwrap_or_default();
    let told = match parsed["text"].as_str() {
        _ if json => line.to_owned(),
        Some(text) => {
            format!("key {} of '{}', candidate {}", field("key"), text.escape_debug(), field("number"))
        }
        None => format!("key {}, candidate {}", field("key"), field("number")),
    };
    let mut out = io::stdout();
    let told = writeln!(out, "{told}").and_then(|()| out.flush());
    told.map_err(|error| Error::write("standard output", &error))
}
