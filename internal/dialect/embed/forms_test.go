package embed_test

import (
	"strconv"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/embed"
	"weir/internal/task"
	"weir/internal/vector"
)

// asking is an Ask of an endpoint at a time.
type asking struct {
	dialect.Ask
	ep  *catalog.Endpoint
	now time.Time
}

func (x *asking) Endpoint() *catalog.Endpoint { return x.ep }
func (x *asking) Now() time.Time              { return x.now }

// The client's form is asked for, unless the endpoint answered with numbers within the last hour.
func TestForms(t *testing.T) {
	t.Parallel()
	packed, err := vector.Base64([]byte("AACAPw=="))
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := vector.Numbers([]byte("[1]"))
	if err != nil {
		t.Fatal(err)
	}
	var f embed.Forms
	ask := &asking{ep: &catalog.Endpoint{ID: "a"}, now: time.Unix(1000, 0)}
	other := &asking{ep: &catalog.Endpoint{ID: "b"}, now: ask.now}
	want := &task.Embedding{Base64: true}
	wants := func(ask dialect.Ask, is bool) {
		t.Helper()
		if f.Packed(ask, want) != is {
			t.Errorf("asks for base64: %t", !is)
		}
	}
	if f.Packed(ask, &task.Embedding{}) {
		t.Error("numbers are wanted, and base64 is asked for")
	}
	wants(ask, true)
	f.Answered(ask, true, []vector.Vector{packed})
	f.Answered(ask, true, nil)
	f.Answered(ask, false, []vector.Vector{numbers}) // which were asked for
	wants(ask, true)
	f.Answered(ask, true, []vector.Vector{numbers})
	wants(ask, false)
	wants(other, true)
	ask.now = ask.now.Add(time.Hour)
	wants(ask, true)
	for i := range 5000 {
		f.Answered(&asking{ep: &catalog.Endpoint{ID: strconv.Itoa(i)}, now: ask.now}, true, []vector.Vector{numbers})
	}
	if n := f.Len(); n > 1024 {
		t.Errorf("%d endpoints are remembered", n)
	}
}
