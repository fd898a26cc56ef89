//! Any bytes as a policy file and as a resource file: loading must end, without a panic.
#![no_main]
use ephor_document::ResourceOptions;
use ephor_sources::files::SourceText;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = ephor_document::split::utf8(data) else { return };
    let source = SourceText { name: "f.yaml".into(), text: text.into() };
    let _ = ephor_policies::load::argument(std::slice::from_ref(&source));
    let _ = ephor_document::resources("f.yaml", text, ResourceOptions { float_numbers: true });
    let _ = ephor_document::json::parse(text);
});
