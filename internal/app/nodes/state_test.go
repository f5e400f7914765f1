package nodes_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/resource"
	"weir/internal/store/postgres/pgtest"
)

// keeper is a gateway whose state is kept as files, over its API.
type keeper struct {
	at   resource.Gateway
	boss *apptest.Owner
}

func newKeeper(t *testing.T, gw *apptest.Gateway) *keeper {
	t.Helper()
	k := &keeper{boss: gw.NewOwner(t, 100, apikey.NewKey{})}
	if err := gw.Node.Admin().Users.SetRole(t.Context(), k.boss.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	var err error
	if k.at, err = app.RemoteState(gw.URL, k.boss.Pages.Key); err != nil {
		t.Fatal(err)
	}
	return k
}

// export writes the files of a gateway, and returns their texts.
func (k *keeper) export(t *testing.T, dir string) (texts string) {
	t.Helper()
	for _, kind := range app.StateKinds() {
		l, err := k.at.List(t.Context(), &kind)
		if err != nil {
			t.Fatal(err)
		}
		text, err := app.StateFile(&kind, &l, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, kind.Name+".yaml"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		texts += string(text)
	}
	return texts
}

func (k *keeper) plan(t *testing.T, dir string, env map[string]string) (*resource.Plan, error) {
	t.Helper()
	files := app.StateFiles{Kinds: app.StateKinds(), Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	sets, err := files.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return resource.Make(t.Context(), k.at, sets)
}

// steps checks what a plan does: "create endpoints hut/acme/tiny".
func (k *keeper) steps(t *testing.T, dir string, env map[string]string, want ...string) *resource.Plan {
	t.Helper()
	p, err := k.plan(t, dir, env)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range p.Steps {
		got = append(got, string(p.Steps[i].Action)+" "+p.Steps[i].Kind.Name+" "+p.Steps[i].ID)
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Fatalf("the plan is %q, want %q", got, want)
	}
	return p
}

func (k *keeper) apply(t *testing.T, p *resource.Plan) {
	t.Helper()
	if err := p.Apply(t.Context(), k.at, func(*resource.Step, resource.Outcome) {}); err != nil {
		t.Fatal(err)
	}
}

func (k *keeper) must(t *testing.T, method, path string, body map[string]any) {
	t.Helper()
	if got := k.boss.Pages.Do(t, method, "/api/admin/"+path, body); got.Status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
	}
}

// preset is what a preset says.
func (k *keeper) preset(t *testing.T, name string) string {
	t.Helper()
	type said struct {
		Data struct {
			Description, Model                           string
			SystemPrompt                                 string `json:"system_prompt"`
			Models, Parameters, Provider, Tools, Plugins any
		}
	}
	return fmt.Sprintf("%q", apptest.Decode[said](t, k.boss.Pages.Do(t, http.MethodGet, "/api/presets/"+name, nil).Body).Data)
}

func (k *keeper) changes(t *testing.T) int {
	t.Helper()
	type catalog struct{ Version int }
	return apptest.Decode[catalog](t, k.boss.Pages.Do(t, http.MethodGet, "/api/admin/catalog", nil).Body).Version
}

const stateSecret = "sk-secret-of-the-hut-0123456789"

// What was set on one gateway is copied to another over files, between both databases, and no secret is in them. The second plan is empty; what
// somebody changes at the gateway is seen; a key that files refer to is a difference only where it is another one.
func TestStateIsCopiedBetweenGateways(t *testing.T) {
	t.Parallel()
	withKeys := func(s *apptest.Setup) { s.Server.AdminAPI = true }
	staging := newKeeper(t, apptest.StartGateway(t, withKeys))
	production := newKeeper(t, apptest.StartNodes(t, 1, pgtest.New(t), withKeys, apptest.Sealing(t))[0])

	staging.must(t, http.MethodPut, "providers/hut", map[string]any{"name": "Hut", "base_url": "https://hut.example/v1", "api_key": stateSecret, "headers": map[string]any{"X-Team": "weir"}})
	staging.must(t, http.MethodPut, "endpoints/hut%2Facme%2Ftiny", map[string]any{"provider": "hut", "model": "acme/tiny", "prices": map[string]any{"prompt": "0.10", "completion": "0.2"}, "params": []any{"tools"}})
	staging.must(t, http.MethodPut, "rates/current", map[string]any{"rate": "81.50", "margin": "0.15"})
	tone := map[string]any{"description": "Polite answers", "model": "acme/tiny", "models": []any{"acme/tiny"}, "system_prompt": "Be short.\nBe kind.\n", "parameters": map[string]any{"temperature": 0.3, "stop": []any{"1", "a, b"}}, "provider": map[string]any{"sort": "price"},
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "find", "parameters": map[string]any{"type": "object", "properties": map[string]any{"a.b": map[string]any{"type": "string"}}}}}}}
	if got := staging.boss.Pages.Do(t, http.MethodPut, "/api/presets/tone", tone); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	dir := t.TempDir()
	if texts := staging.export(t, dir); strings.Contains(texts, "secret") || !strings.Contains(texts, "api_key: kept # ...6789") {
		t.Errorf("exported: %s", texts)
	}
	staging.steps(t, dir, nil)

	production.apply(t, production.steps(t, dir, nil, "change rates current", "create providers hut", "create endpoints hut/acme/tiny", "create presets tone"))
	production.steps(t, dir, nil)
	if there, here := staging.preset(t, "tone"), production.preset(t, "tone"); there != here || !strings.Contains(here, `"a.b"`) {
		t.Errorf("the preset is %s there and %s here", there, here)
	}
	made := production.changes(t)

	// a key by reference: set once, and not again
	providers := filepath.Join(dir, "providers.yaml")
	text, err := os.ReadFile(providers)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(providers, []byte(strings.Replace(string(text), "api_key: kept", "api_key: ${HUT_KEY}", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HUT_KEY": stateSecret}
	p := production.steps(t, dir, env, "change providers hut")
	if f := p.Steps[0].Fields; len(f) != 1 || f[0].Before != nil || *f[0].After != "from HUT_KEY" {
		t.Errorf("%+v", f)
	}
	production.apply(t, p)
	production.steps(t, dir, env)
	if n := production.changes(t); n != made+1 {
		t.Errorf("asking for a plan made %d changes", n-made-1)
	}
	production.steps(t, dir, map[string]string{"HUT_KEY": "sk-another-of-the-hut-0123456789"}, "change providers hut")

	// what was changed at the gateway is seen, and put back
	production.must(t, http.MethodPatch, "endpoints/hut%2Facme%2Ftiny", map[string]any{"max_in_flight": 7, "prices": map[string]any{"prompt": "0.3"}})
	p = production.steps(t, dir, env, "change endpoints hut/acme/tiny")
	if f := p.Steps[0].Fields; len(f) != 2 || f[0].Name != "max_in_flight" || f[0].After != nil || *f[1].Before != "0.3" || *f[1].After != "0.1" {
		t.Errorf("%+v", f)
	}
	production.must(t, http.MethodPatch, "endpoints/hut%2Facme%2Ftiny", map[string]any{"max_in_flight": 8})
	if err := p.Apply(t.Context(), production.at, func(*resource.Step, resource.Outcome) {}); !fault.Is(err, fault.Conflict) {
		t.Errorf("a plan of an earlier state: %v", err)
	}
	production.apply(t, production.steps(t, dir, env, "change endpoints hut/acme/tiny"))

	// back again, and away
	back := t.TempDir()
	if texts := production.export(t, back); strings.Contains(texts, "secret") {
		t.Errorf("exported: %s", texts)
	}
	staging.steps(t, back, nil)
	if err := os.WriteFile(filepath.Join(back, "providers.yaml"), []byte("providers: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = staging.steps(t, back, nil, "delete providers hut")
	if err := p.Apply(t.Context(), staging.at, func(*resource.Step, resource.Outcome) {}); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "endpoints") {
		t.Errorf("a provider with endpoints: %v", err)
	}
	if err := os.WriteFile(filepath.Join(back, "endpoints.yaml"), []byte("endpoints: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(back, "presets.yaml"), []byte("presets: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	staging.apply(t, staging.steps(t, back, nil, "delete presets tone", "delete endpoints hut/acme/tiny", "delete providers hut"))
	staging.steps(t, back, nil)
}

// What an account without a role may: keep its own presets as files, and nothing else. Those of others are not among them.
func TestPresetsOfAnAccountAsFiles(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.Server.AdminAPI = true })
	k, other := &keeper{boss: gw.NewOwner(t, 1, apikey.NewKey{})}, gw.NewOwner(t, 1, apikey.NewKey{})
	other.MakePreset(t, map[string]any{"name": "of-others", "model": "test/next"})
	var err error
	if k.at, err = app.RemoteState(gw.URL, k.boss.Pages.Key); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "presets.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("presets:\n  tone: {model: test/next, parameters: {temperature: 0.3}}\n  bare: {}\n")
	k.apply(t, k.steps(t, dir, nil, "create presets tone", "create presets bare"))
	k.steps(t, dir, nil)
	write("presets:\n  tone: {model: test/next, parameters: {temperature: 0.4}}\n")
	p := k.steps(t, dir, nil, "change presets tone", "delete presets bare")
	if f := p.Steps[0].Fields; len(f) != 1 || f[0].Name != "parameters.temperature" || *f[0].Before != "0.3" || *f[0].After != "0.4" {
		t.Errorf("%+v", f)
	}
	if got := k.boss.Pages.Do(t, http.MethodPut, "/api/presets/tone", map[string]any{"model": "test/next"}); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if err := p.Apply(t.Context(), k.at, func(*resource.Step, resource.Outcome) {}); !fault.Is(err, fault.Conflict) {
		t.Errorf("a plan of an earlier state: %v", err)
	}
	k.apply(t, k.steps(t, dir, nil, "change presets tone", "delete presets bare"))
	k.steps(t, dir, nil)
	write("presets:\n  tone: {model: no/such}\n")
	if err := k.steps(t, dir, nil, "change presets tone").Apply(t.Context(), k.at, func(*resource.Step, resource.Outcome) {}); err == nil || !strings.Contains(err.Error(), "no/such") {
		t.Errorf("a model that there is not: %v", err)
	}
}

// A key of a user, and an address that is none of a gateway, are refused with what to do.
func TestRemoteStateSaysWhy(t *testing.T) {
	t.Parallel()
	kind := app.StateKinds()[0]
	for _, open := range []bool{true, false} {
		gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.Server.AdminAPI = open })
		owner := gw.NewOwner(t, 1, apikey.NewKey{})
		for key, says := range map[string]string{owner.Key: "management key", owner.Pages.Key: "operators", "sk-none": "key"} {
			if !open {
				says = "server.admin_api"
			}
			at, err := app.RemoteState(gw.URL, key)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := at.List(t.Context(), &kind); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), key) {
				t.Errorf("%v, want %q", err, says)
			}
		}
	}
	for _, base := range []string{"weir.example.com", "ftp://weir.example.com", "https://me:secret@weir.example.com", "https://weir.example.com?x=1"} {
		if _, err := app.RemoteState(base, "key"); err == nil {
			t.Errorf("%s is taken", base)
		}
	}
}
