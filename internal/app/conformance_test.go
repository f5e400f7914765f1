package app_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/completion"
	"weir/internal/money"
)

var update = flag.Bool("update", false, "write docs/conformance.md anew")

// place is one cell of the grid: a feature, in a style, on a dialect.
type place struct {
	*apptest.Conformer
	*apptest.Account
	style   apptest.Style
	dialect *apptest.TestDialect
	word    string // appears only in the requests of this cell
	stream  bool
	before  money.Nano // what the account had spent before
}

// spent returns the cost of the cell so far.
func (p *place) spent(t *testing.T) money.Nano {
	t.Helper()
	return apptest.Parse(t, p.Credits(t).TotalUsage) - p.before
}

// model returns the name of a persona on the cell's dialect.
func (p *place) model(persona string) string { return p.dialect.Name + "/" + persona }

// mustAsk sends a request and reads its answer, which must succeed.
func (p *place) mustAsk(t *testing.T, q *apptest.Ask) *apptest.Said {
	t.Helper()
	return p.Account.MustAsk(t, p.style, q, p.stream)
}

// user returns a turn of the user.
func (p *place) user(text string, media ...string) apptest.Turn {
	return apptest.Turn{Role: "user", Text: text + " " + p.word, Media: media}
}

// received returns the requests of this cell as the upstream received them.
func (p *place) received() []apptest.Sent { return p.Conformer.Received(p.word) }

// outcome is the entry of a cell in the document.
type outcome uint8

const (
	works   outcome = iota
	noticed         // it works without this, and the client gets a notice
	refused         // refused with a clear error, before any provider is called
	none            // the style or the dialect does not have this
)

// exception is a cell that does not work, or that needs a remark. Empty names match all.
type exception struct {
	feature, style, dialect string
	outcome                 outcome
	status                  int    // of the refusal
	kind                    string // of the refusal; or the beginning of a notice
	why                     string
}

var exceptions = []exception{
	{feature: "prompt caching", style: "gemini", dialect: "bedrock", outcome: none, why: "the Gemini style cannot mark what to cache"},
	{feature: "prompt caching", style: "gemini", dialect: "anthropic", outcome: none, why: "the Gemini style cannot mark what to cache"},
	{feature: "caching for an hour", style: "gemini", outcome: none, why: "the Gemini style cannot mark what to cache"},
	{feature: "parallel tools", style: "gemini", dialect: "gigachat", why: "GigaChat makes one call in an answer; parallel calls of other models are sent to it one after the other"},
	{feature: "parallel tools", style: "gemini", why: "the Gemini style cannot ask for one call only"},
	{feature: "prompt caching", style: "responses", dialect: "bedrock", outcome: none, why: "the responses style cannot mark what to cache"},
	{feature: "prompt caching", style: "responses", dialect: "anthropic", outcome: none, why: "the responses style cannot mark what to cache"},
	{feature: "caching for an hour", style: "responses", outcome: none, why: "the responses style cannot mark what to cache"},
	{feature: "audio in", style: "responses", outcome: none, why: "the responses style has no audio"},
	{feature: "image out", style: "responses", outcome: none, why: "the responses style has images only through a tool of the provider"},
	{feature: "stop sequences", style: "responses", outcome: none, why: "the responses style has no stop sequences"},
	{feature: "JSON without a schema", style: "messages", outcome: none, why: "the messages style asks for JSON by a schema only"},
	{feature: "audio in", style: "messages", outcome: none, why: "the messages style has no audio"},
	{feature: "audio in", dialect: "anthropic", outcome: refused, status: 400, kind: "invalid_request", why: "the messages wire has no audio; an endpoint with another wire is tried where the model has one"},
	{feature: "image out", style: "messages", outcome: none, why: "the messages style has no images in answers"},
	{feature: "image out", dialect: "anthropic", outcome: refused, status: 404, kind: "no_endpoints", why: "no model on this wire makes images"},
	{feature: "image out", dialect: "responses", outcome: refused, status: 404, kind: "no_endpoints", why: "no model on this wire makes images"},
	{feature: "image out", dialect: "bedrock", outcome: refused, status: 404, kind: "no_endpoints", why: "no model on this wire makes images"},
	{feature: "image out", dialect: "gigachat", outcome: refused, status: 404, kind: "no_endpoints", why: "no model on this wire makes images"},
	{feature: "tool results with images", dialect: "gigachat", outcome: refused, status: 404, kind: "no_endpoints", why: "GigaChat takes no images and no audio as data"},
	{feature: "image in", dialect: "gigachat", outcome: refused, status: 404, kind: "no_endpoints", why: "GigaChat takes no images and no audio as data"},
	{feature: "PDF in", dialect: "gigachat", why: "GigaChat takes no documents as data: it gets their text, which the gateway extracts"},
	{feature: "audio in", dialect: "gigachat", outcome: refused, status: 404, kind: "no_endpoints", why: "GigaChat takes no images and no audio as data"},
	{feature: "stop sequences", dialect: "gigachat", outcome: noticed, kind: "The stop sequences were left out", why: "GigaChat has none: they are left out, and a notice says so"},
	{feature: "tools", dialect: "gigachat", why: "GigaChat cannot require one of several tools: tool_choice is then left out, and a notice says so"},
	{feature: "web search offered", dialect: "bedrock", outcome: noticed, kind: completion.NoticeSearch, why: "the provider has no web search: it is left out, and a notice says so"},
	{feature: "web search offered", dialect: "gigachat", outcome: noticed, kind: completion.NoticeSearch, why: "the provider has no web search: it is left out, and a notice says so"},
	{feature: "web search offered", dialect: "gemini", outcome: noticed, kind: "The web search was left out", why: "the Gemini wire takes either tools or a web search: with tools the search is left out, and a notice says so"},
	{feature: "parallel tools", dialect: "gigachat", why: "GigaChat makes one call in an answer; parallel calls of other models are sent to it one after the other"},
	{feature: "reasoning", dialect: "gigachat", why: "GigaChat does not report reasoning tokens: they are charged as part of the answer; reasoning cannot be switched off, and a notice says so"},
	{feature: "usage", dialect: "gigachat", why: "GigaChat does not report reasoning tokens: they are charged as part of the answer; reasoning cannot be switched off, and a notice says so"},
	{feature: "parallel tools", dialect: "bedrock", why: "the Converse wire cannot limit an answer to one call"},
	{feature: "reasoning", dialect: "bedrock", why: "the Converse wire does not report reasoning tokens: they are counted and charged as part of the answer"},
	{feature: "usage", dialect: "bedrock", why: "the Converse wire does not report reasoning tokens: they are counted and charged as part of the answer"},
	{feature: "stop sequences", dialect: "responses", outcome: noticed, kind: "The stop sequences were left out", why: "the responses wire has none: they are left out, and a notice says so"},
	{feature: "reasoning", dialect: "responses", why: "the responses wire shows reasoning only as a summary, which Weir asks for; it comes back encrypted"},
	{feature: "parallel tools", dialect: "gemini", why: "the Gemini wire cannot limit an answer to one call: parallel_tool_calls is then left out, and a notice says so"},
}

