//! The table of functions: name, what it computes, what it costs.

use super::cost as c;
use super::{Call, Charge, Function, Given};
use super::{
    authorizer as a, convert, data as d, evidence as e, format, format_plain, image_reference as i,
    key_set as j, kubernetes as k, lists as l, math as m, mcp, named_format as n, network as net,
    operators as o, optional as opt, outside as w, patterns as x, proxy as p, strings as s, time as t,
};
use crate::value::Value;

const fn f(name: &'static str, run: fn(&Call<'_>) -> Given, cost: fn(&Charge<'_>) -> u64) -> Function {
    Function { name, run, cost, pure: true, ahead: false }
}

/// A function that takes as long as it costs, which its arguments alone tell.
const fn ahead(name: &'static str, run: fn(&Call<'_>) -> Given, cost: fn(&Charge<'_>) -> u64) -> Function {
    Function { ahead: true, ..f(name, run, cost) }
}

/// A function that asks the clock, chance or others.
const fn asks(name: &'static str, run: fn(&Call<'_>) -> Given, cost: fn(&Charge<'_>) -> u64) -> Function {
    Function { pure: false, ..f(name, run, cost) }
}

const fn sum_from(run: fn(&Call<'_>) -> Given) -> Function {
    f("sum", run, c::traversal)
}

static SUMS: [Function; 4] = [
    sum_from(l::sum),
    sum_from(|call| l::sum_from(call, Value::UInt(0))),
    sum_from(|call| l::sum_from(call, Value::Float(0.0))),
    sum_from(|call| l::sum_from(call, Value::Duration(0))),
];

/// `sum` of a list whose items have a type.
pub fn sum_of(item: &str) -> &'static Function {
    let [whole, unsigned, double, duration] = &SUMS;
    match item {
        "uint" => unsigned,
        "double" => double,
        "google.protobuf.Duration" => duration,
        _ => whole,
    }
}

