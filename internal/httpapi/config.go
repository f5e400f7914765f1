package httpapi

import (
	"crypto/tls"
	"net/netip"
	"time"

	"weir/internal/apikey"
	"weir/internal/batch"
	"weir/internal/httpserver"
	"weir/internal/limit/quota"
)

// Limits bound the requests of clients.
type Limits struct {
	MaxBody           int64 `yaml:"max_body_bytes" as:"size"`                // of one text request, decoded
	MaxManagementBody int64 `constant:"max_management_body_bytes" as:"size"` // of one management request
	BodyBudget        int64 `yaml:"body_budget_bytes" as:"size"`             // of bodies in memory, all requests of the node together

	httpserver.SpoolLimits `yaml:",inline"`

	MaxInFlight int64 `yaml:"max_in_flight_requests"` // requests at one time that read a body or ask a provider

	httpserver.ConnectionLimits `yaml:",inline"`

	FailedAuthPerMinute int   `yaml:"failed_auth_per_minute"`   // per address; then 429 for further ones; a valid key works all the same
	PublicPerMinute     int   `constant:"public_per_minute"`    // catalog requests without a valid key, per address; then 429
	UserCallsPerMinute  int64 `yaml:"user_calls_per_minute"`    // calls of a user that ask no model; then 429; 0: no limit
	AnonymousPerSecond  int   `constant:"anonymous_per_second"` // requests without a valid key, per address; then 429; 0: no limit
	AnonymousBurst      int   `constant:"anonymous_burst"`      // and so many at once
	MaxUserShare        int64 `yaml:"max_user_share"`           // percent of MaxInFlight, BodyBudget, MaxUploads and SpoolBudget that one user may take; 0: all of it
	MaxStreamsByKey     int64 `yaml:"max_streams_per_key"`      // streams of one key at one time; 0: no limit
	MaxSocketsByUser    int64 `yaml:"max_sockets_per_user"`     // open WebSockets of a user
	MaxEvents           int64 `constant:"max_event_streams"`    // streams of events at one time
	MaxEventsByUser     int64 `constant:"max_event_streams_per_user"`
	HeapPercent         int64 `constant:"heap_percent"` // of Config.MemoryLimit
}

// Streams are how answers are streamed to clients.
type Streams struct {
	KeepAliveAfter time.Duration `constant:"commit_after"`        // silence in a stream before the first keep-alive
	KeepAliveEvery time.Duration `yaml:"keepalive_interval"`      // and between those that follow
	WriteStall     time.Duration `constant:"write_stall_timeout"` // a client that takes no byte for so long is dropped
}

// Config bounds what clients may do to a node. It begins with Default.
type Config struct {
	Limits              `yaml:"limits"`
	httpserver.Timeouts `yaml:"timeouts"`
	Streams             // a section of their own

	PublicURL        string   `yaml:"public_url"`         // how clients reach the gateway, without a slash at its end; "": by the request's connection
	TruncateAddr     bool     `yaml:"truncate_addresses"` // log client addresses without their last part
	CORS             bool     `yaml:"cors"`               // pages of other origins may call the API from a browser
	WebSockets       bool     `yaml:"websockets"`         // clients may send requests of the responses style through a WebSocket
	Betas            []string `yaml:"betas"`              // features of the messages style that are let through beside those that are known: "feature", or "feature=member,tools[].member"
	AdminAPI         bool     `yaml:"admin_api"`          // administrators reach their routes on the public listener, too
	ModerationVendor string   `yaml:"moderation_vendor"`  // whose a moderation model is that is named without a vendor

	SpoolDir    string      // where recordings wait that are too large for memory; "": the system's place for temporary files
	MaxFile     int64       // bytes of a file for batches
	MemoryLimit int64       // bytes; above HeapPercent of it no new inference requests are taken; 0: no limit
	TLS         *tls.Config // of listeners; nil: no encryption

	KeyTestsPerMinute int64         // of provider keys, of a user
	SocketLife        time.Duration // how long a WebSocket may be open
	HostedCalls       int64         // calls of each tool that the provider runs, that count for the rates of a key until a call without a bound of its own has ended

	KeyRates  apikey.Rates // allowances of keys without their own; zero fields are no limit
	UserRates apikey.Rates // of all keys of a user together; see quota.Config
	FreeRates quota.Free   // of each user, for models ending in :free

	TrustedProxies httpserver.Proxies // whose X-Forwarded-For is believed
	TraceTrust     []netip.Prefix     // clients whose traces are continued
	Strict         bool               // X-Response-Schema: strict is everybody's default
	Status         bool               // the health of providers is shown to everybody
	Rankings       bool               // visitors may see which models are used most, too
}

// Default is the configuration of a node without one.
func Default() Config {
	served := httpserver.Default()
	return Config{
		Limits: Limits{
			MaxBody: 32 << 20, MaxManagementBody: 1 << 20, BodyBudget: 256 << 20, MaxInFlight: 4096,
			SpoolLimits: httpserver.DefaultSpool(), ConnectionLimits: served.ConnectionLimits,
			FailedAuthPerMinute: 30, PublicPerMinute: 120, UserCallsPerMinute: 3000, AnonymousPerSecond: 20, AnonymousBurst: 100,
			MaxUserShare: 50, MaxStreamsByKey: 1000, MaxSocketsByUser: 1000, MaxEvents: 1000, MaxEventsByUser: 10, HeapPercent: 85,
		},
		Timeouts: served.Timeouts,
		Streams:  Streams{KeepAliveAfter: 10 * time.Second, KeepAliveEvery: 10 * time.Second, WriteStall: served.WriteStall},
		CORS:     true, WebSockets: true, SocketLife: time.Hour, ModerationVendor: "openai",
		MaxFile: batch.Default(nil).MaxFileBytes, KeyTestsPerMinute: 5,
		FreeRates: quota.Free{PerMinute: 20, PerDay: 50, PaidPerDay: 1000},
	}
}

// listener is the part of it that listeners need.
func (c *Config) listener() httpserver.Config {
	return httpserver.Config{
		ConnectionLimits: c.ConnectionLimits, Timeouts: c.Timeouts, WriteStall: c.WriteStall,
		TrustedProxies: c.TrustedProxies, TruncateAddr: c.TruncateAddr, TLS: c.TLS,
	}
}
