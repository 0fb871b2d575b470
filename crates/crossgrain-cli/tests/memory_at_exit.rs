//! No key and no passphrase remains in the program's memory at exit, however it was supplied.
//!
//! The test traces the program. The kernel stops the program at exit while its memory still exists
//! (`PTRACE_O_TRACEEXIT`). The test then reads all writable memory. `CROSSGRAIN_CASES=TEXT` runs only the
//! cases with this text in their arguments.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::ptr;

use common::{Place, hex, painted};
use crossgrain_container::{Header, Limits, Secret};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Length in bytes of the pieces that are searched for, so that part of a secret is also found.
const PIECE_BYTES: usize = 8;

/// Bytes read at a time.
const STEP_BYTES: usize = 1 << 20;

const PASSPHRASE: &str = "Quartz-Fjord_81 vexing!Lamp+Kudzu7";

/// A secret and its name.
type Named = (String, Vec<u8>);

/// How the program receives its secret, in addition to its arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    /// In a file that its arguments name.
    File,
    /// Typed at its terminal.
    Typed,
    /// On this descriptor, which reads the file `passphrase`.
    Descriptor(RawFd),
}

/// One run of the program.
struct Case {
    arguments: Vec<String>,
    given: Given,
    /// Names of files whose contents are secret once they exist, as bytes and as bytes in hex.
    secret_files: &'static [&'static str],
    /// Other secrets.
    secrets: Vec<Named>,
}

fn case(arguments: &str, given: Given, secrets: &[Named]) -> Case {
    let arguments = arguments.split(' ').map(str::to_owned).collect();
    Case { arguments, given, secret_files: &[], secrets: secrets.to_vec() }
}

/// Converts the result of a libc call.
fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Makes a ptrace request for a stopped program.
fn ptrace(request: libc::c_uint, pid: libc::pid_t, data: usize) -> io::Result<()> {
    // SAFETY: none of the requests here reads or writes memory of this process.
    checked(unsafe { libc::ptrace(request, pid, ptr::null_mut::<libc::c_void>(), data) }).map(drop)
}

/// Waits until the program stops or ends, and gives its status.
fn wait(pid: libc::pid_t) -> libc::c_int {
    let mut status = 0;
    // SAFETY: the status is a local variable.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
    checked(waited.into()).unwrap();
    status
}

/// Runs the program until it exits, and gives the result of `look` at that point and the exit code.
fn traced<T>(mut command: Command, look: impl FnOnce(libc::pid_t) -> T) -> Option<(T, i32)> {
    // SAFETY: the closure runs between fork and exec, and makes one system call.
    unsafe { command.pre_exec(|| ptrace(libc::PTRACE_TRACEME, 0, 0)) };
    let child = match command.spawn() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            println!("skipped: memory at exit (no process may be traced: {error})");
            return None;
        }
        child => child.unwrap(),
    };
    let pid = libc::pid_t::try_from(child.id()).unwrap();
    assert!(libc::WIFSTOPPED(wait(pid)), "it does not stop at exec");
    ptrace(libc::PTRACE_SETOPTIONS, pid, (libc::PTRACE_O_TRACEEXIT | libc::PTRACE_O_EXITKILL) as usize)
        .unwrap();
    ptrace(libc::PTRACE_CONT, pid, 0).unwrap();
    let (mut look, mut seen) = (Some(look), None);
    loop {
        let status = wait(pid);
        if libc::WIFEXITED(status) {
            return Some((seen.expect("it ended without a stop"), libc::WEXITSTATUS(status)));
        }
        assert!(!libc::WIFSIGNALED(status), "signal {} ended it", libc::WTERMSIG(status));
        let is_exit = status >> 8 == libc::SIGTRAP | libc::PTRACE_EVENT_EXIT << 8;
        let mut signal = libc::WSTOPSIG(status);
        if is_exit {
            seen = look.take().map(|look| look(pid));
            signal = 0;
        }
        ptrace(libc::PTRACE_CONT, pid, signal as usize).unwrap();
    }
}

/// The names and places of secrets of which a piece is in the memory of a stopped program.
fn found(pid: libc::pid_t, secrets: &[Named]) -> Vec<String> {
    let memory = File::open(format!("/proc/{pid}/mem")).unwrap();
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mut found = Vec::new();
    for line in maps.lines() {
        let mut fields = line.split_whitespace();
        let (range, rights) = (fields.next().unwrap(), fields.next().unwrap());
        if !rights.starts_with("rw") {
            continue;
        }
        let region = fields.nth(3).unwrap_or("anonymous");
        let (from, to) = range.split_once('-').unwrap();
        let address = |digits| u64::from_str_radix(digits, 16).unwrap();
        let (from, to) = (address(from), address(to));
        for start in (from..to).step_by(STEP_BYTES) {
            let len_bytes = (to - start).min((STEP_BYTES + PIECE_BYTES) as u64) as usize;
            let mut bytes = vec![0; len_bytes];
            if memory.read_exact_at(&mut bytes, start).is_ok() {
                found.extend(
                    hits(&bytes, secrets).map(|(at, what)| format!("{what} in {region}, {:#x}", start + at)),
                );
            }
        }
    }
    found
}

