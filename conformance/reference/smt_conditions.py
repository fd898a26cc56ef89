"""Conditions of rules: part of smt.py. The meaning is that of docs/semantics/conditions.md and variables.md.

A text that stands where a pattern is expected is taken to be `*` or without wildcard characters (docs/reference/diff.md, "Left out").
"""
import json
import re

import smt_measures as measures
import smt_terms as t
from smt_values import FAULT, alternatives, bind, bool_, constant, is_fault, same

RANGE = r"([-+]?[0-9]+(?:\.[0-9]+)?[A-Za-z]*)(!?)-([-+]?[0-9]+(?:\.[0-9]+)?[A-Za-z]*)"


def filled(template, query):
    """A template with what its variables give."""
    (kind, arg), = template.items()
    if kind == "const":
        return constant(arg)
    if kind == "whole":
        return resolved(arg["query"], query)
    if kind == "list":
        values = [filled(one, query) for one in arg]
        return query.strict(values, lambda *all_: [(True, ("list", [(True, v) for v in all_]))])
    if kind == "text":
        values = [constant(p["literal"]) if "literal" in p else resolved(p["hole"], query) for p in arg["parts"]]
        return query.strict(values, joined)
    raise t.OutOfReach(f"template: {kind}")


def resolved(source, query):
    if query.root.operation == "DELETE" and source.get("onDelete"):
        source = source["onDelete"]
    if "Ok" not in source["expr"]:
        return FAULT
    return query.run(source["expr"]["Ok"])


def joined(*values):
    result = constant("")
    for value in values:
        def text(one):
            if one[0] == "str":
                return one[1]
            if one[0] == "int":
                return t.from_int(one[1])
            if one[0] == "bool":
                return t.ite(one[1], "true", "false")
            if one[0] == "null":
                return "null"
            if one[0] in ("missing", "fault"):
                return ""
            raise t.OutOfReach("lists and objects in a text")
        result = bind(result, lambda before: bind(value, lambda one: [(True, ("str", t.concat([before[1], text(one)])))]))
    return result


def holds(conditions, query):
    """Guards: that the conditions hold, and that they cannot be evaluated."""
    if conditions is None:
        return True, False
    if conditions.get("any") is not None:
        result, fault, going = False, False, True
        for one in conditions["any"]:
            yes, broken = condition(one, query)
            fault = t.or_(fault, t.and_(going, broken))
            result = t.or_(result, t.and_(going, yes))
            going = t.and_(going, t.not_(broken), t.not_(yes))
    else:
        result, fault = True, False
    going = t.not_(fault)
    for one in conditions.get("all", ()):
        yes, broken = condition(one, query)
        fault = t.or_(fault, t.and_(going, broken))
        result = t.and_(result, t.or_(t.not_(going), yes))
        going = t.and_(going, t.not_(broken), yes)
    return t.and_(result, t.not_(fault)), fault


def condition(one, query):
    operator = one.get("operator")
    if operator is None:
        return False, True
    key, value = one["key"], filled(one["value"], query)
    key = constant(float(key["const"])) if "const" in key and type(key["const"]) is int else filled(key, query)
    fault = t.or_(is_fault(key), is_fault(value))
    return t.and_(t.not_(fault), decided(operator, key, value)), fault


def decided(operator, key, value):
    if operator in ("equals", "notEquals"):
        equal = t.or_(*[t.and_(g, h, equals(k, v)) for g, k in key for h, v in value])
        is_null = t.or_(*[g for g, k in key if k[0] == "null"])
        return t.and_(t.not_(is_null), equal if operator == "equals" else t.not_(equal))
    if operator in ("anyIn", "allIn", "anyNotIn", "allNotIn"):
        return t.or_(*[t.and_(g, h, within(operator, k, v)) for g, k in key for h, v in value if t.and_(g, h) is not False])
    if operator in ("in", "notIn"):
        return t.or_(*[t.and_(g, h, within_old(operator, k, v)) for g, k in key for h, v in value if t.and_(g, h) is not False])
    if operator == "never":
        return False
    if "order" in operator:
        return t.or_(*[t.and_(g, h, ordered(operator["order"], k, v)) for g, k in key for h, v in value])
    raise t.OutOfReach(f"operator {json.dumps(operator)}")


def long_duration(s):
    return t.and_(measures.is_("duration", s), t.not_(t.eq(s, "0")))


