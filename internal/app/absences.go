package app

import (
	"weir/internal/catalog/edit"
	"weir/internal/health"
	"weir/internal/routing"
)

// outOf is what calls must know of what operators took out of service, by the ids of endpoints.
func outOf(b *edit.Built) map[string][]health.Out {
	out := map[string][]health.Out{}
	for k := range b.Out {
		o := &b.Out[k]
		is := health.Out{Service: routing.Drained, Until: o.Until}
		if o.Mode == edit.Eject {
			is.Service = routing.Cut
		}
		for i := range b.Endpoints {
			if v := &b.Endpoints[i]; o.Of(v) {
				out[v.ID] = append(out[v.ID], is)
			}
		}
	}
	return out
}
