package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"weir/internal/app"
	"weir/internal/catalog/edit"
	"weir/internal/money"
)

type priceCmd struct {
	Draft   priceDraftCmd   `cmd:"" help:"Show the draft of prices: what it changes, and its effect on the last seven days."`
	Set     priceSetCmd     `cmd:"" help:"Change an endpoint in the draft."`
	Raise   priceRaiseCmd   `cmd:"" help:"Raise or lower prices by a percentage, in the draft."`
	Margin  priceMarginCmd  `cmd:"" help:"Set the margin of many endpoints, in the draft."`
	Take    priceTakeCmd    `cmd:"" help:"Take changes of the public price lists into the draft; weir catalog update shows them."`
	Discard priceDiscardCmd `cmd:"" help:"Discard the draft."`
	Publish pricePublishCmd `cmd:"" help:"Publish the draft, at once or at a time."`
	History priceHistoryCmd `cmd:"" help:"List what was published and what is scheduled."`
	Cancel  priceCancelCmd  `cmd:"" help:"Cancel prices that are scheduled."`
	Revert  priceRevertCmd  `cmd:"" help:"Make a draft that takes a publication back."`
}

// drafting calls f with the draft, nil without one, and shows what f makes of it.
func (p *location) drafting(ctx context.Context, f func(e *edit.Editor, d *edit.Draft, version int64) (*edit.Draft, error)) error {
	o, e, err := p.editor(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	d, err := e.Draft(ctx)
	if err != nil {
		return err
	}
	version := int64(0)
	if d != nil {
		version = d.Version
	}
	if d, err = f(e, d, version); err != nil {
		return err
	}
	return p.showDraft(ctx, o, e, d)
}

// showDraft prints a draft as the page of prices shows it.
func (p *location) showDraft(ctx context.Context, o *app.Admin, e *edit.Editor, d *edit.Draft) error {
	if d == nil {
		fmt.Println("There is no draft: prices are as they were published.")
		return nil
	}
	preview, err := e.Preview(ctx, d)
	if err != nil {
		return err
	}
	to := time.Now().UTC().Truncate(time.Hour).Add(time.Hour)
	sold, err := o.Store.Ledger.SoldByEndpoint(ctx, to.Add(-7*24*time.Hour), to)
	if err != nil {
		return err
	}
	err = table("ENDPOINT\tPRICE\tNOW\tDRAFT\tPER", func(w *tabwriter.Writer) {
		for _, c := range preview.Changes {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.Endpoint, c.Name, cmp.Or(c.Old.String(), "-"), cmp.Or(c.New.String(), "-"), c.Per)
		}
	})
	if err != nil {
		return err
	}
	if d.Prices.List != "" {
		fmt.Printf("With prices of the public lists, of %s.\n", d.Prices.AsOf)
	}
	printEffect(preview.Effect(sold))
	for _, q := range preview.Questions {
		switch q.Kind {
		case edit.DoubtfulMargin:
			fmt.Printf("? %s: a margin of %s\n", q.Endpoint, q.Margin)
		case edit.Leap:
			fmt.Printf("? %s: %s at %s, which was %s\n", q.Endpoint, q.Name, cmp.Or(q.Price.String(), "0"), q.Old)
		default:
			fmt.Printf("? %s: %s at %s is below what the provider takes, %s\n", q.Endpoint, q.Name, q.Price, q.Cost)
		}
	}
	sure := ""
	if len(preview.Questions) > 0 {
		sure = " --sure"
	}
	fmt.Println(p.hint("Nobody is charged by the draft before: weir price publish" + sure))
	return nil
}

func printEffect(e edit.Effect) {
	fmt.Println("\nAt the usage of the last 7 days, in rubles:")
	for _, x := range []struct {
		name       string
		now, draft money.Nano
	}{{"sales", e.Revenue, e.Revenue + e.Changes}, {"of them VAT", e.VAT, e.VATDraft}, {"providers' cost", e.Cost, e.CostDraft}, {"margin", e.Margin, e.MarginDraft}} {
		fmt.Printf("  %-16s %s -> %s\n", x.name, x.now, x.draft)
	}
	if e.CostUnknown != 0 {
		fmt.Printf("  Cost and margin are without %s of sales at prices in rubles.\n", e.CostUnknown)
	}
	if n := len(e.Unknown); n > 0 {
		fmt.Printf("  Not counted: %d endpoints where other units than tokens change.\n", n)
	}
}

type priceDraftCmd struct{ location }

func (c *priceDraftCmd) Run(ctx context.Context) error {
	return c.drafting(ctx, func(_ *edit.Editor, d *edit.Draft, _ int64) (*edit.Draft, error) { return d, nil })
}

type priceSetCmd struct {
	location
	ID     string   `arg:"" help:"Id of the endpoint."`
	Fields []string `arg:"" optional:"" help:"NAME=VALUE to set and NAME= to unset, such as margin=0.15 or price_usd.prompt=0.7. Without any, the draft leaves the endpoint as it is."`
}

func (c *priceSetCmd) Run(ctx context.Context) error {
	set, unset, err := fields(c.Fields)
	if err != nil {
		return err
	}
	return c.drafting(ctx, func(e *edit.Editor, _ *edit.Draft, version int64) (*edit.Draft, error) {
		return e.EditDraft(ctx, version, []edit.Edit{{ID: c.ID, Set: set, Unset: unset}}, operator)
	})
}

// chosen are the endpoints that a command is about.
type chosen struct {
	Search   string `arg:"" optional:"" help:"Only endpoints whose id contains this."`
	Provider string `help:"Only endpoints of the provider of this id." placeholder:"ID"`
	Vendor   string `help:"Only models of this vendor, such as openai." placeholder:"VENDOR"`
}

