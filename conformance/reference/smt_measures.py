"""Quantities, durations and other numbers in texts: part of smt.py.

What a text measures is a function without a definition; that it measures something at all is an exact language. The measures of the
constants are given. So what has no model has none with the real measures; a model may be wrong about the measure of a text, and is
then refused by adding what this text measures (`facts`).
"""
import re
from fractions import Fraction

import smt_terms as t

NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
SUFFIXES = {"": 1, "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
            "P": 10**15, "E": 10**18, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
QUANTITY = r"[+-]?[0-9]*\.?[0-9]*(?:n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)|[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]*)|[+-]"
DURATION = rf"[+-]?(?:0|(?:{NUMBER}(?:ns|us|µs|μs|ms|s|m|h))+)"
FLOAT = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
LANGUAGES = {"quantity": QUANTITY, "duration": DURATION, "float": FLOAT}


def quantity(text):
    """The number that a quantity stands for; `None` when it is none."""
    if not text or not re.fullmatch(QUANTITY, text):
        return None
    sign, digits, suffix = re.fullmatch(r"([+-]?)([0-9]*\.?[0-9]*)(.*)", text).groups()
    number = Fraction(digits if re.search("[0-9]", digits) else "0")
    scale = SUFFIXES[suffix] if suffix in SUFFIXES else Fraction(10) ** int(suffix[1:])
    return (-1 if sign == "-" else 1) * number * scale


def duration(text):
    """Its nanoseconds."""
    if not re.fullmatch(DURATION, text):
        return None
    parts = re.findall(rf"({NUMBER})(ns|us|µs|μs|ms|s|m|h)", text)
    return (-1 if text.startswith("-") else 1) * sum(int(Fraction(n) * UNITS[u]) for n, u in parts)


def float_text(text):
    return Fraction(float(text)) if re.fullmatch(FLOAT, text) else None


VALUES = {"quantity": quantity, "duration": duration, "float": float_text}


def is_(measure, s):
    """Whether a text measures something."""
    return VALUES[measure](s) is not None if isinstance(s, str) else t.and_(t.not_(t.eq(s, "")), t.in_language(s, LANGUAGES[measure]))


def of(measure, s):
    """What a text measures."""
    if isinstance(s, str):
        return VALUES[measure](s)
    t.now.measured.setdefault(measure, {})[s.getId()] = s
    return t.now.tm.mkTerm(t.Kind.APPLY_UF, t.now.function(measure, t.now.real), s)


def fact(measure, text):
    """What a constant measures, as a formula."""
    value = VALUES[measure](text)
    if value is None or measure not in t.now.functions:
        return True
    return t.eq(t.now.tm.mkTerm(t.Kind.APPLY_UF, t.now.function(measure, t.now.real), t.lift(text)), value)


def facts():
    """What all constants measure."""
    return [fact(measure, text) for measure in t.now.measured for text in sorted(t.now.constants)]


def near(measure):
    """Texts around all constants of a measure: what models are looked for with first."""
    found = set()
    for text in sorted(t.now.constants):
        value = VALUES[measure](text)
        if value is None:
            continue
        found.add(text)
        scales = UNITS if measure == "duration" else SUFFIXES if measure == "quantity" else {"": 1}
        for suffix, scale in scales.items():
            middle = Fraction(value) / scale
            texts = [f"{n}{suffix}" for n in (middle - 1, middle, middle + 1) if n.denominator == 1 and abs(n) < 10**9]
            found.update(text for text in texts if VALUES[measure](text) is not None)
    return found
