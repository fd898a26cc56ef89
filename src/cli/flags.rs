//! Flags: a table per command drives parsing, help and completion.
//!
//! POSIX and GNU style: `--flag value`, `--flag=value`, `-f value`, `-fvalue`, grouped short
//! switches, `--` ends flags, flags and arguments mix. Error texts are Kyverno's.

use std::collections::HashMap;

use ephor_value::suggest::did_you_mean;

/// What a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing; `--flag=false` switches it off.
    Switch,
    /// A text.
    Text,
    /// A whole number.
    Number,
    /// A duration.
    Duration,
    /// A comma separated record; repeated use adds.
    List,
    /// A text as it is; repeated use adds.
    Array,
}

/// A flag of a command.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Name behind `--`.
    pub long: &'static str,
    /// Letter behind `-`; `'\0'` for none.
    pub short: char,
    /// What it takes.
    pub takes: Takes,
    /// Value when it is not given.
    pub default: &'static str,
    /// The flag whose value this one sets; `""` for none.
    pub alias_of: &'static str,
    /// One line of help.
    pub help: &'static str,
}

/// A flag with neither letter nor default.
pub const fn flag(long: &'static str, takes: Takes, help: &'static str) -> Flag {
    Flag { long, short: '\0', takes, default: "", alias_of: "", help }
}

impl Flag {
    /// With a letter.
    pub const fn short(mut self, short: char) -> Flag {
        self.short = short;
        self
    }

    /// With a default.
    pub const fn default(mut self, default: &'static str) -> Flag {
        self.default = default;
        self
    }

    /// As another spelling of `long`.
    pub const fn alias(mut self, long: &'static str) -> Flag {
        self.alias_of = long;
        self
    }

    fn display_name(&self) -> String {
        match self.short {
            '\0' => format!("--{}", self.long),
            c => format!("-{c}, --{}", self.long),
        }
    }
}

/// Flags that every command accepts; only `-v` and `--help` act.
pub const GLOBAL: &[Flag] = &[
    flag("help", Takes::Switch, "help for the command").short('h'),
    flag("v", Takes::Text, "verbosity of the log").short('v'),
    flag("add_dir_header", Takes::Switch, "accepted, no effect"),
    flag("alsologtostderr", Takes::Switch, "accepted, no effect"),
    flag("alsologtostderrthreshold", Takes::Text, "accepted, no effect"),
    flag("kubeconfig", Takes::Text, "kubeconfig file"),
    flag("legacy_stderr_threshold_behavior", Takes::Switch, "accepted, no effect"),
    flag("log_backtrace_at", Takes::Text, "accepted, no effect"),
    flag("log_dir", Takes::Text, "accepted, no effect"),
    flag("log_file", Takes::Text, "accepted, no effect"),
    flag("log_file_max_size", Takes::Text, "accepted, no effect"),
    flag("logtostderr", Takes::Switch, "accepted, no effect"),
    flag("one_output", Takes::Switch, "accepted, no effect"),
    flag("skip_headers", Takes::Switch, "accepted, no effect"),
    flag("skip_log_headers", Takes::Switch, "accepted, no effect"),
    flag("stderrthreshold", Takes::Text, "accepted, no effect"),
    flag("vmodule", Takes::Text, "accepted, no effect"),
];

/// Parsed flags and arguments.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    values: HashMap<&'static str, Vec<String>>,
    /// What is no flag, in order.
    pub arguments: Vec<String>,
}

impl Parsed {
    /// Whether a switch is on.
    pub fn on(&self, long: &str) -> bool {
        self.values.get(long).and_then(|v| v.last()).is_some_and(|v| v == "true")
    }

    /// The text of a flag, or its default.
    pub fn text(&self, long: &str) -> &str {
        self.values.get(long).and_then(|v| v.last()).map_or("", String::as_str)
    }

    /// All values of a list.
    pub fn list(&self, long: &str) -> &[String] {
        self.values.get(long).map_or(&[], Vec::as_slice)
    }

    /// The number of a flag.
    pub fn number(&self, long: &str) -> i64 {
        self.text(long).parse().unwrap_or(0)
    }

