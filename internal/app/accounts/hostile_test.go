package accounts_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/money"
)

// The models of these tests cost 0.1 and 0.4 rubles per 1000 tokens. Prices are in units of 10⁻⁹ rubles per token.
const (
	hostilePrompt  = 100_000
	hostileAnswer  = 400_000
	hostileContext = 100_000
	hostileMost    = 4000 // tokens of an answer
	hostileSlice   = 2048 // relay.slice_tokens
)

// missing is a count that a report leaves out; unusable is one that is not a number.
const (
	missing  = math.MinInt64
	unusable = math.MinInt64 + 1
)

// claim is a report of usage.
type claim struct{ prompt, answer int64 }

// plot describes one call: the actions of the provider and of the client.
type plot struct {
	id      int
	dialect string
	style   string
	stream  bool
	most    int64    // max_tokens; 0: not set
	pieces  []string // of the answer, each ends with a unique mark
	claims  map[int]claim
	ends    bool // the answer ends as complete; else it breaks off after the last piece
	stays   int  // the provider goes silent after so many pieces, and the client hangs up; -1: never

	asked, left chan struct{} // the provider was called; the client has left
	once        sync.Once
}

// Claims at the beginning and at the end. All others follow the piece of their number.
const (
	atStart = -1
	atEnd   = -2
)

// villain is a provider on six wires that acts by its plots.
type villain struct {
	mu    sync.Mutex
	plots map[int]*plot
}

var caseMark = regexp.MustCompile(`case-(\d+)-`)

func (v *villain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if strings.HasSuffix(r.URL.Path, "/oauth") {
		fmt.Fprintf(w, `{"access_token":"token","expires_at":%d}`, time.Now().Add(time.Hour).UnixMilli())
		return
	}
	m := caseMark.FindSubmatch(body)
	if m == nil {
		http.Error(w, "no case", http.StatusBadRequest)
		return
	}
	id, _ := strconv.Atoi(string(m[1]))
	v.mu.Lock()
	p := v.plots[id]
	v.mu.Unlock()
	p.once.Do(func() { close(p.asked) })
	t := answerWriter{w: w, p: p, wait: func() {
		w.(http.Flusher).Flush()
		select {
		case <-p.left:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}}
	if p.stream {
		t.stream()
	} else {
		t.whole()
	}
}

// answerWriter writes one answer.
type answerWriter struct {
	w    http.ResponseWriter
	p    *plot
	wait func()
}

// members writes a claim with the names of a wire, each with a comma in front.
func members(c claim, names ...string) string {
	var list []string
	for i, n := range []int64{c.prompt, c.answer} {
		switch {
		case n == unusable:
			list = append(list, fmt.Sprintf(`%q:"lots"`, names[i]))
		case n != missing:
			list = append(list, fmt.Sprintf(`%q:%d`, names[i], n))
		}
	}
	return strings.Join(list, ",")
}

// usage returns a member with the claim of a place, or "".
func (t *answerWriter) usage(at int, member string, names ...string) string {
	c, ok := t.p.claims[at]
	if !ok {
		return ""
	}
	return fmt.Sprintf(`,%q:{%s}`, member, members(c, names...))
}

func (t *answerWriter) whole() {
	if t.p.stays >= 0 {
		t.wait()
	}
	text := strings.Join(t.p.pieces, "")
	t.w.Header().Set("Content-Type", "application/json")
	var body string
	switch t.p.dialect {
	case "openai", "gigachat":
		body = fmt.Sprintf(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]%s}`, text, t.usage(atEnd, "usage", "prompt_tokens", "completion_tokens"))
	case "anthropic":
		body = fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","stop_sequence":null%s}`, text, t.usage(atEnd, "usage", "input_tokens", "output_tokens"))
	case "gemini":
		body = fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"text":%q}]},"finishReason":"STOP","index":0}]%s}`, text, t.usage(atEnd, "usageMetadata", "promptTokenCount", "candidatesTokenCount"))
	case "responses":
		body = t.response("completed", t.item(text), t.usage(atEnd, "usage", "input_tokens", "output_tokens"))
	case "bedrock":
		body = fmt.Sprintf(`{"output":{"message":{"role":"assistant","content":[{"text":%q}]}},"stopReason":"end_turn"%s}`, text, t.usage(atEnd, "usage", "inputTokens", "outputTokens"))
	}
	if !t.p.ends {
		t.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		body = body[:len(body)/2]
	}
	_, _ = io.WriteString(t.w, body)
	if !t.p.ends {
		panic(http.ErrAbortHandler)
	}
}

func (t *answerWriter) item(text string) string {
	return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":%q,"annotations":[],"logprobs":[]}]}`, text)
}

