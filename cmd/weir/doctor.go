package main

import (
	"context"
	"errors"
	"fmt"

	"weir/internal/app"
	"weir/internal/rawjson"
)

type doctorCmd struct {
	place
	Keys  bool `help:"Also call each provider with each of its keys, which it bills."`
	Books bool `help:"Also recompute the ledger, which reads all of it."`
	JSON  bool `name:"json" help:"Print a JSON object for each finding."`
}

// errIll ends the command with exit code 1. The output already has the findings.
var errIll = errors.New("something does not work: see the errors above")

func (c *doctorCmd) Run(ctx context.Context) error {
	cfg, err := c.load("")
	if err != nil {
		return fmt.Errorf("the configuration cannot be used: %w", err)
	}
	ill := false
	app.Doctor{Version: app.Version, Path: c.Config, Books: c.Books, Keys: c.Keys}.Examine(ctx, cfg, func(f app.Finding) {
		ill = ill || f.Is == app.Bad
		f.What, f.Do = c.hint(f.What), c.hint(f.Do)
		if c.JSON {
			fmt.Println(string(findingJSON(&f)))
			return
		}
		fmt.Printf("%-8s %-16s %s\n", f.Is, f.Part, f.What)
		if f.Do != "" {
			fmt.Printf("%-8s %-16s -> %s\n", "", "", f.Do)
		}
	})
	if ill {
		return errIll
	}
	return nil
}

func findingJSON(f *app.Finding) []byte {
	var w rawjson.Writer
	w.Object()
	w.Name("part").Text(f.Part)
	w.Name("state").Text(string(f.Is))
	w.Name("what").Text(f.What)
	if w.Name("do"); f.Do == "" {
		w.Null()
	} else {
		w.Text(f.Do)
	}
	w.EndObject()
	return w.B
}
