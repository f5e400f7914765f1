package accountapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/report"
)

// Demo is a gateway to try: its money is play money.
type Demo struct {
	Key   string    // API key that is shown to browsers on its machine
	Owner string    // id of the user whose key that is, and as whom these browsers may sign in
	Until time.Time // what is older was made up; zero: nothing was
}

// demo is what a gateway is a demo of, nil for others.
func (d *Deps) demo() *Demo {
	if d.Demo == nil {
		return nil
	}
	return d.Demo()
}

// setupWindow is how far back the page of the first steps looks for a call.
const setupWindow = 30 * 24 * time.Hour

// Setup is the first steps: of the gateway, and of the person who is signed in.
type Setup struct {
	Demo    bool        `json:"demo"`     // a simulator answers and money is play money; the month that a demo begins with is not looked at here
	BaseURL string      `json:"base_url"` // the address of this gateway, without a path
	Key     *string     `json:"key"`      // the demo's API key, shown only in a browser on its own machine
	Steps   []SetupStep `json:"steps"`
}

// SetupStep is one of the first steps.
type SetupStep struct {
	// administrator: somebody can administer the gateway; provider: a provider can be called; key: the person has an API key; call: their first call was
	// answered; top_up: their wallet has money. Visitors are shown the first two, and those on the machine of a demo the steps of its owner.
	ID     string      `json:"id"`
	Done   bool        `json:"done"`
	Detail SetupDetail `json:"detail"`
}

// SetupDetail is what the page shows beside the step.
type SetupDetail struct {
	Providers  []string    `json:"providers,omitzero"`  // names of providers that can be called
	Generation string      `json:"generation,omitzero"` // id of the latest call
	Model      string      `json:"model,omitzero"`
	Provider   string      `json:"provider,omitzero"`
	Attempts   *int        `json:"attempts,omitzero"`
	Cost       *money.Nano `json:"cost,omitzero"` // rubles
}

func setup(d Deps) operation.Operation {
	return operation.Of(operation.Operation{
		Method: "GET", Path: "/api/setup", ID: "getSetup", Access: operation.Visiting, Tag: "sign-in",
		Summary: "The first steps of setting up: those of the gateway until it has an administrator, and those of the person who is signed in", Answer: "The steps, in their order",
	}, func(ctx context.Context, c *operation.Call, _ *operation.None) (s Setup, err error) {
		f, err := d.People.Features(ctx)
		if err != nil {
			return s, err
		}
		s.Demo, s.BaseURL = f.Demo, c.Base()
		demo, person := d.demo(), ""
		if c.Person != nil {
			person = c.Person.ID
		}
		if demo != nil && f.Demo && c.Browser.Local() {
			s.Key, person = OrNull(demo.Key), cmp.Or(person, demo.Owner) // whose key it is, their call it will be
		}
		providers := providerNames(d.Catalog())
		s.Steps = []SetupStep{{ID: "administrator", Done: !f.Setup}, {ID: "provider", Done: len(providers) > 0, Detail: SetupDetail{Providers: providers}}}
		if person != "" {
			own, err := ownSteps(ctx, d, c.At, person)
			if err != nil {
				return s, err
			}
			s.Steps = append(s.Steps, own...)
		}
		c.NoStore()
		return s, nil
	})
}

// ownSteps are the steps of a person: a key, a call, money.
func ownSteps(ctx context.Context, d Deps, now time.Time, person string) ([]SetupStep, error) {
	user, err := d.Accounts.ByID(ctx, person)
	if err != nil {
		return nil, err
	}
	calling, err := hasKey(ctx, d, user.ID)
	if err != nil {
		return nil, err
	}
	since := now.Add(-setupWindow)
	if demo := d.demo(); demo != nil && demo.Until.After(since) {
		since = demo.Until
	}
	page, err := d.Reports.Calls(ctx, report.Search{Wallet: user.Wallet, From: since, To: now.Add(time.Hour), Limit: 1})
	if err != nil {
		return nil, err
	}
	balance, err := d.Books.Balance(ctx, user.Wallet)
	call := SetupStep{ID: "call", Done: len(page.Calls) > 0}
	if call.Done {
		last := &page.Calls[0]
		call.Detail = SetupDetail{Generation: last.Generation, Model: last.Model, Provider: last.ProviderName, Attempts: new(len(last.Attempts)), Cost: &last.Cost}
	}
	return []SetupStep{
		{ID: "key", Done: calling}, call,
		{ID: "top_up", Done: balance.Balance-balance.Held > 0},
	}, err
}

// hasKey reports whether a user has a key that calls models, however many others are newer.
func hasKey(ctx context.Context, d Deps, user string) (bool, error) {
	for f := (apikey.Filter{User: user, Count: 100}); ; f.Offset += f.Count {
		keys, err := d.Keys.List(ctx, f)
		if err != nil || slices.ContainsFunc(keys, func(k apikey.Key) bool { return !k.Management && k.Name != "web" }) {
			return err == nil, err
		}
		if len(keys) < f.Count {
			return false, nil
		}
	}
}

// providerNames are the names of the providers that can be called, each once.
func providerNames(s *catalog.Snapshot) []string {
	names := []string{}
	for _, m := range s.Models() {
		for _, e := range m.Endpoints {
			if !slices.Contains(names, e.Provider.Name) {
				names = append(names, e.Provider.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}
