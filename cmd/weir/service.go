package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/app"
	"weir/internal/catalog/edit"
)

type serviceCmd struct {
	List   serviceListCmd   `cmd:"" help:"List what is out of service, since when and until when."`
	Drain  serviceTakeCmd   `cmd:"" help:"Send no new calls; calls under way may still try it."`
	Eject  serviceTakeCmd   `cmd:"" help:"Send nothing, not even another attempt of a call under way; what is running may end."`
	Return serviceReturnCmd `cmd:"" help:"Bring back what was taken out of service."`
}

type serviceListCmd struct{ location }

func (c *serviceListCmd) Run(ctx context.Context) error {
	b, err := c.built(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	return table("TARGET\tMODE\tSINCE\tUNTIL\tBY\tREASON", func(w *tabwriter.Writer) {
		for i := range b.Out {
			if o := &b.Out[i]; !o.Over(now) {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", o.Target, o.Mode, o.Since.Format(time.RFC3339), untilText(o.Until), o.By, o.Reason)
			}
		}
	})
}

func untilText(t time.Time) string {
	if t.IsZero() {
		return "it is returned"
	}
	return t.Format(time.RFC3339)
}

// outTarget is what goes out of service, as a person writes it.
type outTarget struct {
	Target string `arg:"" help:"provider:NAME, endpoint:ID or model:PROVIDER/VENDOR/MODEL. Without a prefix: a provider or, with slashes, an endpoint."`
}

func (t outTarget) full() string {
	switch {
	case strings.Contains(t.Target, ":"):
		return t.Target
	case strings.Contains(t.Target, "/"):
		return edit.TargetOfEndpoint(t.Target)
	}
	return edit.TargetOfProvider(t.Target)
}

type serviceTakeCmd struct {
	location
	outTarget
	For    time.Duration `help:"After this time it comes back by itself, such as 1h; without it, when it is returned." placeholder:"DURATION"`
	Reason string        `help:"Why, in a few words, for others who look."`
}

func (c *serviceTakeCmd) Run(ctx context.Context, verb verb) error {
	if c.For < 0 || c.For > 0 && c.For < time.Second {
		return fmt.Errorf("--for %s is too short: it must be at least a second", c.For)
	}
	return c.editing(ctx, func(_ *app.Admin, e *edit.Editor) error {
		b, err := e.TakeOut(ctx, c.full(), edit.Mode(verb), c.For, c.Reason, operator)
		if err != nil {
			return err
		}
		if out := b.OutTarget(c.full(), time.Now()); out != nil {
			done := map[edit.Mode]string{edit.Drain: "Drained", edit.Eject: "Ejected"}[out.Mode]
			fmt.Printf("%s %s until %s; %s\n", done, out.Target, untilText(out.Until), soon)
		}
		return nil
	})
}

type serviceReturnCmd struct {
	location
	outTarget
}

func (c *serviceReturnCmd) Run(ctx context.Context) error {
	return c.editing(ctx, func(_ *app.Admin, e *edit.Editor) error {
		if _, err := e.Return(ctx, c.full(), operator); err != nil {
			return err
		}
		fmt.Printf("Returned %s; %s\n", c.full(), soon)
		return nil
	})
}
