package ledgerdb

import (
	"encoding/base64"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/record"
	"weir/internal/store/sqldb"
	"weir/internal/usage"
)

// member is a field of T in the details of a call, which are JSON. It is left out while it is zero. Names are never used for another
// meaning, and readers ignore those that they do not know.
type member[T any] struct {
	name string
	at   func(*T) any // a pointer to the field
}

// detailed is what the details of a call are made of, beside the columns of its row.
type detailed struct {
	ledger.Item
	sum int64 // of the bytes that the journal had: it binds the details to the columns
}

// Amounts are in rubles and durations in seconds: both have nine digits after the point, and are exact.
var (
	itemMembers = append([]member[detailed]{
		{"sum", func(i *detailed) any { return &i.sum }},
		{"wallet_lease", func(i *detailed) any { return &i.WalletLease }},
		{"key_lease", func(i *detailed) any { return &i.KeyLease }},
	}, callsOf(callMembers)...)
	callMembers = []member[record.Call]{
		{"request", func(c *record.Call) any { return &c.Request }},
		{"preset", func(c *record.Call) any { return &c.Preset }},
		{"preset_version", func(c *record.Call) any { return &c.PresetVersion }},
		{"model_asked", func(c *record.Call) any { return &c.ModelAsked }},
		{"provider_name", func(c *record.Call) any { return &c.ProviderName }},
		{"endpoint", func(c *record.Call) any { return &c.Endpoint }},
		{"upstream_model", func(c *record.Call) any { return &c.UpstreamModel }},
		{"upstream_id", func(c *record.Call) any { return &c.UpstreamID }},
		{"own_key", func(c *record.Call) any { return &c.OwnKey }},
		{"streamed", func(c *record.Call) any { return &c.Streamed }},
		{"finish", func(c *record.Call) any { return &c.Finish }},
		{"native_finish", func(c *record.Call) any { return &c.NativeFinish }},
		{"notice", func(c *record.Call) any { return &c.Notice }},
		{"usage", func(c *record.Call) any { return &c.Usage }},
		{"upstream_cost", func(c *record.Call) any { return &c.Usage.UpstreamCost }},
		{"tier", func(c *record.Call) any { return &c.Usage.Tier }},
		{"usage_source", func(c *record.Call) any { return &c.Usage.Source }},
		{"lines", func(c *record.Call) any { return &c.Lines }},
		{"price_list", func(c *record.Call) any { return &c.PriceList }},
		{"rate", func(c *record.Call) any { return &c.Rate }},
		{"source_price", func(c *record.Call) any { return &c.SourcePrice }},
		{"hold", func(c *record.Call) any { return &c.Hold }},
		{"catalog", func(c *record.Call) any { return &c.Catalog }},
		{"lost_because", func(c *record.Call) any { return &c.Lost.Why }},
		{"lost_tokens", func(c *record.Call) any { return &c.Lost.Tokens }},
		{"lost_message", func(c *record.Call) any { return &c.Lost.Message }},
		{"lost_from", func(c *record.Call) any { return &c.Lost.From }},
		{"lost_cost", func(c *record.Call) any { return &c.Lost.Cost }},
		{"first_content", func(c *record.Call) any { return &c.FirstContent }},
		{"duration", func(c *record.Call) any { return &c.Duration }},
		{"generating", func(c *record.Call) any { return &c.Generating }},
		{"candidates", func(c *record.Call) any { return &c.Candidates }},
		{"attempts", func(c *record.Call) any { return &c.Attempts }},
		{"user_agent", func(c *record.Call) any { return &c.UserAgent }},
		{"referer", func(c *record.Call) any { return &c.Referer }},
		{"title", func(c *record.Call) any { return &c.Title }},
		{"session", func(c *record.Call) any { return &c.Session }},
		{"client_user", func(c *record.Call) any { return &c.ClientUser }},
		{"metadata", func(c *record.Call) any { return &c.Metadata }},
		{"parameters", func(c *record.Call) any { return &c.Parameters }},
		{"member", func(c *record.Call) any { return &c.Member }},
		{"team", func(c *record.Call) any { return &c.Team }},
		{"tags", func(c *record.Call) any { return &c.Tags }},
		{"funds", func(c *record.Call) any { return &c.Funds }},
	}
	fundMembers = []member[record.Fund]{
		{"id", func(f *record.Fund) any { return &f.ID }},
		{"kind", func(f *record.Fund) any { return &f.Kind }},
		{"start", func(f *record.Fund) any { return &f.Start }},
		{"lease", func(f *record.Fund) any { return &f.Lease }},
	}
	lineMembers = []member[usage.Line]{
		{"kind", func(l *usage.Line) any { return &l.Kind }},
		{"quantity", func(l *usage.Line) any { return &l.Quantity }},
		{"price", func(l *usage.Line) any { return (*money.Nano)(&l.Price) }},
		{"dollars", func(l *usage.Line) any { return &l.Dollars }},
	}
	candidateMembers = []member[record.Candidate]{
		{"endpoint", func(x *record.Candidate) any { return &x.Endpoint }},
		{"dropped_by", func(x *record.Candidate) any { return &x.DroppedBy }},
		{"detail", func(x *record.Candidate) any { return &x.Detail }},
		{"order", func(x *record.Candidate) any { return &x.Order }},
		{"score", func(x *record.Candidate) any { return &x.Score }},
		{"reason", func(x *record.Candidate) any { return &x.Reason }},
		{"own_key", func(x *record.Candidate) any { return &x.OwnKey }},
		{"model", func(x *record.Candidate) any { return &x.Slug }},
		{"prompt", func(x *record.Candidate) any { return &x.Prompt }},
		{"completion", func(x *record.Candidate) any { return &x.Completion }},
		{"per_request", func(x *record.Candidate) any { return &x.PerRequest }},
	}
	attemptMembers = []member[record.Attempt]{
		{"endpoint", func(x *record.Attempt) any { return &x.Endpoint }},
		{"provider", func(x *record.Attempt) any { return &x.Provider }},
		{"status", func(x *record.Attempt) any { return &x.Status }},
		{"reason", func(x *record.Attempt) any { return &x.Reason }},
		{"words", func(x *record.Attempt) any { return &x.Words }},
		{"own_key", func(x *record.Attempt) any { return &x.OwnKey }},
		{"key", func(x *record.Attempt) any { return &x.ProviderKey }},
		{"started", func(x *record.Attempt) any { return &x.Started }},
		{"first_content", func(x *record.Attempt) any { return &x.FirstContent }},
		{"ended", func(x *record.Attempt) any { return &x.Ended }},
	}
)

