"""Expressions of CEL over values with guards: part of smt.py. Every error is `("fault",)`.

The meaning is that of the CEL specification and of docs/semantics/cel-policies.md, as far as it is translated here. Numbers of
objects are integers.
"""
import smt_terms as t
from smt_values import FAULT, alternatives, bind, bool_, choose, constant, entries, field, guard_of, is_fault, is_true, item_at, merged, same, size

NONE = [(True, ("none",))]
SOME = lambda value: [(True, ("some", value))]


def list_(items):
    return [(True, ("list", items))]


class Cel:
    """Evaluates expressions; `root` reads names, `variables` are the programs of composed variables."""

    def __init__(self, root, variables):
        self.root, self.variables, self.known = root, variables, {}

    def source(self, program):
        return self.run(program["Ok"]) if "Ok" in program else FAULT

    def run(self, expr, locals_=()):
        if isinstance(expr, str):
            raise t.OutOfReach(f"expression: {expr}")
        (kind, arg), = expr.items()
        method = getattr(self, f"do_{kind}", None)
        if method is None:
            raise t.OutOfReach(f"expression: {kind}")
        return method(arg, locals_)

    def do_const(self, arg, _):
        return constant(arg)

    def do_folded(self, arg, _):
        return constant(arg["value"])

    def do_local(self, arg, locals_):
        return locals_[-1 - arg]

    def do_variable(self, arg, _):
        if arg not in self.known:
            self.known[arg] = self.source(self.variables[arg]["program"])
        return self.known[arg]

    def do_path(self, arg, locals_):
        value, keys = (self.root.read(arg["keys"][0]), arg["keys"][1:]) if arg["base"] == "root" else (self.run(arg["base"], locals_), arg["keys"])
        for key in keys:
            value = self.key(value, key, False)
        return alternatives(value)

    def key(self, value, key, optional):
        """Reads a field; a missing one is none, or a fault."""
        absent = NONE if optional else FAULT
        keep = SOME if optional else alternatives

        def step(one):
            if one[0] == "map" and isinstance(key, str):
                present, inner = field(one[1], key)
                return choose(present, keep(inner), absent) if present is not False else absent
            if one[0] == "list" and isinstance(key, int) and not isinstance(key, bool):
                there = t.less(key, size(one[1]))
                return choose(there, keep(item_at(one[1], key)), absent) if key >= 0 else absent
            if one[0] == "none":
                return NONE
            if one[0] == "some":
                return self.key(one[1], key, True)
            return FAULT
        return bind(value, step)

    def do_walk(self, arg, locals_):
        value = self.run(arg["base"], locals_)
        for step in arg.get("steps", ()):
            (kind, inner), = step.items()
            if kind == "key":
                value = self.key(value, inner["key"], inner.get("optional", False))
            elif kind == "at":
                value = self.at(value, self.run(inner["index"], locals_), inner.get("optional", False))
            else:
                raise t.OutOfReach(f"step {kind}")
        return alternatives(value)

    def at(self, value, index, optional):
        def of(one):
            if one[0] not in ("str", "int"):
                return FAULT
            if t.is_constant(one[1]):
                return self.key(value, one[1], optional)
            if one[0] == "int":
                raise t.OutOfReach("positions that are no constants")
            absent = NONE if optional else FAULT

            def within(map_):
                if map_[0] != "map":
                    return FAULT
                result = absent
                for name, present, inner in entries(map_[1]):
                    result = choose(t.and_(present, t.eq(name, one[1])), SOME(inner) if optional else inner, result)
                return result
            return bind(value, within)
        return bind(index, of)

    def do_test(self, arg, locals_):
        def step(one):
            if one[0] == "map":
                return bool_(field(one[1], arg["key"])[0])
            if one[0] == "none":
                return bool_(False)
            return bind(one[1], step) if one[0] == "some" else FAULT
        return bind(self.do_walk(arg["walk"], locals_), step)

    def do_cond(self, arg, locals_):
        yes, no = self.run(arg[1], locals_), self.run(arg[2], locals_)
        return bind(self.run(arg[0], locals_), lambda one: choose(one[1], yes, no) if one[0] == "bool" else FAULT)

    def do_decide(self, arg, locals_):
        sides = [self.run(side, locals_) for side in arg["sides"]]
        return decided(arg.get("all", False), [(True, side) for side in sides])

    def do_oneOf(self, arg, locals_):
        value = self.run(arg["value"], locals_)
        return self.strict([value], lambda one: bool_(t.or_(*[same([(True, one)], constant(c)) for c in arg["set"]])))

    def strict(self, values, body, known=()):
        """What a function makes of values without faults."""
        if not values:
            return body(*known)
        return bind(values[0], lambda one: FAULT if one[0] in ("fault", "missing") else self.strict(values[1:], body, known + (one,)))

    def do_orElse(self, arg, locals_):
        other = self.run(arg["sides"][1], locals_)

        def step(one):
            if one[0] == "none":
                return other
            if one[0] == "some":
                return alternatives(one[1]) if arg.get("unwrap") else [(True, one)]
            return [(True, one)] if (arg.get("eager") or arg.get("unwrap")) and one[0] != "fault" else FAULT
        result = bind(self.run(arg["sides"][0], locals_), step)
        return choose(is_fault(other), FAULT, result) if arg.get("eager") else result

    def do_make(self, arg, locals_):
        (kind, parts), = arg.items()
        if kind == "list" and not parts[1]:
            values = [self.run(one, locals_) for one in parts[0]]
            return choose(t.or_(*[is_fault(v) for v in values]), FAULT, list_([(True, v) for v in values]))
        raise t.OutOfReach(f"literal {kind}")

    def do_bind(self, arg, locals_):
        return self.run(arg[1], locals_ + (self.run(arg[0], locals_),))

    def do_comprehension(self, arg, locals_):
        if arg.get("two") or arg["kind"] not in ("all", "exists", "list", "one"):
            raise t.OutOfReach(f"loop {arg['kind']}")

        def over(one):
            if one[0] == "list":
                items = one[1]
            elif one[0] == "map":
                items = [(present, [(True, ("str", name))]) for name, present, _ in entries(one[1])]
            else:
                return FAULT
            rows, fault = [], False
            for present, item in items:
                item = alternatives(item)
                if arg.get("keep"):
                    test = self.run(arg["keep"], locals_ + (item,))
                    fault = t.or_(fault, t.and_(present, t.not_(guard_of(test, "bool"))))
                    present = t.and_(present, is_true(test))
                rows.append((present, self.run(arg["body"], locals_ + (item,))))
            if arg["kind"] == "list":
                result = choose(t.or_(*[t.and_(p, is_fault(v)) for p, v in rows]), FAULT, list_(rows))
            elif arg["kind"] == "one":
                broken = t.or_(*[t.and_(p, t.not_(guard_of(v, "bool"))) for p, v in rows])
                count = t.add([t.ite(t.and_(p, is_true(v)), 1, 0) for p, v in rows])
                result = choose(broken, FAULT, bool_(t.eq(count, 1)))
            else:
                result = decided(arg["kind"] == "all", rows)
            return choose(fault, FAULT, result) if fault is not False else result
        return bind(self.run(arg["range"], locals_), over)

    def do_invoke(self, arg, locals_):
        name = arg["function"]
        function = FUNCTIONS.get(name)
        if function is None:
            raise t.OutOfReach(f"function {name} of CEL")
        return self.strict([self.run(one, locals_) for one in arg["args"]], function)


