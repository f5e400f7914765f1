package app

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/idempotency"
)

// makeHistory makes the keeper of responses that may be continued.
func (g *Gateway) makeHistory() (*history.Manager, error) {
	c := g.cfg.Responses
	c.Now, c.StoreFor = g.clock, patience(&g.cfg, c.StoreFor)
	c.Shared = g.cfg.Store.DSN.Postgres()
	for i := range c.Files {
		f, err := newWaitingFile(filepath.Join(g.cfg.DataDir, responsesFolder), "waiting-"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		c.Files[i] = f
		g.onClose(func(context.Context) { _ = f.Close() })
	}
	c.Report = func(what string, err error) { g.slog.Error(what, "error", err) }
	return history.New(g.store.Pages, c), nil
}

// responsesFolder of the data directory has the files of responses that wait for the store.
const responsesFolder = "responses"

// waitingFile is a history.File.
type waitingFile struct{ *os.File }

// newWaitingFile opens a file that its owner alone may read: it has what people have asked.
func newWaitingFile(dir, name string) (*waitingFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	return &waitingFile{f}, err
}

// Read is history.File.Read.
func (f *waitingFile) Read() ([]byte, error) { return os.ReadFile(f.Name()) }

// Empty is history.File.Empty.
func (f *waitingFile) Empty() error { return f.Truncate(0) }

// makeNamed makes the keeper of answers to requests with a name. It sets RunFor above the longest time that a call may take: an older call is no
// longer running.
func (g *Gateway) makeNamed() *idempotency.Manager {
	c := g.cfg.Idempotency
	c.Now, c.Node, c.Life, c.StoreFor = time.Now, g.book.Node(), apikey.NewID(""), patience(&g.cfg, c.StoreFor)
	c.Settled = func(ctx context.Context, wallet, generation string) (bool, error) {
		c, _, err := g.book.Call(ctx, wallet, generation)
		if fault.Is(err, fault.NotFound) { // a job that is still running is charged later, and so are the requests of a batch
			found, err := g.store.Jobs.HasJob(ctx, wallet, generation)
			if err != nil || found {
				return found, err
			}
			return g.store.Jobs.HasBatch(ctx, wallet, generation)
		}
		return err == nil && c.Settled, err
	}
	c.RunFor = max(g.cfg.Upstream.Total, g.cfg.Upstream.StreamTotal) + g.cfg.Relay.AttemptBudget + time.Minute
	c.Report = func(what string, err error) { g.slog.Error(what, "error", err) }
	return idempotency.New(g.store.Pages, c)
}