func callsOf(calls []member[record.Call]) (items []member[detailed]) {
	for _, m := range calls {
		items = append(items, member[detailed]{m.name, func(i *detailed) any { return m.at(&i.Call) }})
	}
	return items
}

// journalMember has the bytes that the journal had of a call, where they cannot be made of the other members and the columns: those of
// versions that kept less, and texts that JSON cannot have. The chain is over these bytes.
const journalMember = "journal"

// detailer makes the details of calls.
type detailer struct {
	b, again   []byte
	space      strings.Builder // some of the details: room for all of a batch would grow with each, and leave the smaller ones behind
	of         detailed
	candidates []record.Candidate
	lossy      bool // what is written differs from what was there
}

// details are the details of an item whose bytes in the journal are rec. Its row has the columns that generationArgs makes of it.
func (d *detailer) details(it *ledger.Item, rec []byte) string {
	d.lossy = false
	d.of = detailed{*it, sumOf(rec)}
	d.omitModels()
	d.b = append(d.b[:0], '{')
	appendMembers(d, itemMembers, &d.of)
	if d.again = ledger.AppendRecord(d.again[:0], it); d.lossy || string(d.again) != string(rec) {
		d.name(journalMember)
		d.b = append(d.b, '"')
		d.b = base64.StdEncoding.AppendEncode(d.b, rec)
		d.b = append(d.b, '"')
	}
	return d.keep(append(d.b, '}'))
}

func (d *detailer) keep(b []byte) string {
	const room = 16 << 10
	if d.space.Cap()-d.space.Len() < len(b) {
		d.space = strings.Builder{}
		d.space.Grow(max(room, len(b)))
	}
	begin := d.space.Len()
	d.space.Write(b)
	return d.space.String()[begin:]
}

// omitModels empties the model that was asked for where the row has it, and the models of candidates where they are the one asked for.
func (d *detailer) omitModels() {
	c := &d.of.Call
	d.candidates = append(d.candidates[:0], c.Candidates...)
	for i := range d.candidates {
		switch x := &d.candidates[i]; x.Slug {
		case c.ModelAsked:
			x.Slug = ""
		case "":
			d.lossy = true
		}
	}
	c.Candidates = d.candidates
	switch c.ModelAsked {
	case c.Model:
		c.ModelAsked = ""
	case "":
		d.lossy = true
	}
}

