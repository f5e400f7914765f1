package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/money"
)

// why are the flags of every correction.
type why struct {
	Reason    string `help:"The reason; the user can read it." required:"" placeholder:"TEXT"`
	Reference string `help:"Id of the case, ticket or letter; each id moves money once." required:"" placeholder:"ID"`
	Actor     string `help:"Your name, for the audit log." placeholder:"NAME"`
}

// actor returns who is to be in the audit log, by the name that --actor has; "" is the operator without a name.
func actor(name string) (audit.Actor, error) {
	if name == "" {
		return operator, nil
	}
	if len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return audit.Actor{}, errors.New("--actor must be a name of at most 100 bytes")
	}
	return audit.Actor{Name: operator.Name + ":" + name}, nil
}

type ledgerAdjustCmd struct {
	location
	User   string `arg:"" help:"Name or id of the user, or id of the wallet."`
	Amount string `arg:"" help:"Rubles to add. To take some, end the flags with two dashes: weir ledger adjust --reason ... --reference ... -- anna -120.50"`
	why
	BelowZero bool `help:"Take more than is available. Running calls keep what they hold."`
}

func (c *ledgerAdjustCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	amount, err := rubles("the amount", c.Amount)
	if err != nil {
		return err
	}
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		done, err := ledger.Adjust(ctx, o.Store.Ledger, ledger.Adjustment{Wallet: u.Wallet, ID: c.Reference, Amount: amount, Reason: c.Reason, BelowZero: c.BelowZero, Actor: by}, time.Now())
		if err != nil {
			return err
		}
		b, err := o.Store.Ledger.Balance(ctx, u.Wallet)
		if err != nil {
			return err
		}
		reported(&done)
		fmt.Printf("Adjusted %s by %s rubles.\nBalance of %s: %s rubles\n", u.Name, done.Amount, u.Name, b.Balance)
		return nil
	})
}

// reported prints, for a reference that was posted before, that nothing changed.
func reported(p *ledger.Posted) {
	if p.Repeated {
		fmt.Printf("Reference %s was posted before, %s by %s; nothing changed.\n", p.Reference(), p.At.Format(time.DateTime), p.Actor)
	}
}

// refundAmount reads the amount of a refund; zero, which is all that is left, when text is empty.
func refundAmount(text string) (money.Nano, error) {
	if text == "" {
		return 0, nil
	}
	n, err := rubles("the amount", text)
	if err == nil && n <= 0 {
		err = errors.New("the amount must be above zero; leave it out to refund all that is left")
	}
	return n, err
}

type ledgerRefundCmd struct {
	location
	Generation string `arg:"" help:"Id of the generation, as answers and X-Generation-Id have it (gen-...)."`
	Amount     string `arg:"" optional:"" help:"Rubles. Without it, all that is left of the charge."`
	why
}

func (c *ledgerRefundCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	r := ledger.Refund{Generation: c.Generation, ID: c.Reference, Reason: c.Reason, Actor: by}
	if r.Amount, err = refundAmount(c.Amount); err != nil {
		return err
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	done, err := ledger.GiveBack(ctx, o.Store.Ledger, r, time.Now())
	if err != nil {
		return err
	}
	call, _, err := o.Store.Ledger.Call(ctx, done.Wallet, c.Generation)
	if err != nil {
		return err
	}
	all, err := o.Store.Ledger.Refunds(ctx, done.Wallet, c.Generation)
	if err != nil {
		return err
	}
	b, err := o.Store.Ledger.Balance(ctx, done.Wallet)
	if err != nil {
		return err
	}
	var back money.Nano
	for i := range all {
		back += all[i].Amount
	}
	reported(&done)
	fmt.Printf("Refunded %s rubles of %s; of %s charged, %s are refunded.\nBalance of %s: %s rubles\n", done.Amount, c.Generation, call.Cost, back, done.Wallet, b.Balance)
	return nil
}

type ledgerStatementCmd struct {
	location
	User  string `arg:"" help:"Name or id of the user, or id of the wallet."`
	Count int    `help:"How many of the newest (${default})." default:"50"`
}

func (c *ledgerStatementCmd) Run(ctx context.Context) error {
	if c.Count < 1 || c.Count > 10_000 {
		return errors.New("--count must be from 1 to 10000")
	}
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		b, err := o.Store.Ledger.Balance(ctx, u.Wallet)
		if err != nil {
			return err
		}
		all, err := o.Store.Ledger.Statement(ctx, u.Wallet, math.MaxInt64, c.Count)
		if err != nil {
			return err
		}
		err = table("AT\tKIND\tRUBLES\tREFERENCE\tGENERATION\tACTOR\tREASON", func(w *tabwriter.Writer) {
			for i := range all {
				m := &all[i]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.At.Format(time.DateTime), m.Kind, m.Amount, m.Reference(), cmp.Or(m.Generation(), "-"), cmp.Or(m.Actor, "-"),
					cmp.Or(m.Why(), "-"))
			}
		})
		fmt.Printf("\nCharged for calls: %s rubles\nBalance of %s: %s rubles\n", b.Charged, u.Name, b.Balance)
		return err
	})
}
