//! Any bytes as what others sign and send: certificates, signatures in CMS, COSE and JWS, packed
//! layers. Reading must end, without a panic.
#![no_main]
use ephor_functions::{Arg, Context, call, cel, find};
use ephor_ir::expr::Known;
use ephor_value::Value;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let cx = Context::default();
    let der = |e: &[u8]| drop(ephor_x509::pem_all(&String::from_utf8_lossy(e)));
    der(data);
    let known = Known { one_form: true, member: false, prepared: false, walked: false };
    let bytes = Value::Bytes(data.into());
    for name in ["gzip.decompress", "x509.decode", "jwt.Decode", "base64.decode", "getEscapedPath", "url"] {
        let text = Value::from(&*String::from_utf8_lossy(data));
        for args in [vec![&bytes], vec![&text], vec![&text, &text]] {
            if let Some(function) = cel::find(name) {
                let _ = cel::call(function, &cel::Call { args: &args, known, cx: &cx });
            }
        }
    }
    use base64::Engine;
    let body = base64::engine::general_purpose::STANDARD.encode(data);
    for kind in ["CERTIFICATE", "CERTIFICATE REQUEST"] {
        let pem = Value::from(format!("-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n"));
        for name in ["x509_decode", "parse_json", "parse_yaml", "base64_decode"] {
            if let Some(function) = find(name) {
                let _ = call(function, &cx, &[Arg::Value(std::borrow::Cow::Borrowed(&pem))]);
            }
        }
    }
});
