package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"weir/internal/voucher"
)

type vouchersCmd struct {
	Create vouchersCreateCmd `cmd:"" help:"Make a batch of codes and print them as CSV. They are shown this once."`
	List   vouchersListCmd   `cmd:"" help:"List batches, the newest first."`
	Revoke vouchersRevokeCmd `cmd:"" help:"End a batch: its codes cannot be redeemed any more."`
}

type vouchersCreateCmd struct {
	location
	Amount  string `arg:"" help:"Rubles that a code is worth."`
	Codes   int64  `help:"How many codes (${default})." default:"1"`
	Uses    int64  `help:"How many accounts may redeem each code (${default}). An account redeems one code of a batch." default:"1"`
	Expires string `help:"The codes end at this day, 00:00 UTC, or time. Without it, never." placeholder:"2027-01-31"`
	Note    string `help:"What the codes are for." required:"" placeholder:"TEXT"`
	Actor   string `help:"Your name, for the audit log." placeholder:"NAME"`
}

func (c *vouchersCreateCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	order := voucher.Order{Codes: c.Codes, Uses: c.Uses, Note: c.Note, Actor: by}
	if order.Amount, err = rubles("the amount", c.Amount); err != nil {
		return err
	}
	if order.ExpiresAt, err = momentOf(c.Expires); err != nil {
		return fmt.Errorf("--expires: %w", err)
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	b, codes, err := voucher.NewManager(o.Store.Payments, time.Now).Make(ctx, order)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintln(out, "code,rubles,expires,batch")
	for _, code := range codes {
		fmt.Fprintf(out, "%s,%s,%s,%s\n", code, b.Amount, ending(b.ExpiresAt, ""), b.ID)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("the codes of %s could not be written; revoke it and make another batch: %w", b.ID, err)
	}
	most, _ := b.Most() // it was checked
	fmt.Fprintf(os.Stderr, "Made %s: %d codes of %s rubles, worth %s at most. Keep them: they are stored as hashes, and cannot be shown again.\n", b.ID, b.Codes, b.Amount, most)
	return nil
}

// momentOf reads a day or a time; "" is the zero one.
func momentOf(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("write a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00+03:00")
}

func ending(t time.Time, never string) string {
	if t.IsZero() {
		return never
	}
	return t.Format(time.RFC3339)
}

type vouchersListCmd struct {
	location
	Count int `help:"How many of the newest (${default})." default:"50"`
}

func (c *vouchersListCmd) Run(ctx context.Context) error {
	if c.Count < 1 || c.Count > 10_000 {
		return errors.New("--count must be from 1 to 10000")
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	all, err := voucher.NewManager(o.Store.Payments, time.Now).Batches(ctx, "", c.Count)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Println(c.hint("There are no vouchers. Make some with: weir vouchers create"))
		return nil
	}
	return table("CREATED\tID\tRUBLES\tCODES\tUSES OF EACH\tREDEEMED\tEXPIRES\tREVOKED\tBY\tNOTE", func(w *tabwriter.Writer) {
		for i := range all {
			b := &all[i]
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\n", b.CreatedAt.Format(time.DateTime), b.ID, b.Amount, b.Codes, b.Uses, b.Redeemed, ending(b.ExpiresAt, "never"), ending(b.RevokedAt, "-"), b.Actor, b.Note)
		}
	})
}

type vouchersRevokeCmd struct {
	location
	Batch string `arg:"" help:"Id of the batch (vb_...)."`
	Actor string `help:"Your name, for the audit log." placeholder:"NAME"`
}

func (c *vouchersRevokeCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	b, err := voucher.NewManager(o.Store.Payments, time.Now).Revoke(ctx, c.Batch, by)
	if err != nil {
		return err
	}
	fmt.Printf("%s is revoked since %s. %d accounts have redeemed %s rubles each; that money stays.\n", b.ID, b.RevokedAt.Format(time.DateTime), b.Redeemed, b.Amount)
	return nil
}
