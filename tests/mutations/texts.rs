//! Changes to texts: expressions of JMESPath and CEL, patterns, schedules, quantities, durations,
//! versions.

use crate::random::Random;

/// Texts that are rarely written.
pub const ODD: [&str; 64] = [
    "",
    " ",
    "*",
    "?*",
    "!*",
    "a*b*c*d*e*f*g",
    "null",
    "true",
    "-0",
    "1e400",
    "1e-2147483649",
    "99999999999999999999",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "0.1e",
    "1Gi-",
    "1.5Gi-2e3",
    "1000000000000000000000E",
    "-1h",
    "2540400h10m10s999ms",
    "9223372036854775807ns",
    "1.2.3-rc.1+b",
    ">=1.0.0 <2.0.0 || !3.x",
    "~1.2 || ^0.0",
    "1-10",
    "10!-1",
    "*/0 * * * *",
    "0 0 31 2 *",
    "59 23 L 12 FRI#5",
    "@every 1ns",
    "0x1p-2",
    "$(./../name)",
    "$(./../../../../../..)",
    "{{}}",
    "{{ }}",
    "{{ @ }}",
    "{{@}}",
    "{{ request.object }}",
    "{{request.object.metadata.annotations}}{{request.object.metadata.annotations}}",
    "{{ {{ request.object.metadata.name }} }}",
    "\\{{ a }}",
    "{{- request.object.metadata.name }}",
    "{{ element }}",
    "{{ elementIndex }}",
    "{{ request.object.spec.containers[*].name | sort(@)[0] }}",
    "{{ to_number('x') }}",
    "{{ random('[a-z]{3}') }}",
    "{{ items(request.object, 'k', 'v') }}",
    "{{ parse_yaml('a: &a [*a]') }}",
    "{{ time_add('x', 'y') }}",
    "{{ divide(`1`, `0`) }}",
    "{{ request.object.spec.containers[?name == 'c'].image }}",
    "object.spec.containers.map(c, c.name)",
    "object.metadata.name.matches('(')",
    "variables.images",
    "[1, 2].map(x, x / 0)",
    "\u{0}",
    "\u{feff}a",
    "é\u{301}",
    "a.b/c~0~1",
    "../../../etc/passwd",
    "2020-13-45T99:99:99Z",
    "(((((((((((((((((((((((((((((((((((((a",
];

/// What may stand around an expression.
const AROUND: [(&str, &str); 16] = [
    ("(", ")"),
    ("[", "]"),
    ("!", ""),
    ("-", ""),
    ("{\"a\": ", "}"),
    ("to_string(", ")"),
    ("not_null(", ")"),
    ("sort(", ")"),
    ("[].", ""),
    ("&", ""),
    ("string(", ")"),
    ("size(", ")"),
    ("[1, 2].map(x, ", ")"),
    ("[1, 2].all(x, ", ")"),
    ("true ? ", " : false"),
    ("cel.bind(v, ", ", v)"),
];

/// What may stand between two expressions.
const BETWEEN: [&str; 14] =
    [" && ", " || ", " == ", " + ", " | ", ".", ", ", "-", " < ", " in ", " & ", "!-", "[?", " ? "];

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Words, numbers, texts in quotes, and single characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            c if is_word(c) => rest.find(|c| !is_word(c)),
            c @ ('"' | '\'' | '`') => rest[1..].find(c).map(|at| at + 2),
            c => Some(c.len_utf8()),
        };
        let (token, after) = rest.split_at(end.unwrap_or(rest.len()));
        all.push(token);
        rest = after;
    }
    all
}

/// A text with a change; `others` are texts of policies.
pub fn changed(text: &str, others: &[String], random: &mut Random) -> String {
    let mut all: Vec<String> = tokens(text).into_iter().map(str::to_owned).collect();
    if all.is_empty() {
        return (*random.of(&ODD)).to_owned();
    }
    let at = random.below(all.len());
    match random.below(13) {
        0 => {
            all.remove(at);
        }
        1 => {
            let token = all[at].clone();
            all.insert(at, token);
        }
        2 => {
            let other = random.below(all.len());
            all.swap(at, other);
        }
        3 => {
            let other = random.of(others);
            let token = tokens(other);
            if !token.is_empty() {
                all[at] = (*random.of(&token)).to_owned();
            }
        }
        4 => all[at] = (*random.of(&ODD)).to_owned(),
        5 => {
            let (before, behind) = *random.of(&AROUND);
            let times = [1, 2, 3, 30, 260][random.below(5)];
            all[at] = format!("{}{}{}", before.repeat(times), all[at], behind.repeat(times));
        }
        6 => {
            // The whole, so that types stay what they were more often.
            let (before, behind) = *random.of(&AROUND);
            return format!("{before}{text}{behind}");
        }
        7 => {
            let between = *random.of(&BETWEEN);
            let times = [1, 2, 8, 64][random.below(4)];
            return format!("{text}{}", format!("{between}{text}").repeat(times));
        }
        8 => return format!("{text}{}{}", random.of(&BETWEEN), random.of(others)),
        9 => {
            if let Some(number) = all.iter_mut().find(|t| t.bytes().all(|b| b.is_ascii_digit())) {
                *number =
                    ["0", "-1", "9223372036854775807", "1e30", "00", "0.0000000001"][random.below(6)].into();
            }
        }
        10 => all[at] = all[at].repeat(1 << random.below(12)),
        11 => all.truncate(at),
        _ => all[at] = format!("{{{{ {} }}}}", all[at]),
    }
    all.concat()
}
