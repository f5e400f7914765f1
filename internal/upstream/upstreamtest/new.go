package upstreamtest

import (
	"reflect"

	"weir/internal/upstream"
)

// New makes a client that has the usual times and limits where a test sets none.
func New(cfg upstream.Config) *upstream.Client {
	usual := upstream.Default()
	fill(reflect.ValueOf(&cfg.Timeouts).Elem(), reflect.ValueOf(usual.Timeouts))
	fill(reflect.ValueOf(&cfg.Limits).Elem(), reflect.ValueOf(usual.Limits))
	return upstream.New(cfg)
}

func fill(v, usual reflect.Value) {
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			v.Field(i).Set(usual.Field(i))
		}
	}
}