/// See the module page.
#[rustfmt::skip]
pub static TABLE: &[Function] = &[
    f("_+_", o::add, c::addition), f("_-_", o::subtract, c::one), f("_*_", o::multiply, c::one),
    f("_/_", o::divide, c::one), f("_%_", o::remainder, c::one), f("-_", o::negate, c::one),
    f("!_", o::not, c::one), f("_==_", o::equal, c::equality), f("_!=_", o::unequal, c::equality),
    f("@equalsDeclared", o::equals_declared, c::equality), f("@differsFromDeclared", o::differs_from_declared, c::equality),
    f("_<_", o::less, c::ordering), f("_<=_", o::less_or_equal, c::ordering),
    f("_>_", o::greater, c::ordering), f("_>=_", o::greater_or_equal, c::ordering),
    f("@in", o::contains, c::membership), f("size", o::size, c::one),

    f("type", convert::type_of, c::one), f("dyn", convert::dynamic, c::one),
    f("bool", convert::boolean, c::one), f("bytes", convert::bytes, c::walk_if_known),
    f("double", convert::double, c::one), f("duration", convert::duration_of, c::one),
    f("int", convert::int, c::one), f("string", convert::string, c::bytes_to_text),
    f("timestamp", convert::timestamp, c::one), f("uint", convert::uint, c::one),

    f("startsWith", s::starts_with, c::affix), f("endsWith", s::ends_with, c::affix),
    f("contains", s::contains, c::contains), ahead("matches", s::matches, c::matches),
    f("charAt", s::char_at, c::one), f("indexOf", l::index_of, c::traversal),
    f("lastIndexOf", l::last_index_of, c::traversal), f("lowerAscii", s::lower_ascii, c::walk),
    f("upperAscii", s::upper_ascii, c::walk), f("replace", s::replace, c::walk_twice),
    f("split", s::split, c::walk_twice), f("substring", s::substring, c::walk),
    f("trim", s::trim, c::walk), f("join", s::join, c::join), f("format", format::format, c::walk),
    f("@formatPlainly", format_plain::format, c::walk), f("@indexOfWithin", s::index_of_within, c::traversal),
    f("@lastIndexOfWithin", s::last_index_of_within, c::traversal),
    f("strings.quote", s::quote, c::walk), ahead("find", s::find, c::regex), ahead("findAll", s::find_all, c::regex),

    f("getFullYear", t::full_year, c::one), f("getMonth", t::month, c::one),
    f("getDayOfYear", t::day_of_year, c::one), f("getDayOfMonth", t::day_of_month, c::one),
    f("getDate", t::date, c::one), f("getDayOfWeek", t::day_of_week, c::one),
    f("getHours", t::hours, c::one), f("getMinutes", t::minutes, c::one),
    f("getSeconds", t::seconds, c::one), f("getMilliseconds", t::milliseconds, c::one),

    f("isSorted", l::is_sorted, c::traversal), f("sum", l::sum, c::traversal),
    f("min", l::min, c::traversal), f("max", l::max, c::traversal),
    f("slice", l::slice, c::made_list), f("flatten", l::flatten, c::flatten),
    f("sort", l::sort, c::sort), f("@sortByAssociatedKeys", l::sort_by_keys, c::sort_by),
    ahead("distinct", l::distinct, c::distinct), f("reverse", l::reverse, c::made_list), f("@reverseText", m::reverse, c::walk),
    f("lists.range", l::range, c::made_list), f("first", l::first, c::one), f("last", l::last, c::one),
    ahead("sets.contains", l::sets_contains, c::sets), ahead("sets.equivalent", l::sets_equivalent, c::sets_twice),
    ahead("sets.intersects", l::sets_intersects, c::sets),

    f("@reread", opt::reread_inside, c::nothing), f("optional.of", opt::of, c::one), f("optional.ofNonZeroValue", opt::of_non_zero, c::one),
    f("optional.none", opt::none, c::one), f("optional.unwrap", opt::unwrap, c::one),
    f("unwrapOpt", opt::unwrap, c::one), f("hasValue", opt::has_value, c::one),
    f("value", opt::value, c::one), f("jsonpatch.escapeKey", opt::escape_key, c::walk),

    f("url", k::url, c::walk), f("isURL", k::is_url, c::one), f("getScheme", k::scheme, c::one),
    f("getHost", k::host, c::one), f("getHostname", k::hostname, c::one), f("getPort", k::port, c::one),
    f("getEscapedPath", k::path, c::one), f("getQuery", k::query, c::one),
    f("quantity", k::quantity, c::walk), f("isQuantity", k::is_quantity, c::walk),
    f("sign", k::sign, c::one), f("isLessThan", k::is_less_than, c::one),
    f("isGreaterThan", k::is_greater_than, c::one), f("compareTo", k::compare_to, c::one),
    f("asApproximateFloat", k::approximate_float, c::one), f("asInteger", k::as_integer, c::one),
    f("isInteger", k::is_integer, c::one), f("add", k::add, c::one), f("sub", k::sub, c::one),
    f("semver", k::semver, c::walk), f("isSemver", k::is_semver, c::walk), f("major", k::major, c::one),
    f("minor", k::minor, c::one), f("patch", k::patch, c::one),

    f("format.named", n::named, c::one), f("validate", n::validate, n::cost),
    f("format.dns1123Label", n::dns1123_label, c::one),
    f("format.dns1123Subdomain", n::dns1123_subdomain, c::one),
    f("format.dns1035Label", n::dns1035_label, c::one),
    f("format.qualifiedName", n::qualified_name, c::one),
    f("format.dns1123LabelPrefix", n::dns1123_label_prefix, c::one),
    f("format.dns1123SubdomainPrefix", n::dns1123_subdomain_prefix, c::one),
    f("format.dns1035LabelPrefix", n::dns1035_label_prefix, c::one),
    f("format.labelValue", n::label_value, c::one), f("format.uri", n::uri_format, c::one),
    f("format.uuid", n::uuid_format, c::one), f("format.byte", n::byte_format, c::one),
    f("format.date", n::date_format, c::one), f("format.datetime", n::datetime_format, c::one),

    f("ip", net::ip, c::parse_or_access), f("isIP", net::is_ip, c::walk),
    f("ip.isCanonical", net::is_canonical, c::walk_twice), f("family", net::family, c::one),
    f("isUnspecified", net::is_unspecified, c::one), f("isLoopback", net::is_loopback, c::one),
    f("isLinkLocalMulticast", net::is_link_local_multicast, c::one),
    f("isLinkLocalUnicast", net::is_link_local_unicast, c::one),
    f("isGlobalUnicast", net::is_global_unicast, c::one), f("cidr", net::cidr, c::walk),
    f("isCIDR", net::is_cidr, c::walk), f("containsIP", net::contains_ip, c::contains_ip),
    f("containsCIDR", net::contains_cidr, c::contains_cidr), f("masked", net::masked, c::one),
    f("prefixLength", net::prefix_length, c::one),

    f("path", a::path, c::one), f("group", a::group, c::one),
    f("serviceAccount", a::service_account, c::one), f("resource", a::resource, c::one),
    f("subresource", a::subresource, c::one), f("namespace", a::namespace, c::one),
    f("name", a::name, c::one), f("fieldSelector", a::field_selector, c::selector),
    f("labelSelector", a::label_selector, c::selector), asks("check", a::ask, c::check),
    asks("allowed", a::allowed, c::one), asks("reason", a::reason, c::one),
    asks("errored", a::errored, c::one), asks("error", a::error, c::one),

    f("orValue", opt::or_value, c::one), asks("get", w::get, c::one), asks("Get", w::get, c::one), asks("list", w::list, c::one),
    asks("List", w::list, c::one), asks("post", w::post, c::one), asks("Post", w::post, c::one),
    asks("toGVR", w::resource_name, c::one), asks("ToGVR", w::resource_name, c::one),
    asks("client", w::client, c::one), asks("Client", w::client, c::one),
    asks("getMetadata", w::image_data, c::one), asks("GetMetadata", w::image_data, c::one),
    asks("apply", w::apply, c::one), asks("Apply", w::apply, c::one),

    f("sha1", d::sha1, c::one), f("hash.sha1", d::sha1, c::one), f("sha256", d::sha256, c::one),
    f("hash.sha256", d::sha256, c::one), f("md5", d::md5, c::one), f("hash.md5", d::md5, c::one),
    f("math.round", m::round, c::one), f("math.@max", m::greatest, c::one),
    f("math.@min", m::least, c::one), f("math.ceil", m::ceil, c::one), f("math.floor", m::floor, c::one),
    f("math.trunc", m::trunc, c::one), f("math.abs", m::abs, c::one), f("math.sign", m::sign, c::one),
    f("math.sqrt", m::sqrt, c::one), f("math.isNaN", m::is_nan, c::one), f("math.isInf", m::is_inf, c::one),
    f("math.isFinite", m::is_finite, c::one), f("math.bitAnd", m::bit_and, c::one),
    f("math.bitOr", m::bit_or, c::one), f("math.bitXor", m::bit_xor, c::one), f("math.bitNot", m::bit_not, c::one),
    f("math.bitShiftLeft", m::shift_left, c::one), f("math.bitShiftRight", m::shift_right, c::one),
    f("regex.replace", x::replace, c::one), f("regex.extract", x::extract, c::one),
    f("regex.extractAll", x::extract_all, c::one),
    f("base64.encode", m::encode, c::walk), f("base64.decode", m::decode, c::walk), asks("random", d::random_text, c::one),
    asks("random.random", d::random_text, c::one), asks("time.now", d::now, c::one),
    f("time.toCron", d::to_cron, c::one), f("time.truncate", d::truncate, c::one),
    f("listObjToMap", d::list_to_map, c::one), f("transform.listObjToMap", d::list_to_map, c::one),
    f("gzip.compress", d::compress, c::one), f("gzip.decompress", d::decompress, c::one),
    f("x509.decode", d::certificate, c::one), f("parseServiceAccount", d::service_account, c::one),
    f("user.parseServiceAccount", d::service_account, c::one), f("unmarshal", d::unmarshal, c::one),
    f("marshal", d::marshal, c::one), f("parse", d::parse_yaml, c::one),

    f("http.Allowed", p::http_allowed, c::one), f("http.Denied", p::http_denied, c::one),
    f("envoy.Allowed", p::envoy_allowed, c::one), f("envoy.Denied", p::envoy_denied, c::one),
    f("envoy.Header", p::envoy_header, c::one), f("envoy.QueryParam", p::envoy_query, c::one),
    f("Response", p::response, c::one), f("Header", p::header, c::one), f("QueryParam", p::query, c::one),
    f("KeepEmptyValue", p::keep_empty, c::one), f("WithHeader", p::with_header, c::one),
    f("WithoutHeader", p::without_header, c::one), f("WithResponseHeader", p::with_response_header, c::one),
    f("WithQueryParam", p::with_query, c::one), f("WithoutQueryParam", p::without_query, c::one),
    f("WithBody", p::with_body, c::one), f("WithMessage", p::with_message, c::one),
    f("WithMetadata", p::with_metadata, c::one), asks("jwt.Decode", p::decode_token, c::one), asks("jwks.Fetch", j::fetch, c::one),
    asks("Parse", mcp::parse, c::one), f("GetStringArgument", mcp::text, c::one),
    f("GetIntArgument", mcp::int, c::one), f("GetFloatArgument", mcp::float, c::one),
    f("GetBoolArgument", mcp::bool, c::one), f("GetStringSliceArgument", mcp::texts, c::one),
    f("Unmarshal", d::unmarshal, c::one), f("Marshal", d::marshal, c::one),

    asks("verifyImageSignatures", e::signatures, c::one), asks("verifyAttestationSignatures", e::statements, c::one),
    asks("getImageData", e::data, c::one), asks("extractPayload", e::payload, c::one),

    f("image", i::image, c::one), f("parseImageReference", i::image, c::one),
    f("isImage", i::is_image, c::one), f("containsDigest", i::contains_digest, c::one),
    f("registry", i::registry, c::one), f("repository", i::repository, c::one),
    f("tag", i::tag, c::one), f("digest", i::digest, c::one), f("identifier", i::identifier, c::one),
    f("identifierWithSeparator", i::identifier_with_separator, c::one),
];
