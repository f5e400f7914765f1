package main_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"weir/internal/money"
)

type credits struct {
	TotalUsage json.Number `json:"total_usage"`
	Balance    json.Number `json:"balance"`
	Reserved   json.Number `json:"reserved"`
}

func (n *node) credits(t *testing.T) credits {
	t.Helper()
	var c struct{ Data credits }
	if status, err := n.getJSON("/v1/credits", &c); err != nil || status != http.StatusOK {
		t.Fatalf("credits: status %d, %v", status, err)
	}
	return c.Data
}

// checkCharges compares the costs that clients received with the records: each answer is recorded once, at the same cost, and no more was
// delivered than charged.
func (n *node) checkCharges(t *testing.T, replies []reply) {
	t.Helper()
	seen := make(map[string]bool, len(replies))
	var sum money.Nano
	for _, r := range replies {
		if r.id == "" || seen[r.id] {
			t.Fatalf("two answers with the id %q", r.id)
		}
		seen[r.id] = true
		var g struct {
			Data struct {
				ID        string      `json:"id"`
				TotalCost json.Number `json:"total_cost"`
			} `json:"data"`
		}
		status, err := n.getJSON("/v1/generation?id="+r.id, &g)
		if err != nil || status != http.StatusOK || g.Data.ID != r.id {
			t.Fatalf("%s was delivered and is not recorded: status %d, %v", r.id, status, err)
		}
		if g.Data.TotalCost != r.usage.Cost {
			t.Errorf("%s reported a cost of %s, recorded is %s", r.id, r.usage.Cost, g.Data.TotalCost)
		}
		sum += rubles(t, r.usage.Cost)
	}
	charged := rubles(t, n.credits(t).TotalUsage)
	t.Logf("%d answers delivered for %s rubles, %s charged", len(replies), sum, charged)
	if sum <= 0 || sum > charged {
		t.Errorf("delivered answers cost %s, charged were %s", sum, charged)
	}
}

func rubles(t *testing.T, n json.Number) money.Nano {
	t.Helper()
	amount, err := money.Parse(n.String())
	if err != nil {
		t.Fatal(err)
	}
	return amount
}
