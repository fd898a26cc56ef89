"""Objects with many fields, of which admitted.py sends variants: a list of (name, object)."""
import json

PROBE = {"httpGet": {"path": "/a", "port": 80, "httpHeaders": [{"name": "a", "value": "b"}]}, "initialDelaySeconds": 1, "periodSeconds": 5}
SECURITY = {
    "allowPrivilegeEscalation": False, "privileged": False, "readOnlyRootFilesystem": True, "runAsNonRoot": True, "runAsUser": 1000,
    "runAsGroup": 1000, "capabilities": {"add": ["CHOWN"], "drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
    "seLinuxOptions": {"level": "s0"}, "procMount": "Default", "appArmorProfile": {"type": "RuntimeDefault"},
}
CONTAINER = {
    "name": "app", "image": "nginx:1", "command": ["a"], "args": ["b"], "workingDir": "/a", "imagePullPolicy": "Always",
    "ports": [{"name": "http", "containerPort": 80, "hostPort": 8080, "protocol": "TCP", "hostIP": "127.0.0.1"}, {"containerPort": 81}],
    "env": [
        {"name": "A", "value": "a"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}},
        {"name": "C", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b", "optional": True}}},
        {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}},
        {"name": "E", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
    ],
    "envFrom": [{"configMapRef": {"name": "a"}, "prefix": "P"}, {"secretRef": {"name": "a"}}],
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}},
    "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True, "subPath": "a", "mountPropagation": "None"}],
    "livenessProbe": PROBE, "readinessProbe": {"tcpSocket": {"port": "http"}, "successThreshold": 2},
    "startupProbe": {"exec": {"command": ["a"]}, "failureThreshold": 30},
    "lifecycle": {"preStop": {"sleep": {"seconds": 5}}, "postStart": {"exec": {"command": ["a"]}}},
    "securityContext": SECURITY, "stdin": True, "tty": True, "terminationMessagePolicy": "File",
}
INIT = {"name": "init", "image": "a@sha256:" + "0" * 64, "restartPolicy": "Always", "livenessProbe": {"grpc": {"port": 1}}}
VOLUMES = [
    {"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
    {"name": "s", "secret": {"secretName": "a", "defaultMode": 256, "items": [{"key": "a", "path": "b", "mode": 256}]}},
    {"name": "c", "configMap": {"name": "a", "optional": True}}, {"name": "h", "hostPath": {"path": "/a", "type": "Directory"}},
    {"name": "p", "persistentVolumeClaim": {"claimName": "a", "readOnly": True}},
    {"name": "d", "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    {"name": "j", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "audience": "a"}}, {"secret": {"name": "a"}}]}},
    {"name": "n", "nfs": {"server": "a", "path": "/a"}}, {"name": "x", "csi": {"driver": "a.b", "volumeAttributes": {"a": "b"}}},
]
OTHER_VOLUMES = [
    {"name": "a", "awsElasticBlockStore": {"volumeID": "a", "partition": 1}}, {"name": "b", "azureDisk": {"diskName": "a", "diskURI": "https://a"}},
    {"name": "c", "azureFile": {"secretName": "a", "shareName": "a"}}, {"name": "d", "cephfs": {"monitors": ["a"]}},
    {"name": "e", "cinder": {"volumeID": "a"}}, {"name": "f", "fc": {"targetWWNs": ["a"], "lun": 1}}, {"name": "g", "flexVolume": {"driver": "a"}},
    {"name": "h", "flocker": {"datasetName": "a"}}, {"name": "i", "gcePersistentDisk": {"pdName": "a"}}, {"name": "j", "gitRepo": {"repository": "a"}},
    {"name": "k", "glusterfs": {"endpoints": "a", "path": "a"}}, {"name": "l", "image": {"reference": "a"}},
    {"name": "m", "iscsi": {"targetPortal": "a", "iqn": "iqn.2001-01.com.a:b", "lun": 1}}, {"name": "n", "photonPersistentDisk": {"pdID": "a"}},
    {"name": "o", "portworxVolume": {"volumeID": "a"}}, {"name": "p", "quobyte": {"registry": "a:1", "volume": "a"}},
    {"name": "q", "rbd": {"monitors": ["a"], "image": "a"}},
    {"name": "r", "scaleIO": {"gateway": "a", "system": "a", "secretRef": {"name": "a"}, "volumeName": "a"}},
    {"name": "s", "storageos": {"volumeName": "a"}}, {"name": "t", "vsphereVolume": {"volumePath": "a"}},
    {"name": "u", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}},
]
SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}}],
    },
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a", "labelSelector": SELECTOR, "namespaces": ["a"]}]},
    "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": {"topologyKey": "a"}}]},
}
SPEC = {
    "containers": [CONTAINER, {"name": "b", "image": "b"}], "initContainers": [INIT, {"name": "once", "image": "a"}], "volumes": VOLUMES,
    "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "nodeSelector": {"a": "b"},
    "serviceAccountName": "a", "automountServiceAccountToken": False, "securityContext": {
        "runAsUser": 1000, "runAsGroup": 1000, "runAsNonRoot": True, "fsGroup": 1000, "supplementalGroups": [1], "fsGroupChangePolicy": "Always",
        "sysctls": [{"name": "net.core.somaxconn", "value": "1"}], "seccompProfile": {"type": "Localhost", "localhostProfile": "a/b"},
        "seLinuxOptions": {"type": "a"},
    },
    "imagePullSecrets": [{"name": "a"}], "hostname": "a", "subdomain": "b", "affinity": AFFINITY, "schedulerName": "a",
    "tolerations": [{"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 5}, {"operator": "Exists", "effect": "NoSchedule"}],
    "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["a"]}], "dnsConfig": {"nameservers": ["127.0.0.1"], "searches": ["a.b"], "options": [{"name": "a", "value": "b"}]},
    "readinessGates": [{"conditionType": "a"}], "enableServiceLinks": True, "shareProcessNamespace": False,
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECTOR, "minDomains": 1}],
}
PLAIN = {"containers": [{"name": "a", "image": "a", "ports": [{"containerPort": 1}]}], "priorityClassName": "a", "runtimeClassName": "a"}
HOST = {
    "hostNetwork": True, "hostPID": True, "hostIPC": True, "hostUsers": True, "nodeName": "a",
    "containers": [{"name": "a", "image": "a", "ports": [{"containerPort": 1}], "securityContext": {"privileged": True},
                    "volumeMounts": [{"name": "v", "mountPath": "a", "mountPropagation": "Bidirectional"}]}],
    "volumes": [{"name": "v"}],
}
WINDOWS = {"hostNetwork": True, "os": {"name": "windows"}, "securityContext": {"windowsOptions": {"hostProcess": True, "runAsUserName": "a"}},
           "containers": [{"name": "a", "image": "a", "securityContext": {"windowsOptions": {"hostProcess": True}}}]}
