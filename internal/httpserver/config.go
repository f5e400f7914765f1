package httpserver

import (
	"crypto/tls"
	"net/http"
	"time"

	"weir/internal/fault"
)

// ConnectionLimits bound the heads of requests, and how many clients are connected.
type ConnectionLimits struct {
	MaxRequestLine    int `constant:"max_request_line_bytes" as:"size"`
	MaxHeaderBytes    int `constant:"max_header_bytes" as:"size"`
	MaxHeaders        int `constant:"max_headers"`
	MaxConns          int `yaml:"max_connections"`             // open connections
	MaxConnsByAddress int `yaml:"max_connections_per_address"` // trusted proxies are not counted
}

// CheckHead refuses heads that are too large in ways that net/http does not count.
func (l *ConnectionLimits) CheckHead(r *http.Request) error {
	if len(r.Method)+len(r.RequestURI)+len(r.Proto)+2 > l.MaxRequestLine {
		e := fault.New(fault.HeaderTooLarge, "httpserver.CheckHead", "The request line is too long.")
		e.Param = requestLine
		return e
	}
	n := 0
	for _, values := range r.Header {
		n += len(values)
	}
	if n > l.MaxHeaders {
		return fault.Newf(fault.HeaderTooLarge, "httpserver.CheckHead", "A request may have at most %d header fields.", l.MaxHeaders)
	}
	return nil
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

// Config bounds what clients may do to a listener. It begins with Default.
type Config struct {
	ConnectionLimits
	Timeouts
	WriteStall     time.Duration // a client that takes no byte for so long is dropped
	TrustedProxies Proxies       // whose X-Forwarded-For is believed
	TruncateAddr   bool          // the log has addresses of clients without their last part
	TLS            *tls.Config   // nil: no encryption
}

// Default is the configuration of a listener without one.
func Default() Config {
	return Config{
		ConnectionLimits: ConnectionLimits{MaxRequestLine: 8 << 10, MaxHeaderBytes: 32 << 10, MaxHeaders: 100, MaxConns: 16384, MaxConnsByAddress: 8192},
		Timeouts: Timeouts{
			ReadHeader: 10 * time.Second, BodyIdle: 15 * time.Second, BodyGrace: 10 * time.Second, BodyMinRate: 1 << 10, BodyTotal: 2 * time.Minute,
			IdleConn: 75 * time.Second,
		},
		WriteStall: 30 * time.Second,
	}
}

// SpoolLimits bound the files that clients send.
type SpoolLimits struct {
	MaxUploads   int64 `constant:"max_uploads"`                    // files that clients send, at one time
	SpoolBudget  int64 `yaml:"spool_budget_bytes" as:"size"`       // of them on disk
	SpoolMinFree int64 `constant:"spool_min_free_bytes" as:"size"` // of their volume that they leave free
}

// DefaultSpool are the bounds of a node without some.
func DefaultSpool() SpoolLimits {
	return SpoolLimits{MaxUploads: 256, SpoolBudget: 4 << 30, SpoolMinFree: 1 << 30}
}
