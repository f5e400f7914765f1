package importer

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/fault"
)

// counts are the figures of a report.
type counts struct {
	models map[string]int            // by type
	offers map[string]map[string]int // provider -> type or tier -> endpoints
	all    int                       // endpoints
	retire map[string][]string       // day -> ids of endpoints that are not served from then on
}

// count counts what a program with this catalog serves when all its providers have keys, on the day of the lists.
func (r *Result) count() (c counts, err error) {
	c = counts{models: map[string]int{}, offers: map[string]map[string]int{}, retire: map[string][]string{}}
	list, err := builtin.ReadList(r.Catalog)
	if err != nil {
		return c, err
	}
	snap, err := list.On(list.AsOf).Build()
	if err != nil {
		return c, err
	}
	for _, m := range snap.Models() {
		c.models[m.Type]++
		for _, ep := range m.Endpoints {
			of := c.offers[ep.Provider.ID]
			if of == nil {
				of = map[string]int{}
				c.offers[ep.Provider.ID] = of
			}
			kind := m.Type
			if ep.Tier != "default" {
				kind = ep.Tier
			}
			of[kind]++
			c.all++
			if !ep.Retires.IsZero() && ep.Tier == "default" {
				day := ep.Retires.Format(time.DateOnly)
				c.retire[day] = append(c.retire[day], ep.ID)
			}
		}
	}
	return c, nil
}

// kinds are the types in the order of a report, with the service tiers after them.
var kinds = []string{catalog.TypeChat, catalog.TypeEmbedding, catalog.TypeModeration, catalog.TypeTranscription, catalog.TypeImage, catalog.TypeVideo,
	catalog.TypeSpeech, catalog.TypeRerank, "flex", "priority", catalog.BatchTier}

const (
	mark = "<!-- made by weir catalog import: do not edit below -->\n"
	dash = "—"
)

// Page writes the tables of what was imported below the mark in a page for readers. A page without the mark fails with fault.Invalid.
func (r *Result) Page(page []byte, providers []builtin.Provider) ([]byte, error) {
	c, err := r.count()
	if err != nil {
		return nil, err
	}
	return below(page, func(b *bytes.Buffer) {
		c.totals(b)
		c.served(b, providers)
		c.retiring(b)
		templates(b, providers)
	})
}

// Report writes what was not imported, and why, below the mark in the importer's own page. A page without the mark fails with
// fault.Invalid.
func (r *Result) Report(page []byte) ([]byte, error) { return below(page, r.leftOut) }

// below replaces what stands below the mark in a page.
func below(page []byte, write func(*bytes.Buffer)) ([]byte, error) {
	head, _, found := bytes.Cut(page, []byte(mark))
	if !found {
		return nil, fault.New(fault.Invalid, "importer.Report", "The page lacks the line "+strings.TrimSpace(mark))
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteString(mark)
	write(&b)
	return b.Bytes(), nil
}

func (c *counts) totals(b *bytes.Buffer) {
	b.WriteString("\n## In numbers\n\nWhat is served when all providers have keys, on the day of the lists.\n\n| type | models | endpoints |\n|---|--:|--:|\n")
	models := 0
	for _, kind := range kinds {
		n := 0
		for _, of := range c.offers {
			n += of[kind]
		}
		models += c.models[kind]
		switch kind {
		case "flex", "priority", catalog.BatchTier:
			fmt.Fprintf(b, "| service tier `%s` | | %d |\n", kind, n)
		default:
			fmt.Fprintf(b, "| `%s` | %d | %d |\n", kind, c.models[kind], n)
		}
	}
	fmt.Fprintf(b, "| together | %d | %d |\n", models, c.all)
}

func (c *counts) served(b *bytes.Buffer, providers []builtin.Provider) {
	b.WriteString("\n## Providers\n\n| id | name | variables | wire | data policy | models |\n|---|---|---|---|---|---|\n")
	for i := range providers {
		p := &providers[i]
		if p.Template {
			continue
		}
		var parts []string
		for _, kind := range kinds {
			if n := c.offers[p.ID][kind]; n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, kind))
			}
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", p.ID, p.Name, variables(p), p.Dialect, p.DataPolicy, strings.Join(parts, ", "))
	}
}

func (c *counts) retiring(b *bytes.Buffer) {
	b.WriteString("\n## Retired by date\n\nFrom these days on the endpoints are left out.\n\n| day | endpoints |\n|---|---|\n")
	for _, day := range slices.Sorted(maps.Keys(c.retire)) {
		fmt.Fprintf(b, "| %s | `%s` |\n", day, strings.Join(c.retire[day], "`, `"))
	}
}

// variables are the environment variables of a provider: its keys, any of which is enough, and those that its address or its model ids
// need.
func variables(p *builtin.Provider) string {
	keys := make([]string, 0, len(p.KeyVariables))
	for _, name := range p.KeyVariables {
		keys = append(keys, "`"+name+"`")
	}
	text := cmp.Or(strings.Join(keys, " or "), dash)
	for _, name := range append(builtin.Variables(p.BaseURL), builtin.Variables(p.UpstreamID)...) {
		text += ", and `" + name + "`"
	}
	return text
}

func templates(b *bytes.Buffer, providers []builtin.Provider) {
	b.WriteString("\n## Known without prices\n\nA declaration with `like:` takes address, key variable, quirks and facts from these and brings the models.\n\n")
	b.WriteString("| like | name | address | variables |\n|---|---|---|---|\n")
	for i := range providers {
		if p := &providers[i]; p.Template {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.ID, p.Name, p.BaseURL, variables(p))
		}
	}
}

func (r *Result) leftOut(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## Left out\n\n%d ids in the sources were not taken.\n\n| reason | ids |\n|---|--:|\n", len(r.Refused))
	by := map[string][]Refusal{}
	for _, x := range r.Refused {
		by[x.Reason] = append(by[x.Reason], x)
	}
	reasons := slices.SortedFunc(maps.Keys(by), func(x, y string) int { return cmp.Or(len(by[y])-len(by[x]), cmp.Compare(x, y)) })
	for _, reason := range reasons {
		fmt.Fprintf(b, "| %s | %d |\n", reason, len(by[reason]))
	}
	for _, reason := range reasons {
		fmt.Fprintf(b, "\n### %s\n", strings.ToUpper(reason[:1])+reason[1:])
		last := ""
		for _, x := range by[reason] {
			if x.Provider != last {
				fmt.Fprintf(b, "\n- **%s**: ", x.Provider)
			} else {
				b.WriteString(", ")
			}
			b.WriteString("`" + x.ID + "`")
			last = x.Provider
		}
		b.WriteString("\n")
	}
}
