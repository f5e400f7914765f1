package video

import (
	"encoding/binary"
	"fmt"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
)

// The encoding of the parts of a job that have no column in the store: one byte of version, then fields in a fixed order. New fields are
// added at the end; in older data they are missing and read as zero.
const codecVersion = 1

type encoder struct{ b []byte }

func (e *encoder) int(n int64)    { e.b = binary.AppendVarint(e.b, n) }
func (e *encoder) bytes(b []byte) { e.int(int64(len(b))); e.b = append(e.b, b...) }
func (e *encoder) text(s string)  { e.int(int64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) count(n int)    { e.int(int64(n)) }

// price writes 0 for a price that is not set, 1 for a price set in rubles, 2 for a price set in dollars, which follow.
func (e *encoder) price(p money.Price) {
	if p.Set && p.Dollars != "" {
		e.int(2)
		e.int(p.Nano)
		e.text(p.Dollars)
		return
	}
	e.flag(p.Set)
	e.int(p.Nano)
}

func (e *encoder) moment(t time.Time) {
	if t.IsZero() {
		e.int(0)
	} else {
		e.int(t.UnixMicro())
	}
}

func (e *encoder) texts(all ...string) {
	for _, s := range all {
		e.text(s)
	}
}

func (e *encoder) flag(set bool) {
	if set {
		e.int(1)
	} else {
		e.int(0)
	}
}

func (e *encoder) optional(n *int64) {
	e.flag(n != nil)
	if n != nil {
		e.int(*n)
	}
}

func (e *encoder) media(all []Media) {
	e.count(len(all))
	for i := range all {
		e.int(int64(all[i].Kind))
		e.texts(all[i].URL, all[i].Frame)
	}
}

func (e *encoder) params(all []Param) {
	e.count(len(all))
	for i := range all {
		e.text(all[i].Name)
		e.bytes(all[i].Value)
	}
}

// decoder reads the encoding of encoder. After the first invalid value bad is true, and every read returns zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) fail() { d.b, d.bad = nil, true }

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		if len(d.b) > 0 || d.bad {
			d.fail()
		}
		return 0 // older data, without this field
	}
	d.b = d.b[size:]
	return n
}

