package operation_test

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/rawjson"
)

type part struct {
	Name string `json:"name"`
	Size *int64 `json:"size,omitempty"`
}

type input struct {
	ID    string                      `json:"-" path:"id"`
	Last  string                      `json:"-" header:"X-Last"`
	Days  int                         `json:"-" query:"days" most:"90"`
	All   bool                        `json:"-" query:"all"`
	Since time.Time                   `json:"-" query:"since"`
	Name  string                      `json:"name"`
	Note  string                      `json:"note,omitempty"`
	Limit operation.Maybe[money.Nano] `json:"limit"`
	Count *int                        `json:"count,omitempty"`
	On    *bool                       `json:"on,omitempty"`
	At    *time.Time                  `json:"at,omitempty"`
	Parts []part                      `json:"parts,omitempty"`
	Words map[string]string           `json:"words,omitempty"`
	Raw   operation.Raw               `json:"raw,omitempty"`
	Old   string                      `json:"old,omitempty" null:"none"`
}

func read(query, body string) (*input, error) {
	var got *input
	o := operation.Of(operation.Operation{ID: "try", Path: "/api/tries/{id}"}, func(_ context.Context, _ *operation.Call, in *input) (operation.None, error) {
		got = in
		return operation.None{}, nil
	})
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	_, err = o.Serve(context.Background(), &operation.Call{Values: []string{"x1"}, Request: http.Header{"X-Last": {"7"}}, Query: values, Content: []byte(body)})
	return got, err
}

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := read("days=7&all=true&since=2026-01-02T03:04:05Z", `{"name":"a","limit":"12.5","count":3,"on":false,"at":"2026-01-02T03:04:05+03:00","parts":[{"name":"p","size":9}],"words":{"k":"v"},"raw":{"x":[1, 2]}}`)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	limit := money.Nano(12_500_000_000)
	want := &input{
		ID: "x1", Last: "7", Days: 7, All: true, Since: at, Name: "a", Limit: operation.Maybe[money.Nano]{Given: true, Value: &limit}, Count: new(3), On: new(false),
		At: new(at.Add(-3 * time.Hour)), Parts: []part{{"p", new(int64(9))}}, Words: map[string]string{"k": "v"}, Raw: operation.Raw(`{"x":[1, 2]}`),
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		t.Error(diff)
	}
}

