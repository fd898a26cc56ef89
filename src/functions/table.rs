//! The registry: one row for each function, in the order of their names.
//!
//! A row is data: name, accepted types, cost, documentation, body. Adding a function is adding a row
//! and its body.

use super::collections as c;
use super::{Arg, Arity, Context, Cost, Function, Higher, Run, Ty};
use super::{arithmetic, encode, json, misc, random, regex, strings, timefn, url, x509};
use crate::value::{Fault, Value};

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

type Body = fn(&Context, &[Arg<'_>]) -> Result<Value, Fault>;

/// A standard function: pure, with as many arguments as parameters.
const fn row(
    name: &'static str,
    params: &'static [Param],
    returns: &'static str,
    cost: Cost,
    run: Run,
    note: &'static str,
) -> Function {
    Function { name, params, arity: Arity::Fixed, returns, pure: true, cost, kyverno: false, note, run }
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

    /// Marks a function whose result depends on more than its arguments.
    const fn impure(mut self) -> Self {
        self.pure = false;
        self
    }

    const fn arity(mut self, arity: Arity) -> Self {
        self.arity = arity;
        self
    }
}

#[rustfmt::skip]
pub(super) static TABLE: &[Function] = &[
    row("abs", &[NUMBER], "number", Cost::Constant, plain(c::abs),
        "The magnitude of a number."),
    row("add", &[ANY, ANY], "any", Cost::Constant, plain(arithmetic::add),
        "The sum of two numbers, two quantities (`1Gi`, `500m`) or two durations (`1h30m0s`).").kyverno(),
    row("avg", &[NUMBERS], "number", Cost::Linear, plain(c::avg),
        "The mean of a list of numbers."),
    row("base64_decode", &[STRING], "string", Cost::Linear, plain(encode::base64_decode),
        "The text behind standard base64 with padding, as in the data of a Secret.").kyverno(),
    row("base64_encode", &[STRING], "string", Cost::Linear, plain(encode::base64_encode),
        "A text as standard base64 with padding.").kyverno(),
    row("ceil", &[NUMBER], "number", Cost::Constant, plain(c::ceil),
        "The next whole number up."),
    row("compare", &[STRING, STRING], "number", Cost::Linear, plain(strings::compare),
        "-1, 0 or 1 as the first text orders before, with or after the second by bytes; print it or match it in a condition, but do not compute with it.").kyverno(),
    row("contains", &[ARRAY_OR_STRING, ANY], "boolean", Cost::Linear, plain(c::contains),
        "Whether a list holds a value or a text holds a shorter text."),
    row("divide", &[ANY, ANY], "any", Cost::Constant, plain(arithmetic::divide),
        "The quotient of two numbers, two quantities or two durations, or of a quantity or duration and a number.").kyverno(),
    row("ends_with", &[STRING, STRING], "boolean", Cost::Constant, plain(strings::ends_with),
        "Whether a text ends with another."),
    row("equal_fold", &[STRING, STRING], "bool", Cost::Linear, plain(strings::equal_fold),
        "Whether two texts are equal when upper and lower case do not count.").kyverno(),
    row("floor", &[NUMBER], "number", Cost::Constant, plain(c::floor),
        "The next whole number down."),
    row("image_normalize", &[STRING], "string", Cost::Linear, plain(misc::image_normalize),
        "An image reference with the default registry and the tag `latest` filled in; a digest replaces the tag.").kyverno().impure(),
    row("is_external_url", &[STRING], "bool", Cost::Heavy, plain(url::is_external_url),
        "Whether the host of a URL lies outside loopback and private networks; names are looked up.").kyverno().impure(),
    row("items", &[OBJECT_OR_ARRAY, STRING, STRING], "array", Cost::Linear, plain(c::items),
        "A list with an object for each entry of an object or list, which holds the key and the value under the two given names.").kyverno(),
    row("join", &[STRING, STRINGS], "string", Cost::Linear, plain(strings::join),
        "A list of texts as one text with a separator between them."),
    row("keys", &[OBJECT], "array", Cost::Linear, plain(c::keys),
        "The keys of an object in ascending order."),
    row("label_match", &[OBJECT, OBJECT], "bool", Cost::Linear, plain(c::label_match),
        "Whether every label of the first object is in the second with the same value.").kyverno(),
    row("length", &[SIZED], "number", Cost::Linear, plain(c::length),
        "The number of characters, items or entries."),
    row("lookup", &[OBJECT_OR_ARRAY, STRING_OR_NUMBER], "any", Cost::Constant, plain(c::lookup),
        "The value under a key of an object or at an index of a list, null when there is none; keys may be computed.").kyverno(),
    row("map", &[EXPREF, ARRAY], "array", Cost::Linear, Run::Higher(Higher::Map),
        "The results of an expression for each item of a list."),
    row("max", &[BEST], "any", Cost::Linear, plain(c::max),
        "The greatest of a list of numbers or texts, null of an empty one."),
    row("max_by", &[ARRAY, EXPREF], "any", Cost::Linear, Run::Higher(Higher::MaxBy),
        "The first item of a list for which an expression gives the greatest number or text."),
    row("md5", &[STRING], "string", Cost::Heavy, plain(encode::md5),
        "The MD5 hash of a text in hexadecimal; not for security.").kyverno(),
    row("merge", &[OBJECT], "object", Cost::Linear, plain(c::merge),
        "One object with the entries of several; later ones win.").arity(Arity::AtLeastOne),
    row("min", &[BEST], "any", Cost::Linear, plain(c::min),
        "The least of a list of numbers or texts, null of an empty one."),
    row("min_by", &[ARRAY, EXPREF], "any", Cost::Linear, Run::Higher(Higher::MinBy),
        "The first item of a list for which an expression gives the least number or text."),
    row("modulo", &[ANY, ANY], "any", Cost::Constant, plain(arithmetic::modulo),
        "The remainder of two whole numbers, quantities or durations, with the sign of the first.").kyverno(),
    row("multiply", &[ANY, ANY], "any", Cost::Constant, plain(arithmetic::multiply),
        "The product of two numbers, or of a quantity or duration and a number.").kyverno(),
    row("not_null", &[ANY], "any", Cost::Constant, plain(c::not_null),
        "The first argument that is not null.").arity(Arity::AtLeastOne),
    row("object_from_lists", &[ARRAY, ARRAY], "object", Cost::Linear, plain(c::object_from_lists),
        "An object of a list of keys and a list of their values; missing values are null.").kyverno(),
    row("parse_json", &[STRING], "any", Cost::Heavy, plain(json::parse_json),
        "The value that a JSON text describes.").kyverno(),
    row("parse_yaml", &[STRING], "any", Cost::Heavy, plain(json::parse_yaml),
        "The value that the first document of a YAML text describes.").kyverno(),
    row("path_canonicalize", &[STRING], "string", Cost::Linear, plain(strings::path_canonicalize),
        "A file path without `.`, `..`, doubled and trailing slashes; links are not followed.").kyverno(),
    row("pattern_match", &[STRING, STRING_OR_NUMBER], "bool", Cost::Linear, plain(strings::pattern_match),
        "Whether a text or number matches a pattern in which `*` stands for any run and `?` for one character.").kyverno(),
    row("random", &[STRING], "string", Cost::Heavy, plain(random::random),
        "A random text that matches a regular expression, for example `[a-z0-9]{8}`.").kyverno().impure(),
    row("regex_match", &[STRING, STRING_OR_NUMBER], "bool", Cost::Heavy, plain(regex::regex_match),
        "Whether a regular expression (RE2) matches somewhere in a text or number.").kyverno(),
    row("regex_replace_all", &[STRING, STRING_OR_NUMBER, STRING_OR_NUMBER], "string", Cost::Heavy, plain(regex::regex_replace_all),
        "A text with every match of a regular expression replaced; `$1` and `${name}` stand for groups.").kyverno(),
    row("regex_replace_all_literal", &[STRING, STRING_OR_NUMBER, STRING_OR_NUMBER], "string", Cost::Heavy, plain(regex::regex_replace_all_literal),
        "A text with every match of a regular expression replaced by a text as it is.").kyverno(),
    row("replace", &[STRING, STRING, STRING, NUMBER], "string", Cost::Linear, plain(strings::replace),
        "A text with the first n occurrences of another replaced; a negative n replaces all.").kyverno(),
    row("replace_all", &[STRING, STRING, STRING], "string", Cost::Linear, plain(strings::replace_all),
        "A text with every occurrence of another replaced.").kyverno(),
    row("reverse", &[ARRAY_OR_STRING], "any", Cost::Linear, plain(c::reverse),
        "A list or text from back to front."),
    row("round", &[NUMBER, NUMBER], "number", Cost::Constant, plain(arithmetic::round),
        "A number rounded to so many decimals, halves away from zero.").kyverno(),
    row("semver_compare", &[STRING, STRING], "bool", Cost::Linear, plain(misc::semver_compare),
        "Whether a semantic version lies in a range such as `>=1.2.0 <2.0.0 || 3.x`.").kyverno(),
    row("sha1", &[STRING], "string", Cost::Heavy, plain(encode::sha1),
        "The SHA-1 hash of a text in hexadecimal; not for security.").kyverno(),
    row("sha256", &[STRING], "string", Cost::Heavy, plain(encode::sha256),
        "The SHA-256 hash of a text in hexadecimal.").kyverno(),
    row("sort", &[SORTABLE], "array", Cost::Linear, plain(c::sort),
        "A list of numbers or texts in ascending order."),
    row("sort_by", &[ARRAY, EXPREF], "array", Cost::Linear, Run::Higher(Higher::SortBy),
        "A list in ascending order of the number or text that an expression gives for each item."),
    row("split", &[STRING, STRING], "array[string]", Cost::Linear, plain(strings::split),
        "The parts of a text between separators; an empty separator gives the characters.").kyverno(),
    row("starts_with", &[STRING, STRING], "boolean", Cost::Constant, plain(strings::starts_with),
        "Whether a text starts with another."),
    row("subtract", &[ANY, ANY], "any", Cost::Constant, plain(arithmetic::subtract),
        "The difference of two numbers, two quantities or two durations.").kyverno(),
    row("sum", &[ARRAY], "any", Cost::Linear, plain(arithmetic::sum),
        "The sum of a list of numbers, of quantities or of durations, which must not be empty.").kyverno(),
    row("time_add", &[STRING, STRING], "string", Cost::Linear, plain(timefn::time_add),
        "An RFC 3339 time moved by a duration such as `1h30m` or `-24h`.").kyverno(),
    row("time_after", &[STRING, STRING], "bool", Cost::Linear, plain(timefn::time_after),
        "Whether the first RFC 3339 time is later than the second.").kyverno(),
    row("time_before", &[STRING, STRING], "bool", Cost::Linear, plain(timefn::time_before),
        "Whether the first RFC 3339 time is earlier than the second.").kyverno(),
    row("time_between", &[STRING, STRING, STRING], "bool", Cost::Linear, plain(timefn::time_between),
        "Whether the first RFC 3339 time lies between the second and the third, ends excluded.").kyverno(),
    row("time_diff", &[STRING, STRING], "string", Cost::Linear, plain(timefn::time_diff),
        "The duration from the first RFC 3339 time to the second.").kyverno(),
    row("time_now", &[], "string", Cost::Constant, plain(timefn::time_now),
        "The current time as RFC 3339.").kyverno().impure().arity(Arity::Ignored),
    row("time_now_utc", &[], "string", Cost::Constant, plain(timefn::time_now_utc),
        "The current time as RFC 3339 in UTC.").kyverno().impure().arity(Arity::Ignored),
    row("time_parse", &[STRING, STRING], "string", Cost::Linear, plain(timefn::time_parse),
        "A time in another layout (`2006-01-02 15:04`) as RFC 3339; any whole number as layout means Unix seconds.").kyverno(),
    row("time_since", &[STRING, STRING, STRING], "string", Cost::Linear, plain(timefn::time_since),
        "The duration from the first time to the second by a layout, RFC 3339 when empty; an empty second time is now.").kyverno().impure(),
    row("time_to_cron", &[STRING], "string", Cost::Linear, plain(timefn::time_to_cron),
        "The cron schedule that an RFC 3339 time matches.").kyverno(),
    row("time_truncate", &[STRING, STRING], "string", Cost::Linear, plain(timefn::time_truncate),
        "An RFC 3339 time rounded down to a multiple of a duration.").kyverno(),
    row("time_utc", &[STRING], "string", Cost::Linear, plain(timefn::time_utc),
        "An RFC 3339 time in UTC.").kyverno(),
    row("to_array", &[ANY], "array", Cost::Constant, plain(c::to_array),
        "A list as it is, another value as a list of one."),
    row("to_boolean", &[STRING], "bool", Cost::Constant, plain(strings::to_boolean),
        "The boolean of the texts `true` and `false` in any case.").kyverno(),
    row("to_lower", &[STRING], "string", Cost::Linear, plain(strings::to_lower),
        "A text in lower case.").kyverno(),
    row("to_number", &[ANY], "number", Cost::Constant, plain(c::to_number),
        "The number that a text spells, null when it spells none."),
    row("to_string", &[ANY], "string", Cost::Linear, plain(c::to_string),
        "A text as it is, another value as JSON."),
    row("to_upper", &[STRING], "string", Cost::Linear, plain(strings::to_upper),
        "A text in upper case.").kyverno(),
    row("trim", &[STRING, STRING], "string", Cost::Linear, plain(strings::trim),
        "A text without the given characters at both ends.").kyverno(),
    row("trim_prefix", &[STRING, STRING], "string", Cost::Linear, plain(strings::trim_prefix),
        "A text without another at its start.").kyverno(),
    row("truncate", &[STRING, NUMBER], "string", Cost::Linear, plain(strings::truncate),
        "The first n characters of a text.").kyverno(),
    row("type", &[ANY], "string", Cost::Constant, plain(c::type_of),
        "The name of a value's type."),
    row("values", &[OBJECT], "array", Cost::Linear, plain(c::values),
        "The values of an object in ascending order of their keys."),
    row("x509_decode", &[STRING], "object", Cost::Heavy, plain(x509::x509_decode),
        "The fields of the first PEM certificate or certificate request in a text; RSA keys only.").kyverno(),
];
