package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"weir/internal/app"
	"weir/internal/outbound"
	"weir/internal/rawjson"
)

type providersCmd struct {
	Test providerTestCmd `cmd:"" help:"Call a provider once for each type of model and credential, and say what is wrong."`
}

type providerTestCmd struct {
	location
	ID   string `arg:"" help:"Id of the provider, see: weir catalog provider list"`
	All  bool   `help:"Also make an image."`
	JSON bool   `name:"json" help:"Print a JSON object for each call."`
}

// errTrial ends the command with exit code 1. The output already has the details.
var errTrial = errors.New("the provider does not work as it is configured")

func (c *providerTestCmd) Run(ctx context.Context) error {
	cfg, err := c.loadAll("")
	if err != nil {
		return err
	}
	failed := false
	err = app.TestProvider(ctx, cfg, c.ID, c.All, func(t app.Trial) {
		failed = failed || t.Wrong != ""
		if c.JSON {
			fmt.Println(string(trialJSON(&t)))
			return
		}
		printTrial(&t)
	})
	if err != nil {
		return err
	}
	if failed {
		return errTrial
	}
	return nil
}

func printTrial(t *app.Trial) {
	what := fmt.Sprintf("%-20s %s over %s at %s", t.Type, t.Model, t.Dialect, t.Address)
	if t.Key > 0 {
		what += fmt.Sprintf(", credential %d", t.Key)
	}
	fmt.Println(what)
	switch {
	case t.Skipped != "":
		fmt.Printf("  not called: %s\n", t.Skipped)
	case t.Wrong != "":
		fmt.Printf("  WRONG %s: %s\n", t.Wrong, t.Detail)
		fmt.Printf("  called %s, after %s\n", by(t.Way), t.Took.Round(time.Millisecond))
	default:
		used := ""
		if t.Usage != nil && t.Usage.Prompt.Reported {
			used = fmt.Sprintf(", %d + %d tokens", t.Usage.Prompt.N, t.Usage.Completion.N)
		}
		fmt.Printf("  works, %s, after %s%s\n", by(t.Way), t.Took.Round(time.Millisecond), used)
	}
	for _, a := range t.Advice {
		fmt.Printf("  %s\n", a)
	}
}

// by names a way in a sentence.
func by(way string) string {
	if way == outbound.Direct {
		return "directly"
	}
	return "through " + way
}

func trialJSON(t *app.Trial) []byte {
	var w rawjson.Writer
	w.Object()
	for _, f := range []struct{ name, text string }{
		{"type", t.Type}, {"dialect", t.Dialect}, {"address", t.Address}, {"model", t.Model}, {"upstream_id", t.Upstream},
		{"skipped", t.Skipped}, {"way", t.Way}, {"wrong", t.Wrong}, {"detail", t.Detail}, {"advice", strings.Join(t.Advice, " ")},
	} {
		w.Name(f.name)
		if f.text == "" {
			w.Null()
		} else {
			w.Text(f.text)
		}
	}
	w.Name("credential").Int(int64(t.Key))
	w.Name("took_ms").Int(t.Took.Milliseconds())
	w.EndObject()
	return w.B
}
