"""Shrinks a random case of admission.

In: a case that differs, and a function that finds the first of several cases that differs still. Out: a case that loses its difference with every part
that is taken from it: objects, members of objects, items of lists, operations and fields of expressions.
"""
import copy
import re

# What the server needs, or what shows which case it is.
FIXED = (
    "apiVersion", "kind", "metadata", "name", "namespace", "labels", "spec", "matchConstraints", "policyName", "reinvocationPolicy", "patchType", "paramRef", "paramKind",
    "validationActions", "verb", "object", "existing",
)


def parts(value, at=()):
    """Paths of all parts that can be taken away, the large ones first."""
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    for key, part in items:
        if key not in FIXED:
            yield (*at, key)
    for key, part in items:
        if key not in ("matchConstraints", "paramRef"):
            yield from parts(part, (*at, key))


def without(value, path):
    out = copy.deepcopy(value)
    at = out
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return out


def groups(text):
    """Where brackets of an expression begin and end, outside of texts."""
    stack, quote, at = [], None, 0
    while at < len(text):
        c = text[at]
        if quote:
            at += c == "\\"
            quote = None if c == quote else quote
        elif c in "'\"`":
            quote = c
        elif c in "([{":
            stack.append(at)
        elif c in ")]}" and stack:
            yield stack.pop(), at
        at += 1


def members(text, begin, end):
    """The parts between the commas of a bracket."""
    inner, cuts = list(groups(text[begin + 1:end])), [begin]
    texts = [m.span() for m in re.finditer(r"'(?:\\.|[^'\\])*'", text)]
    for at in range(begin + 1, end):
        is_inside = any(b + begin + 1 < at < e + begin + 1 for b, e in inner) or any(b < at < e for b, e in texts)
        if text[at] == "," and not is_inside:
            cuts.append(at)
    return list(zip(cuts, cuts[1:] + [end]))


def shorter(text):
    """Expressions with one member less."""
    for begin, end in sorted(groups(text), key=lambda g: g[0] - g[1]):
        if text[begin] == "(":
            continue
        found = members(text, begin, end)
        for i, (first, last) in enumerate(found):
            if text[first + 1:last].strip():
                rest = text[first + 1:last] if len(found) == 1 else text[first:last] if i else text[first + 1:last + 1]
                yield text.replace(rest, "", 1) if text.count(rest) == 1 else text[:first + (i == 0)] + text[last + (i == 0 and len(found) > 1):]


def expressions(value, at=()):
    """Paths of expressions of policies."""
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    for key, part in items:
        if isinstance(part, str) and key in ("expression", "messageExpression", "valueExpression"):
            yield (*at, key)
        yield from expressions(part, (*at, key))


def smaller(case):
    """Cases with one part less, as changes of what a case has of objects and requests."""
    whole = [case["setup"], case["requests"]]
    for path in parts(whole):
        if len(path) > 1:
            yield without(whole, path)
    for path in expressions(whole):
        at = whole
        for key in path[:-1]:
            at = at[key]
        for text in shorter(at[path[-1]]):
            out = copy.deepcopy(whole)
            inner = out
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = text
            yield out


def moved(value, old, new):
    """A value for another namespace."""
    if isinstance(value, dict):
        return {moved(k, old, new): moved(v, old, new) for k, v in value.items()}
    if isinstance(value, list):
        return [moved(v, old, new) for v in value]
    return re.sub(rf"\b{old}\b", new, value) if isinstance(value, str) else value


def shrunk(case, failure, first, width=40, rounds=30):
    """The smallest case that was found, and how it differs."""
    case = {k: v for k, v in case.items() if k != "probe"}
    tried = set()
    for _ in range(rounds):
        candidates = []
        for setup, requests in smaller(case):
            text = repr((setup, requests))
            if text not in tried and requests and len(candidates) < width:
                tried.add(text)
                new = f"r-{len(candidates)}"
                old = case["namespace"]
                candidates.append({**case, "id": f"{case['id']}", "namespace": new, "setup": moved(setup, old, new), "requests": moved(requests, old, new)})
        if not candidates:
            break
        for i, candidate in enumerate(candidates):
            candidate["id"] = f"{case['id'].split('~')[0]}~{i}"
        found = first(candidates)
        if found:
            case, failure = candidates[found[0]], found[1]
    return case, failure
