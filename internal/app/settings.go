package app

import (
	"context"
	"log/slog"
	"time"

	"weir/internal/apikey"
	"weir/internal/config"
	"weir/internal/dialect/all"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/httpapi"
	"weir/internal/idempotency"
	"weir/internal/ledger"
	"weir/internal/limit/quota"
	"weir/internal/redact"
	"weir/internal/store"
	"weir/internal/upstream"
)

func ledgerConfig(cfg config.Config, log *slog.Logger, superseded func()) ledger.Config {
	l := cfg.Ledger
	l.Dir, l.Journal, l.Now, l.Log, l.OnSuperseded = ledger.JournalDir(cfg.DataDir), cfg.Journal, time.Now, log, superseded
	return l
}

// patience is how long a call may wait for the store where d is the usual time: an operator who lets calls wait longer has a slow store.
func patience(cfg *config.Config, d time.Duration) time.Duration { return max(d, cfg.Ledger.StoreFor) }

func upstreamConfig(cfg config.Config, r *redact.Redactor) upstream.Config {
	u := cfg.Upstream.Config
	u.Dialects, u.HTTP2, u.Redactor, u.Standard, u.Fetcher = all.Dialects(), cfg.HTTP2(), r, cfg.Upstream.HTTPClient == "standard", newFetch(&cfg.Fetch)
	return u
}

func historyConfig(cfg config.Config, now func() time.Time, log *slog.Logger) history.Config {
	c := cfg.Responses
	c.Now, c.StoreFor = now, patience(&cfg, c.StoreFor)
	c.Report = func(what string, err error) { log.Error(what, "error", err) }
	return c
}

// idempotencyConfig sets RunFor above the longest time that a call may take: an older call is no longer running.
func idempotencyConfig(cfg config.Config, jobs *store.Store, book *ledger.Book, log *slog.Logger) idempotency.Config {
	c := cfg.Idempotency
	c.Now, c.Node, c.Life, c.StoreFor = time.Now, book.Node(), apikey.NewID(""), patience(&cfg, c.StoreFor)
	c.Settled = func(ctx context.Context, wallet, generation string) (bool, error) {
		c, _, err := book.Call(ctx, wallet, generation)
		if fault.Is(err, fault.NotFound) { // a job that is still running is charged later, and so are the requests of a batch
			found, err := jobs.Jobs.HasJob(ctx, wallet, generation)
			if err != nil || found {
				return found, err
			}
			return jobs.Jobs.HasBatch(ctx, wallet, generation)
		}
		return err == nil && c.Settled, err
	}
	c.RunFor = max(cfg.Upstream.Total, cfg.Upstream.StreamTotal) + cfg.Relay.AttemptBudget + time.Minute
	c.Report = func(what string, err error) { log.Error(what, "error", err) }
	return c
}

func httpConfig(cfg config.Config) (httpapi.Config, error) {
	s := cfg.Server
	c := httpapi.Default()
	c.MaxBody, c.MaxManagementBody, c.BodyBudget = int64(s.Limits.MaxBodyBytes), int64(s.Limits.MaxManagementBodyBytes), int64(s.Limits.BodyBudgetBytes)
	c.MaxInFlight = s.Limits.MaxInFlightRequests
	c.MaxFile = cfg.Batch.MaxFileBytes
	c.MaxUploads, c.SpoolBudget, c.SpoolMinFree = s.Limits.MaxUploads, int64(s.Limits.SpoolBudgetBytes), int64(s.Limits.SpoolMinFreeBytes)
	c.MaxRequestLine, c.MaxHeaderBytes, c.MaxHeaders = int(s.Limits.MaxRequestLineBytes), int(s.Limits.MaxHeaderBytes), int(s.Limits.MaxHeaders)
	c.MaxConns, c.MaxConnsByAddress = int(s.Limits.MaxConnections), int(s.Limits.MaxConnectionsAddress)
	c.FailedAuthPerMinute, c.PublicPerMinute = int(s.Limits.FailedAuthPerMinute), int(s.Limits.PublicPerMinute)
	c.UserCallsPerMinute = s.Limits.UserCallsPerMinute
	c.KeyTestsPerMinute = cfg.OwnKeys.TestsPerMinute
	c.ReadHeader, c.BodyIdle, c.BodyGrace, c.BodyTotal = s.Timeouts.ReadHeader, s.Timeouts.BodyIdle, s.Timeouts.BodyGrace, s.Timeouts.BodyTotal
	c.BodyMinRate, c.IdleConn = int64(s.Timeouts.BodyMinRate), s.Timeouts.KeepAlive
	c.KeepAliveAfter, c.KeepAliveEvery, c.WriteStall = cfg.Stream.CommitAfter, cfg.Stream.KeepaliveInterval, cfg.Stream.WriteStallTimeout
	c.AnonymousPerSecond, c.AnonymousBurst = int(s.Limits.AnonymousPerSecond), int(s.Limits.AnonymousBurst)
	c.HostedCalls = cfg.Relay.HostedCalls
	c.MaxUserShare, c.MaxStreamsByKey = s.Limits.MaxUserShare, s.Limits.MaxStreamsPerKey
	c.MaxEvents, c.MaxEventsByUser = s.Limits.MaxEventStreams, s.Limits.MaxEventStreamsUser
	c.MemoryLimit, _ = memoryLimit(cfg.Runtime.MemoryLimit)
	c.HeapPercent = s.Limits.HeapPercent
	free := cfg.Keys.FreeModels
	c.FreeRates = quota.Free{PerMinute: free.RequestsPerMinute, PerDay: free.RequestsPerDay, PaidPerDay: free.PaidRequestsPerDay}
	var err error
	if c.KeyRates, err = KeyRates(&cfg.Keys.RateLimits); err != nil {
		return c, err
	}
	if c.UserRates, err = KeyRates(&cfg.Keys.AccountRateLimits); err != nil {
		return c, err
	}
	c.PublicURL = s.PublicURL
	c.Betas = s.Betas
	c.TruncateAddr, c.CORS, c.Strict, c.AdminAPI = s.TruncateAddresses, s.CORS, cfg.Keys.StrictSchema, s.AdminAPI
	c.ModerationVendor = s.ModerationVendor
	c.SpoolDir = spoolDir(cfg.DataDir)
	if c.TraceTrust, err = cfg.Tracing.Networks(); err != nil {
		return c, err
	}
	c.TrustedProxies, err = s.Prefixes()
	return c, err
}

// level returns the log level. Its name was checked before.
func level(l config.Log) (level slog.Level) {
	_ = level.UnmarshalText([]byte(l.Level))
	return level
}

// KeyRates are allowances as the configuration has them.
func KeyRates(l *config.RateLimits) (apikey.Rates, error) {
	rubles, err := l.Rubles()
	return apikey.Rates{Requests: l.RequestsPerMinute, Tokens: l.TokensPerMinute, Rubles: rubles, Calls: l.ConcurrentCalls}, err
}
