package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/app"
	"weir/internal/catalog/edit"
	"weir/internal/rate"
)

// editor opens the store, and an editor of the catalog in it.
func (p *location) editor(ctx context.Context, create bool) (*app.Admin, *edit.Editor, error) {
	cfg, err := p.load("")
	if err != nil {
		return nil, nil, err
	}
	o, err := openAdmin(ctx, cfg, create)
	if err != nil {
		return nil, nil, err
	}
	e, err := o.Editor(cfg)
	if err != nil {
		o.Close()
		return nil, nil, err
	}
	return o, e, nil
}

// editing opens the store with the editor of the catalog for one act of a command.
func (p *location) editing(ctx context.Context, act func(o *app.Admin, e *edit.Editor) error) error {
	o, e, err := p.editor(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	return act(o, e)
}

// soon ends the messages about changes that running nodes apply by themselves.
const soon = "running nodes know within 5 seconds."

type providerCmd struct {
	List    providerListCmd   `cmd:"" help:"List providers: built in, declared in the configuration, held by the database."`
	Add     providerAddCmd    `cmd:"" help:"Add a provider to the database."`
	Set     providerSetCmd    `cmd:"" help:"Change a provider of the database or one that is built in."`
	Disable providerSwitchCmd `cmd:"" help:"Disable a provider."`
	Enable  providerSwitchCmd `cmd:"" help:"Enable a disabled provider."`
	Remove  providerSwitchCmd `cmd:"" help:"Remove a provider from the database; a built-in one is as before."`

	Keys      providerKeysCmd    `cmd:"" help:"List the keys of a provider that the database has."`
	AddKey    providerAddKeyCmd  `cmd:"" help:"Add a key beside those that a provider has."`
	DrainKey  providerMoveKeyCmd `cmd:"" help:"Send no new call with a key; what was begun with it goes on."`
	RemoveKey providerMoveKeyCmd `cmd:"" help:"Send nothing with a key any more. It can be brought back."`
	ReturnKey providerMoveKeyCmd `cmd:"" help:"Use a key again that was drained or removed."`
	ForgetKey providerMoveKeyCmd `cmd:"" help:"Delete a key that was removed."`
}

type endpointCmd struct {
	List    endpointListCmd   `cmd:"" help:"List endpoints: what each provider offers."`
	Add     endpointAddCmd    `cmd:"" help:"Add an endpoint to the database."`
	Set     endpointSetCmd    `cmd:"" help:"Change an endpoint of the database or one that is built in."`
	Disable endpointSwitchCmd `cmd:"" help:"Disable an endpoint."`
	Enable  endpointSwitchCmd `cmd:"" help:"Enable a disabled endpoint."`
	Remove  endpointSwitchCmd `cmd:"" help:"Remove an endpoint from the database; a built-in one is as before."`
}

// fields parses NAME=VALUE arguments; NAME= unsets.
func fields(args []string) (set edit.Spec, unset []string, err error) {
	set = edit.Spec{}
	for _, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		switch {
		case !found || name == "":
			return nil, nil, fmt.Errorf("%q is no field: write NAME=VALUE, such as price_usd.prompt=0.6, or NAME= to unset it", arg)
		case value == "":
			unset = append(unset, name)
		default:
			set[name] = value
		}
	}
	return set, unset, nil
}

// change makes one change and prints its result.
func (p *location) change(ctx context.Context, c edit.Change, done string) error {
	o, e, err := p.editor(ctx, c.Create)
	if err != nil {
		return err
	}
	defer o.Close()
	b, err := e.Change(ctx, c, operator)
	if err != nil {
		return err
	}
	fmt.Printf("%s %s %s; %s\n", done, c.Kind, c.ID, soon)
	if c.Kind == edit.Provider {
		if v := b.Provider(c.ID); v != nil && v.Reason != "" {
			fmt.Printf("Here %s: that must differ where the nodes run.\n", v.Reason)
		}
	}
	return nil
}

// secretFrom is the source of a credential. It is never an argument, because other users of the machine can see arguments.
type secretFrom struct {
	KeyFile string `name:"api-key-file" help:"File with the provider's API key, or - for standard input. It is stored encrypted; see secrets in the configuration." placeholder:"FILE"`
}

const maxSecret = 64 << 10

func (s *secretFrom) read() (*string, error) {
	if s.KeyFile == "" {
		return nil, nil
	}
	var in io.Reader = os.Stdin
	if s.KeyFile != "-" {
		f, err := os.Open(s.KeyFile)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSecret))
	if err != nil {
		return nil, err
	}
	key := string(bytes.TrimRight(data, "\r\n"))
	if key == "" {
		return nil, errors.New("the API key is empty")
	}
	return &key, nil
}

type providerAddCmd struct {
	location
	secretFrom
	ID     string   `arg:"" help:"Id of the provider, as provider preferences name it."`
	Fields []string `arg:"" optional:"" help:"NAME=VALUE, such as base_url=https://api.example.com/v1 name=Example api_key_env=EXAMPLE_KEY data_policy=zero."`
}

