package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invoice"
)

type invoiceCmd struct {
	List   invoiceListCmd   `cmd:"" help:"List invoices, the newest first."`
	Paid   invoicePaidCmd   `cmd:"" help:"Credit a transfer that arrived for an invoice."`
	Import invoiceImportCmd `cmd:"" help:"Credit the transfers of a bank's statement in the 1C exchange format."`
	Refund invoiceRefundCmd `cmd:"" help:"Take from the wallet what was paid back to the buyer."`
	Files  invoiceFilesCmd  `cmd:"" help:"List the statements of the bank that were imported, the newest first."`
	Cancel invoiceCancelCmd `cmd:"" help:"Cancel an unpaid invoice."`
	Pdf    invoicePdfCmd    `cmd:"" help:"Write an invoice or act as a PDF document."`
	Acts   invoiceActsCmd   `cmd:"" help:"Make the acts of all accounts up to a month, and list those of the month."`
}

// invoices opens the store and what makes invoices.
func (p *location) invoices(ctx context.Context) (*app.Admin, *invoice.Manager, error) {
	o, err := p.admin(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	m, err := o.Invoices()
	if err != nil {
		o.Close()
		return nil, nil, err
	}
	return o, m, nil
}

type invoiceListCmd struct {
	location
	User  string `help:"Name or id of a user; without it, of all." placeholder:"USER"`
	State string `help:"Only those that are open, paid or cancelled." placeholder:"STATE"`
	Count int    `help:"How many of the newest (${default})." default:"50"`
}

func (c *invoiceListCmd) Run(ctx context.Context) error {
	if c.Count < 1 || c.Count > 10_000 {
		return errors.New("--count must be from 1 to 10000")
	}
	if !slices.Contains([]string{"", string(invoice.Open), string(invoice.Paid), string(invoice.Cancelled)}, c.State) {
		return errors.New("--state must be open, paid or cancelled")
	}
	o, m, err := c.invoices(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	q := invoice.Query{State: invoice.State(c.State), Limit: c.Count}
	if c.User != "" {
		u, err := o.UserNamed(ctx, c.User)
		if err != nil {
			return err
		}
		q.Account = u.ID
	}
	all, err := m.Invoices(ctx, q)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Println("There are no invoices.")
		return nil
	}
	return table("CREATED\tNUMBER\tID\tUSER\tSTATE\tTOTAL\tRECEIVED\tCREDITED\tINN\tBUYER", func(w *tabwriter.Writer) {
		for i := range all {
			v := &all[i]
			state := string(v.State)
			if v.Expired(time.Now()) {
				state += ", expired"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.CreatedAt.In(invoice.Moscow).Format(time.DateTime), v.Number, v.ID, v.Account, state, v.Total, v.Received, v.Credited, v.Buyer.INN, v.Buyer.Name)
		}
	})
}

type invoicePaidCmd struct {
	location
	Invoice   string `arg:"" help:"Number or id of the invoice."`
	Amount    string `arg:"" optional:"" help:"Rubles that arrived. Without it, what is missing of the total."`
	Reference string `help:"Number of the bank's document; each document is credited once." required:"" placeholder:"NUMBER"`
	Date      string `help:"Day of the bank's document." required:"" placeholder:"2026-11-25"`
	Note      string `help:"A note; the user can read it." placeholder:"TEXT"`
	Actor     string `help:"Your name, for the audit log." placeholder:"NAME"`
}

func (c *invoicePaidCmd) Run(ctx context.Context) error {
	p := invoice.Payment{Reference: c.Reference, Note: c.Note}
	var err error
	if p.Actor, p.Date, err = byOn(c.Actor, c.Date); err != nil {
		return err
	}
	if c.Amount != "" {
		if p.Amount, err = rubles("the amount", c.Amount); err != nil {
			return err
		}
		if p.Amount <= 0 {
			return errors.New("the amount must be above zero")
		}
	}
	o, m, err := c.invoices(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	i, err := m.Named(ctx, c.Invoice)
	if err != nil {
		return err
	}
	i, t, repeated, err := m.MarkPaid(ctx, i.ID, p)
	if err != nil {
		return err
	}
	if repeated {
		fmt.Printf("This document was credited before, with %s rubles. Nothing was changed.\n", t.Credited)
		return nil
	}
	fmt.Printf("Credited %s rubles for %s (topup:%s:%s). It is %s%s.\n", t.Credited, i.Number, invoice.Source, t.Key, i.State, missing(&i))
	return nil
}

// byOn is who did something, and the day of a document.
func byOn(name, date string) (audit.Actor, time.Time, error) {
	by, err := actor(name)
	if err != nil {
		return by, time.Time{}, err
	}
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		err = errors.New("--date must be a day such as 2026-11-25")
	}
	return by, day, err
}

func missing(i *invoice.Invoice) string {
	switch n := i.Missing(); {
	case n > 0:
		return fmt.Sprintf("; %s rubles are missing", n)
	case n < 0:
		return fmt.Sprintf("; %s rubles more than the total arrived", -n)
	}
	return ""
}

type invoiceRefundCmd struct {
	location
	Invoice string `arg:"" help:"Number or id of the invoice."`
	Amount  string `arg:"" help:"Rubles that were paid back."`
	why
	Date      string `help:"Day of the bank's document." required:"" placeholder:"2026-11-25"`
	BelowZero bool   `help:"Take more than is available: the user then owes money."`
}

func (c *invoiceRefundCmd) Run(ctx context.Context) error {
	b := invoice.BackOrder{Reference: c.Reference, Reason: c.Reason, BelowZero: c.BelowZero}
	var err error
	if b.Actor, b.Date, err = byOn(c.Actor, c.Date); err != nil {
		return err
	}
	if b.Amount, err = rubles("the amount", c.Amount); err != nil {
		return err
	}
	o, m, err := c.invoices(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	i, err := m.Named(ctx, c.Invoice)
	if err != nil {
		return err
	}
	_, t, repeated, err := m.PayBack(ctx, i.ID, b)
	if err != nil {
		return err
	}
	if repeated {
		fmt.Printf("This was noted before, and %s rubles were taken. Nothing was changed.\n", -t.Credited)
		return nil
	}
	fmt.Printf("Took %s rubles from the wallet for %s that were paid back of %s.\n", -t.Credited, -t.Amount, i.Number)
	return nil
}

type invoiceCancelCmd struct {
	location
	Invoice string `arg:"" help:"Number or id of the invoice."`
	Actor   string `help:"Your name, for the audit log." placeholder:"NAME"`
}

func (c *invoiceCancelCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	o, m, err := c.invoices(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	i, err := m.Named(ctx, c.Invoice)
	if err != nil {
		return err
	}
	if i, err = m.Cancel(ctx, i.ID, "", by); err != nil {
		return err
	}
	fmt.Printf("%s is cancelled since %s.\n", i.Number, i.EndedAt.In(invoice.Moscow).Format(time.DateTime))
	return nil
}

type invoiceImportCmd struct {
	location
	File   string         `arg:"" help:"The bank's file, such as kl_to_1c.txt."`
	Dry    bool           `help:"Only say what would be credited."`
	Assign map[int]string `help:"Credit the document of a line to an invoice that you choose, by its number. Can be repeated." placeholder:"LINE=NUMBER"`
	Actor  string         `help:"Your name, for the audit log." placeholder:"NAME"`
}

func (c *invoiceImportCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	file, err := io.ReadAll(io.LimitReader(f, invoice.MostStatement+1))
	if err != nil {
		return err
	}
	o, m, err := c.invoices(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	r, err := m.Import(ctx, file, invoice.ImportOrder{Name: filepath.Base(c.File), Dry: c.Dry, Assign: c.Assign, Actor: by})
	if err != nil {
		return err
	}
	if e := r.Earlier; e != nil {
		fmt.Printf("This file was imported on %s by %s as %s.\n", e.At.In(invoice.Moscow).Format(time.DateTime), e.Actor, e.ID)
	}
	if len(r.Matches) > 0 {
		err = table("LINE\tDATE\tDOCUMENT\tRUBLES\tINN\tINVOICE\tOUTCOME\tCREDITED\tNOTE", func(w *tabwriter.Writer) {
			for k := range r.Matches {
				x := &r.Matches[k]
				d := &x.Document
				fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", d.Line, d.Date.Format(time.DateOnly), cmp.Or(d.Number, "-"), d.Amount, cmp.Or(d.PayerINN, "-"), cmp.Or(x.Number, "-"), x.Outcome, x.Credited, cmp.Or(x.Note, "-"))
			}
		})
		if err != nil {
			return err
		}
	}
	need := 0
	for _, k := range slices.Sorted(maps.Keys(r.Counts)) {
		if fmt.Printf("%s: %d. ", k, r.Counts[k]); k.NeedsYou() {
			need += r.Counts[k]
		}
	}
	if c.Dry {
		fmt.Printf("%s rubles would be credited.\n", r.Credited)
	} else {
		fmt.Printf("%s rubles were credited.\n", r.Credited)
	}
	if need > 0 {
		return fault.Newf(fault.Conflict, "weir.invoice", "%d documents need you; see docs/invoices.md.", need)
	}
	return nil
}

type invoiceFilesCmd struct {
	location
	Count int `help:"How many of the newest (${default})." default:"50"`
}

func (c *invoiceFilesCmd) Run(ctx context.Context) error {
	if c.Count < 1 || c.Count > 10_000 {
		return errors.New("--count must be from 1 to 10000")
	}
	o, m, err := c.invoices(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	all, err := m.Statements(ctx, "", c.Count)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Println("No statement was imported.")
		return nil
	}
	return table("IMPORTED\tID\tFILE\tBY\tDOCUMENTS\tCREDITED\tRUBLES\tBEFORE\tOUTGOING\tWAITING", func(w *tabwriter.Writer) {
		for i := range all {
			s := &all[i]
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%d\t%d\t%d\n", s.At.In(invoice.Moscow).Format(time.DateTime), s.ID, cmp.Or(s.Name, "-"), s.Actor, s.Documents, s.Credited, s.Amount, s.Already, s.Outgoing, s.Waiting)
		}
	})
}

type invoicePdfCmd struct {
	location
	Name string `arg:"" help:"Number or id of an invoice, or id of an act (act_...)."`
	Out  string `help:"The file to write." required:"" placeholder:"FILE"`
}

func (c *invoicePdfCmd) Run(ctx context.Context) error {
	o, m, err := c.invoices(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	b, err := o.PrintInvoice(ctx, m, c.Name)
	if err != nil {
		return err
	}
	return os.WriteFile(c.Out, b, 0o600)
}

type invoiceActsCmd struct {
	location
	Month string `help:"The last month; the one that was closed last if it is left out." placeholder:"2026-10"`
	Actor string `help:"Your name, for the audit log." placeholder:"NAME"`
}

func (c *invoiceActsCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	o, m, err := c.invoices(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	month := cmp.Or(c.Month, invoice.Closed(time.Now()))
	made, failed := 0, 0
	err = m.MakeAllActs(ctx, month, by, func(account string, acts []invoice.Act, err error) {
		if made += len(acts); err != nil {
			failed++
			fmt.Fprintf(os.Stderr, "%s: %s\n", account, sentence(err))
		}
	})
	if err != nil {
		return err
	}
	fmt.Printf("Made %d acts up to %s.\n", made, month)
	all, err := m.Acts(ctx, "", month, "", 10_000)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		err = table("NUMBER\tID\tUSER\tTOTAL\tVAT\tINN\tBUYER", func(w *tabwriter.Writer) {
			for i := range all {
				a := &all[i]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.Number, a.ID, a.Account, a.Total, a.Tax, a.Buyer.INN, a.Buyer.Name)
			}
		})
	}
	if err == nil && failed > 0 {
		err = fault.Newf(fault.Conflict, "weir.invoice", "The acts of %d accounts could not be made.", failed)
	}
	return err
}
