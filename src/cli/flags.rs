//! Forms of flags that are Kyverno's: comma separated records, switches that take a value, whole
//! numbers and durations of Go; and the environment variable of each flag.
//!
//! In: the commands as `clap` derives them, texts of values. Out: the same commands with these
//! forms, typed values, or the error of Go's parser. Kyverno reads its command line with
//! `spf13/pflag` 1.0, whose semantics these are.

use std::str::FromStr;

use clap::builder::{Str, StyledStr};
use clap::{ArgAction, Command};

use ephor_value::duration;
use ephor_value::environment::is_set;

/// The fields of one comma separated record, as Go's `encoding/csv` reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record(Vec<String>);

/// Why a text is no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A quoted field does not end with its quote.
    #[error("parse error on line 1, column {0}: extraneous or missing \" in quoted-field")]
    Quoted(usize),
    /// A quote inside of a field without quotes.
    #[error("parse error on line 1, column {0}: bare \" in non-quoted-field")]
    Bare(usize),
}

/// A text that Go's `strconv` refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("strconv.{function}: parsing {}: invalid syntax", ephor_value::quote::quote(text))]
pub struct SyntaxError {
    function: &'static str,
    text: String,
}

/// The fields of all records of a flag, in order.
pub fn fields(records: &[Record]) -> Vec<String> {
    records.iter().flat_map(|record| record.0.iter().cloned()).collect()
}

impl From<Vec<String>> for Record {
    fn from(fields: Vec<String>) -> Record {
        Record(fields)
    }
}

impl FromStr for Record {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Record, RecordError> {
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
                    Some(_) => return Err(RecordError::Quoted(at + 2)),
                },
                '"' if at_start => {
                    quoted = true;
                    at_start = false;
                }
                '"' => return Err(RecordError::Bare(at + 1)),
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
            return Err(RecordError::Quoted(text.len() + 1));
        }
        if !text.is_empty() {
            fields.push(field);
        }
        Ok(Record(fields))
    }
}

/// A whole number.
///
/// # Errors
/// It is none, in the words of Go.
pub fn whole(text: &str) -> Result<i64, SyntaxError> {
    text.parse().map_err(|_| SyntaxError { function: "ParseInt", text: text.into() })
}

/// A duration in nanoseconds.
///
/// # Errors
/// It is none, in the words of Go.
pub fn nanoseconds(text: &str) -> Result<i64, duration::DurationError> {
    duration::parse(text)
}

fn switch(text: &str) -> Result<bool, SyntaxError> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(SyntaxError { function: "ParseBool", text: text.into() }),
    }
}

/// The commands with flags as `pflag` reads them: switches take `=true` and `=false`, the value of
/// any other flag may begin with a dash.
pub fn with_forms_of_go(command: Command) -> Command {
    let command = command.mut_args(|arg| match arg.get_action() {
        ArgAction::SetTrue => {
            let default = arg.get_default_values().first().cloned();
            arg.action(ArgAction::Set)
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .default_value(default.unwrap_or_else(|| "false".into()).to_string_lossy().into_owned())
                .value_parser(switch)
        }
        ArgAction::Set | ArgAction::Append if !arg.is_positional() => arg.allow_hyphen_values(true),
        _ => arg,
    });
    command.mut_subcommands(with_forms_of_go)
}

/// The commands with an environment variable for each flag: `EPHOR_TEST_THREADS` for
/// `ephor test --threads`. The name of the command is part of it, because Kubernetes sets
/// `EPHOR_PORT` and the like in every pod of a namespace with a Service `ephor`.
pub fn with_environment(program: Command) -> Command {
    program.mut_subcommands(|command| with_variables(command, "EPHOR"))
}

fn with_variables(command: Command, above: &str) -> Command {
    let variable = |above: &str, name: &str| format!("{above}_{}", name.to_uppercase().replace('-', "_"));
    let prefix = variable(above, command.get_name());
    let command = command.mut_args(|arg| match arg.get_long().filter(|_| !arg.is_hide_set()) {
        Some(name) => {
            let name = variable(&prefix, name);
            // A flag that had another name is still set by the variable of that name.
            let former = arg.get_all_aliases().unwrap_or_default().into_iter();
            let mut former = former.map(|alias| variable(&prefix, alias));
            let name = match is_set(&name) {
                true => name,
                false => former.find(|former| is_set(former)).unwrap_or(name),
            };
            arg.env(Str::from(name)).hide_env_values(true)
        }
        None => arg,
    });
    command.mut_subcommands(|below| with_variables(below, &prefix))
}

/// The name and letter of a flag as `pflag` writes them in errors.
pub fn display_name(arg: &clap::Arg) -> String {
    match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (_, Some(long)) => format!("--{long}"),
        (short, None) => short.map(|c| format!("-{c}")).unwrap_or_default(),
    }
}

/// The logging flags of Kyverno, which have no effect, and whether they take a value.
pub const WITHOUT_EFFECT: [(&str, bool); 14] = [
    ("add_dir_header", false),
    ("alsologtostderr", false),
    ("alsologtostderrthreshold", true),
    ("legacy_stderr_threshold_behavior", false),
    ("log_backtrace_at", true),
    ("log_dir", true),
    ("log_file", true),
    ("log_file_max_size", true),
    ("logtostderr", false),
    ("one_output", false),
    ("skip_headers", false),
    ("skip_log_headers", false),
    ("stderrthreshold", true),
    ("vmodule", true),
];

/// The program with the flags that have no effect; help does not show them.
pub fn with_flags_without_effect(command: Command) -> Command {
    command.args(WITHOUT_EFFECT.iter().map(|(name, takes_value)| {
        let action = if *takes_value { ArgAction::Set } else { ArgAction::SetTrue };
        clap::Arg::new(*name).long(*name).action(action).global(true).hide(true)
    }))
}

/// The plain text of a help text.
pub fn plain(text: Option<&StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Result<Vec<String>, String> {
        text.parse::<Record>().map(|r| r.0).map_err(|e| e.to_string())
    }

    #[test]
    fn a_record_has_fields_between_commas_outside_of_quotes() {
        assert_eq!(record("a,b"), Ok(vec!["a".into(), "b".into()]));
        assert_eq!(record("\"a,b\",c"), Ok(vec!["a,b".into(), "c".into()]));
        assert_eq!(record("\"say \"\"a\"\"\""), Ok(vec!["say \"a\"".into()]));
        assert_eq!(record("a,"), Ok(vec!["a".into(), String::new()]));
        assert_eq!(record(""), Ok(Vec::new()));
    }

    #[test]
    fn a_misplaced_quote_is_refused_at_its_column() {
        let text = |text| record(text).unwrap_err();
        assert_eq!(text("cm={\"a\":1}"), "parse error on line 1, column 5: bare \" in non-quoted-field");
        assert_eq!(
            text("\"a\"b"),
            "parse error on line 1, column 4: extraneous or missing \" in quoted-field"
        );
        assert_eq!(text("\"a"), "parse error on line 1, column 3: extraneous or missing \" in quoted-field");
    }

    #[test]
    fn a_switch_has_the_spellings_of_go() {
        assert_eq!((switch("T"), switch("0")), (Ok(true), Ok(false)));
        assert_eq!(
            switch("yes").unwrap_err().to_string(),
            "strconv.ParseBool: parsing \"yes\": invalid syntax"
        );
    }
}