// restoreModels is the reverse of omitModels.
func restoreModels(c *record.Call) {
	if c.ModelAsked == "" {
		c.ModelAsked = c.Model
	}
	for i := range c.Candidates {
		if x := &c.Candidates[i]; x.Slug == "" {
			x.Slug = c.ModelAsked
		}
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(rec []byte) int64 { return int64(crc32.Checksum(rec, castagnoli)) }

func (d *detailer) name(s string) {
	if d.b[len(d.b)-1] != '{' {
		d.b = append(d.b, ',')
	}
	d.b = append(append(append(d.b, '"'), s...), '"', ':')
}

func appendMembers[T any](d *detailer, members []member[T], x *T) {
	for i := range members {
		d.member(members[i].name, members[i].at(x))
	}
}

func (d *detailer) member(name string, p any) {
	switch p := p.(type) {
	case *string:
		if *p != "" {
			d.name(name)
			d.text(*p)
		}
	case *int64:
		d.int(name, *p)
	case *int:
		d.int(name, int64(*p))
	case *bool:
		if *p {
			d.name(name)
			d.b = append(d.b, "true"...)
		}
	case *money.Nano:
		d.decimal(name, *p)
	case *time.Duration:
		d.decimal(name, money.Nano(*p))
	case *float64:
		d.float(name, *p)
	case *usage.Kind:
		d.name(name)
		if word := p.String(); kindsByName[word] == *p {
			d.b = rawjson.AppendText(d.b, word)
		} else {
			d.b = strconv.AppendUint(d.b, uint64(*p), 10)
		}
	case *usage.Source:
		d.int(name, int64(*p))
	case *usage.Usage:
		d.counted(name, p)
	case *[]usage.Line:
		appendList(d, name, lineMembers, *p)
	case *[]record.Candidate:
		appendList(d, name, candidateMembers, *p)
	case *[]record.Attempt:
		appendList(d, name, attemptMembers, *p)
	case *[]record.Fund:
		appendList(d, name, fundMembers, *p)
	case *[]string:
		d.texts(name, *p)
	}
}

// text writes a text. Nearly all are ASCII that needs no escape, and are looked at once.
func (d *detailer) text(s string) {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf {
			clean := sqldb.Text(s)
			d.lossy = d.lossy || clean != s
			s = clean
			break
		}
	}
	d.b = rawjson.AppendText(d.b, s)
}

func (d *detailer) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	d.name(name)
	d.b = append(d.b, '[')
	for i, s := range list {
		if i > 0 {
			d.b = append(d.b, ',')
		}
		d.text(s)
	}
	d.b = append(d.b, ']')
}

func appendList[T any](d *detailer, name string, members []member[T], list []T) {
	if len(list) == 0 {
		return
	}
	d.name(name)
	d.b = append(d.b, '[')
	for i := range list {
		if i > 0 {
			d.b = append(d.b, ',')
		}
		d.b = append(d.b, '{')
		appendMembers(d, members, &list[i])
		d.b = append(d.b, '}')
	}
	d.b = append(d.b, ']')
}

func (d *detailer) int(name string, n int64) {
	if n != 0 {
		d.name(name)
		d.b = strconv.AppendInt(d.b, n, 10)
	}
}

func (d *detailer) decimal(name string, n money.Nano) {
	if n != 0 {
		d.name(name)
		d.b = n.Append(d.b)
	}
}

func (d *detailer) float(name string, f float64) {
	switch {
	case f == 0 && !math.Signbit(f):
	case f == 0 || math.IsNaN(f) || math.IsInf(f, 0):
		d.lossy = true
	default:
		d.name(name)
		d.b = strconv.AppendFloat(d.b, f, 'g', -1, 64)
	}
}

// counted writes the counts that were reported, those of zero as well. The others are beside them: what was not reported is no zero.
func (d *detailer) counted(name string, u *usage.Usage) {
	counts := u.Counts()
	for _, reported := range [...]bool{true, false} {
		open := false
		for i, c := range counts {
			if c.Reported != reported || !reported && c.N == 0 {
				continue
			}
			if !open {
				d.name(name)
				d.b = append(d.b, '{')
				open = true
			}
			d.name(usage.CountNames[i])
			d.b = strconv.AppendInt(d.b, c.N, 10)
		}
		if open {
			d.b = append(d.b, '}')
		}
		name = unreported
	}
}

const unreported = "usage_unreported"

// kindsByName has the kinds of lines by their names.
var kindsByName = func() map[string]usage.Kind {
	all := map[string]usage.Kind{}
	for _, k := range usage.Kinds() {
		all[k.String()] = k
	}
	return all
}()

