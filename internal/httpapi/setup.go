package httpapi

import (
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/report"
)

// setupWindow is how far back the page of the first steps looks for a call.
const setupWindow = 30 * 24 * time.Hour

// ShowDemoKey lets the page of the first steps show a demo's key, to browsers on its own machine. It must not be called on other gateways.
func (a *API) ShowDemoKey(key string) { a.demoKey.Store(&key) }

// getSetup serves GET /api/setup: the first steps of the gateway, and of the person who is signed in.
func (x *request) getSetup() error {
	f, err := x.api.People.Features(x.context())
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.boolean("demo", f.Demo)
	o.text("base_url", x.base())
	if key := x.api.demoKey.Load(); f.Demo && key != nil && x.local() {
		o.text("key", *key)
	} else {
		o.null("key")
	}
	o.Name("steps").Array()
	step := func(id string, done bool, detail func()) {
		o.Object()
		o.text("id", id)
		o.boolean("done", done)
		o.Name("detail").Object()
		if detail != nil {
			detail()
		}
		o.EndObject()
		o.EndObject()
	}
	step("administrator", !f.Setup, nil)
	providers := x.api.providerNames()
	step("provider", len(providers) > 0, func() { o.texts("providers", providers) })
	if p := x.person; p != nil {
		user, err := x.api.Accounts.ByID(x.context(), p.ID)
		if err != nil {
			return err
		}
		if err := x.ownSteps(&o, user, step); err != nil {
			return err
		}
	}
	o.EndArray()
	o.EndObject()
	x.w.Header().Set("Cache-Control", "no-store")
	return x.reply(&o)
}

// ownSteps adds the steps of a person: a key, a call, money.
func (x *request) ownSteps(o *object, user account.User, step func(id string, done bool, detail func())) error {
	keys, err := x.api.Keys.List(x.context(), apikey.Filter{User: user.ID})
	if err != nil {
		return err
	}
	page, err := x.api.Reports.Calls(x.context(), report.Search{Wallet: user.Wallet, From: x.at.Add(-setupWindow), To: x.at.Add(time.Hour), Limit: 1})
	if err != nil {
		return err
	}
	balance, err := x.api.Ledger.Balance(x.context(), user.Wallet)
	if err != nil {
		return err
	}
	step("key", slices.ContainsFunc(keys, func(k apikey.Key) bool { return !k.Management && k.Name != "web" }), nil)
	step("call", len(page.Calls) > 0, func() {
		if len(page.Calls) == 0 {
			return
		}
		c := &page.Calls[0]
		o.text("generation", c.Generation)
		o.text("model", c.Model)
		if c.ProviderName != "" {
			o.text("provider", c.ProviderName)
		}
		o.integer("attempts", int64(len(c.Attempts)))
		o.amountText("cost", c.Cost)
	})
	step("top_up", balance.Balance-balance.Held > 0, nil)
	return nil
}

// providerNames are the names of the providers that can be called, each once.
func (a *API) providerNames() []string {
	var names []string
	for _, m := range a.Catalog().Models() {
		for _, e := range m.Endpoints {
			if !slices.Contains(names, e.Provider.Name) {
				names = append(names, e.Provider.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}
