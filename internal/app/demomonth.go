package app

import (
	"context"
	"os"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/demo"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/store"
)

// demoSeed is what the demo's month is made from: each first start makes the same one, up to its days.
const demoSeed = 1

// demoPeople are the accounts of a demo: those of the month when it is new and not to be empty, else its owner. It returns the owner.
func (g *Gateway) demoPeople(ctx context.Context, o *DemoOptions, keep money.Nano) (account.User, error) {
	users := account.NewManager(g.store.Accounts, nil, g.clock)
	list, err := users.List(ctx)
	if err != nil {
		return account.User{}, err
	}
	if len(list) > 0 || o.Empty {
		for _, u := range list {
			if u.Name == demo.Owner {
				return u, nil
			}
		}
		return users.CreateAs(ctx, demo.Owner, apikey.Administrator, demo.Actor)
	}
	now := g.clock()
	if err := g.store.SetMark(ctx, store.MarkMonth, now.UTC().Format(time.RFC3339)); err != nil { // first: what a process leaves that dies here was made up, too
		return account.User{}, err
	}
	made, err := demo.Fill(ctx, g.monthStores(), demo.Month{Seed: demoSeed, Now: now, Catalog: g.catalog.Load(), Keep: keep})
	if err != nil {
		return account.User{}, err
	}
	// The rate of the gateway is the one in the prices of its vendors, so that the page of prices says what they were made with.
	return made.Owner, g.editor.SetRate(ctx, rate.Record{Source: rate.Manual, RubPerUSD: demoRate, Margin: demoMargin}, demo.Actor)
}

// monthStores are what the month is written into.
func (g *Gateway) monthStores() demo.Into {
	s := g.store
	return demo.Into{Accounts: s.Accounts, Keys: s.Accounts, Ledger: s.Ledger, Payments: s.Payments, Videos: s.Jobs, Batches: s.Jobs, Contents: g.batches.Contents, Hours: s.Nodes}
}

// monthOf is until when the data of a ledger was made up, zero when it was not.
func monthOf(ctx context.Context, s *store.Store) (time.Time, error) {
	mark, err := s.Mark(ctx, store.MarkMonth)
	if err != nil || mark == "" {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, mark)
}

// madeUp reports whether some of what this node shows was made up.
func (g *Gateway) madeUp() bool {
	demo := g.demo.Load()
	return demo != nil && !demo.Until.IsZero()
}

// demoKeyFile has the texts of the demo's keys, which a store does not have, so that a demo that starts again has those that it printed.
const demoKeyFile = "demo.keys"

// demoKeys are the API key and the management key of the demo's owner: those of an earlier start as long as they work, else new ones.
func (g *Gateway) demoKeys(ctx context.Context, user, path string) (key, management string, err error) {
	keys := apikey.NewManager(g.store.Accounts, nil, g.clock, 0)
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return "", "", err
	}
	kept := append(strings.Fields(string(text)), "", "")
	texts := [2]string{kept[0], kept[1]}
	for i, n := range [...]apikey.NewKey{{Name: "demo"}, {Name: "demo management", Management: true}} {
		works, err := workingKey(ctx, keys, user, texts[i], n.Management, g.clock())
		if err != nil {
			return "", "", err
		}
		if works {
			continue
		}
		n.User, n.Creator = user, user
		if _, texts[i], err = keys.Create(ctx, n, demo.Actor); err != nil {
			return "", "", err
		}
	}
	if texts == [2]string{kept[0], kept[1]} {
		return texts[0], texts[1], nil
	}
	return texts[0], texts[1], writePrivately(path, texts[0]+"\n"+texts[1]+"\n")
}

// workingKey reports whether a text is that of a key of the user which opens the door.
func workingKey(ctx context.Context, keys *apikey.Manager, user, text string, management bool, now time.Time) (bool, error) {
	if is, ok := apikey.Check(text); !ok || is != management {
		return false, nil
	}
	found, err := keys.Whose(ctx, text)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && found.User == user && found.Hash == apikey.Hash(text) && found.State(now) == apikey.Active, err
}

// writePrivately replaces a file that its owner alone may read, whole or not at all.
func writePrivately(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