def seconds(n):
    """Nanoseconds of a number of whole seconds."""
    if not t.is_constant(n) and t.sort_of(n) == "real":
        floor = lambda x: t.make(t.Kind.TO_INTEGER, x)
        n = t.ite(t.less(n, 0), t.make(t.Kind.NEG, floor(t.make(t.Kind.NEG, n))), floor(n))
    return int(n) * 10**9 if t.is_constant(n) else t.make(t.Kind.MULT, 10**9, n)


def equals(k, v):
    """Section 3.1."""
    if k[0] in ("list", "map"):
        return same([(True, k)], [(True, v)]) if k[0] == v[0] else False
    if k[0] == "bool" or (k[0] == "int" and v[0] == "int"):
        return t.eq(k[1], v[1]) if k[0] == v[0] else False
    if k[0] == "int":
        return t.and_(measures.is_("float", v[1]), t.eq(measures.of("float", v[1]), t.as_real(k[1]))) if v[0] == "str" and parses("float", v[1]) else False
    if k[0] == "str" and v[0] == "int":
        return t.and_(long_duration(k[1]), t.eq(measures.of("duration", k[1]), t.as_real(seconds(v[1])))) if parses("duration", k[1]) else False
    if k[0] == "str" and v[0] == "str":
        return equal_texts(k[1], v[1])
    return False


def parses(measure, s):
    """Whether a text may measure something: constants may not measure anything."""
    return not isinstance(s, str) or measures.VALUES[measure](s) is not None


def measured(measure, a, b, op):
    """The comparison of what two texts measure."""
    if not (parses(measure, a) and parses(measure, b)):
        return False
    x, y = measures.of(measure, a), measures.of(measure, b)
    return t.eq(x, y) if op == "eq" else t.compare(op, t.as_real(x), t.as_real(y))


def equal_texts(key, value):
    both = t.and_(long_duration(key), long_duration(value))
    by_duration = measured("duration", key, value, "eq")
    quantities = t.and_(measures.is_("quantity", value), measured("quantity", key, value, "eq"))
    return t.ite(both, by_duration, t.ite(measures.is_("quantity", key), quantities, as_pattern(value, key)))


def as_pattern(pattern, text):
    if isinstance(pattern, str):
        return t.wildcard(pattern, text)
    return t.or_(t.eq(pattern, "*"), t.eq(pattern, text))


def display(one):
    """Section 1.1."""
    if one[0] == "str":
        return one[1]
    if one[0] == "bool":
        return t.ite(one[1], "true", "false")
    if one[0] == "null":
        return "<nil>"
    if one[0] == "int":
        n = one[1]
        if t.is_constant(n):
            if abs(n) >= 10**6 or n != int(n):
                raise t.OutOfReach("texts of large numbers and fractions")
            return str(int(n))
        large = t.now.tm.mkTerm(t.Kind.APPLY_UF, t.now.function("text of large number", t.now.string), t.from_int(n))
        t.now.said.append(t.in_language(large, r"-?[0-9](?:\.[0-9]+)?e\+[0-9]{2}"))
        return t.ite(t.and_(t.less(-10**6, n), t.less(n, 10**6)), t.from_int(n), large)
    raise t.OutOfReach(f"the text of a {one[0]}")


def texts_of(items):
    return [(t.and_(present, guard), display(one)) for present, item in items for guard, one in alternatives(item)]


def meets(a, b):
    return t.or_(as_pattern(a, b), as_pattern(b, a))


def in_range(key, low, high):
    def at(op, a, b):
        durations = t.and_(measures.is_("duration", a), measures.is_("duration", b))
        quantities = t.and_(measures.is_("quantity", a), measures.is_("quantity", b))
        return t.ite(durations, measured("duration", a, b, op), t.and_(quantities, measured("quantity", a, b, op)))
    return t.and_(at("ge", key, low), at("le", key, high))


