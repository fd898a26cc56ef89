"""Terms of cvc5 that are simplified as they are built: part of smt.py.

Constants are Python values (`True`, `'text'`, `3`), everything else is a cvc5 term. A guard is a boolean of either kind. What cannot be
said raises `OutOfReach` with the construct that stopped it.
"""
import re
from fractions import Fraction
from functools import lru_cache

try:
    from re import _constants as sre, _parser as parser
except ImportError:
    import sre_constants as sre
    import sre_parse as parser

import cvc5
from cvc5 import Kind


class OutOfReach(Exception):
    """A construct that has no translation."""


class Context:
    """The term manager of a comparison, and the functions without a definition in it."""

    def __init__(self):
        self.tm = cvc5.TermManager()
        tm = self.tm
        self.string, self.integer, self.real, self.boolean = tm.getStringSort(), tm.getIntegerSort(), tm.getRealSort(), tm.getBooleanSort()
        self.functions, self.measured, self.constants, self.regexes, self.said, self.count = {}, {}, set(), {}, [], 0

    def function(self, name, sort):
        if name not in self.functions:
            self.functions[name] = self.tm.mkConst(self.tm.mkFunctionSort([self.string], sort), name)
        return self.functions[name]


now = None


def start():
    """Begins a comparison without terms."""
    global now
    now = Context()


def fresh(name, sort):
    now.count += 1
    return now.tm.mkConst(getattr(now, sort), f"{name}#{now.count}")


def lift(x):
    """A constant as a term."""
    if isinstance(x, bool):
        return now.tm.mkBoolean(x)
    if isinstance(x, str):
        now.constants.add(x)
        return now.tm.mkString(x)
    if isinstance(x, int):
        return now.tm.mkInteger(str(x))
    if isinstance(x, (Fraction, float)):
        f = Fraction(x)
        return now.tm.mkReal(f"{f.numerator}/{f.denominator}")
    return x


def is_constant(x):
    return isinstance(x, (bool, str, int, Fraction, float))


def make(kind, *args):
    return now.tm.mkTerm(kind, *[lift(a) for a in args])


def and_(*parts):
    left = []
    for p in parts:
        if p is False:
            return False
        if p is not True and p not in left:
            left.append(p)
    if any(not_(p) in left for p in left):
        return False
    return True if not left else left[0] if len(left) == 1 else make(Kind.AND, *left)


def not_(x):
    if isinstance(x, bool):
        return not x
    return x[0] if x.getKind() == Kind.NOT else make(Kind.NOT, x)


def or_(*parts):
    left = []
    for p in parts:
        if p is True:
            return True
        if p is not False and p not in left:
            left.append(p)
    if any(not_(p) in left for p in left):
        return True
    return False if not left else left[0] if len(left) == 1 else make(Kind.OR, *left)


def ite(c, a, b):
    if c is True or (type(a) is type(b) and is_constant(a) and a == b):
        return a
    if c is False:
        return b
    if isinstance(a, bool) or isinstance(b, bool):
        return or_(and_(c, a), and_(not_(c), b))
    a, b = (as_real(a), as_real(b)) if is_number(a) and sort_of(a) != sort_of(b) else (a, b)
    return a if not is_constant(a) and not is_constant(b) and a == b else make(Kind.ITE, c, a, b)


def sort_of(x):
    if is_constant(x):
        return "boolean" if isinstance(x, bool) else "string" if isinstance(x, str) else "integer" if isinstance(x, int) else "real"
    sort = x.getSort()
    return "boolean" if sort.isBoolean() else "string" if sort.isString() else "integer" if sort.isInteger() else "real"


def is_number(x):
    return sort_of(x) in ("integer", "real")


def as_real(x):
    if is_constant(x):
        return Fraction(x)
    return x if sort_of(x) == "real" else make(Kind.TO_REAL, x)


def eq(a, b):
    if is_constant(a) and is_constant(b):
        return sort_of(a) == sort_of(b) and a == b or (is_number(a) and is_number(b) and a == b)
    if sort_of(a) == "boolean":
        return or_(and_(a, b), and_(not_(a), not_(b)))
    if is_number(a):
        if sort_of(a) != sort_of(b):
            a, b = as_real(a), as_real(b)
    return True if not is_constant(a) and not is_constant(b) and a == b else make(Kind.EQUAL, a, b)