func exceptionOf(feature, style, dialect string) *exception {
	style = strings.TrimSuffix(style, apptest.OfSocket)
	i := slices.IndexFunc(exceptions, func(e exception) bool {
		return e.feature == feature && (e.style == "" || e.style == style) && (e.dialect == "" || e.dialect == dialect)
	})
	if i < 0 {
		return nil
	}
	return &exceptions[i]
}

// A request in any style reaches a model of any dialect, and its answer reaches the client. Nothing is lost, and what the dialect cannot
// express is refused with a clear error. docs/conformance.md is written from the results of this test.
func TestConformance(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	var all sync.WaitGroup
	places := make(chan struct{}, 16) // t.Parallel would limit this to the number of processors
	run := func(name string, check func(*testing.T)) {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(name, check)
		})
	}
	for i := range features {
		f := &features[i]
		for _, s := range reached {
			run(strings.ReplaceAll(f.name, " ", "-")+"/"+s.Name(), func(t *testing.T) {
				a := c.NewAccount(t) // one account for all of these: making many is slow, because each waits for the store
				for j := range apptest.Dialects {
					for k, stream := range []bool{false, true} {
						if testing.Short() && (i+j+k)%2 > 0 {
							continue // see the function shown
						}
						at := &place{Conformer: c, Account: a, style: s, dialect: &apptest.Dialects[j], stream: stream, word: fmt.Sprintf("K%dX", c.Cells.Add(1))}
						t.Run(at.dialect.Name+map[bool]string{true: "/stream", false: "/whole"}[stream], func(t *testing.T) { f.show(t, at) })
					}
				}
			})
		}
	}
	all.Wait()
	c.WantBalanced(t)
	if t.Failed() {
		return
	}
	const path = "../../docs/conformance.md"
	is, err := os.ReadFile(path)
	want := conformanceDocument()
	if at := bytes.Index(is, []byte("\n## Recorded traffic\n")); at >= 0 { // it is of a test of package world
		want = append(want, is[at:]...)
	}
	if *update {
		err = os.WriteFile(path, want, 0o644)
		is = want
	}
	if err != nil || !bytes.Equal(is, want) {
		t.Errorf("docs/conformance.md differs from the results of the tests (%v); update it with: go test ./internal/app -run TestConformance -update", err)
	}
}

