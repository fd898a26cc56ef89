//! JMESPath's rows of the registry, in the order of their names; see `functions::registry`.
//!
//! A row is data: name, accepted types, cost, documentation, examples, body. Adding a function is
//! adding a row and its body.

use super::args::Body;
use super::collections as c;
use super::row::Dependency::{Chance, Clock, Services, Settings};
use super::row::Operation::{self, *};
use super::row::{Arity, Constants, Cost, Dispatch, Function, Higher, Language, Overloads, Run, Ty};
use super::{arithmetic, encode, json, limits, misc, random, regex, strings, timefn, url, x509};

type Param = &'static [Ty];

const ANY: Param = &[Ty::Any];
const NUMBER: Param = &[Ty::Number];
const STRING: Param = &[Ty::String];
const ARRAY: Param = &[Ty::Array];
const OBJECT: Param = &[Ty::Object];
const EXPREF: Param = &[Ty::Expref];
const NUMBERS: Param = &[Ty::ArrayNumber];
const STRINGS: Param = &[Ty::ArrayString];
const BEST: Param = &[Ty::ArrayNumber, Ty::ArrayString];
const SORTABLE: Param = &[Ty::ArrayString, Ty::ArrayNumber];
const SIZED: Param = &[Ty::String, Ty::Array, Ty::Object];
const ARRAY_OR_STRING: Param = &[Ty::Array, Ty::String];
const OBJECT_OR_ARRAY: Param = &[Ty::Object, Ty::Array];
const STRING_OR_NUMBER: Param = &[Ty::String, Ty::Number];

/// A standard function: pure, with as many arguments as parameters.
pub(super) const fn row(
    name: &'static str,
    operation: Operation,
    params: &'static [Param],
    returns: &'static str,
    cost: Cost,
    run: Run,
    note: &'static str,
) -> Function {
    Function {
        language: Language::JmesPath,
        name,
        shown: name,
        overloads: Overloads::Checked { params, arity: Arity::Fixed, returns },
        operation,
        dependency: None,
        fails: true,
        cost,
        folds: true,
        constants: Constants::Unprepared,
        dispatch: Dispatch::Receiver,
        run,
        kyverno: false,
        note,
        examples: &[],
    }
}

const fn plain(body: Body) -> Run {
    Run::Plain(body)
}

impl Function {
    /// Marks one of Kyverno's own functions.
    const fn kyverno(mut self) -> Self {
        self.kyverno = true;
        self
    }

    const fn examples(mut self, examples: &'static [(&'static str, &'static str)]) -> Self {
        self.examples = examples;
        self
    }

    const fn arity(mut self, arity: Arity) -> Self {
        if let Overloads::Checked { params, returns, .. } = self.overloads {
            self.overloads = Overloads::Checked { params, arity, returns };
        }
        self
    }
}