func (t *answerWriter) response(status, items, usage string) string {
	return fmt.Sprintf(`{"id":"resp_1","object":"response","created_at":1,"model":"m","status":%q,"error":null,"incomplete_details":null,"output":[%s]%s}`, status, items, usage)
}

// send writes a frame of the wire.
func (t *answerWriter) send(name, data string) {
	switch {
	case t.p.dialect == "bedrock":
		_, _ = t.w.Write(amazonMessage(name, data))
	case name != "" && t.p.dialect != "gemini":
		fmt.Fprintf(t.w, "event: %s\ndata: %s\n\n", name, data)
	default:
		fmt.Fprintf(t.w, "data: %s\n\n", data)
	}
}

// amazonMessage returns a message of application/vnd.amazon.eventstream.
func amazonMessage(event, payload string) []byte {
	var headers []byte
	for _, h := range [][2]string{{":event-type", event}, {":content-type", "application/json"}, {":message-type", "event"}} {
		headers = append(append(headers, byte(len(h[0]))), h[0]...)
		headers = append(binary.BigEndian.AppendUint16(append(headers, 7), uint16(len(h[1]))), h[1]...)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, headers...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func (t *answerWriter) stream() {
	t.w.Header().Set("Content-Type", map[bool]string{true: "application/vnd.amazon.eventstream", false: "text/event-stream"}[t.p.dialect == "bedrock"])
	t.begin()
	for i, piece := range t.p.pieces {
		if t.p.stays == i {
			t.wait()
		}
		t.piece(i, piece)
		t.w.(http.Flusher).Flush()
	}
	if t.p.stays == len(t.p.pieces) {
		t.wait()
	}
	if t.p.ends {
		t.end()
		return
	}
	panic(http.ErrAbortHandler)
}

func (t *answerWriter) begin() {
	switch t.p.dialect {
	case "anthropic":
		t.send("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[]`+t.usage(atStart, "usage", "input_tokens", "output_tokens")+`}}`)
		t.send("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	case "responses":
		t.send("response.created", `{"type":"response.created","response":`+t.response("in_progress", "", "")+`}`)
		t.send("response.output_item.added", `{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}}`)
	case "bedrock":
		t.send("messageStart", `{"role":"assistant"}`)
	}
}

func (t *answerWriter) piece(i int, text string) {
	switch t.p.dialect {
	case "openai", "gigachat":
		t.send("", fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]%s}`, text, t.usage(i, "usage", "prompt_tokens", "completion_tokens")))
	case "anthropic":
		t.send("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, text))
		if u := t.usage(i, "usage", "input_tokens", "output_tokens"); u != "" {
			t.send("message_delta", `{"type":"message_delta","delta":{}`+u+`}`)
		}
	case "gemini":
		t.send("", fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"text":%q}]},"index":0}]%s}`, text, t.usage(i, "usageMetadata", "promptTokenCount", "candidatesTokenCount")))
	case "responses":
		t.send("response.output_text.delta", fmt.Sprintf(`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":%q}`, text))
	case "bedrock":
		t.send("contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":0,"delta":{"text":%q}}`, text))
	}
}

func (t *answerWriter) end() {
	switch t.p.dialect {
	case "openai", "gigachat":
		u := t.usage(atEnd, "usage", "prompt_tokens", "completion_tokens")
		t.send("", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]`+u+`}`)
		t.send("", "[DONE]")
	case "anthropic":
		t.send("content_block_stop", `{"type":"content_block_stop","index":0}`)
		t.send("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null}`+t.usage(atEnd, "usage", "input_tokens", "output_tokens")+`}`)
		t.send("message_stop", `{"type":"message_stop"}`)
	case "gemini":
		t.send("", `{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP","index":0}]`+t.usage(atEnd, "usageMetadata", "promptTokenCount", "candidatesTokenCount")+`}`)
	case "responses":
		item := t.item(strings.Join(t.p.pieces, ""))
		t.send("response.output_item.done", `{"type":"response.output_item.done","output_index":0,"item":`+item+`}`)
		t.send("response.completed", `{"type":"response.completed","response":`+t.response("completed", item, t.usage(atEnd, "usage", "input_tokens", "output_tokens"))+`}`)
	case "bedrock":
		t.send("contentBlockStop", `{"contentBlockIndex":0}`)
		t.send("messageStop", `{"stopReason":"end_turn"}`)
		if u := t.usage(atEnd, "usage", "inputTokens", "outputTokens"); u != "" {
			t.send("metadata", `{"metrics":{"latencyMs":1}`+u+`}`)
		}
	}
}

// reportsEarly are the wires that report usage during the answer; the others report only at the end.
var reportsEarly = map[string]bool{"openai": true, "gigachat": true, "anthropic": true, "gemini": true}

// drawPlot generates a call.
func drawPlot(t *rapid.T, id int, poor bool) *plot {
	p := &plot{id: id, claims: map[int]claim{}, stays: -1, asked: make(chan struct{}), left: make(chan struct{})}
	p.dialect = rapid.SampledFrom([]string{"openai", "responses", "anthropic", "gemini", "bedrock", "gigachat"}).Draw(t, "dialect")
	p.style = rapid.SampledFrom([]string{"chat", "responses", "messages", "gemini"}).Draw(t, "style")
	p.stream = rapid.IntRange(0, 3).Draw(t, "stream") > 0
	p.most = rapid.SampledFrom([]int64{0, 0, 16, 900}).Draw(t, "max tokens")
	for i := range rapid.IntRange(1, 5).Draw(t, "pieces") {
		words := rapid.SampledFrom([]int{1, 3, 40, 300}).Draw(t, "words")
		if poor {
			words = rapid.SampledFrom([]int{1, 40, 1500, 4000}).Draw(t, "words of the poor")
		}
		p.pieces = append(p.pieces, strings.Repeat("word ", words)+fmt.Sprintf("mark%d. ", i))
	}
	number := func(name string, implausible int64) int64 {
		return rapid.SampledFrom([]int64{missing, unusable, 0, -1, -999_999_999, 1, 7, 300, 2900, implausible, 999_999_999, math.MaxInt64}).Draw(t, name)
	}
	say := func(at int, often int) {
		if rapid.IntRange(0, often).Draw(t, "claims") == 0 {
			p.claims[at] = claim{number("prompt", 2*hostileContext), number("answer", 50_000)}
		}
	}
	p.ends = rapid.IntRange(0, 2).Draw(t, "ends") > 0
	if p.ends && rapid.IntRange(0, 3).Draw(t, "tells at the end") > 0 {
		p.claims[atEnd] = claim{number("prompt", 2*hostileContext), number("answer", 50_000)}
	}
	if p.stream && p.dialect == "anthropic" {
		say(atStart, 1)
	}
	if p.stream && reportsEarly[p.dialect] {
		for i := range p.pieces {
			say(i, 3)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "hangs up") == 0 {
		if p.stays = 0; p.stream {
			p.stays = rapid.IntRange(0, len(p.pieces)).Draw(t, "hangs up behind")
		}
	}
	return p
}

// between is the range in which a count of the bill must lie.
type between struct{ low, high int64 }

// shown returns how many pieces were delivered, and whether the answer was completed.
func (p *plot) shown() (pieces int, whole bool) {
	if p.stays >= 0 {
		return p.stays, false
	}
	return len(p.pieces), p.ends
}

// owes returns what the call must cost: counts of the prompt and the answer, and whether it costs anything. It shares no code with the
// product: it uses only the price list, docs/money.md, and the assumption that a word has about one token.
func (p *plot) owes(body int) (prompt, answer between, owed bool) {
	pieces, whole := p.shown()
	if pieces == 0 || !p.stream && !whole {
		return prompt, answer, false // nothing was delivered
	}
	text := strings.Join(p.pieces[:pieces], "")
	words := int64(strings.Count(text, " "))
	got := between{words * 7 / 10, words*3/2 + 4*int64(pieces) + 4}
	bound := int64(hostileMost)
	if p.most > 0 {
		bound = p.most
	}
	// The highest count reported so far, on Gemini's wire the last one, and whether the last report came after the whole answer.
	reported, last := claim{missing, missing}, false
	take := func(at int, behind bool) {
		c, ok := p.claims[at]
		if !ok {
			return
		}
		c.prompt, c.answer = p.counts(c.prompt), p.counts(c.answer)
		replaces := p.dialect == "gemini" && p.stream
		if replaces && c.prompt > 0 || c.prompt > reported.prompt {
			reported.prompt = c.prompt
		}
		if replaces && c.answer > 0 || c.answer > reported.answer {
			reported.answer = c.answer
		}
		if c.answer > 0 { // a report of zero with an answer does not count
			last = behind
		}
	}
	if p.stream {
		take(atStart, false)
		for i := range pieces {
			last = false
			take(i, i == pieces-1)
		}
	}
	if whole {
		take(atEnd, true)
	}
	prompt = between{1, int64(body)}
	if reported.prompt > 0 && reported.prompt <= 4096 {
		prompt = between{reported.prompt, reported.prompt}
	}
	cut := between{min(reported.answer, max(bound, got.low)), min(reported.answer, max(bound, got.high))}
	switch {
	case reported.answer <= 0:
		answer = got
	case last && whole:
		answer = cut
	default: // more may have been generated
		answer = between{max(cut.low, got.low), max(cut.high, got.high)}
	}
	return prompt, answer, true
}

// counts returns the count, or missing if it cannot be valid.
func (p *plot) counts(n int64) int64 {
	if n < 0 {
		return missing
	}
	return n
}

func (p *plot) request() (path string, body []byte) {
	prompt := fmt.Sprintf("case-%d- Tell me about weirs.", p.id)
	m := map[string]any{"model": "villain/" + p.dialect, "stream": p.stream}
	said := []map[string]any{{"role": "user", "content": prompt}}
	most := "max_tokens"
	switch p.style {
	case "chat":
		path, m["messages"] = "/v1/chat/completions", said
	case "responses":
		path, m["input"], m["store"], most = "/v1/responses", prompt, false, "max_output_tokens"
	case "gemini":
		config := map[string]any{}
		if p.most > 0 {
			config["maxOutputTokens"] = p.most
		}
		m = map[string]any{"contents": []any{map[string]any{"parts": []any{map[string]any{"text": prompt}}}}, "generationConfig": config}
		body, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		return apptest.GeminiStyle{}.Path("villain/"+p.dialect, p.stream), body
	case "messages":
		path, m["messages"] = "/v1/messages", said
		if m[most] = hostileMost; p.most > 0 {
			m[most] = p.most
		}
	}
	if p.most > 0 {
		m[most] = p.most
	}
	body, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return path, body
}

// deed is the client's view of a call.
type deed struct {
	status, size int
	generation   string
}

// do acts as the client: it reads the answer, or the part before the provider goes silent, and leaves.
func (p *plot) do(a *apptest.Account) (d deed, err error) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	defer close(p.left)
	path, body := p.request()
	d.size = len(body)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Gw.URL+path, bytes.NewReader(body))
	if err != nil {
		return d, err
	}
	req.Header.Set("Authorization", "Bearer "+a.Key)
	req.Header.Set("Content-Type", "application/json")
	if p.stays == 0 {
		go func() { <-p.asked; leave() }()
	}
	res, err := a.Gw.Client.Do(req)
	if err != nil {
		if p.stays == 0 {
			return d, nil
		}
		return d, err
	}
	defer res.Body.Close()
	d.status, d.generation = res.StatusCode, res.Header.Get("X-Generation-Id")
	var seen []byte
	buf := make([]byte, 32<<10)
	mark := fmt.Appendf(nil, "mark%d.", p.stays-1)
	for {
		n, err := res.Body.Read(buf)
		seen = append(seen, buf[:n]...)
		if p.stays > 0 && bytes.Contains(seen, mark) || err != nil {
			return d, nil
		}
	}
}

