{{- define "weir.name" -}}
{{- if contains "weir" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-weir" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "weir.selector" -}}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "weir.labels" -}}
{{ include "weir.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "weir.account" -}}
{{ .Values.serviceAccount | default (include "weir.name" .) }}
{{- end }}

{{/* What the chart sets, under what the operator sets. */}}
{{- define "weir.config" -}}
{{- $server := dict "listen" ":8080" "admin_listen" ":9091" "shutdown_delay" .Values.drain.delay "drain_timeout" .Values.drain.timeout }}
{{- if .Values.trustedProxies }}{{ $_ := set $server "trusted_proxies" .Values.trustedProxies }}{{ end }}
{{- if .Values.ingress.enabled }}{{ $_ := set $server "public_url" (printf "https://%s" .Values.ingress.host) }}{{ end }}
{{- toYaml (mergeOverwrite (dict "data_dir" "/data" "server" $server) (deepCopy .Values.config)) }}
{{- end }}

{{- define "weir.check" -}}
{{- $many := or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}
{{- if and $many (not .Values.database.secret) }}
{{- fail "Several nodes need one PostgreSQL: set database.secret, or replicas to 1." }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.trustedProxies) }}
{{- fail "Behind an ingress all clients would share the limits of its address: set trustedProxies to the addresses of its pods." }}
{{- end }}
{{- end }}
