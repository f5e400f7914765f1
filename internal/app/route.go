package app

import (
	"context"
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

// CatalogFiles are what an import of price lists writes.
type CatalogFiles struct {
	Out    string // the catalog
	Page   string // the page for readers, whose part below its mark is written anew
	Report string // what was left out, and why: the same
}

// ImportCatalog makes the built-in catalog's files from a folder of open price lists, and writes a summary.
func ImportCatalog(dir string, files CatalogFiles, summary io.Writer) error {
	result, err := importer.Import(os.DirFS(dir), builtin.Providers(), importer.DefaultBook())
	if err != nil {
		return err
	}
	page, err := os.ReadFile(files.Page)
	if err != nil {
		return err
	}
	report, err := os.ReadFile(files.Report)
	if err != nil {
		return err
	}
	if page, err = result.Page(page, builtin.Providers()); err != nil {
		return err
	}
	if report, err = result.Report(report); err != nil {
		return err
	}
	differences := filepath.Join(dir, "differences.tsv")
	for file, content := range map[string][]byte{files.Out: result.Catalog, files.Page: page, files.Report: report, differences: result.Differences()} {
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(summary, "%d offers taken, %d left out; see %s\n%d prices on which the lists disagree; see %s\n", result.Taken, len(result.Refused), files.Report, len(result.Differs), differences)
	return err
}
