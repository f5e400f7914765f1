package httpapi

import (
	"crypto/tls"
	"net/netip"
	"time"

	"weir/internal/apikey"
	"weir/internal/batch"
	"weir/internal/limit/quota"
)

// Limits bound the requests of clients.
type Limits struct {
	MaxBody             int64 `yaml:"max_body_bytes" as:"size"`                // of one text request, decoded
	MaxManagementBody   int64 `constant:"max_management_body_bytes" as:"size"` // of one management request
	BodyBudget          int64 `yaml:"body_budget_bytes" as:"size"`             // of bodies in memory, all requests of the node together
	MaxUploads          int64 `constant:"max_uploads"`                         // files that clients send, at one time
	SpoolBudget         int64 `yaml:"spool_budget_bytes" as:"size"`            // of them on disk
	SpoolMinFree        int64 `constant:"spool_min_free_bytes" as:"size"`      // of their volume that they leave free
	MaxInFlight         int64 `yaml:"max_in_flight_requests"`                  // requests at one time that read a body or ask a provider
	MaxRequestLine      int   `constant:"max_request_line_bytes" as:"size"`
	MaxHeaderBytes      int   `constant:"max_header_bytes" as:"size"`
	MaxHeaders          int   `constant:"max_headers"`
	MaxConns            int   `yaml:"max_connections"`             // open connections
	MaxConnsByAddress   int   `yaml:"max_connections_per_address"` // trusted proxies are not counted
	FailedAuthPerMinute int   `yaml:"failed_auth_per_minute"`      // per address; then 429 for further ones; a valid key works all the same
	PublicPerMinute     int   `constant:"public_per_minute"`       // catalog requests without a valid key, per address; then 429
	UserCallsPerMinute  int64 `yaml:"user_calls_per_minute"`       // calls of a user that ask no model; then 429; 0: no limit
	AnonymousPerSecond  int   `constant:"anonymous_per_second"`    // requests without a valid key, per address; then 429; 0: no limit
	AnonymousBurst      int   `constant:"anonymous_burst"`         // and so many at once
	MaxUserShare        int64 `yaml:"max_user_share"`              // percent of MaxInFlight, BodyBudget, MaxUploads and SpoolBudget that one user may take; 0: all of it
	MaxStreamsByKey     int64 `yaml:"max_streams_per_key"`         // streams of one key at one time; 0: no limit
	MaxEvents           int64 `constant:"max_event_streams"`       // streams of events at one time
	MaxEventsByUser     int64 `constant:"max_event_streams_per_user"`
	HeapPercent         int64 `constant:"heap_percent"` // of Config.MemoryLimit
}

// Timeouts bound how long clients may take.
type Timeouts struct {
	ReadHeader  time.Duration `constant:"read_header"`             // longest time for a request's head
	BodyIdle    time.Duration `constant:"body_idle"`               // longest wait for the next byte of a body
	BodyGrace   time.Duration `constant:"body_grace"`              // after this time a body must have come at BodyMinRate on average
	BodyMinRate int64         `constant:"body_min_rate" as:"size"` // a second
	BodyTotal   time.Duration `yaml:"body_total"`                  // longest time for a whole body
	IdleConn    time.Duration `yaml:"keep_alive"`                  // an idle connection is closed after it
}

// Streams are how answers are streamed to clients.
type Streams struct {
	KeepAliveAfter time.Duration `constant:"commit_after"`        // silence in a stream before the first keep-alive
	KeepAliveEvery time.Duration `yaml:"keepalive_interval"`      // and between those that follow
	WriteStall     time.Duration `constant:"write_stall_timeout"` // a client that takes no byte for so long is dropped
}

// Config bounds what clients may do to a node. It begins with Default.
type Config struct {
	Limits   `yaml:"limits"`
	Timeouts `yaml:"timeouts"`
	Streams  // a section of their own

	PublicURL        string   `yaml:"public_url"`         // how clients reach the gateway, without a slash at its end; "": by the request's connection
	TruncateAddr     bool     `yaml:"truncate_addresses"` // log client addresses without their last part
	CORS             bool     `yaml:"cors"`               // pages of other origins may call the API from a browser
	Betas            []string `yaml:"betas"`              // features of the messages style that are let through beside those that are known: "feature", or "feature=member,tools[].member"
	AdminAPI         bool     `yaml:"admin_api"`          // administrators reach their routes on the public listener, too
	ModerationVendor string   `yaml:"moderation_vendor"`  // whose a moderation model is that is named without a vendor

	SpoolDir    string      // where recordings wait that are too large for memory; "": the system's place for temporary files
	MaxFile     int64       // bytes of a file for batches
	MemoryLimit int64       // bytes; above HeapPercent of it no new inference requests are taken; 0: no limit
	TLS         *tls.Config // of listeners; nil: no encryption

	KeyTestsPerMinute int64 // of provider keys, of a user
	HostedCalls       int64 // calls of each tool that the provider runs, that count for the rates of a key until a call without a bound of its own has ended

	KeyRates  apikey.Rates // allowances of keys without their own; zero fields are no limit
	UserRates apikey.Rates // of all keys of a user together; see quota.Config
	FreeRates quota.Free   // of each user, for models ending in :free

	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
	TraceTrust     []netip.Prefix // clients whose traces are continued
	Strict         bool           // X-Response-Schema: strict is everybody's default
	Status         bool           // the health of providers is shown to everybody
	Rankings       bool           // visitors may see which models are used most, too
}

// Default is the configuration of a node without one.
func Default() Config {
	return Config{
		Limits: Limits{
			MaxBody: 32 << 20, MaxManagementBody: 1 << 20, BodyBudget: 256 << 20, MaxInFlight: 4096,
			MaxUploads: 256, SpoolBudget: 4 << 30, SpoolMinFree: 1 << 30,
			MaxRequestLine: 8 << 10, MaxHeaderBytes: 32 << 10, MaxHeaders: 100, MaxConns: 16384, MaxConnsByAddress: 8192,
			FailedAuthPerMinute: 30, PublicPerMinute: 120, UserCallsPerMinute: 3000, AnonymousPerSecond: 20, AnonymousBurst: 100,
			MaxUserShare: 50, MaxStreamsByKey: 1000, MaxEvents: 1000, MaxEventsByUser: 10, HeapPercent: 85,
		},
		Timeouts: Timeouts{
			ReadHeader: 10 * time.Second, BodyIdle: 15 * time.Second, BodyGrace: 10 * time.Second, BodyMinRate: 1 << 10, BodyTotal: 2 * time.Minute,
			IdleConn: 75 * time.Second,
		},
		Streams: Streams{KeepAliveAfter: 10 * time.Second, KeepAliveEvery: 10 * time.Second, WriteStall: 30 * time.Second},
		CORS:    true, ModerationVendor: "openai",
		MaxFile: batch.Default(nil).MaxFileBytes, KeyTestsPerMinute: 5,
		FreeRates: quota.Free{PerMinute: 20, PerDay: 50, PaidPerDay: 1000},
	}
}
