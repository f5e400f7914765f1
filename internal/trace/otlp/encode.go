package otlp

import (
	"strings"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// maxText is the longest text of an attribute that is no content, in bytes.
const maxText = 256

// appendSpans appends spans as elements of the list of a ScopeSpans. Protocol buffers join messages by appending one to the other, so that
// elements encoded call by call are one list.
func appendSpans(b []byte, spans []*traces.Span) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(b, &traces.ScopeSpans{Spans: spans})
}

func moment(at time.Time) uint64 { return uint64(max(at.UnixNano(), 0)) }

// pairs gathers attributes.
type pairs []*common.KeyValue

func (p *pairs) add(key string, value *common.AnyValue) {
	*p = append(*p, &common.KeyValue{Key: key, Value: value})
}

func textValue(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
}

// valid is a text whose bytes that are no UTF-8 are replaced: receivers refuse whole requests for them.
func valid(s string) string { return strings.ToValidUTF8(s, "?") }

// text adds a text unless it is empty. It is cut.
func (p *pairs) text(key, s string) {
	if s != "" {
		p.add(key, textValue(valid(cut(s))))
	}
}

// content adds a text as it is, unless it is empty.
func (p *pairs) content(key string, s []byte) {
	if len(s) > 0 {
		p.add(key, textValue(valid(string(s))))
	}
}

// texts adds a list of one text, unless it is empty.
func (p *pairs) texts(key, s string) {
	if s != "" {
		list := &common.ArrayValue{Values: []*common.AnyValue{textValue(valid(cut(s)))}}
		p.add(key, &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: list}})
	}
}

func (p *pairs) integer(key string, n int64) {
	p.add(key, &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}})
}

// set adds true, unless it is false.
func (p *pairs) set(key string, is bool) {
	if is {
		p.add(key, &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: true}})
	}
}

func (p *pairs) seconds(key string, d time.Duration) {
	p.add(key, &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: d.Seconds()}})
}
