//! Generates a Rust table of the BPF objects in objects/congestion. `scripts/bpf` compiles the
//! objects from crates/congestion/variants/*.c.

use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("objects");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut objects: Vec<PathBuf> = fs::read_dir(folder.join("congestion"))
        .expect("the folder is in git")
        .map(|entry| entry.expect("its entries can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "o"))
        .collect();
    objects.sort();

    let mut text = format!("[(&str, &[u8]); {}] = [\n", objects.len());
    for path in &objects {
        let name = path.file_stem().expect("it has an extension").to_string_lossy();
        writeln!(text, "    ({name:?}, include_bytes!({:?})),", path.display().to_string())
            .expect("writing to a String cannot fail");
    }
    text.push(']');
    // `include!` cannot supply a constant's type, so the file contains the whole item.
    fs::write(
        out.join("objects.rs"),
        format!("/// The congestion controls, by name.\npub static CONGESTION: {text};\n"),
    )
    .expect("cargo's folder can be written");
    println!("cargo::rerun-if-changed={}", folder.display());
}