/// The places and names of pieces of secrets in some bytes.
fn hits<'a>(bytes: &'a [u8], secrets: &'a [Named]) -> impl Iterator<Item = (u64, String)> + 'a {
    let pieces: Vec<_> = secrets
        .iter()
        .flat_map(|(name, secret)| {
            secret.chunks_exact(PIECE_BYTES).enumerate().map(move |(i, piece)| (name, i, piece))
        })
        .collect();
    let mut is_first = vec![false; 256];
    pieces.iter().for_each(|(.., piece)| is_first[usize::from(piece[0])] = true);
    let starts = (0..bytes.len()).filter(move |&at| is_first[usize::from(bytes[at])]);
    starts.flat_map(move |at| {
        let here: Vec<_> = pieces
            .iter()
            .filter(|(.., piece)| bytes[at..].starts_with(piece))
            .map(|(name, i, _)| (at as u64, format!("piece {i} of {name}")))
            .collect();
        here
    })
}

/// Runs a case in a place and gives the secrets that were found.
fn run(place: &Place, case: &Case) -> Option<Vec<String>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossgrain"));
    command.args(&case.arguments).current_dir(place.path(".")).env_remove("CROSSGRAIN_ISA");
    command.env("CROSSGRAIN_WISDOM", "no-wisdom-here.json").stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(File::create(place.path("stdout")).unwrap());
    let _terminal = match case.given {
        Given::File => None,
        Given::Descriptor(0) => {
            command.stdin(File::open(place.path("passphrase")).unwrap());
            None
        }
        Given::Descriptor(number) => {
            let file = File::open(place.path("passphrase")).unwrap();
            // SAFETY: `dup2` may be called between fork and exec.
            unsafe {
                command.pre_exec(move || checked(libc::dup2(file.as_raw_fd(), number).into()).map(drop))
            };
            None
        }
        Given::Typed => Some(typed(&mut command)?),
    };
    let look = |pid| {
        let mut secrets = case.secrets.clone();
        for name in case.secret_files {
            let digits = String::from_utf8(place.read(name)).unwrap();
            let digits = digits.trim_end();
            let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            secrets.push((format!("{name} in hex"), digits.as_bytes().to_vec()));
            secrets.push(((*name).to_owned(), (0..digits.len()).step_by(2).map(byte).collect()));
        }
        found(pid, &secrets)
    };
    let (found, code) = traced(command, look)?;
    assert_eq!(
        code,
        0,
        "{:?} {:?}: {}",
        case.arguments,
        case.given,
        String::from_utf8_lossy(&place.read("stdout"))
    );
    Some(found)
}

/// Gives the program a terminal at which the passphrase is typed twice. Returns the other end.
fn typed(command: &mut Command) -> Option<File> {
    let opened = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).and_then(|keyboard| {
        grantpt(&keyboard)?;
        unlockpt(&keyboard)?;
        let name = ptsname(&keyboard, Vec::new())?;
        Ok((File::from(keyboard), name.into_string().unwrap()))
    });
    let Ok((mut keyboard, name)) = opened else {
        println!("skipped: a passphrase that is typed (there is no terminal)");
        return None;
    };
    let screen = File::options().read(true).write(true).open(name).unwrap();
    keyboard.write_all(format!("{PASSPHRASE}\n{PASSPHRASE}\n").as_bytes()).unwrap();
    let attach = move || {
        // SAFETY: two system calls that do not use memory of this process.
        unsafe {
            checked(libc::setsid().into())?;
            checked(libc::ioctl(screen.as_raw_fd(), libc::TIOCSCTTY, 0).into()).map(drop)
        }
    };
    // SAFETY: the closure allocates nothing.
    unsafe { command.pre_exec(attach) };
    Some(keyboard)
}

/// A key as bytes and in hex.
fn of_key(bytes: &[u8]) -> Vec<Named> {
    vec![("key".to_owned(), bytes.to_vec()), ("key in hex".to_owned(), hex(bytes).into_bytes())]
}

