"""Patterns of rules: part of smt.py. The meaning is that of docs/semantics/patterns.md and validate.md.

What a pattern says of a value is three guards, of which at most one holds: `fail`, `raw` (skipped by an anchor right there) and `wrapped`
(skipped because of an anchor below). Else the value matches. Whether a violation is a failure or an error makes no difference here.
"""
import re
from collections import namedtuple

import smt_measures as measures
import smt_terms as t
from smt_conditions import RANGE, parses
from smt_values import NULL, alternatives, field, entries

Said = namedtuple("Said", "fail raw wrapped")
FITS, FAILS = Said(False, False, False), Said(True, False, False)


def matches(said):
    return t.and_(t.not_(said.fail), t.not_(said.raw), t.not_(said.wrapped))


def by(guard, yes, no=FITS):
    return Said(*[t.ite(guard, a, b) for a, b in zip(yes, no)])


def of_guard(ok):
    return Said(t.not_(ok), False, False)


def match(value, shape):
    """What a shape says of a value."""
    (kind, arg), = shape.items()
    if kind == "leaf":
        return of_guard(leaf(value, arg))
    total = FITS
    for guard, one in alternatives(value):
        if guard is False:
            continue
        if kind == "map":
            said = match_map(one[1], arg) if one[0] == "map" else FAILS
        else:
            said = match_list(one[1], arg) if one[0] == "list" else FAILS
        total = Said(*[t.or_(before, t.and_(guard, here)) for before, here in zip(total, said)])
    return total


def match_list(items, shape):
    (kind, arg), = shape.items()
    if kind == "empty":
        return FAILS
    if kind == "scalars":
        return of_guard(t.and_(*[t.or_(t.not_(present), leaf(item, arg[0])) for present, item in items]))
    if kind != "each":
        raise t.OutOfReach("patterns of positions in a list")
    said = [(present, match(item, {"map": arg[0]})) for present, item in items]
    fail = t.or_(*[t.and_(present, one.fail) for present, one in said])
    fits = t.or_(*[t.and_(present, matches(one)) for present, one in said])
    skipped = t.or_(*[t.and_(present, t.or_(one.raw, one.wrapped)) for present, one in said])
    return Said(fail, False, t.and_(t.not_(fail), t.not_(fits), skipped))


def match_map(map_, shape):
    listed = shape["entries"]
    first, rest = listed[:shape.get("first", 0)], listed[shape.get("first", 0):]
    going, fail, raw, wrapped, applied = True, False, False, False, False
    for entry in first:
        said = match_entry(map_, entry, shape.get("expand", False))
        failed = t.and_(going, said.fail, t.not_(raw))
        fail = t.or_(fail, failed)
        applied = t.or_(applied, t.and_(going, matches(said)))
        raw, wrapped = t.or_(raw, t.and_(going, said.raw)), t.or_(wrapped, t.and_(going, said.wrapped))
        going = t.and_(going, t.not_(failed))
    skipped = t.and_(going, t.or_(raw, t.and_(wrapped, t.not_(applied))))
    going = t.and_(going, t.not_(skipped))
    total = Said(fail, False, skipped)
    for entry in rest:
        said = match_entry(map_, entry, shape.get("expand", False))
        total = Said(*[t.or_(before, t.and_(going, here)) for before, here in zip(total, said)])
        going = t.and_(going, matches(said))
    return total


def match_entry(map_, entry, expands):
    if not expands or not set(entry["key"]) & {"*", "?"}:
        return anchored(*field(map_, entry["key"]), entry)
    total = FITS
    for guard, present, value in resolved_wild(map_, entry["key"]):
        said = anchored(present, value, entry)
        total = Said(*[t.or_(before, t.and_(guard, here)) for before, here in zip(total, said)])
    return total


def resolved_wild(map_, pattern):
    """The entry for which a key with wildcards stands, the smallest that matches (section 8): guards, whether there is one, its value."""
    rows = entries(map_)
    fits = [t.and_(present, t.wildcard(pattern, name)) for name, present, _ in rows]
    for i, (name, _, value) in enumerate(rows):
        smaller = [t.and_(fits[j], t.less(rows[j][0], name)) for j in range(len(rows)) if j != i]
        yield t.and_(fits[i], t.not_(t.or_(*smaller))), True, value
    yield t.not_(t.or_(*fits)), False, NULL


def anchored(present, value, entry):
    anchor, shape = entry["anchor"], entry["shape"]
    if present is False and anchor in ("equality", "global", "negation", "existence"):
        return FITS
    if anchor == "negation":
        return of_guard(t.not_(present))
    if anchor == "existence":
        return by(present, of_guard(existence(value, shape)))
    if anchor == "none" and shape.get("leaf") == "*" and isinstance(shape["leaf"], str):
        return of_guard(t.and_(present, t.not_(t.or_(*[g for g, one in alternatives(value) if one[0] == "null"])))) if present is not False else FAILS
    if anchor == "none":
        return by(present, match(value, shape) if present is not False else FITS, match(NULL, shape))
    said = match(value, shape) if present is not False else FITS
    if anchor == "equality":
        return by(present, said)
    if anchor == "condition":
        return Said(False, t.or_(t.not_(present), t.not_(matches(said))), False)
    if anchor == "global":
        return Said(False, t.and_(present, t.not_(matches(said))), False)
    raise t.OutOfReach(f"anchor {anchor}")