    /// Whether the flag was given at all.
    pub fn given(&self, long: &str) -> bool {
        self.values.contains_key(long)
    }
}

/// Parses a command's arguments.
///
/// # Errors
/// Kyverno's text: an unknown flag, a missing or a bad value.
pub fn parse(table: &[Flag], args: &[String]) -> Result<Parsed, String> {
    let mut parser = Parser { table, parsed: Parsed::default() };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg == "--" {
            parser.parsed.arguments.extend(rest.by_ref().cloned());
        } else if let Some(long) = arg.strip_prefix("--") {
            parser.long(long, &mut rest)?;
        } else if arg.len() > 1 && arg.starts_with('-') {
            parser.shorts(arg, &mut rest)?;
        } else {
            parser.parsed.arguments.push(arg.clone());
        }
    }
    let mut parsed = parser.parsed;
    for f in table.iter().chain(GLOBAL).filter(|f| !f.default.is_empty() && f.alias_of.is_empty()) {
        parsed.values.entry(f.long).or_insert_with(|| vec![f.default.to_string()]);
    }
    Ok(parsed)
}

struct Parser<'t> {
    table: &'t [Flag],
    parsed: Parsed,
}

impl Parser<'_> {
    fn find(&self, test: impl Fn(&Flag) -> bool) -> Option<Flag> {
        self.table.iter().chain(GLOBAL).find(|f| test(f)).copied()
    }

    fn long<'a>(&mut self, text: &str, rest: &mut impl Iterator<Item = &'a String>) -> Result<(), String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (text, None),
        };
        let Some(flag) = self.find(|f| f.long == name) else {
            return Err(self.unknown(name));
        };
        let value = match (value, flag.takes) {
            (Some(v), _) => v,
            (None, Takes::Switch) => "true".into(),
            (None, _) => rest.next().cloned().ok_or_else(|| format!("flag needs an argument: --{name}"))?,
        };
        self.add(flag, &value)
    }

    fn unknown(&self, name: &str) -> String {
        let all: Vec<&str> = self.table.iter().chain(GLOBAL).map(|f| f.long).collect();
        match did_you_mean(name, &all) {
            Some(close) => format!("unknown flag: --{name}\nhelp: did you mean `--{close}`?"),
            None => format!("unknown flag: --{name}"),
        }
    }

    fn shorts<'a>(&mut self, arg: &str, rest: &mut impl Iterator<Item = &'a String>) -> Result<(), String> {
        for (at, c) in arg.char_indices().skip(1) {
            let Some(flag) = self.find(|f| f.short == c) else {
                return Err(format!("unknown shorthand flag: '{c}' in {arg}"));
            };
            let after = arg.get(at + c.len_utf8()..).unwrap_or_default();
            if flag.takes == Takes::Switch && !after.starts_with('=') {
                self.add(flag, "true")?;
                continue;
            }
            let value = match after.strip_prefix('=').unwrap_or(after) {
                "" => {
                    rest.next().cloned().ok_or_else(|| format!("flag needs an argument: '{c}' in {arg}"))?
                }
                value => value.to_string(),
            };
            return self.add(flag, &value);
        }
        Ok(())
    }

    fn add(&mut self, flag: Flag, value: &str) -> Result<(), String> {
        let bad = |cause: String| {
            format!(
                "invalid argument {} for \"{}\" flag: {cause}",
                ephor_value::quote::quote(value),
                flag.display_name()
            )
        };
        let slot = if flag.alias_of.is_empty() { flag.long } else { flag.alias_of };
        let values = match flag.takes {
            Takes::List => csv(value).map_err(bad)?,
            Takes::Switch => match value {
                "1" | "t" | "T" | "TRUE" | "true" | "True" => vec!["true".into()],
                "0" | "f" | "F" | "FALSE" | "false" | "False" => vec!["false".into()],
                _ => return Err(bad(format!("strconv.ParseBool: parsing \"{value}\": invalid syntax"))),
            },
            Takes::Number => match value.parse::<i64>() {
                Ok(_) => vec![value.into()],
                Err(_) => return Err(bad(format!("strconv.ParseInt: parsing \"{value}\": invalid syntax"))),
            },
            Takes::Duration => {
                ephor_value::duration::parse(value).map_err(bad)?;
                vec![value.into()]
            }
            Takes::Text | Takes::Array => vec![value.into()],
        };
        self.parsed.values.entry(slot).or_default().extend(values);
        Ok(())
    }
}

