package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/app"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/config"
)

type catalogListCmd struct {
	location
	Search string `arg:"" optional:"" help:"Only models whose id contains this."`
	Type   string `help:"Only models of this type: chat, embedding, moderation, audio_transcription, image, video, audio_speech, rerank." placeholder:"TYPE"`
}

func (c *catalogListCmd) Run(ctx context.Context) error {
	snap, err := c.snapshot(ctx)
	if err != nil {
		return err
	}
	return table("MODEL\tTYPE\tRUBLES\tCONTEXT\tPROVIDERS", func(w *tabwriter.Writer) {
		for _, m := range snap.Models() {
			if !strings.Contains(m.Slug, c.Search) || c.Type != "" && m.Type != c.Type {
				continue
			}
			price := "-"
			if best := catalog.Cheapest(m.Endpoints); best != nil {
				price = headline(&best.Pricing)
			}
			tags := make([]string, 0, len(m.Endpoints))
			for _, ep := range m.Endpoints {
				tags = append(tags, ep.Tag)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", m.Slug, m.Type, price, m.ContextLength, strings.Join(tags, ", "))
		}
	})
}

// words joins the non-empty texts.
func words(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), " ")
}

// headline returns the first price of an endpoint, and the price of answers if there is one.
func headline(p *catalog.Pricing) string {
	lines := p.Lines()
	if len(lines) == 0 {
		return "-"
	}
	text := lines[0].Price.String() + " " + lines[0].Name
	for _, l := range lines[1:] {
		if l.Name == "completion" || l.Name == "image_output" || l.Name == "audio_output" && !p.Base.Completion.Set {
			text += ", " + l.Price.String() + " " + l.Name
		}
	}
	return text
}

type catalogShowCmd struct {
	location
	Model string `arg:"" help:"Id of the model, vendor/model."`
}

func (c *catalogShowCmd) Run(ctx context.Context) error {
	snap, err := c.snapshot(ctx)
	if err != nil {
		return err
	}
	m, _, ok := snap.Resolve(c.Model)
	if !ok {
		return fmt.Errorf("there is no model %q; see: weir catalog list", c.Model)
	}
	fmt.Printf("%s  %s  (%s)\n", m.Slug, m.Name, m.Type)
	if v := m.Video; v != nil {
		field("resolutions", strings.Join(v.Resolutions, ", "))
		field("sizes", strings.Join(v.Sizes, ", "))
		field("ratios", strings.Join(v.AspectRatios, ", "))
		field("seconds", strings.Trim(fmt.Sprint(v.Durations), "[]"))
		field("frames", strings.Join(v.FrameImages, ", "))
	}
	for _, ep := range m.Endpoints {
		showEndpoint(ep)
	}
	return nil
}

// field prints one line, unless the value is empty.
func field(name string, value any) {
	if text := fmt.Sprint(value); text != "" && text != "0" {
		fmt.Printf("  %-14s %s\n", name, text)
	}
}

func showEndpoint(ep *catalog.Endpoint) {
	fmt.Printf("\n%s\n", ep.Tag)
	field("upstream id", ep.UpstreamID)
	field("context", ep.ContextLength)
	field("max output", ep.MaxCompletion)
	field("quantization", ep.Quantization)
	field("data policy", ep.Provider.DataPolicy)
	field("input, output", fmt.Sprintf("%s; %s", ep.Input, ep.Output))
	if ep.Model.Type == catalog.TypeChat { // other types have other parameters
		field("parameters", ep.Params)
	}
	field("max in flight", ep.MaxInFlight)
	for _, l := range ep.Pricing.Lines() {
		fmt.Printf("  %-24s %s rubles per %s\n", l.Name, l.Price, l.Per)
	}
	field("price list", words(ep.Pricing.List, ep.Pricing.Rate))
	field("source", ep.Pricing.Source)
	if !ep.UpdatedAt.IsZero() {
		field("as of", ep.UpdatedAt.Format(time.DateOnly))
	}
	if !ep.Retires.IsZero() {
		field("retires", ep.Retires.Format(time.DateOnly))
	}
}

type catalogImportCmd struct {
	Dir    string `arg:"" optional:"" type:"existingdir" help:"Folder with the price lists: models-dev, litellm, portkey-models, genai-prices (internal/catalog/sources)."`
	Out    string `help:"File to write (${default})." default:"internal/catalog/builtin/catalog.json" placeholder:"FILE"`
	Page   string `help:"Page for readers, whose generated part is rewritten (${default})." default:"docs/catalog.md" placeholder:"FILE"`
	Report string `help:"Report of what was left out, whose generated part is rewritten (${default})." default:"internal/catalog/importer/REPORT.md" placeholder:"FILE"`
}