func (c *providerAddCmd) Run(ctx context.Context) error {
	set, _, err := fields(c.Fields)
	if err != nil {
		return err
	}
	key, err := c.read()
	if err != nil {
		return err
	}
	return c.change(ctx, edit.Change{Kind: edit.Provider, ID: c.ID, Create: true, Set: set, Key: key}, "Added")
}

type providerSetCmd struct {
	location
	secretFrom
	ID     string   `arg:"" help:"Id of the provider."`
	Fields []string `arg:"" optional:"" help:"NAME=VALUE to set and NAME= to unset, such as name=Example quirks.system_role=true data_policy=."`
}

func (c *providerSetCmd) Run(ctx context.Context) error {
	set, unset, err := fields(c.Fields)
	if err != nil {
		return err
	}
	key, err := c.read()
	if err != nil {
		return err
	}
	return c.change(ctx, edit.Change{Kind: edit.Provider, ID: c.ID, Set: set, Unset: unset, Key: key}, "Changed")
}

type providerSwitchCmd struct {
	location
	ID string `arg:"" help:"Id of the provider."`
}

func (c *providerSwitchCmd) Run(ctx context.Context, verb verb) error {
	return c.flip(ctx, edit.Provider, c.ID, verb)
}

type endpointSwitchCmd struct {
	location
	ID string `arg:"" help:"Id of the endpoint: provider/vendor/model, and what else weir catalog endpoint list shows of it."`
}

func (c *endpointSwitchCmd) Run(ctx context.Context, verb verb) error {
	return c.flip(ctx, edit.Endpoint, c.ID, verb)
}

// flip disables, enables or removes a row.
func (p *location) flip(ctx context.Context, k edit.Kind, id string, verb verb) error {
	c, done := edit.Change{Kind: k, ID: id}, "Removed"
	switch verb {
	case "disable":
		c.Set, done = edit.Spec{"disabled": "true"}, "Disabled"
	case "enable":
		c.Unset, done = []string{"disabled"}, "Enabled"
	default:
		c.Remove = true
	}
	return p.change(ctx, c, done)
}

type providerListCmd struct{ location }

func (c *providerListCmd) Run(ctx context.Context) error {
	b, err := c.built(ctx)
	if err != nil {
		return err
	}
	return table("ID\tORIGIN\tSTATE\tADDRESS\tAPI KEY\tVERSION", func(w *tabwriter.Writer) {
		for i := range b.Providers {
			v := &b.Providers[i]
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", v.ID, origin(v.Origin, v.Where), state(v.On), v.BaseURL, credential(v), rowVersion(v.Row))
		}
	})
}

func origin(o edit.Origin, where string) string {
	if where != "" {
		return where
	}
	return string(o)
}

