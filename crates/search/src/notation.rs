//! Values in CEL's notation.

use ephor_value::{Object, Value, duration};

/// A value as the language writes it; what has no literal is shown as the call that makes it.
pub fn to_text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(i) => out.push_str(&i.to_string()),
        Value::UInt(u) => out.push_str(&format!("{u}u")),
        Value::Float(f) => {
            let text = f.to_string();
            out.push_str(&text);
            if f.is_finite() && !text.contains(['.', 'e']) {
                out.push_str(".0");
            }
        }
        Value::Str(s) => out.push_str(&ephor_value::quote::quote(s)),
        Value::Bytes(b) => {
            out.push_str("b\"");
            b.iter().for_each(|b| out.push_str(&b.escape_ascii().to_string()));
            out.push('"');
        }
        Value::Duration(d) => out.push_str(&format!("duration(\"{}\")", duration::format(*d))),
        Value::Timestamp(t) => out.push_str(&format!("timestamp(\"{}\")", t.utc().rfc3339_nano())),
        Value::List(items) => sequence(out, ('[', ']'), items.iter(), write),
        Value::Map(m) => sequence(out, ('{', '}'), m.iter(), |(k, v), out| {
            out.push_str(&ephor_value::quote::quote(k));
            out.push_str(": ");
            write(v, out);
        }),
        Value::Object(o) => object(o, out),
    }
}

fn sequence<T>(
    out: &mut String,
    brackets: (char, char),
    items: impl Iterator<Item = T>,
    one: impl Fn(T, &mut String),
) {
    out.push(brackets.0);
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        one(item, out);
    }
    out.push(brackets.1);
}

fn object(o: &Object, out: &mut String) {
    let text = match o {
        Object::Optional(None) => "optional.none()".into(),
        Object::Optional(Some(v)) => format!("optional.of({})", to_text(v)),
        Object::Type(name) => name.to_string(),
        Object::Invalid(text) => format!("<{text}>"),
        Object::Keyed(entries) => {
            return sequence(out, ('{', '}'), entries.iter(), |(k, v), out| {
                write(k, out);
                out.push_str(": ");
                write(v, out);
            });
        }
        Object::Struct(name, fields) => {
            out.push_str(name);
            return sequence(out, ('{', '}'), fields.iter(), |(k, v), out| {
                out.push_str(&format!("{k}: "));
                write(v, out);
            });
        }
        Object::Quantity(q) => format!("quantity(\"{q}\")"),
        Object::Url(text) => format!("url(\"{text}\")"),
        Object::Ip(ip) => format!("ip(\"{ip}\")"),
        Object::Cidr(ip, bits) => format!("cidr(\"{ip}/{bits}\")"),
        Object::Semver(v) => format!("semver(\"{v}\")"),
        Object::Format(name) => format!("<format {name}>"),
        Object::Check(_) | Object::Decision(_) => format!("<{}>", o.type_name()),
    };
    out.push_str(&text);
}
