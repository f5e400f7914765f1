package app

import (
	"context"

	"weir/internal/apikey"
	"weir/internal/batch"
	"weir/internal/blob/folder"
	"weir/internal/blob/s3"
	"weir/internal/config"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/httpserver"
	"weir/internal/record"
	"weir/internal/upstream"
	"weir/internal/wire/batches"
)

// openFiles opens the blob store of users' files.
func openFiles(cfg *config.Config) (contents, error) {
	b := &cfg.Batch
	if b.Keep == config.KeepS3 {
		return s3.Open(b.S3.For(4 * b.MaxFileBytes)) // results are larger
	}
	return folder.Open(cfg.FileFolder(), int64(b.MinFreeBytes))
}

// makeBatches makes the service that keeps files and runs batches: new ones, and those that an earlier process or another node has left.
func (g *Gateway) makeBatches(verifier *apikey.Verifier, metrics *httpapi.Metrics) (*batch.Service, error) {
	kept, err := openFiles(&g.cfg)
	if err != nil {
		return nil, err
	}
	g.onClose(func(context.Context) { _ = kept.Close() })
	c := g.cfg.Batch.Config
	c.Now, c.StoreFor = g.clock, patience(&g.cfg, c.StoreFor)
	c.Report = func(what, id string, err error) { g.slog.Warn(what, "batch", id, "error", unquoted(err)) }
	return batch.New(batch.Deps{
		Store: g.store.Jobs, Contents: kept, Member: g.book,
		Wire: batches.Wire{}, Caller: verifier.Of, Defaults: readDefaults, Charge: g.charge, Void: g.void, Observer: httpapi.NewBatchMetrics(metrics),
		Native: upstream.NewBatches(g.upstream, g.catalog.Load),
	}, c), nil
}

// charge reports what the ledger knows of a call.
func (g *Gateway) charge(ctx context.Context, wallet, generation string) (batch.Charge, error) {
	c, _, err := g.book.Call(ctx, wallet, generation)
	if fault.Is(err, fault.NotFound) {
		return batch.Charge{}, nil
	}
	if err != nil {
		return batch.Charge{}, err
	}
	u := &c.Usage
	return batch.Charge{Known: true, Settled: c.Settled, Cost: c.Cost, Prompt: max(u.Prompt.N, 0), Cached: max(u.CacheRead.N, 0), Completion: max(u.Completion.N, 0), Reasoning: max(u.Reasoning.N, 0)}, nil
}

// apis are the names of the routes of batches in records.
var apis = map[string]string{
	"/v1/chat/completions": "completions", "/v1/responses": "responses", "/v1/messages": "messages", "/v1/embeddings": "embeddings", "/v1/moderations": "moderations", "/v1/rerank": "rerank",
}

// void records that a call of a batch was not made.
func (g *Gateway) void(ctx context.Context, b *batch.Batch, generation string) error {
	g.book.Note(&record.Call{Generation: generation, User: b.User, Wallet: b.Wallet, Key: b.Key, API: apis[b.Endpoint], At: g.clock(), Cancelled: true,
		Error: fault.Canceled.String(), Status: httpserver.StatusClientGone})
	return g.book.Flush(ctx)
}
