{{- define "ephor.labels" -}}
app.kubernetes.io/name: ephor
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "ephor.selector" -}}
app.kubernetes.io/name: ephor
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ephor.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "ephor.policies" -}}
{{ .Values.policiesConfigMap | default (printf "%s-policies" .Release.Name) }}
{{- end }}

{{- define "ephor.tls" -}}
{{ .Values.tls.existingSecret | default (printf "%s-tls" .Release.Name) }}
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

{{/* Whose names the webhook configurations have. */}}
{{- define "ephor.webhooks" -}}
{{- if .Values.registration.kyvernoNames }}kyverno{{ else }}ephor{{ end }}
{{- end }}
