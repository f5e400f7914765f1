package importer_test

import (
	"strings"
	"testing"

	"weir/internal/catalog/importer"
)

// Prices in batches are the share that the maker publishes, where a list has the model with just these.
func TestBatchPrices(t *testing.T) {
	t.Parallel()
	const (
		usual  = `{"input":1,"output":2,"cache_read":0.1,"cache_write":1.25}`
		listed = `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06,"cache_read_input_token_cost":1e-07,"cache_creation_input_token_cost":1.25e-06`
		half   = `,"input_cost_per_token_batches":5e-07,"output_cost_per_token_batches":1e-06`
	)
	for name, c := range map[string]struct {
		cached bool
		share  string
		lite   string
		pk     string // batch_config
		dev    string // more of the model
		want   string // "" no batches
	}{
		"a list has it":               {lite: half, want: `{"usd":{"prompt":"0.5","completion":"1","cache_read":"0.1","cache_write":"1.25"}}`},
		"another list has it":         {pk: `"request_token":{"price":0.00005},"response_token":{"price":0.0001}`, want: `{"usd":{"prompt":"0.5","completion":"1","cache_read":"0.1","cache_write":"1.25"}}`},
		"cached tokens, by the maker": {cached: true, lite: half, want: `{"usd":{"prompt":"0.5","completion":"1","cache_read":"0.05","cache_write":"0.625"}}`},
		"cached tokens, by a list": {pk: `"request_token":{"price":0.00005},"response_token":{"price":0.0001},"cache_read_input_token":{"price":0.000005}`,
			want: `{"usd":{"prompt":"0.5","completion":"1","cache_read":"0.05","cache_write":"1.25"}}`},
		"no list has it":          {},
		"lists have other prices": {lite: strings.ReplaceAll(half, "1e-06", "9e-07")},
		"another share":           {share: "0.25", lite: half},
		"no number":               {share: "half", lite: half},
		"long prompts": {cached: true, lite: half + `,"input_cost_per_token_above_200k_tokens":2e-06,"output_cost_per_token_above_200k_tokens":4e-06`, dev: "long",
			want: `{"usd":{"prompt":"0.5","completion":"1","cache_read":"0.05","cache_write":"0.625"},"above":[{"tokens":200000,"usd":{"prompt":"1","completion":"2","cache_read":"1","cache_write":"1"}}]}`},
	} {
		share := c.share
		if share == "" {
			share = "0.5"
		}
		own := book
		own.Providers = map[string]importer.Names{"maker": book.Providers["maker"]}
		n := own.Providers["maker"]
		n.Batches = &importer.Batches{Share: share, Cached: c.cached}
		own.Providers["maker"] = n
		dev := model("m", usual, "")
		if c.dev == "long" {
			dev = long(dev)
		}
		var pks []string
		if c.pk != "" {
			pks = []string{strings.Replace(pk("m", "0.0001", "0.0002", ""), `{"pricing_config":{`, `{"pricing_config":{"batch_config":{`+c.pk+`},`, 1)}
		}
		r, err := importer.Import(sources([]string{dev}, nil, []string{lite("m", "maker", listed+c.lite)}, pks, nil), both, own)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, got, found := strings.Cut(string(r.Catalog), `"batch":`)
		if got = strings.TrimRight(strings.Split(got, "\n")[0], ",]"); found && got != c.want+"}" || !found && c.want != "" {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
	// Without what a maker publishes there are none, whatever lists say.
	lines, _ := run(t, sources([]string{model("m", usual, "")}, nil, []string{lite("m", "maker", listed+half)}, nil, nil))
	if len(lines) != 1 || strings.Contains(lines[0], `"batch"`) {
		t.Error(lines)
	}
	// A maker that publishes more than the usual price is not believed.
	own := book
	own.Providers = map[string]importer.Names{"maker": book.Providers["maker"]}
	n := own.Providers["maker"]
	n.Batches = &importer.Batches{Share: "2"}
	own.Providers["maker"] = n
	if _, err := importer.Import(sources([]string{model("m", usual, "")}, nil, []string{lite("m", "maker", listed+strings.NewReplacer("5e-07", "2e-06", "1e-06", "4e-06").Replace(half))}, nil, nil), both, own); err == nil || !strings.Contains(err.Error(), "a batch costs at most") {
		t.Error(err)
	}
}
