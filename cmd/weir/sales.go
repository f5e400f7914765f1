package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"weir/internal/app"
	"weir/internal/report"
)

type salesCmd struct {
	location
	From     time.Time `help:"First day, of UTC. Without it, the last 30 days." format:"2006-01-02" placeholder:"YYYY-MM-DD"`
	To       time.Time `help:"Last day. Without it, today." format:"2006-01-02" placeholder:"YYYY-MM-DD"`
	By       string    `help:"What the table has a row for: model, provider, account or day." enum:"model,provider,account,day" default:"model"`
	Model    string    `help:"Only this model." placeholder:"SLUG"`
	Provider string    `help:"Only this provider." placeholder:"SLUG"`
	User     string    `help:"Only this user: a name or an id." placeholder:"USER"`
	CSV      bool      `name:"csv" help:"Print a row for each day, account, model and provider, as CSV."`
	Fill     bool      `help:"First make the sums again from the calls, as is needed after an upgrade during which older nodes went on."`
}

func (c *salesCmd) Run(ctx context.Context) error {
	today := report.Day.Floor(time.Now())
	q := report.SalesQuery{From: c.From, To: c.To, Part: report.Part(c.By), Model: c.Model, Provider: c.Provider}
	if q.To.IsZero() {
		q.To = today
	}
	if q.From.IsZero() {
		q.From = q.To.AddDate(0, 0, -29)
	}
	if q.To = report.Day.Next(q.To); !q.From.Before(q.To) {
		return errors.New("--from must not be after --to")
	}
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	o, err := openAdmin(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer o.Close()
	if c.Fill {
		if err := o.Store.Ledger.FillSales(ctx, operator, time.Now()); err != nil {
			return err
		}
	}
	if c.User != "" {
		u, err := o.UserNamed(ctx, c.User)
		if err != nil {
			return err
		}
		q.Account = u.Wallet
	}
	if c.CSV {
		return o.WriteSales(ctx, q, os.Stdout)
	}
	s, err := o.Sold(ctx, q)
	if err != nil {
		return err
	}
	return c.print(ctx, o, s)
}

func (c *salesCmd) print(ctx context.Context, o *app.Admin, s *report.Sold) error {
	names := map[string]report.Named{}
	if c.By == string(report.ByAccount) {
		wallets := make([]string, len(s.Rows))
		for i := range s.Rows {
			wallets[i] = s.Rows[i].Value
		}
		var err error
		if names, err = o.Owners(ctx, wallets); err != nil {
			return err
		}
	}
	err := table("\tCALLS\tSALES\tVAT\tCOST\tCOST $\tMARGIN\tREFUNDED", func(w *tabwriter.Writer) {
		row := func(name string, f *report.Sale) {
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", name, f.Calls, f.Sales, f.VAT, f.Upstream, f.Dollars, f.Margin(), f.Refunded)
		}
		for i := range s.Rows {
			r := &s.Rows[i]
			name := cmp.Or(names[r.Value].Name, r.Value, "-")
			if !r.Day.IsZero() {
				name = r.Day.Format(time.DateOnly)
			}
			row(name, &r.Sale)
		}
		row("total", &s.Total)
	})
	if n := s.Total.Unknown; n > 0 && err == nil {
		fmt.Printf("The provider's cost of %d calls is not known; their %s rubles without VAT are no part of the margin.\n", n, s.Total.UnknownNet)
	}
	return err
}
