package storetest

import (
	"testing"
	"time"

	"weir/internal/store"
)

// Open opens an empty store that reads the clock now, or the machine's where that is nil, and closes it after the test.
type Open func(t *testing.T, now func() time.Time) *store.Store

// Engine is a database under all suites.
type Engine struct {
	Open  Open
	Nodes func(t *testing.T, n int) []*store.Store // so many stores of one empty database
	Hints bool                                     // whether one node hears what another changes
	Raw   func(t *testing.T) Raw
	Books func(t *testing.T) Books
}

// Run runs every suite.
func Run(t *testing.T, e Engine) {
	for name, suite := range map[string]func(*testing.T, Open){
		"Accounts": Accounts, "Agents": Agents, "Alerts": Alerts, "Batches": Batches, "Budgets": Budgets, "Catalog": Catalog, "Chats": Chats, "Everybody": Everybody, "Foreign": Foreign, "Hours": Hours, "Idempotency": Idempotency, "Invoices": Invoices, "Ledger": RunLedger,
		"Notify": Notify, "Organizations": Organizations, "OwnKeys": OwnKeys, "Payments": Payments, "People": People, "Presets": Presets, "Reconciliations": Reconciliations, "Reports": Reports, "Responses": Responses, "Sales": Sales, "Sweeps": Sweeps, "TagBounds": TagBounds, "Tags": Tags,
		"Uses": Uses, "Videos": Videos, "Views": Views, "Vouchers": Vouchers, "Webhooks": Webhooks,
		"Appenders":            func(t *testing.T, _ Open) { Appenders(t, e.Nodes(t, 3)) },
		"Hints":                func(t *testing.T, _ Open) { Hints(t, e.Hints, e.Nodes(t, 2)) },
		"Stops":                func(t *testing.T, _ Open) { Stops(t, e.Hints, e.Nodes(t, 2)) },
		"Tampering":            func(t *testing.T, _ Open) { Tampering(t, e.Books) },
		"Forgetting":           func(t *testing.T, _ Open) { Forgetting(t, e.Raw(t)) },
		"OneKey":               func(t *testing.T, _ Open) { OneKey(t, e.Raw(t)) },
		"ForgettingInTheChain": func(t *testing.T, _ Open) { ForgettingInTheChain(t, e.Raw(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t, e.Open)
		})
	}
}