GATED = {"schedulingGates": [{"name": "a"}], "os": {"name": "linux"}, "preemptionPolicy": "PreemptLowerPriority", "priority": 0, "restartPolicy": "Never",
         "activeDeadlineSeconds": 1, "dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}, "tolerations": [{"operator": "Exists"}],
         "containers": [{"name": "a", "image": "a", "resources": {"limits": {"cpu": "1", "memory": "1", "a.b/c": "1", "ephemeral-storage": "1"}},
                         "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]}]}
TEMPLATE = {"metadata": {"labels": {"a": "b", "c": "d"}, "annotations": {"a": "b"}}, "spec": PLAIN}
RBAC = "rbac.authorization.k8s.io"


def object_of(kind, api_version="v1", **fields):
    metadata = fields.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", **metadata}, **fields}


def never(spec):
    return {**spec, "restartPolicy": "Never"}


META = {"namespace": "default", "labels": {"a": "b"}, "annotations": {"A/b": "c"}, "finalizers": ["a.b/c"],
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "A", "name": "a", "uid": "a", "controller": True, "blockOwnerDeletion": True}]}
RULES = [{"apiGroups": ["", "apps"], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["get", "*"]}]
SUBJECTS = [{"kind": "User", "name": "a", "apiGroup": RBAC}, {"kind": "ServiceAccount", "name": "a", "namespace": "b"}, {"kind": "Group", "name": "a"}]
PORTS = [{"name": "a", "port": 80, "targetPort": "http", "protocol": "TCP", "appProtocol": "http"}, {"name": "b", "port": 81, "targetPort": 8080}]
CLAIM = {"accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "a", "volumeMode": "Filesystem",
         "selector": SELECTOR, "volumeName": "a"}
PEERS = [{"podSelector": SELECTOR, "namespaceSelector": {}}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]
NET_PORTS = [{"port": 80, "endPort": 90, "protocol": "TCP"}, {"port": "http"}]
NODES = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]}}
VOLUME = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "a",
          "mountOptions": ["a"], "volumeMode": "Filesystem"}