// What is left out and what is null differ where a type says so, and only there.
func TestMaybe(t *testing.T) {
	t.Parallel()
	for body, given := range map[string]bool{`{"name":""}`: false, `{"name":"","old":null}`: false, `{"name":"","limit":null}`: true} {
		got, err := read("", body)
		if err != nil || got.Limit.Given != given || got.Limit.Value != nil {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

// Each refusal names the field, says what is wrong with it in a sentence, and the same as a code.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, body, param, code, says string }{
		{"", `{}`, "name", "missing", "name is missing."},
		{"", `{"name":"a","parts":[{"name":"b"},{}]}`, "parts[1].name", "missing", "parts[1].name is missing."},
		{"", `{"name":"a","nane":"b"}`, "nane", "unknown_field", "This route has no field of this name."},
		{"", `{"Name":"a"}`, "Name", "unknown_field", "This route has no field of this name."},
		{"", `{"name":"a","id":"x2"}`, "id", "unknown_field", "This route has no field of this name."},
		{"", `{"name":"a","parts":[{"name":"b","x":1}]}`, "parts[0].x", "unknown_field", "This route has no field of this name."},
		{"", `{"name":null}`, "name", "wrong_type", "name has the wrong type: it is null."},
		{"", `{"name":1}`, "name", "wrong_type", "name has the wrong type: it is a number."},
		{"", `{"name":{"a":1}}`, "name", "wrong_type", "name has the wrong type: it is an object."},
		{"", `{"name":"a","on":"yes"}`, "on", "wrong_type", "on has the wrong type: it is a string."},
		{"", `{"name":"a","count":null}`, "count", "wrong_type", "count has the wrong type: it is null."},
		{"", `{"name":"a","count":1.5}`, "count", "whole_number", "count must be a whole number."},
		{"", `{"name":"a","count":1e30}`, "count", "whole_number", "count must be a whole number."},
		{"", `{"name":"a","limit":"much"}`, "limit", "amount", "limit must be an amount of rubles with at most nine decimals, such as 12.5."},
		{"", `{"name":"a","limit":[]}`, "limit", "amount", "limit must be an amount of rubles with at most nine decimals, such as 12.5."},
		{"", `{"name":"a","at":"tomorrow"}`, "at", "time", "at must be a time in RFC 3339, such as 2026-01-31T12:00:00Z."},
		{"", `{"name":"a","words":{"k":2}}`, "words.k", "wrong_type", "words.k has the wrong type: it is a number."},
		{"", `{"name":"a","parts":[null]}`, "parts[0]", "wrong_type", "parts[0] has the wrong type: it is null."},
		{"days=0", `{"name":"a"}`, "days", "integer_range", "days must be a whole number from 1 to 90."},
		{"days=x", `{"name":"a"}`, "days", "integer_range", "days must be a whole number from 1 to 90."},
		{"days=91", `{"name":"a"}`, "days", "integer_range", "days must be a whole number from 1 to 90."},
		{"all=maybe", `{"name":"a"}`, "all", "true_or_false", "all must be true or false."},
		{"since=now", `{"name":"a"}`, "since", "time", "since must be a time in RFC 3339, such as 2026-01-31T12:00:00Z."},
	} {
		_, err := read(c.query, c.body)
		e := fault.From(err)
		if err == nil || e.Kind != fault.Invalid || e.Param != c.param || e.Code != c.code || e.Public != c.says {
			t.Errorf("%s %s: %+v", c.query, c.body, e)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	type out struct {
		Amount money.Nano     `json:"amount"`
		None   *money.Nano    `json:"none"`
		At     time.Time      `json:"at"`
		Never  time.Time      `json:"never"`
		List   []string       `json:"list"`
		Raw    operation.Raw  `json:"raw"`
		Next   operation.Null `json:"next"`
		Text   string         `json:"text"`
	}
	o := operation.Of(operation.Operation{ID: "try", Path: "/api/tries"}, func(context.Context, *operation.Call, *operation.None) (operation.Data[out], error) {
		return operation.Data[out]{Data: out{Amount: -1, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)), Raw: operation.Raw(`{"a": 1.0}`), Text: "<b>\xff"}}, nil
	})
	answer, err := o.Serve(context.Background(), &operation.Call{})
	const want = `{"data":{"amount":"-0.000000001","none":null,"at":"2026-01-02T02:04:05Z","never":null,"list":[],"raw":{"a":1.0},"next":null,"text":"<b>` + "\ufffd" + `"}}`
	if got := string(answer.JSON); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
}

// What must still happen is answered with 202, and a body without members is still read.
func TestOr(t *testing.T) {
	t.Parallel()
	type waits struct {
		Step string `json:"step"`
	}
	done := true
	o := operation.Of(operation.Operation{ID: "try", Path: "/api/tries"}, func(context.Context, *operation.Call, *operation.Empty) (operation.Or[part, waits], error) {
		if done {
			return operation.Or[part, waits]{Done: &part{Name: "a"}}, nil
		}
		return operation.Or[part, waits]{Waits: &waits{"b"}}, nil
	})
	if !o.HasBody() {
		t.Error("no body is read")
	}
	for status, want := range map[int]string{0: `{"name":"a"}`, 202: `{"step":"b"}`} {
		done = status == 0
		c := operation.Call{Content: []byte(`{}`)}
		if got, err := o.Serve(context.Background(), &c); err != nil || string(got.JSON) != want || c.Status != status {
			t.Errorf("%s with %d, %v", got.JSON, c.Status, err)
		}
	}
	if _, err := o.Serve(context.Background(), &operation.Call{Content: []byte(`{"name":"a"}`)}); fault.From(err).Code != "unknown_field" {
		t.Errorf("a member of nothing: %v", err)
	}
}

// A type that cannot be read is a mistake of its declaration.
func TestDeclarationsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, try := range []func(){
		func() { declare[struct{ Name string }]("/api/x") },
		func() {
			declare[struct {
				Name *string `json:"name"`
			}]("/api/x")
		},
		func() {
			declare[struct {
				C chan int `json:"c"`
			}]("/api/x")
		},
		func() { declare[operation.None]("/api/x/{id}") },
		func() { declare[string]("/api/x") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a declaration passed that cannot be read")
				}
			}()
			try()
		}()
	}
}

func declare[In any](path string) {
	operation.Of(operation.Operation{ID: "try", Path: path}, func(context.Context, *operation.Call, *In) (operation.None, error) { return operation.None{}, nil })
}

// Whatever a body says, it is read or refused as the client's mistake, and what is read says the same when it is written.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"name":"a"}`, `{"name":"a","limit":null,"parts":[{"name":"b","size":1}]}`, `{"name":"\ud83d\ude00","words":{"":""}}`, `{"name":"a","raw":[[]],"count":-1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if rawjson.Check([]byte(body), rawjson.Limits{Depth: 8, Keys: 200, Values: 2000}) != nil || rawjson.KindOf([]byte(body)) != rawjson.Object {
			t.Skip()
		}
		got, err := read("", body)
		if err != nil {
			if e := fault.From(err); e.Kind != fault.Invalid || e.Code == "" {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		if name := rawjson.TextAt([]byte(body), "name"); got.Name != name {
			t.Errorf("%q: name is %q, not %q", body, got.Name, name)
		}
		if reflect.ValueOf(*got).FieldByName("ID").String() != "x1" {
			t.Errorf("%q set what the path says", body)
		}
	})
}
