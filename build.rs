//! The files of the page that `ephor play` serves, where they are built (`web/`, `npm run build`).

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What the page needs when the program answers it: no module, and no worker around it.
const FILES: [&str; 3] = ["index.html", "main.js", "page.css"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let built = root.join("web/dist");
    println!("cargo:rerun-if-changed=build.rs");
    // Of a file that is not there cargo would say each time that it changed; the build of the page
    // touches this program instead.
    for file in FILES.iter().map(|file| built.join(file)).filter(|file| file.is_file()) {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    let is_whole = FILES.iter().all(|file| built.join(file).is_file());
    let rows: Vec<String> = FILES.iter().filter(|_| is_whole).map(|file| row(&built, file)).collect();
    let text = format!("const PAGE_FILES: &[(&str, &[u8])] = &[\n{}];\n", rows.concat());
    fs::write(Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("page_files.rs"), text)
}

fn row(built: &Path, file: &str) -> String {
    format!("    ({file:?}, include_bytes!({:?})),\n", built.join(file).display().to_string())
}
