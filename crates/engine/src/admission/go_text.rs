//! Values of CEL as Go's `fmt` prints them, in the messages of merges.
//!
//! In: a value. Out: its text by `%v` ([`shown`]) or `%#v` ([`native_syntax`]). What an expression
//! returns is printed as its own Go value; what is inside of lists and maps is still a value of
//! CEL, which prints itself in another way. Addresses in memory differ from run to run, they are
//! zeros here. Measured on kube-apiserver 1.36.3.

use std::net::IpAddr;

use ephor_value::print::{display, go_syntax};
use ephor_value::quote::quote;
use ephor_value::semver::Version;
use ephor_value::{Object, Str, Value, stack};

/// Where a value stands in memory.
const ADDRESS: &str = "0xc000000000";

/// A value's own Go value by `%v`.
pub(super) fn shown(v: &Value) -> String {
    stack::deep(|| match v {
        Value::Null => "NULL_VALUE".into(),
        Value::List(items) => format!("[{}]", joined(items.iter().map(inside), " ")),
        Value::Map(m) => native_map(m.iter().map(|(k, v)| (k.to_string(), v))),
        Value::Object(o) => match &**o {
            Object::Optional(Some(inner)) => shown(inner),
            Object::Optional(None) => "<nil>".into(),
            Object::Keyed(all) => native_map(all.iter().map(|(k, v)| (inside(k), v))),
            Object::Struct(_, fields) => native_map(fields.iter().map(|(k, v)| (k.to_string(), v))),
            _ => inside(v),
        },
        other => inside(other),
    })
}

/// A Go map: sorted by its keys.
fn native_map<'v>(entries: impl Iterator<Item = (String, &'v Value)>) -> String {
    let mut entries: Vec<String> = entries.map(|(k, v)| format!("{k}:{}", inside(v))).collect();
    entries.sort_unstable();
    format!("map[{}]", entries.join(" "))
}

/// A value of CEL by `%v`.
fn inside(v: &Value) -> String {
    let map = |entries: &mut dyn Iterator<Item = (String, &Value)>| {
        let mut entries: Vec<String> = entries.map(|(k, v)| format!("{k}: {}", inside(v))).collect();
        entries.sort_unstable();
        format!("{{{}}}", entries.join(", "))
    };
    stack::deep(|| match v {
        Value::Null => "0".into(),
        Value::List(items) => format!("[{}]", joined(items.iter().map(inside), ", ")),
        Value::Map(m) => map(&mut m.iter().map(|(k, v)| (k.to_string(), v))),
        Value::Bytes(bytes) => format!("[{}]", joined(bytes.iter().map(u8::to_string), " ")),
        Value::Timestamp(time) => time.go_text(),
        Value::Duration(nanos) => ephor_value::duration::format(*nanos),
        Value::Object(o) => match &**o {
            Object::Optional(Some(inner)) => format!("optional({})", inside(inner)),
            Object::Optional(None) => "optional.none()".into(),
            Object::Type(name) | Object::Url(name) => name.to_string(),
            Object::Struct(..) => ADDRESS.into(),
            Object::Keyed(all) => map(&mut all.iter().map(|(k, v)| (inside(k), v))),
            Object::Quantity(quantity) => quantity.to_string(),
            Object::Ip(ip) => ip.to_string(),
            Object::Cidr(ip, length) => format!("{ip}/{length}"),
            Object::Semver(version) => version.to_string(),
            _ => v.cel_type().to_string(),
        },
        other => display(other),
    })
}

/// A value's own Go value by `%#v`.
pub(super) fn native_syntax(v: &Value) -> String {
    match v {
        Value::List(items) => format!("[]ref.Val{{{}}}", joined(items.iter().map(syntax), ", ")),
        Value::Map(m) => {
            let entry = |(k, v): (&Str, &Value)| format!("{}:{}", quote(k), syntax(v));
            format!("map[ref.Val]ref.Val{{{}}}", joined(m.sorted().into_iter().map(entry), ", "))
        }
        Value::Bytes(bytes) => format!("[]uint8{{{}}}", hex(bytes)),
        Value::Duration(nanos) => nanos.to_string(),
        Value::Object(o) => match &**o {
            Object::Keyed(all) => {
                let mut entries: Vec<String> =
                    all.iter().map(|(k, v)| format!("{}:{}", syntax(k), syntax(v))).collect();
                entries.sort_unstable();
                format!("map[ref.Val]ref.Val{{{}}}", entries.join(", "))
            }
            Object::Quantity(_) => pointer("resource.Quantity"),
            Object::Url(_) => pointer("url.URL"),
            Object::Ip(ip) => address(*ip),
            Object::Cidr(ip, length) => prefix(*ip, *length),
            Object::Semver(version) => semver(version),
            _ => syntax(v),
        },
        other => syntax(other),
    }
}

