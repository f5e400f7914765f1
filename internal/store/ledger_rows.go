package store

import (
	"database/sql"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/record"
	"weir/internal/usage"
)

// GenerationColumns are the columns of generations that GenerationArgs fills and ScanGeneration reads, in order.
var GenerationColumns = []string{"id", "wallet", "request", "user_id", "key_id", "api", "at", "model_asked", "model", "provider", "provider_name",
	"endpoint", "upstream_model", "upstream_id", "streamed", "cancelled", "settled", "status", "error", "finish", "native_finish",
	"prompt", "cache_read", "cache_write", "completion", "reasoning", "usage_more", "usage_source", "upstream_cost", "tier",
	"cost", "lines", "price_list", "rate", "source_price", "held", "first_content_us", "duration_us", "generating_us",
	"candidates", "attempts", "client", "metadata"}

// GenerationArgs appends the row of a call to args.
func GenerationArgs(args []any, c *record.Call) []any {
	u := &c.Usage
	return append(args, c.Generation, c.Wallet, c.Request, c.User, c.Key, c.API, c.At.UnixMicro(), c.ModelAsked, c.Model, c.Provider, c.ProviderName,
		c.Endpoint, c.UpstreamModel, c.UpstreamID, bit(c.Streamed), bit(c.Cancelled), bit(c.Settled), int64(c.Status), c.Error, c.Finish, c.NativeFinish,
		count(u.Prompt), count(u.CacheRead), count(u.CacheWrite), count(u.Completion), count(u.Reasoning), usageMore(u), int64(u.Source), u.UpstreamCost, u.Tier,
		int64(c.Cost), lines(c.Lines), c.PriceList, c.Rate, c.SourcePrice, int64(c.Hold), c.FirstContent.Microseconds(), c.Duration.Microseconds(), c.Generating.Microseconds(),
		candidates(c.Candidates), attempts(c.Attempts), client(c), c.Metadata)
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func count(c usage.Count) any {
	if !c.Reported && c.N == 0 {
		return nil
	}
	return c.N
}

// The rarer counts and the texts from the client stand in one column each, by name.
var moreCounts = [...]struct {
	name string
	of   func(*usage.Usage) *usage.Count
}{
	{"cache_write_1h", func(u *usage.Usage) *usage.Count { return &u.CacheWrite1h }},
	{"prompt_audio", func(u *usage.Usage) *usage.Count { return &u.PromptAudio }},
	{"prompt_image", func(u *usage.Usage) *usage.Count { return &u.PromptImage }},
	{"prompt_video", func(u *usage.Usage) *usage.Count { return &u.PromptVideo }},
	{"output_audio", func(u *usage.Usage) *usage.Count { return &u.OutputAudio }},
	{"output_image", func(u *usage.Usage) *usage.Count { return &u.OutputImage }},
	{"accepted", func(u *usage.Usage) *usage.Count { return &u.Accepted }},
	{"rejected", func(u *usage.Usage) *usage.Count { return &u.Rejected }},
	{"web_searches", func(u *usage.Usage) *usage.Count { return &u.WebSearches }},
	{"images", func(u *usage.Usage) *usage.Count { return &u.Images }},
}

var clientTexts = [...]struct {
	name string
	of   func(*record.Call) *string
}{
	{"user_agent", func(c *record.Call) *string { return &c.UserAgent }},
	{"referer", func(c *record.Call) *string { return &c.Referer }},
	{"title", func(c *record.Call) *string { return &c.Title }},
	{"session", func(c *record.Call) *string { return &c.Session }},
	{"user", func(c *record.Call) *string { return &c.ClientUser }},
}

// object builds a JSON object of what is not empty.
type object []byte

func (o *object) name(n string) {
	if len(*o) == 0 {
		*o = append(*o, '{')
	} else {
		*o = append(*o, ',')
	}
	*o = append(append(append(*o, '"'), n...), '"', ':')
}

func (o *object) text(n, v string) {
	if v != "" {
		o.name(n)
		*o = rawjson.AppendText(*o, v)
	}
}

func (o *object) int(n string, v int64) {
	if v != 0 {
		o.name(n)
		*o = strconv.AppendInt(*o, v, 10)
	}
}

func (o object) end() []byte {
	if len(o) == 0 {
		return append(o, "{}"...)
	}
	return append(o, '}')
}

func usageMore(u *usage.Usage) string {
	var o object
	for i := range moreCounts {
		if c := moreCounts[i].of(u); c.Reported || c.N != 0 {
			o.name(moreCounts[i].name)
			o = strconv.AppendInt(o, c.N, 10)
		}
	}
	if len(o) == 0 {
		return "{}"
	}
	return string(o.end())
}

func client(c *record.Call) string {
	var o object
	for i := range clientTexts {
		o.text(clientTexts[i].name, *clientTexts[i].of(c))
	}
	return string(o.end())
}

func lines(list []usage.Line) string {
	b := append(make([]byte, 0, 64), '[')
	for i, l := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `["`...), l.Kind.String()...), `",`...)
		b = append(strconv.AppendInt(b, l.Quantity, 10), ',')
		b = append(strconv.AppendInt(b, l.Price, 10), ']')
	}
	return string(append(b, ']'))
}

