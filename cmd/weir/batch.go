package main

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"weir/internal/audit"
	"weir/internal/batch"
	"weir/internal/fault"
)

type batchCmd struct {
	List   batchListCmd   `cmd:"" help:"List the batches that have not ended, the newest first."`
	Cancel batchCancelCmd `cmd:"" help:"Cancel one: no more of its requests are made, and its user finds what was done."`
}

// mostBatches is how many are listed.
const mostBatches = 1000

type batchListCmd struct{ location }

func (c *batchListCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	all, err := o.Store.Jobs.Batches(ctx, batch.Query{Active: true, Limit: mostBatches})
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Println("No batch is running.")
		return nil
	}
	return table("ID\tUSER\tSTATE\tPAUSED BY\tREQUESTS\tDONE\tFAILED\tRUBLES\tEXPIRES", func(w *tabwriter.Writer) {
		for i := range all {
			b := &all[i]
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", b.ID, b.User, b.State, cmp.Or(b.Paused, "-"), b.Total, b.Succeeded, b.Failed, b.Cost, b.ExpiresAt.Format(time.DateTime))
		}
	})
}

type batchCancelCmd struct {
	location
	ID     string `arg:"" help:"Id of the batch, from weir batch list."`
	Reason string `help:"Reason that the batch shows to its user, and the audit log to operators." default:"The operator has cancelled the batch." placeholder:"TEXT"`
}

func (c *batchCancelCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	find := func() (*batch.Batch, error) {
		all, err := o.Store.Jobs.Batches(ctx, batch.Query{Active: true, Limit: mostBatches})
		for i := range all {
			if all[i].ID == c.ID {
				return &all[i], nil
			}
		}
		return nil, err
	}
	b, err := find()
	if err == nil && b == nil {
		err = fault.Newf(fault.NotFound, "weir.batch", "No batch %s is running. See weir batch list.", c.ID)
	}
	if err == nil {
		err = o.Store.Jobs.CancelBatch(ctx, c.ID, time.Now(), []batch.Problem{{Code: "cancelled_by_operator", Message: c.Reason}},
			&audit.Event{Actor: operator, Action: audit.BatchCancelled, Target: b.ID, Before: string(b.State), After: c.Reason})
	}
	if err != nil {
		return err
	}
	if b, err = find(); err != nil {
		return err
	}
	if b != nil && b.State != batch.Cancelling {
		return fault.Newf(fault.Conflict, "weir.batch", "The batch is %s and cannot be cancelled any more.", b.State)
	}
	fmt.Printf("Cancelled %s.\n", c.ID)
	return nil
}
