package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/app"
	"weir/internal/catalog/edit"
)

type providerKeysCmd struct {
	location
	ID string `arg:"" help:"Id of the provider."`
}

func (c *providerKeysCmd) Run(ctx context.Context) error {
	o, e, err := c.editor(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	v, err := providerOf(ctx, e, c.ID)
	if err != nil {
		return err
	}
	uses, err := o.KeyUses(ctx, c.ID)
	if err != nil {
		return err
	}
	return table("ID\tKEY\tTAG\tSTATE\tADDED\tBY\tCALLS 1H\tFAILED\t429\tNOTE", func(w *tabwriter.Writer) {
		for _, k := range keysOf(v) {
			u := uses[v.KeyTags[k.ID]]
			fmt.Fprintf(w, "%s\t...%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", k.ID, k.Last4, cmp.Or(v.KeyTags[k.ID], "-"), k.State, k.At.UTC().Format(time.DateOnly), k.By, u.Calls, u.Failed, u.Limited, k.Note)
		}
	})
}

// providerOf finds a provider of the catalog.
func providerOf(ctx context.Context, e *edit.Editor, id string) (*edit.ProviderView, error) {
	b, err := e.Built(ctx)
	if err != nil {
		return nil, err
	}
	if v := b.Provider(id); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("there is no provider %q; see: weir catalog provider list", id)
}

func keysOf(v *edit.ProviderView) []edit.Key {
	if v.Row == nil {
		return nil
	}
	return v.Row.Keys
}

type providerAddKeyCmd struct {
	location
	secretFrom
	ID   string `arg:"" help:"Id of the provider."`
	Note string `help:"What you want to know of the key." placeholder:"TEXT"`
}

func (c *providerAddKeyCmd) Run(ctx context.Context) error {
	key, err := c.read()
	if err == nil && key == nil {
		err = errors.New("give --api-key-file FILE, or - for standard input")
	}
	if err != nil {
		return err
	}
	o, e, err := c.editor(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	_, id, err := e.AddKey(ctx, edit.NewKey{Provider: c.ID, Key: *key, Note: c.Note}, operator)
	if err != nil {
		return err
	}
	fmt.Printf("Added the key %s of %s; %s\nTry it with: weir provider test %s\n", id, c.ID, soon, c.ID)
	return nil
}

type providerMoveKeyCmd struct {
	location
	ID   string `arg:"" help:"Id of the provider."`
	Key  string `arg:"" help:"Id of the key, or its last four characters."`
	Sure bool   `help:"Even if no key is left for new calls."`
}

func (c *providerMoveKeyCmd) Run(ctx context.Context, verb verb) error {
	o, e, err := c.editor(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	v, err := providerOf(ctx, e, c.ID)
	if err != nil {
		return err
	}
	k, err := c.named(v)
	if err != nil {
		return err
	}
	if verb == "forget-key" {
		_, err := e.ForgetKey(ctx, c.ID, k.ID, operator)
		if err == nil {
			fmt.Printf("Deleted the key ...%s of %s. Revoke it at the provider, too.\n", k.Last4, c.ID)
		}
		return err
	}
	return c.move(ctx, o, e, v, k, verb)
}

func (c *providerMoveKeyCmd) move(ctx context.Context, o *app.Admin, e *edit.Editor, v *edit.ProviderView, k *edit.Key, verb verb) error {
	uses, err := o.KeyUses(ctx, c.ID)
	if err != nil {
		return err
	}
	to := map[string]edit.KeyState{"drain-key": edit.KeyDraining, "remove-key": edit.KeyOff, "return-key": edit.KeyInUse}[string(verb)]
	if _, err := e.MoveKey(ctx, edit.KeyMove{Provider: c.ID, ID: k.ID, To: to, Sure: c.Sure}, operator); err != nil {
		return err
	}
	fmt.Printf("The key ...%s of %s is %s; %s\n", k.Last4, c.ID, strings.ReplaceAll(string(to), "_", " "), soon)
	if u := uses[v.KeyTags[k.ID]]; to != edit.KeyInUse {
		fmt.Printf("Calls over it within the last hour: %d. Under way: %d; they end as usual.\n", u.Calls, u.Running)
	}
	return nil
}

// named finds the key that an argument names.
func (c *providerMoveKeyCmd) named(v *edit.ProviderView) (*edit.Key, error) {
	var found []edit.Key
	for _, k := range keysOf(v) {
		if k.ID == c.Key {
			return &k, nil
		}
		if k.Last4 != "" && k.Last4 == c.Key {
			found = append(found, k)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d keys of %s are called %q; see: weir catalog provider keys %s", len(found), c.ID, c.Key, c.ID)
	}
	return &found[0], nil
}
