//! CEL's rows of the registry, see `functions::registry`.

use super::call::{Call, CallResult};
use super::cost as c;
use super::cost::Charge;
use super::{
    authorizer as a, convert, data as d, external_data as w, format, format_plain, gzip,
    image_reference as i, image_verification as e, key_set as j, kubernetes as k, lists as l, math as m, mcp,
    named_format as n, network as net, operators as o, optional as opt, patterns as x, proxy as p,
    strings as s, time as t, token,
};
use crate::row::Dependency::{Chance, Clock, Cluster, Receiver, Registry, Services};
use crate::row::Function;
use crate::row::Operation::{self, *};
use crate::row::{Constants, Cost, Dispatch, Language, Overloads, Run};
use ephor_value::{Fault, Value};

type Amount = fn(&Charge<'_>) -> u64;

const fn row(name: &'static str, operation: Operation, run: Run, amount: Amount, ahead: bool) -> Function {
    Function {
        language: Language::Cel,
        name,
        shown: name,
        overloads: Overloads::Declared,
        operation,
        dependency: None,
        fails: true,
        cost: Cost::Counted { amount, ahead, aborts: None },
        folds: false,
        constants: Constants::Unprepared,
        dispatch: Dispatch::ByOverload,
        run,
        kyverno: false,
        note: "",
        examples: &[],
    }
}

const fn f(
    name: &'static str,
    operation: Operation,
    run: fn(&Call<'_>) -> CallResult,
    amount: Amount,
) -> Function {
    row(name, operation, Run::Strict(run), amount, false)
}

/// A function that takes as long as it costs, which its arguments alone determine.
const fn ahead(
    name: &'static str,
    operation: Operation,
    run: fn(&Call<'_>) -> CallResult,
    amount: Amount,
) -> Function {
    row(name, operation, Run::Strict(run), amount, true)
}

/// A function whose calls are lowered to nodes of their own.
const fn node(name: &'static str, operation: Operation) -> Function {
    row(name, operation, Run::Node, c::nothing, false)
}

/// `sum` of a list whose items have a type: the sum of nothing has it.
const fn sum(name: &'static str, operation: Operation, run: fn(&Call<'_>) -> CallResult) -> Function {
    Function { shown: "sum", ..f(name, operation, run, c::traversal).folded().in_place_of("sum") }
}

/// The row of `sum` for a list whose items have a type.
pub fn sum_of(item: &str) -> &'static str {
    match item {
        "uint" => "@sumOfUints",
        "double" => "@sumOfDoubles",
        "google.protobuf.Duration" => "@sumOfDurations",
        _ => "sum",
    }
}

/// The columns that only CEL's rows have.
impl Function {
    const fn converted(mut self) -> Self {
        self.constants = Constants::Converted;
        self
    }

    const fn pattern(mut self, late: bool) -> Self {
        self.constants = Constants::Pattern { late };
        self
    }

    const fn operator(mut self) -> Self {
        self.dispatch = Dispatch::Operator;
        self
    }

    const fn receiver(mut self) -> Self {
        self.dispatch = Dispatch::Receiver;
        self
    }

    const fn in_place_of(mut self, name: &'static str) -> Self {
        self.overloads = Overloads::InPlaceOf(name);
        self
    }

    const fn aborts(mut self, aborts: fn(&Charge<'_>) -> Option<Fault>) -> Self {
        if let Cost::Counted { amount, ahead, .. } = self.cost {
            self.cost = Cost::Counted { amount, ahead, aborts: Some(aborts) };
        }
        self
    }
}

/// The rows.
#[rustfmt::skip]
pub static TABLE: &[Function] = &[
    node("_&&_", And), node("_||_", Or), node("_?_:_", Choose), node("_[_]", Index),
    node("_[?_]", OptionalIndex), node("_?._", OptionalIndex), node("or", OrElse),
    node("cel.@mapInsert", Insert), node("@not_strictly_false", Unchanged),
    f("_+_", Add, o::add, c::addition).folded().operator(),
    f("_-_", Subtract, o::subtract, c::one).folded().operator(),
    f("_*_", Multiply, o::multiply, c::one).folded().operator(),
    f("_/_", Divide, o::divide, c::one).folded().operator(),
    f("_%_", Remainder, o::remainder, c::one).folded().operator(),
    f("-_", Negate, o::negate, c::one).folded().operator(),
    f("!_", Not, o::not, c::one).total().folded().operator(),
    f("_==_", Equal, o::equal, c::equality).total().folded().operator(),
    f("_!=_", Unequal, o::unequal, c::inequality).total().folded().operator(),
    f("@equalsDeclared", Opaque, o::equals_declared, c::equality).in_place_of("_==_"),
    f("@differsFromDeclared", Opaque, o::differs_from_declared, c::equality).in_place_of("_!=_"),
    f("_<_", Less, o::less, c::ordering).folded().operator(),
    f("_<=_", LessOrEqual, o::less_or_equal, c::ordering).folded().operator(),
    f("_>_", Greater, o::greater, c::ordering).folded().operator(),
    f("_>=_", GreaterOrEqual, o::greater_or_equal, c::ordering).folded().operator(),
    f("@in", Member, o::contains, c::membership).total().folded().operator(),
    f("size", Size, o::size, c::one).total().folded().operator(),

    f("type", TypeOf, convert::type_of, c::one).total().converted(),
    f("dyn", Unchanged, convert::dynamic, c::one).total().converted(),
    f("bool", Opaque, convert::boolean, c::one).folded().converted(),
    f("bytes", Opaque, convert::bytes, c::walk_if_known).total().converted(),
    f("double", ToDouble, convert::double, c::one).folded().converted(),
    f("duration", Duration, convert::duration_of, c::one).folded().converted(),
    f("int", ToInt, convert::int, c::one).folded().converted(),
    f("string", ToText, convert::string, c::bytes_to_text).converted(),
    f("timestamp", Timestamp, convert::timestamp, c::one).folded().converted(),
    f("uint", Opaque, convert::uint, c::one).folded().converted(),

    f("startsWith", StartsWith, s::starts_with, c::affix).total().folded(),
    f("endsWith", EndsWith, s::ends_with, c::affix).total().folded(),
    f("contains", Contains, s::contains, c::contains).total().folded(),
    ahead("matches", Matches, s::matches, c::matches).pattern(true), f("charAt", Opaque, s::char_at, c::one),
    f("indexOf", Opaque, l::index_of, c::traversal).folded(),
    f("lastIndexOf", Opaque, l::last_index_of, c::traversal).folded(),
    f("lowerAscii", LowerAscii, s::lower_ascii, c::walk).total(), f("upperAscii", UpperAscii, s::upper_ascii, c::walk).total(),
    f("replace", Replace, s::replace, c::walk_twice).total(), f("split", Split, s::split, c::walk_twice).total(),
    f("substring", Opaque, s::substring, c::walk), f("trim", Trim, s::trim, c::walk).total(),
    f("join", Join, s::join, c::join).total(), f("format", Format, format::format, c::walk).receiver(),
    f("@formatPlainly", Opaque, format_plain::format, c::walk).receiver().in_place_of("format"),
    f("@indexOfWithin", Opaque, l::index_of_within, c::traversal).in_place_of("indexOf"),
    f("@lastIndexOfWithin", Opaque, l::last_index_of_within, c::traversal).in_place_of("lastIndexOf"),
    f("strings.quote", Opaque, s::quote, c::walk).total(), ahead("find", Opaque, s::find, c::regex).pattern(false),
    ahead("findAll", Opaque, s::find_all, c::regex).pattern(false),

    f("getFullYear", Opaque, t::full_year, c::one).folded(), f("getMonth", Opaque, t::month, c::one).folded(),
    f("getDayOfYear", Opaque, t::day_of_year, c::one).folded(), f("getDayOfMonth", Opaque, t::day_of_month, c::one).folded(),
    f("getDate", Opaque, t::date, c::one).folded(), f("getDayOfWeek", Opaque, t::day_of_week, c::one).folded(),
    f("getHours", Opaque, t::hours, c::one).folded(), f("getMinutes", Opaque, t::minutes, c::one).folded(),
    f("getSeconds", Opaque, t::seconds, c::one).folded(), f("getMilliseconds", Opaque, t::milliseconds, c::one).folded(),

    f("isSorted", Opaque, l::is_sorted, c::traversal).total().folded(), f("sum", Sum, l::sum, c::traversal).folded(),
    sum("@sumOfUints", Opaque, |call| l::sum_from(call, Value::UInt(0))),
    sum("@sumOfDoubles", Opaque, |call| l::sum_from(call, Value::Float(0.0))),
    sum("@sumOfDurations", Opaque, |call| l::sum_from(call, Value::Duration(0))),
    f("min", Opaque, l::min, c::traversal).folded(), f("max", Opaque, l::max, c::traversal).folded(),
    f("slice", Opaque, l::slice, c::list_literal), f("flatten", Flatten, l::flatten, c::flatten).aborts(c::aborts_flatten),
    f("sort", Opaque, l::sort, c::sort).operator().aborts(c::aborts_sort),
    f("@sortByAssociatedKeys", Opaque, l::sort_by_keys, c::sort_by).operator().aborts(c::aborts_sort_by),
    ahead("distinct", Opaque, l::distinct, c::distinct).aborts(c::aborts_distinct),
    f("reverse", Opaque, l::reverse, c::list_literal), f("@reverseText", Opaque, m::reverse, c::walk).in_place_of("reverse"),
    f("lists.range", Opaque, l::range, c::list_literal), f("first", Opaque, l::first, c::one).total(),
    f("last", Opaque, l::last, c::one).total(), ahead("includes", Opaque, l::includes, c::traversal).total(),
    ahead("sets.contains", Opaque, l::sets_contains, c::sets).total(),
    ahead("sets.equivalent", Opaque, l::sets_equivalent, c::sets_twice).total(),
    ahead("sets.intersects", Opaque, l::sets_intersects, c::sets).total(),

    f("@reread", Opaque, opt::reread_inside, c::nothing).in_place_of("_?_:_"),
    f("optional.of", OptionalOf, opt::of, c::one).total(), f("optional.ofNonZeroValue", OptionalOfNonZero, opt::of_non_zero, c::one).total(),
    f("optional.none", OptionalNone, opt::none, c::one).total(), f("optional.unwrap", Opaque, opt::unwrap, c::one).total(),
    f("unwrapOpt", Opaque, opt::unwrap, c::one).total(), f("hasValue", Present, opt::has_value, c::one).total(),
    f("value", OptionalValue, opt::value, c::one), f("jsonpatch.escapeKey", Opaque, opt::escape_key, c::walk).total(),

    f("url", Opaque, k::url, c::walk).folded(), f("isURL", Opaque, k::is_url, c::one).total().folded(),
    f("getScheme", Opaque, k::scheme, c::one).total(), f("getHost", Opaque, k::host, c::one).total(),
    f("getHostname", Opaque, k::hostname, c::one).total(), f("getPort", Opaque, k::port, c::one).total(),
    f("getEscapedPath", Opaque, k::path, c::one).total(), f("getQuery", Opaque, k::query, c::one).total(),
    f("quantity", ToQuantity, k::quantity, c::walk).folded(), f("isQuantity", IsQuantity, k::is_quantity, c::walk).total().folded(),
    f("sign", Opaque, k::sign, c::one).total().folded(), f("isLessThan", IsLessThan, k::is_less_than, c::one).total().folded(),
    f("isGreaterThan", IsGreaterThan, k::is_greater_than, c::one).total().folded(),
    f("compareTo", CompareTo, k::compare_to, c::one).total().folded(),
    f("asApproximateFloat", Opaque, k::approximate_float, c::one).total().folded(),
    f("asInteger", Opaque, k::as_integer, c::one).folded(), f("isInteger", Opaque, k::is_integer, c::one).total().folded(),
    f("add", Opaque, k::add, c::one).folded(), f("sub", Opaque, k::sub, c::one).folded(),
    f("semver", Opaque, k::semver, c::walk).folded(), f("isSemver", Opaque, k::is_semver, c::walk).total().folded(),
    f("major", Opaque, k::major, c::one).total().folded(), f("minor", Opaque, k::minor, c::one).total().folded(),
    f("patch", Opaque, k::patch, c::one).total().folded(),

    f("format.named", Opaque, n::named, c::one).total(), f("validate", Opaque, n::validate, n::cost).total(),
    f("format.dns1123Label", Opaque, n::dns1123_label, c::one).total(),
    f("format.dns1123Subdomain", Opaque, n::dns1123_subdomain, c::one).total(),
    f("format.dns1035Label", Opaque, n::dns1035_label, c::one).total(),
    f("format.qualifiedName", Opaque, n::qualified_name, c::one).total(),
    f("format.dns1123LabelPrefix", Opaque, n::dns1123_label_prefix, c::one).total(),
    f("format.dns1123SubdomainPrefix", Opaque, n::dns1123_subdomain_prefix, c::one).total(),
    f("format.dns1035LabelPrefix", Opaque, n::dns1035_label_prefix, c::one).total(),
    f("format.labelValue", Opaque, n::label_value, c::one).total(), f("format.uri", Opaque, n::uri_format, c::one).total(),
    f("format.uuid", Opaque, n::uuid_format, c::one).total(), f("format.byte", Opaque, n::byte_format, c::one).total(),
    f("format.date", Opaque, n::date_format, c::one).total(),
    f("format.datetime", Opaque, n::datetime_format, c::one).total(),

    f("ip", Opaque, net::ip, c::parse_or_access).folded(), f("isIP", Opaque, net::is_ip, c::walk).total().folded(),
    f("ip.isCanonical", Opaque, net::is_canonical, c::walk_twice).folded(),
    f("family", Opaque, net::family, c::one).total().folded(),
    f("isUnspecified", Opaque, net::is_unspecified, c::one).total().folded(),
    f("isLoopback", Opaque, net::is_loopback, c::one).total().folded(),
    f("isLinkLocalMulticast", Opaque, net::is_link_local_multicast, c::one).total().folded(),
    f("isLinkLocalUnicast", Opaque, net::is_link_local_unicast, c::one).total().folded(),
    f("isGlobalUnicast", Opaque, net::is_global_unicast, c::one).total().folded(),
    f("cidr", Opaque, net::cidr, c::walk).folded(), f("isCIDR", Opaque, net::is_cidr, c::walk).total().folded(),
    f("containsIP", Opaque, net::contains_ip, c::contains_ip).folded(),
    f("containsCIDR", Opaque, net::contains_cidr, c::contains_cidr).folded(),
    f("masked", Opaque, net::masked, c::one).total().folded(), f("isMask", Opaque, net::is_mask, c::one).total().folded(),
    f("prefixLength", Opaque, net::prefix_length, c::one).total().folded(),

    f("path", Opaque, a::path, c::one), f("group", Opaque, a::group, c::one), f("serviceAccount", Opaque, a::service_account, c::one),
    f("resource", Opaque, a::resource, c::one), f("subresource", Opaque, a::subresource, c::one),
    f("namespace", Opaque, a::namespace, c::one), f("name", Opaque, a::name, c::one),
    f("fieldSelector", Opaque, a::field_selector, c::selector), f("labelSelector", Opaque, a::label_selector, c::selector),
    f("check", Opaque, a::decide, c::check).depends_on(Cluster), f("allowed", Opaque, a::allowed, c::one),
    f("reason", Opaque, a::reason, c::one), f("errored", Opaque, a::errored, c::one), f("error", Opaque, a::error, c::one),

    f("orValue", ValueOr, opt::or_value, c::one), f("get", LookUp, w::get, c::one).depends_on(Receiver),
    f("Get", LookUp, w::get, c::one).depends_on(Receiver), f("list", ListObjects, w::list, c::one).depends_on(Receiver),
    f("List", ListObjects, w::list, c::one).depends_on(Receiver), f("post", Post, w::post, c::one).depends_on(Receiver),
    f("Post", Post, w::post, c::one).depends_on(Receiver), f("toGVR", Opaque, w::resource_name, c::one).depends_on(Cluster),
    f("ToGVR", Opaque, w::resource_name, c::one).depends_on(Cluster), f("client", Opaque, w::client, c::one),
    f("Client", Opaque, w::client, c::one), f("getMetadata", LookUpImage, w::image_data, c::one).depends_on(Registry),
    f("GetMetadata", LookUpImage, w::image_data, c::one).depends_on(Registry), f("apply", Apply, w::apply, c::one).depends_on(Cluster),
    f("Apply", Apply, w::apply, c::one).depends_on(Cluster),

    f("sha1", Opaque, d::sha1, c::one).total(), f("hash.sha1", Opaque, d::sha1, c::one).total(),
    f("sha256", Opaque, d::sha256, c::one).total(), f("hash.sha256", Opaque, d::sha256, c::one).total(),
    f("md5", Opaque, d::md5, c::one).total(), f("hash.md5", Opaque, d::md5, c::one).total(),
    f("math.round", Opaque, m::round, c::one).total().folded(), f("math.@max", Opaque, m::greatest, c::one).folded(),
    f("math.@min", Opaque, m::least, c::one).folded(), f("math.ceil", Opaque, m::ceil, c::one).total().folded(),
    f("math.floor", Opaque, m::floor, c::one).total().folded(), f("math.trunc", Opaque, m::trunc, c::one).total().folded(),
    f("math.abs", Opaque, m::abs, c::one).folded(), f("math.sign", Opaque, m::sign, c::one).total().folded(),
    f("math.sqrt", Opaque, m::sqrt, c::one).total().folded(), f("math.isNaN", Opaque, m::is_nan, c::one).total().folded(),
    f("math.isInf", Opaque, m::is_inf, c::one).total().folded(),
    f("math.isFinite", Opaque, m::is_finite, c::one).total().folded(),
    f("math.bitAnd", Opaque, m::bit_and, c::one).total().folded(),
    f("math.bitOr", Opaque, m::bit_or, c::one).total().folded(),
    f("math.bitXor", Opaque, m::bit_xor, c::one).total().folded(),
    f("math.bitNot", Opaque, m::bit_not, c::one).total().folded(),
    f("math.bitShiftLeft", Opaque, m::shift_left, c::one).folded(),
    f("math.bitShiftRight", Opaque, m::shift_right, c::one).folded(), f("regex.replace", ReplaceMatches, x::replace, c::one),
    f("regex.extract", Opaque, x::extract, c::one), f("regex.extractAll", Opaque, x::extract_all, c::one),
    f("base64.encode", Opaque, m::encode, c::walk).total(), f("base64.decode", Opaque, m::decode, c::walk),
    f("random", Opaque, d::random_text, c::one).depends_on(Chance), f("random.random", Opaque, d::random_text, c::one).depends_on(Chance),
    f("time.now", Now, d::now, c::one).total().depends_on(Clock), f("time.toCron", Opaque, d::to_cron, c::one).total(),
    f("time.truncate", Opaque, d::truncate, c::one).total().folded(), f("listObjToMap", Opaque, d::list_to_map, c::one),
    f("transform.listObjToMap", Opaque, d::list_to_map, c::one), f("gzip.compress", Opaque, gzip::compress, c::one),
    f("gzip.decompress", Opaque, gzip::decompress, c::one), f("x509.decode", Opaque, d::certificate, c::one),
    f("parseServiceAccount", Opaque, d::service_account, c::one).total(),
    f("user.parseServiceAccount", Opaque, d::service_account, c::one).total(), f("unmarshal", ParseJson, d::unmarshal, c::one),
    f("marshal", Opaque, d::marshal, c::one), f("parse", Opaque, d::parse_yaml, c::one),

    f("http.Allowed", Opaque, p::http_allowed, c::one), f("http.Denied", Opaque, p::http_denied, c::one),
    f("envoy.Allowed", Opaque, p::envoy_allowed, c::one), f("envoy.Denied", Opaque, p::envoy_denied, c::one),
    f("envoy.Header", Opaque, p::envoy_header, c::one), f("envoy.QueryParam", Opaque, p::envoy_query, c::one),
    f("Response", Opaque, p::response, c::one), f("Header", Opaque, p::header, c::one), f("QueryParam", Opaque, p::query, c::one),
    f("KeepEmptyValue", Opaque, p::keep_empty, c::one), f("WithHeader", Opaque, p::with_header, c::one),
    f("WithoutHeader", Opaque, p::without_header, c::one), f("WithResponseHeader", Opaque, p::with_response_header, c::one),
    f("WithQueryParam", Opaque, p::with_query, c::one), f("WithoutQueryParam", Opaque, p::without_query, c::one),
    f("WithBody", Opaque, p::with_body, c::one), f("WithMessage", Opaque, p::with_message, c::one),
    f("WithMetadata", Opaque, p::with_metadata, c::one), f("jwt.Decode", Opaque, token::decode_token, c::one).depends_on(Clock),
    f("jwks.Fetch", Opaque, j::fetch, c::one).depends_on(Services), f("Parse", Opaque, mcp::parse, c::one),
    f("GetStringArgument", Opaque, mcp::text, c::one), f("GetIntArgument", Opaque, mcp::int, c::one),
    f("GetFloatArgument", Opaque, mcp::float, c::one), f("GetBoolArgument", Opaque, mcp::bool, c::one),
    f("GetStringSliceArgument", Opaque, mcp::texts, c::one), f("Unmarshal", ParseJson, d::unmarshal, c::one),

    f("verifyImageSignatures", Opaque, e::signatures, c::one).depends_on(Registry),
    f("verifyAttestationSignatures", Opaque, e::statements, c::one).depends_on(Registry),
    f("getImageData", Opaque, e::data, c::one).depends_on(Registry), f("extractPayload", Opaque, e::payload, c::one).depends_on(Registry),

    f("image", ParseImage, i::image, c::one), f("parseImageReference", ParseImage, i::image, c::one),
    f("isImage", Opaque, i::is_image, c::one).total().folded(),
    f("containsDigest", Opaque, i::contains_digest, c::one), f("registry", Opaque, i::registry, c::one),
    f("repository", Repository, i::repository, c::one), f("tag", Tag, i::tag, c::one), f("digest", Digest, i::digest, c::one),
    f("identifier", Opaque, i::identifier, c::one),
    f("identifierWithSeparator", Opaque, i::identifier_with_separator, c::one),
];
