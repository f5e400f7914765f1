package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"weir/internal/adminapi"
	"weir/internal/app"
	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/record"
	"weir/internal/report"
)

type callsCmd struct {
	location
	From        string `help:"From this day, 00:00 UTC, or time on. Without it, the last 30 days." placeholder:"2027-01-31"`
	To          string `help:"Before this day, 00:00 UTC, or time." placeholder:"2027-02-01"`
	User        string `help:"Only calls of this user: a name or an id." placeholder:"USER"`
	Key         string `help:"Only calls with this key: its hash, the beginning of it, its label, or the key itself." placeholder:"KEY"`
	Model       string `help:"Only calls that this model answered." placeholder:"SLUG"`
	Provider    string `help:"Only calls that this provider answered." placeholder:"SLUG"`
	Kind        string `help:"Only calls of this kind, such as completions or embeddings." placeholder:"KIND"`
	Result      string `help:"Only calls that ended so: ok, canceled, failed, or an error_type such as rate_limit_exceeded." placeholder:"RESULT"`
	Status      int    `help:"Only calls that were answered with this HTTP status." placeholder:"STATUS"`
	ProviderKey string `help:"Only calls of which an attempt was made with the provider's key of this tag, as weir catalog provider keys has it." placeholder:"TAG"`
	MinCost     string `help:"Only calls that cost at least so many rubles." placeholder:"RUBLES"`
	Limit       int    `help:"How many calls at most: without it 50, and all of them with --json and --csv." placeholder:"N"`
	JSON        bool   `name:"json" xor:"form" help:"Print a call a line as JSON, in the form of GET /api/admin/calls."`
	CSV         bool   `name:"csv" xor:"form" help:"Print the file that the page of calls has."`
}

// callsOfTable is how many calls the table has without --limit.
const callsOfTable = 50

func (c *callsCmd) Run(ctx context.Context) error {
	s, err := c.search(time.Now())
	if err != nil {
		return err
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := c.whose(ctx, o, &s); err != nil {
		return err
	}
	left := c.Limit
	if left == 0 {
		left = callsOfTable
		if c.JSON || c.CSV {
			left = -1
		}
	}
	out := bufio.NewWriter(os.Stdout)
	var print func(adminapi.CallNames, []record.Call) error
	end := out.Flush
	switch {
	case c.JSON:
		print = func(n adminapi.CallNames, calls []record.Call) error { return callsAsJSON(out, n.Rows(calls)) }
	case c.CSV:
		print = callsAsCSV(out)
	default:
		w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, "CALL\tAT\tACCOUNT\tMODEL\tPROVIDER\tSTATUS\tRESULT\tTOKENS\tCOST\tPRICE\tMARGIN")
		print = func(n adminapi.CallNames, calls []record.Call) error { return callsAsText(w, n.Rows(calls)) }
		end = func() error { return errors.Join(w.Flush(), out.Flush()) }
	}
	cut := false
	err = o.Calls(ctx, s, func(calls []record.Call, n adminapi.CallNames) (bool, error) {
		if cut = left >= 0 && len(calls) > left; cut {
			calls = calls[:left]
		}
		left -= len(calls)
		return !cut, print(n, calls)
	})
	if err = errors.Join(err, end()); err == nil && cut {
		fmt.Fprintln(os.Stderr, "weir: there are further calls; give a larger --limit, or --to with a time before the last of these")
	}
	return err
}

// search is what the flags ask for, of all accounts.
func (c *callsCmd) search(now time.Time) (s report.Search, err error) {
	s = report.Search{Filter: report.Filter{Model: c.Model, Provider: c.Provider, Kind: c.Kind, Result: c.Result}, Status: c.Status, ProviderKey: c.ProviderKey, Limit: 1000}
	if s.From, err = momentOf(c.From); err != nil {
		return s, fmt.Errorf("--from: %w", err)
	}
	if s.To, err = momentOf(c.To); err != nil {
		return s, fmt.Errorf("--to: %w", err)
	}
	if s.To.IsZero() {
		s.To = now
	}
	if s.From.IsZero() {
		s.From = s.To.AddDate(0, 0, -30)
	}
	if c.MinCost != "" {
		if s.MinCost, err = money.Parse(c.MinCost); err != nil {
			return s, fmt.Errorf("--min-cost: %s", sentence(err))
		}
	}
	switch {
	case !s.From.Before(s.To):
		return s, errors.New("--from must be before --to")
	case c.Limit < 0:
		return s, errors.New("--limit must be at least 1")
	case c.Status < 0 || c.Status > 599:
		return s, errors.New("--status must be an HTTP status, such as 429")
	case s.MinCost < 0:
		return s, errors.New("--min-cost must be at least 0")
	case c.ProviderKey != "" && !catalog.IsKeyTag(c.ProviderKey):
		return s, errors.New("--provider-key must be the tag of a provider's key: 12 digits and letters from a to f; see: weir catalog provider keys PROVIDER")
	}
	return s, nil
}

// whose narrows a search to a user and a key, whose calls have an index of their own.
func (c *callsCmd) whose(ctx context.Context, o *app.Admin, s *report.Search) error {
	owner := c.User
	if c.Key != "" {
		hash, err := o.KeyNamed(ctx, c.Key)
		if err != nil {
			return err
		}
		k, err := o.Keys.Of(ctx, hash)
		if err != nil {
			return err
		}
		if s.Filter.Key = k.ID; owner == "" {
			owner = k.User
		}
	}
	if owner == "" {
		return nil
	}
	u, err := o.UserNamed(ctx, owner)
	s.Filter.Member, s.Wallet = u.ID, u.Wallet
	return err
}

func callsAsText(w *tabwriter.Writer, rows []adminapi.AdminCallRow) error {
	amount := func(n *money.Nano) string {
		if n == nil {
			return "-"
		}
		return n.String()
	}
	or := func(text *string, other string) string {
		if text != nil {
			other = *text
		}
		return printable(other)
	}
	for i := range rows {
		r := &rows[i]
		_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", printable(r.ID), r.CreatedAt.UTC().Format("2006-01-02T15:04:05Z"), or(r.Account.Name, r.Account.ID), or(r.Model, r.ModelAsked), or(r.Provider, "-"),
			r.Status, printable(r.Result), strconv.FormatInt(r.PromptTokens, 10)+"+"+strconv.FormatInt(r.CompletionTokens, 10), amount(r.UpstreamCost), r.Cost, amount(r.Margin))
		if err != nil {
			return err
		}
	}
	return nil
}

func callsAsJSON(out *bufio.Writer, rows []adminapi.AdminCallRow) error {
	for i := range rows {
		line, err := operation.JSON(rows[i])
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func callsAsCSV(out *bufio.Writer) func(adminapi.CallNames, []record.Call) error {
	var t report.Sheet
	t.Texts(report.AnyCallHeads()...)
	t.End()
	return func(n adminapi.CallNames, calls []record.Call) error {
		for i := range calls {
			n.Cells(&t, &calls[i])
			t.End()
		}
		_, err := out.Write(t.Bytes)
		t.Bytes = t.Bytes[:0]
		return err
	}
}
