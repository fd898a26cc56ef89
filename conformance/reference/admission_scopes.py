"""Random cases of admission about what surrounds objects: parameters, conditions, variables, users and their rights; subresources and matching.

In: a server, a random source, a namespace. Out: cases, as in `admission_areas`.
"""
import copy

from admission_areas import base, binding, changing, create, matching, update, validating

REQUEST = [
    "request.operation", "request.name", "request.namespace", "string(request.dryRun)", "request.kind.kind + request.kind.group + request.kind.version",
    "request.resource.resource + '.' + request.resource.group", "request.?subResource.orValue('-')", "request.userInfo.username", "request.userInfo.?uid.orValue('none')",
    "request.userInfo.groups.join(',')", "request.userInfo.?extra.?k.orValue(['none']).join('+')", "string(has(request.userInfo.extra))", "string(has(request.options))",
    "request.options.?kind.orValue('none')", "request.options.?fieldManager.orValue('none')", "string(size(request.uid))", "request.?requestKind.?kind.orValue('-')",
    "string(has(request.requestKind)) + string(has(request.requestResource)) + string(has(request.requestSubResource))", "string(has(request.object))",
    "string(oldObject == null)", "string(object == null)", "string(type(request.options))", "string(type(object))", "string(type(request))", "string(type(namespaceObject))",
    "string(has(object.metadata.uid)) + string(has(object.metadata.creationTimestamp)) + string(has(object.metadata.managedFields))",
    "string(has(object.metadata.name)) + object.metadata.?generateName.orValue('-')", "namespaceObject.metadata.name", "namespaceObject.metadata.labels.env",
    "namespaceObject.metadata.?annotations.?owner.orValue('x')", "string(has(namespaceObject.status)) + string(has(namespaceObject.spec))",
    "namespaceObject.?status.?phase.orValue('none')", "string(has(namespaceObject.metadata.uid)) + string(has(namespaceObject.kind))",
    "namespaceObject.?spec.?finalizers.orValue(['none']).join(',')", "string(namespaceObject.metadata.creationTimestamp != null)", "string(variables == null)",
    "string(object.metadata.namespace == request.namespace)", "object.apiVersion + object.kind", "string(request == request)", "string(size(object))",
    "string(object.metadata.labels == request.userInfo)", "string(type(params))", "string(params == null)", "string(namespaceObject == object)", "string(request.kind == {'kind': 'x'})",
]
RIGHTS = [
    "authorizer.group('').resource('{0}').namespace('{1}').check('{2}').allowed()", "authorizer.group('apps').resource('{0}').namespace('{1}').check('{2}').allowed()",
    "authorizer.group('').resource('{0}').subresource('log').namespace('{1}').check('{2}').allowed()", "authorizer.path('/{0}/{1}').check('{2}').allowed()",
    "authorizer.group('').resource('{0}').namespace('{1}').name('special').check('{2}').allowed()", "authorizer.requestResource.check('{2}').allowed()",
    "authorizer.serviceAccount('{1}', 'bot').group('').resource('pods').namespace('{1}').check('{2}').allowed()",
    "authorizer.group('').resource('{0}').namespace('{1}').check('{2}').reason() == ''", "authorizer.group('*').resource('{0}').namespace('{1}').check('{2}').allowed()",
    "authorizer.group('').resource('{0}').fieldSelector('metadata.name=x').namespace('{1}').check('{2}').allowed()",
    "authorizer.group('').resource('{0}').labelSelector('a in (b)').namespace('{1}').check('{2}').errored()", "authorizer.group('').resource('{0}').check('{2}').error() == ''",
]
CONDITIONS = [
    "true", "false", "object.metadata.name == 'o'", "request.userInfo.username != 'x'", "object.metadata.nope == 1", "has(object.data)", "1 / 0 == 1", "oldObject == null",
    "!has(request.userInfo.extra)", "request.dryRun", "'app' in object.metadata.labels", "object.metadata.labels['zz'] == 'q'", "namespaceObject == null", "params == null",
    "authorizer.requestResource.check('create').allowed()", "dyn('x')", "dyn(true)", "object.metadata.labels == {'app': 'web'}", "object == oldObject", "object.metadata == 1",
]
RBAC = "rbac.authorization.k8s.io"


