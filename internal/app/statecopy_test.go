package app_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	alerting "weir/internal/alert"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/config"
	"weir/internal/resource"
	"weir/internal/store/sqlite/sqlitetest"
)

// ledgerState is the state of a ledger of its own, without a node.
func ledgerState(t *testing.T) resource.Gateway {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir, cfg.Builtin.All = t.TempDir(), false
	cfg.Sealing.MasterKeyFile = filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(cfg.Sealing.MasterKeyFile, []byte(hex.EncodeToString([]byte("the master key of a test, no more")[:32])), 0o600); err != nil {
		t.Fatal(err)
	}
	sqlitetest.New(t, cfg.DataDir)
	o, err := app.OpenAdmin(t.Context(), cfg, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	e, err := o.Editor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	u, err := o.Users.Create(t.Context(), "Anna", audit.Actor{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return app.LocalState(o, e, u.ID, audit.Actor{Name: "test"})
}

// catalogDrawn is some catalog that is valid: providers, and endpoints with prices.
func catalogDrawn(t *rapid.T) []resource.Set {
	sets := []resource.Set{{Kind: *kindNamed("rates")}, {Kind: *kindNamed("providers")}, {Kind: *kindNamed("endpoints")}, {Kind: *kindNamed("aliases")}, {Kind: *kindNamed("orders")}}
	sets[0].Items = []resource.Wanted{{ID: "current", Fields: resource.Fields{"rate": rapid.SampledFrom([]string{"81.50", "81.5", "90"}).Draw(t, "rate"), "margin": rapid.SampledFrom([]string{"0", "0.15"}).Draw(t, "margin")}}}
	for i := range 2 {
		if !rapid.Bool().Draw(t, "provider") {
			continue
		}
		id := fmt.Sprint("p", i)
		f := resource.Fields{"base_url": fmt.Sprintf("https://p%d.example/v1", i)}
		of := map[string][]string{"name": yamlTexts, "data_policy": {"zero", "unknown"}, "disabled": {"true", "false"}, "quirks.system_role": {"true"}, "headers.X-A": {"1", "a: b"}}
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if rapid.Bool().Draw(t, name) {
				f[name] = rapid.SampledFrom(of[name]).Draw(t, "value of "+name)
			}
		}
		if f["name"] != "" {
			f["name"] += " of " + id // no two have the same
		}
		sets[1].Items = append(sets[1].Items, resource.Wanted{ID: id, Fields: f})
		for j := range rapid.IntRange(0, 2).Draw(t, "endpoints") {
			of := edit.Spec{"provider": id, "model": fmt.Sprint("acme/m", j), "prices.completion": "2", "upstream_id": rapid.SampledFrom([]string{"m", "1e3", "true"}).Draw(t, "upstream_id"),
				rapid.SampledFrom([]string{"prices.prompt", "price_usd.prompt"}).Draw(t, "in"): rapid.SampledFrom([]string{"0.60", "0.6", "1"}).Draw(t, "prompt")}
			if rapid.Bool().Draw(t, "threshold") {
				of["thresholds.0.above"], of["thresholds.0.prices.prompt"] = "1000", "3"
			}
			if rapid.Bool().Draw(t, "params") {
				of["params"] = "tools,temperature"
			}
			sets[2].Items = append(sets[2].Items, resource.Wanted{ID: edit.EndpointID(of), Fields: resource.Fields(of)})
		}
	}
	for i, e := range sets[2].Items {
		if rapid.Bool().Draw(t, "another name") {
			sets[3].Items = append(sets[3].Items, resource.Wanted{ID: fmt.Sprint("acme/old", i), Fields: resource.Fields{"model": e.Fields["model"]}})
		}
		model := e.Fields["model"]
		if rapid.Bool().Draw(t, "order") && !slices.ContainsFunc(sets[4].Items, func(w resource.Wanted) bool { return w.ID == model }) {
			sets[4].Items = append(sets[4].Items, resource.Wanted{ID: model, Fields: edit.OrderSpec([]edit.Preference{{Endpoint: e.ID, Place: 2, Weight: rapid.Int64Range(0, 3).Draw(t, "weight")}})})
		}
	}
	var served []string // a preset that names another model is refused
	for _, e := range sets[2].Items {
		at := slices.IndexFunc(sets[1].Items, func(p resource.Wanted) bool { return p.ID == e.Fields["provider"] })
		if sets[1].Items[at].Fields["disabled"] != "true" {
			served = append(served, e.Fields["model"])
		}
	}
	return append(sets, presetsDrawn(t, served))
}

// presetsDrawn are some presets that are valid, with one of these models or with none.
func presetsDrawn(t *rapid.T, models []string) resource.Set {
	set := resource.Set{Kind: *kindNamed("presets")}
	of := map[string][]string{
		"description": {"Polite answers", "5", "no", "a: b # c"}, "system_prompt": {"Be short.", "true", "one\ntwo\n\n", " spaces \t\r\n end ", "«Коротко»\u2028 \\n", "0x10"},
		"parameters.temperature": {"0.3", "0", "1e-1", "1.0"}, "parameters.seed": {"7", "12345678901234567"}, "parameters.stop": {`"1"`, `["null","~",": "]`, `"<<"`},
		"parameters.reasoning": {`{"effort":"low"}`}, "parameters.response_format": {`{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object","properties":{"b.c":{"type":"string"},"a":{"enum":["yes","1",""]},"y":{"const":null}},"required":[]}}}`},
		"provider.sort": {`"price"`}, "provider.ignore": {`["a,b","c"]`}, "provider.allow_fallbacks": {"true", "false"},
		"tools":   {`[{"type":"function","function":{"name":"f","description":"{}","parameters":{"type":"object","properties":{"1":{"type":"integer","minimum":-0.5}}}}},{"type":"function","function":{"name":"g"}}]`},
		"plugins": {`[{"id":"response-healing"}]`},
	}
	for _, id := range []string{"tone", "1", "true", "email-writer"} {
		if !rapid.Bool().Draw(t, "preset "+id) {
			continue
		}
		f := resource.Fields{}
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if rapid.Bool().Draw(t, name) {
				f[name] = rapid.SampledFrom(of[name]).Draw(t, "value of "+name)
			}
		}
		if len(models) > 0 && rapid.Bool().Draw(t, "a model") {
			f["model"], f["models"] = models[0], `["`+models[len(models)-1]+`"]`
		}
		set.Items = append(set.Items, resource.Wanted{ID: id, Fields: f})
	}
	return set
}

// made makes a ledger what sets say, and fails unless there is nothing left to do.
func made(t *rapid.T, at resource.Gateway, sets []resource.Set) {
	for _, most := range []bool{true, false} {
		p, err := resource.Make(context.Background(), at, sets)
		if err == nil && most {
			err = p.Apply(context.Background(), at, func(*resource.Step, resource.Outcome) {})
		}
		if err != nil || !most && len(p.Steps) > 0 {
			t.Fatalf("%v; left is %+v", err, p)
		}
	}
}

// Whatever is set on a ledger: another one that gets its files has the same files.
func TestStateOfAnotherLedgerIsTheSame(t *testing.T) {
	t.Parallel()
	from, to, dir := ledgerState(t), ledgerState(t), t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		made(t, from, catalogDrawn(t))
		write := func(at resource.Gateway) (all string) {
			for _, k := range app.StateKinds() {
				l, err := at.List(context.Background(), &k)
				if err != nil {
					t.Fatal(err)
				}
				text, err := app.StateFile(&k, &l, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, k.Name+".yaml"), text, 0o600); err != nil {
					t.Fatal(err)
				}
				all += string(text)
			}
			return all
		}
		want := write(from)
		files := app.StateFiles{Kinds: app.StateKinds(), Env: os.LookupEnv}
		sets, err := files.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		made(t, to, sets)
		if got := write(to); got != want {
			t.Fatalf("%s\nis, written again:\n%s", want, got)
		}
		made(t, from, sets)
	})
}

