package app

// What a node makes of its settings.
var (
	UpstreamConfig = upstreamConfig
	DialerOf       = dialerOf
	HealthConfig   = healthConfig
)
