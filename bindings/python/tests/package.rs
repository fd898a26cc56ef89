//! The tests of the package for Python (`python_tests/`), on the module that cargo has just built.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

#[test]
fn the_package_for_python_passes_its_own_tests() {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let version = "import sys; sys.exit(sys.version_info < (3, 9))";
    if !Command::new(&python).args(["-c", version]).status().is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: there is no Python 3.9, so the package for it is not tested");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = std::env::current_exe().unwrap();
    let module = format!("{}_ephor{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let module = built.with_file_name(module);
    let dir = tempfile::tempdir().unwrap();
    let package = dir.path().join("ephor");
    std::fs::create_dir(&package).unwrap();
    std::fs::copy(root.join("ephor/__init__.py"), package.join("__init__.py")).unwrap();
    let suffix = if cfg!(windows) { "pyd" } else { "so" };
    std::fs::copy(&module, package.join(format!("_ephor.{suffix}"))).unwrap();
    let mut tests = Command::new(python);
    tests.args(["-m", "unittest", "discover", "-s"]).arg(root.join("python_tests"));
    // The folder that Python looks into first has the package with the module, not the sources.
    let output = tests.current_dir(dir.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text.contains("Ran 8 tests"), "{text}");
}
