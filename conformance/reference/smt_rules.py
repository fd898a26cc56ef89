"""Policies as terms: when a request violates one. Part of smt.py.

The meaning is that of docs/semantics/policies.md (matching), validate.md (rules) and cel-policies.md (policies in CEL). A request is
concrete but for its object: kind, operation, no subresource; an update leaves the object as it is.
"""
import re

import smt_terms as t
from smt_cel import Cel
from smt_conditions import filled, holds, resolved
from smt_objects import Node
from smt_patterns import match, matches
from smt_values import FAULT, NULL, Query, alternatives, bind, choose, constant, field, is_fault, is_true


class Request:
    """A request: what is read of it by name."""

    def __init__(self, world, resource, operation, node):
        self.world, self.resource, self.operation, self.node = world, resource, operation, node
        whole = [(True, ("map", node))]
        self.object = NULL if operation == "DELETE" else whole
        self.old = NULL if operation == "CREATE" else whole
        self.stack = [{}]

    def text(self, *keys):
        value = [(True, ("map", self.node))]
        for key in keys:
            value = bind(value, lambda one: choose(*field(one[1], key), NULL))
        return value

    def request(self):
        kind = self.resource
        group = {"group": (True, constant(kind["group"])), "version": (True, constant(kind["version"]))}
        found = {"object": (True, self.object), "oldObject": (True, self.old), "operation": (True, constant(self.operation)),
                 "kind": (True, [(True, ("map", dict(group, kind=(True, constant(kind["kind"])))))]), "name": (True, self.text("metadata", "name")),
                 "namespace": (True, self.namespace())}
        return [(True, ("map", Known(found)))]

    def namespace(self):
        return self.text("metadata", "namespace") if self.resource["namespaced"] else constant("")

    def read(self, name):
        """What a name at the root stands for."""
        if name == "request":
            return self.request()
        for scope in reversed(self.stack):
            if name in scope:
                value = scope[name]
                return value() if callable(value) else value
        raise t.OutOfReach(f"name {re.sub(r'[0-9]+$', 'N', name) if name.startswith('element') else 'images' if name == 'images' else 'of data in the context'}")

    def value(self):
        raise t.OutOfReach("the whole context")


class Known(dict):
    """A map of which only some keys are translated."""

    def get(self, key, default=None):
        if key not in self:
            raise t.OutOfReach(f"request.{key}")
        return super().get(key, default)


class CelRoot:
    def __init__(self, request):
        self.of = request

    def read(self, name):
        if name == "object":
            return self.of.object
        if name == "oldObject":
            return self.of.old
        if name == "request":
            return self.of.request()
        raise t.OutOfReach(f"name {name} of CEL")


# Matching

def accepts(matcher, request):
    (kind, arg), = matcher.items()
    if kind == "constraints":
        return constraints(arg, request)
    found = [accepts_filter(one, request) for one in arg]
    return t.or_(*found) if kind == "any" else t.and_(*found) if found else False


def accepts_filter(one, request):
    for key in ("roles", "clusterRoles", "subjects", "hasUser", "namespaceSelector"):
        if one.get(key):
            raise t.OutOfReach(f"match: {key}")
    resource, parts = request.resource, []
    if not one.get("hasResource"):
        return False
    if one.get("operations"):
        parts.append(request.operation in one["operations"])
    if one.get("kinds"):
        fits = lambda k: all(t.wildcard(k[part], resource[part]) for part in ("group", "version", "kind")) and t.wildcard(k["subresource"], "")
        parts.append(any(fits(k) for k in one["kinds"]))
    if parts and False in parts:
        return False
    for key in ("name", "names"):
        if one.get(key):
            patterns = [one[key]] if key == "name" else one[key]
            name = text_of(request.text("metadata", "name"))
            parts.append(t.or_(*[t.wildcard(p, name) for p in patterns]))
    if one.get("namespaces"):
        if resource["kind"] == "Namespace":
            parts.append(t.or_(*[t.wildcard(p, text_of(request.text("metadata", "name"))) for p in one["namespaces"]]))
        else:
            namespace = text_of(request.namespace()) if resource["namespaced"] else ""
            parts.append(t.or_(*[t.wildcard(p, namespace) for p in one["namespaces"]]))
    if one.get("annotations"):
        rows = pairs(request.text("metadata", "annotations"), [key for key, _ in one["annotations"]])
        parts += [t.or_(*[t.and_(p, t.wildcard(key, name), t.wildcard(value, text_of(v))) for name, p, v in rows]) for key, value in one["annotations"]]
    if one.get("selector"):
        parts.append(selected(one["selector"], request.text("metadata", "labels")))
    return t.and_(*parts)


def text_of(value):
    found = [(g, v[1]) for g, v in alternatives(value) if v[0] == "str"]
    if not found:
        return ""
    text = found[0][1]
    for guard, other in found[1:]:
        text = t.ite(guard, other, text)
    return text


