// Package config holds everything that an operator can set: one struct with defaults, a YAML file, environment variables and flags
// over it, checked as a whole. Nothing else in the program reads the environment, and a secret in it never prints itself.
package config

import (
	"time"

	"weir/internal/catalog"
)

// Config is the whole configuration. Its yaml names are the keys of the file; see weir.example.yaml for what each means.
type Config struct {
	Server    Server     `yaml:"server"`
	DataDir   string     `yaml:"data_dir"`
	Store     Store      `yaml:"store"`
	Journal   Journal    `yaml:"journal"`
	Ledger    Ledger     `yaml:"ledger"`
	Upstream  Upstream   `yaml:"upstream"`
	Stream    Stream     `yaml:"stream"`
	Relay     Relay      `yaml:"relay"`
	Keys      Keys       `yaml:"keys"`
	Pricing   Pricing    `yaml:"pricing"`
	Builtin   Builtin    `yaml:"builtin"`
	Providers []Provider `yaml:"providers"`
	Models    []Model    `yaml:"models"`
	Log       Log        `yaml:"log"`
	Runtime   Runtime    `yaml:"runtime"`

	places places // where values were set, for sentences about them
	// keys are the credentials of built-in providers in the environment. A function, because printing a struct shows its
	// unexported values without asking them how.
	keys func() []string
}

// Server is the front door.
type Server struct {
	Listen            string        `yaml:"listen"`
	AdminListen       string        `yaml:"admin_listen"` // "off": no admin listener
	ShutdownDelay     time.Duration `yaml:"shutdown_delay"`
	DrainTimeout      time.Duration `yaml:"drain_timeout"`
	TrustedProxies    []string      `yaml:"trusted_proxies"` // addresses or prefixes
	TruncateAddresses bool          `yaml:"truncate_addresses"`
	CORS              bool          `yaml:"cors"`
	Limits            Limits        `yaml:"limits"`
	Timeouts          Timeouts      `yaml:"timeouts"`
}

// Limits bound what clients may send.
type Limits struct {
	MaxBodyBytes           Size  `yaml:"max_body_bytes"`
	MaxManagementBodyBytes Size  `yaml:"max_management_body_bytes"`
	BodyBudgetBytes        Size  `yaml:"body_budget_bytes"`
	MaxInFlightRequests    int64 `yaml:"max_in_flight_requests"`
	MaxRequestLineBytes    Size  `yaml:"max_request_line_bytes"`
	MaxHeaderBytes         Size  `yaml:"max_header_bytes"`
	MaxHeaders             int64 `yaml:"max_headers"`
	MaxConnections         int64 `yaml:"max_connections"`
	MaxConnectionsAddress  int64 `yaml:"max_connections_per_address"`
	FailedAuthPerMinute    int64 `yaml:"failed_auth_per_minute"`
	PublicPerMinute        int64 `yaml:"public_per_minute"`
}

// Timeouts bound how long clients may take.
type Timeouts struct {
	ReadHeader  time.Duration `yaml:"read_header"`
	BodyIdle    time.Duration `yaml:"body_idle"`
	BodyGrace   time.Duration `yaml:"body_grace"`
	BodyMinRate Size          `yaml:"body_min_rate"` // bytes per second
	BodyTotal   time.Duration `yaml:"body_total"`
	KeepAlive   time.Duration `yaml:"keep_alive"`
}

// Store is where state lives.
type Store struct {
	DSN string `yaml:"dsn"` // "": weir.db in the data directory
}

// Journal is the settlement log.
type Journal struct {
	Sync         string        `yaml:"sync"` // "interval", "always", "never"
	Interval     time.Duration `yaml:"interval"`
	SegmentBytes Size          `yaml:"segment_bytes"`
}

// Ledger times the borrowing of money from the store.
type Ledger struct {
	LeaseFor   time.Duration `yaml:"lease_for"`
	LapseAfter time.Duration `yaml:"lapse_after"`
	SpendFor   time.Duration `yaml:"spend_for"`
	RecallFor  time.Duration `yaml:"recall_for"`
	StoreFor   time.Duration `yaml:"store_for"`
	ApplyEvery time.Duration `yaml:"apply_every"`
}

