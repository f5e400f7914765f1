package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"weir/internal/apikey"
	"weir/internal/app"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/config"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/rawjson"
)

type ledgerCmd struct {
	Verify    ledgerVerifyCmd    `cmd:"" help:"Recompute each balance, charge and roll-up; exit with 1 when anything is wrong."`
	Explain   ledgerExplainCmd   `cmd:"" help:"Show how each number of a charge was computed."`
	Statement ledgerStatementCmd `cmd:"" help:"List top-ups, corrections and refunds of a user."`
	Adjust    ledgerAdjustCmd    `cmd:"" help:"Correct the balance of a user."`
	Refund    ledgerRefundCmd    `cmd:"" help:"Refund the charge of a call, or a part of it."`
	Aside     ledgerAsideCmd     `cmd:"" help:"Show, retry and dismiss charges that could not be posted."`
	Journal   ledgerJournalCmd   `cmd:"" help:"Inspect and repair the journal, the files that hold charges until the database has them."`
}

type ledgerVerifyCmd struct {
	location
	JSON        bool   `name:"json" help:"Print the report as JSON."`
	Anchor      string `help:"Compare with the length and hash of the chain in this file." type:"existingfile" placeholder:"FILE"`
	WriteAnchor string `help:"Write length and hash of the chain to this file, if the ledger is balanced. Store it where users of the database cannot change it." placeholder:"FILE"`
}

// errNotBalanced ends verify with exit code 1. The report already contains the details.
var errNotBalanced = errors.New("the ledger is not balanced")

