package openai // parseUsage is what the dialect's own decoder calls

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/usage"
)

// example is one entry of testdata/usage. An entry is a list of "key: value" lines:
//
//	about         a sentence: who sent it and what happened
//	quirks        what the provider's declaration says, as name=value
//	usage         the object as it came
//	prices        rubles per 1000 tokens, or per one for request, web_search and image_output_each; "none"
//	above N       prices of requests with more than N prompt tokens
//	own count     our count of prompt and answer, given only where something is missing
//	covers        what the hold covers, prompt and answer, where it matters
//	source        reported (default), estimated or capped
//	upstream cost dollars that the provider reported, "" when none can be read
//	tier          service tier that the usage names
//	lines         kind quantity x price [/ 1000] = amount, one a line
//	total         the charge: the sum of the amounts, rounded up to nine digits
type example struct {
	about, usage string
	quirks       catalog.Quirks
	pricing      catalog.Pricing
	own          []int64
	covers       usage.Usage
	source       usage.Source
	upstreamCost string
	tier         string
	lines        []string
	total        string
}

func TestUsageCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/usage/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	const leastVendors, leastEntries = 20, 100 // a corpus that fails to load would pass otherwise
	entries := 0
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		entries += len(archive.Files)
		if filepath.Base(file) != "broken.txtar" && !strings.Contains(string(archive.Comment), "https://") {
			t.Errorf("%s does not name the vendor's page", file)
		}
		for _, f := range archive.Files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+f.Name, func(t *testing.T) {
				t.Parallel()
				x := parseExample(t, string(f.Data))
				checkArithmetic(t, x)
				checkCharge(t, x)
			})
		}
	}
	if len(files) < leastVendors || entries < leastEntries {
		t.Errorf("%d entries in %d files; the corpus has at least %d in %d", entries, len(files), leastEntries, leastVendors)
	}
}

// checkCharge recomputes the written lines and total from the usage object.
func checkCharge(t *testing.T, x example) {
	t.Helper()
	reported, err := parseUsage([]byte(x.usage), &x.quirks)
	if err != nil {
		t.Fatal(err)
	}
	if reported == nil {
		reported = &usage.Usage{}
	}
	if reported.UpstreamCost != x.upstreamCost || reported.Tier != x.tier {
		t.Errorf("upstream cost %q and tier %q; want %q and %q", reported.UpstreamCost, reported.Tier, x.upstreamCost, x.tier)
	}
	counted := false
	own := func(which int) int64 {
		counted = true
		if x.own == nil {
			t.Fatal("our own count was asked for, though everything was told")
		}
		return x.own[which]
	}
	most := upTo(believed, believed)
	u := *reported
	u.Complete(&most, &x.covers, true, &usage.Delivered{}, func() int64 { return own(0) }, func() usage.Delivered { return usage.Delivered{Text: own(1)} })
	if counted != (x.own != nil) {
		t.Error("our own count was not asked for")
	}
	if u.Source != x.source {
		t.Errorf("source %d, want %d", u.Source, x.source)
	}
	lines, cost, err := usage.Cost(&u, x.pricing.For(u.Prompt.N))
	if err != nil {
		t.Fatal(err)
	}
	var written []string
	var tokens int64
	for _, l := range lines {
		per := ""
		if l.Kind.Unit() == "1k_tokens" {
			per = " / 1000"
			tokens += l.Quantity
		}
		written = append(written, fmt.Sprintf("%s %d x %s%s = %s", l.Kind, l.Quantity, money.Price{Nano: l.Price, Set: true}, per, l.AppendAmount(nil)))
	}
	if diff := cmp.Diff(x.lines, written); diff != "" {
		t.Errorf("lines (-written +computed):\n%s", diff)
	}
	if tokens != u.Prompt.N+u.Completion.N {
		t.Errorf("the lines have %d tokens, prompt and answer %d", tokens, u.Prompt.N+u.Completion.N)
	}
	if want, err := money.Parse(x.total); err != nil || cost != want {
		t.Errorf("the charge is %s, want %s (%v)", cost, x.total, err)
	}
}

// checkArithmetic works the written lines out again, without any of our own code, so that a slip of the pen shows.
func checkArithmetic(t *testing.T, x example) {
	t.Helper()
	sum := new(big.Rat)
	for _, line := range x.lines {
		words := strings.Fields(line)
		amount, quantity, price := rational(t, words[len(words)-1]), rational(t, words[1]), rational(t, words[3])
		product := quantity.Mul(quantity, price)
		if len(words) > 6 {
			product.Quo(product, big.NewRat(1000, 1))
		}
		if product.Cmp(amount) != 0 {
			t.Errorf("%s: it is %s", line, product.FloatString(12))
		}
		sum.Add(sum, amount)
	}
	if _, digits, _ := strings.Cut(x.total, "."); len(digits) != 9 {
		t.Errorf("the total %s has not nine digits", x.total)
	}
	above := new(big.Rat).Sub(rational(t, x.total), sum)
	if above.Sign() < 0 || above.Cmp(big.NewRat(1, 1_000_000_000)) >= 0 {
		t.Errorf("the total %s is not %s rounded up", x.total, sum.FloatString(12))
	}
}

