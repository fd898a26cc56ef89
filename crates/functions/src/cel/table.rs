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
use crate::row::{Constants, Cost, Dispatch, Language, Meaning, Overloads, Run};
use ephor_value::{Fault, Value};

type Amount = fn(&Charge<'_>) -> u64;

const fn row(name: &'static str, run: Run, amount: Amount, ahead: bool) -> Function {
    Function {
        language: Language::Cel,
        name,
        shown: name,
        overloads: Overloads::Declared,
        meaning: Meaning::Pure,
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

const fn f(name: &'static str, run: fn(&Call<'_>) -> CallResult, amount: Amount) -> Function {
    row(name, Run::Strict(run), amount, false)
}

/// A function that takes as long as it costs, which its arguments alone determine.
const fn ahead(name: &'static str, run: fn(&Call<'_>) -> CallResult, amount: Amount) -> Function {
    row(name, Run::Strict(run), amount, true)
}

/// A function whose calls are lowered to nodes of their own.
const fn node(name: &'static str, operation: Operation) -> Function {
    row(name, Run::Node, c::nothing, false).means(operation)
}

/// `sum` of a list whose items have a type: the sum of nothing has it.
const fn sum(name: &'static str, run: fn(&Call<'_>) -> CallResult) -> Function {
    Function { shown: "sum", ..f(name, run, c::traversal).folded().in_place_of("sum") }
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
    f("_+_", o::add, c::addition).means(Add).folded().operator(),
    f("_-_", o::subtract, c::one).means(Subtract).folded().operator(),
    f("_*_", o::multiply, c::one).means(Multiply).folded().operator(),
    f("_/_", o::divide, c::one).means(Divide).folded().operator(),
    f("_%_", o::remainder, c::one).means(Remainder).folded().operator(),
    f("-_", o::negate, c::one).means(Negate).folded().operator(),
    f("!_", o::not, c::one).total().means(Not).folded().operator(),
    f("_==_", o::equal, c::equality).total().means(Equal).folded().operator(),
    f("_!=_", o::unequal, c::inequality).total().means(Unequal).folded().operator(),
    f("@equalsDeclared", o::equals_declared, c::equality).in_place_of("_==_"),
    f("@differsFromDeclared", o::differs_from_declared, c::equality).in_place_of("_!=_"),
    f("_<_", o::less, c::ordering).means(Less).folded().operator(),
    f("_<=_", o::less_or_equal, c::ordering).means(LessOrEqual).folded().operator(),
    f("_>_", o::greater, c::ordering).means(Greater).folded().operator(),
    f("_>=_", o::greater_or_equal, c::ordering).means(GreaterOrEqual).folded().operator(),
    f("@in", o::contains, c::membership).total().means(Member).folded().operator(),
    f("size", o::size, c::one).total().means(Size).folded().operator(),

    f("type", convert::type_of, c::one).total().means(TypeOf).converted(),
    f("dyn", convert::dynamic, c::one).total().means(Unchanged).converted(),
    f("bool", convert::boolean, c::one).folded().converted(),
    f("bytes", convert::bytes, c::walk_if_known).total().converted(),
    f("double", convert::double, c::one).folded().converted(),
    f("duration", convert::duration_of, c::one).means(Duration).folded().converted(),
    f("int", convert::int, c::one).folded().converted(),
    f("string", convert::string, c::bytes_to_text).converted(),
    f("timestamp", convert::timestamp, c::one).means(Timestamp).folded().converted(),
    f("uint", convert::uint, c::one).folded().converted(),

    f("startsWith", s::starts_with, c::affix).total().means(StartsWith).folded(),
    f("endsWith", s::ends_with, c::affix).total().means(EndsWith).folded(),
    f("contains", s::contains, c::contains).total().means(Contains).folded(),
    ahead("matches", s::matches, c::matches).means(Matches).pattern(true), f("charAt", s::char_at, c::one),
    f("indexOf", l::index_of, c::traversal).folded(),
    f("lastIndexOf", l::last_index_of, c::traversal).folded(),
    f("lowerAscii", s::lower_ascii, c::walk).total(), f("upperAscii", s::upper_ascii, c::walk).total(),
    f("replace", s::replace, c::walk_twice).total(), f("split", s::split, c::walk_twice).total(),
    f("substring", s::substring, c::walk), f("trim", s::trim, c::walk).total(),
    f("join", s::join, c::join).total(), f("format", format::format, c::walk).means(Format).receiver(),
    f("@formatPlainly", format_plain::format, c::walk).receiver().in_place_of("format"),
    f("@indexOfWithin", l::index_of_within, c::traversal).in_place_of("indexOf"),
    f("@lastIndexOfWithin", l::last_index_of_within, c::traversal).in_place_of("lastIndexOf"),
    f("strings.quote", s::quote, c::walk).total(), ahead("find", s::find, c::regex).pattern(false),
    ahead("findAll", s::find_all, c::regex).pattern(false),

    f("getFullYear", t::full_year, c::one).folded(), f("getMonth", t::month, c::one).folded(),
    f("getDayOfYear", t::day_of_year, c::one).folded(), f("getDayOfMonth", t::day_of_month, c::one).folded(),
    f("getDate", t::date, c::one).folded(), f("getDayOfWeek", t::day_of_week, c::one).folded(),
    f("getHours", t::hours, c::one).folded(), f("getMinutes", t::minutes, c::one).folded(),
    f("getSeconds", t::seconds, c::one).folded(), f("getMilliseconds", t::milliseconds, c::one).folded(),

    f("isSorted", l::is_sorted, c::traversal).total().folded(), f("sum", l::sum, c::traversal).folded(),
    sum("@sumOfUints", |call| l::sum_from(call, Value::UInt(0))),
    sum("@sumOfDoubles", |call| l::sum_from(call, Value::Float(0.0))),
    sum("@sumOfDurations", |call| l::sum_from(call, Value::Duration(0))),
    f("min", l::min, c::traversal).folded(), f("max", l::max, c::traversal).folded(),
    f("slice", l::slice, c::list_literal), f("flatten", l::flatten, c::flatten).aborts(c::aborts_flatten),
    f("sort", l::sort, c::sort).operator().aborts(c::aborts_sort),
    f("@sortByAssociatedKeys", l::sort_by_keys, c::sort_by).operator().aborts(c::aborts_sort_by),
    ahead("distinct", l::distinct, c::distinct).aborts(c::aborts_distinct),
    f("reverse", l::reverse, c::list_literal), f("@reverseText", m::reverse, c::walk).in_place_of("reverse"),
    f("lists.range", l::range, c::list_literal), f("first", l::first, c::one).total(),
    f("last", l::last, c::one).total(), ahead("sets.contains", l::sets_contains, c::sets).total(),
    ahead("sets.equivalent", l::sets_equivalent, c::sets_twice).total(),
    ahead("sets.intersects", l::sets_intersects, c::sets).total(),

    f("@reread", opt::reread_inside, c::nothing).in_place_of("_?_:_"),
    f("optional.of", opt::of, c::one).total(), f("optional.ofNonZeroValue", opt::of_non_zero, c::one).total(),
    f("optional.none", opt::none, c::one).total(), f("optional.unwrap", opt::unwrap, c::one).total(),
    f("unwrapOpt", opt::unwrap, c::one).total(), f("hasValue", opt::has_value, c::one).total().means(Present),
    f("value", opt::value, c::one), f("jsonpatch.escapeKey", opt::escape_key, c::walk).total(),

    f("url", k::url, c::walk).folded(), f("isURL", k::is_url, c::one).total().folded(),
    f("getScheme", k::scheme, c::one).total(), f("getHost", k::host, c::one).total(),
    f("getHostname", k::hostname, c::one).total(), f("getPort", k::port, c::one).total(),
    f("getEscapedPath", k::path, c::one).total(), f("getQuery", k::query, c::one).total(),
    f("quantity", k::quantity, c::walk).folded(), f("isQuantity", k::is_quantity, c::walk).total().folded(),
    f("sign", k::sign, c::one).total().folded(), f("isLessThan", k::is_less_than, c::one).total().folded(),
    f("isGreaterThan", k::is_greater_than, c::one).total().folded(),
    f("compareTo", k::compare_to, c::one).total().folded(),
    f("asApproximateFloat", k::approximate_float, c::one).total().folded(),
    f("asInteger", k::as_integer, c::one).folded(), f("isInteger", k::is_integer, c::one).total().folded(),
    f("add", k::add, c::one).folded(), f("sub", k::sub, c::one).folded(),
    f("semver", k::semver, c::walk).folded(), f("isSemver", k::is_semver, c::walk).total().folded(),
    f("major", k::major, c::one).total().folded(), f("minor", k::minor, c::one).total().folded(),
    f("patch", k::patch, c::one).total().folded(),

    f("format.named", n::named, c::one).total(), f("validate", n::validate, n::cost).total(),
    f("format.dns1123Label", n::dns1123_label, c::one).total(),
    f("format.dns1123Subdomain", n::dns1123_subdomain, c::one).total(),
    f("format.dns1035Label", n::dns1035_label, c::one).total(),
    f("format.qualifiedName", n::qualified_name, c::one).total(),
    f("format.dns1123LabelPrefix", n::dns1123_label_prefix, c::one).total(),
    f("format.dns1123SubdomainPrefix", n::dns1123_subdomain_prefix, c::one).total(),
    f("format.dns1035LabelPrefix", n::dns1035_label_prefix, c::one).total(),
    f("format.labelValue", n::label_value, c::one).total(), f("format.uri", n::uri_format, c::one).total(),
    f("format.uuid", n::uuid_format, c::one).total(), f("format.byte", n::byte_format, c::one).total(),
    f("format.date", n::date_format, c::one).total(),
    f("format.datetime", n::datetime_format, c::one).total(),

    f("ip", net::ip, c::parse_or_access).folded(), f("isIP", net::is_ip, c::walk).total().folded(),
    f("ip.isCanonical", net::is_canonical, c::walk_twice).folded(),
    f("family", net::family, c::one).total().folded(),
    f("isUnspecified", net::is_unspecified, c::one).total().folded(),
    f("isLoopback", net::is_loopback, c::one).total().folded(),
    f("isLinkLocalMulticast", net::is_link_local_multicast, c::one).total().folded(),
    f("isLinkLocalUnicast", net::is_link_local_unicast, c::one).total().folded(),
    f("isGlobalUnicast", net::is_global_unicast, c::one).total().folded(),
    f("cidr", net::cidr, c::walk).folded(), f("isCIDR", net::is_cidr, c::walk).total().folded(),
    f("containsIP", net::contains_ip, c::contains_ip).folded(),
    f("containsCIDR", net::contains_cidr, c::contains_cidr).folded(),
    f("masked", net::masked, c::one).total().folded(),
    f("prefixLength", net::prefix_length, c::one).total().folded(),

    f("path", a::path, c::one), f("group", a::group, c::one), f("serviceAccount", a::service_account, c::one),
    f("resource", a::resource, c::one), f("subresource", a::subresource, c::one),
    f("namespace", a::namespace, c::one), f("name", a::name, c::one),
    f("fieldSelector", a::field_selector, c::selector), f("labelSelector", a::label_selector, c::selector),
    f("check", a::decide, c::check).depends_on(Cluster), f("allowed", a::allowed, c::one),
    f("reason", a::reason, c::one), f("errored", a::errored, c::one), f("error", a::error, c::one),

    f("orValue", opt::or_value, c::one), f("get", w::get, c::one).depends_on(Receiver),
    f("Get", w::get, c::one).depends_on(Receiver), f("list", w::list, c::one).depends_on(Receiver),
    f("List", w::list, c::one).depends_on(Receiver), f("post", w::post, c::one).depends_on(Receiver),
    f("Post", w::post, c::one).depends_on(Receiver), f("toGVR", w::resource_name, c::one).depends_on(Cluster),
    f("ToGVR", w::resource_name, c::one).depends_on(Cluster), f("client", w::client, c::one),
    f("Client", w::client, c::one), f("getMetadata", w::image_data, c::one).depends_on(Registry),
    f("GetMetadata", w::image_data, c::one).depends_on(Registry), f("apply", w::apply, c::one).depends_on(Cluster),
    f("Apply", w::apply, c::one).depends_on(Cluster),

    f("sha1", d::sha1, c::one).total(), f("hash.sha1", d::sha1, c::one).total(),
    f("sha256", d::sha256, c::one).total(), f("hash.sha256", d::sha256, c::one).total(),
    f("md5", d::md5, c::one).total(), f("hash.md5", d::md5, c::one).total(),
    f("math.round", m::round, c::one).total().folded(), f("math.@max", m::greatest, c::one).folded(),
    f("math.@min", m::least, c::one).folded(), f("math.ceil", m::ceil, c::one).total().folded(),
    f("math.floor", m::floor, c::one).total().folded(), f("math.trunc", m::trunc, c::one).total().folded(),
    f("math.abs", m::abs, c::one).folded(), f("math.sign", m::sign, c::one).total().folded(),
    f("math.sqrt", m::sqrt, c::one).total().folded(), f("math.isNaN", m::is_nan, c::one).total().folded(),
    f("math.isInf", m::is_inf, c::one).total().folded(),
    f("math.isFinite", m::is_finite, c::one).total().folded(),
    f("math.bitAnd", m::bit_and, c::one).total().folded(),
    f("math.bitOr", m::bit_or, c::one).total().folded(),
    f("math.bitXor", m::bit_xor, c::one).total().folded(),
    f("math.bitNot", m::bit_not, c::one).total().folded(),
    f("math.bitShiftLeft", m::shift_left, c::one).folded(),
    f("math.bitShiftRight", m::shift_right, c::one).folded(), f("regex.replace", x::replace, c::one),
    f("regex.extract", x::extract, c::one), f("regex.extractAll", x::extract_all, c::one),
    f("base64.encode", m::encode, c::walk).total(), f("base64.decode", m::decode, c::walk),
    f("random", d::random_text, c::one).depends_on(Chance), f("random.random", d::random_text, c::one).depends_on(Chance),
    f("time.now", d::now, c::one).total().depends_on(Clock), f("time.toCron", d::to_cron, c::one).total(),
    f("time.truncate", d::truncate, c::one).total().folded(), f("listObjToMap", d::list_to_map, c::one),
    f("transform.listObjToMap", d::list_to_map, c::one), f("gzip.compress", gzip::compress, c::one),
    f("gzip.decompress", gzip::decompress, c::one), f("x509.decode", d::certificate, c::one),
    f("parseServiceAccount", d::service_account, c::one).total(),
    f("user.parseServiceAccount", d::service_account, c::one).total(), f("unmarshal", d::unmarshal, c::one),
    f("marshal", d::marshal, c::one), f("parse", d::parse_yaml, c::one),

    f("http.Allowed", p::http_allowed, c::one), f("http.Denied", p::http_denied, c::one),
    f("envoy.Allowed", p::envoy_allowed, c::one), f("envoy.Denied", p::envoy_denied, c::one),
    f("envoy.Header", p::envoy_header, c::one), f("envoy.QueryParam", p::envoy_query, c::one),
    f("Response", p::response, c::one), f("Header", p::header, c::one), f("QueryParam", p::query, c::one),
    f("KeepEmptyValue", p::keep_empty, c::one), f("WithHeader", p::with_header, c::one),
    f("WithoutHeader", p::without_header, c::one), f("WithResponseHeader", p::with_response_header, c::one),
    f("WithQueryParam", p::with_query, c::one), f("WithoutQueryParam", p::without_query, c::one),
    f("WithBody", p::with_body, c::one), f("WithMessage", p::with_message, c::one),
    f("WithMetadata", p::with_metadata, c::one), f("jwt.Decode", token::decode_token, c::one).depends_on(Clock),
    f("jwks.Fetch", j::fetch, c::one).depends_on(Services), f("Parse", mcp::parse, c::one),
    f("GetStringArgument", mcp::text, c::one), f("GetIntArgument", mcp::int, c::one),
    f("GetFloatArgument", mcp::float, c::one), f("GetBoolArgument", mcp::bool, c::one),
    f("GetStringSliceArgument", mcp::texts, c::one), f("Unmarshal", d::unmarshal, c::one),

    f("verifyImageSignatures", e::signatures, c::one).depends_on(Registry),
    f("verifyAttestationSignatures", e::statements, c::one).depends_on(Registry),
    f("getImageData", e::data, c::one).depends_on(Registry), f("extractPayload", e::payload, c::one).depends_on(Registry),

    f("image", i::image, c::one), f("parseImageReference", i::image, c::one),
    f("isImage", i::is_image, c::one).total().folded(),
    f("containsDigest", i::contains_digest, c::one), f("registry", i::registry, c::one),
    f("repository", i::repository, c::one), f("tag", i::tag, c::one), f("digest", i::digest, c::one),
    f("identifier", i::identifier, c::one),
    f("identifierWithSeparator", i::identifier_with_separator, c::one),
];