// show checks that a cell behaves as the document says.
func (f *feature) show(t *testing.T, at *place) {
	e := exceptionOf(f.name, at.style.Name(), at.dialect.Name)
	if e != nil && e.outcome == none {
		return
	}
	at.before = apptest.Parse(t, at.Credits(t).TotalUsage)
	switch {
	case e == nil || e.outcome == works:
		f.check(t, at)
		at.WantNothingHeld(t)
		return
	case e.outcome == noticed:
		if s := at.mustAsk(t, f.ask(at)); !strings.HasPrefix(s.Notice, e.kind) || s.Text == "" {
			t.Errorf("notice %q of %+v", s.Notice, s)
		}
		return
	}
	got := at.Account.Ask(t, at.style, f.ask(at), at.stream)
	kind, message := at.style.Failure(got.Body)
	if got.Status != e.status || kind != e.kind || len(message) < 20 {
		t.Errorf("status %d, want %d %s: %s", got.Status, e.status, e.kind, got.Body)
	}
	if len(at.received()) != 0 {
		t.Error("the upstream received a request that it cannot serve")
	}
	if spent := at.spent(t); spent != 0 {
		t.Errorf("%s was charged", spent)
	}
}

// smallRoutes is the part of docs/conformance.md about routes with tests of their own.
const smallRoutes = "\n## Small routes\n\n| Route | To providers of | Shown by |\n|---|---|---|\n| `POST /v1/completions` | every wire of chats | `TestLegacyCompletions` |\n| `POST /v1/responses/compact` | every wire of chats | `TestConversationsAreCompacted` |\n| the public suite of Open Responses, 18 tests | openai (chats and responses), anthropic, gemini | `TestOpenResponses` |\n| `POST /v1/audio/translations` | OpenAI's wire | `TestTranslations` |\n| `POST /v1/images/variations` | OpenAI's wire | `TestVariations` |\n| `POST /v2/rerank` | every wire of rerank | `TestRerankOfCohere` |\n| `GET /v1/models/count`, `GET /v1/endpoints/zdr` | the catalog | `TestCountsAndZeroRetention` |\n"

// conformanceDocument returns the text of docs/conformance.md.
func conformanceDocument() []byte {
	var b bytes.Buffer
	b.WriteString(`# Conformance

What works when a client speaks one style (chat, messages, responses, responses through a WebSocket, gemini) and the provider another API. Find the table of your client's style, and the column of the provider's API.

Each cell is a test that passes (TestConformance in internal/app), whole and streamed, through a gateway in front of the [simulator](simulator.md), which is as strict as real providers and verifies its own signatures. The test writes this page.

`)
	fmt.Fprintf(&b, "The columns: %s.\n\n✓ works · ○ is left out, and `metadata.notice` says so · ✗ is refused with an error, and no provider is asked · – does not exist in the style\n\n", legend())
	var notes []string
	for _, s := range reached {
		fmt.Fprintf(&b, "| %s to |", s.Name())
		for i := range apptest.Dialects {
			fmt.Fprintf(&b, " %s |", apptest.Dialects[i].Name)
		}
		b.WriteString("\n|---|" + strings.Repeat(":-:|", len(apptest.Dialects)) + "\n")
		for i := range features {
			fmt.Fprintf(&b, "| %s |", features[i].name)
			for j := range apptest.Dialects {
				e := exceptionOf(features[i].name, s.Name(), apptest.Dialects[j].Name)
				if e == nil {
					b.WriteString(" ✓ |")
					continue
				}
				at := slices.Index(notes, e.why)
				if at < 0 {
					at, notes = len(notes), append(notes, e.why)
				}
				fmt.Fprintf(&b, " %s [%d] |", map[outcome]string{works: "✓", noticed: "○", refused: "✗", none: "–"}[e.outcome], at+1)
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	for i, why := range notes {
		fmt.Fprintf(&b, "%d. %s.\n", i+1, strings.ToUpper(why[:1])+why[1:])
	}
	b.WriteString("\n## What each row shows\n\n")
	for i := range features {
		fmt.Fprintf(&b, "- **%s**: %s.\n", features[i].name, features[i].about)
	}
	b.WriteString(smallRoutes)
	return b.Bytes()
}

func legend() string {
	var list []string
	for i := range apptest.Dialects {
		list = append(list, "`"+apptest.Dialects[i].Name+"` is the "+apptest.Dialects[i].Wire+" API")
	}
	return strings.Join(list, ", ")
}
