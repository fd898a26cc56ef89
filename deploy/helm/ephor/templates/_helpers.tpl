{{- define "ephor.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The name of objects. Suffixes of up to 15 characters must fit into the 63 of a label. */}}
{{- define "ephor.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" }}
{{- else }}
{{- $name := include "ephor.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 48 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 48 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "ephor.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "ephor.labels" -}}
{{ include "ephor.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: ephor
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ include "ephor.chart" . }}
{{- end }}

{{- define "ephor.selector" -}}
app.kubernetes.io/name: {{ include "ephor.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels of Pods: the second one is what ephor's own policy restrict-token-mounts looks for. */}}
{{- define "ephor.podLabels" -}}
app.kubernetes.io/part-of: ephor
kubernetes-api: needed
{{- end }}

{{- define "ephor.image" -}}
{{- $repository := required "image.repository is not set: the chart of a release names its image, the one in the repository none; build one with deploy/Containerfile, push it, and name it" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "ephor.account" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "ephor.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "ephor.policies" -}}
{{ .Values.policiesConfigMap | default (printf "%s-policies" (include "ephor.fullname" .)) }}
{{- end }}

{{/* Whether policies are in a ConfigMap. */}}
{{- define "ephor.hasFiles" -}}
{{- if eq .Values.mode "files" }}yes{{ end }}
{{- end }}

{{/* Values that do not fit together. */}}
{{- define "ephor.check" -}}
{{- if eq .Values.mode "files" }}
{{- if eq .Values.tls.source "secret" }}
{{- fail "mode files needs tls.source existing or cert-manager: no server leads and renews a certificate" }}
{{- end }}
{{- if or .Values.kinds .Values.ownGroup }}
{{- fail "mode files reads no kinds of policies from the cluster: leave kinds and ownGroup unset" }}
{{- end }}
{{- else if or .Values.policies .Values.policiesConfigMap }}
{{- fail "policies and policiesConfigMap are for mode files: in the other modes policies are objects of the cluster" }}
{{- end }}
{{- end }}

{{/* Kinds of policies that are read from the cluster, separated by commas. Those of our own groups have no other reader. */}}
{{- define "ephor.kinds" -}}
{{- if .Values.kinds -}}
{{ join "," .Values.kinds }}
{{- else if and .Values.ownGroup (ne .Values.mode "files") -}}
all
{{- else -}}
{{ get (dict "replace" "all" "alongside" "legacy" "files" "") .Values.mode }}
{{- end }}
{{- end }}

{{/* The Secret with the certificate. */}}
{{- define "ephor.tls" -}}
{{- if eq .Values.tls.source "existing" -}}
{{ required "tls.existingSecret is required with tls.source existing" .Values.tls.existingSecret }}
{{- else -}}
{{ include "ephor.fullname" . }}-tls
{{- end }}
{{- end }}

{{/* Whose names the webhook configurations have. */}}
{{- define "ephor.webhooks" -}}
{{- $given := toString .Values.webhooks.kyvernoNames }}
{{- if or (eq $given "true") (and (ne $given "false") (eq .Values.mode "replace")) }}kyverno{{ else }}ephor{{ end }}
{{- end }}

{{/* The flags that serve and webhook-config share. */}}
{{- define "ephor.names" -}}
{{- if eq (include "ephor.webhooks" .) "kyverno" }}
- --kyverno-names
{{- end }}
{{- end }}

{{- define "ephor.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "ephor.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* The aggregated ClusterRole takes in what has this label. */}}
{{- define "ephor.aggregate" -}}
rbac.ephor.dev/aggregate-to-{{ include "ephor.fullname" . }}: "true"
{{- end }}

{{/* What Pods may call besides DNS, if that is limited. */}}
{{- define "ephor.egress" -}}
{{- with .Values.networkPolicy.egress -}}
egress:
- ports:
  - port: 53
    protocol: UDP
  - port: 53
    protocol: TCP
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Nothing comes in to the Pods of a hook: its name is `.name`. */}}
{{- define "ephor.nothingComesIn" -}}
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: {{ include "ephor.name" .root }}-{{ .name }}
      app.kubernetes.io/instance: {{ .root.Release.Name }}
  policyTypes:
  - Ingress
  {{- if .root.Values.networkPolicy.egress }}
  - Egress
  {{- end }}
  ingress: []
  {{- include "ephor.egress" .root | nindent 2 }}
{{- end }}

{{/* Requests and limits of the server. Logs and files in emptyDirs count as local storage: the limit has room for all that the chart sizes. */}}
{{- define "ephor.resources" -}}
{{- $audit := and .Values.auditLog.enabled (not .Values.auditLog.volume) }}
{{- $files := ternary (mul .Values.auditLog.maxSizeMegabytes (add 2 .Values.auditLog.maxBackups)) 0 $audit | int }}
{{- $storage := dict "requests" (dict "ephemeral-storage" "64Mi") "limits" (dict "ephemeral-storage" (printf "%dMi" (add 256 $files))) }}
{{- toYaml (mergeOverwrite $storage (deepCopy .Values.resources)) }}
{{- end }}

{{/* Findings of checkov that are on purpose, with the reasons: annotations of objects with Pods. */}}
{{- define "ephor.checkov" -}}
checkov.io/skip1: CKV_K8S_11=a limit of CPU slows reviews down that an API server waits for
checkov.io/skip2: CKV_K8S_38=the program is a client of the API server
{{- end }}

{{/* The name of the Job, which is that of the folder with its results. */}}
{{- define "ephor.scanRun" -}}
- name: RUN
  valueFrom:
    fieldRef:
      fieldPath: metadata.labels['batch.kubernetes.io/job-name']
{{- end }}