// alertsDrawn are some rules and channels that are valid, the channels with what their way needs of a secret.
func alertsDrawn(t *rapid.T) []resource.Set {
	alerts, channels := resource.Set{Kind: *kindNamed("alerts")}, resource.Set{Kind: *kindNamed("channels")}
	for _, k := range alerting.Kinds {
		if !rapid.Bool().Draw(t, "rule of "+string(k)) {
			continue
		}
		f := resource.Fields{"enabled": rapid.SampledFrom([]string{"true", "false"}).Draw(t, "enabled")}
		if k.Unit() != "" && rapid.Bool().Draw(t, "limit") {
			f["limit"] = fmt.Sprint(rapid.IntRange(1, 60).Draw(t, "limit of it"))
		}
		if k.Counted() && rapid.Bool().Draw(t, "attempts") {
			f["minutes"], f["calls"] = rapid.SampledFrom([]string{"5", "30"}).Draw(t, "minutes"), "7"
		}
		alerts.Items = append(alerts.Items, resource.Wanted{ID: string(k), Fields: f})
	}
	secrets := map[string]string{"telegram": "110201543:AA-in-the-clear-1", "slack": "https://hooks.example/services/in-the-clear-2", "webhook": "whsec_aW4tdGhlLWNsZWFy", "mail": ""}
	addresses := map[string][]string{"telegram": {"-1001", "@ops"}, "slack": {""}, "webhook": {"https://hooks.example/x"}, "mail": {"ops@hut.example"}}
	for _, id := range []string{"1", "ops", "true"} {
		way := rapid.SampledFrom([]string{"", "telegram", "slack", "webhook", "mail"}).Draw(t, "way of "+id)
		if way == "" {
			continue
		}
		w := resource.Wanted{ID: id, Fields: resource.Fields{"way": way}}
		if a := rapid.SampledFrom(addresses[way]).Draw(t, "address"); a != "" {
			w.Fields["address"] = a
		}
		for _, f := range [][]string{{"language", "en", "ru", ""}, {"enabled", "true", "false", ""}} {
			if v := rapid.SampledFrom(f[1:]).Draw(t, f[0]); v != "" {
				w.Fields[f[0]] = v
			}
		}
		if secrets[way] != "" {
			w.Secret = &resource.Secret{From: "CHANNEL_" + strings.ToUpper(id), Value: secrets[way]}
		}
		channels.Items = append(channels.Items, w)
	}
	return []resource.Set{alerts, channels}
}

