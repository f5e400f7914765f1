package apptest

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"weir/internal/money"
)

func (a *Answer) WantRefusedForMoney(t *testing.T) {
	t.Helper()
	a.WantEnvelope(t)
	var e struct {
		Error struct {
			Metadata struct {
				Type                string `json:"error_type"`
				Required, Available string
			}
		}
	}
	err := json.Unmarshal(a.Body, &e)
	m := e.Error.Metadata
	if err != nil || m.Type != "payment_required" || m.Required == "" || m.Available == "" ||
		Parse(t, json.Number(m.Required)) <= max(0, Parse(t, json.Number(m.Available))) {
		t.Errorf("the refusal must contain the required and the available amount: %s", a.Body)
	}
}

// WatchOpen counts the open calls at the provider until stop is called; most is then the largest number.
func (gw *Gateway) WatchOpen(t *testing.T) (most *int64, stop func()) {
	t.Helper()
	most = new(int64)
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				*most = max(*most, gw.Sim.Stats().Total.Open)
			}
		}
	}()
	return most, func() { close(end); <-done }
}

// CallHold returns the node's hold for an answered call.
func (a *Account) CallHold(t *testing.T, got *Answer) money.Nano {
	t.Helper()
	var m struct{ ID string }
	if err := json.Unmarshal(got.Body, &m); err != nil || got.Status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", got.Status, err, got.Body)
	}
	var c struct {
		Data struct{ Hold struct{ Amount string } }
	}
	call := a.Do(t, http.MethodGet, "/api/calls/"+m.ID, nil)
	if err := json.Unmarshal(call.Body, &c); err != nil || call.Status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", call.Status, err, call.Body)
	}
	return Parse(t, json.Number(c.Data.Hold.Amount))
}
