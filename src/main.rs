//! The `ephor` program: a thin shell over the library.
#![forbid(unsafe_code)]

use std::io::Write;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dir = args.get(1).cloned().unwrap_or_default();
    let only = args.get(2).cloned().unwrap_or_default();
    let mut out = args.get(3).map(|f| std::fs::File::create(f).unwrap());
    ephor::conformance::run_all(std::path::Path::new(&dir), &only, |r| {
        println!("{} {}/{}", r.name, r.passed, r.total);
        if let Some(o) = &mut out {
            for f in &r.failures {
                let v = ephor::conformance::object([
                    ("suite", ephor::value::Value::from(&*r.name)),
                    ("id", ephor::value::Value::from(&*f.id)),
                    ("expected", f.expected.clone()),
                    ("got", f.got.clone()),
                ]);
                writeln!(o, "{}", ephor::value::print::json(&v)).unwrap();
            }
        }
    })
    .unwrap();
}
