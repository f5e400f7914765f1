package httpapi

import (
	"crypto/tls"
	"net/netip"
	"time"

	"weir/internal/apikey"
	"weir/internal/limit/quota"
)

// Config bounds what clients may do to a node. Take Default and change what must differ.
type Config struct {
	MaxBody           int64  // bytes of one text request, decoded
	MaxManagementBody int64  // bytes of one management request
	BodyBudget        int64  // bytes of bodies in memory, all requests of the node together
	PublicURL         string // how clients reach the gateway, without a slash at its end; "": by the request's connection
	SpoolDir          string // where recordings wait that are too large for memory; "": the system's place for temporary files
	MaxFile           int64  // bytes of a file for batches
	MaxUploads        int64  // files that clients send, at one time
	SpoolBudget       int64  // bytes of them on disk
	SpoolMinFree      int64  // bytes of their volume that they leave free
	MaxInFlight       int64  // requests at one time that read a body or ask a provider
	MaxUserShare      int64  // percent of MaxInFlight, BodyBudget, MaxUploads and SpoolBudget that one user may take; 0: all of it
	MaxStreamsByKey   int64  // streams of one key at one time; 0: no limit
	MaxEvents         int64  // streams of events at one time
	MaxEventsByUser   int64  // of them, of one user
	MemoryLimit       int64  // bytes; above HeapPercent of it no new inference requests are taken; 0: no limit
	HeapPercent       int64

	BodyIdle    time.Duration // longest wait for the next byte of a body
	BodyGrace   time.Duration // after this time a body must have come at BodyMinRate on average
	BodyMinRate int64         // bytes per second
	BodyTotal   time.Duration // longest time for a whole body

	WriteStall     time.Duration // a client that takes no byte for so long is dropped
	KeepAliveAfter time.Duration // silence in a stream before the first keep-alive
	KeepAliveEvery time.Duration // and between those that follow
	EventsEvery    time.Duration // what streams of events follow is read after this pause
	EventsCheck    time.Duration // and whether their callers may still read it

	TLS               *tls.Config   // of listeners; nil: no encryption
	ReadHeader        time.Duration // longest time for a request's head
	IdleConn          time.Duration // an idle connection is closed after it
	MaxHeaderBytes    int
	MaxHeaders        int
	MaxRequestLine    int
	MaxConns          int // open connections
	MaxConnsByAddress int // of one address; trusted proxies are not counted

	FailedAuthPerMinute int   // per address; then 429 for further ones; a valid key works all the same
	PublicPerMinute     int   // catalog requests without a valid key, per address; then 429
	KeyTestsPerMinute   int64 // of provider keys, of a user
	UserCallsPerMinute  int64 // calls of a user that ask no model; then 429; 0: no limit
	AnonymousPerSecond  int   // requests without a valid key, per address; then 429; 0: no limit
	AnonymousBurst      int   // and so many at once

	HostedCalls int64 // calls of each tool that the provider runs, that count for the rates of a key until a call without a bound of its own has ended

	KeyRates  apikey.Rates // allowances of keys without their own; zero fields are no limit
	UserRates apikey.Rates // of all keys of a user together; see quota.Config
	FreeRates quota.Free   // of each user, for models ending in :free

	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
	TraceTrust     []netip.Prefix // clients whose traces are continued
	TruncateAddr   bool           // log client addresses without their last part
	Strict         bool           // X-Response-Schema: strict is everybody's default
	Betas          []string       // features of the messages style that are let through beside those that are known
	CORS           bool           // pages of other origins may call the API from a browser
	AdminAPI       bool           // administrators reach their routes on the public listener, too

	ModerationVendor string // whose a moderation model is that is named without a vendor
}

// Default is the configuration of a node without one.
func Default() Config {
	return Config{
		MaxBody: 32 << 20, MaxManagementBody: 1 << 20, BodyBudget: 256 << 20, MaxInFlight: 4096,
		MaxFile: 100 << 20, MaxUploads: 256, SpoolBudget: 4 << 30, SpoolMinFree: 1 << 30,
		BodyIdle: 15 * time.Second, BodyGrace: 10 * time.Second, BodyMinRate: 1 << 10, BodyTotal: 2 * time.Minute,
		WriteStall: 30 * time.Second, KeepAliveAfter: 10 * time.Second, KeepAliveEvery: 10 * time.Second,
		ReadHeader: 10 * time.Second, IdleConn: 75 * time.Second,
		MaxHeaderBytes: 32 << 10, MaxHeaders: 100, MaxRequestLine: 8 << 10, MaxConns: 16384, MaxConnsByAddress: 8192,
		MaxUserShare: 50, MaxStreamsByKey: 1000, MaxEvents: 1000, MaxEventsByUser: 10, HeapPercent: 85,
		EventsEvery: time.Second, EventsCheck: 5 * time.Second,
		FailedAuthPerMinute: 30, PublicPerMinute: 120, UserCallsPerMinute: 3000, KeyTestsPerMinute: 5, AnonymousPerSecond: 20, AnonymousBurst: 100,
		FreeRates: quota.Free{PerMinute: 20, PerDay: 50, PaidPerDay: 1000}, ModerationVendor: "openai",
	}
}
