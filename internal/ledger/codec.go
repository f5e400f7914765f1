package ledger

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/usage"
)

// A record of the journal: one byte of version, then fields in a fixed order. Numbers are varints, zigzag where they may be negative,
// text has its length before it, a time is Unix microseconds. New fields come at the end: an older reader
// ignores what follows, one that misses them sees zero. A change of what is there needs another version, and the store keeps records
// of every version for good: what could be read once stays readable.
const codecVersion = 1

type encoder struct{ b []byte }

func (e *encoder) int(n int64)         { e.b = binary.AppendVarint(e.b, n) }
func (e *encoder) uint(n uint64)       { e.b = binary.AppendUvarint(e.b, n) }
func (e *encoder) dur(d time.Duration) { e.int(int64(d)) }
func (e *encoder) float(f float64)     { e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(f)) }
func (e *encoder) text(s string)       { e.uint(uint64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) texts(list ...string) {
	for _, s := range list {
		e.text(s)
	}
}

// appendItem encodes it. A record that is read back differs in nothing but At, which is cut to microseconds in UTC.
func appendItem(b []byte, it *Item) []byte {
	e := encoder{append(b, codecVersion)}
	c := &it.Call
	e.int(it.WalletLease)
	e.int(it.KeyLease)
	e.texts(c.Generation, c.Request, c.User, c.Wallet, c.Key, c.API)
	e.int(c.At.UnixMicro())
	e.texts(c.ModelAsked, c.Model, c.Provider, c.ProviderName, c.Endpoint, c.UpstreamModel, c.UpstreamID)
	counts := c.Usage.Counts()
	later := anyOf(counts[firstCounts:])
	preset := c.Preset != "" || c.PresetVersion != 0
	own := ownKeys(c)
	words := slices.ContainsFunc(c.Attempts, func(a record.Attempt) bool { return a.Words != "" })
	keys := slices.ContainsFunc(c.Attempts, func(a record.Attempt) bool { return a.ProviderKey != "" })
	scoped := c.Member != "" || c.Team != "" || len(c.Tags) > 0
	dollars := slices.ContainsFunc(c.Lines, func(l usage.Line) bool { return l.Dollars != "" })
	e.uint(flag(c.Streamed, 0) | flag(c.Cancelled, 1) | flag(c.Settled, 2) | hasOffers | flag(c.Notice != "", 4) | flag(later, 5) | flag(dollars, 6) | flag(preset, 7) | flag(own, 8) | flag(c.Parameters != "", 9) | flag(words, 10) | flag(keys, 11) | flag(scoped, 12) | flag(len(c.Funds) > 0, 13) | flag(c.Lost.Why != "", 14))
	e.int(int64(c.Status))
	e.texts(c.Error, c.Finish, c.NativeFinish)
	e.usage(&c.Usage)
	e.uint(uint64(len(c.Lines)))
	for _, l := range c.Lines {
		e.uint(uint64(l.Kind))
		e.int(l.Quantity)
		e.int(l.Price)
	}
	e.int(int64(c.Cost))
	e.texts(c.PriceList, c.Rate, c.SourcePrice)
	e.int(int64(c.Hold))
	e.dur(c.FirstContent)
	e.dur(c.Duration)
	e.dur(c.Generating)
	e.uint(uint64(len(c.Candidates)))
	for i := range c.Candidates {
		x := &c.Candidates[i]
		e.texts(x.Endpoint, x.DroppedBy, x.Detail)
		e.int(int64(x.Order))
		e.float(x.Score)
		e.text(x.Reason)
	}
	e.uint(uint64(len(c.Attempts)))
	for i := range c.Attempts {
		x := &c.Attempts[i]
		e.texts(x.Endpoint, x.Provider, x.Reason)
		e.int(int64(x.Status))
		e.dur(x.Started)
		e.dur(x.FirstContent)
		e.dur(x.Ended)
	}
	e.texts(c.UserAgent, c.Referer, c.Title, c.Session, c.ClientUser, c.Metadata, c.Catalog)
	for i := range c.Candidates {
		e.offer(&c.Candidates[i], c.ModelAsked)
	}
	if c.Notice != "" {
		e.text(c.Notice)
	}
	if later {
		e.counts(counts[firstCounts:])
	}
	if dollars {
		for i := range c.Lines {
			e.text(c.Lines[i].Dollars)
		}
	}
	if preset {
		e.text(c.Preset)
		e.int(c.PresetVersion)
	}
	if own {
		e.ownKeys(c)
	}
	if c.Parameters != "" {
		e.text(c.Parameters)
	}
	if words {
		for i := range c.Attempts {
			e.text(c.Attempts[i].Words)
		}
	}
	if keys {
		for i := range c.Attempts {
			e.text(c.Attempts[i].ProviderKey)
		}
	}
	if scoped {
		e.texts(c.Member, c.Team)
		e.uint(uint64(len(c.Tags)))
		e.texts(c.Tags...)
	}
	if len(c.Funds) > 0 {
		e.uint(uint64(len(c.Funds)))
		for i := range c.Funds {
			f := &c.Funds[i]
			e.texts(f.ID, f.Kind)
			e.int(f.Start)
			e.int(f.Lease)
		}
	}
	if l := &c.Lost; l.Why != "" {
		e.texts(l.Why, l.From)
		e.int(l.Tokens)
		e.int(l.Message)
		e.int(int64(l.Cost))
	}
	return e.b
}

// ownKeys reports whether an own key was used, or might have been.
func ownKeys(c *record.Call) bool {
	return c.OwnKey != "" || slices.ContainsFunc(c.Attempts, func(a record.Attempt) bool { return a.OwnKey != "" }) ||
		slices.ContainsFunc(c.Candidates, func(x record.Candidate) bool { return x.OwnKey != "" })
}

// ownKeys writes the id of the own key that served, and those of the attempts and candidates, in their order.
func (e *encoder) ownKeys(c *record.Call) {
	e.text(c.OwnKey)
	for i := range c.Attempts {
		e.text(c.Attempts[i].OwnKey)
	}
	for i := range c.Candidates {
		e.text(c.Candidates[i].OwnKey)
	}
}

func (d *decoder) ownKeys(c *record.Call) {
	c.OwnKey = d.text()
	for i := range c.Attempts {
		c.Attempts[i].OwnKey = d.text()
	}
	for i := range c.Candidates {
		c.Candidates[i].OwnKey = d.text()
	}
}

// hasOffers is the flag of a record that has the catalog's version and, for each candidate, model and price. Those before it end earlier,
// and without the flag one that was cut there would pass for one of them.
const hasOffers = 1 << 3

// hasNotice is the flag of a record that has a notice.
const hasNotice = 1 << 4

// hasLater is the flag of a record that ends with the counts that usages have got since.
const hasLater = 1 << 5

// hasDollars is the flag of a record with the dollar prices from which the prices of its lines are calculated.
const hasDollars = 1 << 6

// hasPreset is the flag of a record of a call that used a preset.
const hasPreset = 1 << 7

// hasOwnKeys is the flag of a record of a call that own keys could have been used for.
const hasOwnKeys = 1 << 8

// hasParameters is the flag of a record that has the settings of its request.
const hasParameters = 1 << 9

// hasWords is the flag of a record with what providers said of attempts that failed.
const hasWords = 1 << 10

// hasKeys is the flag of a record with which of a provider's keys attempts were made.
const hasKeys = 1 << 11

// hasScope is the flag of a record that has a member, a team or tags.
const hasScope = 1 << 12

// hasFunds is the flag of a record of a charge that counts in more than its wallet and its key.
const hasFunds = 1 << 13

// hasLost is the flag of a record with what it lost in caches.
const hasLost = 1 << 14

// offer writes for which model a candidate was looked at, nearly always the one asked for, and its price.
func (e *encoder) offer(x *record.Candidate, asked string) {
	if x.Slug == asked {
		e.uint(1)
	} else {
		e.uint(0)
		e.text(x.Slug)
	}
	e.int(int64(x.Prompt))
	e.int(int64(x.Completion))
	e.int(int64(x.PerRequest))
}

func flag(set bool, bit uint) uint64 {
	if set {
		return 1 << bit
	}
	return 0
}

// firstCounts is how many counts a usage had when records began; later ones are at a record's end.
const firstCounts = 15

func (e *encoder) usage(u *usage.Usage) {
	all := u.Counts()
	e.counts(all[:firstCounts])
	e.texts(u.UpstreamCost, u.Tier)
	e.uint(uint64(u.Source))
}

func (e *encoder) counts(list []*usage.Count) {
	var reported, present uint64
	for i, c := range list {
		reported |= flag(c.Reported, uint(i))
		present |= flag(c.N != 0, uint(i))
	}
	e.uint(reported)
	e.uint(present)
	for _, c := range list {
		if c.N != 0 {
			e.int(c.N)
		}
	}
}

func anyOf(list []*usage.Count) bool {
	for _, c := range list {
		if *c != (usage.Count{}) {
			return true
		}
	}
	return false
}

// decoder reads what encoder wrote. After the first invalid value, bad is true and every further value is zero.
type decoder struct {
	s   string
	bad bool
}

func (d *decoder) uint() uint64 {
	var n uint64
	for i := 0; i < len(d.s) && i < binary.MaxVarintLen64; i++ {
		c := d.s[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			break
		}
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.s = d.s[i+1:]
			return n
		}
	}
	d.fail()
	return 0
}

