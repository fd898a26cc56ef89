#!/usr/bin/env python3
"""Values of ephor's chart from those of Kyverno's.

usage: helm get values kyverno -n kyverno -o json | from-kyverno.py > values.yaml
       from-kyverno.py --table          the table of docs/guides/kyverno-values.md

In: the values that were given to Kyverno's chart, as JSON. Out: values of ephor's chart, with a comment for each value that has
no counterpart, and why. Every value that is read is a row of ROWS; one that no row knows is reported as such, so nothing is lost
without a word. Names are those of Kyverno's chart 3.x (Kyverno 1.11 to 1.19):
compared with all values of the chart of 1.19.1."""
import json
import sys

ADMISSION, BACKGROUND, CLEANUP, REPORTS = "admissionController", "backgroundController", "cleanupController", "reportsController"


def same(value):
    return value


def joined(value):
    return ", ".join(value) if isinstance(value, list) else str(value)


def text(value):
    """A setting of a ConfigMap: a text as it is, lists and maps as JSON, switches in Kyverno's words."""
    if isinstance(value, (list, dict)):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def filters(value):
    """Without those of Kyverno's own objects, which are templates."""
    return [entry for entry in value if "{{" not in entry]


def level(value):
    return "debug" if int(value) >= 4 else "info"


def exceptions(value):
    return value or "*"


