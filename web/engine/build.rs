//! The stack of the module: texts nest as deep as everywhere else.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        println!("cargo:rustc-link-arg=-zstack-size={}", 16 << 20);
    }
}