func startVillain(t *testing.T) (*villain, *apptest.Gateway) {
	t.Helper()
	v := &villain{plots: map[int]*plot{}}
	srv := httptest.NewServer(v)
	t.Cleanup(srv.Close)
	gw := apptest.StartGateway(t, apptest.PatientUpstream, func(s *apptest.Setup) {
		s.Stream.KeepAliveAfter = 100 * time.Millisecond // clients that leave at the first byte need not wait long for it
		for _, w := range []struct{ dialect, base string }{{"openai", "/v1"}, {"anthropic", ""}, {"gemini", "/v1beta"}, {"responses", "/v1"}, {"bedrock", ""}, {"gigachat", "/api/v1"}} {
			id := "villain-" + w.dialect
			p := catalog.Provider{ID: id, Name: "Villain " + w.dialect, Dialect: w.dialect, BaseURL: srv.URL + w.base, Key: "sk-upstream-key"}
			if w.dialect == "gigachat" {
				p.Key, p.Quirks.AuthURL = "client:secret", srv.URL+"/api/v2/oauth"
			}
			s.Declared.Providers = append(s.Declared.Providers, p)
			o := apptest.OfferOf(t, id, "villain/"+w.dialect, "m")
			o.Params = catalog.AllParams
			s.Declared.Offers = append(s.Declared.Offers, o)
		}
	})
	return v, gw
}