# Path in Kyverno's values, path in ours (None = no counterpart), what is done with the value or why it has none.
ROWS = [
    ("nameOverride", "nameOverride", same), ("fullnameOverride", "fullnameOverride", same),
    ("namespaceOverride", None, "`--namespace` of Helm"),
    ("imagePullSecrets", None, "the image comes from another registry: `imagePullSecrets`"),
    ("existingImagePullSecrets", "registry.pullSecrets", same),
    ("config.resourceFilters", "resourceFilters", filters),
    ("config.resourceFiltersExclude", None, "leave the entries out of `resourceFilters`"),
    ("config.resourceFiltersInclude", None, "add the entries to `resourceFilters`"),
    ("config.resourceFiltersIncludeNamespaces", None, "add the namespaces to `resourceFilters`"),
    ("config.excludeKyvernoNamespace", None, "objects of the server's own namespace are never sent; `webhooks.excludedNamespaces` lists others"),
    ("config.resourceFiltersExcludeNamespaces", None, "leave the namespaces out of `resourceFilters`"),
    ("config.excludeGroups", "settings.excludeGroups", joined), ("config.excludeUsernames", "settings.excludeUsernames", joined),
    ("config.excludeRoles", "settings.excludeRoles", joined), ("config.excludeClusterRoles", "settings.excludeClusterRoles", joined),
    ("config.defaultRegistry", "settings.defaultRegistry", text),
    ("config.enableDefaultRegistryMutation", "settings.enableDefaultRegistryMutation", text),
    ("config.generateSuccessEvents", "settings.generateSuccessEvents", text),
    ("config.successEventActions", "settings.successEventActions", joined),
    ("config.webhooks", "settings.webhooks", text), ("config.webhookAnnotations", "settings.webhookAnnotations", text),
    ("config.webhookLabels", "settings.webhookLabels", text), ("config.matchConditions", "settings.matchConditions", text),
    ("config.updateRequestThreshold", None, "has no effect here"), ("config.maxContextSize", None, "has no effect here"),
    ("config.create", None, "the chart always has the ConfigMap"), ("config.preserve", None, "nothing reads it after an uninstall"),
    ("config.name", None, "the name is `<fullname>-settings`"), ("config.annotations", None, "the ConfigMap has none"),
    ("metricsConfig.metricsExposure", "metricsSettings.metricsExposure", text),
    ("metricsConfig.namespaces", "metricsSettings.namespaces", text),
    ("metricsConfig.bucketBoundaries", "metricsSettings.bucketBoundaries", joined),
    ("metricsConfig.metricsRefreshInterval", "metricsSettings.metricsRefreshInterval", text),
    ("metricsConfig", None, "the settings of metrics have no object of their own"),
    ("features.excludeBootstrapResources.enabled", "webhooks.excludeBootstrapResources", same),
    ("features.policyReports.enabled", None, "`reports.enabled`"),
    ("features.reporting", None, "rules of all kinds are reported"),
    ("features.tuf", None, "roots of trust are those of each policy"),
    ("features.admissionReports.enabled", "reports.enabled", same),
    ("features.backgroundScan.enabled", "reports.backgroundScan", same),
    ("features.backgroundScan.backgroundScanInterval", "reports.backgroundScanInterval", same),
    ("features.backgroundScan.backgroundScanWorkers", None, "`reports.scanShards` divides scans over all servers"),
    ("features.forceFailurePolicyIgnore.enabled", "webhooks.forceFailurePolicyIgnore", same),
    ("features.policyExceptions.namespace", "exceptions", exceptions),
    ("features.policyExceptions.enabled", None, "`exceptions: \"*\"` takes those of all namespaces, none count unless it is set"),
    ("features.omitEvents.eventTypes", "events.omit", same),
    ("features.logging.format", "log.format", same), ("features.logging.verbosity", "log.level", level),
    ("features.ttlController.reconciliationInterval", "cleanup.ttlInterval", same),
    ("features.generateValidatingAdmissionPolicy.enabled", None, "`nativePolicies` lists `validating`"),
    ("features.generateMutatingAdmissionPolicy.enabled", None, "`nativePolicies` lists `mutating`"),
    ("features.validatingAdmissionPolicyReports.enabled", None, "`reports.nativePolicies` lists `validating`"),
    ("features.mutatingAdmissionPolicyReports.enabled", None, "`reports.nativePolicies` lists `mutating`"),
    ("features.registryClient.allowInsecure", None, "registries need certificates; `extraArgs: [--ca-file=FILE]` trusts more of them"),
    ("features.registryClient.credentialHelpers", None, "credentials are `registry.pullSecrets`"),
    ("features", None, "no such switch: it is always on, or has no meaning here"),
    ("openreports.enabled", "reports.openreports", same),
    ("openreports.installCrds", None, "the definitions of OpenReports are installed apart"),
    ("reportsServer", None, "reports go to the API server, which may store them elsewhere"),
    ("apiCallToken", None, "calls of services send the token of the service account"),
    ("prometheusRule.enabled", "metrics.prometheusRule.enabled", same),
    ("prometheusRule.additionalLabels", "metrics.prometheusRule.labels", same),
    ("prometheusRule", None, "the alerts are about metrics of `ephor`: `metrics.prometheusRule.rules`"),
    (f"{ADMISSION}.replicas", "replicas", same),
    (f"{ADMISSION}.container.resources", "resources", same),
    (f"{ADMISSION}.priorityClassName", "priorityClassName", same), (f"{ADMISSION}.hostNetwork", "hostNetwork", same),
    (f"{ADMISSION}.dnsPolicy", "dnsPolicy", same), (f"{ADMISSION}.nodeSelector", "nodeSelector", same),
    (f"{ADMISSION}.tolerations", "tolerations", same), (f"{ADMISSION}.nodeAffinity", None, "`affinity`"),
    (f"{ADMISSION}.podAffinity", None, "`affinity`"), (f"{ADMISSION}.podAntiAffinity", None, "`affinity`; one Pod a node if possible by default"),
    (f"{ADMISSION}.topologySpreadConstraints", "topologySpreadConstraints", same),
    (f"{ADMISSION}.podAnnotations", "podAnnotations", same), (f"{ADMISSION}.podLabels", "podLabels", same),
    (f"{ADMISSION}.updateStrategy", "updateStrategy", same),
    (f"{ADMISSION}.podDisruptionBudget.enabled", "podDisruptionBudget.enabled", same),
    (f"{ADMISSION}.podDisruptionBudget.maxUnavailable", "podDisruptionBudget.maxUnavailable", same),
    (f"{ADMISSION}.podDisruptionBudget.minAvailable", None, "`podDisruptionBudget.maxUnavailable`"),
    (f"{ADMISSION}.podDisruptionBudget.unhealthyPodEvictionPolicy", None, "that of Kubernetes"),
    (f"{ADMISSION}.autoscaling.minReplicas", "replicas", same),
    (f"{ADMISSION}.autoscaling.enabled", "autoscaling.enabled", same), (f"{ADMISSION}.autoscaling.maxReplicas", "autoscaling.maxReplicas", same),
    (f"{ADMISSION}.autoscaling.targetCPUUtilizationPercentage", "autoscaling.cpuUtilization", same),
    (f"{ADMISSION}.service.type", "service.type", same), (f"{ADMISSION}.service.annotations", "service.annotations", same),
    (f"{ADMISSION}.serviceMonitor.enabled", "metrics.serviceMonitor.enabled", same),
    (f"{ADMISSION}.serviceMonitor.additionalLabels", "metrics.serviceMonitor.labels", same),
    (f"{ADMISSION}.serviceMonitor.interval", "metrics.serviceMonitor.interval", same),
    (f"{ADMISSION}.networkPolicy.enabled", "networkPolicy.enabled", same),
    (f"{ADMISSION}.tracing.address", None, "`tracing.endpoint: http://ADDRESS:4318`"), (f"{ADMISSION}.tracing", None, "`tracing.endpoint`"),
    (f"{ADMISSION}.rbac.create", "rbac.create", same),
    (f"{ADMISSION}.rbac.serviceAccount.name", "serviceAccount.name", same),
    (f"{ADMISSION}.rbac.serviceAccount.annotations", "serviceAccount.annotations", same),
    (f"{ADMISSION}.rbac.clusterRole.extraResources", "rbac.coreRules", same),
    (f"{BACKGROUND}.rbac.clusterRole.extraResources", "rbac.backgroundRules", same),
    (f"{CLEANUP}.rbac.clusterRole.extraResources", "rbac.cleanupRules", same),
    (f"{REPORTS}.rbac.clusterRole.extraResources", "rbac.coreRules", same),
    (f"{ADMISSION}.container.image", None, "another image"), (f"{ADMISSION}.initContainer", None, "there is none"),
    (f"{ADMISSION}.container.extraArgs", None, "the flags of `ephor serve` are others: `extraArgs`"),
    (f"{ADMISSION}.container.extraEnvVars", "extraEnv", same),
    (f"{ADMISSION}.extraVolumes", "extraVolumes", same), (f"{ADMISSION}.extraVolumeMounts", "extraVolumeMounts", same),
    (f"{ADMISSION}.imagePullSecrets", None, "the image comes from another registry: `imagePullSecrets`"),
    (f"{ADMISSION}.webhookServer.port", "ports.reviews", same),
    (f"{ADMISSION}.certManager.enabled", None, "`tls.source: cert-manager`"),
    (f"{ADMISSION}.certManager.issuerRef", "tls.certManager.issuerRef", same),
    (f"{ADMISSION}.certManager.tls.duration", "tls.certManager.duration", same),
    (f"{ADMISSION}.certManager.tls.renewBefore", "tls.certManager.renewBefore", same),
    (f"{ADMISSION}.createSelfSignedCert", None, "`tls.source: secret`, which is the default"),
    (f"{ADMISSION}.rbac.createViewRoleBinding", "rbac.view", same),
    (f"{ADMISSION}.rbac.coreClusterRole.extraResources", "rbac.coreRules", same),
    (f"{BACKGROUND}.rbac.coreClusterRole.extraResources", "rbac.coreRules", same),
    (f"{REPORTS}.rbac.coreClusterRole.extraResources", "rbac.coreRules", same),
    (f"{CLEANUP}.rbac.coreClusterRole.extraResources", "rbac.coreRules", same),
    (f"{ADMISSION}", None, "no counterpart"),
    (BACKGROUND, None, "every server does this work, the one that leads at a time"),
    (CLEANUP, None, "every server does this work, the one that leads at a time"),
    (REPORTS, None, "every server does this work, the one that leads at a time"),
    ("global.nodeSelector", "nodeSelector", same), ("global.tolerations", "tolerations", same), ("global", None, "`image`, `extraArgs`"),
    ("grafana.enabled", "metrics.dashboard.enabled", same), ("grafana.labels", "metrics.dashboard.labels", same),
    ("grafana.annotations", "metrics.dashboard.annotations", same), ("grafana", None, "no counterpart"),
    ("webhooksCleanup.enabled", "webhooks.removeOnDelete", same), ("webhooksCleanup", None, "`ephor` itself removes them"),
    ("policyReportsCleanup", None, "reports stay; `kubectl delete policyreports -A --all` deletes them"),
    ("cleanupJobs", None, "there are no intermediate reports to delete"), ("crds", None, "`crds/` of the chart; `ephor crds`"),
    ("customLabels", "podLabels", same), ("test", None, "`helm test` has no settings"), ("apiVersionOverride", None, "not needed"),
    ("rbac", None, "`rbac.aggregateToUsers`"), ("upgrade", None, "nothing is converted on an upgrade"), ("templating", None, "not needed"),
]


