//! Limits the memory of the module, so that a run that needs more fails with a message before the
//! browser ends the page.

/// Maximum size of the memory in bytes: 1 GiB.
const MAX_MEMORY: u64 = 1 << 30;

fn main() {
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("wasm32") {
        println!("cargo::rustc-link-arg-cdylib=--max-memory={MAX_MEMORY}");
    }
}