// Upstream bounds what providers may take and send.
type Upstream struct {
	ConnectTimeout         time.Duration `yaml:"connect_timeout"`
	TLSTimeout             time.Duration `yaml:"tls_timeout"`
	FirstByteTimeout       time.Duration `yaml:"first_byte_timeout"`
	StreamFirstByteTimeout time.Duration `yaml:"stream_first_byte_timeout"`
	IdleTimeout            time.Duration `yaml:"idle_timeout"`
	LingerTimeout          time.Duration `yaml:"linger_timeout"`
	TotalTimeout           time.Duration `yaml:"total_timeout"`
	StreamTotalTimeout     time.Duration `yaml:"stream_total_timeout"`
	MaxResponseBytes       Size          `yaml:"max_response_bytes"`
	MaxStreamBytes         Size          `yaml:"max_stream_bytes"`
	SSEMaxLineBytes        Size          `yaml:"sse_max_line_bytes"`
	MaxHeaderBytes         Size          `yaml:"max_header_bytes"`
}

// Stream times the streams to clients.
type Stream struct {
	CommitAfter       time.Duration `yaml:"commit_after"`
	KeepaliveInterval time.Duration `yaml:"keepalive_interval"`
	WriteStallTimeout time.Duration `yaml:"write_stall_timeout"`
}

// Relay bounds one call.
type Relay struct {
	MaxAttempts         int64         `yaml:"max_attempts"`
	AttemptBudget       time.Duration `yaml:"attempt_budget"`
	SliceTokens         int64         `yaml:"slice_tokens"`
	DefaultOutputTokens int64         `yaml:"default_output_tokens"`
}

// Keys are the defaults of clients' keys.
type Keys struct {
	StrictSchema bool `yaml:"strict_schema"`
}

// Pricing turns dollar prices into rubles.
type Pricing struct {
	RubPerUSD Decimal `yaml:"rub_per_usd"`
	Margin    Decimal `yaml:"margin"` // part of the price: 0.15 is 15 %
	Version   string  `yaml:"version"`
}

// Provider declares a server, or changes a built-in one of the same id.
type Provider struct {
	ID         string            `yaml:"id"`
	Name       string            `yaml:"name"`
	Dialect    string            `yaml:"dialect"` // "": openai
	BaseURL    string            `yaml:"base_url"`
	APIKey     Secret            `yaml:"api_key"`
	Headers    map[string]Secret `yaml:"headers"`
	DataPolicy string            `yaml:"data_policy"`
	HTTP2      bool              `yaml:"http2"`
	Quirks     catalog.Quirks    `yaml:"quirks"`
	Models     []Offer           `yaml:"models"`
}

// Offer is a model that a provider serves.
type Offer struct {
	ID            string      `yaml:"id"` // vendor/model
	UpstreamID    string      `yaml:"upstream_id"`
	Prices        Prices      `yaml:"prices"`    // rubles per 1000 tokens, or per one
	PriceUSD      Prices      `yaml:"price_usd"` // dollars per 1,000,000 tokens, or per one
	Thresholds    []Threshold `yaml:"thresholds"`
	ContextLength int64       `yaml:"context_length"`
	MaxOutput     int64       `yaml:"max_output"`
	Params        []string    `yaml:"params"`
	Input         []string    `yaml:"input"`
	Output        []string    `yaml:"output"`
	Quantization  string      `yaml:"quantization"`
	Region        string      `yaml:"region"`
	Tier          string      `yaml:"tier"`
	Variant       string      `yaml:"variant"`
	MaxN          int64       `yaml:"max_n"`
	ImplicitCache bool        `yaml:"implicit_cache"`
}