TARGET = {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}
JOB = {"template": {"metadata": {"labels": {"a": "b"}}, "spec": never({"containers": [{"name": "a", "image": "a"}]})}, "parallelism": 2, "completions": 3,
       "completionMode": "Indexed", "backoffLimit": 1, "activeDeadlineSeconds": 5, "ttlSecondsAfterFinished": 5, "suspend": True, "podReplacementPolicy": "Failed"}
# Read back, so that no part is in two places.
BASES = json.loads(json.dumps([
    ("pod", object_of("Pod", spec=SPEC, metadata=META)), ("pod-volumes", object_of("Pod", spec={"containers": [{"name": "a", "image": "a"}], "volumes": OTHER_VOLUMES})),
    ("pod-plain", object_of("Pod", spec={"containers": [{"name": "a", "image": "a"}]})),
    ("pod-host", object_of("Pod", spec=HOST)), ("pod-windows", object_of("Pod", spec=WINDOWS)), ("pod-gated", object_of("Pod", spec=GATED)),
    ("deployment", object_of("Deployment", "apps/v1", spec={
        "replicas": 2, "selector": SELECTOR, "template": TEMPLATE, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"}},
        "minReadySeconds": 1, "revisionHistoryLimit": 1, "progressDeadlineSeconds": 5, "paused": True})),
    ("deployment-pod", object_of("Deployment", "apps/v1", spec={"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}})),
    ("statefulset", object_of("StatefulSet", "apps/v1", spec={
        "replicas": 2, "selector": SELECTOR, "template": TEMPLATE, "serviceName": "a", "podManagementPolicy": "Parallel", "ordinals": {"start": 1},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}, "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": CLAIM}],
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"}, "revisionHistoryLimit": 1, "minReadySeconds": 1})),
    ("daemonset", object_of("DaemonSet", "apps/v1", spec={"selector": SELECTOR, "template": TEMPLATE, "minReadySeconds": 1, "revisionHistoryLimit": 1, "updateStrategy": {
        "type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}})),
    ("replicaset", object_of("ReplicaSet", "apps/v1", spec={"replicas": 1, "selector": SELECTOR, "template": TEMPLATE, "minReadySeconds": 1})),
    ("replicationcontroller", object_of("ReplicationController", spec={"replicas": 1, "selector": {"a": "b"}, "template": TEMPLATE, "minReadySeconds": 1})),
    ("job", object_of("Job", "batch/v1", spec=JOB)), ("job-pod", object_of("Job", "batch/v1", spec={"template": {"spec": never(PLAIN)}})),
    ("cronjob", object_of("CronJob", "batch/v1", spec={
        "schedule": "*/5 1-2 * * 0", "concurrencyPolicy": "Forbid", "startingDeadlineSeconds": 5, "suspend": True, "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1, "timeZone": "Etc/UTC", "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": JOB}})),
    ("service", object_of("Service", spec={"ports": PORTS, "selector": {"a": "b"}, "externalIPs": ["192.0.2.1"], "sessionAffinity": "ClientIP", "sessionAffinityConfig": {
        "clientIP": {"timeoutSeconds": 5}}, "internalTrafficPolicy": "Local", "publishNotReadyAddresses": True})),
    ("service-external", object_of("Service", spec={"type": "ExternalName", "externalName": "a.b"})),
    ("service-balancer", object_of("Service", spec={"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080}], "selector": {"a": "b"},
                                              "loadBalancerSourceRanges": ["10.0.0.0/8"], "loadBalancerClass": "a/b", "externalTrafficPolicy": "Cluster"})),
    ("service-node", object_of("Service", spec={"type": "NodePort", "ports": [{"port": 80}], "selector": {"a": "b"}, "externalTrafficPolicy": "Local"})),
    ("service-headless", object_of("Service", spec={"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80}]})),
    ("ingress", object_of("Ingress", "networking.k8s.io/v1", spec={
        "ingressClassName": "a", "tls": [{"hosts": ["a.b", "*.c.d"], "secretName": "a"}], "rules": [
            {"host": "a.b", "http": {"paths": [{"path": "/a", "pathType": "Prefix", "backend": {"service": {"name": "a", "port": {"number": 80}}}},
                                               {"pathType": "ImplementationSpecific", "backend": {"service": {"name": "a", "port": {"name": "http"}}}}]}},
            {"host": "*.b"}], "defaultBackend": {"resource": {"apiGroup": "a.b", "kind": "A", "name": "a"}}})),
    ("namespace", object_of("Namespace", metadata={"labels": {"a": "b"}})),
    ("configmap", object_of("ConfigMap", data={"a": "b"}, binaryData={"b": "YQ=="}, immutable=True)),
    ("secret", object_of("Secret", data={"a": "YQ=="}, stringData={"b": "c"}, type="a", immutable=False)),
    ("serviceaccount", object_of("ServiceAccount", automountServiceAccountToken=False, imagePullSecrets=[{"name": "a"}], secrets=[{"name": "a"}])),
    ("role", object_of("Role", RBAC + "/v1", rules=RULES)), ("clusterrole", object_of("ClusterRole", RBAC + "/v1", rules=RULES + [{"nonResourceURLs": ["/a"], "verbs": ["get"]}])),
    ("clusterrole-aggregated", object_of("ClusterRole", RBAC + "/v1", aggregationRule={"clusterRoleSelectors": [SELECTOR]})),
    ("rolebinding", object_of("RoleBinding", RBAC + "/v1", roleRef={"apiGroup": RBAC, "kind": "Role", "name": "a"}, subjects=SUBJECTS)),
    ("clusterrolebinding", object_of("ClusterRoleBinding", RBAC + "/v1", roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": "a"}, subjects=SUBJECTS)),
    ("networkpolicy", object_of("NetworkPolicy", "networking.k8s.io/v1", spec={
        "podSelector": SELECTOR, "policyTypes": ["Ingress", "Egress"], "ingress": [{"from": PEERS, "ports": NET_PORTS}], "egress": [{"to": PEERS, "ports": NET_PORTS}]})),
    ("claim", object_of("PersistentVolumeClaim", spec=CLAIM)), ("volume", object_of("PersistentVolume", spec={**VOLUME, "hostPath": {"path": "/a"}, "nodeAffinity": NODES})),
    ("volume-csi", object_of("PersistentVolume", spec={**VOLUME, "csi": {"driver": "a.b", "volumeHandle": "a", "volumeAttributes": {"a": "b"}}})),
    ("volume-nfs", object_of("PersistentVolume", spec={**VOLUME, "nfs": {"server": "a", "path": "/a"}})),
    ("volume-local", object_of("PersistentVolume", spec={**VOLUME, "local": {"path": "/a"}, "nodeAffinity": NODES})),
    ("storageclass", object_of("StorageClass", "storage.k8s.io/v1", provisioner="a/b", parameters={"a": "b"}, reclaimPolicy="Delete", volumeBindingMode="Immediate",
                          allowVolumeExpansion=True, mountOptions=["a"])),
    ("budget", object_of("PodDisruptionBudget", "policy/v1", spec={"minAvailable": "50%", "selector": SELECTOR, "unhealthyPodEvictionPolicy": "AlwaysAllow"})),
    ("budget-max", object_of("PodDisruptionBudget", "policy/v1", spec={"maxUnavailable": 1, "selector": {}})),
    ("autoscaler", object_of("HorizontalPodAutoscaler", "autoscaling/v2", spec={"minReplicas": 1, "maxReplicas": 2, "scaleTargetRef": TARGET, "metrics": [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
        {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}]})),
    ("autoscaler-v1", object_of("HorizontalPodAutoscaler", "autoscaling/v1", spec={"minReplicas": 1, "maxReplicas": 2, "scaleTargetRef": TARGET, "targetCPUUtilizationPercentage": 50})),
    ("node", object_of("Node", spec={"unschedulable": True, "providerID": "a", "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]})),
    ("quota", object_of("ResourceQuota", spec={"hard": {"pods": "1", "requests.cpu": "1"}})),
    ("limits", object_of("LimitRange", spec={"limits": [{"type": "Container", "max": {"cpu": "1"}}, {"type": "Pod", "min": {"memory": "1Gi"}}]})),
]))
