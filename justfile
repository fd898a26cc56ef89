# Daily commands; `just` lists them. Each is one or two lines that can be typed as well.

[private]
default:
    @just --list

# What must pass before a change is proposed: all of it, as in CI.
ci:
    bash .ci/run

# What a change most often breaks: formatting, lints, pages, architecture, suites that this repository wrote. Five minutes.
quick:
    cargo fmt --all --check
    cargo clippy --locked --workspace --tests -- -D warnings
    cargo test --locked --test program -- architecture:: book:: commands:: dependencies:: layout:: prose:: reference:: unity:: words::
    cargo test --locked --test conformance own_suites
    cargo check --locked --lib --no-default-features

# Formatting and lints.
lint:
    cargo fmt --all --check
    cargo clippy --locked --workspace --all-targets -- -D warnings

# Writes the code as it is formatted.
fmt:
    cargo fmt --all

# Unit tests of a module, as `just unit functions::strings`.
unit name="":
    cargo test --locked --workspace --lib {{ name }}

# The files of `tests/` that are programs of their own (`Cargo.toml`); the others are modules of `program`.
programs := "allocations|bounds|cel_allocations|conformance|ir_round_trip|mutations|serve"

# One file of tests, as `just test jp` or `just test conformance -- --nocapture`.
test file *arguments:
    cargo test --locked --test {{ if file =~ "^(" + programs + ")$" { file } else { "program " + file + "::" } }} {{ arguments }}

# Recorded suites whose names start with this; failing cases go to target/failures.jsonl.
suites name="" folder="":
    cargo run --locked -- conformance {{ folder }} --suite '{{ name }}' --failures target/failures.jsonl

# Suites that this repository wrote.
own name="": (suites name "conformance")

# Brings public suites (docs/internals/conformance.md).
fetch *from:
    conformance/fetch.sh {{ from }}

# Pages that are generated from the program.
pages:
    EPHOR_WRITE_DOCS=1 cargo test --locked --test program -- reference:: pictures:: book:: ir_schema::

# Licences, advisories, second versions of crates.
deny:
    cargo deny --all-features check

# The book and the pages of the library.
book:
    mdbook build
    cargo doc --locked --workspace --no-deps --lib

# Fuzz targets for some seconds each (nightly, cargo-fuzz).
fuzz seconds="60" *targets:
    fuzz/run.sh {{ seconds }} {{ targets }}