func (c *ledgerVerifyCmd) Run(ctx context.Context) error {
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	o, err := openAdmin(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer o.Close()
	var noted ledger.Anchor
	if c.Anchor != "" {
		text, err := os.ReadFile(c.Anchor)
		if err != nil {
			return err
		}
		if noted, err = ledger.ParseAnchor(string(text)); err != nil {
			return err
		}
	}
	report, err := o.Verify(ctx, cfg.DataDir, noted)
	if err != nil {
		return err
	}
	if c.JSON {
		b := fmt.Appendf(nil, `{"balanced":%t,"at":"%s","chain":{"length":%d,"hash":"%s"},"checks":[`, report.OK(), report.At.UTC().Format(time.RFC3339),
			report.Chain.Length, report.Chain.Hash)
		for i, check := range report.Checks {
			if i > 0 {
				b = append(b, ',')
			}
			b = rawjson.AppendText(append(b, `{"name":`...), check.Name)
			b = fmt.Appendf(b, `,"ok":%t,"detail":`, check.OK)
			b = append(rawjson.AppendText(b, check.Detail), '}')
		}
		fmt.Printf("%s]}\n", b)
	} else if _, err := report.WriteTo(os.Stdout); err != nil {
		return err
	}
	if !report.OK() {
		return errNotBalanced
	}
	if c.WriteAnchor != "" {
		return os.WriteFile(c.WriteAnchor, []byte(report.Chain.String()), 0o600)
	}
	return nil
}

type ledgerExplainCmd struct {
	location
	Generation string `arg:"" help:"Id of the generation, as answers and X-Generation-Id have it (gen-...)."`
}

func (c *ledgerExplainCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	err = o.Explain(ctx, c.Generation, os.Stdout)
	if fault.Is(err, fault.NotFound) {
		return fmt.Errorf("there is no generation %q in this ledger; an answer has its id as id and in X-Generation-Id (gen-...), and one that has just ended takes a moment", c.Generation)
	}
	return err
}

type catalogCmd struct {
	List   catalogListCmd   `cmd:"" help:"List the models that this configuration serves, with prices in rubles."`
	Show   catalogShowCmd   `cmd:"" help:"Show the endpoints of one model, what they cost, and where each price comes from."`
	Import catalogImportCmd `cmd:"" help:"Generate the built-in catalog from open price lists."`

	Update  catalogUpdateCmd  `cmd:"" help:"Fetch the public price lists, make a draft of new prices, and show what differs."`
	Publish catalogPublishCmd `cmd:"" help:"Put the draft of new prices into use."`

	Provider providerCmd       `cmd:"" help:"List, add, change and remove providers at run time."`
	Endpoint endpointCmd       `cmd:"" aliases:"offer" help:"List, add, change and remove endpoints and their prices at run time."`
	Alias    aliasCmd          `cmd:"" help:"List, set and remove other names of models."`
	Order    orderCmd          `cmd:"" help:"Show and say which endpoints of a model are tried first, for everybody."`
	History  catalogHistoryCmd `cmd:"" help:"List the changes that were made at run time."`
}

// built returns the catalog of the configuration and, if there is one, the database.
func (p *location) built(ctx context.Context) (*edit.Built, error) {
	cfg, err := p.load("")
	if err != nil {
		return nil, err
	}
	return built(ctx, cfg)
}

func built(ctx context.Context, cfg config.Config) (*edit.Built, error) {
	b, err := app.BuildCatalog(ctx, cfg)
	if err != nil {
		return nil, err
	}
	for _, what := range b.Left {
		fmt.Fprintln(os.Stderr, "weir: "+what)
	}
	return b, nil
}

// snapshot returns the catalog alone, without the parts that only editing needs.
func (p *location) snapshot(ctx context.Context) (*catalog.Snapshot, error) {
	cfg, err := p.load("")
	if err != nil {
		return nil, err
	}
	return snapshot(ctx, cfg)
}

func snapshot(ctx context.Context, cfg config.Config) (*catalog.Snapshot, error) {
	b, err := built(ctx, cfg)
	if err != nil {
		return nil, err
	}
	snap := b.Snapshot
	if len(snap.Models()) == 0 {
		return nil, errors.New("no models: set a provider's key variable such as OPENAI_API_KEY, or declare providers in weir.yaml (see weir.example.yaml)")
	}
	return snap, err
}

type routeCmd struct {
	Explain routeExplainCmd `cmd:"" help:"Show each candidate for a request, what dropped it, and the order of attempts."`
}

type routeExplainCmd struct {
	location
	Model string `arg:"" optional:"" help:"Id of the model, or - to read a whole chat request from standard input."`
	Body  string `help:"File with a whole chat request, instead of a model." type:"existingfile" placeholder:"FILE"`
	User  string `help:"Name or id of a user whose preferences apply, too." placeholder:"USER"`
	Key   string `help:"Hash, its beginning, or label of a key whose preferences apply, with those of its user." placeholder:"KEY"`
	JSON  bool   `name:"json" help:"Print what POST /v1/route/explain answers."`
}

func (c *routeExplainCmd) Run(ctx context.Context) error {
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	snap, err := snapshot(ctx, cfg)
	if err != nil {
		return err
	}
	body, err := c.request()
	if err != nil {
		return err
	}
	defaults, err := c.defaults(ctx, cfg)
	if err != nil {
		return err
	}
	e, err := app.ExplainRoute(cfg, snap, defaults, body)
	switch {
	case fault.Is(err, fault.ModelNotFound):
		return fmt.Errorf("%s See: weir catalog list", sentence(err))
	case err != nil:
		return err
	case c.JSON:
		_, err = fmt.Printf("%s\n", e.JSON)
	default:
		err = printPlan(e)
	}
	if e.Err != nil {
		return errors.Join(e.Err, err)
	}
	return err
}

// defaults returns the preferences of the user or key in the flags.
func (c *routeExplainCmd) defaults(ctx context.Context, cfg config.Config) (d apikey.Defaults, err error) {
	if c.User == "" && c.Key == "" {
		return d, nil
	}
	if c.User != "" && c.Key != "" {
		return d, errors.New("give --user or --key, not both: a key has one user")
	}
	o, err := openAdmin(ctx, cfg, false)
	if err != nil {
		return d, err
	}
	defer o.Close()
	if c.User != "" {
		u, err := o.UserNamed(ctx, c.User)
		return apikey.Defaults{Account: u.Preferences}, err
	}
	hash, err := o.KeyNamed(ctx, c.Key)
	if err != nil {
		return d, err
	}
	found, err := o.Store.Accounts.KeyByHash(ctx, hash)
	return apikey.Defaults{Account: found.AccountPreferences, Key: found.Preferences}, err
}

// request returns the chat request to explain.
func (c *routeExplainCmd) request() ([]byte, error) {
	switch {
	case c.Body != "" && c.Model != "":
		return nil, errors.New("give a model or --body, not both")
	case c.Body != "":
		f, err := os.Open(c.Body)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		return app.ReadAll(f)
	case c.Model == "-":
		return app.ReadAll(os.Stdin)
	case c.Model == "":
		return nil, errors.New("name a model, or give a chat request with --body FILE or - for standard input")
	}
	return append(rawjson.AppendText([]byte(`{"model":`), c.Model), `,"messages":[{"role":"user","content":"Hello"}]}`...), nil
}

func printPlan(e app.RouteExplanation) error {
	err := table("ORDER\tENDPOINT\tMODEL\tREASON\tSCORE\tPROMPT\tCOMPLETION\tHOLD\tDROPPED BY\tDETAIL", func(w *tabwriter.Writer) {
		for i := range e.Candidates {
			cand, weighed := &e.Plan.Candidates[i], &e.Candidates[i]
			order, hold := "-", "-"
			if cand.Order > 0 {
				order = fmt.Sprint(cand.Order)
			}
			if weighed.Hold >= 0 {
				hold = weighed.Hold.String()
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.4g\t%s\t%s\t%s\t%s\t%s\n", order, cand.Endpoint.Tag, cand.Slug, cand.Reason, cand.Score,
				weighed.Prices.Prompt, weighed.Prices.Completion, hold, cand.DroppedBy, cand.Detail)
		}
	})
	if err != nil {
		return err
	}
	_, err = fmt.Printf("\nPrices are rubles per 1000 tokens; catalog %s.\n", e.Catalog.Version)
	return err
}