def pairs(labels, keys):
    """Entries of labels or annotations that may match one of some keys."""
    found = []
    for guard, one in labels:
        if one[0] != "map":
            continue
        if any(set(key) & {"*", "?"} for key in keys):
            found += [(name, t.and_(guard, p), v) for name, p, v in one[1].entries()]
        else:
            found += [(key, t.and_(guard, field(one[1], key)[0]), field(one[1], key)[1]) for key in keys]
    return found


def selected(selector, labels):
    if not selector.get("valid", False):
        return False
    parts = []
    for key, value in selector.get("labels", ()):
        rows = pairs(labels, [key])
        is_wild = set(key + value) & {"*", "?"}
        parts.append(t.or_(*[t.and_(p, t.wildcard(key, n) if is_wild else t.eq(n, key), t.wildcard(value, text_of(v)) if is_wild else t.eq(text_of(v), value)) for n, p, v in rows]))
    for one in selector.get("expressions", ()):
        rows = pairs(labels, [one["key"]])
        has = t.or_(*[p for _, p, _ in rows])
        among = t.or_(*[t.and_(p, t.eq(text_of(v), value)) for _, p, v in rows for value in one.get("values", ())])
        parts.append({"in": among, "notIn": t.not_(among), "exists": has, "doesNotExist": t.not_(has)}[one["operator"]])
    return t.and_(*parts)


def constraints(one, request):
    if one.get("namespaceSelector") and any(one["namespaceSelector"].get(k) for k in ("labels", "expressions")):
        raise t.OutOfReach("match: namespaceSelector")
    rules = one.get("rules", [])
    accepted = t.or_(*[resource_rule(rule, request) for rule in rules]) if rules else True
    excluded = t.or_(*[resource_rule(rule, request) for rule in one.get("exclude", ())])
    labels = selected(one["objectSelector"], request.text("metadata", "labels")) if one.get("objectSelector") else True
    return t.and_(accepted, t.not_(excluded), labels)


def resource_rule(rule, request):
    resource = request.resource
    has = lambda any_of, text: any_of == "all" or text in any_of["these"]
    is_kind = (has(rule["operations"], request.operation) and has(rule["groups"], resource["group"]) and has(rule["versions"], resource["version"])
               and any(p.get("resource") in (None, resource["plural"]) and p.get("subresource") in (None, "") for p in rule["resources"])
               and {"all": True, "namespaced": resource["namespaced"], "cluster": not resource["namespaced"]}[rule["scope"]])
    if not is_kind or not rule.get("names"):
        return is_kind
    return t.or_(*[t.eq(text_of(request.text("metadata", "name")), name) for name in rule["names"]])


# Rules: guards of a violation, and of a pass

def checked(check, query, request, rule, scope):
    """When a check fails or cannot be evaluated, and when it passes."""
    if check == "nothing":
        return False, False
    (kind, arg), = check.items()
    if kind == "deny":
        yes, fault = holds(arg, query)
        return t.or_(yes, fault), t.and_(t.not_(yes), t.not_(fault))
    if kind in ("pattern", "anyPattern"):
        return pattern(kind, arg[0], request, scope)
    if kind == "forEach":
        return loops(arg, query, request, rule, scope)
    if kind == "assert":
        return asserted(arg, request, rule)
    raise t.OutOfReach(f"check {kind}")


def pattern(kind, overlay, request, scope):
    if scope is None and request.operation == "DELETE":
        return False, False
    if "ready" not in overlay:
        raise t.OutOfReach("patterns with variables")
    value = scope if scope is not None else request.object
    shapes = [overlay["ready"]] if kind == "pattern" else overlay["ready"]
    said = [match(value, one["root"]) for one in shapes]
    fits = t.or_(*[matches(one) for one in said])
    if kind == "anyPattern" and not shapes:
        return False, True
    fails = t.or_(*[one.fail for one in said])
    return t.and_(t.not_(fits), fails), fits


def loops(arg, query, request, rule, scope):
    violated, counted, broken = False, False, False
    depth = len(request.stack) - 1
    for loop in arg:
        listed = resolved(loop["list"], query)
        broken = t.or_(broken, t.or_(*[g for g, v in listed if v[0] == "fault"]))
        for guard, one in listed:
            if one[0] in ("missing", "fault", "null"):
                continue
            items = one[1] if one[0] == "list" else [(True, [(True, one)])]
            for at, (present, item) in enumerate(items):
                for inner, element in alternatives(item):
                    here = t.and_(guard, present, inner)
                    if here is False or element[0] == "null":
                        continue
                    bad, ok = looped(loop, [(True, element)], depth, query, request, rule, scope)
                    violated, counted = t.or_(violated, t.and_(here, bad)), t.or_(counted, t.and_(here, ok))
    return t.or_(violated, t.and_(broken, t.not_(counted))), t.and_(counted, t.not_(violated))


def looped(loop, element, depth, query, request, rule, scope):
    if loop.get("elementScope") is True and element[0][1][0] != "map":
        return True, False
    is_scoped = loop.get("elementScope", element[0][1][0] == "map")
    request.stack.append({"element": element, f"element{depth}": element, **bindings(loop.get("bindings", ()), query)})
    try:
        met, fault = holds(loop.get("admit"), query)
        bad, ok = checked(loop["check"], query, request, rule, element if is_scoped else scope)
        runs = t.and_(met, t.not_(fault))
        return t.and_(runs, bad), t.and_(runs, ok)
    finally:
        request.stack.pop()


