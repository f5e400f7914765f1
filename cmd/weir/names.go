package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"weir/internal/app"
	"weir/internal/catalog/edit"
)

type aliasCmd struct {
	List   aliasListCmd   `cmd:"" help:"List other names of models."`
	Set    aliasSetCmd    `cmd:"" help:"Have a model answer to another name, too."`
	Remove aliasRemoveCmd `cmd:"" help:"Remove another name of a model."`
}

type aliasListCmd struct{ location }

func (c *aliasListCmd) Run(ctx context.Context) error {
	b, err := c.built(ctx)
	if err != nil {
		return err
	}
	return table("NAME\tMODEL\tSTATE\tVERSION", func(w *tabwriter.Writer) {
		for i := range b.Beside {
			if r := &b.Beside[i]; r.Kind == edit.Alias {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", r.ID, r.Spec["model"], state(b.Answers(r)), r.Version)
			}
		}
	})
}

type aliasSetCmd struct {
	location
	Name  string `arg:"" help:"The other name, such as vendor/old-name."`
	Model string `arg:"" help:"Id of the model that answers, vendor/model."`
}

func (c *aliasSetCmd) Run(ctx context.Context) error {
	return c.put(ctx, edit.Alias, c.Name, edit.Spec{"model": c.Model})
}

type aliasRemoveCmd struct {
	location
	Name string `arg:"" help:"The other name."`
}

func (c *aliasRemoveCmd) Run(ctx context.Context) error {
	return c.change(ctx, edit.Change{Kind: edit.Alias, ID: c.Name, Remove: true}, "Removed")
}

// put makes a row what set says, and prints what was done.
func (p *location) put(ctx context.Context, k edit.Kind, id string, set edit.Spec) error {
	return p.editing(ctx, func(_ *app.Admin, e *edit.Editor) error {
		_, done, err := e.Put(ctx, edit.Put{Kind: k, ID: id, Set: set}, operator)
		if err != nil {
			return err
		}
		fmt.Printf("The %s %s is %s; %s\n", k, id, done, soon)
		return nil
	})
}

type orderCmd struct {
	List   orderListCmd   `cmd:"" help:"List the endpoints of models that have an order."`
	Set    orderSetCmd    `cmd:"" help:"Say which endpoints of a model are tried first, for everybody who does not say otherwise."`
	Remove orderRemoveCmd `cmd:"" help:"Have prices decide again who serves a model first."`
}

type orderListCmd struct{ location }

func (c *orderListCmd) Run(ctx context.Context) error {
	b, err := c.built(ctx)
	if err != nil {
		return err
	}
	shown := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return strconv.FormatInt(n, 10)
	}
	return table("MODEL\tPLACE\tWEIGHT\tENDPOINT\tSTATE", func(w *tabwriter.Writer) {
		for i := range b.Beside {
			r := &b.Beside[i]
			if r.Kind != edit.Order {
				continue
			}
			for _, v := range b.Ordered(r.ID) {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.ID, shown(v.Place), shown(v.Weight), v.ID, state(v.On))
			}
		}
	})
}

type orderSetCmd struct {
	location
	Model     string   `arg:"" help:"Id of the model, vendor/model."`
	Endpoints []string `arg:"" help:"ENDPOINT=PLACE, or ENDPOINT=PLACE:WEIGHT: lower places come first, and weights share the first attempts within a place. Place 0 is after all others."`
}

func (c *orderSetCmd) Run(ctx context.Context) error {
	var list []edit.Preference
	for _, arg := range c.Endpoints {
		p, err := preference(arg)
		if err != nil {
			return err
		}
		list = append(list, p)
	}
	return c.put(ctx, edit.Order, c.Model, edit.OrderSpec(list))
}

// preference reads ENDPOINT=PLACE[:WEIGHT].
func preference(arg string) (p edit.Preference, err error) {
	id, rest, ok := strings.Cut(arg, "=")
	place, weight, weighted := strings.Cut(rest, ":")
	p.Endpoint = id
	if p.Place, err = strconv.ParseInt(place, 10, 32); err == nil && weighted {
		p.Weight, err = strconv.ParseInt(weight, 10, 32)
	}
	if !ok || err != nil || p.Place < 0 || p.Weight < 0 {
		return p, fmt.Errorf("%q is no place of an endpoint: write ENDPOINT=PLACE or ENDPOINT=PLACE:WEIGHT, such as hut/acme/tiny=1:3", arg)
	}
	return p, nil
}

type orderRemoveCmd struct {
	location
	Model string `arg:"" help:"Id of the model, vendor/model."`
}

func (c *orderRemoveCmd) Run(ctx context.Context) error {
	return c.change(ctx, edit.Change{Kind: edit.Order, ID: c.Model, Remove: true}, "Removed")
}