def less(a, b, or_equal=False):
    if is_constant(a) and is_constant(b):
        return a <= b if or_equal else a < b
    if sort_of(a) == "string":
        return make(Kind.STRING_LEQ if or_equal else Kind.STRING_LT, a, b)
    if sort_of(a) != sort_of(b):
        a, b = as_real(a), as_real(b)
    return make(Kind.LEQ if or_equal else Kind.LT, a, b)


def compare(op, a, b):
    """`lt`, `le`, `gt`, `ge` of two numbers or two texts."""
    return {"lt": lambda: less(a, b), "le": lambda: less(a, b, True), "gt": lambda: less(b, a), "ge": lambda: less(b, a, True)}[op]()


def length(s):
    return len(s) if isinstance(s, str) else make(Kind.STRING_LENGTH, s)


def add(parts):
    """A sum."""
    fixed, left = 0, []
    for p in parts:
        if is_constant(p):
            fixed += p
        else:
            left.append(p)
    if not left:
        return fixed
    left += [fixed] if fixed else []
    return left[0] if len(left) == 1 else make(Kind.ADD, *left)


def concat(parts):
    parts = [p for p in parts if not isinstance(p, str) or p]
    if all(isinstance(p, str) for p in parts):
        return "".join(parts)
    return parts[0] if len(parts) == 1 else make(Kind.STRING_CONCAT, *parts)


def starts(s, prefix):
    return s.startswith(prefix) if isinstance(s, str) and isinstance(prefix, str) else make(Kind.STRING_PREFIX, prefix, s)


def ends(s, suffix):
    return s.endswith(suffix) if isinstance(s, str) and isinstance(suffix, str) else make(Kind.STRING_SUFFIX, suffix, s)


def contains(s, part):
    return part in s if isinstance(s, str) and isinstance(part, str) else make(Kind.STRING_CONTAINS, s, part)


def upper(s):
    return s.upper() if isinstance(s, str) else make(Kind.STRING_TO_UPPER, s)


def lower(s):
    return s.lower() if isinstance(s, str) else make(Kind.STRING_TO_LOWER, s)


def from_int(n):
    if is_constant(n):
        return str(n)
    text = make(Kind.STRING_FROM_INT, n)
    return ite(less(n, 0), concat(["-", make(Kind.STRING_FROM_INT, make(Kind.NEG, n))]), text)


# Languages

def regex_of(pattern):
    """A regular expression that a text matches as a whole, as a term; `pattern` in Python's notation."""
    if pattern not in now.regexes:
        tree = parser.parse(pattern, re.ASCII)
        now.regexes[pattern] = translated(tree, tree.state.flags)
    return now.regexes[pattern]


def literal(text):
    return now.tm.mkTerm(Kind.STRING_TO_REGEXP, now.tm.mkString(text))


def any_text():
    return now.tm.mkTerm(Kind.REGEXP_STAR, now.tm.mkTerm(Kind.REGEXP_ALLCHAR))


def joined(kind, parts, empty):
    return empty() if not parts else parts[0] if len(parts) == 1 else now.tm.mkTerm(kind, *parts)


def union(parts):
    return joined(Kind.REGEXP_UNION, parts, lambda: now.tm.mkTerm(Kind.REGEXP_NONE))


def sequence(parts):
    return joined(Kind.REGEXP_CONCAT, parts, lambda: literal(""))


def in_cases(code):
    """A character in all its cases, as (?i) of RE2 sees it."""
    char = chr(code)
    folded = {"k": "\u212a", "s": "\u017f"}.get(char.lower(), "")
    return sorted({char, char.lower(), char.upper(), *folded} if char.isascii() and char.isalpha() else {char})


def one_of(items, ignores_case=False):
    """A class of characters."""
    parts, negated = [], False
    char = lambda code: now.tm.mkString(chr(code))
    span = lambda a, b: now.tm.mkTerm(Kind.REGEXP_RANGE, char(a), char(b))
    for op, arg in items:
        if op is sre.NEGATE:
            negated = True
        elif op is sre.LITERAL:
            parts += [literal(one) for one in (in_cases(arg) if ignores_case else [chr(arg)])]
        elif op is sre.RANGE and ignores_case:
            if arg[1] - arg[0] > 128:
                raise OutOfReach("regular expression: ranges of any case")
            parts += [literal(one) for code in range(arg[0], arg[1] + 1) for one in in_cases(code)]
        elif op is sre.RANGE:
            parts.append(span(*arg))
        elif op is sre.CATEGORY and arg is sre.CATEGORY_DIGIT:
            parts.append(span(48, 57))
        elif op is sre.CATEGORY and arg is sre.CATEGORY_WORD:
            parts += [span(48, 57), span(65, 90), span(97, 122), literal("_")]
        elif op is sre.CATEGORY and arg is sre.CATEGORY_SPACE:
            parts += [literal(c) for c in "\t\n\f\r "]
        else:
            raise OutOfReach(f"regular expression: {op}")
    if not negated:
        return union(parts)
    return now.tm.mkTerm(Kind.REGEXP_INTER, now.tm.mkTerm(Kind.REGEXP_COMPLEMENT, union(parts)), now.tm.mkTerm(Kind.REGEXP_ALLCHAR))