// play runs all plots at the same time, and returns the clients' views.
func (v *villain) play(a *apptest.Account, plots []*plot) (deeds []deed, errs error) {
	v.mu.Lock()
	for _, p := range plots {
		v.plots[p.id] = p
	}
	v.mu.Unlock()
	deeds = make([]deed, len(plots))
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	for i, p := range plots {
		all.Go(func() {
			var err error
			if deeds[i], err = p.do(a); err != nil {
				failed.Store(&err)
			}
		})
	}
	all.Wait()
	v.mu.Lock()
	for _, p := range plots {
		delete(v.plots, p.id)
	}
	v.mu.Unlock()
	if err := failed.Load(); err != nil {
		return deeds, *err
	}
	return deeds, nil
}

func (p *plot) String() string {
	return fmt.Sprintf("%s to %s, stream %t, max_tokens %d, %d pieces of %d bytes, claims %v, ends %t, hangs up behind %d", p.style, p.dialect, p.stream, p.most, len(p.pieces), len(strings.Join(p.pieces, "")), p.claims, p.ends, p.stays)
}

// Whatever a provider reports and when, wherever it or the client breaks off, on every wire and in every style: a call costs its plausible
// reported usage at the list price, or what was delivered if that is more or nothing was reported. Without delivery it costs nothing.
func TestHostileCharges(t *testing.T) {
	t.Parallel()
	v, gw := startVillain(t)
	next := 0
	rapid.Check(t, func(r *rapid.T) {
		a := gw.Open(t, apptest.Opening{Amount: 1_000_000 * money.Ruble, Keys: []*apikey.Limit{nil}})[0]
		var plots []*plot
		for range 8 {
			next++
			plots = append(plots, drawPlot(r, next, false))
		}
		deeds, err := v.play(a, plots)
		if err != nil {
			r.Fatal(err)
		}
		sum := money.Nano(0)
		for i, p := range plots {
			prompt, answer, owed := p.owes(deeds[i].size)
			if !owed {
				continue
			}
			if deeds[i].status != http.StatusOK || deeds[i].generation == "" {
				r.Fatalf("%s: %+v", p, deeds[i])
			}
			apptest.WaitFor(t, "the charge", func() bool {
				return a.Do(t, http.MethodGet, "/v1/generation?id="+deeds[i].generation, nil).Status == http.StatusOK
			})
			g := a.Generation(t, deeds[i].generation)
			cost := apptest.Parse(t, g.TotalCost)
			if g.TokensPrompt < prompt.low || g.TokensPrompt > prompt.high || g.TokensCompletion < answer.low || g.TokensCompletion > answer.high {
				r.Fatalf("%s: charged for %d and %d tokens, want %v and %v", p, g.TokensPrompt, g.TokensCompletion, prompt, answer)
			}
			if want := money.Nano(g.TokensPrompt*hostilePrompt + g.TokensCompletion*hostileAnswer); cost != want {
				r.Fatalf("%s: %s is charged for %d and %d tokens, want %s", p, cost, g.TokensPrompt, g.TokensCompletion, want)
			}
			sum += cost
		}
		a.AwaitSettled(t)
		if spent := apptest.Parse(t, a.Credits(t).TotalUsage); spent != sum {
			r.Fatalf("%s was spent, the calls cost %s: %v", spent, sum, plots)
		}
	})
	gw.WantBalanced(t)
}

// The same with small balances: no wallet falls below zero by more than one slice for each call in flight.
func TestHostileWallets(t *testing.T) {
	t.Parallel()
	v, gw := startVillain(t)
	next := 0
	rapid.Check(t, func(r *rapid.T) {
		credit := rapid.SampledFrom([]money.Nano{money.Ruble / 100, money.Ruble / 2, 2 * money.Ruble, 6 * money.Ruble}).Draw(r, "credit")
		a := gw.Open(t, apptest.Opening{Amount: credit, Keys: []*apikey.Limit{nil}})[0]
		var plots []*plot
		for range rapid.IntRange(1, 4).Draw(r, "calls") {
			next++
			plots = append(plots, drawPlot(r, next, true))
		}
		deeds, err := v.play(a, plots)
		if err != nil {
			r.Fatal(err)
		}
		a.AwaitSettled(t)
		may, served := money.Nano(0), 0
		for i := range plots {
			if deeds[i].generation != "" {
				may += hostileSlice * hostileAnswer
				served++
			}
		}
		if balance := apptest.Parse(t, a.Credits(t).Balance); balance < -may {
			r.Fatalf("a balance of %s after %d calls with %s: %v", balance, served, credit, plots)
		}
	})
	gw.WantBalanced(t)
}
