package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/money"
	"weir/internal/reconcile"
	"weir/internal/reconcile/usagefile"
)

type reconcileCmd struct {
	location
	File      []string          `arg:"" help:"What the provider exported: OpenAI usage or costs, Anthropic usage or costs, OpenRouter activity as JSON, or a CSV file. Usage and costs of the same days are given together."`
	Provider  string            `required:"" help:"Slug of the provider, as in weir catalog provider list." placeholder:"SLUG"`
	Columns   map[string]string `help:"Names of the columns of a CSV file: date, model, id, key, requests, prompt_tokens, completion_tokens, cost. Several are separated by semicolons." placeholder:"date=Created;cost=Amount"`
	OurKeys   map[string]string `help:"Which of this gateway's keys of the provider those of the files are: its tag or id, or - for one of another program. It is remembered." placeholder:"THEIRS=OURS"`
	Tolerance string            `help:"By how many dollars the cost of a call may differ." default:"0" placeholder:"DOLLARS"`
	Settle    string            `help:"Id of a difference that you have decided on: see --as and --reason." placeholder:"ID"`
	As        string            `help:"With --settle: loss, the gateway bears it; explained, there is a reason." enum:"loss,explained" default:"loss"`
	Reason    string            `help:"With --settle: why, for others and the audit log." placeholder:"TEXT"`
	Reopen    string            `help:"Id of a difference whose decision you take back." placeholder:"ID"`
	Actor     string            `help:"Your name, for the audit log." placeholder:"NAME"`
}

// errDiffers ends reconcile with exit code 1. The differences were printed.
var errDiffers = errors.New("the provider and the gateway differ")

func (c *reconcileCmd) Run(ctx context.Context) error {
	tolerance, err := money.Parse(c.Tolerance)
	if err != nil || tolerance < 0 || tolerance > money.Ruble {
		return errors.New("--tolerance must be dollars from 0 to 1, such as 0.000001")
	}
	file, err := c.read()
	if err != nil {
		return err
	}
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	o, e, err := c.editor(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	m := o.Reconciler(e, time.Now)
	if err := m.Say(ctx, c.Provider, c.OurKeys, by); err != nil {
		return err
	}
	r, err := m.Compare(ctx, c.Provider, file.Rows, nil, tolerance)
	if err != nil {
		return err
	}
	if c.Settle != "" {
		err = m.Settle(ctx, c.Provider, &r, c.Settle, reconcile.Outcome(c.As), c.Reason, by)
	}
	if c.Reopen != "" && err == nil {
		err = m.Reopen(ctx, c.Provider, &r, c.Reopen, by)
	}
	if err != nil {
		return err
	}
	if err := c.report(&file, &r); err != nil {
		return err
	}
	if r.Open() > 0 {
		return errDiffers
	}
	return nil
}

// read reads the files as one.
func (c *reconcileCmd) read() (all reconcile.File, err error) {
	var formats []string
	for _, name := range c.File {
		info, err := os.Stat(name)
		if err != nil {
			return all, err
		}
		if info.Size() > usagefile.MaxBytes {
			return all, fmt.Errorf("%s has more than %d bytes: export fewer days", name, usagefile.MaxBytes)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return all, err
		}
		file, err := usagefile.Read(b, c.Columns)
		if err != nil {
			return all, err
		}
		formats = append(formats, file.Format)
		all.Rows, all.More = append(all.Rows, file.Rows...), all.More || file.More
	}
	all.Format = strings.Join(formats, " and ")
	return all, nil
}

// report prints what was compared, and the differences.
func (c *reconcileCmd) report(file *reconcile.File, r *reconcile.Result) error {
	how := "by day and model"
	switch {
	case r.ByCall:
		how = "call by call"
	case !r.ByModel:
		how = "by day, because not all rows name a model"
	}
	if r.ByKey {
		how += " and key"
	}
	fmt.Printf("%s, %s to %s, compared %s: %d rows of the file, %d calls of the gateway; differences: %d.\n", file.Format, r.First, r.Last, how, r.Rows, r.Calls, len(r.Differences))
	if file.More {
		fmt.Println("The provider says that further pages follow: their days are not compared.")
	}
	if r.Calls == 0 {
		fmt.Printf("No call of %s is recorded on these days: is this the provider's slug?\n", c.Provider)
	}
	if len(r.Differences) == 0 {
		return nil
	}
	return table("ID\tKIND\tDAY\tMODEL\tKEY\tTHEIRS\tOURS\tAT\tDECIDED\tCALLS", func(w *tabwriter.Writer) {
		for i := range r.Differences {
			d := &r.Differences[i]
			calls := strings.Join(d.Calls, " ")
			if d.More > 0 {
				calls += fmt.Sprintf(" and %d more", d.More)
			}
			decided := "-"
			if s := d.Settled; s != nil {
				decided = string(s.Outcome) + ": " + s.Reason
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", d.Mark, d.Kind, d.Day, cmp.Or(d.Model, "-"), cmp.Or(d.Key, "-"), said(&d.Theirs), said(&d.Ours), cmp.Or(d.Place, "-"), decided, cmp.Or(calls, "-"))
		}
	})
}

func said(f *reconcile.Figures) string {
	var parts []string
	for _, x := range []struct {
		n    int64
		what string
	}{{f.Calls, "calls"}, {f.Prompt, "in"}, {f.Completion, "out"}} {
		if x.n >= 0 {
			parts = append(parts, strconv.FormatInt(x.n, 10)+" "+x.what)
		}
	}
	if f.Dollars != nil {
		parts = append(parts, "$"+decimalText(f.Dollars))
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

// decimalText is an amount with as many digits as it has, at most twelve.
func decimalText(n *big.Rat) string {
	text := strings.TrimRight(n.FloatString(12), "0")
	return strings.TrimSuffix(text, ".")
}
