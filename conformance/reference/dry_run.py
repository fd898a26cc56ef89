"""Sends objects to an API server as dry runs, with what they name there.

In: a server of `admitted`, and requests: an object, with the operation, the subresource and the object before. Out: whether it is accepted, and the
form in which it comes back.
"""
from admitted import RESOURCES, normal


def pod_spec(obj):
    """The specification of the pods of an object; empty for other objects."""
    spec = obj.get("spec") or {}
    for step in ["jobTemplate", "template"]:
        spec = (spec.get(step) or {}).get("spec") or {} if step in spec else spec
    return spec


def needed(obj):
    """What an object names and the API server looks for."""
    namespace = (obj.get("metadata") or {}).get("namespace")
    if namespace and RESOURCES[f"{obj['apiVersion']}/{obj['kind']}"][1]:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    spec = pod_spec(obj)
    if spec.get("priorityClassName"):
        yield {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1, "metadata": {"name": spec["priorityClassName"]}}
    if spec.get("runtimeClassName"):
        yield {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "a", "metadata": {"name": spec["runtimeClassName"]}}


def reason(answer):
    """Why an API server refuses an object: the first field, or the text."""
    causes = (answer.get("details") or {}).get("causes") or []
    return f"{causes[0].get('field', '')}: {causes[0].get('message', '')}" if causes else answer.get("message", "")


def sent(api, one):
    """Sends the object of a difference: "accepted" and the form in which it comes back, or why it is refused; `None` for kinds that no API server has."""
    obj, subresource = one["object"], one["subresource"]
    if f"{obj['apiVersion']}/{obj['kind']}" not in RESOURCES or subresource not in ("", "ephemeralcontainers"):
        return None
    for other in needed(obj):
        api.send("POST", api.path(other), other)
    if one["operation"] != "UPDATE":
        code, answer = api.create(obj)
    else:
        before = one["oldObject"] or obj
        added = before["kind"] == "Pod" and before["spec"].get("ephemeralContainers")
        if added:
            before = {**before, "spec": {key: value for key, value in before["spec"].items() if key != "ephemeralContainers"}}
        code, answer = api.send("POST", api.path(obj), before)
        path = f"{api.path(obj)}/{obj['metadata']['name']}"
        if code == 201 and added and not subresource:
            answer["spec"]["ephemeralContainers"] = added
            code, answer = api.send("PUT", f"{path}/ephemeralcontainers", answer)
            code = 201 if code == 200 else code
        if code == 201:
            # What is there has what the server filled in, as `kubectl apply` leaves it.
            method = "PUT" if one["oldObject"] or subresource else "PATCH"
            code, answer = api.send(method, f"{path}{subresource and '/'}{subresource}?dryRun=All", obj)
            api.send("DELETE", path + "?gracePeriodSeconds=0")
    if code in (200, 201):
        return "accepted", normal(answer, obj)
    # Admission comes before this answer.
    is_there = answer.get("reason") == "AlreadyExists"
    return ("accepted", None) if is_there else (reason(answer), None)
