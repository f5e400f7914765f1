package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"weir/internal/ledger"
)

type ledgerAsideCmd struct {
	List    asideListCmd    `cmd:"" default:"withargs" help:"List the charges that could not be posted, and why."`
	Retry   asideRetryCmd   `cmd:"" help:"Post one now."`
	Dismiss asideDismissCmd `cmd:"" help:"Dismiss one: it is never charged."`
}

type asideListCmd struct{ location }

func (c *asideListCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	all, err := o.Store.Ledger.Asides(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Println("Nothing is set aside.")
		return nil
	}
	return table("NUMBER\tAT\tGENERATION\tWALLET\tRUBLES\tREASON", func(w *tabwriter.Writer) {
		for i := range all {
			a := &all[i]
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", a.ID, a.At.Format(time.DateTime), cmp.Or(a.Generation, "-"), cmp.Or(a.Wallet, "-"), a.Cost, a.Reason)
		}
	})
}

type asideRetryCmd struct {
	location
	Number int64 `arg:"" help:"Number of the record, from weir ledger aside list."`
}

func (c *asideRetryCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := o.Store.Ledger.PostAside(ctx, c.Number, operator, time.Now()); err != nil {
		return err
	}
	fmt.Printf("Posted %d.\n", c.Number)
	return nil
}

type asideDismissCmd struct {
	location
	Number int64  `arg:"" help:"Number of the record, from weir ledger aside list."`
	Reason string `help:"Why, for the audit log." required:"" placeholder:"TEXT"`
}

func (c *asideDismissCmd) Run(ctx context.Context) error {
	if c.Reason == "" || len(c.Reason) > ledger.MaxReason {
		return errors.New("--reason must say why, in at most 1000 bytes")
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := o.Store.Ledger.DismissAside(ctx, c.Number, c.Reason, operator, time.Now()); err != nil {
		return err
	}
	fmt.Printf("Dismissed %d: it is not charged.\n", c.Number)
	return nil
}
