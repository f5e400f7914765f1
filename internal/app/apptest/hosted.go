package apptest

import (
	"encoding/json"
	"net/http"
	"testing"
)

// HostedPrices are rubles per call of each tool that the provider runs.
var HostedPrices = map[string]string{"web_search": "1", "web_fetch": "2", "file_search": "3", "code_execution": "5", "mcp": "7"}

// HostedParts returns the parts of a call's bill that are calls of the provider's tools, and checks their prices.
func (a *Account) HostedParts(t *testing.T, id string) map[string]int64 {
	t.Helper()
	var c struct {
		Data struct {
			Usage struct {
				Parts []struct {
					Kind, Price string
					Quantity    int64
				}
			}
		}
	}
	got := a.Do(t, http.MethodGet, "/api/calls/"+id, nil)
	if err := json.Unmarshal(got.Body, &c); err != nil || got.Status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", got.Status, err, got.Body)
	}
	parts := map[string]int64{}
	for _, p := range c.Data.Usage.Parts {
		if want, ok := HostedPrices[p.Kind]; ok {
			parts[p.Kind] = p.Quantity
			if p.Price != want {
				t.Errorf("a call of %s costs %s, want %s", p.Kind, p.Price, want)
			}
		}
	}
	return parts
}
