package app

import (
	"fmt"
	"io"
	"os"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/importer"
	"weir/internal/routing"
	"weir/internal/wire/chat"
)

// maxInput is the largest request that a command reads.
const maxInput = 32 << 20

// ReadAll reads a request from a command's input.
func ReadAll(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("the request is larger than %d bytes", maxInput)
	}
	return b, err
}

// ExplainRoute plans a chat request without sending it. Nothing is known of the endpoints' health, so the plan is that of a fresh node.
func ExplainRoute(snap *catalog.Snapshot, body []byte, random func() float64) (routing.Plan, error) {
	req, err := chat.Decode(body)
	if err != nil {
		return routing.Plan{}, err
	}
	return routing.Choose(routing.Query{
		Models: req.Models, Preferences: req.Preferences, Needs: req.Needs, Rand: random, Explain: true,
	}, snap)
}

// ImportCatalog makes the built-in catalog's file from a folder of open price lists, and reports what was left out and why.
func ImportCatalog(dir, out string, report io.Writer) error {
	result, err := importer.Import(os.DirFS(dir), builtin.Providers())
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, result.Catalog, 0o644); err != nil {
		return err
	}
	for _, r := range result.Refused {
		if _, err := fmt.Fprintf(report, "left out  %s  %s: %s\n", r.Provider, r.ID, r.Reason); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(report, "%d offers taken, %d left out\n", result.Taken, len(result.Refused))
	return err
}