func rational(t *testing.T, text string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return r
}

func parseExample(t *testing.T, text string) example {
	t.Helper()
	var x example
	inLines := false
	for scan := bufio.NewScanner(strings.NewReader(text)); scan.Scan(); {
		key, value, _ := strings.Cut(scan.Text(), ":")
		value = strings.TrimSpace(value)
		key, above, _ := strings.Cut(key, "above ")
		switch {
		case above != "":
			x.pricing.Thresholds = append(x.pricing.Thresholds, catalog.Threshold{Above: int64s(t, above)[0], Prices: parsePrices(t, value)})
		case key == "about":
			x.about = value
		case key == "quirks":
			x.quirks = parseQuirks(t, value)
		case key == "usage":
			x.usage = value
		case key == "prices":
			x.pricing.Base = parsePrices(t, value)
		case key == "own count":
			x.own = int64s(t, value)
		case key == "covers":
			n := int64s(t, value)
			x.covers = upTo(n[0], n[1])
		case key == "source":
			x.source = map[string]usage.Source{"estimated": usage.Estimated, "capped": usage.Capped}[value]
		case key == "upstream cost":
			x.upstreamCost = value
		case key == "tier":
			x.tier = value
		case key == "lines":
			inLines = true
		case key == "total":
			x.total = value
		case inLines:
			x.lines = append(x.lines, scan.Text())
		default:
			t.Fatalf("unknown key %q", key)
		}
	}
	if !strings.HasSuffix(x.about, ".") || x.usage == "" || len(x.lines) == 0 {
		t.Fatal("an entry needs a sentence, a usage object and lines")
	}
	return x
}

func int64s(t *testing.T, text string) []int64 {
	t.Helper()
	var ns []int64
	for _, word := range strings.Fields(text) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ns = append(ns, n)
	}
	return ns
}

func parsePrices(t *testing.T, text string) catalog.Prices {
	t.Helper()
	var p catalog.Prices
	if text == "none" {
		return p
	}
	fields := map[string]*money.Price{
		"prompt": &p.Prompt, "completion": &p.Completion, "cache_read": &p.CacheRead, "cache_write": &p.CacheWrite,
		"cache_write_1h": &p.CacheWrite1h, "reasoning": &p.Reasoning, "audio": &p.Audio, "audio_output": &p.AudioOutput, "image": &p.Image,
		"image_output": &p.ImageOutput, "request": &p.Request, "web_search": &p.WebSearch, "image_output_each": &p.ImageOutputEach,
	}
	for part := range strings.SplitSeq(text, ", ") {
		name, amount, _ := strings.Cut(part, " ")
		price, err := money.ParsePrice(amount)
		if err != nil || fields[name] == nil {
			t.Fatalf("price %q: %v", part, err)
		}
		*fields[name] = price
	}
	return p
}

func parseQuirks(t *testing.T, text string) catalog.Quirks {
	t.Helper()
	var q catalog.Quirks
	for _, part := range strings.Fields(text) {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "cost_field":
			q.CostField = value
		case "cost_digits":
			q.CostDigits = int(int64s(t, value)[0])
		case "cached_field":
			q.CachedField = value
		case "reasoning_count":
			q.ReasoningCount = value
		default:
			t.Fatalf("unknown quirk %q", name)
		}
	}
	return q
}

func TestUsageThatIsNoObject(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "null", " null ", "\n"} {
		if u, err := parseUsage([]byte(raw), nil); u != nil || err != nil {
			t.Errorf("%q: %+v, %v; want nothing", raw, u, err)
		}
	}
	for _, raw := range []string{"5", `"5"`, "[]", "true", "{", `{"prompt_tokens":`, `{"prompt_tokens":5`, `{"prompt_tokens" 5}`, "}"} {
		if u, err := parseUsage([]byte(raw), nil); u != nil || !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%q: %+v, %v; want a provider_unavailable error", raw, u, err)
		}
	}
}

