package operation

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"weir/internal/money"
)

// Object is JSON whose members are not known before; null where it is nil.
type Object map[string]any

// writing has amounts leave as decimal texts, times in RFC 3339 and UTC, and a time that is not set as null.
var writing = json.JoinOptions(
	json.Deterministic(true),
	jsontext.AllowInvalidUTF8(true), // old rows may have names that no form would take today
	json.WithMarshalers(json.JoinMarshalers(
		json.MarshalToFunc(func(e *jsontext.Encoder, n money.Nano) error { return e.WriteToken(jsontext.String(n.String())) }),
		json.MarshalToFunc(func(e *jsontext.Encoder, p money.Price) error {
			return e.WriteToken(jsontext.String(money.Nano(p.Nano).String()))
		}),
		json.MarshalToFunc(func(e *jsontext.Encoder, t time.Time) error {
			if t.IsZero() {
				return e.WriteToken(jsontext.Null)
			}
			return e.WriteToken(jsontext.String(t.UTC().Format(time.RFC3339Nano)))
		}),
		json.MarshalToFunc(func(e *jsontext.Encoder, o Object) error {
			if o == nil {
				return e.WriteToken(jsontext.Null)
			}
			return json.MarshalEncode(e, map[string]any(o))
		}),
		json.MarshalToFunc(func(e *jsontext.Encoder, _ True) error { return e.WriteToken(jsontext.True) }),
		json.MarshalToFunc(func(e *jsontext.Encoder, _ Null) error { return e.WriteToken(jsontext.Null) }),
	)),
)

// JSON writes v as answers are written.
func JSON(v any) ([]byte, error) { return json.Marshal(v, writing) }