func state(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func credential(v *edit.ProviderView) string {
	switch {
	case v.Row != nil && v.Row.In(edit.KeyInUse) != nil:
		return "..." + v.Row.Last4()
	case v.Row != nil && v.Row.Spec["api_key_env"] != "":
		return "$" + v.Row.Spec["api_key_env"]
	case v.Key != "":
		return "set"
	}
	return "-"
}

func rowVersion(r *edit.Row) string {
	if r == nil {
		return "-"
	}
	return fmt.Sprint(r.Version)
}

type endpointListCmd struct {
	location
	Search string `arg:"" optional:"" help:"Only endpoints whose id contains this."`
}

func (c *endpointListCmd) Run(ctx context.Context) error {
	b, err := c.built(ctx)
	if err != nil {
		return err
	}
	return table("ID\tORIGIN\tSTATE\tPROMPT\tCOMPLETION\tPRICE LIST\tRATE", func(w *tabwriter.Writer) {
		for i := range b.Endpoints {
			v := &b.Endpoints[i]
			if !strings.Contains(v.ID, c.Search) {
				continue
			}
			p := &v.Pricing
			prompt := p.Base.Prompt.String()
			if !p.Base.Prompt.Set && !p.Base.Completion.Set { // not priced by tokens
				prompt = headline(p)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.ID, origin(v.Origin, v.Where), state(v.On), prompt, p.Base.Completion, p.List, p.Rate)
		}
	})
}

type endpointAddCmd struct {
	location
	Provider string   `arg:"" help:"Id of the provider; or provider/vendor/model, and no model after it."`
	Model    string   `arg:"" optional:"" help:"Id of the model, vendor/model."`
	Fields   []string `arg:"" optional:"" help:"NAME=VALUE, such as price_usd.prompt=0.6 price_usd.completion=0.9 context_length=128000 upstream_id=their-name."`
}

func (c *endpointAddCmd) Run(ctx context.Context) error {
	if provider, model, joined := strings.Cut(c.Provider, "/"); joined { // the form of other commands for an endpoint
		if c.Model != "" {
			c.Fields = slices.Insert(c.Fields, 0, c.Model)
		}
		c.Provider, c.Model = provider, model
	}
	if c.Model == "" {
		return errors.New("name the model, too: weir catalog endpoint add PROVIDER VENDOR/MODEL NAME=VALUE ...")
	}
	set, _, err := fields(c.Fields)
	if err != nil {
		return err
	}
	set["provider"], set["model"] = c.Provider, c.Model
	return c.change(ctx, edit.Change{Kind: edit.Endpoint, ID: edit.EndpointID(set), Create: true, Set: set}, "Added")
}

type endpointSetCmd struct {
	location
	ID     string   `arg:"" help:"Id of the endpoint."`
	Fields []string `arg:"" help:"NAME=VALUE to set and NAME= to unset, such as prices.prompt=0.05 prices.completion=0.1 thresholds=."`
}

func (c *endpointSetCmd) Run(ctx context.Context) error {
	set, unset, err := fields(c.Fields)
	if err != nil {
		return err
	}
	return c.change(ctx, edit.Change{Kind: edit.Endpoint, ID: c.ID, Set: set, Unset: unset}, "Changed")
}

type catalogHistoryCmd struct {
	location
	Count int `short:"n" help:"Number of changes to show, the latest first (${default})." default:"20"`
}

func (c *catalogHistoryCmd) Run(ctx context.Context) error {
	o, e, err := c.editor(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	entries, err := e.History(ctx, 0, c.Count)
	if err != nil {
		return err
	}
	return table("VERSION\tAT\tACTOR\tACTION\tOF\tBEFORE\tAFTER", func(w *tabwriter.Writer) {
		for i := range entries {
			x := &entries[i]
			was, is := edit.Difference(x.Before, x.After)
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", x.Version, x.At.Format(time.DateTime), x.Name, x.Action, x.ID, was, is)
		}
	})
}

type rateCmd struct {
	Show rateShowCmd `cmd:"" help:"Show the rate and margin that convert dollar prices to rubles."`
	List rateListCmd `cmd:"" help:"List the rates and margins that were set or fetched."`
	Set  rateSetCmd  `cmd:"" help:"Set the rate, the margin or both."`
}

type rateShowCmd struct{ location }

func (c *rateShowCmd) Run(ctx context.Context) error {
	b, err := c.built(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("rate     %s rubles per dollar\nmargin   %s\nsource   %s\nversion  %s\n", b.Rate.RubPerUSD, b.Rate.Margin, b.Rate.Source, b.Rate.Version)
	if v := b.Rate.VAT; v.Mode != "" {
		fmt.Printf("VAT      %s %%, %s\n", v.Percent, strings.ReplaceAll(v.Mode, "_", " "))
	}
	return nil
}

type rateListCmd struct{ location }

func (c *rateListCmd) Run(ctx context.Context) error {
	o, e, err := c.editor(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	records, err := e.Rates(ctx)
	if err != nil {
		return err
	}
	return table("VERSION\tFROM\tRATE\tMARGIN\tSOURCE\tDAY\tACTOR", func(w *tabwriter.Writer) {
		for i := len(records) - 1; i >= 0; i-- {
			r := &records[i]
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Version, r.From.Format(time.DateTime), r.RubPerUSD, r.Margin, r.Source, r.Day, r.Actor)
		}
	})
}

type rateSetCmd struct {
	location
	Rate   string `arg:"" optional:"" help:"Rubles per dollar, such as 81.50."`
	Margin string `help:"Fraction added to the price: 0.15 is 15 %." placeholder:"PART"`
	From   string `help:"When it takes effect, such as 2026-12-01T00:00:00+03:00. Without it, at once." placeholder:"TIME"`
}

func (c *rateSetCmd) Run(ctx context.Context) error {
	if c.Rate == "" && c.Margin == "" {
		return errors.New("give a rate, --margin or both: weir rate set 81.50 --margin 0.15")
	}
	r := rate.Record{RubPerUSD: c.Rate, Margin: c.Margin, Source: rate.Manual}
	if c.From != "" {
		from, err := time.Parse(time.RFC3339, c.From)
		if err != nil || from.Before(time.Now()) {
			return fmt.Errorf("--from: %q is no time ahead, such as 2030-12-01T00:00:00+03:00", c.From)
		}
		r.From = from
	}
	o, e, err := c.editor(ctx, true)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := e.SetRate(ctx, r, operator); err != nil {
		return err
	}
	fmt.Println("Set; " + soon)
	if asks := app.DoubtfulMargin(c.Margin); asks != "" {
		fmt.Fprintln(os.Stderr, "weir: "+asks)
	}
	return nil
}

type secretsCmd struct {
	Rotate secretsRotateCmd `cmd:"" help:"Encrypt all secrets of the database with the current master key."`
}

type secretsRotateCmd struct{ location }

func (c *secretsRotateCmd) Run(ctx context.Context) error {
	o, e, err := c.editor(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	n, err := o.RotateSecrets(ctx, e, operator)
	if err != nil {
		return err
	}
	fmt.Printf("Wrapped %d secrets again. Earlier master keys open nothing of this database any more, but still open its old copies.\n", n)
	return nil
}