// A missing count is not Reported: clients and bills distinguish it from zero.
func TestMissingUsageIsNotZero(t *testing.T) {
	t.Parallel()
	u, err := parseUsage([]byte(`{"prompt_tokens":5,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":0}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &usage.Usage{Prompt: usage.Of(5), Completion: usage.Of(0), CacheRead: usage.Of(0)}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUsageReadsNamesWithEscapes(t *testing.T) {
	t.Parallel()
	u, err := parseUsage([]byte("{ \"prompt\\u005ftokens\" : 7 ,\n\t\"completion_tokens\":\r2}"), nil)
	if err != nil || u.Prompt != usage.Of(7) || u.Completion != usage.Of(2) {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestDecimalText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		number string
		shift  int
		want   string
	}{
		{"0.06593075", 0, "0.06593075"}, {"0", 0, "0"}, {"0.0", 0, "0"}, {"0e5", 0, "0"}, {"1.4e-05", 0, "0.000014"}, {"1E+2", 0, "100"},
		{"12.50", 0, "12.5"}, {"100", 0, "100"}, {"232856000", 10, "0.0232856"}, {"37756000", 10, "0.0037756"}, {"10000000000", 10, "1"},
		{"123456789012", 10, "12.3456789012"},
		{"-1", 0, ""}, {"", 0, ""}, {"null", 0, ""}, {`"1"`, 0, ""}, {"1e", 0, ""}, {"1e9999", 0, ""}, {"1e401", 0, ""}, {".5", 0, ""},
		{"1.", 0, ""}, {"1e1e1", 0, ""}, {"1..2", 0, ""}, {"NaN", 0, ""}, {strings.Repeat("9", 500), 0, ""},
	} {
		if got := decimalText([]byte(c.number), c.shift); got != c.want {
			t.Errorf("decimalText(%q, %d) = %q, want %q", c.number, c.shift, got, c.want)
		}
	}
}

// Whatever a server writes, a count is never below zero, and a charge is neither negative nor above what the counts allow.
func FuzzParseUsage(f *testing.F) {
	files, _ := filepath.Glob("testdata/usage/*.txtar")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, entry := range txtar.Parse(data).Files {
			_, rest, _ := strings.Cut(string(entry.Data), "\nusage: ")
			raw, _, _ := strings.Cut(rest, "\n")
			f.Add([]byte(raw))
		}
	}
	f.Add([]byte(`{"prompt_tokens":9223372036854775807,"citation_tokens":9223372036854775807,"completion_tokens":1e18,"reasoning_tokens":9223372036854775807,"total_tokens":1}`))
	quirks := []*catalog.Quirks{nil, {ReasoningCount: "outside", CostField: "usage.cost", CostDigits: 10}, {ReasoningCount: "total", CachedField: "usage.a.b"}, {ReasoningCount: "inside"}}
	price := money.Price{Nano: 1_000_000_000, Set: true}
	prices := catalog.Prices{Prompt: price, Completion: price, CacheRead: price, Request: price, WebSearch: price}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, q := range quirks {
			u, err := parseUsage(raw, q)
			if err != nil || u == nil {
				continue
			}
			for _, c := range counts(u) {
				if c.N < 0 || c.N != 0 && !c.Reported {
					t.Fatalf("%+v", u)
				}
			}
			if strings.Trim(u.UpstreamCost, "0123456789.") != "" {
				t.Fatalf("a cost of %q", u.UpstreamCost)
			}
			if _, cost, err := usage.Cost(u, &prices); cost < 0 || err != nil && !errors.Is(err, money.ErrOverflow) {
				t.Fatalf("%s, %v", cost, err)
			}
			most, held := upTo(believed, believed), upTo(10, 10)
			whole := *u
			whole.Complete(&most, &held, true, &usage.Delivered{}, func() int64 { return 1 }, func() usage.Delivered { return usage.Delivered{Text: 1} })
			for _, c := range counts(&whole) {
				if c.N < 0 || c.N > believed {
					t.Fatalf("%+v", whole)
				}
			}
			lines, cost, err := usage.Cost(&whole, &prices)
			if err != nil || cost < money.Nano(price.Nano) {
				t.Fatalf("%s, %v: less than the price per request", cost, err)
			}
			if slices.ContainsFunc(lines, func(l usage.Line) bool { return l.Quantity <= 0 || l.Quantity > math.MaxInt32 }) {
				t.Fatalf("%+v", lines)
			}
		}
	})
}

// believed is more tokens than the corpus has anywhere that is true.
const believed = 1_000_000_000

// upTo is so many tokens of prompt and answer, whatever their parts, and as many searches and images as are believed.
func upTo(prompt, answer int64) usage.Usage {
	p, a, o := usage.Of(prompt), usage.Of(answer), usage.Of(prompt)
	return usage.Usage{Prompt: p, CacheRead: p, CacheWrite: p, CacheWrite1h: p, PromptAudio: p, PromptImage: p, PromptVideo: p,
		Completion: a, Reasoning: a, OutputAudio: a, OutputImage: a, Accepted: a, Rejected: a, WebSearches: o, Images: o, Requests: o}
}

func counts(u *usage.Usage) []usage.Count {
	return []usage.Count{u.Prompt, u.CacheRead, u.CacheWrite, u.CacheWrite1h, u.PromptAudio, u.PromptImage, u.PromptVideo, u.Completion,
		u.Reasoning, u.OutputAudio, u.OutputImage, u.Accepted, u.Rejected, u.WebSearches, u.Images}
}

func BenchmarkParseUsage(b *testing.B) {
	raw := []byte(`{"prompt_tokens":2006,"completion_tokens":300,"total_tokens":2306,"prompt_tokens_details":{"cached_tokens":1920,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`)
	var q catalog.Quirks
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseUsage(raw, &q); err != nil {
			b.Fatal(err)
		}
	}
}
