package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"weir/internal/blob"
	"weir/internal/blob/folder"
	"weir/internal/blob/s3"
	"weir/internal/budget"
	"weir/internal/config"
	"weir/internal/fault"
	"weir/internal/fetch"
	"weir/internal/httpapi"
	"weir/internal/trace"
	"weir/internal/upstream"
	"weir/internal/video"
	"weir/internal/webhook"
	"weir/internal/wire/videos"
)

// contents is a blob store that is closed at the end.
type contents interface {
	blob.Store
	io.Closer
}

// openContents opens the blob store of finished videos. It returns nil if videos stay with their providers.
func openContents(cfg *config.Config) (contents, error) {
	v := &cfg.Video
	switch v.Keep {
	case config.KeepFolder:
		return folder.Open(cfg.ContentFolder(), int64(v.MinFreeBytes))
	case config.KeepS3:
		return s3.Open(v.S3.For(int64(v.MaxContentBytes)))
	}
	return nil, nil
}

// makeVideos makes the service that runs video jobs: new ones, and those that an earlier process or another node has left.
func (g *Gateway) makeVideos(f *fetch.Client, own video.OwnKeys, budgets *budget.Manager, metrics *httpapi.Metrics, traces *trace.Tracer, now func() time.Time) (*video.Service, error) {
	kept, err := openContents(&g.cfg)
	if err != nil {
		return nil, err
	}
	v := &g.cfg.Video
	d := video.Deps{
		Store: g.store.Jobs, Holds: g.book, Own: own, Budgets: budgets, Member: g.book, Planner: &video.Router{Health: g.health.Of, Outs: g.health.Outs, Rand: rand.Float64},
		Upstream: upstream.NewVideos(g.upstream, files{f, int64(v.MaxContentBytes)}), Catalog: g.catalog.Load, Gate: g.health, Observer: httpapi.NewVideoMetrics(metrics), Traces: g.videoTraces(traces),
		Callbacks: endings{g.publicURL, now}, Sent: g.events.Wake, Aside: g.book.AddAside, Rand: rand.Float64,
	}
	if kept != nil {
		g.onClose(func(context.Context) { _ = kept.Close() })
		d.Contents = kept
	}
	c := v.Config
	c.Now, c.AddFor, c.StoreFor = now, g.cfg.Ledger.StoreFor, patience(&g.cfg, c.StoreFor)
	c.LookEvery = min(c.FirstPoll, c.LookEvery)
	c.Report = reportVideos(g.slog)
	return video.New(d, c), nil
}

func reportVideos(log *slog.Logger) func(string, *video.Job, error) {
	return func(what string, j *video.Job, err error) {
		id := ""
		if j != nil {
			id = j.ID
		}
		log.Warn(what, "job", id, "error", unquoted(err))
	}
}

// unquoted returns an error without the message of a provider, because that may repeat the prompt.
func unquoted(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Upstream == nil || f.Upstream.Status == 0 {
		return err
	}
	return fmt.Errorf("%s: %s (status %d, request %q)", f.Op, f.Kind, f.Upstream.Status, f.Upstream.Request)
}

// endings writes the webhook events for finished jobs.
type endings struct {
	base func() string
	now  func() time.Time
}

// Ended implements video.Callbacks.
func (e endings) Ended(j *video.Job) *webhook.Delivery {
	if j.Callback == "" {
		return nil
	}
	d := webhook.NewDelivery(j.ID+"-"+string(j.State), j.User, j.Callback, videos.EventType(j), videos.AppendEnd(nil, j, e.base()), e.now())
	return &d
}

// publicURL returns the gateway's address for clients, as far as it is known without a request.
func (g *Gateway) publicURL() string {
	if g.cfg.Server.PublicURL != "" {
		return g.cfg.Server.PublicURL
	}
	return g.BaseURL()
}