type priceRaiseCmd struct {
	location
	Percent string `arg:"" help:"By how much, such as 10; after --, -5 lowers prices."`
	chosen
}

func (c *priceRaiseCmd) Run(ctx context.Context) error {
	return c.drafting(ctx, func(e *edit.Editor, _ *edit.Draft, version int64) (*edit.Draft, error) {
		return e.RaiseDraft(ctx, version, edit.Raise{Percent: c.Percent, Provider: c.Provider, Vendor: c.Vendor, Search: c.Search}, operator)
	})
}

type priceMarginCmd struct {
	location
	Margin string `arg:"" help:"Fraction added to the provider's price: 0.15 is 15 %."`
	chosen
}

func (c *priceMarginCmd) Run(ctx context.Context) error {
	return c.drafting(ctx, func(e *edit.Editor, _ *edit.Draft, version int64) (*edit.Draft, error) {
		return e.MarginDraft(ctx, version, c.Margin, edit.Raise{Provider: c.Provider, Vendor: c.Vendor, Search: c.Search}, operator)
	})
}

type priceTakeCmd struct {
	location
	Search string `arg:"" optional:"" help:"Only offers whose id or model contains this."`
	Kind   string `help:"Only those: new, raised, lowered, gone, limits." enum:"new,raised,lowered,gone,limits," default:"" placeholder:"KIND"`
	listPart
}

// listPart is a part of the public price lists.
type listPart struct {
	Provider string `help:"Only offers of this provider." placeholder:"NAME"`
	Vendor   string `help:"Only models of this vendor." placeholder:"NAME"`
	Model    string `help:"Only offers of this model." placeholder:"VENDOR/MODEL"`
}

func (p listPart) take() edit.Take {
	return edit.Take{Provider: p.Provider, Vendor: p.Vendor, Model: p.Model}
}

func (c *priceTakeCmd) Run(ctx context.Context) error {
	return c.drafting(ctx, func(e *edit.Editor, _ *edit.Draft, version int64) (*edit.Draft, error) {
		t := c.take()
		t.Kind, t.Search = c.Kind, c.Search
		return e.TakeImport(ctx, version, t, operator)
	})
}

type priceDiscardCmd struct{ location }

func (c *priceDiscardCmd) Run(ctx context.Context) error {
	return c.drafting(ctx, func(e *edit.Editor, _ *edit.Draft, version int64) (*edit.Draft, error) {
		return nil, e.DropDraft(ctx, version)
	})
}

type pricePublishCmd struct {
	location
	At   string `help:"When they take effect, such as 2030-12-01T00:00:00+03:00. Without it, at once." placeholder:"TIME"`
	Sure bool   `help:"The prices that weir price draft asks about are intended: margins above 50 %, prices below what the provider takes, and prices that are ten times or a tenth of what they were."`
}

func (c *pricePublishCmd) Run(ctx context.Context) error {
	var from time.Time
	if c.At != "" {
		var err error
		if from, err = time.Parse(time.RFC3339, c.At); err != nil || from.Before(time.Now()) {
			return fmt.Errorf("--at: %q is no time ahead, such as 2030-12-01T00:00:00+03:00", c.At)
		}
	}
	o, e, err := c.editor(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	version := int64(0)
	if d, err := e.Draft(ctx); err != nil {
		return err
	} else if d != nil {
		version = d.Version
	}
	d, err := e.PublishDraft(ctx, version, from, c.Sure, operator)
	if err != nil {
		return err
	}
	if from.IsZero() {
		fmt.Printf("Published as %d; %s\n", d.ID, soon)
		return nil
	}
	fmt.Printf("Scheduled as %d, from %s on.\n", d.ID, d.From.Format(time.DateTime))
	return nil
}

type priceHistoryCmd struct {
	location
	Count int `short:"n" help:"Number of publications to show, the latest first (${default})." default:"20"`
}

func (c *priceHistoryCmd) Run(ctx context.Context) error {
	o, e, err := c.editor(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	list, err := e.Publications(ctx, 0, c.Count)
	if err != nil {
		return err
	}
	return table("ID\tSTATE\tFROM\tACTOR\tENDPOINTS\tPUBLIC LISTS", func(w *tabwriter.Writer) {
		for i := range list {
			d := &list[i]
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%s\n", d.ID, d.State, d.From.Format(time.DateTime), d.Actor, len(d.Edits), cmp.Or(d.Prices.AsOf, "-"))
		}
	})
}

// publication is the number of one.
type publication struct {
	ID string `arg:"" help:"Number of the publication; weir price history shows it."`
}

func (p *publication) number() (int64, error) {
	n, err := strconv.ParseInt(p.ID, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of a publication; see: weir price history", p.ID)
	}
	return n, nil
}

type priceCancelCmd struct {
	location
	publication
}

func (c *priceCancelCmd) Run(ctx context.Context) error {
	id, err := c.number()
	if err != nil {
		return err
	}
	o, e, err := c.editor(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	d, err := e.CancelPublication(ctx, id, operator)
	if err != nil {
		return err
	}
	fmt.Printf("Cancelled: prices do not change at %s.\n", d.From.Format(time.DateTime))
	return nil
}

type priceRevertCmd struct {
	location
	publication
}

func (c *priceRevertCmd) Run(ctx context.Context) error {
	id, err := c.number()
	if err != nil {
		return err
	}
	return c.drafting(ctx, func(e *edit.Editor, _ *edit.Draft, _ int64) (*edit.Draft, error) {
		return e.RevertPublication(ctx, id, operator)
	})
}