#[rustfmt::skip]
pub(super) static TABLE: &[Function] = &[
    row("abs", Round, &[NUMBER], "number", Cost::Constant, plain(c::abs),
        "The magnitude of a number.").total()
        .examples(&[("abs(`-1.5`)", "1.5")]),
    row("add", Arithmetic, &[ANY, ANY], "any", Cost::Constant, plain(arithmetic::add),
        "The sum of two numbers, two quantities (`1Gi`, `500m`) or two durations (`1h30m0s`).").kyverno()
        .examples(&[("add(`1`, `2`)", "3"), ("add('1Gi', '512Mi')", r#""1536Mi""#), ("add('1h', '30m0s')", r#""1h30m0s""#)]),
    row("avg", Opaque, &[NUMBERS], "number", Cost::Linear, plain(c::avg),
        "The mean of a list of numbers.").total()
        .examples(&[("avg(`[1, 2, 6]`)", "3")]),
    row("base64_decode", Opaque, &[STRING], "string", Cost::Linear, plain(encode::base64_decode),
        "The text behind standard base64 with padding, as in the data of a Secret.").kyverno()
        .examples(&[("base64_decode('aGVsbG8=')", r#""hello""#)]),
    row("base64_encode", Opaque, &[STRING], "string", Cost::Linear, plain(encode::base64_encode),
        "A text as standard base64 with padding.").kyverno().total()
        .examples(&[("base64_encode('hello')", r#""aGVsbG8=""#)]),
    row("ceil", Round, &[NUMBER], "number", Cost::Constant, plain(c::ceil),
        "The next whole number up.").total()
        .examples(&[("ceil(`1.2`)", "2")]),
    row("compare", Opaque, &[STRING, STRING], "number", Cost::Linear, plain(strings::compare),
        "-1, 0 or 1 as the first text orders before, with or after the second by bytes; print it or match it in a condition, but do not compute with it.").kyverno().total()
        .examples(&[("compare('a', 'b')", "-1")]),
    row("contains", Contains, &[ARRAY_OR_STRING, ANY], "boolean", Cost::Linear, plain(c::contains),
        "Whether a list holds a value or a text holds a shorter text.").total()
        .examples(&[("contains('nginx:latest', ':latest')", "true"), (r#"contains(`["NET_RAW", "SYS_TIME"]`, 'SYS_TIME')"#, "true")]),
    row("divide", Arithmetic, &[ANY, ANY], "any", Cost::Constant, plain(arithmetic::divide),
        "The quotient of two numbers, two quantities or two durations, or of a quantity or duration and a number.").kyverno()
        .examples(&[("divide('1Gi', '256Mi')", "4"), ("divide('1h', `4`)", r#""15m0s""#)]),
    row("ends_with", EndsWith, &[STRING, STRING], "boolean", Cost::Constant, plain(strings::ends_with),
        "Whether a text ends with another.").total()
        .examples(&[("ends_with('nginx:latest', ':latest')", "true")]),
    row("equal_fold", Opaque, &[STRING, STRING], "bool", Cost::Linear, plain(strings::equal_fold),
        "Whether two texts are equal when upper and lower case do not count.").kyverno().total()
        .examples(&[("equal_fold('Pod', 'pOD')", "true")]),
    row("floor", Round, &[NUMBER], "number", Cost::Constant, plain(c::floor),
        "The next whole number down.").total()
        .examples(&[("floor(`1.8`)", "1")]),
    row("image_normalize", Opaque, &[STRING], "string", Cost::Linear, plain(misc::image_normalize),
        "An image reference with the default registry and the tag `latest` filled in; a digest replaces the tag.").kyverno().depends_on(Settings)
        .examples(&[("image_normalize('nginx')", r#""docker.io/nginx:latest""#), ("image_normalize('ghcr.io/app:1.2')", r#""ghcr.io/app:1.2""#)]),
    row("is_external_url", Opaque, &[STRING], "bool", Cost::Heavy, plain(url::is_external_url),
        "Whether the host of a URL lies outside loopback and private networks; names are looked up.").kyverno().depends_on(Services)
        .examples(&[("is_external_url('http://10.0.0.1/metrics')", "false"), ("is_external_url('http://1.1.1.1')", "true")]),
    row("items", Entries, &[OBJECT_OR_ARRAY, STRING, STRING], "array", Cost::Linear, plain(c::items),
        "A list with an object for each entry of an object or list, which holds the key and the value under the two given names.").kyverno()
        .examples(&[("items({team: 'web'}, 'key', 'value')", r#"[{"key":"team","value":"web"}]"#)]),
    row("join", Join, &[STRING, STRINGS], "string", Cost::Linear, plain(strings::join),
        "A list of texts as one text with a separator between them.").total()
        .examples(&[(r#"join(', ', `["a", "b"]`)"#, r#""a, b""#)]),
    row("keys", Keys, &[OBJECT], "array", Cost::Linear, plain(c::keys),
        "The keys of an object in ascending order.").total()
        .examples(&[(r#"keys(`{"b": 1, "a": 2}`)"#, r#"["a","b"]"#)]),
    row("label_match", LabelMatch, &[OBJECT, OBJECT], "bool", Cost::Linear, plain(c::label_match),
        "Whether every label of the first object is in the second with the same value.").kyverno()
        .examples(&[(r#"label_match(`{"app": "web"}`, `{"app": "web", "tier": "front"}`)"#, "true")]),
    row("length", Size, &[SIZED], "number", Cost::Linear, plain(c::length),
        "The number of characters, items or entries.").total()
        .examples(&[("length('日本')", "2"), ("length(`[1, 2, 3]`)", "3")]),
    row("lookup", LookUpKey, &[OBJECT_OR_ARRAY, STRING_OR_NUMBER], "any", Cost::Constant, plain(c::lookup),
        "The value under a key of an object or at an index of a list, null when there is none; keys may be computed.").kyverno()
        .examples(&[(r#"lookup(`{"web": 80}`, 'web')"#, "80"), (r#"lookup(`["a", "b"]`, `1`)"#, r#""b""#)]),
    row("map", Opaque, &[EXPREF, ARRAY], "array", Cost::Linear, Run::Higher(Higher::Map),
        "The results of an expression for each item of a list.")
        .examples(&[(r#"map(&length(@), `["a", "bcd"]`)"#, "[1,3]")]),
    row("max", Opaque, &[BEST], "any", Cost::Linear, plain(c::max),
        "The greatest of a list of numbers or texts, null of an empty one.").total()
        .examples(&[("max(`[3, 10, 2]`)", "10")]),
    row("max_by", Opaque, &[ARRAY, EXPREF], "any", Cost::Linear, Run::Higher(Higher::MaxBy),
        "The first item of a list for which an expression gives the greatest number or text.")
        .examples(&[(r#"max_by(`[{"n": 1}, {"n": 5}]`, &n)"#, r#"{"n":5}"#)]),
    row("md5", Opaque, &[STRING], "string", Cost::Heavy, plain(encode::md5),
        "The MD5 hash of a text in hexadecimal; not for security.").kyverno().total()
        .examples(&[("md5('hello')", r#""5d41402abc4b2a76b9719d911017c592""#)]),
    row("merge", Opaque, &[OBJECT], "object", Cost::Linear, plain(c::merge),
        "One object with the entries of several; later ones win.").arity(Arity::AtLeastOne)
        .examples(&[(r#"merge(`{"a": 1, "b": 1}`, `{"b": 2}`)"#, r#"{"a":1,"b":2}"#)]),
    row("min", Opaque, &[BEST], "any", Cost::Linear, plain(c::min),
        "The least of a list of numbers or texts, null of an empty one.").total()
        .examples(&[("min(`[3, 10, 2]`)", "2")]),
    row("min_by", Opaque, &[ARRAY, EXPREF], "any", Cost::Linear, Run::Higher(Higher::MinBy),
        "The first item of a list for which an expression gives the least number or text.")
        .examples(&[(r#"min_by(`[{"n": 1}, {"n": 5}]`, &n)"#, r#"{"n":1}"#)]),
    row("modulo", Arithmetic, &[ANY, ANY], "any", Cost::Constant, plain(arithmetic::modulo),
        "The remainder of two whole numbers, quantities or durations, with the sign of the first.").kyverno()
        .examples(&[("modulo(`7`, `3`)", "1"), ("modulo('10', '3')", r#""1""#)]),
    row("multiply", Arithmetic, &[ANY, ANY], "any", Cost::Constant, plain(arithmetic::multiply),
        "The product of two numbers, or of a quantity or duration and a number.").kyverno()
        .examples(&[("multiply('512Mi', `2`)", r#""1Gi""#), ("multiply('90s', `2`)", r#""3m0s""#)]),
    row("not_null", FirstPresent, &[ANY], "any", Cost::Constant, plain(c::not_null),
        "The first argument that is not null.").arity(Arity::AtLeastOne).total()
        .examples(&[("not_null(`null`, 'fallback')", r#""fallback""#)]),
    row("object_from_lists", Opaque, &[ARRAY, ARRAY], "object", Cost::Linear, plain(c::object_from_lists),
        "An object of a list of keys and a list of their values; missing values are null.").kyverno()
        .examples(&[(r#"object_from_lists(`["a", "b"]`, `[1, 2]`)"#, r#"{"a":1,"b":2}"#)]),
    row("parse_json", Opaque, &[STRING], "any", Cost::Heavy, plain(json::parse_json),
        "The value that a JSON text describes.").kyverno()
        .examples(&[(r#"parse_json('{"a": [1, 2]}')"#, r#"{"a":[1,2]}"#)]),
    row("parse_yaml", Opaque, &[STRING], "any", Cost::Heavy, plain(json::parse_yaml),
        "The value that the first document of a YAML text describes.").kyverno()
        .examples(&[("parse_yaml('a: [1, yes]')", r#"{"a":[1,true]}"#)]),
    row("path_canonicalize", Opaque, &[STRING], "string", Cost::Linear, plain(strings::path_canonicalize),
        "A file path without `.`, `..`, doubled and trailing slashes; links are not followed.").kyverno().total()
        .examples(&[("path_canonicalize('/var//lib/../run/')", r#""/var/run""#)]),
    row("pattern_match", Opaque, &[STRING, STRING_OR_NUMBER], "bool", Cost::Linear, plain(strings::pattern_match),
        "Whether a text or number matches a pattern in which `*` stands for any run and `?` for one character.").kyverno().total()
        .examples(&[("pattern_match('web-*', 'web-7')", "true")]),
    row("random", Opaque, &[STRING], "string", Cost::Heavy, plain(random::random),
        "A random text that matches a regular expression, for example `[a-z0-9]{8}`.").kyverno().depends_on(Chance)
        .examples(&[("regex_match('^[a-z]{8}$', random('[a-z]{8}'))", "true")]),
    row("regex_match", MatchedBy, &[STRING, STRING_OR_NUMBER], "bool", Cost::Heavy, plain(regex::regex_match),
        "Whether a regular expression (RE2) matches somewhere in a text or number.").kyverno()
        .examples(&[("regex_match('^v[0-9]+$', 'v12')", "true")]),
    row("regex_replace_all", ReplaceMatches, &[STRING, STRING_OR_NUMBER, STRING_OR_NUMBER], "string", Cost::Heavy, plain(regex::regex_replace_all),
        "A text with every match of a regular expression replaced; `$1` and `${name}` stand for groups.").kyverno()
        .examples(&[("regex_replace_all('([a-z]+)-([0-9]+)', 'web-7', '$2-$1')", r#""7-web""#)]),
    row("regex_replace_all_literal", Opaque, &[STRING, STRING_OR_NUMBER, STRING_OR_NUMBER], "string", Cost::Heavy, plain(regex::regex_replace_all_literal),
        "A text with every match of a regular expression replaced by a text as it is.").kyverno()
        .examples(&[("regex_replace_all_literal('[0-9]+', 'web-7', '$1')", r#""web-$1""#)]),
    row("replace", Replace, &[STRING, STRING, STRING, NUMBER], "string", Cost::Linear, plain(strings::replace),
        "A text with the first n occurrences of another replaced; a negative n replaces all.").kyverno().total()
        .examples(&[("replace('a-b-c', '-', '.', `1`)", r#""a.b-c""#)]),
    row("replace_all", Replace, &[STRING, STRING, STRING], "string", Cost::Linear, plain(strings::replace_all),
        "A text with every occurrence of another replaced.").kyverno().total()
        .examples(&[("replace_all('a-b-c', '-', '.')", r#""a.b.c""#)]),
    row("reverse", Opaque, &[ARRAY_OR_STRING], "any", Cost::Linear, plain(c::reverse),
        "A list or text from back to front.").total()
        .examples(&[("reverse('abc')", r#""cba""#), ("reverse(`[1, 2]`)", "[2,1]")]),
    row("round", Round, &[NUMBER, NUMBER], "number", Cost::Constant, plain(arithmetic::round),
        "A number rounded to so many decimals, halves away from zero.").kyverno()
        .examples(&[("round(`2.675`, `2`)", "2.68")]),
    row("semver_compare", Opaque, &[STRING, STRING], "bool", Cost::Linear, plain(misc::semver_compare),
        "Whether a semantic version lies in a range such as `>=1.2.0 <2.0.0 || 3.x`.").kyverno()
        .examples(&[("semver_compare('1.4.2', '>=1.2.0 <2.0.0')", "true")]),
    row("sha1", Opaque, &[STRING], "string", Cost::Heavy, plain(encode::sha1),
        "The SHA-1 hash of a text in hexadecimal; not for security.").kyverno().total()
        .examples(&[("sha1('hello')", r#""aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d""#)]),
    row("sha256", Opaque, &[STRING], "string", Cost::Heavy, plain(encode::sha256),
        "The SHA-256 hash of a text in hexadecimal.").kyverno().total()
        .examples(&[("sha256('hello')", r#""2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824""#)]),
    row("sort", Opaque, &[SORTABLE], "array", Cost::Linear, plain(c::sort),
        "A list of numbers or texts in ascending order.").total()
        .examples(&[("sort(`[3, 10, 2]`)", "[2,3,10]")]),
    row("sort_by", Opaque, &[ARRAY, EXPREF], "array", Cost::Linear, Run::Higher(Higher::SortBy),
        "A list in ascending order of the number or text that an expression gives for each item.")
        .examples(&[(r#"sort_by(`[{"n": 2}, {"n": 1}]`, &n)"#, r#"[{"n":1},{"n":2}]"#)]),
    row("split", Split, &[STRING, STRING], "array[string]", Cost::Linear, plain(strings::split),
        "The parts of a text between separators; an empty separator gives the characters.").kyverno().total()
        .examples(&[("split('a,b,c', ',')", r#"["a","b","c"]"#)]),
    row("starts_with", StartsWith, &[STRING, STRING], "boolean", Cost::Constant, plain(strings::starts_with),
        "Whether a text starts with another.").total()
        .examples(&[("starts_with('nginx:latest', 'nginx')", "true")]),
    row("subtract", Arithmetic, &[ANY, ANY], "any", Cost::Constant, plain(arithmetic::subtract),
        "The difference of two numbers, two quantities or two durations.").kyverno()
        .examples(&[("subtract('1Gi', '256Mi')", r#""768Mi""#)]),
    row("sum", Sum, &[ARRAY], "any", Cost::Linear, plain(arithmetic::sum),
        "The sum of a list of numbers, of quantities or of durations, which must not be empty.").kyverno()
        .examples(&[(r#"sum(`["100m", "250m"]`)"#, r#""350m""#)]),
    row("time_add", Opaque, &[STRING, STRING], "string", Cost::Linear, plain(timefn::time_add),
        "An RFC 3339 time moved by a duration such as `1h30m` or `-24h`.").kyverno()
        .examples(&[("time_add('2024-02-28T12:00:00Z', '24h')", r#""2024-02-29T12:00:00Z""#)]),
    row("time_after", Opaque, &[STRING, STRING], "bool", Cost::Linear, plain(timefn::time_after),
        "Whether the first RFC 3339 time is later than the second.").kyverno()
        .examples(&[("time_after('2024-02-28T12:00:00Z', '2024-02-28T12:00:00+01:00')", "true")]),
    row("time_before", Opaque, &[STRING, STRING], "bool", Cost::Linear, plain(timefn::time_before),
        "Whether the first RFC 3339 time is earlier than the second.").kyverno()
        .examples(&[("time_before('2024-01-01T00:00:00Z', '2024-02-01T00:00:00Z')", "true")]),
    row("time_between", Opaque, &[STRING, STRING, STRING], "bool", Cost::Linear, plain(timefn::time_between),
        "Whether the first RFC 3339 time lies between the second and the third, ends excluded.").kyverno()
        .examples(&[("time_between('2024-01-15T00:00:00Z', '2024-01-01T00:00:00Z', '2024-02-01T00:00:00Z')", "true")]),
    row("time_diff", Opaque, &[STRING, STRING], "string", Cost::Linear, plain(timefn::time_diff),
        "The duration from the first RFC 3339 time to the second.").kyverno()
        .examples(&[("time_diff('2024-01-01T00:00:00Z', '2024-01-02T00:30:00Z')", r#""24h30m0s""#)]),
    row("time_now", Opaque, &[], "string", Cost::Constant, plain(timefn::time_now),
        "The current time as RFC 3339.").kyverno().depends_on(Clock).arity(Arity::Ignored).total()
        .examples(&[("type(time_now())", r#""string""#)]),
    row("time_now_utc", Opaque, &[], "string", Cost::Constant, plain(timefn::time_now_utc),
        "The current time as RFC 3339 in UTC.").kyverno().depends_on(Clock).arity(Arity::Ignored).total()
        .examples(&[("ends_with(time_now_utc(), 'Z')", "true")]),
    row("time_parse", Opaque, &[STRING, STRING], "string", Cost::Linear, plain(timefn::time_parse),
        "A time in another layout (`2006-01-02 15:04`) as RFC 3339; any whole number as layout means Unix seconds.").kyverno()
        .examples(&[("time_parse('2006-01-02 15:04', '2024-02-28 12:30')", r#""2024-02-28T12:30:00Z""#), ("time_parse('1', '1700000000')", r#""2023-11-14T22:13:20Z""#)]),
    row("time_since", TimeSince, &[STRING, STRING, STRING], "string", Cost::Linear, plain(timefn::time_since),
        "The duration from the first time to the second by a layout, RFC 3339 when empty; an empty second time is now.").kyverno().depends_on(Clock)
        .examples(&[("time_since('2006-01-02', '2024-01-01', '2024-01-03')", r#""48h0m0s""#)]),
    row("time_to_cron", Opaque, &[STRING], "string", Cost::Linear, plain(timefn::time_to_cron),
        "The cron schedule that an RFC 3339 time matches.").kyverno()
        .examples(&[("time_to_cron('2024-02-28T12:30:00Z')", r#""30 12 28 2 3""#)]),
    row("time_truncate", Opaque, &[STRING, STRING], "string", Cost::Linear, plain(timefn::time_truncate),
        "An RFC 3339 time rounded down to a multiple of a duration.").kyverno()
        .examples(&[("time_truncate('2024-02-28T12:34:56Z', '1h')", r#""2024-02-28T12:00:00Z""#)]),
    row("time_utc", Opaque, &[STRING], "string", Cost::Linear, plain(timefn::time_utc),
        "An RFC 3339 time in UTC.").kyverno()
        .examples(&[("time_utc('2024-02-28T12:00:00+02:00')", r#""2024-02-28T10:00:00Z""#)]),
    row("to_array", Opaque, &[ANY], "array", Cost::Constant, plain(c::to_array),
        "A list as it is, another value as a list of one.").total()
        .examples(&[("to_array('a')", r#"["a"]"#), (r#"to_array(`["a"]`)"#, r#"["a"]"#)]),
    row("to_boolean", Opaque, &[STRING], "bool", Cost::Constant, plain(strings::to_boolean),
        "The boolean of the texts `true` and `false` in any case.").kyverno()
        .examples(&[("to_boolean('True')", "true")]),
    row("to_lower", Lower, &[STRING], "string", Cost::Linear, plain(strings::to_lower),
        "A text in lower case.").kyverno().total()
        .examples(&[("to_lower('Web')", r#""web""#)]),
    row("to_number", ToNumber, &[ANY], "number", Cost::Constant, plain(c::to_number),
        "The number that a text spells, null when it spells none.")
        .examples(&[("to_number('1.5')", "1.5"), ("to_number('many')", "null")]),
    row("to_string", ToJson, &[ANY], "string", Cost::Linear, plain(c::to_string),
        "A text as it is, another value as JSON.")
        .examples(&[(r#"to_string(`{"a": 1}`)"#, r#""{\"a\":1}""#)]),
    row("to_upper", Upper, &[STRING], "string", Cost::Linear, plain(strings::to_upper),
        "A text in upper case.").kyverno().total()
        .examples(&[("to_upper('Web')", r#""WEB""#)]),
    row("trim", Trim, &[STRING, STRING], "string", Cost::Linear, plain(strings::trim),
        "A text without the given characters at both ends.").kyverno().total()
        .examples(&[("trim('--web--', '-')", r#""web""#)]),
    row("trim_prefix", TrimPrefix, &[STRING, STRING], "string", Cost::Linear, plain(strings::trim_prefix),
        "A text without another at its start.").kyverno().total()
        .examples(&[("trim_prefix('registry/app', 'registry/')", r#""app""#)]),
    row("truncate", Opaque, &[STRING, NUMBER], "string", Cost::Linear, plain(strings::truncate),
        "The first n characters of a text.").kyverno().total()
        .examples(&[("truncate('deployment', `6`)", r#""deploy""#)]),
    row("type", TypeOf, &[ANY], "string", Cost::Constant, plain(c::type_of),
        "The name of a value's type.")
        .examples(&[("type(`1.5`)", r#""number""#)]),
    row("values", Values, &[OBJECT], "array", Cost::Linear, plain(c::values),
        "The values of an object in ascending order of their keys.").total()
        .examples(&[(r#"values(`{"b": 1, "a": 2}`)"#, "[2,1]")]),
    row("x509_decode", Opaque, &[STRING], "object", Cost::Heavy, plain(x509::x509_decode),
        "The fields of the first PEM certificate or certificate request in a text; RSA keys only.").kyverno()
        .examples(&[("x509_decode('no certificate')", "error: failed to decode PEM block")]),
];

/// Checks a result of expressions that could repeat their input without end; no name leads to it.
pub static BOUNDED: Function = row(
    "bounded",
    Opaque,
    &[&[Ty::Any]],
    "any",
    Cost::Linear,
    Run::Plain(limits::bounded),
    "The argument, unless it is too large.",
);
