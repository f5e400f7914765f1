package otlp

import (
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields of opentelemetry-proto 1: trace/v1/trace.proto, common/v1/common.proto, resource/v1/resource.proto.
const (
	requestResourceSpans protowire.Number = 1
	groupResource        protowire.Number = 1
	groupScopeSpans      protowire.Number = 2
	resourceAttributes   protowire.Number = 1
	scopeScope           protowire.Number = 1
	scopeSpans           protowire.Number = 2
	scopeName            protowire.Number = 1
	scopeVersion         protowire.Number = 2

	spanTrace      protowire.Number = 1
	spanID         protowire.Number = 2
	spanParent     protowire.Number = 4
	spanName       protowire.Number = 5
	spanKind       protowire.Number = 6
	spanStart      protowire.Number = 7
	spanEnd        protowire.Number = 8
	spanAttributes protowire.Number = 9
	spanLinks      protowire.Number = 13
	spanStatus     protowire.Number = 15
	spanFlags      protowire.Number = 16

	linkTrace  protowire.Number = 1
	linkSpan   protowire.Number = 2
	statusCode protowire.Number = 3

	pairKey     protowire.Number = 1
	pairValue   protowire.Number = 2
	valueText   protowire.Number = 1
	valueBool   protowire.Number = 2
	valueInt    protowire.Number = 3
	valueDouble protowire.Number = 4
	valueArray  protowire.Number = 5
	arrayValues protowire.Number = 1
)

const (
	kindInternal = 1
	kindServer   = 2
	kindClient   = 3

	statusError = 2
)

// maxText is the longest text of an attribute that is no content, in bytes.
const maxText = 256

// message appends a field that is a message, whose fields fill appends.
func message(b []byte, n protowire.Number, fill func([]byte) []byte) []byte {
	b = protowire.AppendTag(b, n, protowire.BytesType)
	at := len(b)
	b = fill(b)
	return slices.Insert(b, at, protowire.AppendVarint(nil, uint64(len(b)-at))...)
}

func text(b []byte, n protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
}

func raw(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

func number(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func moment(b []byte, n protowire.Number, at time.Time) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, n, protowire.Fixed64Type), uint64(max(at.UnixNano(), 0)))
}

// pairs appends attributes as the fields n of a message.
type pairs struct {
	b []byte
	n protowire.Number
}

func (p *pairs) add(key string, value func([]byte) []byte) {
	p.b = message(p.b, p.n, func(b []byte) []byte {
		return message(text(b, pairKey, key), pairValue, value)
	})
}

// text adds a text unless it is empty. It is cut, and its bytes that are no UTF-8 are replaced: receivers refuse whole requests for them.
func (p *pairs) text(key, s string) {
	if s != "" {
		p.add(key, func(b []byte) []byte { return text(b, valueText, strings.ToValidUTF8(s[:min(len(s), maxText)], "?")) })
	}
}

// content adds a text as it is, unless it is empty.
func (p *pairs) content(key string, s []byte) {
	if len(s) > 0 {
		p.add(key, func(b []byte) []byte { return text(b, valueText, strings.ToValidUTF8(string(s), "?")) })
	}
}

// texts adds a list of one text, unless it is empty.
func (p *pairs) texts(key, s string) {
	if s != "" {
		p.add(key, func(b []byte) []byte {
			return message(b, valueArray, func(b []byte) []byte {
				return message(b, arrayValues, func(b []byte) []byte { return text(b, valueText, strings.ToValidUTF8(s[:min(len(s), maxText)], "?")) })
			})
		})
	}
}

func (p *pairs) integer(key string, n int64) {
	p.add(key, func(b []byte) []byte { return number(b, valueInt, uint64(n)) })
}

// set adds true, unless it is false.
func (p *pairs) set(key string, is bool) {
	if is {
		p.add(key, func(b []byte) []byte { return number(b, valueBool, 1) })
	}
}

func (p *pairs) seconds(key string, d time.Duration) {
	p.add(key, func(b []byte) []byte {
		return protowire.AppendFixed64(protowire.AppendTag(b, valueDouble, protowire.Fixed64Type), math.Float64bits(d.Seconds()))
	})
}
