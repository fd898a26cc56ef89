"""Random cases of admission at limits, of several policies on one object, and of expressions.

In: a server, a random source, a namespace. Out: cases, as in `admission_areas`.

Where a cost limit lies depends on the object: `object.spec` holds how long lists and texts are, and a search with requests to the server finds the last
object that it evaluates and the first one that it refuses. Both become requests of the case, one unit of cost apart.
"""
import copy

import cel
from admission_areas import base, binding, changing, create, matching, validating

# Bodies of comprehensions over numbers: random parts, with costs of their own.
BODIES = [
    "{v} >= 0", "{v} + {n} > -1", "string({v}) != ''", "[{v}, {n}].size() == 2", "'{t}'.contains('b') || {v} >= 0", "{{'k': {v}}}['k'] == {v}", "{v} in [{n}, {n} + 1] || true",
    "({v} % 2 == 0 ? '{t}' : 'x').size() > 0", "'{t}'.matches('^[a-z]*$')", "'{t}'.replace('a', 'b') != ''", "'{t}'.startsWith('{t}')", "'{t}'.lowerAscii() == '{t}'",
    "[1, 2, 3].exists(w, w == {v}) || {v} >= 0", "quantity('{n}').compareTo(quantity('1')) > -2", "'{t}'.indexOf('z') < {v}", "'%d %s'.format([{v}, '{t}']) != ''",
    "object.spec.words.size() > 0", "object.spec.words == object.spec.words", "sets.contains([{v}, {n}], [{v}])", "cel.bind(w, {v} + 1, w > 0)", "'{t}'.split('b').size() > 0",
    "isIP('{t}') || {v} >= 0", "url('http://a/{t}').getHost() == 'a'", "optional.of({v}).hasValue()", "[{n}, {v}].max() >= 0", "object.spec.words.map(w, w + '{t}').size() > 0",
    "'{t}'.endsWith('{t}')", "duration('{n}s') > duration('0s') || true", "ip('10.0.0.1').family() == 4", "semver('1.2.{n}').major() == 1", "[{v}, {n}].sort().size() == 2",
    "['{t}', 'b'].join(',') != ''", "has(object.spec.none) || {v} >= 0", "dyn({v}) == {n} || true", "timestamp({n}) < timestamp('2024-01-01T00:00:00Z')", "bytes('{t}') != b''",
]
# A comprehension for each of the three sizes, the coarsest first; the cost of the last grows with the text by a tenth of a unit.
FINE = "lists.range(object.spec.m).all(y, true) && (object.spec.s + 'b').contains('b')"
EMPTY = {"n": 0, "m": 0, "s": "", "words": ["abc", "de", ""]}
MOST = {"n": 20_000, "m": 5_000, "s": 400}


