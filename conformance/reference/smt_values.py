"""Values with guards, and queries of JMESPath over them: part of smt.py.

A value is a list of alternatives `(guard, value)`, of which exactly one guard holds: `("null",)`, `("bool", b)`, `("int", n)` (any number),
`("str", s)`, `("list", [(guard, item)])`, `("map", node or dict)`, `("missing",)` (an unknown key), `("fault",)` (any other error),
`("none",)` and `("some", value)` (optional values of CEL). Items and fields are nodes or such lists. The meaning of queries is
that of docs/expressions/jmespath.md and docs/semantics/conditions.md.
"""
import smt_terms as t
from smt_objects import Node

TRUE, FALSE, NULL, FAULT, MISSING = ([(True, v)] for v in (("bool", True), ("bool", False), ("null",), ("fault",), ("missing",)))


def alternatives(x):
    return x.values() if isinstance(x, Node) else x


def bool_(b):
    return [(True, ("bool", b))]


def merged(value):
    """Alternatives of the same type as one."""
    found, rest = {}, []
    for guard, one in value:
        if guard is False:
            continue
        kind = one[0]
        if kind in ("null", "missing", "fault", "none"):
            found[kind] = (t.or_(found[kind][0], guard) if kind in found else guard, one)
        elif kind in ("bool", "str", "int") and kind in found:
            before, (_, old) = found[kind]
            found[kind] = (t.or_(before, guard), (kind, t.ite(guard, one[1], old)))
        elif kind == "list":
            before, (_, items) = found.get(kind, (False, (kind, [])))
            items = items + [(t.and_(guard, present), item) for present, item in one[1]]
            found[kind] = (t.or_(before, guard), (kind, items))
        elif kind in ("bool", "str", "int"):
            found[kind] = (guard, one)
        else:
            rest.append((guard, one))
    return list(found.values()) + rest


def bind(value, body):
    """What a function of one typed value makes of each alternative."""
    return merged([(t.and_(guard, inner), result) for guard, one in alternatives(value) if guard is not False for inner, result in body(one)])


def choose(guard, yes, no):
    return merged([(t.and_(guard, g), v) for g, v in alternatives(yes)] + [(t.and_(t.not_(guard), g), v) for g, v in alternatives(no)])


def guard_of(value, *kinds):
    """When a value is of one of some kinds."""
    return t.or_(*[guard for guard, one in alternatives(value) if one[0] in kinds])


def is_true(value):
    """When a value is the boolean true."""
    return t.or_(*[t.and_(guard, one[1]) for guard, one in alternatives(value) if one[0] == "bool"])


def is_fault(value):
    return guard_of(value, "missing", "fault")


def constant(value):
    """A constant of the IR."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return bool_(value)
    if isinstance(value, (int, float)):
        return [(True, ("int", value))]
    if isinstance(value, str):
        return [(True, ("str", value))]
    if isinstance(value, list):
        return [(True, ("list", [(True, constant(one)) for one in value]))]
    if any(key.startswith("$") for key in value):
        if "$uint" in value:
            return [(True, ("int", value["$uint"]))]
        raise t.OutOfReach(f"constant {next(iter(value))}")
    return [(True, ("map", {key: (True, constant(one)) for key, one in value.items()}))]


def field(map_, key):
    """A field of a map: when it is there, and its value."""
    if isinstance(map_, dict):
        return map_.get(key, (False, NULL))
    child = map_.child(key)
    return (False, NULL) if child is None else (child.present, child)


def entries(map_):
    """Names, guards and values of all entries."""
    if isinstance(map_, dict):
        return [(key, present, value) for key, (present, value) in sorted(map_.items())]
    return map_.entries()


def truthy(value):
    """When a query's value counts as true: everything but null, false and what is empty."""
    def of(one):
        if one[0] in ("null",):
            return False
        if one[0] == "bool":
            return one[1]
        if one[0] == "str":
            return t.not_(t.eq(one[1], ""))
        if one[0] == "list":
            return t.or_(*[present for present, _ in one[1]])
        if one[0] == "map":
            return t.or_(*[present for _, present, _ in entries(one[1])])
        return True
    return t.or_(*[t.and_(guard, of(one)) for guard, one in alternatives(value) if one[0] not in ("missing", "fault")])


def same(a, b, of_kinds=True):
    """When two values are equal, as deep as both are known."""
    found = []
    for g, x in alternatives(a):
        for h, y in alternatives(b):
            both = t.and_(g, h)
            if both is not False and x[0] == y[0]:
                found.append(t.and_(both, same_kind(x, y)))
    return t.or_(*found)


def same_kind(x, y):
    if x[0] in ("bool", "int", "str"):
        return t.eq(x[1], y[1])
    if x[0] == "null":
        return True
    if x[0] == "list":
        return same_lists(x[1], y[1])
    if x[0] == "map" and isinstance(y[1], dict) and not y[1]:
        return t.not_(t.or_(*[present for _, present, _ in entries(x[1])]))
    raise t.OutOfReach("equality of objects")


