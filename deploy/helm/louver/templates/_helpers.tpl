{{- define "louver.name" -}}
{{- if contains "louver" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-louver" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "louver.selector" -}}
app.kubernetes.io/name: louver
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "louver.labels" -}}
{{ include "louver.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* TLS on the operators' address, if its web config file asks for it. */ -}}
{{- define "louver.operatorsScheme" -}}
{{- if get .Values.settings "METRICS_WEB_CONFIG_FILE" }}HTTPS{{ else }}HTTP{{ end -}}
{{- end -}}

{{- /* The image. A chart from the sources has no published one. */ -}}
{{- define "louver.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- if and (eq $tag "dev") (eq .Values.image.repository "ghcr.io/louver/louver") -}}
{{- fail "image.tag is missing: this chart is from the sources, and ghcr.io/louver/louver has no tag \"dev\"; want the tag of a release, or image.repository of an image that you have built" -}}
{{- end -}}
{{ .Values.image.repository }}:{{ $tag }}
{{- end -}}
