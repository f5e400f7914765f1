// Package chart renders the Helm chart with Helm's own engine, and reads what comes out as Kubernetes does. It is a module of its own, so that
// the product does not carry theirs.
package chart

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const folder = "../../packaging/chart"

var update = flag.Bool("update", false, "write values.schema.json")

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// object is a rendered object of Kubernetes.
type object struct {
	APIVersion, Kind string
	Metadata         struct {
		Name   string
		Labels map[string]string
	}
	text []byte
}

func render(t *testing.T, values string) (map[string]object, error) {
	t.Helper()
	given := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	c := load(t)
	v, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "blue", Namespace: "gateways", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, v)
	if err != nil {
		return nil, err
	}
	out := map[string]object{}
	for name, text := range files {
		if strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, ".tpl") {
			continue
		}
		for doc := range strings.SplitSeq("\n"+text, "\n---") {
			o := object{text: []byte(doc)}
			if err := yaml.Unmarshal(o.text, &o); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, doc)
			}
			if o.Kind == "" {
				continue
			}
			if _, twice := out[o.Kind+" "+o.Metadata.Name]; twice {
				t.Errorf("%s %s is there twice", o.Kind, o.Metadata.Name)
			}
			out[o.Kind+" "+o.Metadata.Name] = o
		}
	}
	return out, nil
}

// as reads an object as Kubernetes does, which refuses fields that it does not know.
func as[T any](t *testing.T, o object) *T {
	t.Helper()
	v := new(T)
	if err := yaml.UnmarshalStrict(o.text, v); err != nil {
		t.Fatalf("%s %s: %v\n%s", o.Kind, o.Metadata.Name, err, o.text)
	}
	return v
}

const everything = `
image: {repository: registry.example.com/weir, tag: "2.0", pullSecrets: [{name: registry}]}
database: {secret: weir-database}
environment: {secrets: [keys, more-keys], variables: {TZ: Europe/Moscow}}
config: {pricing: {rub_per_usd: "90"}, server: {drain_timeout: 10m, limits: {max_body_bytes: 64MiB}}}
drain: {delay: 5s, timeout: 600s, seconds: 660}
volume: {class: fast, size: 5Gi, keep: false}
service: {type: LoadBalancer, annotations: {a: b}}
ingress: {enabled: true, class: nginx, host: api.example.org, tlsSecret: tls, annotations: {nginx.ingress.kubernetes.io/proxy-buffering: "off"}}
trustedProxies: [10.0.0.0/8]
autoscaling: {enabled: true, min: 3}
disruption: {maxUnavailable: 2}
monitoring: {enabled: true, labels: {release: prometheus}}
network: {from: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}
nodeSelector: {disk: ssd}
tolerations: [{key: gateways, operator: Exists}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}
podAnnotations: {note: x}
podLabels: {team: y}
serviceAccount: weir-runner
`

func TestLint(t *testing.T) {
	for _, values := range []string{"replicas: 1", everything} {
		given := map[string]any{}
		if err := yaml.Unmarshal([]byte(values), &given); err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.All(folder, given, "gateways", true).Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%v", m)
			}
		}
	}
}

