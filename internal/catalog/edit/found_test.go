package edit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
)

func (m *memory) FoundVersion(context.Context) (int64, error) { return m.state.FoundVersion(), nil }

func (m *memory) Found(context.Context) ([]edit.Found, error) { return m.state.Found, nil }

func (m *memory) ClaimFound(context.Context, string, time.Time, time.Time) (bool, error) {
	return true, nil
}

func (m *memory) PutFound(_ context.Context, f *edit.Found, _ bool) error {
	m.state.Found = []edit.Found{*f}
	return nil
}

// TestDiscoveredModels are offered as their server has them: free, or at the prices of the provider; rows lie over them as over built-in ones.
func TestDiscoveredModels(t *testing.T) {
	t.Parallel()
	s := open(t)
	shed := edit.Change{Kind: edit.Provider, ID: "shed", Create: true, Set: edit.Spec{"base_url": "http://10.0.0.7:11434/v1", "models": "discover"}}
	if v := s.must(shed).Provider("shed"); v.Discovery == nil || v.Found != nil || v.Discovery.Priced {
		t.Fatalf("view: %+v", v)
	}
	s.store.state.Found = []edit.Found{{Provider: "shed", Server: edit.ServerOllama, At: time.Unix(1, 0), Models: []edit.FoundModel{
		{ID: "qwen3:8b", Type: catalog.TypeChat, Context: 8192, Trained: 40960, Input: catalog.Text, Tools: edit.Can, Reasons: edit.Cannot},
		{ID: "nomic-embed-text:latest", Type: catalog.TypeEmbedding, Trained: 2048},
		{ID: "hf.co/Acme/Tiny-GGUF:Q4_K_M", Type: catalog.TypeChat, Tools: edit.Cannot},
		{ID: "///", Type: catalog.TypeChat},
	}}}
	b := s.must(edit.Change{Kind: edit.Provider, ID: "shed", Set: edit.Spec{"name": "Shed"}})
	m, ok := b.Snapshot.Model("shed/qwen3:8b")
	if !ok || m.Endpoints[0].UpstreamID != "qwen3:8b" || m.Endpoints[0].ContextLength != 8192 || !m.Endpoints[0].Pricing.Free() || m.Endpoints[0].Input != catalog.Text {
		t.Fatalf("model: %+v", m)
	}
	if p := m.Endpoints[0].Params; p&catalog.ParamTools == 0 || p&catalog.ParamReasoning != 0 {
		t.Errorf("parameters: %s", p)
	}
	if m, ok = b.Snapshot.Model("shed/nomic-embed-text"); !ok || m.Type != catalog.TypeEmbedding || m.Endpoints[0].ContextLength != 2048 {
		t.Errorf("model: %+v", m)
	}
	if m, ok = b.Snapshot.Model("shed/hf.co-Acme-Tiny-GGUF:Q4_K_M"); !ok || m.Endpoints[0].Params&catalog.ParamTools != 0 {
		t.Errorf("model: %+v", m)
	}
	if len(b.Left) != 1 || !strings.Contains(b.Left[0], "///") {
		t.Errorf("left out: %q", b.Left)
	}
	if v := b.Endpoint("shed/shed/qwen3:8b"); v == nil || v.Origin != edit.FromServer {
		t.Errorf("view: %+v", v)
	}
	b = s.must(edit.Change{Kind: edit.Provider, ID: "shed", Set: edit.Spec{"prices.prompt": "0.1", "prices.completion": "0.2", "vendor": "local"}})
	m, _ = b.Snapshot.Model("local/qwen3:8b")
	if p := m.Endpoints[0].Pricing.Base; p.Prompt.String() != "0.1" || p.Completion.String() != "0.2" {
		t.Errorf("prices: %+v", p)
	}
	b = s.must(edit.Change{Kind: edit.Endpoint, ID: "shed/local/qwen3:8b", Set: edit.Spec{"context_length": "32768"}})
	if m, _ = b.Snapshot.Model("local/qwen3:8b"); m.Endpoints[0].ContextLength != 32768 {
		t.Errorf("the row does not count: %+v", m.Endpoints[0])
	}
}

// TestDiscoveryIsChecked refuses what is not for such a provider.
func TestDiscoveryIsChecked(t *testing.T) {
	t.Parallel()
	s := open(t)
	provider := func(set edit.Spec) edit.Change {
		set["base_url"] = "http://10.0.0.7:11434/v1"
		return edit.Change{Kind: edit.Provider, ID: "shed", Create: true, Set: set}
	}
	s.refused(provider(edit.Spec{"models": "all"}), fault.Invalid, "models")
	s.refused(provider(edit.Spec{"vendor": "local"}), fault.Invalid, "vendor")
	s.refused(provider(edit.Spec{"prices.prompt": "1"}), fault.Invalid, "prices.prompt")
	s.refused(provider(edit.Spec{"models": "discover", "vendor": "a/b"}), fault.Invalid, "vendor")
	s.refused(provider(edit.Spec{"models": "discover", "dialect": "anthropic"}), fault.Invalid, "models")
	s.refused(edit.Change{Kind: edit.Provider, ID: "open", Set: edit.Spec{"models": "discover"}}, fault.Invalid, "models")
}

// TestServerCannotBreakTheCatalog leaves out what servers name where the catalog would be invalid with it.
func TestServerCannotBreakTheCatalog(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.must(edit.Change{Kind: edit.Provider, ID: "shed", Create: true, Set: edit.Spec{"base_url": "http://10.0.0.7:11434/v1", "models": "discover", "vendor": "acme"}})
	s.store.state.Found = []edit.Found{{Provider: "shed", Models: []edit.FoundModel{
		{ID: "small", Type: catalog.TypeEmbedding}, // a chat model of others
		{ID: "own", Type: catalog.TypeChat, Quantization: "none of ours"},
	}}}
	b := s.must(edit.Change{Kind: edit.Provider, ID: "shed", Set: edit.Spec{"name": "Shed"}})
	if m, ok := b.Snapshot.Model("acme/small"); !ok || m.Type != catalog.TypeChat {
		t.Errorf("the model of others: %+v", m)
	}
	if _, ok := b.Snapshot.Model("acme/own"); ok || len(b.Left) != 1 || !strings.Contains(b.Left[0], "none of ours") {
		t.Errorf("left out: %q", b.Left)
	}
}

// TestFoundSlug makes names that requests can have.
func TestFoundSlug(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"qwen3:8b": "v/qwen3:8b", "llama3.2:latest": "v/llama3.2", "Qwen/Qwen3-8B": "v/Qwen-Qwen3-8B", "/home/x/gemma-3.Q4_K_M.gguf": "v/gemma-3.Q4-K-M",
		"m:thinking": "v/m-thinking", "m:free": "v/m-free", "модель": "", "": "", "a b": "v/a-b", strings.Repeat("x", 300): "",
	} {
		want = strings.ReplaceAll(want, "Q4-K-M", "Q4_K_M")
		if got := edit.FoundSlug("v", id); got != want {
			t.Errorf("%q becomes %q, want %q", id, got, want)
		}
	}
}