def decided(is_all, rows):
    """Whether all, or one, of some values are true; a fault counts where none decides."""
    decides = t.or_(*[t.and_(p, t.or_(*[t.and_(g, t.not_(v[1]) if is_all else v[1]) for g, v in value if v[0] == "bool"])) for p, value in rows])
    broken = t.or_(*[t.and_(p, t.not_(guard_of(value, "bool"))) for p, value in rows])
    return merged([(decides, ("bool", not is_all)), (t.and_(t.not_(decides), broken), ("fault",)),
                   (t.and_(t.not_(decides), t.not_(broken)), ("bool", is_all))])


def plus(a, b):
    if a[0] == b[0] == "str":
        return [(True, ("str", t.concat([a[1], b[1]])))]
    if a[0] == b[0] == "list":
        return list_(a[1] + b[1])
    if a[0] == b[0] == "int":
        return [(True, ("int", t.add([a[1], b[1]])))]
    return FAULT


def texts(function):
    return lambda *args: function(*[a[1] for a in args]) if all(a[0] == "str" for a in args) else FAULT


def within(item, where):
    if where[0] == "list":
        return bool_(t.or_(*[t.and_(p, same([(True, item)], other)) for p, other in where[1]]))
    if where[0] == "map":
        return bool_(t.or_(*[t.and_(p, t.eq(name, item[1])) for name, p, _ in entries(where[1])]) if item[0] == "str" else False)
    return FAULT


def ordered(op):
    def function(a, b):
        if a[0] == b[0] and a[0] in ("int", "str"):
            return bool_(t.compare(op, a[1], b[1]))
        return FAULT
    return function


def size_of(one):
    if one[0] == "str":
        return [(True, ("int", t.length(one[1])))]
    if one[0] == "list":
        return [(True, ("int", size(one[1])))]
    if one[0] == "map":
        return [(True, ("int", size([(p, None) for _, p, _ in entries(one[1])])))]
    return FAULT


def pattern_matches(s, pattern):
    if not isinstance(pattern, str):
        raise t.OutOfReach("regular expression that is no constant")
    return bool_(t.in_language(s, t.whole(pattern)))


def to_string(one):
    if one[0] == "str":
        return [(True, one)]
    if one[0] == "int":
        return [(True, ("str", t.from_int(one[1])))]
    return [(True, ("str", t.ite(one[1], "true", "false")))] if one[0] == "bool" else FAULT


FUNCTIONS = {
    "!_": lambda a: bool_(t.not_(a[1])) if a[0] == "bool" else FAULT,
    "_==_": lambda a, b: bool_(same([(True, a)], [(True, b)])),
    "_!=_": lambda a, b: bool_(t.not_(same([(True, a)], [(True, b)]))),
    "_+_": plus,
    "_<_": ordered("lt"), "_<=_": ordered("le"), "_>_": ordered("gt"), "_>=_": ordered("ge"),
    "@in": within,
    "size": size_of,
    "dyn": lambda a: [(True, a)],
    "hasValue": lambda a: bool_(a[0] == "some") if a[0] in ("some", "none") else FAULT,
    "string": to_string,
    "contains": texts(lambda s, p: bool_(t.contains(s, p))),
    "startsWith": texts(lambda s, p: bool_(t.starts(s, p))),
    "endsWith": texts(lambda s, p: bool_(t.ends(s, p))),
    "matches": texts(pattern_matches),
    "upperAscii": texts(lambda s: [(True, ("str", t.upper(s)))]),
    "lowerAscii": texts(lambda s: [(True, ("str", t.lower(s)))]),
}
