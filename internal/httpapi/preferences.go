package httpapi

import (
	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

// usePlugins has a request use the plugins of the caller's account.
func (x *request) usePlugins(req *completion.Request) {
	if d := x.caller.Defaults; d != nil && d.Account != "" {
		if list := rawjson.Find([]byte(d.Account), "plugins"); list != nil {
			wire.UsePlugins(req, list)
		}
	}
}
