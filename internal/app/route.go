package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/importer"
	"weir/internal/config"
	"weir/internal/httpapi"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire"
	"weir/internal/wire/chat"
)

// maxInput is the largest request that a command reads, in bytes.
const maxInput = 32 << 20

// ReadAll reads a request from a command's input. It fails for more than maxInput bytes.
func ReadAll(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("the request is larger than %d bytes", maxInput)
	}
	return b, err
}

// RouteExplanation describes how a chat request would be routed.
type RouteExplanation struct {
	*relay.Explanation
	JSON []byte // the answer of POST /v1/route/explain
}

// ExplainRoute plans a chat request without sending it. The preferences of an account and a key are JSON objects, "" for none. No endpoint
// has a health history, so the plan is that of a fresh node.
func ExplainRoute(cfg config.Config, snap *catalog.Snapshot, defaults apikey.Defaults, body []byte) (RouteExplanation, error) {
	req, err := chat.Decode(body)
	if err != nil {
		return RouteExplanation{}, err
	}
	caller := &apikey.Caller{}
	if caller.Defaults, err = apikey.ReadDefaults(defaults, readPreferences); err != nil {
		return RouteExplanation{}, err
	}
	if list := rawjson.Find([]byte(defaults.Account), "plugins"); list != nil {
		wire.UsePlugins(req, list)
	}
	calls := relay.New(relay.Deps{Now: time.Now, Rand: rand.Float64}, cfg.Relay.Config)
	e, err := calls.Explain(context.Background(), &relay.Call{Caller: caller, Request: req, At: time.Now(), Catalog: snap})
	if err != nil {
		return RouteExplanation{}, err
	}
	answer, err := httpapi.Explanation(req, e)
	return RouteExplanation{e, answer}, err
}

// ImportCatalog makes the built-in catalog's file from a folder of open price lists. It writes into the page what was imported, what was
// left out, and why, and into the folder on which prices the lists disagree. It prints the totals.
func ImportCatalog(dir, out, page string, report io.Writer) error {
	result, err := importer.Import(os.DirFS(dir), builtin.Providers(), importer.DefaultBook())
	if err != nil {
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if text, err = result.Report(text, builtin.Providers()); err != nil {
		return err
	}
	differences := filepath.Join(dir, "differences.tsv")
	if err := errors.Join(os.WriteFile(out, result.Catalog, 0o644), os.WriteFile(page, text, 0o644), os.WriteFile(differences, result.Differences(), 0o644)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(report, "%d offers taken, %d left out; see %s\n%d prices on which the lists disagree; see %s\n", result.Taken, len(result.Refused), page, len(result.Differs), differences)
	return err
}
