//! Runs the program on files of a temporary folder.
#![allow(dead_code, clippy::expect_used)]

pub mod oci;
pub mod server;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A temporary folder with files.
pub struct Files {
    pub dir: tempfile::TempDir,
}

impl Files {
    pub fn new(files: &[(&str, &str)]) -> Files {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let all = Files { dir };
        for (name, text) in files {
            all.write(name, text.as_bytes());
        }
        all
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs `ephor` in the folder.
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::new(self.program(args).output().expect("the program starts"))
    }

    /// Runs `ephor` with a text on its standard input.
    pub fn run_on(&self, input: &str, args: &[&str]) -> Ran {
        let mut program = self.program(args);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.spawn().expect("the program starts");
        // A program that refuses its arguments does not read.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        Ran::new(child.wait_with_output().expect("the program ends"))
    }

    /// The program in the folder, which is also its home; no cluster and no proxy is set up.
    pub fn program(&self, args: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_ephor"));
        program.args(args).current_dir(self.dir.path()).env("HOME", self.dir.path());
        for name in
            ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        {
            program.env_remove(name);
        }
        program
    }
}

/// What the program printed.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn new(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Neither a panic nor a signal.
    pub fn ended_well(&self) -> bool {
        matches!(self.code, Some(0 | 1)) && !self.err.contains("panicked")
    }
}

/// A policy that wants a label on ConfigMaps.
pub const POLICY: &str = r#"apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: need-team
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate:
      message: label team is needed
      pattern: {metadata: {labels: {team: "?*"}}}
"#;

/// A ConfigMap without the label, and one with it.
pub const RESOURCES: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: good, namespace: web, labels: {team: a}}\n";