class Limits:
    """Costs around the limits of a call, of a policy and of its conditions; sizes of policies around what the API takes."""

    # A search takes the server seconds.
    share = 0.25

    def __init__(self, server):
        self.server = server

    def __call__(self, rng, namespace):
        return self._size(rng, namespace) if rng.random() < 0.35 else self._cost(rng, namespace)

    def _cost(self, rng, namespace):
        body = rng.choice(BODIES).format(v="x", n=rng.randint(0, 9), t="ab"[:rng.randint(0, 2)] + "c" * rng.choice([0, 1, 8, 9, 10, 11, 30]))
        inner = rng.choice(["{0}.all(x, {1})", "{0}.map(x, {1}).size() > 0", "!{0}.exists(x, !({1}))", "{0}.filter(x, {1}).size() > 0", "{0}.all(k, x, k <= x && ({1}))",
                            "cel.bind(l, {0}, l.all(x, {1}))", "{0}.transformList(k, x, {1}).size() > 0", "{0}.exists_one(x, x == 0 && ({1}))"])
        form = f"lists.range(object.spec.n).all(outer, {inner.format('lists.range(150)', '{}')})"
        # The server needs time by the square of the length of a list: the outer one is short.
        text = f"{form.replace('{}', body)} && {FINE}"
        where = matching(self.server, namespace, "random.test/v1", "Loose", ("CREATE",))
        kind = rng.choice(["call"] * 14 + ["mutation", "variable", "message"] * 3 + ["conditions"] * 2 + ["policy", "annotations"])
        shown = {"expression": "false", "message": "evaluated"}
        if kind == "mutation":
            policy = changing("p-" + namespace, where, [("merge", f"{text} ? Object{{metadata: Object.metadata{{labels: {{'done': 'yes'}}}}}} : Object{{}}")])
        elif kind == "variable":
            policy = validating("p-" + namespace, where, [{"expression": "!variables.v", "message": "evaluated"}], variables=[{"name": "v", "expression": text}])
        elif kind == "message":
            policy = validating("p-" + namespace, where, [{"expression": "false", "messageExpression": f"{text} ? 'evaluated' : 'x'"}])
        elif kind == "conditions":
            # The limit of all conditions is 2.5 times that of a call.
            policy = validating("p-" + namespace, where, [shown], matchConditions=[{"name": f"c{i}", "expression": text} for i in range(rng.choice([3, 4, 5]))])
        elif kind == "policy":
            # The limit of all validations is ten times that of a call.
            policy = validating("p-" + namespace, where, [{"expression": text} for _ in range(rng.choice([11, 12, 15]))] + [shown])
        elif kind == "annotations":
            values = [{"key": f"k{i}", "valueExpression": f"{text} ? 'v' : 'x'"} for i in range(rng.choice([1, 11]))]
            policy = validating("p-" + namespace, where, [shown], auditAnnotations=values)
        else:
            policy = validating("p-" + namespace, where, [{"expression": f"!({text})", "message": "evaluated"}])
        obj = {"apiVersion": "random.test/v1", "kind": "Loose", "metadata": {"name": "o", "namespace": namespace}, "spec": dict(EMPTY)}
        return {"setup": [policy, binding(policy)], "requests": [create(obj)], "validates": True, "audited": True, "probe": lambda send: around(obj, send)}

    def _size(self, rng, namespace):
        """A policy at a limit of the API: nesting, length, how many parts."""
        kind = rng.choice(["nested", "lists", "length", "conditions", "annotations", "name", "operators", "message"])
        spec, test, by = {}, "true", rng.choice([-1, 0, 1, 2])
        if kind == "nested":
            test = "(" * (249 + by) + "true" + ")" * (249 + by)
        elif kind == "lists":
            depth = rng.choice([20, 40, 60, 62]) + by
            test = "[" * depth + "1" + "]" * depth + " != []"
        elif kind == "length":
            test = f"'{'x' * (100_000 - 8 + by)}' != ''"
        elif kind == "operators":
            test = " && ".join(["true"] * (rng.choice([100, 250, 500]) + by))
        elif kind == "conditions":
            spec["matchConditions"] = [{"name": f"c{i}", "expression": "true"} for i in range(64 + by)]
        elif kind == "annotations":
            spec["auditAnnotations"] = [{"key": f"k{i}", "valueExpression": "'v'"} for i in range(20 + by)]
        elif kind == "name":
            spec["variables"] = [{"name": "v" * (63 + by), "expression": "1"}]
        validation = {"expression": test, **({"message": "m" * (5120 + by)} if kind == "message" else {})}
        where = matching(self.server, namespace, "v1", "ConfigMap", ("CREATE",))
        policy = validating("p-" + namespace, where, [validation], **spec)
        return {"setup": [policy, binding(policy)], "requests": [create(base("ConfigMap", namespace))], "validates": True, "audited": True}


def around(obj, send):
    """Requests on both sides of the limit that a policy meets; the one of the object alone where there is no limit."""
    def request(spec):
        return create({**copy.deepcopy(obj), "spec": {**EMPTY, **spec, "s": "a" * spec.get("s", 0)}})

    def is_over(spec):
        reply = send(request(spec))
        return "cost limit" in reply.message or "budget" in reply.message or "exceed" in reply.message

    if is_over({}):
        return [request({})]
    # A search from below: an object over the limit costs the server as much as the limit, one below it less.
    low, high = 0, 8
    while not is_over({"n": high}):
        low, high = high, high * 2
        if high > MOST["n"]:
            return [request({})]
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if is_over({"n": middle}) else (middle, high)
    found = {"n": low}
    over = {"n": high}
    for key in ("m", "s"):
        low, high = 0, MOST[key]
        if not is_over({**found, key: high}):
            break
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_over({**found, key: middle}) else (middle, high)
        over = {**found, key: high}
        found[key] = low
    return [{**request(found), "name": "under"}, {**request(over), "name": "over"}]