/// The key derived from a file's header and the passphrase.
fn of_file(place: &Place, name: &str) -> Named {
    let header = Header::read(&mut &place.read(name)[..]).unwrap();
    let key = header.input_key(Secret::Passphrase(PASSPHRASE.as_bytes()), &Limits::default()).unwrap();
    ("derived key".to_owned(), key.to_vec())
}

/// The cases for a place with keys, a passphrase, and files encrypted under them.
fn cases(place: &Place) -> Vec<Case> {
    let passphrase: Named = ("passphrase".to_owned(), PASSPHRASE.as_bytes().to_vec());
    let by_key = of_key(&painted(32, 7));
    let by_passphrase = [passphrase.clone(), of_file(place, "locked")];
    let mut cases = Vec::new();
    for key in ["key", "key.raw"] {
        for line in [
            "encrypt in",
            "decrypt sealed",
            "verify sealed",
            "decrypt --range 10..20 sealed",
            "decrypt sealed -o back --resume --force",
        ] {
            cases.push(case(&format!("{line} --key-file {key}"), Given::File, &by_key));
        }
        for mode in ["ctr", "cbc", "gcm", "ocb", "ccm", "eax", "siv", "gcm-siv", "ecb"] {
            let iv = match mode {
                "ecb" => "",
                "ctr" | "cbc" => " --iv 000102030405060708090a0b0c0d0e0f",
                _ => " --iv 000102030405060708090a0b",
            };
            let (cipher, key) = if mode == "siv" { ("aes-128", key) } else { ("aes-256", key) };
            let line = format!("raw --cipher {cipher} --mode {mode}{iv} --key-file {key} in");
            cases.push(case(&line, Given::File, &by_key));
        }
    }
    let ways = [
        ("--passphrase-file passphrase", Given::File),
        ("--passphrase-fd 0", Given::Descriptor(0)),
        ("--passphrase-fd 9", Given::Descriptor(9)),
        ("--passphrase", Given::Typed),
    ];
    for (way, given) in ways {
        for line in ["decrypt locked", "verify locked", "decrypt --keep-partial locked -o back2 --force"] {
            cases.push(case(&format!("{line} {way}"), given, &by_passphrase));
        }
        let line = format!("encrypt --kdf-memory 1 in -o new --force {way}");
        cases.push(case(&line, given, std::slice::from_ref(&passphrase)));
    }
    let made = |line: &str, name| Case { secret_files: name, ..case(line, Given::File, &[]) };
    cases.push(made("keygen -o made --force", &["made"]));
    cases.push(made("keygen", &["stdout"]));
    let searched = [&by_passphrase[..1], &by_key[..]].concat();
    cases.push(case("search --file locked --words words", Given::File, &searched[..1]));
    cases.push(case("search --file locked --words words --json -o hits", Given::File, &searched[..1]));
    cases.push(case("search --file sealed --words keys --form hex --session s", Given::File, &searched[1..]));
    cases
}

fn place() -> Place {
    let place = Place::with(&painted(17 * 1024, 3));
    let key = painted(32, 7);
    place.write("key", hex(&key).as_bytes());
    place.write("key.raw", &key);
    place.write("passphrase", format!("{PASSPHRASE}\n").as_bytes());
    place.write("words", format!("first\n{PASSPHRASE}\nlast\n").as_bytes());
    place.write("keys", format!("{}\n{}\n", hex(&painted(32, 8)), hex(&key)).as_bytes());
    place.run(&["encrypt", "--key-file", "key", "in", "-o", "sealed"]).printed();
    place
        .run(&["encrypt", "--passphrase-file", "passphrase", "--kdf-memory", "1", "in", "-o", "locked"])
        .printed();
    place
}

#[test]
fn no_secret_is_left_in_memory_at_exit() {
    let place = place();
    // Control: an argument is in the program's stack, so the scanner must find it.
    let key = ("argument".to_owned(), hex(&painted(32, 9)).into_bytes());
    let line = format!("raw --cipher aes-256 --mode ecb in --key {}", hex(&painted(32, 9)));
    let Some(planted) = run(&place, &case(&line, Given::File, &[key])) else { return };
    assert!(!planted.is_empty(), "an argument is not found");
    let mut faults = Vec::new();
    let only = std::env::var("CROSSGRAIN_CASES").unwrap_or_default();
    let is_asked = |case: &Case| case.arguments.join(" ").contains(&only);
    for case in cases(&place).into_iter().filter(is_asked) {
        // Leftovers depend on thread timing.
        for _ in 0..3 {
            for name in ["s.session", "s.found", "hits"] {
                let _ = fs::remove_file(place.path(name));
            }
            let found = run(&place, &case).unwrap_or_default();
            if !found.is_empty() {
                faults.push(format!("{}, {:?}: {}", case.arguments.join(" "), case.given, found.join("; ")));
                break;
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