// readDetails reads what details wrote of a row, and the bytes that the journal had of it, in space.
func (r *stored) readDetails(space []byte) (it ledger.Item, rec []byte, err error) {
	x := detailed{Item: ledger.Item{Call: r.call()}}
	ok := rawjson.Check(r.details, rawjson.Limits{}) == nil && rawjson.KindOf(r.details) == rawjson.Object && readMembers(r.details, itemMembers, &x)
	switch v := rawjson.Find(r.details, journalMember); {
	case !ok:
	case v != nil:
		if rec, err = base64.StdEncoding.AppendDecode(space, []byte(rawjson.Text(v))); err != nil {
			return it, nil, err
		}
		x.Item, err = ledger.DecodeItem(rec)
	default:
		restoreModels(&x.Call)
		rec = ledger.AppendRecord(space, &x.Item)
	}
	if !ok || err != nil || sumOf(rec) != x.sum {
		return it, rec, fault.New(fault.Internal, "store.Record", "The details of a call cannot be read, or do not fit its row. Run weir ledger verify.")
	}
	return x.Item, rec, nil
}

// readMembers reads an object. Members mostly come in the order in which they are written, so the search goes on after the last one.
func readMembers[T any](v []byte, members []member[T], x *T) (ok bool) {
	m := rawjson.MembersOf(v)
	next := 0
	for m.Next() {
		if string(m.Name) == unreported {
			if c, is := any(x).(*detailed); is && !readCounts(m.Value, &c.Call.Usage, false) {
				return false
			}
			continue
		}
		for i := range members {
			at := (next + i) % len(members)
			if members[at].name == string(m.Name) {
				if !readValue(m.Value, members[at].at(x)) {
					return false
				}
				next = at + 1
				break
			}
		}
	}
	return !m.Bad()
}

func readValue(v []byte, p any) (ok bool) {
	switch p := p.(type) {
	case *string:
		var text []byte
		text, ok = rawjson.Unquote(v)
		*p = string(text)
	case *int64:
		*p, ok = rawjson.Int(v)
	case *int:
		var n int64
		n, ok = rawjson.Int(v)
		*p = int(n)
	case *bool:
		*p, ok = rawjson.Bool(v)
	case *money.Nano:
		n, err := money.ParseNumber(string(v))
		*p, ok = n, err == nil
	case *time.Duration:
		n, err := money.ParseNumber(string(v))
		*p, ok = time.Duration(n), err == nil
	case *float64:
		*p, ok = rawjson.Float(v)
	case *usage.Kind:
		if *p, ok = kindsByName[rawjson.Text(v)]; !ok {
			var n int64
			n, ok = rawjson.Int(v)
			*p, ok = usage.Kind(n), ok && n >= 0 && n <= math.MaxUint8
		}
	case *usage.Source:
		n, is := rawjson.Int(v)
		*p, ok = usage.Source(n), is && n >= 0 && n <= math.MaxUint8
	case *usage.Usage:
		ok = readCounts(v, p, true)
	case *[]usage.Line:
		*p, ok = readList(v, lineMembers)
	case *[]record.Candidate:
		*p, ok = readList(v, candidateMembers)
	case *[]record.Attempt:
		*p, ok = readList(v, attemptMembers)
	case *[]record.Fund:
		*p, ok = readList(v, fundMembers)
	case *[]string:
		*p, ok = readTexts(v)
	}
	return ok
}

func readList[T any](v []byte, members []member[T]) (list []T, ok bool) {
	ok = rawjson.KindOf(v) == rawjson.Array
	for e := rawjson.ElementsOf(v); ok && e.Next(); {
		var x T
		ok = readMembers(e.Value, members, &x)
		list = append(list, x)
	}
	return list, ok
}

func readTexts(v []byte) (list []string, ok bool) {
	ok = rawjson.KindOf(v) == rawjson.Array
	for e := rawjson.ElementsOf(v); ok && e.Next(); {
		var text []byte
		text, ok = rawjson.Unquote(e.Value)
		list = append(list, string(text))
	}
	return list, ok
}

func readCounts(v []byte, u *usage.Usage, reported bool) bool {
	counts := u.Counts()
	m := rawjson.MembersOf(v)
	for m.Next() {
		for i, name := range usage.CountNames {
			if name == string(m.Name) {
				n, ok := rawjson.Int(m.Value)
				if !ok {
					return false
				}
				*counts[i] = usage.Count{N: n, Reported: reported}
			}
		}
	}
	return !m.Bad()
}