// All that is rendered is what Kubernetes takes; selectors, ports and names fit together; a node has time to drain; and Weir takes its file.
func TestRenders(t *testing.T) {
	for name, values := range map[string]string{"one node with SQLite": "replicas: 1", "several": "database: {secret: weir-database}", "everything": everything} {
		t.Run(name, func(t *testing.T) {
			all, err := render(t, values)
			if err != nil {
				t.Fatal(err)
			}
			set := as[appsv1.StatefulSet](t, all["StatefulSet blue-weir"])
			pod := set.Spec.Template
			labels := func(what string, selector map[string]string) {
				for k, v := range selector {
					if pod.Labels[k] != v || len(selector) == 0 {
						t.Errorf("%s selects %s=%s, which no node has", what, k, v)
					}
				}
			}
			labels("the set", set.Spec.Selector.MatchLabels)
			ports := map[string]bool{}
			for _, p := range pod.Spec.Containers[0].Ports {
				ports[p.Name] = true
			}
			for _, o := range all {
				switch o.Kind {
				case "Service":
					s := as[corev1.Service](t, o)
					labels(o.Metadata.Name, s.Spec.Selector)
					for _, p := range s.Spec.Ports {
						if !ports[p.TargetPort.StrVal] {
							t.Errorf("service %s leads to port %s", s.Name, p.TargetPort.StrVal)
						}
					}
				case "PodDisruptionBudget":
					labels("the budget", as[policyv1.PodDisruptionBudget](t, o).Spec.Selector.MatchLabels)
				case "NetworkPolicy":
					p := as[networkingv1.NetworkPolicy](t, o)
					labels("the policy", p.Spec.PodSelector.MatchLabels)
					for _, rule := range p.Spec.Ingress {
						if rule.Ports[0].Port.StrVal == "operators" && len(rule.From) == 0 {
							t.Error("everybody reaches the operators' listener")
						}
					}
				case "HorizontalPodAutoscaler":
					h := as[autoscalingv2.HorizontalPodAutoscaler](t, o)
					if set.Spec.Replicas != nil || h.Spec.ScaleTargetRef.Name != set.Name || h.Spec.ScaleTargetRef.Kind != "StatefulSet" {
						t.Errorf("%+v; replicas %v", h.Spec.ScaleTargetRef, set.Spec.Replicas)
					}
					source, err := os.ReadFile("../../internal/httpapi/metrics.go")
					if err != nil || !strings.Contains(string(source), `"`+h.Spec.Metrics[0].Pods.Metric.Name+`"`) {
						t.Errorf("%v: there is no metric %s", err, h.Spec.Metrics[0].Pods.Metric.Name)
					}
				case "Ingress":
					if b := as[networkingv1.Ingress](t, o).Spec.Rules[0].HTTP.Paths[0].Backend.Service; all["Service "+b.Name].Kind == "" {
						t.Errorf("the ingress leads to %s", b.Name)
					}
				case "ConfigMap", "ServiceAccount", "StatefulSet", "PodMonitor":
				default:
					t.Errorf("%s is not checked", o.Kind)
				}
			}
			account := pod.Spec.ServiceAccountName
			if _, own := all["ServiceAccount "+account]; own == strings.Contains(values, "serviceAccount:") {
				t.Errorf("account %s is made: %v", account, own)
			}

			text := as[corev1.ConfigMap](t, all["ConfigMap blue-weir"]).Data["weir.yaml"]
			var cfg struct {
				Server struct {
					Delay   string `json:"shutdown_delay"`
					Timeout string `json:"drain_timeout"`
				}
			}
			if err := yaml.Unmarshal([]byte(text), &cfg); err != nil {
				t.Fatal(err)
			}
			delay, err1 := time.ParseDuration(cfg.Server.Delay)
			timeout, err2 := time.ParseDuration(cfg.Server.Timeout)
			if grace := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second; err1 != nil || err2 != nil || delay <= 0 || grace < delay+timeout+20*time.Second {
				t.Errorf("a node is killed after %s, while it drains for %s and %s", grace, cfg.Server.Delay, cfg.Server.Timeout)
			}
			takes(t, pod.Spec.Containers[0], text)
			s := pod.Spec.Containers[0].SecurityContext
			if !*pod.Spec.SecurityContext.RunAsNonRoot || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || s.Capabilities.Drop[0] != "ALL" {
				t.Errorf("%+v", s)
			}
		})
	}
}

// takes fails unless the program reads the file and the variables without an error.
func takes(t *testing.T, c corev1.Container, text string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "weir.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "/data", filepath.Join(dir, "data"))), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Getenv("WEIR_BIN"), "rate", "show", "-c", file)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
		}
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("Weir does not take the file: %v\n%s\n%s", err, said, text)
	}
}

// What cannot work is refused with what to do, and so is a value that does not exist.
func TestRefuses(t *testing.T) {
	for values, want := range map[string]string{
		"replicas: 2": "set database.secret",
		"{replicas: 1, autoscaling: {enabled: true}}": "set database.secret",
		"{replicas: 1, ingress: {enabled: true}}":     "set trustedProxies",
		"{replicas: 1, ingres: {enabled: true}}":      "ingres",
		"{replicas: 1, volume: {sise: 1Gi}}":          "sise",
		"{replicas: many}":                            "replicas",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", values, err, want)
		}
	}
}

// The schema has each value with the type of its default, and refuses others. go test -update writes it.
func TestSchema(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	schema := typeOf(values)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	want, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	file := filepath.Join(folder, "values.schema.json")
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != string(want) {
		t.Errorf("%s does not fit values.yaml (%v): run go test -update", file, err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" || strings.HasSuffix(line, ":") || strings.Contains(line, "#") {
			continue
		}
		if name := strings.TrimSpace(strings.Split(line, ":")[0]); !slices.Contains(plain, name) {
			t.Errorf("values.yaml:%d: %s is not explained", i+1, name)
		}
	}
}

// plain are values that their names explain to whom knows Kubernetes.
var plain = []string{"pullPolicy", "type", "port", "annotations", "enabled", "class", "host", "min", "max", "interval", "labels", "requests", "nodeSelector", "tolerations", "affinity", "podAnnotations", "podLabels"}

func typeOf(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return map[string]any{"type": "object"}
		}
		properties := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			properties[k] = typeOf(v[k])
		}
		return map[string]any{"type": "object", "properties": properties, "additionalProperties": slices.Contains([]string{"cpu", "memory"}, slices.Sorted(maps.Keys(v))[0])}
	case []any:
		return map[string]any{"type": "array"}
	case bool:
		return map[string]any{"type": "boolean"}
	case float64:
		return map[string]any{"type": "integer"}
	default:
		return map[string]any{"type": "string"}
	}
}
