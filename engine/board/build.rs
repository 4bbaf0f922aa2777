//! Gives the crate a number for the sources that it is built from: a snapshot holds the state of exactly these.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Returns the sources in `folder` in a fixed order.
fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the folders with the sources of all crates of the workspace; of this crate alone where it is packaged, when
/// its version tells the others'.
fn folders(own: &Path) -> io::Result<Vec<PathBuf>> {
    let workspace = own.join("..");
    if !workspace.join("Cargo.lock").is_file() {
        return Ok(vec![own.join("src")]);
    }
    let mut folders = Vec::new();
    for entry in fs::read_dir(workspace)? {
        let folder = entry?.path().join("src");
        if folder.is_dir() {
            folders.push(folder);
        }
    }
    folders.sort();
    Ok(folders)
}

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(env::var("CARGO_PKG_VERSION").expect("cargo sets it").as_bytes());
    for folder in folders(&own)? {
        println!("cargo::rerun-if-changed={}", folder.display());
        for path in sources(&folder)? {
            hasher.update(&fs::read(&path)?);
        }
    }
    let lock = own.join("../Cargo.lock");
    if let Ok(lock) = fs::read(&lock) {
        println!("cargo::rerun-if-changed={}", own.join("../Cargo.lock").display());
        hasher.update(&lock);
    }
    println!("cargo::rustc-env=PORTBENCH_ENGINE_SOURCES={}", hasher.finalize());
    Ok(())
}