func (d *decoder) fail() { d.s, d.bad = "", true }

func (d *decoder) int() int64 {
	n := d.uint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) dur() time.Duration { return time.Duration(d.int()) }

func (d *decoder) float() float64 {
	if len(d.s) < 8 {
		d.fail()
		return 0
	}
	n := binary.LittleEndian.Uint64([]byte(d.s[:8]))
	d.s = d.s[8:]
	return math.Float64frombits(n)
}

func (d *decoder) text() string {
	n := d.uint()
	if n > uint64(len(d.s)) {
		d.fail()
		return ""
	}
	s := d.s[:n]
	d.s = d.s[n:]
	return s
}

func (d *decoder) texts(to ...*string) {
	for _, p := range to {
		*p = d.text()
	}
}

// count reads the number of the elements that follow, each of which takes at least min bytes.
func (d *decoder) count(min int) int {
	n := d.uint()
	if n > uint64(len(d.s)/min) {
		d.fail()
		return 0
	}
	return int(n)
}

// DecodeItem reads a record. Its texts share one copy of rec.
func DecodeItem(rec []byte) (Item, error) {
	var it Item
	if err := it.decode(string(rec), &lists{}); err != nil {
		return Item{}, err
	}
	return it, nil
}

// lists are where the lists of decoded items are taken from, piece by piece. The zero value makes each list by itself.
type lists struct {
	piece      int // elements made at a time, when they are for several items
	lines      []usage.Line
	candidates []record.Candidate
	attempts   []record.Attempt
	tags       []string
	funds      []record.Fund
}