def leaves(value, path=()):
    """Paths and values: maps are entered unless a row takes them as they are."""
    whole = {row[0] for row in ROWS if row[1] is not None}
    name = ".".join(path)
    if isinstance(value, dict) and value and name not in whole:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif path:
        yield name, value


def row_of(name):
    """The row of a path, or of the nearest part above it."""
    while name:
        for row in ROWS:
            if row[0] == name:
                return row
        name = name.rpartition(".")[0]
    return None


def convert(values):
    """Our values, and what has no counterpart."""
    out, notes = {}, []
    for name, value in leaves(values):
        row = row_of(name)
        if row is None:
            notes.append(f"{name}: unknown to this converter")
        elif row[1] is None:
            notes.append(f"{name}: {row[2]}")
        else:
            *parents, last = row[1].split(".")
            at = out
            for key in parents:
                at = at.setdefault(key, {})
            converted = row[2](value)
            if isinstance(at.get(last), list) and isinstance(converted, list):
                converted = at[last] + [entry for entry in converted if entry not in at[last]]
            at[last] = converted
    return out, notes


def yaml(value, indent=0):
    """YAML of maps, with JSON for everything else, which is YAML as well."""
    lines = []
    for key, inner in value.items():
        if isinstance(inner, dict) and inner:
            lines += [f"{' ' * indent}{key}:", *yaml(inner, indent + 2)]
        else:
            lines.append(f"{' ' * indent}{key}: {json.dumps(inner, ensure_ascii=False)}")
    return lines


def table():
    lines = ["| Kyverno's value | value here |", "|---|---|"]
    for name, ours, what in ROWS:
        lines.append(f"| `{name}` | {f'`{ours}`' if ours else 'none: ' + what} |")
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:] == ["--table"]:
        print(table(), end="")
        return 0
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        values = json.load(sys.stdin)
    except ValueError as cause:
        print(f"from-kyverno.py: standard input is no JSON ({cause}): `helm get values … -o json` prints it", file=sys.stderr)
        return 2
    out, notes = convert(values or {})
    lines = ["# Values of ephor's chart from those of Kyverno's."]
    if notes:
        lines += ["# Without counterpart:", *[f"#   {note}" for note in notes]]
    print("\n".join(lines + (yaml(out) or ["{}"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
