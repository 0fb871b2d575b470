//! Documentation of the commands beyond their arguments: examples below `--help`, manual pages and shell
//! completions. All are generated from the declared arguments.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::Arguments;
use crate::error::Error;
use crate::input::shown;

/// Shell lines for each command. A test runs them in a directory with the file `photos.tar`, its encryption
/// `photos.cg`, the directory `letters`, its encryption `letters.cg`, the `key` for both, and a
/// `passphrase`. Longer lines would wrap on narrow terminals.
const EXAMPLES: [(&str, &[&str]); 19] = [
    ("complete", &["crossgrain complete bash > completions"]),
    ("man", &["mkdir man && crossgrain man man"]),
    ("demo", &["crossgrain demo --bytes 1048576"]),
    (
        "encrypt",
        &[
            "crossgrain encrypt --key-file key photos.tar -o photos.new",
            "crossgrain encrypt --passphrase-file passphrase photos.tar -o photos.locked.cg",
            "cat photos.tar | crossgrain encrypt --key-file key > photos.piped.cg",
            "crossgrain encrypt --key-file key --tar letters -o letters.new",
            "crossgrain encrypt --key-file key --recursive letters -C sealed",
        ],
    ),
    (
        "decrypt",
        &[
            "crossgrain decrypt --key-file key photos.cg -o photos.back",
            "crossgrain decrypt --key-file key photos.cg --range 4096..8192 > part",
            "crossgrain decrypt --key-file key photos.cg -o photos.again --resume",
            "crossgrain decrypt --key-file key --tar letters.cg -C restored",
        ],
    ),
    (
        "verify",
        &[
            "crossgrain verify --key-file key photos.cg letters.cg",
            "crossgrain verify --key-file key --list letters.cg",
        ],
    ),
    ("inspect", &["crossgrain inspect photos.cg", "crossgrain inspect --json < photos.cg"]),
    (
        "rekey",
        &[
            "crossgrain encrypt --passphrase-file passphrase photos.tar -o photos.locked.cg",
            "crossgrain keygen -o new.key",
            "crossgrain rekey --passphrase-file passphrase --new-key-file new.key photos.locked.cg",
        ],
    ),
    (
        "keygen",
        &[
            "crossgrain keygen -o new.key",
            "crossgrain keygen --x25519 -o identity",
            "crossgrain keygen --recipient-of identity",
        ],
    ),
    (
        "random",
        &[
            "crossgrain random --seed 42 --bytes 1000000 -o noise",
            "crossgrain random --seed 42 --stream 7 --offset 4096 | head -c 16 | od -t x1",
        ],
    ),
    (
        "raw",
        &[
            "crossgrain raw --cipher aes-256 --mode ctr --key-file key \\\n    --iv 000102030405060708090a0b0c0d0e0f photos.tar -o photos.ctr",
            "crossgrain raw --cipher aes-256 --mode ecb --padding pkcs7 \\\n    --key-file key photos.tar > photos.ecb",
        ],
    ),
    (
        "search",
        &[
            "crossgrain search --cipher aes-128 --key-mask 000102030405060708090a0b0c0d??0f \\\n    --plain 00112233445566778899aabbccddeeff --crypt 69c4e0d86a7b0430d8cdb78070b4c55a",
        ],
    ),
    ("variants", &["crossgrain variants"]),
    ("bench", &["crossgrain bench serpent-256-ctr"]),
    (
        "circuit",
        &[
            "crossgrain circuit",
            "crossgrain circuit aes-sbox --gates 3 --emit cuda",
            "crossgrain circuit aes-round --emit verilog -o round.v",
            "crossgrain circuit sm4 --design iterated --emit verilog -o sm4.v",
        ],
    ),
    ("wisdom", &["crossgrain wisdom measure --cipher aes-128", "crossgrain wisdom show"]),
    (
        "plan",
        &[
            "crossgrain plan --cipher aes-128 --job ctr",
            "crossgrain plan --cipher serpent-256 --job ecb --svg plan.svg",
        ],
    ),
    (
        "deps",
        &[
            "crossgrain deps --mode cbc",
            "printf 'array a[9]\\nfor i = 1 to 8\\n a[i] = a[i-1]\\nend\\n' > own.loops",
            "crossgrain deps --loop own.loops",
            "crossgrain deps --loop own.loops --emit c -o own.c",
        ],
    ),
    ("devices", &["crossgrain devices"]),
];

/// Print a script that lets a shell complete this program's arguments.
#[derive(clap::Args)]
pub(crate) struct CompleteArgs {
    /// The shell
    shell: Shell,
}

/// Write a page of the manual for the program and for each command.
#[derive(clap::Args)]
pub(crate) struct ManArgs {
    /// The folder to write them to
    folder: PathBuf,
}

/// The program's arguments, with examples.
pub(crate) fn command() -> Command {
    without_examples().mut_subcommands(|command| {
        let told = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
        let examples: String = lines(&command).map(|line| format!("\n  {line}")).collect();
        command.after_help(format!("{told}Examples:{examples}"))
    })
}

/// The program's arguments.
fn without_examples() -> Command {
    Arguments::command().mut_subcommands(|command| {
        command.mut_args(|arg| {
            // So that an error message refers to the value.
            let is_option = !arg.is_positional() && arg.get_action().takes_values();
            if is_option { arg.allow_negative_numbers(true) } else { arg }
        })
    })
}

/// The lines of a command's examples; none of a command below another.
fn lines(command: &Command) -> impl Iterator<Item = &'static str> {
    let of_command = EXAMPLES.iter().filter(|(name, _)| *name == command.get_name());
    of_command.flat_map(|(_, examples)| *examples).flat_map(|example| example.lines())
}

/// Prints completions.
pub(crate) fn complete(args: &CompleteArgs) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "crossgrain", &mut script);
    io::Write::write_all(&mut io::stdout(), &script).map_err(|error| Error::print(&error))
}

/// Writes the manual.
pub(crate) fn man(args: &ManArgs) -> Result<(), Error> {
    let folder = &args.folder;
    let mut command = without_examples().disable_help_subcommand(true);
    command.build();
    pages(&command, folder)
        .map_err(|error| Error::write(format_args!("pages to '{}'", shown(folder)), &error))
}

/// Writes the page of a command and of those below it.
fn pages(command: &Command, folder: &Path) -> io::Result<()> {
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .try_for_each(|below| pages(below, folder))?;
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    let examples: String = lines(command).map(|line| format!("{}\n", roff(line))).collect();
    if !examples.is_empty() {
        // Between these requests lines stay as they are.
        page.extend(format!(".SH EXAMPLES\n.nf\n{examples}.fi\n").bytes());
    }
    fs::write(folder.join(man.get_filename()), page)
}

/// A line of text for roff. The characters that it would replace by typographic ones are named.
fn roff(line: &str) -> String {
    let named = |character| match character {
        '\\' => r"\(rs".to_owned(),
        '-' => r"\-".to_owned(),
        '\'' => r"\(aq".to_owned(),
        '`' => r"\(ga".to_owned(),
        '^' => r"\(ha".to_owned(),
        '~' => r"\(ti".to_owned(),
        other => other.to_string(),
    };
    // A line that begins with a dot is a request.
    let begin = if line.starts_with('.') { r"\&" } else { "" };
    format!("{begin}{}", line.chars().map(named).collect::<String>())
}
