package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"weir/internal/app"
	"weir/internal/catalog/edit"
)

type settingCmd struct {
	List  settingListCmd  `cmd:"" help:"List settings that differ from the configuration for a while."`
	Set   settingSetCmd   `cmd:"" help:"Give a setting another value for a while, on all nodes."`
	Reset settingResetCmd `cmd:"" help:"Have the configuration hold again."`
}

type settingListCmd struct{ location }

func (c *settingListCmd) Run(ctx context.Context) error {
	b, err := c.built(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	return table("SETTING\tVALUE\tUNTIL\tBY", func(w *tabwriter.Writer) {
		for i := range b.Beside {
			if t := b.Temporary(b.Beside[i].ID, now); b.Beside[i].Kind == edit.Setting && t != nil {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Key, t.Value, t.Until.Format(time.RFC3339), t.By)
			}
		}
	})
}

type settingSetCmd struct {
	location
	Key   string        `arg:"" help:"The setting: log.level."`
	Value string        `arg:"" help:"Its value: debug, info, warn or error."`
	For   time.Duration `help:"After this time the configuration holds again (${default}); a day at most." default:"1h" placeholder:"DURATION"`
}

func (c *settingSetCmd) Run(ctx context.Context) error {
	return c.editing(ctx, func(_ *app.Admin, e *edit.Editor) error {
		b, err := e.SetFor(ctx, c.Key, c.Value, c.For, operator)
		if err != nil {
			return err
		}
		if t := b.Temporary(c.Key, time.Now()); t != nil {
			fmt.Printf("%s is %s until %s; %s\n", t.Key, t.Value, t.Until.Format(time.RFC3339), soon)
		}
		return nil
	})
}

type settingResetCmd struct {
	location
	Key string `arg:"" help:"The setting."`
}

func (c *settingResetCmd) Run(ctx context.Context) error {
	return c.editing(ctx, func(_ *app.Admin, e *edit.Editor) error {
		if _, err := e.Reset(ctx, c.Key, operator); err != nil {
			return err
		}
		fmt.Printf("For %s the configuration holds again; %s\n", c.Key, soon)
		return nil
	})
}