// Whatever alerts are set on a ledger: its files are without secrets, another one that gets them and the secrets has the same files, and at the
// first one they change nothing.
func TestAlertsOfAnotherLedgerAreTheSame(t *testing.T) {
	t.Parallel()
	from, to, dir := ledgerState(t), ledgerState(t), t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		sets := alertsDrawn(t)
		made(t, from, sets)
		secrets, refs := map[string]string{}, map[string]string{}
		for _, w := range sets[1].Items {
			if w.Secret != nil {
				secrets[w.Secret.From], refs["channels "+w.ID] = w.Secret.Value, "${"+w.Secret.From+"}"
			}
		}
		write := func(at resource.Gateway, refs map[string]string) (all string) {
			for _, name := range []string{"alerts", "channels"} {
				k := kindNamed(name)
				l, err := at.List(context.Background(), k)
				if err != nil {
					t.Fatal(err)
				}
				text, err := app.StateFile(k, &l, refs)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name+".yaml"), text, 0o600); err != nil {
					t.Fatal(err)
				}
				all += string(text)
			}
			for _, secret := range secrets {
				if strings.Contains(all, secret) {
					t.Fatalf("%s is in %s", secret, all)
				}
			}
			return all
		}
		read := func() []resource.Set {
			files := app.StateFiles{Kinds: app.StateKinds(), Env: func(name string) (string, bool) { return secrets[name], secrets[name] != "" }}
			sets, err := files.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			return sets
		}
		// as they are exported first, secrets stay where they are
		write(from, nil)
		if p, err := resource.Make(context.Background(), from, read()); err != nil || len(p.Steps) > 0 {
			t.Fatalf("%v; its own files would change %+v", err, p)
		}
		want := write(from, refs)
		made(t, to, read())
		if got := write(to, refs); got != want {
			t.Fatalf("%s\nis, written again:\n%s", want, got)
		}
	})
}