func candidates(list []record.Candidate) string {
	return array(list, func(o *object, c *record.Candidate) {
		o.text("endpoint", c.Endpoint)
		o.text("dropped_by", c.DroppedBy)
		o.text("detail", c.Detail)
		o.int("order", int64(c.Order))
		if c.Score != 0 && !math.IsNaN(c.Score) && !math.IsInf(c.Score, 0) {
			o.name("score")
			*o = strconv.AppendFloat(*o, c.Score, 'g', -1, 64)
		}
		o.text("reason", c.Reason)
	})
}

func attempts(list []record.Attempt) string {
	return array(list, func(o *object, a *record.Attempt) {
		o.text("endpoint", a.Endpoint)
		o.text("provider", a.Provider)
		o.int("status", int64(a.Status))
		o.text("reason", a.Reason)
		o.int("started_us", a.Started.Microseconds())
		o.int("first_content_us", a.FirstContent.Microseconds())
		o.int("ended_us", a.Ended.Microseconds())
	})
}

func array[T any](list []T, one func(*object, *T)) string {
	if len(list) == 0 {
		return "[]"
	}
	b := append(make([]byte, 0, 160*len(list)), '[')
	var o object
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		o = o[:0]
		one(&o, &list[i])
		o = o.end()
		b = append(b, o...)
	}
	return string(append(b, ']'))
}