/// A value of CEL by `%#v`.
fn syntax(v: &Value) -> String {
    match v {
        Value::Null => "0".into(),
        Value::List(_) => pointer("types.baseList"),
        Value::Map(_) => pointer("types.baseMap"),
        Value::UInt(u) => format!("0x{u:x}"),
        Value::Bytes(bytes) => format!("types.Bytes{{{}}}", hex(bytes)),
        Value::Timestamp(time) => time.go_syntax(),
        Value::Duration(nanos) => format!("types.Duration{{Duration:{nanos}}}"),
        Value::Object(o) => match &**o {
            Object::Optional(_) => pointer("types.Optional"),
            Object::Type(_) => pointer("types.Type"),
            Object::Keyed(_) => pointer("types.baseMap"),
            Object::Quantity(_) => format!("cel.Quantity{{Quantity:{}}}", native_syntax(v)),
            Object::Url(_) => format!("cel.URL{{URL:{}}}", native_syntax(v)),
            Object::Ip(_) => format!("cel.IP{{Addr:{}}}", native_syntax(v)),
            Object::Cidr(..) => format!("cel.CIDR{{Prefix:{}}}", native_syntax(v)),
            Object::Semver(_) => format!("cel.Semver{{Version:{}}}", native_syntax(v)),
            Object::Struct(name, _) if &**name == "JSONPatch" => pointer("mutation.JSONPatchVal"),
            Object::Struct(..) => pointer("dynamic.ObjectVal"),
            _ => v.cel_type().to_string(),
        },
        other => go_syntax(other),
    }
}

fn joined(all: impl Iterator<Item = String>, separator: &str) -> String {
    all.collect::<Vec<_>>().join(separator)
}

fn pointer(to: &str) -> String {
    format!("(*{to})({ADDRESS})")
}

fn hex(bytes: &[u8]) -> String {
    joined(bytes.iter().map(|byte| format!("{byte:#x}")), ", ")
}

fn address(ip: IpAddr) -> String {
    let bits = match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
        IpAddr::V6(ip) => ip.to_bits(),
    };
    let (high, low) = (bits >> 64, bits & u128::from(u64::MAX));
    let detail = pointer("netip.addrDetail");
    format!(
        "netip.Addr{{addr:netip.uint128{{hi:{high:#x}, lo:{low:#x}}}, \
         z:unique.Handle[net/netip.addrDetail]{{value:{detail}}}}}"
    )
}

fn prefix(ip: IpAddr, length: u8) -> String {
    format!("netip.Prefix{{ip:{}, bitsPlusOne:{:#x}}}", address(ip), u16::from(length) + 1)
}

fn semver(version: &Version) -> String {
    let text = version.to_string();
    let (text, build) = text.split_once('+').unwrap_or((&text, ""));
    let pre = text.split_once('-').map_or("", |(_, pre)| pre);
    let list = |of: &str, parts: &str, part: &dyn Fn(&str) -> String| match parts {
        "" => format!("[]{of}(nil)"),
        parts => format!("[]{of}{{{}}}", joined(parts.split('.').map(part), ", ")),
    };
    let pre = list("semver.PRVersion", pre, &|part| {
        let number = part.parse::<u64>().ok();
        let word = if number.is_some() { "" } else { part };
        let (value, is_number) = (number.unwrap_or_default(), number.is_some());
        format!("semver.PRVersion{{VersionStr:{}, VersionNum:{value:#x}, IsNum:{is_number}}}", quote(word))
    });
    let build = list("string", build, &quote);
    let [major, minor, patch] = version.numbers();
    format!(
        "semver.Version{{Major:{major:#x}, Minor:{minor:#x}, Patch:{patch:#x}, Pre:{pre}, Build:{build}}}"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn object(o: Object) -> Value {
        Value::object(o)
    }

    #[test]
    fn what_is_inside_of_a_list_prints_itself_as_a_value_of_cel() {
        let list = |v: Value| Value::list(vec![v]);
        for (inner, seen) in [
            (Value::Null, "[0]"),
            (Value::optional(Some(Value::Int(1))), "[optional(1)]"),
            (Value::optional(None), "[optional.none()]"),
            (Value::list(vec![Value::Int(1), Value::Int(2)]), "[[1, 2]]"),
            (Value::map([("a", Value::Int(1))]), "[{a: 1}]"),
            (Value::Bytes(vec![97].into()), "[[97]]"),
            (object(Object::Type("int".into())), "[int]"),
        ] {
            assert_eq!(shown(&list(inner)), seen);
        }
        assert_eq!(shown(&Value::map([("p", Value::Null)])), "map[p:0]");
        assert_eq!(shown(&Value::Null), "NULL_VALUE");
    }

    #[test]
    fn values_of_libraries_show_their_go_structs() {
        let one = object(Object::Semver(Version::parse("1.2.3-rc.1+b").unwrap()));
        assert_eq!(
            native_syntax(&Value::list(vec![one])),
            "[]ref.Val{cel.Semver{Version:semver.Version{Major:0x1, Minor:0x2, Patch:0x3, \
             Pre:[]semver.PRVersion{semver.PRVersion{VersionStr:\"rc\", VersionNum:0x0, IsNum:false}, \
             semver.PRVersion{VersionStr:\"\", VersionNum:0x1, IsNum:true}}, Build:[]string{\"b\"}}}}"
        );
        let network = object(Object::Cidr("10.0.0.0".parse().unwrap(), 8));
        assert_eq!(
            native_syntax(&network),
            "netip.Prefix{ip:netip.Addr{addr:netip.uint128{hi:0x0, lo:0xffff0a000000}, \
             z:unique.Handle[net/netip.addrDetail]{value:(*netip.addrDetail)(0xc000000000)}}, \
             bitsPlusOne:0x9}"
        );
    }
}
