//! Compiles every `*.c` file of the folder `variants`, one congestion control per file, and lists
//! them for Rust. To add a variant, add a file.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let sources = folder.join("variants");
    let names = variants(&sources);

    let mut build = cc::Build::new();
    build
        .std("c11")
        .opt_level(2)
        .include(folder.join("include"))
        .flag("-fno-strict-aliasing")
        .flag("-fno-builtin")
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Wno-unused-parameter");
    for name in &names {
        build.file(sources.join(format!("{name}.c")));
    }
    build.file(folder.join("src/layout.c")).file(folder.join("tests/probe.c")).file(recipe(&folder, &out));
    build.compile("bentpipe_congestion");

    fs::write(out.join("variants.rs"), list(&folder, &names)).expect("cargo's folder can be written");
    println!("cargo::rerun-if-changed={}", folder.display());
}

/// Returns the names of the C files, in alphabetical order. Each must register itself under its own
/// name.
fn variants(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("this folder can be read")
        .map(|entry| entry.expect("its entries too").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .map(|path| {
            let name = path.file_stem().expect("it has an extension").to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).expect("a C file is UTF-8 text");
            assert!(
                text.contains(&format!("BP_VARIANT({name},")),
                "variants/{name}.c must end with BP_VARIANT({name}, ...): a variant has its file's name"
            );
            name
        })
        .collect();
    names.sort();
    names
}

/// Extracts the recipe's example for a test: its C file, whose path is returned, and `recipe.rs`,
/// the lines of its test.
fn recipe(folder: &Path, out: &Path) -> PathBuf {
    let page = folder.join("../../docs/congestion-recipe.md");
    println!("cargo::rerun-if-changed={}", page.display());
    let text = fs::read_to_string(&page).expect("the recipe is there");
    let block = |language: &str| {
        let (_, rest) = text.split_once(&format!("```{language}\n")).expect("the recipe has such a block");
        rest.split_once("```").expect("the block ends").0
    };
    let file = out.join("aimd.c");
    fs::write(&file, block("c")).expect("cargo's folder can be written");
    fs::write(out.join("recipe.rs"), format!("{{\n{}}}\n", block("rust")))
        .expect("cargo's folder can be written");
    file
}

/// Returns Rust code that declares the C tables and lists their files.
fn list(folder: &Path, names: &[String]) -> String {
    let mut text = String::from("unsafe extern \"C\" {\n");
    for name in names {
        writeln!(text, "    static bp_variant_{name}: RawVariant;").expect("a String takes all");
    }
    writeln!(text, "}}\n\nfn raw_variants() -> [&'static RawVariant; {}] {{", names.len())
        .expect("a String takes all");
    text.push_str(
        "    // SAFETY: each is a constant of the C file of that name, of the type that layout.c shows.\n",
    );
    text.push_str("    unsafe { [");
    for name in names {
        write!(text, "&bp_variant_{name}, ").expect("a String takes all");
    }
    text.push_str("] }\n}\n\n/// The text of each file.\nstatic FILES: &[&str] = &[\n");
    for name in names {
        writeln!(
            text,
            "    include_str!({:?}),",
            folder.join(format!("variants/{name}.c")).display().to_string()
        )
        .expect("a String takes all");
    }
    text.push_str("];\n\n/// The headers, by their paths, for variants that are compiled later.\npub static HEADERS: &[(&str, &str)] = &[\n");
    let include = folder.join("include");
    for path in headers(&include) {
        let full = include.join(&path).display().to_string();
        writeln!(text, "    ({path:?}, include_str!({full:?})),").expect("a String takes all");
    }
    text.push_str("];\n");
    text
}

/// Returns the paths of the headers below the folder, in alphabetical order.
fn headers(folder: &Path) -> Vec<String> {
    let within = |below: &str| {
        let entries = fs::read_dir(folder.join(below)).expect("this folder can be read");
        let names =
            entries.map(|entry| entry.expect("its entries too").file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(".h")).map(|name| format!("{below}{name}")).collect::<Vec<_>>()
    };
    let mut paths = [within(""), within("home/")].concat();
    paths.sort();
    paths
}