// Prices are decimal texts; "" is not set.
type Prices struct {
	Prompt          Decimal `yaml:"prompt"`
	Completion      Decimal `yaml:"completion"`
	CacheRead       Decimal `yaml:"cache_read"`
	CacheWrite      Decimal `yaml:"cache_write"`
	CacheWrite1h    Decimal `yaml:"cache_write_1h"`
	Reasoning       Decimal `yaml:"reasoning"`
	Audio           Decimal `yaml:"audio"`
	AudioOutput     Decimal `yaml:"audio_output"`
	Image           Decimal `yaml:"image"`
	ImageOutput     Decimal `yaml:"image_output"`
	Request         Decimal `yaml:"request"`
	WebSearch       Decimal `yaml:"web_search"`
	ImageOutputEach Decimal `yaml:"image_output_each"`
}

// Threshold is prices for prompts of more than Above tokens.
type Threshold struct {
	Above    int64  `yaml:"above"`
	Prices   Prices `yaml:"prices"`
	PriceUSD Prices `yaml:"price_usd"`
}

// Model describes a model apart from who serves it.
type Model struct {
	ID            string `yaml:"id"`
	Name          string `yaml:"name"`
	Description   string `yaml:"description"`
	Created       string `yaml:"created"` // YYYY-MM-DD
	ContextLength int64  `yaml:"context_length"`
}

// Log is what is written about requests and events.
type Log struct {
	Level  string `yaml:"level"` // "debug", "info", "warn", "error"
	Access bool   `yaml:"access"`
}

// Runtime tunes the process.
type Runtime struct {
	MemoryLimit Size  `yaml:"memory_limit"` // 0: none
	GOGC        int64 `yaml:"gogc"`
}

// Off is the address of a listener that is not wanted.
const Off = "off"

// Default is the configuration of a node that was told nothing.
func Default() Config {
	return Config{
		Server: Server{
			Listen: "127.0.0.1:8080", AdminListen: "127.0.0.1:9091", ShutdownDelay: 5 * time.Second, DrainTimeout: 300 * time.Second, CORS: true,
			Limits: Limits{
				MaxBodyBytes: 32 << 20, MaxManagementBodyBytes: 1 << 20, BodyBudgetBytes: 256 << 20, MaxInFlightRequests: 4096,
				MaxRequestLineBytes: 8 << 10, MaxHeaderBytes: 32 << 10, MaxHeaders: 100, MaxConnections: 16384, MaxConnectionsAddress: 512,
				FailedAuthPerMinute: 30, PublicPerMinute: 120,
			},
			Timeouts: Timeouts{
				ReadHeader: 10 * time.Second, BodyIdle: 15 * time.Second, BodyGrace: 10 * time.Second, BodyMinRate: 1 << 10,
				BodyTotal: 120 * time.Second, KeepAlive: 75 * time.Second,
			},
		},
		DataDir: "./weir-data",
		Journal: Journal{Sync: "interval", Interval: 10 * time.Millisecond, SegmentBytes: 16 << 20},
		Ledger: Ledger{
			LeaseFor: 40 * time.Second, LapseAfter: 60 * time.Second, SpendFor: 3 * time.Second, RecallFor: time.Second,
			StoreFor: 1500 * time.Millisecond, ApplyEvery: 50 * time.Millisecond,
		},
		Upstream: Upstream{
			ConnectTimeout: 5 * time.Second, TLSTimeout: 5 * time.Second, FirstByteTimeout: 300 * time.Second, StreamFirstByteTimeout: 120 * time.Second,
			IdleTimeout: 120 * time.Second, LingerTimeout: 2 * time.Second, TotalTimeout: 600 * time.Second, StreamTotalTimeout: 1800 * time.Second,
			MaxResponseBytes: 16 << 20, MaxStreamBytes: 256 << 20, SSEMaxLineBytes: 4 << 20, MaxHeaderBytes: 64 << 10,
		},
		Stream:  Stream{CommitAfter: 10 * time.Second, KeepaliveInterval: 10 * time.Second, WriteStallTimeout: 30 * time.Second},
		Relay:   Relay{MaxAttempts: 6, AttemptBudget: 120 * time.Second, SliceTokens: 2048, DefaultOutputTokens: 16384},
		Pricing: Pricing{RubPerUSD: "100", Margin: "0"},
		Builtin: Builtin{All: true},
		Log:     Log{Level: "info", Access: true},
		Runtime: Runtime{MemoryLimit: 1 << 30, GOGC: 400},
	}
}
