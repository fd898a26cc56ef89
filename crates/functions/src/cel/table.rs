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
use crate::row::Classes::{self, Computed, Described, Followed};
use crate::row::Dependency::{Chance, Clock, Cluster, Receiver, Registry, Services};
use crate::row::Function;
use crate::row::Operation::{self, *};
use crate::row::{Constants, Cost, Dispatch, Language, Meaning, Overloads, Run};
use ephor_value::{Fault, Value};

type Amount = fn(&Charge<'_>) -> u64;

const fn row(name: &'static str, classes: Classes, run: Run, amount: Amount, ahead: bool) -> Function {
    Function {
        language: Language::Cel,
        name,
        shown: name,
        overloads: Overloads::Declared,
        meaning: Meaning::Pure,
        classes,
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
    classes: Classes,
    run: fn(&Call<'_>) -> CallResult,
    amount: Amount,
) -> Function {
    row(name, classes, Run::Strict(run), amount, false)
}

/// A function that takes as long as it costs, which its arguments alone determine.
const fn ahead(
    name: &'static str,
    classes: Classes,
    run: fn(&Call<'_>) -> CallResult,
    amount: Amount,
) -> Function {
    row(name, classes, Run::Strict(run), amount, true)
}

/// A function whose calls are lowered to nodes of their own.
const fn node(name: &'static str, classes: Classes, operation: Operation) -> Function {
    row(name, classes, Run::Node, c::nothing, false).means(operation)
}

/// `sum` of a list whose items have a type: the sum of nothing has it.
const fn sum(name: &'static str, classes: Classes, run: fn(&Call<'_>) -> CallResult) -> Function {
    Function { shown: "sum", ..f(name, classes, run, c::traversal).folded().in_place_of("sum") }
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
    node("_&&_", Described, And), node("_||_", Described, Or), node("_?_:_", Described, Choose), node("_[_]", Computed, Index),
    node("_[?_]", Computed, OptionalIndex), node("_?._", Computed, OptionalIndex), node("or", Described, OrElse),
    node("cel.@mapInsert", Computed, Insert), node("@not_strictly_false", Computed, Unchanged),
    f("_+_", Described, o::add, c::addition).means(Add).folded().operator(),
    f("_-_", Computed, o::subtract, c::one).means(Subtract).folded().operator(),
    f("_*_", Computed, o::multiply, c::one).means(Multiply).folded().operator(),
    f("_/_", Computed, o::divide, c::one).means(Divide).folded().operator(),
    f("_%_", Computed, o::remainder, c::one).means(Remainder).folded().operator(),
    f("-_", Computed, o::negate, c::one).means(Negate).folded().operator(),
    f("!_", Described, o::not, c::one).total().means(Not).folded().operator(),
    f("_==_", Described, o::equal, c::equality).total().means(Equal).folded().operator(),
    f("_!=_", Described, o::unequal, c::inequality).total().means(Unequal).folded().operator(),
    f("@equalsDeclared", Computed, o::equals_declared, c::equality).in_place_of("_==_"),
    f("@differsFromDeclared", Computed, o::differs_from_declared, c::equality).in_place_of("_!=_"),
    f("_<_", Described, o::less, c::ordering).means(Less).folded().operator(),
    f("_<=_", Described, o::less_or_equal, c::ordering).means(LessOrEqual).folded().operator(),
    f("_>_", Described, o::greater, c::ordering).means(Greater).folded().operator(),
    f("_>=_", Described, o::greater_or_equal, c::ordering).means(GreaterOrEqual).folded().operator(),
    f("@in", Described, o::contains, c::membership).total().means(Member).folded().operator(),
    f("size", Described, o::size, c::one).total().means(Size).folded().operator(),

    f("type", Described, convert::type_of, c::one).total().means(TypeOf).converted(),
    f("dyn", Described, convert::dynamic, c::one).total().means(Unchanged).converted(),
    f("bool", Computed, convert::boolean, c::one).folded().converted(),
    f("bytes", Computed, convert::bytes, c::walk_if_known).total().converted(),
    f("double", Described, convert::double, c::one).folded().converted(),
    f("duration", Described, convert::duration_of, c::one).means(Duration).folded().converted(),
    f("int", Described, convert::int, c::one).folded().converted(),
    f("string", Described, convert::string, c::bytes_to_text).converted(),
    f("timestamp", Computed, convert::timestamp, c::one).means(Timestamp).folded().converted(),
    f("uint", Computed, convert::uint, c::one).folded().converted(),

    f("startsWith", Described, s::starts_with, c::affix).total().means(StartsWith).folded(),
    f("endsWith", Described, s::ends_with, c::affix).total().means(EndsWith).folded(),
    f("contains", Described, s::contains, c::contains).total().means(Contains).folded(),
    ahead("matches", Described, s::matches, c::matches).means(Matches).pattern(true), f("charAt", Computed, s::char_at, c::one),
    f("indexOf", Computed, l::index_of, c::traversal).folded(),
    f("lastIndexOf", Computed, l::last_index_of, c::traversal).folded(),
    f("lowerAscii", Described, s::lower_ascii, c::walk).total(), f("upperAscii", Described, s::upper_ascii, c::walk).total(),
    f("replace", Followed, s::replace, c::walk_twice).total(), f("split", Followed, s::split, c::walk_twice).total(),
    f("substring", Computed, s::substring, c::walk), f("trim", Followed, s::trim, c::walk).total(),
    f("join", Followed, s::join, c::join).total(), f("format", Computed, format::format, c::walk).means(Format).receiver(),
    f("@formatPlainly", Computed, format_plain::format, c::walk).receiver().in_place_of("format"),
    f("@indexOfWithin", Computed, l::index_of_within, c::traversal).in_place_of("indexOf"),
    f("@lastIndexOfWithin", Computed, l::last_index_of_within, c::traversal).in_place_of("lastIndexOf"),
    f("strings.quote", Computed, s::quote, c::walk).total(), ahead("find", Computed, s::find, c::regex).pattern(false),
    ahead("findAll", Computed, s::find_all, c::regex).pattern(false),

    f("getFullYear", Computed, t::full_year, c::one).folded(), f("getMonth", Computed, t::month, c::one).folded(),
    f("getDayOfYear", Computed, t::day_of_year, c::one).folded(), f("getDayOfMonth", Computed, t::day_of_month, c::one).folded(),
    f("getDate", Computed, t::date, c::one).folded(), f("getDayOfWeek", Computed, t::day_of_week, c::one).folded(),
    f("getHours", Computed, t::hours, c::one).folded(), f("getMinutes", Computed, t::minutes, c::one).folded(),
    f("getSeconds", Computed, t::seconds, c::one).folded(), f("getMilliseconds", Computed, t::milliseconds, c::one).folded(),

    f("isSorted", Computed, l::is_sorted, c::traversal).total().folded(), f("sum", Computed, l::sum, c::traversal).folded(),
    sum("@sumOfUints", Computed, |call| l::sum_from(call, Value::UInt(0))),
    sum("@sumOfDoubles", Computed, |call| l::sum_from(call, Value::Float(0.0))),
    sum("@sumOfDurations", Computed, |call| l::sum_from(call, Value::Duration(0))),
    f("min", Computed, l::min, c::traversal).folded(), f("max", Computed, l::max, c::traversal).folded(),
    f("slice", Computed, l::slice, c::list_literal), f("flatten", Computed, l::flatten, c::flatten).aborts(c::aborts_flatten),
    f("sort", Computed, l::sort, c::sort).operator().aborts(c::aborts_sort),
    f("@sortByAssociatedKeys", Computed, l::sort_by_keys, c::sort_by).operator().aborts(c::aborts_sort_by),
    ahead("distinct", Computed, l::distinct, c::distinct).aborts(c::aborts_distinct),
    f("reverse", Computed, l::reverse, c::list_literal), f("@reverseText", Computed, m::reverse, c::walk).in_place_of("reverse"),
    f("lists.range", Computed, l::range, c::list_literal), f("first", Computed, l::first, c::one).total(),
    f("last", Computed, l::last, c::one).total(), ahead("sets.contains", Computed, l::sets_contains, c::sets).total(),
    ahead("sets.equivalent", Computed, l::sets_equivalent, c::sets_twice).total(),
    ahead("sets.intersects", Computed, l::sets_intersects, c::sets).total(),

    f("@reread", Computed, opt::reread_inside, c::nothing).in_place_of("_?_:_"),
    f("optional.of", Described, opt::of, c::one).total(), f("optional.ofNonZeroValue", Computed, opt::of_non_zero, c::one).total(),
    f("optional.none", Described, opt::none, c::one).total(), f("optional.unwrap", Computed, opt::unwrap, c::one).total(),
    f("unwrapOpt", Computed, opt::unwrap, c::one).total(), f("hasValue", Described, opt::has_value, c::one).total().means(Present),
    f("value", Described, opt::value, c::one), f("jsonpatch.escapeKey", Computed, opt::escape_key, c::walk).total(),

    f("url", Computed, k::url, c::walk).folded(), f("isURL", Computed, k::is_url, c::one).total().folded(),
    f("getScheme", Computed, k::scheme, c::one).total(), f("getHost", Computed, k::host, c::one).total(),
    f("getHostname", Computed, k::hostname, c::one).total(), f("getPort", Computed, k::port, c::one).total(),
    f("getEscapedPath", Computed, k::path, c::one).total(), f("getQuery", Computed, k::query, c::one).total(),
    f("quantity", Described, k::quantity, c::walk).folded(), f("isQuantity", Described, k::is_quantity, c::walk).total().folded(),
    f("sign", Computed, k::sign, c::one).total().folded(), f("isLessThan", Described, k::is_less_than, c::one).total().folded(),
    f("isGreaterThan", Described, k::is_greater_than, c::one).total().folded(),
    f("compareTo", Described, k::compare_to, c::one).total().folded(),
    f("asApproximateFloat", Computed, k::approximate_float, c::one).total().folded(),
    f("asInteger", Computed, k::as_integer, c::one).folded(), f("isInteger", Computed, k::is_integer, c::one).total().folded(),
    f("add", Computed, k::add, c::one).folded(), f("sub", Computed, k::sub, c::one).folded(),
    f("semver", Computed, k::semver, c::walk).folded(), f("isSemver", Computed, k::is_semver, c::walk).total().folded(),
    f("major", Computed, k::major, c::one).total().folded(), f("minor", Computed, k::minor, c::one).total().folded(),
    f("patch", Computed, k::patch, c::one).total().folded(),

    f("format.named", Computed, n::named, c::one).total(), f("validate", Computed, n::validate, n::cost).total(),
    f("format.dns1123Label", Computed, n::dns1123_label, c::one).total(),
    f("format.dns1123Subdomain", Computed, n::dns1123_subdomain, c::one).total(),
    f("format.dns1035Label", Computed, n::dns1035_label, c::one).total(),
    f("format.qualifiedName", Computed, n::qualified_name, c::one).total(),
    f("format.dns1123LabelPrefix", Computed, n::dns1123_label_prefix, c::one).total(),
    f("format.dns1123SubdomainPrefix", Computed, n::dns1123_subdomain_prefix, c::one).total(),
    f("format.dns1035LabelPrefix", Computed, n::dns1035_label_prefix, c::one).total(),
    f("format.labelValue", Computed, n::label_value, c::one).total(), f("format.uri", Computed, n::uri_format, c::one).total(),
    f("format.uuid", Computed, n::uuid_format, c::one).total(), f("format.byte", Computed, n::byte_format, c::one).total(),
    f("format.date", Computed, n::date_format, c::one).total(),
    f("format.datetime", Computed, n::datetime_format, c::one).total(),

    f("ip", Computed, net::ip, c::parse_or_access).folded(), f("isIP", Computed, net::is_ip, c::walk).total().folded(),
    f("ip.isCanonical", Computed, net::is_canonical, c::walk_twice).folded(),
    f("family", Computed, net::family, c::one).total().folded(),
    f("isUnspecified", Computed, net::is_unspecified, c::one).total().folded(),
    f("isLoopback", Computed, net::is_loopback, c::one).total().folded(),
    f("isLinkLocalMulticast", Computed, net::is_link_local_multicast, c::one).total().folded(),
    f("isLinkLocalUnicast", Computed, net::is_link_local_unicast, c::one).total().folded(),
    f("isGlobalUnicast", Computed, net::is_global_unicast, c::one).total().folded(),
    f("cidr", Computed, net::cidr, c::walk).folded(), f("isCIDR", Computed, net::is_cidr, c::walk).total().folded(),
    f("containsIP", Computed, net::contains_ip, c::contains_ip).folded(),
    f("containsCIDR", Computed, net::contains_cidr, c::contains_cidr).folded(),
    f("masked", Computed, net::masked, c::one).total().folded(),
    f("prefixLength", Computed, net::prefix_length, c::one).total().folded(),

    f("path", Computed, a::path, c::one), f("group", Computed, a::group, c::one), f("serviceAccount", Computed, a::service_account, c::one),
    f("resource", Computed, a::resource, c::one), f("subresource", Computed, a::subresource, c::one),
    f("namespace", Computed, a::namespace, c::one), f("name", Computed, a::name, c::one),
    f("fieldSelector", Computed, a::field_selector, c::selector), f("labelSelector", Computed, a::label_selector, c::selector),
    f("check", Computed, a::decide, c::check).depends_on(Cluster), f("allowed", Computed, a::allowed, c::one),
    f("reason", Computed, a::reason, c::one), f("errored", Computed, a::errored, c::one), f("error", Computed, a::error, c::one),

    f("orValue", Described, opt::or_value, c::one), f("get", Computed, w::get, c::one).depends_on(Receiver),
    f("Get", Computed, w::get, c::one).depends_on(Receiver), f("list", Computed, w::list, c::one).depends_on(Receiver),
    f("List", Computed, w::list, c::one).depends_on(Receiver), f("post", Computed, w::post, c::one).depends_on(Receiver),
    f("Post", Computed, w::post, c::one).depends_on(Receiver), f("toGVR", Computed, w::resource_name, c::one).depends_on(Cluster),
    f("ToGVR", Computed, w::resource_name, c::one).depends_on(Cluster), f("client", Computed, w::client, c::one),
    f("Client", Computed, w::client, c::one), f("getMetadata", Computed, w::image_data, c::one).depends_on(Registry),
    f("GetMetadata", Computed, w::image_data, c::one).depends_on(Registry), f("apply", Computed, w::apply, c::one).depends_on(Cluster),
    f("Apply", Computed, w::apply, c::one).depends_on(Cluster),

    f("sha1", Computed, d::sha1, c::one).total(), f("hash.sha1", Computed, d::sha1, c::one).total(),
    f("sha256", Computed, d::sha256, c::one).total(), f("hash.sha256", Computed, d::sha256, c::one).total(),
    f("md5", Computed, d::md5, c::one).total(), f("hash.md5", Computed, d::md5, c::one).total(),
    f("math.round", Computed, m::round, c::one).total().folded(), f("math.@max", Computed, m::greatest, c::one).folded(),
    f("math.@min", Computed, m::least, c::one).folded(), f("math.ceil", Computed, m::ceil, c::one).total().folded(),
    f("math.floor", Computed, m::floor, c::one).total().folded(), f("math.trunc", Computed, m::trunc, c::one).total().folded(),
    f("math.abs", Computed, m::abs, c::one).folded(), f("math.sign", Computed, m::sign, c::one).total().folded(),
    f("math.sqrt", Computed, m::sqrt, c::one).total().folded(), f("math.isNaN", Computed, m::is_nan, c::one).total().folded(),
    f("math.isInf", Computed, m::is_inf, c::one).total().folded(),
    f("math.isFinite", Computed, m::is_finite, c::one).total().folded(),
    f("math.bitAnd", Computed, m::bit_and, c::one).total().folded(),
    f("math.bitOr", Computed, m::bit_or, c::one).total().folded(),
    f("math.bitXor", Computed, m::bit_xor, c::one).total().folded(),
    f("math.bitNot", Computed, m::bit_not, c::one).total().folded(),
    f("math.bitShiftLeft", Computed, m::shift_left, c::one).folded(),
    f("math.bitShiftRight", Computed, m::shift_right, c::one).folded(), f("regex.replace", Computed, x::replace, c::one),
    f("regex.extract", Computed, x::extract, c::one), f("regex.extractAll", Computed, x::extract_all, c::one),
    f("base64.encode", Computed, m::encode, c::walk).total(), f("base64.decode", Computed, m::decode, c::walk),
    f("random", Computed, d::random_text, c::one).depends_on(Chance), f("random.random", Computed, d::random_text, c::one).depends_on(Chance),
    f("time.now", Computed, d::now, c::one).total().depends_on(Clock), f("time.toCron", Computed, d::to_cron, c::one).total(),
    f("time.truncate", Computed, d::truncate, c::one).total().folded(), f("listObjToMap", Computed, d::list_to_map, c::one),
    f("transform.listObjToMap", Computed, d::list_to_map, c::one), f("gzip.compress", Computed, gzip::compress, c::one),
    f("gzip.decompress", Computed, gzip::decompress, c::one), f("x509.decode", Computed, d::certificate, c::one),
    f("parseServiceAccount", Computed, d::service_account, c::one).total(),
    f("user.parseServiceAccount", Computed, d::service_account, c::one).total(), f("unmarshal", Computed, d::unmarshal, c::one),
    f("marshal", Computed, d::marshal, c::one), f("parse", Computed, d::parse_yaml, c::one),

    f("http.Allowed", Computed, p::http_allowed, c::one), f("http.Denied", Computed, p::http_denied, c::one),
    f("envoy.Allowed", Computed, p::envoy_allowed, c::one), f("envoy.Denied", Computed, p::envoy_denied, c::one),
    f("envoy.Header", Computed, p::envoy_header, c::one), f("envoy.QueryParam", Computed, p::envoy_query, c::one),
    f("Response", Computed, p::response, c::one), f("Header", Computed, p::header, c::one), f("QueryParam", Computed, p::query, c::one),
    f("KeepEmptyValue", Computed, p::keep_empty, c::one), f("WithHeader", Computed, p::with_header, c::one),
    f("WithoutHeader", Computed, p::without_header, c::one), f("WithResponseHeader", Computed, p::with_response_header, c::one),
    f("WithQueryParam", Computed, p::with_query, c::one), f("WithoutQueryParam", Computed, p::without_query, c::one),
    f("WithBody", Computed, p::with_body, c::one), f("WithMessage", Computed, p::with_message, c::one),
    f("WithMetadata", Computed, p::with_metadata, c::one), f("jwt.Decode", Computed, token::decode_token, c::one).depends_on(Clock),
    f("jwks.Fetch", Computed, j::fetch, c::one).depends_on(Services), f("Parse", Computed, mcp::parse, c::one),
    f("GetStringArgument", Computed, mcp::text, c::one), f("GetIntArgument", Computed, mcp::int, c::one),
    f("GetFloatArgument", Computed, mcp::float, c::one), f("GetBoolArgument", Computed, mcp::bool, c::one),
    f("GetStringSliceArgument", Computed, mcp::texts, c::one), f("Unmarshal", Computed, d::unmarshal, c::one),

    f("verifyImageSignatures", Computed, e::signatures, c::one).depends_on(Registry),
    f("verifyAttestationSignatures", Computed, e::statements, c::one).depends_on(Registry),
    f("getImageData", Computed, e::data, c::one).depends_on(Registry), f("extractPayload", Computed, e::payload, c::one).depends_on(Registry),

    f("image", Computed, i::image, c::one), f("parseImageReference", Computed, i::image, c::one),
    f("isImage", Computed, i::is_image, c::one).total().folded(),
    f("containsDigest", Computed, i::contains_digest, c::one), f("registry", Computed, i::registry, c::one),
    f("repository", Computed, i::repository, c::one), f("tag", Computed, i::tag, c::one), f("digest", Computed, i::digest, c::one),
    f("identifier", Computed, i::identifier, c::one),
    f("identifierWithSeparator", Computed, i::identifier_with_separator, c::one),
];
