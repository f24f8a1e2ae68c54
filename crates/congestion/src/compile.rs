//! Compiles congestion controls at run time from C source in a scenario: into a shared object for
//! simulated connections, and with clang into a BPF object for connections of the kernel.
//!
//! `docs/congestion-recipe.md` describes the form of the source. The source is compiled with the
//! headers of this build.
//!
//! **Trust.** Compiled code runs in this process, with the rights of its user and without
//! confinement: it can read and change everything that the user can. Code is therefore refused
//! until [`allow`] is called, by the option `--allow-code` of the command line or by
//! `bentpipe.allow_code()` in Python. In the kernel, BPF's verifier confines the code.

use crate::{label, Compiled, HEADERS};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit of a compiler run. A congestion control takes well under a second.
const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum number of lines of a compiler's message in an error.
const LINES: usize = 12;

static ALLOWED: AtomicBool = AtomicBool::new(false);

/// Allows or forbids compiling and running code of scenarios, with the rights of this process. The
/// default is forbidden.
pub fn allow(allowed: bool) {
    ALLOWED.store(allowed, Ordering::Relaxed);
    crate::set_compiler(for_simulation);
}

/// Returns the reason for refusing code that is not allowed.
fn refusal() -> String {
    "is C source, which would run on this machine with your rights; allowed: the name of a congestion control, or any source \
     after `bentpipe --allow-code ...`, in Python bentpipe.allow_code()"
        .to_owned()
}

/// Compiles a congestion control for simulated connections.
fn for_simulation(source: &str) -> Result<Compiled, String> {
    let folder = prepared(source)?;
    let (file, object) = (format!("{}.c", label(source)), folder.path().join("variant.so"));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command.current_dir(folder.path()).args([
        "-std=c11",
        "-O2",
        "-shared",
        "-fPIC",
        "-fno-strict-aliasing",
        "-fno-builtin",
        "-Wall",
        "-Wno-unused-parameter",
        "-I.",
        &file,
        "-o",
        "variant.so",
    ]);
    run(
        command,
        &compiler,
        "install a C compiler, such as gcc, or name one with the environment variable CC",
    )?;
    Compiled::load(&object, label(source))
}

/// Compiles a congestion control for the kernel and returns a BPF object.
///
/// # Errors
/// Returns an error if code is not allowed, if clang is missing, or if clang refuses the source.
pub fn for_kernel(source: &str) -> Result<Vec<u8>, String> {
    let folder = prepared(source)?;
    let file = format!("{}.c", label(source));
    let compiler = std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let mut command = Command::new(&compiler);
    command.current_dir(folder.path()).args([
        "-target",
        "bpf",
        "-mcpu=v3",
        "-g",
        "-O2",
        "-std=gnu11",
        "-fno-builtin",
        "-Wall",
        "-I.",
        "-c",
        &file,
        "-o",
        "variant.o",
    ]);
    run(command, &compiler, "install clang and libbpf's headers (on Debian: apt install clang libbpf-dev)")?;
    fs::read(folder.path().join("variant.o")).map_err(|error| format!("its object cannot be read: {error}"))
}

/// Returns a folder with the source and all headers. The folder is removed on drop.
fn prepared(source: &str) -> Result<Folder, String> {
    if !ALLOWED.load(Ordering::Relaxed) {
        return Err(refusal());
    }
    let name = label(source);
    if name.is_empty()
        || !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    {
        return Err("does not end with BP_VARIANT(name, ...), with a name of a-z, 0-9 and _".to_owned());
    }
    let folder = Folder::new().map_err(unwritable)?;
    for (name, text) in HEADERS.iter().copied().chain([(&*format!("{name}.c"), source)]) {
        write(&folder.path().join(name), text)?;
    }
    Ok(folder)
}

/// A new folder for temporary files, accessible only to this user and removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Folder> {
        use std::os::unix::fs::DirBuilderExt;

        static NUMBER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path =
                std::env::temp_dir().join(format!("bentpipe-congestion-{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Folder(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text)).map_err(unwritable)
}

fn unwritable(error: std::io::Error) -> String {
    format!("cannot be compiled, as no folder for it can be written: {error}")
}

/// Runs a compiler to its end, or stops it at the time limit.
#[allow(clippy::disallowed_methods, reason = "a compiler takes real time")]
fn run(mut command: Command, compiler: &str, instead: &str) -> Result<(), String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot be compiled, as {compiler} cannot be run ({error}); {instead}"))?;
    let mut said = child.stderr.take().expect("it is piped");
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = said.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(10)),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "cannot be compiled: {compiler} did not end within {} s",
                    PATIENCE.as_secs()
                ));
            }
        }
    };
    let text = reader.join().unwrap_or_default();
    if status.success() {
        return Ok(());
    }
    let lines: Vec<&str> = text.lines().take(LINES).collect();
    Err(format!("does not compile ({compiler}):\n{}", lines.join("\n")))
}