func (c *catalogImportCmd) Run() error {
	dir := cmp.Or(c.Dir, "internal/catalog/sources")
	if err := app.ImportCatalog(dir, app.CatalogFiles{Out: c.Out, Page: c.Page, Report: c.Report}, os.Stdout); err != nil {
		return fmt.Errorf("import from %s: %s", dir, sentence(err))
	}
	return nil
}

type catalogUpdateCmd struct {
	location
	From    string `help:"Read the lists from this folder (models-dev, litellm, portkey-models, genai-prices), for machines without a network." type:"existingdir" placeholder:"DIR"`
	AsOf    string `help:"With --from: day of the lists, such as 2026-11-23; without it, today." placeholder:"DAY"`
	Least   string `help:"Show only prices that change by more than this share (${default})." default:"0.01" placeholder:"SHARE"`
	Publish bool   `help:"Put the draft into use at once."`
}

func (c *catalogUpdateCmd) Run(ctx context.Context) error {
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	least, ok := app.LeastChange(c.Least)
	if !ok {
		return fmt.Errorf("--least must be a share such as 0.01, not %q", c.Least)
	}
	at := time.Now()
	if c.AsOf != "" {
		if at, err = time.Parse(time.DateOnly, c.AsOf); err != nil {
			return fmt.Errorf("--as-of must be a day such as 2026-11-23, not %q", c.AsOf)
		}
	}
	var dir fs.FS
	if c.From != "" {
		dir = os.DirFS(c.From)
	}
	d, err := app.UpdatePrices(ctx, cfg, dir, at, operator)
	for _, note := range d.Notes {
		fmt.Fprintln(os.Stderr, note)
	}
	if err != nil {
		return err
	}
	if err := d.Changes.Print(os.Stdout, least); err != nil {
		return err
	}
	fmt.Println("Offers: " + countedKinds(d.Offers))
	fmt.Printf("The draft is of %s; %d ids were left out, and the lists disagree on %d prices.\n", d.AsOf, d.Refused, d.Differs)
	if !c.Publish {
		fmt.Println(c.hint("Put it into use with: weir catalog publish; or take parts of it into the draft at /admin/catalog"))
		return nil
	}
	return publishPrices(ctx, cfg)
}

// countedKinds says how many offers differ in which way, as the page of prices does.
func countedKinds(changes []edit.ListChange) string {
	var parts []string
	for _, kind := range edit.ListKinds {
		n := 0
		for i := range changes {
			if changes[i].Kind == kind {
				n++
			}
		}
		if kind == edit.ListLimits {
			kind = "with other limits only"
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, kind))
	}
	return strings.Join(parts, ", ")
}

type catalogPublishCmd struct {
	location
	Least    string `help:"Show only prices that change by more than this share (${default})." default:"0.01" placeholder:"SHARE"`
	Previous bool   `help:"Go back to the list that was in use before, instead of publishing a draft."`
	Builtin  bool   `help:"Go back to the list of the program."`
	listPart
}

func (c *catalogPublishCmd) Run(ctx context.Context) error {
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	least, ok := app.LeastChange(c.Least)
	if !ok {
		return fmt.Errorf("--least must be a share such as 0.01, not %q", c.Least)
	}
	part := c.listPart != listPart{}
	if c.Previous && c.Builtin || part && (c.Previous || c.Builtin) {
		return errors.New("give --previous, --builtin or a part of the list, not several of them")
	}
	if part {
		return c.publishPart(ctx)
	}
	if c.Previous || c.Builtin {
		asOf, err := app.RestorePrices(ctx, cfg, c.Builtin, operator)
		if err != nil {
			return err
		}
		fmt.Printf("Published: prices of %s; %s\n", asOf, soon)
		return nil
	}
	d, err := app.DraftedPrices(ctx, cfg)
	if err != nil {
		return err
	}
	if err := d.Changes.Print(os.Stdout, least); err != nil {
		return err
	}
	return publishPrices(ctx, cfg)
}

// publishPart puts a part of the list into use: as a draft of prices that has nothing else.
func (c *catalogPublishCmd) publishPart(ctx context.Context) error {
	return c.editing(ctx, func(o *app.Admin, e *edit.Editor) error {
		d, err := e.Draft(ctx)
		if err != nil {
			return err
		}
		if d != nil {
			return errors.New("there is a draft of prices already: take the part into it with: weir price take; or discard it with: weir price discard")
		}
		if d, err = e.TakeImport(ctx, 0, c.take(), operator); err != nil {
			return err
		}
		if err := c.showDraft(ctx, o, e, d); err != nil {
			return err
		}
		if d, err = e.PublishDraft(ctx, d.Version, time.Time{}, false, operator); err != nil {
			return err
		}
		fmt.Printf("Published as %d; %s\n", d.ID, soon)
		return nil
	})
}

func publishPrices(ctx context.Context, cfg config.Config) error {
	d, err := app.PublishPrices(ctx, cfg, operator)
	if err != nil {
		return err
	}
	fmt.Printf("Published: prices of %s; %s\n", d.AsOf, soon)
	return nil
}
