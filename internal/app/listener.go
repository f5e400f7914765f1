package app

import (
	"weir/internal/config"
	"weir/internal/httpapi"
)

// httpConfig has what the listener needs of its own section and of others.
func httpConfig(cfg config.Config) (c httpapi.Config, err error) {
	c = cfg.Server.Config
	c.Streams, c.MaxFile, c.SpoolDir, c.HostedCalls, c.KeyTestsPerMinute = cfg.Stream, cfg.Batch.MaxFileBytes, spoolDir(cfg.DataDir), cfg.Relay.HostedCalls, cfg.OwnKeys.TestsPerMinute
	c.KeyRates, c.UserRates, c.FreeRates = cfg.Keys.RateLimits, cfg.Keys.AccountRateLimits, cfg.Keys.FreeModels
	c.Status, c.Rankings, c.Strict = cfg.Web.Status, cfg.Web.Rankings, cfg.Keys.StrictSchema
	c.MemoryLimit, _ = memoryLimit(cfg.Runtime.MemoryLimit)
	if c.TraceTrust, err = config.Networks(cfg.Tracing.Calls.TrustFrom); err != nil {
		return c, err
	}
	c.TrustedProxies, err = config.Networks(cfg.Server.TrustedProxies)
	return c, err
}