def bindings(listed, query):
    return {one["name"]: (lambda one=one: bound(one["source"], query)) for one in listed}


def bound(source, query):
    (kind, arg), = source.items()
    if kind != "variable":
        raise t.OutOfReach(f"context: {kind}")
    value = filled(arg["value"], query) if arg.get("value") else None
    default = filled(arg["default"], query) if arg.get("default") else None
    if arg.get("query"):
        ready = arg["query"].get("ready")
        if value is not None or ready is None:
            raise t.OutOfReach("context: a query on a value, or in a variable")
        value = resolved(ready, query)
        if default is not None:
            value = bind(value, lambda one: default if one[0] in ("null", "missing", "fault") else [(True, one)])
    if value is None:
        raise t.OutOfReach("context: a default without a value")
    return bind(value, lambda one: FAULT if one[0] in ("null", "missing") else [(True, one)])


def asserted(validations, request, rule):
    cel = rule["cel"]
    violated = False
    for one in validations:
        violated = t.or_(violated, t.not_(is_true(cel.source(one["check"]["program"]))))
    return violated, t.not_(violated)


def conditions_of(sources, cel, failure_policy):
    """CEL conditions: whether all hold, and whether they are a fault."""
    values = [cel.source(one["program"]) for one in sources]
    refused = t.or_(*[t.and_(g, t.not_(v[1])) for value in values for g, v in value if v[0] == "bool"])
    fault = t.and_(t.not_(refused), t.or_(*[t.not_(t.or_(*[g for g, v in value if v[0] == "bool"])) for value in values]))
    holding = t.and_(t.not_(refused), t.not_(fault))
    return holding, fault if failure_policy != "ignore" else False


def rule_says(rule, policy, request):
    """When a rule is violated, and when it passes."""
    if rule["kind"] not in ("validation", "mutation", "generation"):
        raise t.OutOfReach(f"rules of kind {rule['kind']}")
    when = accepts({"constraints": rule["bound"]["constraints"]} if rule.get("bound") else rule["when"], request)
    when = t.and_(when, t.not_(accepts(rule["unless"], request)))
    if when is False or rule["kind"] != "validation":
        if when is not False:
            raise t.OutOfReach(f"rules of kind {rule['kind']}")
        return False, False
    if rule.get("broken"):
        return when, False
    if "validate" not in rule["body"]:
        raise t.OutOfReach(f"body {next(iter(rule['body']))}")
    query = Query(request)
    request.stack = [bindings(rule.get("bindings", ()), query)]
    met, fault = holds(rule.get("admit"), query)
    own = rule.get("expressions")
    if own:
        if own["view"] not in ("rule", "request", "admissionRequest") or own.get("params"):
            raise t.OutOfReach("parameters" if own.get("params") else f"view {own['view']}")
        rule["cel"] = Cel(CelRoot(request), own.get("variables", []))
        holding, broken = conditions_of(own.get("conditions", ()), rule["cel"], own["failurePolicy"])
        met, fault = t.and_(met, holding), t.or_(fault, t.and_(met, broken))
    bad, ok = checked(rule["body"]["validate"]["check"], query, request, rule, None)
    runs = t.and_(when, met, t.not_(fault))
    return t.or_(t.and_(when, fault), t.and_(runs, bad)), t.and_(runs, ok)


def violates(bundle, request):
    """When one of the policies of a document is violated."""
    for key in ("exceptions", "celExceptions", "cleanups"):
        if bundle.get(key):
            raise t.OutOfReach(key)
    found = []
    for policy in bundle["policies"]:
        if policy["stage"] not in ("rules", "expressions", "apiServer"):
            raise t.OutOfReach(f"policies of stage {policy['stage']}")
        rules = next((own["rules"] for own in policy.get("byKind") or () if request.resource["kind"] in own["kinds"]), policy["rules"])
        applies = bound_to(policy, bundle, request)
        if policy["scope"] != "all":
            (_, namespace), = policy["scope"].items()
            applies = t.and_(applies, t.eq(text_of(request.namespace()), namespace))
        if policy.get("admit"):
            raise t.OutOfReach("conditions of a policy")
        going = applies
        for rule in rules:
            bad, ok = rule_says(rule, policy, request)
            found.append(t.and_(going, bad))
            if policy.get("applyOne"):
                going = t.and_(going, t.not_(bad), t.not_(ok))
    return t.or_(*found)


def bound_to(policy, bundle, request):
    own = [one for one in bundle.get("bindings", ()) if one["policy"] == policy["name"]]
    if policy["stage"] != "apiServer" or not own:
        return True
    if any(one.get("params") for one in own):
        raise t.OutOfReach("parameters")
    return t.or_(*[constraints(one["when"], request) if one.get("when") else True for one in own])
