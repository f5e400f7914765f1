package record

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/usage"
)

// Limits of a stored call. Texts come from clients, from providers and from catalogs, so each has one: a charge must not fail because of
// a long text. Columns that are keys of an index stay together below PostgreSQL's limit for one entry (2,704 bytes).
const (
	MaxID = 128 // of our own making

	maxSlug       = 640 // vendor/model and its suffix
	maxName       = 256
	maxEndpoint   = 896
	maxWord       = 64
	maxSentence   = 2 << 10
	maxHeader     = 1 << 10
	maxWords      = 300
	maxMetadata   = 48 << 10 // JSON: longer ones are dropped, not cut
	maxParameters = 2 << 10  // as well

	maxLines      = 1024
	maxCandidates = 256
	maxAttempts   = 128
	maxTags       = 64
	maxTag        = 256
	maxFunds      = 64

	maxCount    = 1_000_000_000_000 // sums of millions of them fit
	maxDuration = 366 * 24 * time.Hour
	maxStatus   = 99_999
)

// latest is past all times that a date of four digits can have.
var latest = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Bound changes c so that it can always be stored: texts are valid, without NUL and of bounded length, lists have bounded lengths,
// numbers and times are within the range of sums and dates. It reports whether something had to change. The charge and its wallet never
// change; an id that is too long keeps its beginning and gets a hash in place of the rest. Lists that change are copied first.
func (c *Call) Bound() (changed bool) {
	var b bounder
	for _, p := range [...]*string{&c.Generation, &c.Request, &c.User, &c.Wallet, &c.Key, &c.OwnKey, &c.Member, &c.Team} {
		b.named(p, MaxID)
	}
	for _, x := range [...]struct {
		text *string
		most int
	}{
		{&c.API, maxWord}, {&c.Preset, maxWord}, {&c.ModelAsked, maxSlug}, {&c.Model, maxSlug}, {&c.Provider, maxName}, {&c.ProviderName, maxName},
		{&c.UpstreamModel, maxSlug}, {&c.UpstreamID, maxName}, {&c.Error, maxWord}, {&c.Finish, maxWord}, {&c.NativeFinish, maxName},
		{&c.Notice, maxSentence}, {&c.PriceList, maxName}, {&c.Rate, maxName}, {&c.SourcePrice, maxSentence}, {&c.Catalog, maxName},
		{&c.UserAgent, maxHeader}, {&c.Referer, maxHeader}, {&c.Title, maxHeader}, {&c.Session, maxHeader}, {&c.ClientUser, maxHeader},
		{&c.Usage.UpstreamCost, maxWord}, {&c.Usage.Tier, maxWord},
	} {
		b.text(x.text, x.most)
	}
	b.named(&c.Endpoint, maxEndpoint)
	b.named(&c.Lost.From, maxEndpoint)
	b.text(&c.Lost.Why, maxWord)
	if b.text(&c.Metadata, math.MaxInt); len(c.Metadata) > maxMetadata {
		c.Metadata, b.changed = "", true
	}
	if b.text(&c.Parameters, math.MaxInt); len(c.Parameters) > maxParameters {
		c.Parameters, b.changed = "", true
	}
	b.numbers(c)
	b.lists(c)
	return b.changed
}

// bounder notes whether anything changed.
type bounder struct{ changed bool }