def same_lists(xs, ys):
    """Lists item by item, by the position that an item has among those that are there."""
    if len(xs) * len(ys) > 64:
        raise t.OutOfReach("equality of long lists")
    at = lambda items, i: t.add([t.ite(present, 1, 0) for present, _ in items[:i]])
    parts = [t.eq(at(xs, len(xs)), at(ys, len(ys)))]
    for i, (p, x) in enumerate(xs):
        for j, (q, y) in enumerate(ys):
            parts.append(t.or_(t.not_(t.and_(p, q, t.eq(at(xs, i), at(ys, j)))), same(x, y)))
    return t.and_(*parts)


def size(items):
    return t.add([t.ite(present, 1, 0) if present is not True else 1 for present, _ in items])


def item_at(items, index):
    """The item of a position, counted over those that are there; null when there is none."""
    found, order = [], items if index >= 0 else items[::-1]
    want = index if index >= 0 else -index - 1
    for i, (present, item) in enumerate(order):
        before = t.add([t.ite(p, 1, 0) for p, _ in order[:i]])
        here = t.and_(present, t.eq(before, want))
        found += [(t.and_(here, g), v) for g, v in alternatives(item)] if here is not False else []
    rest = t.not_(t.less(want, size(items)))
    return merged(found + [(rest, ("null",))])