/// The fields of one comma separated record.
fn csv(text: &str) -> Result<Vec<String>, String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut chars = text.char_indices().peekable();
    let mut quoted = false;
    let mut at_start = true;
    while let Some((at, c)) = chars.next() {
        match c {
            '"' if quoted => match chars.peek() {
                Some((_, '"')) => {
                    chars.next();
                    field.push('"');
                }
                Some((_, ',')) | None => quoted = false,
                Some(_) => {
                    return Err(format!(
                        "parse error on line 1, column {}: extraneous or missing \" in quoted-field",
                        at + 2
                    ));
                }
            },
            '"' if at_start => {
                quoted = true;
                at_start = false;
            }
            '"' => {
                return Err(format!("parse error on line 1, column {}: bare \" in non-quoted-field", at + 1));
            }
            ',' if !quoted => {
                fields.push(std::mem::take(&mut field));
                at_start = true;
            }
            c => {
                field.push(c);
                at_start = false;
            }
        }
    }
    if quoted {
        return Err(format!(
            "parse error on line 1, column {}: extraneous or missing \" in quoted-field",
            text.len() + 1
        ));
    }
    if !(text.is_empty()) {
        fields.push(field);
    }
    Ok(fields)
}

/// The help text of a flag table.
pub fn help(table: &[Flag]) -> String {
    let mut out = String::new();
    let width = table.iter().map(|f| f.long.len()).max().unwrap_or(0) + 10;
    for f in table.iter().filter(|f| f.alias_of.is_empty()) {
        let short = if f.short == '\0' { "    ".to_string() } else { format!("-{}, ", f.short) };
        let kind = match f.takes {
            Takes::Switch => "",
            Takes::Text => " string",
            Takes::Number => " int",
            Takes::Duration => " duration",
            Takes::List => " strings",
            Takes::Array => " text",
        };
        let name = format!("--{}{kind}", f.long);
        let default = if f.default.is_empty() { String::new() } else { format!(" (default {})", f.default) };
        out.push_str(&format!("  {short}{name:width$} {}{default}\n", f.help));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Flag] = &[
        flag("set", Takes::List, "").short('s'),
        flag("table", Takes::Switch, "").short('t'),
        flag("stdin", Takes::Switch, "").short('i'),
        flag("warn-exit-code", Takes::Number, "").default("0"),
        flag("resource", Takes::List, "").short('r'),
        flag("resources", Takes::List, "").alias("resource"),
    ];

    fn run(args: &[&str]) -> Result<Parsed, String> {
        parse(TABLE, &args.iter().map(|s| s.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn flags_and_arguments_mix() {
        let p = run(&["a", "-ti", "-r", "x,y", "--resources=z", "--", "-t"]).unwrap();
        assert_eq!(p.arguments, ["a", "-t"]);
        assert!(p.on("table") && p.on("stdin"));
        assert_eq!(p.list("resource"), ["x", "y", "z"]);
        assert_eq!(p.number("warn-exit-code"), 0);
    }

    #[test]
    fn bad_flags_are_reported_with_the_texts_of_kyverno() {
        let text = |args: &[&str]| run(args).unwrap_err();
        assert_eq!(text(&["--xx"]), "unknown flag: --xx");
        assert_eq!(text(&["-q"]), "unknown shorthand flag: 'q' in -q");
        assert_eq!(
            text(&["--warn-exit-code", "x"]),
            "invalid argument \"x\" for \"--warn-exit-code\" flag: strconv.ParseInt: parsing \"x\": invalid syntax"
        );
        assert_eq!(
            text(&["--set", "cm={\"a\":1}"]),
            "invalid argument \"cm={\\\"a\\\":1}\" for \"-s, --set\" flag: parse error on line 1, column 5: bare \" in non-quoted-field"
        );
    }
}