// count reads a number of elements. Each takes at least one byte, so a number above the bytes left is invalid.
func (d *decoder) count() int {
	n := d.int()
	if n < 0 || n > int64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bytes() []byte {
	n := d.count()
	if n == 0 {
		return nil
	}
	b := d.b[:n:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) texts(to ...*string) {
	for _, p := range to {
		*p = d.text()
	}
}

func (d *decoder) flag() bool { return d.int() == 1 }

func (d *decoder) moment() time.Time {
	if n := d.int(); n != 0 {
		return time.UnixMicro(n).UTC()
	}
	return time.Time{}
}

func (d *decoder) optional() *int64 {
	if !d.flag() {
		return nil
	}
	n := d.int()
	return &n
}

func (d *decoder) price() (p money.Price) {
	kind := d.int()
	p.Set, p.Nano = kind > 0, d.int()
	if kind == 2 {
		p.Dollars = d.text()
	}
	return p
}

func (d *decoder) media() (all []Media) {
	for range d.count() {
		m := Media{Kind: catalog.Modality(d.int())}
		d.texts(&m.URL, &m.Frame)
		all = append(all, m)
	}
	return all
}

func (d *decoder) params() (all []Param) {
	for range d.count() {
		all = append(all, Param{Name: d.text(), Value: d.bytes()})
	}
	return all
}

func newDecoder(b []byte, what string) (decoder, error) {
	if len(b) == 0 || b[0] != codecVersion {
		return decoder{}, fault.Wrap("video.decode", fmt.Errorf("%s of a job begins with % x: a newer program wrote it", what, b[:min(len(b), 1)]))
	}
	return decoder{b: b[1:]}, nil
}

func (d *decoder) done(what string) error {
	if d.bad {
		return fault.Wrap("video.decode", fmt.Errorf("%s of a job cannot be read", what))
	}
	return nil
}

// EncodeRequest encodes a request for DecodeRequest. What planning has used is left out, and what the job itself has.
func EncodeRequest(r *Request) []byte {
	e := encoder{[]byte{codecVersion}}
	e.texts(r.Model, r.Prompt, r.Resolution, r.AspectRatio, r.Size, r.Upscale)
	e.int(r.Seconds)
	e.int(r.Outputs)
	e.media(r.Frames)
	e.media(r.References)
	e.flag(r.Audio != nil)
	e.flag(r.WithAudio())
	e.optional(r.Seed)
	e.optional(r.Creativity)
	e.params(r.Params)
	e.count(len(r.Options))
	for i := range r.Options {
		e.text(r.Options[i].Provider)
		e.params(r.Options[i].Fields)
	}
	return e.b
}

// DecodeRequest decodes the bytes of EncodeRequest. An emptied request is decoded as an empty one.
func DecodeRequest(b []byte) (r Request, err error) {
	if len(b) == 0 {
		return r, nil
	}
	d, err := newDecoder(b, "the request")
	if err != nil {
		return r, err
	}
	d.texts(&r.Model, &r.Prompt, &r.Resolution, &r.AspectRatio, &r.Size, &r.Upscale)
	r.Seconds, r.Outputs = d.int(), d.int()
	r.Frames, r.References = d.media(), d.media()
	if said, audio := d.flag(), d.flag(); said {
		r.Audio = &audio
	}
	r.Seed, r.Creativity = d.optional(), d.optional()
	r.Params = d.params()
	for range d.count() {
		r.Options = append(r.Options, ProviderOptions{Provider: d.text(), Fields: d.params()})
	}
	return r, d.done("the request")
}

// EncodeDetail encodes the fields without a column in the store: offers, outputs, the record of the call and the progress of the work.
func EncodeDetail(j *Job) []byte {
	e := encoder{[]byte{codecVersion}}
	for _, n := range [...]int64{int64(j.Offer), int64(j.Rounds), int64(j.Progress), j.Videos, j.Seconds, int64(j.Polls), int64(j.Failures)} {
		e.int(n)
	}
	e.texts(j.Notice, j.Callback)
	e.count(len(j.Offers))
	for i := range j.Offers {
		o := &j.Offers[i]
		e.texts(o.Endpoint, o.Provider, o.ProviderName, o.UpstreamModel, o.List, o.Rate, o.Source)
		e.price(o.Second)
		e.price(o.Request)
		e.flag(o.Refused)
	}
	e.count(len(j.Outputs))
	for i := range j.Outputs {
		o := &j.Outputs[i]
		e.texts(o.URL, o.Handle, o.MediaType, o.Kept, o.ETag)
		e.int(o.Bytes)
	}
	e.bytes(ledger.Encode(ledger.Item{Call: j.Call}).Record)
	e.moment(j.AskedAt)
	e.text(j.Doubt)
	e.text(j.Size)
	e.flag(j.Form)
	for i := range j.Offers {
		e.text(j.Offers[i].OwnKey)
	}
	e.text(j.Trace)
	return e.b
}

// DecodeDetail decodes the bytes of EncodeDetail into j.
func DecodeDetail(b []byte, j *Job) error {
	d, err := newDecoder(b, "the detail")
	if err != nil {
		return err
	}
	j.Offer, j.Rounds, j.Progress = int(d.int()), int(d.int()), int(d.int())
	j.Videos, j.Seconds = d.int(), d.int()
	j.Polls, j.Failures = int(d.int()), int(d.int())
	d.texts(&j.Notice, &j.Callback)
	for range d.count() {
		var o Offer
		d.texts(&o.Endpoint, &o.Provider, &o.ProviderName, &o.UpstreamModel, &o.List, &o.Rate, &o.Source)
		o.Second, o.Request, o.Refused = d.price(), d.price(), d.flag()
		j.Offers = append(j.Offers, o)
	}
	for range d.count() {
		var o Output
		d.texts(&o.URL, &o.Handle, &o.MediaType, &o.Kept, &o.ETag)
		o.Bytes = d.int()
		j.Outputs = append(j.Outputs, o)
	}
	rec := d.bytes()
	if len(d.b) > 0 { // older data ends here, without these fields
		if j.AskedAt = d.moment(); len(d.b) == 0 {
			d.fail()
		}
		j.Doubt = d.text()
	}
	if len(d.b) > 0 { // and here, without these
		if j.Size = d.text(); len(d.b) == 0 {
			d.fail()
		}
		j.Form = d.flag()
	}
	if len(d.b) > 0 { // and here, without own keys
		for i := range j.Offers {
			if len(d.b) == 0 {
				d.fail()
			}
			j.Offers[i].OwnKey = d.text()
		}
	}
	if len(d.b) > 0 { // and here, without a trace
		j.Trace = d.text()
	}
	if err := d.done("the detail"); err != nil {
		return err
	}
	it, err := ledger.DecodeItem(rec)
	j.Call = it.Call
	return err
}