class Orders:
    """Several policies that change one object, which run again after each other; the server runs them in random order."""

    share = 0.5

    def __init__(self, server):
        self.server = server

    def __call__(self, rng, namespace):
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "o", "namespace": namespace, "annotations": {"s": "0"}}, "data": {"n": "1"}}
        where, count, setup = matching(self.server, namespace, "v1", "ConfigMap"), rng.choice([2, 2, 3]), []
        for i in range(count):
            spec = {"reinvocationPolicy": rng.choice(["Never", "IfNeeded", "IfNeeded"])}
            mutations = [self._mutation(rng, i, count) for _ in range(rng.choice([1, 1, 2]))]
            if rng.random() < 0.3:
                other = rng.randrange(count)
                condition = rng.choice([f"'k{other}' in object.metadata.annotations", f"!('k{other}' in object.metadata.annotations)", "!('t' in object.metadata.annotations)",
                                        "object.metadata.annotations.s == '0'", "object.metadata.annotations.k0 == '1'"])
                spec["matchConditions"] = [{"name": "c", "expression": condition}]
            if rng.random() < 0.25:
                spec["variables"] = [{"name": "v", "expression": "object.metadata.annotations[?'t'].orValue('none')"}]
                mutations.append(("merge", f"Object{{metadata: Object.metadata{{annotations: {{'v{i}': variables.v}}}}}}"))
            if rng.random() < 0.15:
                spec["failurePolicy"] = "Ignore"
                mutations.insert(rng.randint(0, len(mutations)), ("merge", "Object{metadata: Object.metadata{annotations: {'e': object.nope}}}"))
            policy = changing(f"p{i}-{namespace}", where, mutations, **spec)
            setup += [policy, binding(policy)]
            if rng.random() < 0.12:
                setup.append(binding(policy, f"b2-{i}-{namespace}"))
        return {"setup": setup, "requests": [create(obj)], "turns": 12 if count == 2 else 24}

    @staticmethod
    def _mutation(rng, own, count):
        def counted(key):
            return f"string(int(object.metadata.annotations[?'{key}'].orValue('0')) + 1)"
        other = f"object.metadata.annotations[?'k{rng.randrange(count)}'].orValue('none') + 'x'"
        value = rng.choice([counted(f"k{own}"), counted(f"k{own}"), counted("t"), other, "'const'", "string(size(object.metadata.annotations))", f"object.data.n + '{own}'"])
        key = rng.choice([f"k{own}"] * 3 + ["t", "s"])
        if rng.random() < 0.1:
            return "patch", "[JSONPatch{op: 'test', path: '/metadata/annotations/s', value: '9'}, JSONPatch{op: 'add', path: '/metadata/annotations/z', value: '1'}]"
        if rng.random() < 0.5:
            return "merge", f"Object{{metadata: Object.metadata{{annotations: {{'{key}': {value}}}}}}}"
        return "patch", f"[JSONPatch{{op: 'add', path: '/metadata/annotations/{key}', value: {value}}}]"


class Expressions:
    """Expressions of `cel`, shown by the message of a validation that fails."""

    def __init__(self, server):
        self.server = server

    def __call__(self, rng, namespace):
        kind = rng.choice([cel.STRING, cel.INT, cel.DOUBLE, cel.BOOL, cel.BOOL, cel.TIMESTAMP, cel.DURATION, cel.BYTES, cel.DYN, ("list", cel.INT), ("list", cel.STRING), ("map", cel.STRING, cel.INT)])
        writer = cel.Gen(rng, "policy")
        text = writer.gen(kind, rng.choice([1, 2, 2, 3]))
        if rng.random() < 0.05:
            text = cel.damage(text, rng)
        shown = text if kind == cel.STRING else f"string({text})" if isinstance(kind, str) and kind != cel.DYN else f"'%s'.format([{text}])"
        obj = {"apiVersion": "random.test/v1", "kind": "Loose", **copy.deepcopy(cel.OBJECT)}
        obj["metadata"] = {"name": "o", "namespace": namespace, "labels": {"app": "web", "tier": "front"}}
        where = matching(self.server, namespace, "random.test/v1", "Loose")
        variables = [{"name": "shown", "expression": shown}]
        if rng.random() < 0.15:
            policy = changing("p-" + namespace, where, [("merge", "Object{metadata: Object.metadata{annotations: {'shown': variables.shown}}}")], variables=variables)
        else:
            policy = validating("p-" + namespace, where, [{"expression": "variables.shown == ''", "messageExpression": "variables.shown + '.'"}], variables=variables)
        return {"setup": [policy, binding(policy)], "requests": [create(obj)], "validates": True}
