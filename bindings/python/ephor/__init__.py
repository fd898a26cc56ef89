"""Kyverno's and Kubernetes' policies: evaluated, explained, compared and rewritten in CEL.

Each function puts a question to the engine, JSON with JSON; questions and answers are those of the Rust crate `ephor-page`.
Nothing is read but the arguments: no file, no network, no cluster. Policies and objects are texts of YAML or JSON, or lists of
`{"name": …, "text": …}`, whose names places have. Long questions let other threads run."""
import json as _json

from ._ephor import answer as _answer

__all__ = ["EphorError", "answer_to", "cel", "diff", "evaluate", "explain", "jmespath", "lint", "migrate", "version"]


class EphorError(ValueError):
    """A question that has no answer: `part` names the argument, `hint` says what to write instead."""

    def __init__(self, text, part=None, hint=None, offset=None, causes=()):
        super().__init__("\n".join([text, *causes]))
        self.part, self.hint, self.offset, self.causes = part, hint, offset, list(causes)


def answer_to(question, **members):
    """The answer to a question of the crate `ephor-page`."""
    answered = _json.loads(_answer(_json.dumps({**members, "question": question})))
    if isinstance(answered, dict) and "error" in answered:
        raise EphorError(**answered["error"])
    return answered


def evaluate(policies, objects, **options):
    """What policies decide about objects, with `oldObject`, `user`, `values`, `context`, `definitions`, `operation`, `kubernetes`."""
    return answer_to("evaluate", policies=policies, objects=objects, **options)


def explain(policies, objects, **options):
    """The same with the decisions of each rule, and with the rules as they are printed."""
    return evaluate(policies, objects, explain=True, **options)


def lint(policies, **options):
    """What is wrong with policies."""
    return answer_to("lint", policies=policies, **options)


def migrate(policies, **options):
    """ClusterPolicies rewritten in CEL (`to`: `vpol` or `vap`), each with its proof or an object on which both differ."""
    return answer_to("migrate", policies=policies, **options)


def diff(old, new, **options):
    """Whether two sets of policies mean the same."""
    return answer_to("diff", old=old, new=new, **options)


def cel(expression, document="", **options):
    """The value of a CEL expression on a document."""
    return answer_to("cel", expression=expression, document=document, **options)


def jmespath(expression, document="", **options):
    """The value of a JMESPath expression on a document."""
    return answer_to("jmespath", expression=expression, document=document, **options)


def version():
    """The version of the engine."""
    return answer_to("version")["version"]
