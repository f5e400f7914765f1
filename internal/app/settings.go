package app

import (
	"log/slog"
	"reflect"
	"time"

	"weir/internal/config"
	"weir/internal/httpapi"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/redact"
	"weir/internal/relay"
	"weir/internal/upstream"
	"weir/internal/upstream/openai"
)

func ledgerConfig(cfg config.Config, log *slog.Logger) ledger.Config {
	l := cfg.Ledger
	sync := map[string]journal.Sync{"interval": journal.Interval, "always": journal.Always, "never": journal.Never}[cfg.Journal.Sync]
	return ledger.Config{
		Dir: ledger.JournalDir(cfg.DataDir), Now: time.Now, Log: log,
		Sync: sync, SyncEvery: cfg.Journal.Interval, SegmentBytes: int64(cfg.Journal.SegmentBytes),
		ApplyEvery: l.ApplyEvery, LeaseFor: l.LeaseFor, LapseAfter: l.LapseAfter, SpendFor: l.SpendFor, RecallFor: l.RecallFor, StoreFor: l.StoreFor,
	}
}

func upstreamConfig(cfg config.Config, r *redact.Redactor) upstream.Config {
	u := cfg.Upstream
	return upstream.Config{
		Dialects: map[string]upstream.Dialect{"openai": &openai.Dialect{}},
		Timeouts: upstream.Timeouts{
			Connect: u.ConnectTimeout, TLS: u.TLSTimeout, FirstByte: u.FirstByteTimeout, StreamFirstByte: u.StreamFirstByteTimeout,
			Idle: u.IdleTimeout, Linger: u.LingerTimeout, Total: u.TotalTimeout, StreamTotal: u.StreamTotalTimeout,
		},
		Limits: upstream.Limits{
			Whole: int64(u.MaxResponseBytes), Stream: int64(u.MaxStreamBytes), Line: int(u.SSEMaxLineBytes), Headers: int64(u.MaxHeaderBytes),
		},
		HTTP2: cfg.HTTP2(), Redactor: r,
	}
}

func relayConfig(cfg config.Config) relay.Config {
	r := cfg.Relay
	return relay.Config{MaxAttempts: int(r.MaxAttempts), AttemptBudget: r.AttemptBudget, SliceTokens: r.SliceTokens, DefaultOutput: r.DefaultOutputTokens}
}

func httpConfig(cfg config.Config) (httpapi.Config, error) {
	s := cfg.Server
	c := httpapi.Default()
	c.MaxBody, c.MaxManagementBody, c.BodyBudget = int64(s.Limits.MaxBodyBytes), int64(s.Limits.MaxManagementBodyBytes), int64(s.Limits.BodyBudgetBytes)
	c.MaxInFlight = s.Limits.MaxInFlightRequests
	c.MaxRequestLine, c.MaxHeaderBytes, c.MaxHeaders = int(s.Limits.MaxRequestLineBytes), int(s.Limits.MaxHeaderBytes), int(s.Limits.MaxHeaders)
	c.MaxConns, c.MaxConnsByAddress = int(s.Limits.MaxConnections), int(s.Limits.MaxConnectionsAddress)
	c.FailedAuthPerMinute, c.PublicPerMinute = int(s.Limits.FailedAuthPerMinute), int(s.Limits.PublicPerMinute)
	c.ReadHeader, c.BodyIdle, c.BodyGrace, c.BodyTotal = s.Timeouts.ReadHeader, s.Timeouts.BodyIdle, s.Timeouts.BodyGrace, s.Timeouts.BodyTotal
	c.BodyMinRate, c.IdleConn = int64(s.Timeouts.BodyMinRate), s.Timeouts.KeepAlive
	c.KeepAliveAfter, c.KeepAliveEvery, c.WriteStall = cfg.Stream.CommitAfter, cfg.Stream.KeepaliveInterval, cfg.Stream.WriteStallTimeout
	c.TruncateAddr, c.CORS, c.Strict = s.TruncateAddresses, s.CORS, cfg.Keys.StrictSchema
	var err error
	c.TrustedProxies, err = s.Prefixes()
	return c, err
}

// level is the log level; its name has been checked.
func level(l config.Log) (level slog.Level) {
	_ = level.UnmarshalText([]byte(l.Level))
	return level
}

// sameProcess reports whether two configurations differ only in what a running node takes over.
func sameProcess(a, b config.Config) bool {
	return reflect.DeepEqual(a.Server, b.Server) && a.DataDir == b.DataDir && a.Store == b.Store && a.Journal == b.Journal && a.Ledger == b.Ledger &&
		a.Upstream == b.Upstream && a.Stream == b.Stream && a.Relay == b.Relay && a.Keys == b.Keys && a.Runtime == b.Runtime &&
		a.Log.Access == b.Log.Access
}
