package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/internal/app"
	"weir/internal/config"
	"weir/internal/export"
)

type exportCmd struct {
	location
	From string `help:"First day, of UTC; a week ago by default, so that days that were not whole yet are completed." placeholder:"2026-11-01"`
	To   string `help:"Last day; yesterday by default." placeholder:"2026-11-30"`
	Into string `help:"Folder for the files; overrides export of the configuration." placeholder:"DIR"`
}

// completed is how many days an export without --from looks at again.
const completed = 7

func (c *exportCmd) Run(ctx context.Context) error {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	first, last := today.AddDate(0, 0, -completed), today.AddDate(0, 0, -1)
	for _, x := range []struct {
		flag, text string
		to         *time.Time
	}{{"--from", c.From, &first}, {"--to", c.To, &last}} {
		if x.text == "" {
			continue
		}
		var err error
		if *x.to, err = time.Parse(time.DateOnly, x.text); err != nil {
			return fmt.Errorf("%s: %q is no day; write one like 2026-11-01", x.flag, x.text)
		}
	}
	switch {
	case !last.Before(today):
		return errors.New("--to: a day is exported when it is over, so yesterday is the last")
	case first.After(last):
		return errors.New("--from: it is after the last day")
	}
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	if c.Into != "" {
		cfg.Export = config.Export{Keep: config.KeepFolder, Folder: c.Into}
	}
	o, err := openAdmin(ctx, cfg, false)
	if err != nil {
		return err
	}
	o.Close()
	return app.ExportCalls(ctx, cfg, first, last, app.Version, func(d export.Day, outcome export.Outcome) error {
		switch outcome {
		case export.Written:
			fmt.Printf("%s  %d calls of %d accounts, %s rubles, %d bytes\n", d.Day, d.Calls, d.Accounts, d.Cost, d.Bytes)
		case export.Unchanged:
			fmt.Printf("%s  is there already\n", d.Day)
		case export.Dropped:
			fmt.Printf("%s  its calls were dropped (store.retention)\n", d.Day)
		}
		return nil
	})
}
