package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"weir/internal/app"
	"weir/internal/figures"
	"weir/internal/rawjson"
)

type doctorCmd struct {
	location
	Keys  bool `help:"Also call each provider with each of its keys, which it bills."`
	Books bool `help:"Also recompute the ledger, which reads all of it."`
	JSON  bool `name:"json" help:"Print a JSON object for each finding."`
}

// errIll ends the command with exit code 1. The output already has the findings.
var errIll = errors.New("something does not work: see the errors above")

func (c *doctorCmd) Run(ctx context.Context) error {
	cfg, err := c.loadAll("")
	if err != nil {
		return fmt.Errorf("the configuration cannot be used: %w", err)
	}
	ill := false
	report := func(f app.Finding) {
		ill = ill || f.Is == app.Bad
		f.What, f.Do = c.hint(f.What), c.hint(f.Do)
		if c.JSON {
			fmt.Println(string(findingJSON(&f)))
			return
		}
		fmt.Printf("%-8s %-16s %s\n", f.Is, f.Part, f.What)
		if f.Do != "" {
			fmt.Printf("%-8s %-16s -> %s\n", "", "", f.Do)
		}
	}
	app.Doctor{Version: app.Version, Path: c.Config, Books: c.Books, Keys: c.Keys}.Examine(ctx, cfg, report)
	if url, err := readyURL("http", cfg.Server.AdminListen); err == nil {
		if now, err := look(ctx, &http.Client{Transport: &http.Transport{}, Timeout: readyFor}, strings.TrimSuffix(url, "/readyz")); err == nil { // a node runs here
			if f, found := resting(now); found {
				report(f)
			}
		}
	}
	if ill {
		return errIll
	}
	return nil
}

// resting says which providers have refused credentials of a node, while some are not used for that.
func resting(s *figures.Scrape) (app.Finding, bool) {
	n, _ := s.Value("weir_credentials_resting")
	if n == 0 {
		return app.Finding{}, false
	}
	var refused []string
	for _, m := range s.Samples {
		if figures.Name(m) == "weir_credentials_refused_total" && m.Value > 0 {
			refused = append(refused, fmt.Sprintf("%s with %s, %.0f times", plain(figures.Label(m, "provider"), 64), plain(figures.Label(m, "status"), 3), float64(m.Value)))
		}
	}
	return app.Finding{Part: "credentials", Is: app.Weak, Do: `look in the log for "a credential was refused and rests"; then: weir provider test`,
		What: fmt.Sprintf("%.0f are not used at present, for some model or for all; since the node started, refused by %s", n, strings.Join(refused, "; "))}, true
}

func findingJSON(f *app.Finding) []byte {
	var w rawjson.Writer
	w.Object()
	w.Name("part").Text(f.Part)
	w.Name("state").Text(string(f.Is))
	w.Name("what").Text(f.What)
	if w.Name("do"); f.Do == "" {
		w.Null()
	} else {
		w.Text(f.Do)
	}
	w.EndObject()
	return w.B
}
