package httpapi

import (
	"net/netip"
	"time"
)

// Config bounds what clients may do to a node. Take Default and change what must differ.
type Config struct {
	MaxBody           int64 // bytes of one text request, decoded
	MaxManagementBody int64 // bytes of one management request
	BodyBudget        int64 // bytes of bodies in memory, all requests of the node together
	MaxInFlight       int64 // inference requests at one time

	BodyIdle    time.Duration // longest wait for the next byte of a body
	BodyGrace   time.Duration // after this time a body must have come at BodyMinRate on average
	BodyMinRate int64         // bytes per second
	BodyTotal   time.Duration // longest time for a whole body

	WriteStall     time.Duration // a client that takes no byte for so long is dropped
	KeepAliveAfter time.Duration // silence in a stream before the first keep-alive
	KeepAliveEvery time.Duration // and between those that follow

	ReadHeader        time.Duration // longest time for a request's head
	IdleConn          time.Duration // an idle connection is closed after it
	MaxHeaderBytes    int
	MaxHeaders        int
	MaxRequestLine    int
	MaxConns          int // open connections
	MaxConnsByAddress int // of one address; trusted proxies are not counted

	FailedAuthPerMinute int // per address; then 429
	PublicPerMinute     int // catalog requests per address; then 429

	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
	TruncateAddr   bool           // log client addresses without their last part
	Strict         bool           // X-Response-Schema: strict is everybody's default
	CORS           bool           // pages of other origins may call the API from a browser
}

// Default is the configuration of a node without one.
func Default() Config {
	return Config{
		MaxBody: 32 << 20, MaxManagementBody: 1 << 20, BodyBudget: 256 << 20, MaxInFlight: 4096,
		BodyIdle: 15 * time.Second, BodyGrace: 10 * time.Second, BodyMinRate: 1 << 10, BodyTotal: 2 * time.Minute,
		WriteStall: 30 * time.Second, KeepAliveAfter: 10 * time.Second, KeepAliveEvery: 10 * time.Second,
		ReadHeader: 10 * time.Second, IdleConn: 75 * time.Second,
		MaxHeaderBytes: 32 << 10, MaxHeaders: 100, MaxRequestLine: 8 << 10, MaxConns: 16384, MaxConnsByAddress: 512,
		FailedAuthPerMinute: 30, PublicPerMinute: 120, CORS: true,
	}
}
