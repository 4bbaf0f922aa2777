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

/// Returns the folders with the sources of this crate and of those of the workspace that it uses; of this crate alone
/// where it is packaged, when its version tells the others'.
fn folders(workspace: &Path) -> io::Result<Vec<PathBuf>> {
    if !workspace.join("Cargo.lock").is_file() {
        return Ok(vec!["src".into()]);
    }
    let mut crates = vec![workspace.join("board")];
    let mut at = 0;
    while at < crates.len() {
        let manifest = fs::read_to_string(crates[at].join("Cargo.toml"))?;
        let dependencies = manifest.split("\n[").find_map(|table| table.strip_prefix("dependencies]"));
        for line in dependencies.unwrap_or_default().lines() {
            let used = workspace.join(line.split(['.', ' ']).next().unwrap_or_default());
            if line.contains("workspace") && used.join("src").is_dir() && !crates.contains(&used) {
                crates.push(used);
            }
        }
        at += 1;
    }
    crates.sort();
    Ok(crates.into_iter().map(|used| used.join("src")).collect())
}

fn main() -> io::Result<()> {
    // Relative paths, by files: a copy of the sources with the same dates needs no second build.
    let workspace = Path::new("..");
    let mut read = Vec::new();
    for folder in folders(workspace)? {
        read.extend(sources(&folder)?);
    }
    read.extend(Some(workspace.join("Cargo.lock")).filter(|lock| lock.is_file()));
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(env::var("CARGO_PKG_VERSION").expect("cargo sets it").as_bytes());
    for path in read {
        println!("cargo::rerun-if-changed={}", path.display());
        hasher.update(&fs::read(&path)?);
    }
    println!("cargo::rustc-env=PORTBENCH_ENGINE_SOURCES={}", hasher.finalize());
    Ok(())
}