def existence(value, shape):
    if "list" not in shape or "each" not in shape["list"]:
        raise t.OutOfReach("existence anchors of scalars")
    first, others = shape["list"]["each"]
    if any(one is None for one in others):
        return False
    found = []
    for guard, one in alternatives(value):
        if one[0] == "list":
            some = lambda map_: t.or_(*[t.and_(present, matches(match(item, {"map": map_}))) for present, item in one[1]])
            found.append(t.and_(guard, *[some(map_) for map_ in [first] + others]))
    return t.or_(*found)


# Scalars

def leaf(value, pattern, inner=False):
    """When a value matches a scalar pattern (section 4)."""
    found = []
    for guard, one in alternatives(value):
        if guard is False:
            continue
        if one[0] == "list":
            ok = False if inner else t.and_(*[t.or_(t.not_(present), leaf(item, pattern, True)) for present, item in one[1]])
        elif one[0] == "map":
            ok = False
        else:
            ok = scalar(one, pattern)
        found.append(t.and_(guard, ok))
    return t.or_(*found)


def scalar(one, pattern):
    kind = one[0]
    if isinstance(pattern, bool):
        return t.eq(one[1], pattern) if kind == "bool" else False
    if pattern is None:
        return kind == "null" or (kind == "bool" and t.not_(one[1])) or (kind == "int" and t.eq(one[1], 0)) or (kind == "str" and t.eq(one[1], ""))
    if isinstance(pattern, int):
        if kind == "int":
            return t.eq(one[1], pattern)
        sign = {True: "-", False: r"\+?"}[pattern < 0] if pattern else "[+-]?"
        return t.in_language(one[1], f"{sign}0*{abs(pattern)}") if kind == "str" else False
    if isinstance(pattern, float):
        if kind == "int":
            return t.eq(one[1], int(pattern)) if pattern == int(pattern) else False
        is_float = kind == "str" and t.and_(measures.is_("float", one[1]), t.eq(measures.of("float", one[1]), t.Fraction(pattern)))
        return is_float if kind == "str" and parses("float", one[1]) else False
    if not isinstance(pattern, str):
        raise t.OutOfReach("leaf of a pattern that is no scalar")
    if kind == "str" and not isinstance(one[1], str) and has_operator(pattern):
        t.now.said.append(t.not_(t.eq(one[1], pattern)))
    return t.or_(*[t.and_(*[part(one, p.strip(" ")) for p in piece.strip(" ").split("&")]) for piece in pattern.split("|")])


def has_operator(pattern):
    """Whether a text that is the pattern itself is left out (docs/reference/diff.md, "Left out")."""
    return set(pattern) & set("|&") or (len(pattern) > 1 and pattern[0] in "<>!") or re.fullmatch(RANGE, pattern)


def part(one, text):
    limits = re.fullmatch(RANGE, text)
    for prefix, op in ((">=", "ge"), ("<=", "le"), (">", "gt"), ("<", "lt"), ("!", "ne")):
        if text.startswith(prefix) and len(text) > 1:
            return operand(one, op, text[len(prefix):].strip())
    if limits and limits[2]:
        return t.or_(operand(one, "lt", limits[1]), operand(one, "gt", limits[3]))
    if limits:
        return t.and_(operand(one, "ge", limits[1]), operand(one, "le", limits[3]))
    return operand(one, "eq", text.strip())


def operand(one, op, text):
    """Section 4.3."""
    by_text = False if one[0] == "int" and measures.quantity(text) is not None else as_text(one, text)
    rest = by_text if op == "eq" else t.and_(t.not_(by_text), one[0] not in ("null", "map")) if op == "ne" else False
    for measure in ("quantity", "duration"):
        limit = measures.VALUES[measure](text) if text else None
        if limit is None:
            continue
        is_one, value = measured(one, measure)
        if is_one is not False:
            equal = t.eq(value, t.Fraction(limit))
            said = equal if op == "eq" else t.not_(equal) if op == "ne" else t.compare(op, t.as_real(value), t.Fraction(limit))
            rest = t.ite(is_one, said, rest)
    return rest


def measured(one, measure):
    """Whether a value measures something, and what."""
    if one[0] == "null":
        return True, t.Fraction(0)
    if one[0] == "int":
        n = one[1]
        return (t.eq(n, 0), t.Fraction(0)) if measure == "duration" else (True, t.as_real(n))
    if one[0] != "str" or not parses(measure, one[1]):
        return False, None
    return measures.is_(measure, one[1]), measures.of(measure, one[1])


def as_text(one, pattern):
    if one[0] == "str":
        return t.wildcard(pattern, one[1])
    if one[0] == "bool":
        return t.ite(one[1], t.wildcard(pattern, "true"), t.wildcard(pattern, "false"))
    if one[0] == "int":
        if re.fullmatch(r"[-+.0-9E*?]*", pattern) and pattern not in ("*", "?*"):
            raise t.OutOfReach("numbers compared with wildcards")
        return pattern in ("*", "?*")
    return False