func take[T any](from *[]T, n, piece int) []T {
	if n == 0 {
		return nil
	}
	if len(*from) < n {
		*from = make([]T, max(n, piece))
	}
	list := (*from)[:n:n]
	*from = (*from)[n:]
	return list
}

// decode fills an empty item; its texts are parts of rec.
func (it *Item) decode(rec string, from *lists) error {
	if len(rec) == 0 {
		return unreadable("it is empty")
	}
	if rec[0] != codecVersion {
		return unreadable(fmt.Sprintf("it has version %d, and this program knows version %d: a newer program wrote it, start that one", rec[0], codecVersion))
	}
	d := decoder{s: rec[1:]}
	c := &it.Call
	it.WalletLease = d.int()
	it.KeyLease = d.int()
	d.texts(&c.Generation, &c.Request, &c.User, &c.Wallet, &c.Key, &c.API)
	c.At = time.UnixMicro(d.int()).UTC()
	d.texts(&c.ModelAsked, &c.Model, &c.Provider, &c.ProviderName, &c.Endpoint, &c.UpstreamModel, &c.UpstreamID)
	flags := d.uint()
	c.Streamed, c.Cancelled, c.Settled = flags&1 != 0, flags&2 != 0, flags&4 != 0
	c.Status = int(d.int())
	d.texts(&c.Error, &c.Finish, &c.NativeFinish)
	d.usage(&c.Usage)
	c.Lines = take(&from.lines, d.count(3), from.piece)
	for i := range c.Lines {
		c.Lines[i] = usage.Line{Kind: usage.Kind(d.uint()), Quantity: d.int(), Price: d.int()}
	}
	c.Cost = money.Nano(d.int())
	d.texts(&c.PriceList, &c.Rate, &c.SourcePrice)
	c.Hold = money.Nano(d.int())
	c.FirstContent, c.Duration, c.Generating = d.dur(), d.dur(), d.dur()
	c.Candidates = take(&from.candidates, d.count(13), from.piece)
	for i := range c.Candidates {
		d.candidate(&c.Candidates[i])
	}
	c.Attempts = take(&from.attempts, d.count(7), from.piece)
	for i := range c.Attempts {
		d.attempt(&c.Attempts[i])
	}
	d.texts(&c.UserAgent, &c.Referer, &c.Title, &c.Session, &c.ClientUser, &c.Metadata)
	if flags&hasOffers != 0 {
		c.Catalog = d.text()
		for i := range c.Candidates {
			d.offer(&c.Candidates[i], c.ModelAsked)
		}
	}
	if flags&hasNotice != 0 {
		c.Notice = d.text()
	}
	if flags&hasLater != 0 {
		all := c.Usage.Counts()
		d.counts(all[firstCounts:])
	}
	if flags&hasDollars != 0 {
		for i := range c.Lines {
			c.Lines[i].Dollars = d.text()
		}
	}
	if flags&hasPreset != 0 {
		c.Preset, c.PresetVersion = d.text(), d.int()
	}
	if flags&hasOwnKeys != 0 {
		d.ownKeys(c)
	}
	if flags&hasParameters != 0 {
		c.Parameters = d.text()
	}
	if flags&hasWords != 0 {
		for i := range c.Attempts {
			c.Attempts[i].Words = d.text()
		}
	}
	if flags&hasKeys != 0 {
		for i := range c.Attempts {
			c.Attempts[i].ProviderKey = d.text()
		}
	}
	if flags&hasScope != 0 {
		d.texts(&c.Member, &c.Team)
		c.Tags = take(&from.tags, d.count(1), from.piece)
		for i := range c.Tags {
			c.Tags[i] = d.text()
		}
	}
	if flags&hasFunds != 0 {
		c.Funds = take(&from.funds, d.count(4), from.piece)
		for i := range c.Funds {
			f := &c.Funds[i]
			d.texts(&f.ID, &f.Kind)
			f.Start, f.Lease = d.int(), d.int()
		}
	}
	if flags&hasLost != 0 {
		c.Lost = record.Lost{Why: d.text(), From: d.text(), Tokens: d.int(), Message: d.int(), Cost: money.Nano(d.int())}
	}
	if d.bad {
		return unreadable("it ends too early")
	}
	return nil
}