def translated(tree, flags):
    parts = []
    ignores_case, all_characters = flags & re.IGNORECASE, now.tm.mkTerm(Kind.REGEXP_ALLCHAR)
    for op, arg in tree:
        if op is sre.LITERAL:
            parts.append(union([literal(one) for one in (in_cases(arg) if ignores_case else [chr(arg)])]))
        elif op is sre.ANY:
            parts.append(all_characters if flags & re.DOTALL else one_of([(sre.NEGATE, None), (sre.LITERAL, 10)]))
        elif op is sre.NOT_LITERAL:
            parts.append(one_of([(sre.NEGATE, None), (sre.LITERAL, arg)], ignores_case))
        elif op is sre.IN:
            parts.append(one_of(arg, ignores_case))
        elif op is sre.SUBPATTERN:
            parts.append(translated(arg[3], (flags | arg[1]) & ~arg[2]))
        elif op is sre.BRANCH:
            parts.append(union([translated(one, flags) for one in arg[1]]))
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            least, most, body = arg
            body = translated(body, flags)
            if most is sre.MAXREPEAT:
                parts += [body] * least + [now.tm.mkTerm(Kind.REGEXP_STAR, body)]
            else:
                parts += [body] * least + [now.tm.mkTerm(Kind.REGEXP_OPT, body)] * (most - least)
        else:
            raise OutOfReach(f"regular expression: {op}")
    return sequence(parts)


def whole(search):
    """A regular expression of RE2 that is searched for, as one that a text matches as a whole."""
    flags, search = re.fullmatch(r"(?:\(\?([is]+)\))?(.*)", search.replace(r"(?-u:\b)", r"\b"), re.DOTALL).groups()
    branches = parser.parse(search)
    outer = [search] if not (len(branches) == 1 and branches[0][0] is sre.BRANCH) else split_branches(search)
    all_of = []
    for one in outer:
        begin, end = "(?s:.*)", "(?s:.*)"
        # A boundary next to a character of words: none of these is on the other side.
        if re.match(r"\\b[0-9A-Za-z_]", one):
            begin, one = r"(?:(?s:.*)[^0-9A-Za-z_])?", one[2:]
        elif one.startswith("^"):
            begin, one = "", one[1:]
        if re.search(r"[0-9A-Za-z_]\\b$", one):
            end, one = r"(?:[^0-9A-Za-z_](?s:.*))?", one[:-2]
        elif re.search(r"(?:^|[^\\])(?:\\\\)*\$$", one):
            end, one = "", one[:-1]
        if re.search(r"\\[bBAzZpPQ]|\(\?(?!:)|\[\[:", one):
            raise OutOfReach("regular expression: boundaries, flags, classes of Unicode")
        all_of.append(f"{begin}(?{flags or ''}:{one}){end}")
    return "|".join(all_of)


def split_branches(text):
    depth, is_class, parts, at = 0, False, [""], 0
    while at < len(text):
        c = text[at]
        if c == "\\":
            parts[-1] += text[at:at + 2]
            at += 2
            continue
        is_class = (is_class or c == "[") and c != "]"
        depth += 0 if is_class else {"(": 1, ")": -1}.get(c, 0)
        if c == "|" and depth == 0 and not is_class:
            parts.append("")
        else:
            parts[-1] += c
        at += 1
    return parts


@lru_cache(None)
def of_wildcard(pattern):
    return "".join("(?s:.*)" if c == "*" else "(?s:.)" if c == "?" else re.escape(c) for c in pattern)


def in_language(s, pattern):
    """Whether a text matches a regular expression of Python's notation as a whole."""
    if isinstance(s, str):
        return re.fullmatch(pattern, s, re.ASCII) is not None
    return now.tm.mkTerm(Kind.STRING_IN_REGEXP, s, regex_of(pattern))


def wildcard(pattern, s):
    """Whether a text matches a constant with wildcards."""
    if not set(pattern) & {"*", "?"}:
        return eq(s, pattern)
    return True if pattern == "*" else in_language(s, of_wildcard(pattern))
