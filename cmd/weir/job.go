package main

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"weir/internal/console"
)

type jobCmd struct {
	List  jobListCmd  `cmd:"" help:"List videos, batches, webhooks and notices that have not ended, the oldest first."`
	Retry jobRetryCmd `cmd:"" help:"Have one tried at once."`
	End   jobEndCmd   `cmd:"" help:"End one: the money of a video goes back, a batch makes no more requests, a webhook or a notice is given up."`
}

type jobListCmd struct {
	location
	Kind  string `arg:"" enum:"videos,batches,webhooks,notices" help:"videos, batches, webhooks or notices."`
	Stuck bool   `help:"Only those that do not come to their end by themselves, as it seems."`
	Limit int    `help:"How many at most (${default})." default:"100"`
}

func (c *jobListCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	s := console.JobSearch{Kind: console.JobKind(c.Kind), State: console.OpenJobs, Limit: c.Limit}
	if c.Stuck {
		s.State = console.StuckJobs
	}
	all, err := o.Jobs().List(ctx, s)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Println("Nothing is under way.")
		return nil
	}
	return table("ID\tUSER\tWHAT\tSTATE\tSTUCK\tTRIES\tSINCE\tON HOLD\tWORDS", func(w *tabwriter.Writer) {
		for i := range all {
			j := &all[i]
			stuck := "-"
			if j.Stuck {
				stuck = "stuck"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", j.ID, j.Account, j.What, j.State, stuck, j.Tries, j.Since.Format(time.DateTime), j.Held, printable(cmp.Or(j.Words, "-")))
		}
	})
}

type jobRetryCmd struct {
	location
	Kind  string `arg:"" enum:"videos,batches,webhooks,notices" help:"videos, batches, webhooks or notices."`
	ID    string `arg:"" help:"Id of the job, from weir job list."`
	Actor string `help:"Your name, for the audit log." placeholder:"NAME"`
}

func (c *jobRetryCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := o.Jobs().Retry(ctx, console.JobKind(c.Kind), c.ID, by); err != nil {
		return err
	}
	fmt.Printf("%s is tried within seconds.\n", c.ID)
	return nil
}

type jobEndCmd struct {
	location
	Kind   string `arg:"" enum:"videos,batches,webhooks,notices" help:"videos, batches, webhooks or notices."`
	ID     string `arg:"" help:"Id of the job, from weir job list."`
	Reason string `help:"Why, for its owner and the audit log." required:"" placeholder:"TEXT"`
	Actor  string `help:"Your name, for the audit log." placeholder:"NAME"`
}

func (c *jobEndCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := o.Jobs().End(ctx, console.JobKind(c.Kind), c.ID, c.Reason, by); err != nil {
		return err
	}
	fmt.Printf("Ended %s.\n", c.ID)
	return nil
}