// ScanGeneration reads a row of GenerationColumns. What a row does not keep is finer than a microsecond.
func ScanGeneration(scan func(...any) error) (*record.Call, error) {
	c := &record.Call{}
	u := &c.Usage
	var at, cost, hold, first, duration, generating, source int64
	var prompt, cacheRead, cacheWrite, completion, reasoning sql.NullInt64
	var more, lines, candidates, attempts, client string
	err := scan(&c.Generation, &c.Wallet, &c.Request, &c.User, &c.Key, &c.API, &at, &c.ModelAsked, &c.Model, &c.Provider, &c.ProviderName,
		&c.Endpoint, &c.UpstreamModel, &c.UpstreamID, &c.Streamed, &c.Cancelled, &c.Settled, &c.Status, &c.Error, &c.Finish, &c.NativeFinish,
		&prompt, &cacheRead, &cacheWrite, &completion, &reasoning, &more, &source, &u.UpstreamCost, &u.Tier,
		&cost, &lines, &c.PriceList, &c.Rate, &c.SourcePrice, &hold, &first, &duration, &generating,
		&candidates, &attempts, &client, &c.Metadata)
	if err != nil {
		return nil, err
	}
	c.At = time.UnixMicro(at).UTC()
	c.Cost, c.Hold, u.Source = money.Nano(cost), money.Nano(hold), usage.Source(source)
	c.FirstContent, c.Duration, c.Generating = micros(first), micros(duration), micros(generating)
	for to, from := range map[*usage.Count]sql.NullInt64{&u.Prompt: prompt, &u.CacheRead: cacheRead, &u.CacheWrite: cacheWrite,
		&u.Completion: completion, &u.Reasoning: reasoning} {
		*to = usage.Count{N: from.Int64, Reported: from.Valid}
	}
	for i := range moreCounts {
		if n, ok := rawjson.Int(rawjson.Find([]byte(more), moreCounts[i].name)); ok {
			*moreCounts[i].of(u) = usage.Of(n)
		}
	}
	for i := range clientTexts {
		*clientTexts[i].of(c) = rawjson.Text(rawjson.Find([]byte(client), clientTexts[i].name))
	}
	each(lines, func(v []byte) { c.Lines = append(c.Lines, readLine(v)) })
	each(candidates, func(v []byte) { c.Candidates = append(c.Candidates, readCandidate(v)) })
	each(attempts, func(v []byte) { c.Attempts = append(c.Attempts, readAttempt(v)) })
	return c, nil
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func each(text string, f func(v []byte)) {
	c := rawjson.At([]byte(text), 0)
	if !c.Enter() {
		return
	}
	for c.Element() {
		f(c.Skip())
	}
}

func readLine(v []byte) (l usage.Line) {
	c := rawjson.At(v, 0)
	if !c.Enter() {
		return l
	}
	for i := 0; c.Element(); i++ {
		field := c.Skip()
		switch i {
		case 0:
			l.Kind = usage.KindNamed(rawjson.Text(field))
		case 1:
			l.Quantity, _ = rawjson.Int(field)
		case 2:
			l.Price, _ = rawjson.Int(field)
		}
	}
	return l
}

func intOf(v []byte, name string) int64 {
	n, _ := rawjson.Int(rawjson.Find(v, name))
	return n
}

func textOf(v []byte, name string) string { return rawjson.Text(rawjson.Find(v, name)) }

func readCandidate(v []byte) record.Candidate {
	score, _ := rawjson.Float(rawjson.Find(v, "score"))
	return record.Candidate{Endpoint: textOf(v, "endpoint"), DroppedBy: textOf(v, "dropped_by"), Detail: textOf(v, "detail"),
		Order: int(intOf(v, "order")), Score: score, Reason: textOf(v, "reason")}
}

func readAttempt(v []byte) record.Attempt {
	return record.Attempt{Endpoint: textOf(v, "endpoint"), Provider: textOf(v, "provider"), Status: int(intOf(v, "status")), Reason: textOf(v, "reason"),
		Started: micros(intOf(v, "started_us")), FirstContent: micros(intOf(v, "first_content_us")), Ended: micros(intOf(v, "ended_us"))}
}

// Mark writes the parameter of that number, from 1.
type Mark func(n int) string

// Numbered marks are $1, $2, ...: both engines take them.
func Numbered(n int) string { return "$" + strconv.Itoa(n) }

// Bare marks are question marks. SQLite looks through all names of a statement for each numbered one, so that hundreds of them
// take longer than the rows.
func Bare(int) string { return "?" }

// InsertRows is an INSERT of many rows: into "INSERT INTO table" of the engine's own spelling, with what follows it.
func InsertRows(into string, columns []string, rows int, mark Mark, tail string) string {
	var s strings.Builder
	s.WriteString(into + " (" + strings.Join(columns, ", ") + ") VALUES ")
	n := 0
	for r := range rows {
		if r > 0 {
			s.WriteByte(',')
		}
		s.WriteByte('(')
		for c := range columns {
			if c > 0 {
				s.WriteByte(',')
			}
			n++
			s.WriteString(mark(n))
		}
		s.WriteByte(')')
	}
	if tail != "" {
		s.WriteString(" " + tail)
	}
	return s.String()
}