func (d *decoder) candidate(x *record.Candidate) {
	d.texts(&x.Endpoint, &x.DroppedBy, &x.Detail)
	x.Order = int(d.int())
	x.Score = d.float()
	x.Reason = d.text()
}

func (d *decoder) offer(x *record.Candidate, asked string) {
	x.Slug = asked
	if d.uint() == 0 {
		x.Slug = d.text()
	}
	x.Prompt, x.Completion, x.PerRequest = money.Nano(d.int()), money.Nano(d.int()), money.Nano(d.int())
}

func (d *decoder) attempt(x *record.Attempt) {
	d.texts(&x.Endpoint, &x.Provider, &x.Reason)
	x.Status = int(d.int())
	x.Started, x.FirstContent, x.Ended = d.dur(), d.dur(), d.dur()
}

func (d *decoder) usage(u *usage.Usage) {
	all := u.Counts()
	d.counts(all[:firstCounts])
	d.texts(&u.UpstreamCost, &u.Tier)
	u.Source = usage.Source(d.uint())
}

// counts reads what encoder.counts wrote, and skips counts that this program does not know.
func (d *decoder) counts(list []*usage.Count) {
	reported, present := d.uint(), d.uint()
	for i := range bits.Len64(reported | present) {
		c := &usage.Count{}
		if i < len(list) {
			c = list[i]
		}
		c.Reported = reported&(1<<i) != 0
		if present&(1<<i) != 0 {
			c.N = d.int()
		}
	}
}

func unreadable(why string) error {
	return fault.Wrap("ledger.decode", fmt.Errorf("a record cannot be read: %s", why))
}