def listed(text):
    """A text that is JSON: the list of texts that it is, or `None` for anything else that is JSON, or the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if value is None:
        return []
    return value if isinstance(value, list) and all(isinstance(v, str) for v in value) else None


def within(operator, k, v):
    """Section 3.2."""
    if k[0] in ("null", "map", "missing", "fault") or v[0] in ("null", "map", "missing", "fault"):
        return False
    is_not = operator in ("anyNotIn", "allNotIn")
    if k[0] != "list":
        found = scalar_within(display(k), v)
        return False if found is None else t.not_(found) if is_not else found
    keys = texts_of(k[1])
    if v[0] in ("int", "bool"):
        if operator in ("allIn", "allNotIn"):
            return False
        others = [(True, display(v))]
    elif v[0] == "list":
        others = texts_of(v[1])
    else:
        return list_within_text(operator, keys, v[1])
    one = lambda key: t.or_(*[t.and_(g, meets(key, other)) for g, other in others])
    return quantified(operator, [(g, one(key)) for g, key in keys])


def quantified(operator, found):
    if operator == "anyIn":
        return t.or_(*[t.and_(g, f) for g, f in found])
    if operator == "allIn":
        return t.and_(*[t.or_(t.not_(g), f) for g, f in found])
    if operator == "anyNotIn":
        return t.or_(*[t.and_(g, t.not_(f)) for g, f in found])
    return t.and_(*[t.not_(t.and_(g, f)) for g, f in found])


def list_within_text(operator, keys, value):
    if not isinstance(value, str):
        raise t.OutOfReach("a list compared with a text that is no constant")
    if re.fullmatch(RANGE, value):
        raise t.OutOfReach("a list compared with a range")
    others = listed(value)
    if others is None:
        return False
    others = [others] if isinstance(others, str) else others
    only = t.and_(t.eq(t.add([t.ite(g, 1, 0) for g, _ in keys]), 1), t.or_(*[t.and_(g, t.eq(key, value)) for g, key in keys]))
    one = lambda key: t.or_(*[meets(key, other) for other in others])
    return t.ite(only, operator in ("anyIn", "allIn"), quantified(operator, [(g, one(key)) for g, key in keys]))


def scalar_within(key, v):
    """Whether a text is found; `None` for values of a wrong type."""
    if v[0] == "list":
        return t.or_(*[t.and_(g, meets(other, key)) for g, other in texts_of(v[1])])
    if v[0] != "str":
        return None
    if not isinstance(v[1], str):
        raise t.OutOfReach("a text compared with a text that is no constant, by an operator of lists")
    limits = re.fullmatch(RANGE, v[1])
    others = listed(v[1])
    if limits and not limits[2]:
        return t.or_(t.wildcard(v[1], key), in_range(key, limits[1], limits[3]))
    if others is None:
        raise t.OutOfReach("a text compared with JSON of a wrong type")
    rest = t.eq(key, v[1]) if isinstance(others, str) else t.or_(*[t.eq(key, other) for other in others])
    return t.or_(t.wildcard(v[1], key), rest)


def within_old(operator, k, v):
    """Section 3.3, for texts and lists of constants."""
    if k[0] in ("null", "map", "list") or v[0] != "list":
        raise t.OutOfReach("operators In and NotIn but of a text in a list")
    found = scalar_within(display(k), v)
    return found if operator == "in" else t.not_(found)


def ordered(op, k, v):
    """Section 3.5."""
    if k[0] == "int":
        if v[0] == "int":
            return t.compare(op, k[1], v[1])
        if v[0] != "str":
            return False
        by_duration = t.compare(op, t.as_real(seconds(k[1])), measures.of("duration", v[1])) if parses("duration", v[1]) else False
        by_float = t.compare(op, t.as_real(k[1]), measures.of("float", v[1])) if parses("float", v[1]) else False
        return t.ite(long_duration(v[1]), by_duration, t.and_(measures.is_("float", v[1]), by_float))
    if k[0] != "str" or v[0] not in ("int", "str"):
        return False
    key = k[1]
    as_number = t.and_(measures.is_("float", key), ordered(op, ("int", measures.of("float", key)), v) if v[0] == "int" else float_with_text(op, key, v[1])) if parses("float", key) else False
    if v[0] == "int":
        by_duration = t.compare(op, measures.of("duration", key), t.as_real(seconds(v[1]))) if parses("duration", key) else False
        return t.ite(long_duration(key), by_duration, as_number)
    both = t.and_(long_duration(key), long_duration(v[1]))
    quantities = t.and_(measures.is_("quantity", key), measures.is_("quantity", v[1]))
    version = r"[0-9]+\.[0-9]+\.[0-9]+.*"
    if not isinstance(v[1], str) or re.fullmatch(version, v[1]):
        raise t.OutOfReach("ordering of versions, or of texts that are no constants")
    return t.ite(both, measured("duration", key, v[1], op), t.ite(quantities, measured("quantity", key, v[1], op), as_number))


def float_with_text(op, key, value):
    number = measures.of("float", key)
    if measures.duration(value) is not None and value != "0":
        return t.compare(op, t.as_real(seconds(number)), t.Fraction(measures.duration(value)))
    return t.compare(op, number, measures.of("float", value)) if parses("float", value) else False