def rights(rng, namespace):
    """Roles and what binds them, with those that the users of a case need to write."""
    def rule():
        resources = rng.choice([["pods"], ["*"], ["pods/log"], ["*/log"], ["configmaps", "secrets"], ["pods/*"]])
        out = {"apiGroups": rng.choice([[""], ["*"], ["apps"], ["", "apps"]]), "resources": resources, "verbs": rng.choice([["get"], ["*"], ["get", "create"], ["mutate"]])}
        return {**out, "resourceNames": ["special"]} if rng.random() < 0.3 else out

    def subject():
        return rng.choice([
            {"kind": "User", "name": "bob", "apiGroup": RBAC}, {"kind": "Group", "name": "system:serviceaccounts:" + namespace, "apiGroup": RBAC},
            {"kind": "ServiceAccount", "name": "bot", "namespace": namespace}, {"kind": "Group", "name": "system:authenticated", "apiGroup": RBAC},
        ])

    def pair(kind, name, rules, who, wide):
        place = {} if kind == "ClusterRole" else {"namespace": namespace}
        yield {"apiVersion": RBAC + "/v1", "kind": kind, "metadata": {"name": name, **place}, "rules": rules}
        metadata = {"name": name} if wide else {"name": name, "namespace": namespace}
        kind_of_binding = "ClusterRoleBinding" if wide else "RoleBinding"
        yield {"apiVersion": RBAC + "/v1", "kind": kind_of_binding, "metadata": metadata, "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name}, "subjects": [who]}

    out = []
    if rng.random() < 0.7:
        out += pair("Role", "r", [rule() for _ in range(rng.choice([1, 2]))], subject(), False)
    if rng.random() < 0.5:
        paths = {"nonResourceURLs": [rng.choice(["/healthz/*", "/pods/*", "*", "/pods/" + namespace])], "verbs": ["get", "create"]}
        wide = rng.random() < 0.5
        who = {"kind": "User", "name": "bob-" + namespace, "apiGroup": RBAC} if wide else subject()
        out += pair("ClusterRole", "c-" + namespace, [paths if wide and rng.random() < 0.6 else rule()], who, wide)
    return out


def user(rng, namespace):
    if rng.random() < 0.4:
        return {}
    out = {"user": rng.choice(["bob", "bob-" + namespace, f"system:serviceaccount:{namespace}:bot"]), "groups": ["system:masters"]}
    if rng.random() < 0.5:
        out["extra"] = {"k": rng.choice(["v", "w x"])}
    if rng.random() < 0.3:
        out["uid"] = "u1"
    return {"as": out}


class Parameters:
    """Policies with parameters, conditions, variables, questions about rights, messages and audit annotations."""

    KINDS = {
        "ConfigMap": ("v1", "params.data.k"), "Secret": ("v1", "params.data.k"), "Setting": ("random.test/v1", "string(params.spec.n)"),
        "WideSetting": ("random.test/v1", "string(params.spec.n)"),
    }

    def __init__(self, server):
        self.server = server

    def __call__(self, rng, namespace):
        kind = rng.choice(["ConfigMap", "ConfigMap", "Pod", "Part", "Loose"])
        obj, changes = base(kind, namespace), rng.random() < 0.5
        setup = rights(rng, namespace) if rng.random() < 0.5 else []
        spec, bound, shown, many = self._parameters(rng, namespace, setup)
        if rng.random() < 0.5:
            spec["variables"] = self._variables(rng, shown)
        if rng.random() < 0.4:
            spec["matchConditions"] = [{"name": f"c{k}", "expression": rng.choice(CONDITIONS)} for k in range(rng.choice([1, 1, 2, 3]))]
        spec["failurePolicy"] = rng.choice(["Fail", "Fail", "Ignore"])

        def text():
            form = rng.random()
            if form < 0.25:
                return rng.choice(shown)
            if form < 0.45 and "variables" in spec:
                return f"string(variables.{rng.choice(spec['variables'])['name']})"
            if form < 0.65:
                right = rng.choice(RIGHTS).format(rng.choice(["pods", "configmaps", "secrets", "healthz"]), namespace, rng.choice(["get", "create", "mutate", "delete"]))
                return f"string({right})"
            return rng.choice(REQUEST)
        where = matching(self.server, namespace, obj["apiVersion"], kind, ("CREATE", "UPDATE") if changes else ("*",))
        if changes:
            suffix = " + (params == null ? '' : params.metadata.name)" if many else ""
            policy = changing("p-" + namespace, where, [self._mutation(rng, f"'k{k}'{suffix}", text()) for k in range(rng.choice([1, 2, 3]))], **spec)
        else:
            bound["validationActions"] = rng.choice([["Deny"], ["Deny"], ["Warn"], ["Deny", "Audit"], ["Warn", "Audit"], ["Audit"]])
            policy = validating("p-" + namespace, where, self._validations(rng, namespace, spec, text, many), **spec)
            if rng.random() < 0.4 and not many:
                values = [rng.choice([text(), "null", "''", "object.metadata.name == 'q' ? 'x' : null"]) for _ in range(rng.choice([1, 2]))]
                policy["spec"]["auditAnnotations"] = [{"key": f"k{i}", "valueExpression": v} for i, v in enumerate(values)]
        request = {**self._request(rng, obj, changes), **user(rng, namespace)}
        if rng.random() < 0.2:
            request["query"] = {"fieldManager": "fm"}
        return {"setup": setup + [policy, binding(policy, **bound)], "requests": [request], "audited": not changes, "validates": not changes}

    def _parameters(self, rng, namespace, setup):
        """Parts of the policy and of the binding, texts that show a parameter, whether there may be several."""
        kind = rng.choice([None, None, *self.KINDS])
        if kind is None:
            return {}, {}, ["'none'"], False
        version, shown = self.KINDS[kind]
        is_wide, count = kind == "WideSetting", rng.choice([0, 1, 1, 2, 3])
        prefix = namespace + "-p" if is_wide else "p"
        for i in range(count):
            metadata = {"name": f"{prefix}{i}", "labels": {"set": rng.choice("xy"), "of": namespace}, **({} if is_wide else {"namespace": namespace})}
            content = {"ConfigMap": {"data": {"k": str(i), "n": "5"}}, "Secret": {"stringData": {"k": str(i)}}}.get(kind, {"spec": {"n": i, "s": "t"}})
            setup.append({"apiVersion": version, "kind": kind, "metadata": metadata, **content})
        wanted = rng.choice([
            {"name": prefix + str(rng.choice([0, 0, 1, 7]))}, {"name": prefix + "0"}, {"selector": {"matchLabels": {"of": namespace}}},
            {"selector": {"matchLabels": {"of": namespace, "set": "x"}}}, {"selector": {"matchLabels": {"of": "none"}}},
            {"selector": {"matchExpressions": [{"key": "of", "operator": "In", "values": [namespace]}, {"key": "set", "operator": "NotIn", "values": ["x"]}]}},
        ])
        ref = {"parameterNotFoundAction": rng.choice(["Allow", "Deny"]), **wanted}
        if rng.random() < 0.4 and not is_wide:
            ref["namespace"] = namespace if rng.random() < 0.8 else "default"
        bound = {"paramRef": ref} if rng.random() < 0.92 else {}
        shown = ["params == null ? 'null' : params.metadata.name", shown, "params.?metadata.?name.orValue('x')", "params.kind", "params.nope"]
        return {"paramKind": {"apiVersion": version, "kind": kind}}, bound, shown, count > 1 and "selector" in ref

    @staticmethod
    def _variables(rng, shown):
        out = []
        for k in range(rng.choice([1, 2, 3])):
            former = [f"variables.v{k - 1} + 'x'", f"string(variables.v{k - 1})"] if k else []
            expression = rng.choice(["'text'", "object.metadata.name", "1 / 0", "object.nope", "object.metadata.labels", "dyn(object)", rng.choice(shown), rng.choice(REQUEST), *former])
            out.append({"name": f"v{k}", "expression": expression})
        return out

    @staticmethod
    def _mutation(rng, key, text):
        if rng.random() < 0.5:
            return "merge", f"Object{{metadata: Object.metadata{{annotations: {{{key}: {text}}}}}}}"
        return "patch", f"[JSONPatch{{op: 'add', path: '/metadata/annotations/' + {key}, value: {text}}}]"

    @staticmethod
    def _validations(rng, namespace, spec, text, many):
        if many:
            # One parameter alone is denied: which of several denies first is random.
            last = (namespace + "-p1" if spec["paramKind"]["kind"] == "WideSetting" else "p1")
            return [{"expression": f"params == null || params.metadata.name != '{last}'", "messageExpression": f"'m: ' + {text()}"}]
        out = []
        for k in range(rng.choice([1, 1, 2, 3])):
            shown = text()
            one = {"expression": rng.choice(["false", "false", "true", shown + " == 'zzz'", "object.metadata.name == 'nope'"])}
            if rng.random() < 0.8:
                one["messageExpression"] = rng.choice(["'m: ' + " + shown, shown, "''", "' '", "'a\\nb'", "'x'.replace('x', 'y') + " + shown])
            if rng.random() < 0.4:
                one["message"] = f"static {k}"
            if rng.random() < 0.3:
                one["reason"] = rng.choice(["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"])
            out.append(one)
        return out

    @staticmethod
    def _request(rng, obj, changes):
        form = rng.random()
        if form < 0.25 and obj["kind"] != "Pod":
            return update(obj)
        if form < 0.4 and not changes:
            return {"name": "q", "verb": "delete", "existing": obj}
        if form < 0.5:
            obj["metadata"]["generateName"] = "gn-"
            del obj["metadata"]["name"]
        return create(obj)


LABEL = ("merge", "Object{metadata: Object.metadata{labels: {'m': 'n'}}}")
SHOWN = [
    "request.operation + ' ' + request.kind.kind + request.kind.version + ' ' + request.resource.resource + ' ' + request.?subResource.orValue('-') + ' ' + request.?name.orValue('none')",
    "string(type(object)) + string(type(oldObject))", "request.?requestKind.?kind.orValue('-') + request.?requestKind.?version.orValue('-') + request.?requestSubResource.orValue('-')",
    "object == null ? 'null' : object.kind + object.apiVersion + string(has(object.spec))", "oldObject == null ? 'null' : oldObject.kind + oldObject.metadata.?name.orValue('-')",
    "string(request.dryRun) + request.options.?kind.orValue('none') + string(size(request.options))", "object.spec.replicas > 3 ? 'big' : 'small'",
    "string(object.?status.?replicas.orValue(-1)) + string(object.?spec.?replicas.orValue(-1))", "object.command.join(',') + string(object.stdout) + string(has(object.stdin))",
    "string(has(object.metadata.uid)) + string(has(oldObject.metadata.uid)) + string(has(object.metadata.generation))", "string(object == oldObject)",
    "object.metadata.labels.map(k, k + object.metadata.labels[k]).join(',')", "string(size(object.spec.?metrics.orValue([])))",
]


def add(pointer, value):
    return "patch", f"[JSONPatch{{op: 'add', path: '{pointer}', value: {value}}}]"


def merge(text):
    return "merge", f"Object{{{text}}}"


def subresources(namespace):
    """Requests of subresources by name: the rule's group and resources, the request, and mutations that fit."""
    pod, deployment, part, data = (base(kind, namespace) for kind in ("Pod", "Deployment", "Part", "ConfigMap"))
    for obj in (pod, deployment, part, data):
        del obj["metadata"]["finalizers"]
    del part["spec"]["nullText"]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "o", "namespace": namespace}}
    head = {"metadata": {"name": "o", "namespace": namespace}}

    def sent(verb, existing, subresource, version=None, kind=None, **body):
        obj = copy.deepcopy(existing) if version is None else {"apiVersion": version, "kind": kind, **copy.deepcopy(head)}
        for key, value in body.items():
            obj[key] = {**obj.get(key, {}), **value}
        return {"name": "q", "verb": verb, "existing": existing, "subresource": subresource, "object": obj}
    scale = sent("update", deployment, "scale", "autoscaling/v1", "Scale", spec={"replicas": 5})
    more = merge("spec: Object.spec{replicas: object.spec.replicas + 1}")
    sized = copy.deepcopy(pod["spec"])
    sized["containers"][1]["resources"] = {"requests": {"cpu": "1"}}
    debug = {"ephemeralContainers": [{"name": "dbg", "image": "busybox"}]}
    patched = {"name": "q", "verb": "patch", "existing": data, "patch": {"data": {"z": "1"}, "metadata": {"labels": {"q": "r"}}}}
    applied = {**head, "apiVersion": "v1", "kind": "ConfigMap", "data": {"z": "1"}}
    return {
        "scale": ("apps", ["deployments/scale", "deployments", "deployments/*", "*/scale"], scale, [more, add("/spec/replicas", "7"), LABEL, merge("spec: Object.spec{nope: 1}")]),
        "scale of a custom resource": ("random.test", ["parts/scale", "parts/*"], {**scale, "existing": part}, [more, add("/spec/replicas", "7"), LABEL]),
        "status of a custom resource": ("random.test", ["parts/status", "parts/*", "*/*"], sent("update", part, "status", status={"replicas": 3}, spec={"replicas": 99}), [
            merge("status: Object.status{note: string(object.status.replicas) + string(object.spec.replicas)}"), add("/status/note", "'zz'"), merge("spec: Object.spec{replicas: 55}"), LABEL]),
        "status": ("apps", ["deployments/status", "deployments/*"], sent("update", deployment, "status", status={"replicas": 3, "conditions": [{"type": "Available", "status": "True"}]}), [
            merge("status: Object.status{conditions: [Object.status.conditions{type: 'Progressing', status: 'Unknown'}], readyReplicas: 1}"), LABEL]),
        "status of a pod": ("", ["pods/status"], sent("update", pod, "status", status={"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]}), [
            merge("status: Object.status{conditions: [Object.status.conditions{type: 'X', status: 'True'}], podIPs: [Object.status.podIPs{ip: '10.0.0.2'}]}"), LABEL]),
        "eviction": ("", ["pods/eviction", "pods/*"], sent("create", pod, "eviction", "policy/v1", "Eviction"), [LABEL, merge("deleteOptions: Object.deleteOptions{gracePeriodSeconds: 5}")]),
        "binding": ("", ["pods/binding", "pods/*"], sent("create", pod, "binding", "v1", "Binding", target={"apiVersion": "v1", "kind": "Node", "name": "n1"}), [LABEL, add("/target/name", "'n3'")]),
        "ephemeral": ("", ["pods/ephemeralcontainers", "pods/*", "pods"], sent("update", pod, "ephemeralcontainers", spec=debug), [
            merge("spec: Object.spec{ephemeralContainers: [Object.spec.ephemeralContainers{name: 'dbg', stdin: true}]}"), LABEL]),
        "resize": ("", ["pods/resize", "pods/*"], sent("update", pod, "resize", spec=sized), [
            merge("spec: Object.spec{containers: [Object.spec.containers{name: 'a', resources: Object.spec.containers.resources{requests: {'cpu': '2'}}}]}"), LABEL]),
        "token": ("", ["serviceaccounts/token"], sent("create", account, "token", "authentication.k8s.io/v1", "TokenRequest", spec={"audiences": ["a"], "expirationSeconds": 600}), [
            merge("spec: Object.spec{expirationSeconds: 700}"), add("/spec/audiences/-", "'b'"), LABEL]),
        "exec": ("", ["pods/exec", "pods/*"], {"name": "q", "verb": "connect", "existing": pod, "subresource": "exec", "query": {"command": "ls", "stdout": "true", "container": "a"}}, [
            merge("command: ['sh']"), merge("container: 'b'"), add("/stdin", "true")]),
        "delete": ("", ["configmaps"], {"name": "q", "verb": "delete", "existing": data}, []),
        "deletecollection": ("", ["configmaps"], {"name": "q", "verb": "deletecollection", "existing": data}, []),
        "patch": ("", ["configmaps"], patched, [LABEL, add("/data/p", "object.data.z")]),
        "apply": ("", ["configmaps"], {**patched, "patchType": "application/apply-patch+yaml", "query": {"fieldManager": "me", "force": "true"}, "patch": applied}, [LABEL, add("/data/p", "object.data.z")]),
    }


class Scopes:
    """Subresources and other verbs, and matching by versions, names, labels, scopes and exclusions."""

    def __init__(self, server):
        self.server = server

    def __call__(self, rng, namespace):
        if rng.random() < 0.45:
            group, resources, request, mutations = self._versions(rng, namespace)
            is_matching = True
        else:
            group, resources, request, mutations = rng.choice(list(subresources(namespace).values()))
            is_matching = rng.random() < 0.3
        changes = bool(mutations) and rng.random() < 0.5
        rule = {"apiGroups": [group], "apiVersions": [rng.choice(["v1", "v2"]) if group in ("autoscaling", "random.test") and is_matching else "v1"],
                "operations": ["CREATE", "UPDATE"] + (["CONNECT"] if rng.random() < 0.5 else []) if changes else ["*"], "resources": [rng.choice(resources)]}
        where, bound = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}, "resourceRules": [rule]}, {}
        if is_matching:
            self._narrow(rng, where, rule, bound)
        if changes:
            policy = changing("p-" + namespace, where, [rng.choice(mutations) for _ in range(rng.choice([1, 1, 2]))])
        else:
            bound["validationActions"] = rng.choice([["Deny"], ["Warn"], ["Deny", "Audit"]])
            policy = validating("p-" + namespace, where, [{"expression": "false", "messageExpression": rng.choice(SHOWN)}], failurePolicy=rng.choice(["Fail", "Fail", "Ignore"]))
        return {"setup": [policy, binding(policy, **bound)], "requests": [request], "audited": not changes, "validates": not changes}

    @staticmethod
    def _versions(rng, namespace):
        """An object that is served under several versions, and mutations that show which one a policy sees."""
        mutations = [LABEL, add("/metadata/annotations", "{'k': request.kind.version + request.resource.version + request.requestKind.version + object.apiVersion}")]
        kind = rng.choice(["Deployment", "Part", "HorizontalPodAutoscaler"])
        if kind == "HorizontalPodAutoscaler":
            obj = {**base("ConfigMap", namespace), "kind": kind, "apiVersion": "autoscaling/" + rng.choice(["v1", "v2"])}
            obj["spec"] = {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}}
            target = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}
            obj["spec"].update({"targetCPUUtilizationPercentage": 50} if obj["apiVersion"].endswith("v1") else {"metrics": [{"type": "Resource", "resource": target}]})
            obj.pop("data"), obj.pop("binaryData")
            mutations += [merge("spec: Object.spec{minReplicas: 2}"), merge("spec: Object.spec{targetCPUUtilizationPercentage: 70}"),
                          merge("spec: Object.spec{maxReplicas: size(object.spec.?metrics.orValue([])) + 5}")]
            return "autoscaling", ["horizontalpodautoscalers"], create(obj), mutations
        obj = base(kind, namespace)
        if kind == "Deployment":
            return "apps", ["deployments"], create(obj), mutations
        obj["apiVersion"] = "random.test/" + rng.choice(["v1", "v2"])
        return "random.test", ["parts"], create(obj), mutations + [merge("spec: Object.spec{marks: ['z', 'x']}")]

    @staticmethod
    def _narrow(rng, where, rule, bound):
        group, resource = rule["apiGroups"][0], rule["resources"][0]
        labels = [{"matchLabels": {"app": "web"}}, {"matchLabels": {"app": "no"}}, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}]

        def maybe(chance, into, key, *values):
            if rng.random() < chance:
                into[key] = rng.choice(values)
        maybe(0.7, where, "matchPolicy", "Exact", "Equivalent", "Equivalent")
        maybe(0.3, rule, "apiGroups", [group], ["*"], ["extensions"], ["apps"])
        maybe(0.3, rule, "apiVersions", ["v1"], ["v2"], ["*"], ["v1beta1"])
        maybe(0.2, rule, "resources", ["*"], ["*/*"], [resource, "pods"])
        maybe(0.2, rule, "scope", "Namespaced", "Cluster", "*")
        maybe(0.2, rule, "resourceNames", ["o"], ["zz"])
        maybe(0.3, where, "objectSelector", *labels)

        def excluded():
            out = {"apiGroups": [group], "apiVersions": [rng.choice(["v1", "v2", "*"])], "operations": ["CREATE"], "resources": [rng.choice([resource, "*", "pods"])]}
            maybe(0.4, out, "resourceNames", ["o"], ["zz"])
            return out
        if rng.random() < 0.3:
            where["excludeResourceRules"] = [excluded()]
        if rng.random() < 0.5:
            own = {}
            maybe(0.4, own, "namespaceSelector", {"matchLabels": {"env": "prod"}}, {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]})
            maybe(0.4, own, "resourceRules", [{"apiGroups": [rng.choice([group, "*"])], "apiVersions": [rng.choice(["v1", "v2", "*"])], "operations": ["CREATE", "UPDATE"], "resources": [rng.choice([resource, "*"])]}])
            maybe(0.5, own, "matchPolicy", "Exact", "Equivalent")
            maybe(0.3, own, "objectSelector", *labels)
            if rng.random() < 0.4:
                own["excludeResourceRules"] = [excluded()]
            if own:
                bound["matchResources"] = own