// text cuts a text where a character begins.
func (b *bounder) text(p *string, most int) {
	s := cut(Text(cut(*p, most)), most) // replacing invalid bytes can make it longer
	if s != *p {
		*p, b.changed = strings.Clone(s), true
	}
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// named cuts a name so that different names still differ.
func (b *bounder) named(p *string, most int) {
	full := *p
	if b.text(p, most); len(full) > most {
		sum := sha256.Sum256([]byte(full))
		b.text(p, most-1-2*16)
		*p += "~" + hex.EncodeToString(sum[:16])
	}
}

func (b *bounder) numbers(c *Call) {
	if c.At.Before(time.Unix(0, 0)) || c.At.After(latest) {
		c.At, b.changed = time.Unix(min(max(c.At.Unix(), 0), latest.Unix()), 0).UTC(), true
	}
	within(b, &c.Status, 0, maxStatus)
	within(b, &c.PresetVersion, 0, maxCount)
	for _, d := range [...]*time.Duration{&c.FirstContent, &c.Duration, &c.Generating} {
		within(b, d, 0, maxDuration)
	}
	within(b, &c.Lost.Tokens, 0, maxCount)
	within(b, &c.Lost.Message, 0, maxCount)
	within(b, &c.Lost.Cost, 0, math.MaxInt64)
	u := &c.Usage
	for _, n := range u.Counts() {
		within(b, &n.N, 0, maxCount)
	}
}

func within[T ~int | ~int64](b *bounder, n *T, least, most T) {
	if *n < least || *n > most {
		*n, b.changed = min(max(*n, least), most), true
	}
}

func (b *bounder) lists(c *Call) {
	c.Lines = shortened(b, c.Lines, maxLines)
	if slices.ContainsFunc(c.Lines, func(l usage.Line) bool { return len(l.Dollars) > maxWord || Text(l.Dollars) != l.Dollars }) {
		c.Lines = slices.Clone(c.Lines)
		for i := range c.Lines {
			b.text(&c.Lines[i].Dollars, maxWord)
		}
	}
	c.Candidates = shortened(b, c.Candidates, maxCandidates)
	c.Attempts = shortened(b, c.Attempts, maxAttempts)
	own := false
	for i := range c.Candidates {
		x := c.Candidates[i]
		if x.bound() {
			if !own {
				c.Candidates, own = slices.Clone(c.Candidates), true
			}
			c.Candidates[i], b.changed = x, true
		}
	}
	c.Tags, c.Funds = shortened(b, c.Tags, maxTags), shortened(b, c.Funds, maxFunds)
	if slices.ContainsFunc(c.Tags, func(s string) bool { return len(s) > maxTag || Text(s) != s }) {
		c.Tags = slices.Clone(c.Tags)
		for i := range c.Tags {
			b.named(&c.Tags[i], maxTag)
		}
	}
	if slices.ContainsFunc(c.Funds, func(f Fund) bool { return f.bound() }) {
		c.Funds, b.changed = slices.Clone(c.Funds), true
		for i := range c.Funds {
			c.Funds[i].bound()
		}
	}
	own = false
	for i := range c.Attempts {
		x := c.Attempts[i]
		if x.bound() {
			if !own {
				c.Attempts, own = slices.Clone(c.Attempts), true
			}
			c.Attempts[i], b.changed = x, true
		}
	}
}

func shortened[T any](b *bounder, list []T, most int) []T {
	if len(list) <= most {
		return list
	}
	b.changed = true
	return list[:most:most]
}

func (x *Candidate) bound() bool {
	var b bounder
	b.named(&x.Endpoint, maxEndpoint)
	b.text(&x.DroppedBy, maxWord)
	b.text(&x.Detail, maxName)
	b.text(&x.Reason, maxName)
	b.text(&x.Slug, maxSlug)
	b.named(&x.OwnKey, MaxID)
	if math.IsNaN(x.Score) || math.IsInf(x.Score, 0) { // JSON has no word for it
		x.Score, b.changed = 0, true
	}
	return b.changed
}

func (f *Fund) bound() bool {
	var b bounder
	b.named(&f.ID, MaxID)
	b.text(&f.Kind, maxWord)
	return b.changed
}

func (x *Attempt) bound() bool {
	var b bounder
	b.named(&x.Endpoint, maxEndpoint)
	b.text(&x.Provider, maxName)
	b.text(&x.Reason, maxWord)
	b.text(&x.Words, maxWords)
	b.named(&x.OwnKey, MaxID)
	b.text(&x.ProviderKey, maxWord)
	within(&b, &x.Status, 0, maxStatus)
	return b.changed
}

// Text is s as databases keep it: NUL and bytes that are not UTF-8 become U+FFFD.
func Text(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
