package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/app"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

type ledgerCmd struct {
	Verify  ledgerVerifyCmd  `cmd:"" help:"Recompute every balance, charge and roll-up; exit with 1 when anything is off."`
	Explain ledgerExplainCmd `cmd:"" help:"Show how each number of a charge came about."`
}

type ledgerVerifyCmd struct {
	place
	JSON bool `name:"json" help:"Print the report as JSON."`
}

// errNotBalanced ends verify with exit code 1; the report has said the rest.
var errNotBalanced = errors.New("the ledger is not balanced")

func (c *ledgerVerifyCmd) Run(ctx context.Context) error {
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	o, err := app.OpenOffice(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer o.Close()
	report, err := o.Verify(ctx, cfg.DataDir)
	if err != nil {
		return err
	}
	if c.JSON {
		b := fmt.Appendf(nil, `{"balanced":%t,"at":"%s","checks":[`, report.OK(), report.At.UTC().Format(time.RFC3339))
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
	return nil
}

type ledgerExplainCmd struct {
	place
	Generation string `arg:"" help:"Id of the generation, as answers and X-Generation-Id have it (gen-...)."`
}

func (c *ledgerExplainCmd) Run(ctx context.Context) error {
	o, err := c.office(ctx, false)
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
	List   catalogListCmd   `cmd:"" help:"List the models that this configuration serves, with prices in rubles per 1000 tokens."`
	Show   catalogShowCmd   `cmd:"" help:"Show the endpoints of one model."`
	Import catalogImportCmd `cmd:"" help:"Make the built-in catalog's file from open price lists."`
}

// snapshot is the catalog that the configuration gives.
func (p *place) snapshot() (*catalog.Snapshot, error) {
	cfg, err := p.load("")
	if err != nil {
		return nil, err
	}
	snap, err := cfg.Catalog(os.LookupEnv)
	if err == nil && len(snap.Models()) == 0 {
		return nil, errors.New("no models: set a provider's key variable such as OPENAI_API_KEY, or declare providers in weir.yaml (see weir.example.yaml)")
	}
	return snap, err
}

type catalogListCmd struct {
	place
	Search string `arg:"" optional:"" help:"Only models whose id contains this."`
}

func (c *catalogListCmd) Run() error {
	snap, err := c.snapshot()
	if err != nil {
		return err
	}
	return table("MODEL\tPROMPT\tCOMPLETION\tCONTEXT\tPROVIDERS", func(w *tabwriter.Writer) {
		for _, m := range snap.Models() {
			if !strings.Contains(m.Slug, c.Search) {
				continue
			}
			best := catalog.Cheapest(m.Endpoints)
			providers := make([]string, 0, len(m.Endpoints))
			for _, ep := range m.Endpoints {
				providers = append(providers, ep.Tag)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", m.Slug, best.Pricing.Base.Prompt, best.Pricing.Base.Completion, m.ContextLength, strings.Join(providers, ", "))
		}
	})
}

type catalogShowCmd struct {
	place
	Model string `arg:"" help:"Id of the model, vendor/model."`
}

func (c *catalogShowCmd) Run() error {
	snap, err := c.snapshot()
	if err != nil {
		return err
	}
	m, _, ok := snap.Resolve(c.Model)
	if !ok {
		return fmt.Errorf("there is no model %q; see: weir catalog list", c.Model)
	}
	fmt.Printf("%s  %s\n", m.Slug, m.Name)
	for _, ep := range m.Endpoints {
		fmt.Printf("\n%s\n  upstream id    %s\n  context        %d\n  max output     %d\n  data policy    %s\n  input, output  %s; %s\n  parameters     %s\n",
			ep.Tag, ep.UpstreamID, ep.ContextLength, ep.MaxCompletion, ep.Provider.DataPolicy, ep.Input, ep.Output, ep.Params)
		for _, name := range catalog.PriceNames() {
			if p := ep.Pricing.Base.Field(name); p.Set {
				fmt.Printf("  %-17s  %s rubles\n", name, p)
			}
		}
		for _, t := range ep.Pricing.Thresholds {
			fmt.Printf("  above %d prompt tokens: prompt %s, completion %s\n", t.Above, t.Prices.Prompt, t.Prices.Completion)
		}
		fmt.Printf("  price list     %s %s\n", ep.Pricing.List, ep.Pricing.Rate)
	}
	return nil
}

type catalogImportCmd struct {
	Dir string `arg:"" type:"existingdir" help:"Folder with the price lists: models-dev, litellm, portkey-models."`
	Out string `help:"File to write." default:"internal/catalog/builtin/catalog.json" placeholder:"FILE"`
}

func (c *catalogImportCmd) Run() error { return app.ImportCatalog(c.Dir, c.Out, os.Stdout) }

type routeCmd struct {
	Explain routeExplainCmd `cmd:"" help:"Show every candidate for a request, what dropped it, and the order of attempts."`
}

type routeExplainCmd struct {
	place
	Model string `arg:"" help:"Id of the model, or - to read a whole chat request from standard input."`
}

func (c *routeExplainCmd) Run() error {
	snap, err := c.snapshot()
	if err != nil {
		return err
	}
	body := append(rawjson.AppendText([]byte(`{"model":`), c.Model), `,"messages":[{"role":"user","content":"Hello"}]}`...)
	if c.Model == "-" {
		if body, err = app.ReadAll(os.Stdin); err != nil {
			return err
		}
	}
	plan, err := app.ExplainRoute(snap, body, rand.Float64)
	if fault.Is(err, fault.ModelNotFound) {
		return fmt.Errorf("%s See: weir catalog list", sentence(err))
	}
	if len(plan.Candidates) == 0 && err != nil {
		return err
	}
	printErr := table("ORDER\tENDPOINT\tMODEL\tREASON\tSCORE\tDROPPED BY\tDETAIL", func(w *tabwriter.Writer) {
		for i := range plan.Candidates {
			cand := &plan.Candidates[i]
			order := "-"
			if cand.Order > 0 {
				order = fmt.Sprint(cand.Order)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%g\t%s\t%s\n", order, cand.Endpoint.Tag, cand.Slug, cand.Reason, cand.Score, cand.DroppedBy, cand.Detail)
		}
	})
	return errors.Join(err, printErr)
}
