package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"weir/internal/fault"
	"weir/internal/payment"
)

type paymentsCmd struct {
	List   paymentsListCmd   `cmd:"" help:"List payments, the newest first."`
	Check  paymentsCheckCmd  `cmd:"" help:"Compare the payments with the provider's list, and bring them to what it says."`
	Refund paymentsRefundCmd `cmd:"" help:"Give money of a payment back to the payer, and take it from the wallet."`
}

type paymentsListCmd struct {
	location
	User  string `help:"Name or id of a user; without it, of all." placeholder:"USER"`
	Open  bool   `help:"Only those that have not ended, or have a problem."`
	Count int    `help:"How many of the newest (${default})." default:"50"`
}

func (c *paymentsListCmd) Run(ctx context.Context) error {
	if c.Count < 1 || c.Count > 10_000 {
		return errors.New("--count must be from 1 to 10000")
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	q := payment.Query{Open: c.Open, Limit: c.Count}
	if c.User != "" {
		u, err := o.UserNamed(ctx, c.User)
		if err != nil {
			return err
		}
		q.Account = u.ID
	}
	all, err := o.Payments(ctx, q)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Println("There are no payments.")
		return nil
	}
	return table("CREATED\tID\tUSER\tSTATE\tASKED\tPAID\tREFUNDED\tPROVIDER'S ID\tNOTE", func(w *tabwriter.Writer) {
		for i := range all {
			p := &all[i]
			note := cmp.Or(p.Problem, p.Reason, "-")
			if p.Auto {
				note = "automatic; " + note
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.CreatedAt.Format(time.DateTime), p.ID, p.Account, p.State, p.Amount, p.Paid, p.Refunded, cmp.Or(p.ProviderID, "-"), note)
		}
	})
}

type paymentsCheckCmd struct {
	location
	Days int `help:"How many days back (${default})." default:"30"`
}

func (c *paymentsCheckCmd) Run(ctx context.Context) error {
	if c.Days < 1 || c.Days > 1100 {
		return errors.New("--days must be from 1 to 1100")
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	found, seen, paid, refunded, err := o.ComparePayments(ctx, time.Now().AddDate(0, 0, -c.Days))
	if err != nil {
		return err
	}
	left := 0
	for _, f := range found {
		how := "mended"
		if !f.Mended {
			how = "needs you"
			left++
		}
		fmt.Printf("%s (%s), %s: %s\n", f.Payment, f.ProviderID, how, f.What)
	}
	fmt.Printf("The provider has %d payments of the last %d days; %s rubles were paid, and %s refunded.\n", seen, c.Days, paid, refunded)
	if left > 0 {
		return fault.Newf(fault.Conflict, "weir.payments", "%d differences need you; see docs/payments.md.", left)
	}
	return nil
}

type paymentsRefundCmd struct {
	location
	Payment string `arg:"" help:"Id of the payment (pay_...)."`
	Amount  string `arg:"" optional:"" help:"Rubles. Without it, all that is left."`
	why
	BelowZero bool `help:"Take more than is available: the user then owes money."`
}

func (c *paymentsRefundCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	g := payment.Give{Payment: c.Payment, ID: c.Reference, Reason: c.Reason, BelowZero: c.BelowZero}
	if g.Amount, err = refundAmount(c.Amount); err != nil {
		return err
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	f, err := o.RefundPayment(ctx, g, by)
	if err != nil {
		return err
	}
	switch f.State {
	case payment.Succeeded:
		fmt.Printf("Refunded %s rubles of %s as %s.\n", f.Amount, f.Payment, f.ID)
	case payment.Canceled:
		return fault.Newf(fault.Unprocessable, "weir.payments", "The provider refuses the refund: %s. The money is in the wallet.", f.Failure)
	default:
		fmt.Printf("The refund of %s rubles of %s was noted as %s, and the provider has not decided yet. A running gateway follows it; see: %s\n", f.Amount, f.Payment, f.ID, c.hint("weir payments check"))
	}
	return nil
}
