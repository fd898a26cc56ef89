//! Packs the files of `policies/` into one compressed text, with a table of where each begins.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    // A checkout without symbolic links has the folder at the root of the repository alone.
    let linked = root.join("policies");
    let folder = if linked.is_dir() { linked } else { root.join("../../policies") };
    println!("cargo:rerun-if-changed=build.rs");
    let mut files = Vec::new();
    collect(&folder, &mut files)?;
    files.sort();
    let (mut text, mut rows) = (String::new(), String::new());
    for path in &files {
        let start = text.len();
        text.push_str(&fs::read_to_string(path)?);
        let names = path.strip_prefix(&folder).unwrap_or(path).iter().map(|name| name.to_string_lossy());
        let name = names.collect::<Vec<_>>().join("/");
        rows.push_str(&format!("    ({name:?}, {start}, {}),\n", text.len()));
    }
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text.as_bytes())?;
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("library.deflate"), packed.finish()?)?;
    fs::write(out.join("files.rs"), format!("const FILES: &[(&str, usize, usize)] = &[\n{rows}];\n"))
}

/// The YAML files of a folder and of those in it; cargo watches each folder for new files.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    Ok(())
}