class Query:
    """Evaluates queries."""

    def __init__(self, root):
        self.root = root

    def run(self, expr, locals_=()):
        if isinstance(expr, str):
            if expr == "root":
                return self.root.value()
            raise t.OutOfReach(f"query: {expr}")
        (kind, arg), = expr.items()
        method = getattr(self, f"do_{kind}", None)
        if method is None:
            raise t.OutOfReach(f"query: {kind}")
        return method(arg, locals_)

    def do_const(self, arg, _):
        return constant(arg)

    def do_local(self, arg, locals_):
        return locals_[-1 - arg]

    def do_path(self, arg, locals_):
        keys, at_scalar = arg["keys"], NULL if arg["scalar"] == "null" else FAULT
        if arg["base"] == "root":
            value, keys = self.root.read(keys[0]), keys[1:]
        else:
            value = self.run(arg["base"], locals_)
        for key in keys:
            def step(one):
                if one[0] in ("missing", "fault"):
                    return [(True, one)]
                if one[0] != "map":
                    return at_scalar
                present, inner = field(one[1], key)
                return choose(present, inner, MISSING) if present is not False else MISSING
            value = bind(value, step)
        return alternatives(value)

    def do_let(self, arg, locals_):
        value = self.run(arg["value"], locals_)
        body = self.run(arg["body"], locals_ + (value,))
        return choose(is_fault(value), value, body) if is_fault(value) is not False else body

    def do_rescue(self, arg, locals_):
        caught = ("missing",) if arg["faults"] == "missingAsNull" else ("missing", "fault")
        return bind(self.run(arg["expr"], locals_), lambda one: NULL if one[0] in caught else [(True, one)])

    def do_not(self, arg, locals_):
        value = self.run(arg, locals_)
        return choose(is_fault(value), value, bool_(t.not_(truthy(value))))

    def either(self, arg, locals_, is_or):
        left = self.run(arg[0], locals_)
        right = self.run(arg[1], locals_)
        keeps_left = t.or_(is_fault(left), truthy(left) if is_or else t.not_(truthy(left)))
        return choose(keeps_left, left, right)

    def do_or(self, arg, locals_):
        return self.either(arg, locals_, True)

    def do_and(self, arg, locals_):
        return self.either(arg, locals_, False)

    def strict(self, values, body):
        """The first fault of some values, else what a function makes of them."""
        result = body(*values)
        for value in reversed(values):
            fault = is_fault(value)
            result = choose(fault, value, result) if fault is not False else result
        return result

    def do_compare(self, arg, locals_):
        sides = [self.run(side, locals_) for side in arg["sides"]]

        def body(a, b):
            if arg["op"] in ("eq", "ne"):
                equal = same(a, b)
                return bool_(equal if arg["op"] == "eq" else t.not_(equal))
            return bind(a, lambda x: bind(b, lambda y: bool_(t.compare(arg["op"], x[1], y[1])) if x[0] == y[0] == "int" else NULL))
        return self.strict(sides, body)

    def do_project(self, arg, locals_):
        def of_items(items):
            rows = []
            faults = False
            for present, item in items:
                item = alternatives(item)
                if arg.get("keep"):
                    test = self.run(arg["keep"], locals_ + (item,))
                    faults = t.or_(faults, t.and_(present, guard_of(test, "fault")))
                    present = t.and_(present, truthy(test))
                value = self.run(arg["body"], locals_ + (item,)) if arg.get("body") else item
                faults = t.or_(faults, t.and_(present, guard_of(value, "fault")))
                dropped = guard_of(value, "null", "missing", "fault")
                rows.append((t.and_(present, t.not_(dropped)), [(g, v) for g, v in value if v[0] not in ("null", "missing", "fault")]))
            return choose(faults, FAULT, [(True, ("list", rows))]) if faults is not False else [(True, ("list", rows))]

        def step(one):
            if one[0] in ("missing", "fault"):
                return [(True, one)]
            if arg["over"] == "items":
                return of_items(one[1]) if one[0] == "list" else NULL
            return of_items([(present, value) for _, present, value in entries(one[1])]) if one[0] == "map" else NULL
        return bind(self.run(arg["source"], locals_), step)

    def do_flatten(self, arg, locals_):
        def step(one):
            if one[0] in ("missing", "fault"):
                return [(True, one)]
            if one[0] != "list":
                return NULL
            flat = []
            for present, item in one[1]:
                for guard, value in alternatives(item):
                    here = t.and_(present, guard)
                    flat += [(t.and_(here, p), i) for p, i in value[1]] if value[0] == "list" else [(here, [(True, value)])]
            return [(True, ("list", flat))]
        return bind(self.run(arg, locals_), step)

    def do_list(self, arg, locals_):
        return self.strict([self.run(one, locals_) for one in arg], lambda *values: [(True, ("list", [(True, v) for v in values]))])

    def do_object(self, arg, locals_):
        values = [self.run(one, locals_) for _, one in arg]
        return self.strict(values, lambda *all_: [(True, ("map", {key: (True, v) for (key, _), v in zip(arg, all_)}))])

    def do_unlessNull(self, arg, locals_):
        subject, other = self.run(arg[0], locals_), self.run(arg[1], locals_)
        return bind(subject, lambda one: [(True, one)] if one[0] in ("null", "missing", "fault") else other)

    def do_index(self, arg, locals_):
        keep = ("missing", "fault")
        return bind(self.run(arg["base"], locals_), lambda one: [(True, one)] if one[0] in keep else item_at(one[1], arg["index"]) if one[0] == "list" else NULL)

    def do_call(self, arg, locals_):
        function = getattr(self, f"call_{arg['function']}", None)
        if function is None:
            raise t.OutOfReach(f"function {arg['function']}")
        return self.strict([self.run(one, locals_) for one in arg["args"]], function)

    def call_length(self, value):
        def step(one):
            if one[0] == "str":
                return [(True, ("int", t.length(one[1])))]
            if one[0] == "list":
                return [(True, ("int", size(one[1])))]
            if one[0] == "map":
                return [(True, ("int", size([(present, None) for _, present, _ in entries(one[1])])))]
            return FAULT
        return bind(value, step)

    def call_contains(self, where, what):
        def step(one):
            if one[0] == "list":
                return bool_(t.or_(*[t.and_(present, same(item, what)) for present, item in one[1]]))
            if one[0] == "str":
                return bind(what, lambda part: bool_(t.contains(one[1], part[1])) if part[0] == "str" else FAULT)
            return FAULT
        return bind(where, step)

    def call_keys(self, value):
        return bind(value, lambda one: [(True, ("list", [(p, [(True, ("str", key))]) for key, p, _ in entries(one[1])]))] if one[0] == "map" else FAULT)

    def call_values(self, value):
        return bind(value, lambda one: [(True, ("list", [(p, v) for _, p, v in entries(one[1])]))] if one[0] == "map" else FAULT)

    def call_to_string(self, value):
        def step(one):
            if one[0] == "str":
                return [(True, one)]
            if one[0] == "int":
                return [(True, ("str", t.from_int(one[1])))]
            if one[0] == "bool":
                return [(True, ("str", t.ite(one[1], "true", "false")))]
            raise t.OutOfReach("to_string of lists and objects")
        return bind(value, step)

    def texts(self, function, *values):
        def of(values, known):
            if not values:
                return [(True, function(*known))]
            return bind(values[0], lambda one: of(values[1:], known + (one[1],)) if one[0] == "str" else FAULT)
        return of(values, ())

    def call_starts_with(self, a, b):
        return self.texts(lambda s, p: ("bool", t.starts(s, p)), a, b)

    def call_ends_with(self, a, b):
        return self.texts(lambda s, p: ("bool", t.ends(s, p)), a, b)

    def call_to_upper(self, a):
        return self.texts(lambda s: ("str", t.upper(s)), a)

    def call_to_lower(self, a):
        return self.texts(lambda s: ("str", t.lower(s)), a)

    def call_regex_match(self, pattern, value):
        def test(p, s):
            if not isinstance(p, str):
                raise t.OutOfReach("regular expression that is no constant")
            return "bool", t.in_language(s, t.whole(p))
        return self.texts(test, pattern, value)
