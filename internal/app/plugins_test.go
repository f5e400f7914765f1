package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/money"
)

// pluginCatalog adds models that lack a feature: schemas, context length, files, web search.
func pluginCatalog(t *testing.T) func(*apptest.Setup) {
	return func(s *apptest.Setup) {
		offer := func(dialect, slug, upstream string, change func(*catalog.Offer)) {
			o := apptest.OfferOf(t, "on-"+dialect, slug, upstream)
			o.Input = catalog.Text
			change(&o)
			s.Offers = append(s.Offers, o)
		}
		for _, d := range apptest.Dialects {
			offer(d.Name, "lack/"+d.Name+"-schema", "json", func(o *catalog.Offer) {
				o.Params = catalog.ParamTools | catalog.ParamToolChoice | catalog.ParamMaxTokens
			})
			offer(d.Name, "lack/"+d.Name+"-files", "echo", func(o *catalog.Offer) {})
			offer(d.Name, "lack/"+d.Name+"-room", "echo", func(o *catalog.Offer) { o.ContextLength, o.MaxCompletion = 4000, 500 })
			offer(d.Name, "lack/"+d.Name+"-search", "chat", func(o *catalog.Offer) { o.Params = catalog.ParamTools })
		}
		offer("openai", "lack/json", "echo", func(o *catalog.Offer) { o.Params = catalog.ParamMaxTokens })
		offer("openai", "lack/strict", "echo", func(o *catalog.Offer) {
			o.Params = catalog.ParamMaxTokens
			o.Pricing.Base.Prompt = apptest.Price(t, "0.01") // it is the cheapest
		})
		offer("anthropic", "lack/strict", "json", func(o *catalog.Offer) { o.Params = catalog.ParamTools | catalog.ParamToolChoice })
	}
}

// replyOf is a chat answer, whole or streamed.
type replyOf struct {
	ID, Model, Content, Finish, Notice string
	Annotations                        []any
	Calls                              int
}

func readReply(t *testing.T, got *apptest.Answer, stream bool) (r replyOf) {
	t.Helper()
	if got.Status != http.StatusOK {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	type piece struct {
		Content     *string
		Annotations []any
		ToolCalls   []any `json:"tool_calls"`
	}
	type reply struct {
		ID, Model string
		Error     any
		Choices   []struct {
			Message, Delta piece
			Finish         *string `json:"finish_reason"`
		}
		Metadata struct{ Notice string }
	}
	take := func(raw []byte) {
		var m reply
		if err := json.Unmarshal(raw, &m); err != nil || m.Error != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		r.ID, r.Model, r.Notice = m.ID, m.Model, r.Notice+m.Metadata.Notice
		for _, c := range m.Choices {
			for _, p := range []piece{c.Message, c.Delta} {
				if p.Content != nil {
					r.Content += *p.Content
				}
				r.Annotations = append(r.Annotations, p.Annotations...)
				r.Calls += len(p.ToolCalls)
			}
			if c.Finish != nil {
				r.Finish = *c.Finish
			}
		}
	}
	if !stream {
		take(got.Body)
		return r
	}
	for _, f := range got.Frames(t) {
		raw, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		take(raw)
	}
	return r
}

func user(text string) []any { return []any{map[string]any{"role": "user", "content": text}} }

func plugins(list ...any) []any {
	out := []any{}
	for _, p := range list {
		if id, ok := p.(string); ok {
			p = map[string]any{"id": id}
		}
		out = append(out, p)
	}
	return out
}

func wantFormat(strict bool) map[string]any {
	return map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "sum", "strict": strict, "schema": map[string]any{
		"type": "object", "properties": map[string]any{"total": map[string]any{"type": "integer"}}, "required": []string{"total"}, "additionalProperties": false}}}
}

func TestPluginHealing(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, pluginCatalog(t))
	a := c.NewAccount(t)
	ask := map[string]any{"model": "lack/json", "messages": user("Sure, here it is: {total: 42, 'note': None,}"), "response_format": map[string]any{"type": "json_object"}}
	if got := readReply(t, a.Chat(t, ask), false); got.Content != "Sure, here it is: {total: 42, 'note': None,}" || !strings.Contains(got.Notice, "response_format") {
		t.Errorf("without the plugin: %+v", got)
	}
	ask["plugins"] = plugins("response-healing")
	got := readReply(t, a.Chat(t, ask), false)
	if got.Content != `{"total":42,"note":null}` || !strings.Contains(got.Notice, "repaired") {
		t.Errorf("%+v", got)
	}
	sent := c.Received("Answer with one JSON object")
	if len(sent) != 1 || strings.Contains(string(sent[0].Body), "response_format") || strings.Contains(string(sent[0].Body), "plugins") {
		t.Errorf("sent %d requests with the instruction: %s", len(sent), sent)
	}
	ask["stream"] = true
	if got := readReply(t, a.Chat(t, ask), true); !strings.HasPrefix(got.Content, "Sure") {
		t.Errorf("a stream: %+v", got)
	}
}

// A strict answer that does not match its schema is a failed attempt: the next endpoint answers, and only that is charged. The second
// endpoint has no schemas either, and must use a tool call.
func TestPluginStrict(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, pluginCatalog(t))
	a := c.NewAccount(t)
	ask := map[string]any{"model": "lack/strict", "messages": user("The sum?"), "response_format": wantFormat(true), "provider": map[string]any{"sort": "price"}, "max_tokens": 50}
	got := a.Chat(t, ask)
	r := readReply(t, got, false)
	var doc struct{ Total *int }
	if err := json.Unmarshal([]byte(r.Content), &doc); err != nil || doc.Total == nil || r.Finish != "stop" || r.Calls != 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	a.WantAttempts(t, got, 2)
	if spent, is := apptest.Parse(t, a.Credits(t).TotalUsage), got.Reported(t, false); spent != is.Cost {
		t.Errorf("the answer cost %s, charged are %s", is.Cost, spent)
	}
	ask["provider"] = map[string]any{"only": []string{"on-openai"}}
	failed := a.Chat(t, ask)
	if failed.Status != http.StatusBadGateway || !strings.Contains(string(failed.Body), "does not conform to the schema") {
		t.Errorf("status %d: %s", failed.Status, failed.Body)
	}
	ask["stream"] = true
	if r := readReply(t, a.Chat(t, ask), true); r.Content != "The sum?" {
		t.Errorf("a stream: %+v", r)
	}
}

// Schemas work on endpoints of every dialect that have only tools, whole and streamed.
func TestPluginEmulation(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, pluginCatalog(t))
	for _, d := range apptest.Dialects {
		for _, stream := range []bool{false, true} {
			t.Run(d.Name+map[bool]string{true: "/stream", false: "/whole"}[stream], func(t *testing.T) {
				t.Parallel()
				a := c.NewAccount(t)
				got := a.Chat(t, map[string]any{"model": "lack/" + d.Name + "-schema", "messages": user("The sum?"), "response_format": wantFormat(false), "stream": stream})
				r := readReply(t, got, stream)
				var doc struct{ Total *int }
				if err := json.Unmarshal([]byte(r.Content), &doc); err != nil || doc.Total == nil || r.Finish != "stop" || r.Calls != 0 {
					t.Errorf("%v: %+v", err, r)
				}
			})
		}
	}
}

func TestPluginCompression(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, pluginCatalog(t))
	long := strings.Repeat("a rather long story ", 60)
	for _, d := range apptest.Dialects {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			a := c.NewAccount(t)
			word := "compression-" + d.Name
			messages := []any{map[string]any{"role": "system", "content": "Rules of " + word}, map[string]any{"role": "user", "content": "begin", "name": "ann"}}
			for i := range 20 {
				messages = append(messages, map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": fmt.Sprintf("call_%d", i), "type": "function", "function": map[string]any{"name": "f", "arguments": "{}"}}}},
					map[string]any{"role": "tool", "tool_call_id": fmt.Sprintf("call_%d", i), "content": fmt.Sprintf("result %d %s", i, long)},
					map[string]any{"role": "assistant", "content": fmt.Sprintf("answer %d", i)}, map[string]any{"role": "user", "content": fmt.Sprintf("question %d %s", i, long)})
			}
			messages = append(messages, map[string]any{"role": "assistant", "content": "so"}, map[string]any{"role": "user", "content": "end"})
			ask := map[string]any{"model": "lack/" + d.Name + "-room", "messages": messages, "tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "f", "parameters": map[string]any{"type": "object", "properties": map[string]any{}}}}}}
			got := a.Chat(t, ask) // a context this small is compressed by default
			r := readReply(t, got, false)
			if r.Content != "end" || !strings.Contains(r.Notice, "left out") {
				t.Fatalf("%+v", r)
			}
			sent := c.Received(word)
			body := string(sent[0].Body)
			if len(sent) != 1 || !strings.Contains(body, "begin") || strings.Contains(body, "question 9") || !strings.Contains(body, "question 19") || len(body) > 20_000 {
				t.Errorf("%d requests, %d bytes: %.300s", len(sent), len(body), body)
			}
			var call struct{ Data struct{ Notice *string } }
			if err := json.Unmarshal(a.Do(t, http.MethodGet, "/api/calls/"+r.ID, nil).Body, &call); err != nil || call.Data.Notice == nil || *call.Data.Notice != r.Notice {
				t.Errorf("%v: recorded is %v", err, call.Data.Notice)
			}
			for _, off := range []map[string]any{{"transforms": []any{}}, {"plugins": plugins(map[string]any{"id": "context-compression", "enabled": false})}} {
				for k, v := range ask {
					off[k] = v
				}
				if got := a.Chat(t, off); got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "context_length_exceeded") {
					t.Errorf("status %d: %s", got.Status, got.Body)
				}
			}
		})
	}
	t.Run("a large context is compressed when asked", func(t *testing.T) {
		t.Parallel()
		a := c.NewAccount(t)
		messages := []any{}
		for i := range 60 {
			messages = append(messages, map[string]any{"role": "user", "content": fmt.Sprintf("large %d ", i) + strings.Repeat(long, 10)}, map[string]any{"role": "assistant", "content": "so"})
		}
		ask := map[string]any{"model": "openai/echo", "messages": append(messages, map[string]any{"role": "user", "content": "end"})}
		if got := a.Chat(t, ask); got.Status != http.StatusBadRequest {
			t.Fatalf("status %d: %s", got.Status, got.Body)
		}
		ask["transforms"] = []string{"middle-out"}
		if r := readReply(t, a.Chat(t, ask), false); r.Content != "end" || !strings.Contains(r.Notice, "left out") {
			t.Errorf("%+v", r)
		}
	})
}

// If the client allows it, a conversation on the responses route that is too long for the model is shortened, whatever wire the provider
// uses and whether or not that wire can shorten. Otherwise it is refused.
func TestTruncation(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, pluginCatalog(t))
	long := strings.Repeat("a rather long story ", 60)
	for _, d := range apptest.Dialects {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			a := c.NewAccount(t)
			word := "truncation-" + d.Name
			var input []any
			for i := range 30 {
				input = append(input, map[string]any{"role": "user", "content": fmt.Sprintf("question %d %s", i, long)}, map[string]any{"role": "assistant", "content": fmt.Sprintf("answer %d", i)})
			}
			ask := map[string]any{"model": "lack/" + d.Name + "-room", "store": false, "instructions": "Rules of " + word, "input": append(input, map[string]any{"role": "user", "content": "end"})}
			for _, how := range []any{nil, "disabled"} {
				if ask["truncation"] = how; how == nil {
					delete(ask, "truncation")
				}
				if got := a.Do(t, http.MethodPost, "/v1/responses", ask); got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "context_length_exceeded") {
					t.Errorf("truncation %v: status %d: %s", how, got.Status, got.Body)
				}
			}
			ask["truncation"] = "auto"
			for _, stream := range []bool{false, true} {
				ask["stream"] = stream
				got := a.Do(t, http.MethodPost, "/v1/responses", ask)
				if got.Status != http.StatusOK {
					t.Fatalf("status %d: %s", got.Status, got.Body)
				}
				read := responsesStyle{}.Whole
				if stream {
					read = responsesStyle{}.Stream
				}
				if r := read(t, got.Body); r.Text != "end" || !strings.Contains(r.Notice, "left out") {
					t.Errorf("%+v", r)
				}
			}
			sent := c.Received(word)
			if len(sent) != 2 {
				t.Fatalf("%d requests", len(sent))
			}
			for _, s := range sent {
				if body := string(s.Body); strings.Contains(body, "question 15") || !strings.Contains(body, "question 29") || len(body) > 20_000 {
					t.Errorf("%d bytes: %.300s", len(body), body)
				}
			}
		})
	}
}

func TestPluginFiles(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, pluginCatalog(t))
	asking := func(model, data string) map[string]any {
		return map[string]any{"model": model, "messages": []any{map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "text", "text": "Read this."}, map[string]any{"type": "file", "file": map[string]any{"filename": "bill.pdf", "file_data": data}}}}}}
	}
	for _, d := range apptest.Dialects {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			a := c.NewAccount(t)
			word := "page-of-" + d.Name
			for _, stream := range []bool{false, true} {
				ask := asking("lack/"+d.Name+"-files", apptest.PdfFile(word, ""))
				ask["stream"], ask["plugins"] = stream, plugins(map[string]any{"id": "file-parser", "pdf": map[string]any{"engine": "pdf-text"}})
				r := readReply(t, a.Chat(t, ask), stream)
				if !strings.Contains(r.Content, word) || len(r.Annotations) != 1 {
					t.Fatalf("%+v", r)
				}
				// the extracted text is returned with the answer, and need not be read again
				reported, err := json.Marshal(r.Annotations)
				if err != nil {
					t.Fatal(err)
				}
				var altered []any
				if err := json.Unmarshal([]byte(strings.ReplaceAll(string(reported), word, "kept-"+d.Name)), &altered); err != nil {
					t.Fatal(err)
				}
				again := asking("lack/"+d.Name+"-files", apptest.PdfFile(word, ""))
				again["messages"] = append(again["messages"].([]any), map[string]any{"role": "assistant", "content": "Read.", "annotations": altered}, map[string]any{"role": "user", "content": "Sure?"})
				if next := readReply(t, a.Chat(t, again), false); next.Content != "Sure?" || len(next.Annotations) != 0 || len(c.Received("kept-"+d.Name)) == 0 {
					t.Errorf("%+v", next)
				}
			}
			if d.Name == "gigachat" { // accepts no files
				return
			}
			native := readReply(t, a.Chat(t, asking(d.Name+"/vision", apptest.PdfFile("native-"+d.Name, ""))), false)
			if len(native.Annotations) != 0 || len(c.Received("native-"+d.Name)) != 0 || !strings.Contains(native.Content, "file") {
				t.Errorf("natively: %+v", native)
			}
		})
	}
	t.Run("other styles", func(t *testing.T) {
		t.Parallel()
		a := c.NewAccount(t)
		data := apptest.PdfFile("page-of-another-style", "")
		_, raw, _ := strings.Cut(data, ",")
		for path, ask := range map[string]map[string]any{
			"/v1/responses": {"input": []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "input_text", "text": "Read this."}, map[string]any{"type": "input_file", "filename": "bill.pdf", "file_data": data}}}}},
			"/v1/messages": {"max_tokens": 100, "messages": []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "Read this."},
				map[string]any{"type": "document", "source": map[string]any{"type": "base64", "media_type": "application/pdf", "data": raw}}}}}},
		} {
			for _, d := range apptest.Dialects {
				ask["model"] = "lack/" + d.Name + "-files"
				if got := a.Do(t, http.MethodPost, path, ask); got.Status != http.StatusOK || !strings.Contains(string(got.Body), "page-of-another-style") || strings.Contains(string(got.Body), `"hash"`) {
					t.Errorf("%s of %s: status %d: %s", path, d.Name, got.Status, got.Body)
				}
			}
		}
	})
	a := c.NewAccount(t)
	for name, ask := range map[string]map[string]any{
		"encrypted":       asking("lack/openai-files", apptest.PdfFile("x", "/Encrypt 9 0 R")),
		"without text":    asking("lack/openai-files", apptest.PdfFile("", "")),
		"native only":     asking("lack/openai-files", apptest.PdfFile("x", "")),
		"the plugin off":  asking("lack/openai-files", apptest.PdfFile("x", "")),
		"only an address": asking("lack/openai-files", "https://a.test/b.pdf"),
	} {
		switch name {
		case "native only":
			ask["plugins"] = plugins(map[string]any{"id": "file-parser", "pdf": map[string]any{"engine": "native"}})
		case "the plugin off":
			ask["plugins"] = plugins(map[string]any{"id": "file-parser", "enabled": false})
		}
		if got := a.Chat(t, ask); got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "file-parser") {
			t.Errorf("%s: status %d: %s", name, got.Status, got.Body)
		}
	}
}

func TestPluginWeb(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, pluginCatalog(t))
	asked := map[string]string{"openai": `"web_search_options":{`, "anthropic": `"type":"web_search_20250305"`, "gemini": `"googleSearch":{}`, "responses": `"type":"web_search"`}
	for _, d := range apptest.Dialects {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			a := c.NewAccount(t)
			for i, ask := range []map[string]any{
				{"model": d.Name + "/chat", "plugins": plugins("web")},
				{"model": d.Name + "/chat:online"},
				{"model": d.Name + "/chat", "web_search_options": map[string]any{}},
				{"model": d.Name + "/chat", "plugins": plugins(map[string]any{"id": "web", "include_domains": []string{"weir.test"}, "max_results": 3})},
			} {
				word := fmt.Sprintf("search-%s-%d", d.Name, i)
				ask["messages"] = user("News? " + word)
				got := a.Chat(t, ask)
				if asked[d.Name] == "" && i == 2 { // its wire has no search, and the model may answer without
					if r := readReply(t, got, false); r.Notice != completion.NoticeSearch {
						t.Errorf("%+v", r)
					}
					continue
				}
				if asked[d.Name] == "" {
					if got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "web search") {
						t.Errorf("status %d: %s", got.Status, got.Body)
					}
					continue
				}
				readReply(t, got, false)
				sent := c.Received(word)
				if len(sent) != 1 || !strings.Contains(string(sent[0].Body), asked[d.Name]) || strings.Contains(string(sent[0].Body), "plugins") {
					t.Errorf("%v sent %s", ask, sent)
				}
				if i == 3 && d.Name == "anthropic" && !strings.Contains(string(sent[0].Body), `"max_uses":3,"allowed_domains":["weir.test"]`) {
					t.Errorf("sent %s", sent[0].Body)
				}
			}
			for _, ask := range []map[string]any{
				{"model": "lack/" + d.Name + "-search", "plugins": plugins("web")}, {"model": "lack/" + d.Name + "-search:online"},
				{"model": d.Name + "/chat", "plugins": plugins(map[string]any{"id": "web", "engine": "exa"})},
			} {
				ask["messages"] = user("News?")
				if got := a.Chat(t, ask); got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "web plugin") {
					t.Errorf("%v: status %d: %s", ask, got.Status, got.Body)
				}
			}
		})
	}
}

// Each suffix of a model's name has its effect, as seen from outside: the endpoint, the model's name in the answer, the request, the cost.
func TestVariants(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, func(s *apptest.Setup) {
		add := func(provider, prompt string, change func(*catalog.Offer)) {
			o := apptest.OfferOf(t, provider, "many/m", "reason")
			o.Pricing.Base.Prompt, o.Pricing.Base.WebSearch = apptest.Price(t, prompt), apptest.Price(t, "0")
			change(&o)
			s.Offers = append(s.Offers, o)
		}
		plain := func(*catalog.Offer) {}
		add("on-openai", "0.2", plain)
		add("on-openai", "0.05", func(o *catalog.Offer) { o.Tier = "flex" })
		add("on-openai", "0.9", func(o *catalog.Offer) { o.Tier = "priority" })
		add("on-openai", "0", func(o *catalog.Offer) { o.Variant, o.Pricing.Base.Completion = "free", apptest.Price(t, "0") })
		add("on-openai", "0.4", func(o *catalog.Offer) { o.Variant, o.ContextLength = "extended", 200_000 })
	})
	for i, v := range []struct {
		suffix, prompt string // the price that was charged
		sent           string // a part of the upstream request
		change         map[string]any
	}{
		{"", "0.2", "", nil},
		{":floor", "0.2", `"service_tier":"flex"`, nil}, // the simulator always answers in its default tier, and that one is charged
		{":floor", "0.2", "", map[string]any{"provider": map[string]any{"ignore": []string{"on-openai/flex"}}}},
		{":nitro", "0.2", `"service_tier":"priority"`, map[string]any{"provider": map[string]any{"order": []string{"on-openai/priority"}}}},
		{":free", "0", "", nil},
		{":extended", "0.4", "", nil},
		{":thinking", "0.2", `"reasoning_effort":"medium"`, nil},
		{":thinking", "0.2", `"reasoning_effort":"low"`, map[string]any{"reasoning_effort": "low"}},
		{":exacto", "0.2", "", nil},
		{":online", "0.2", `"web_search_options":{`, nil},
	} {
		t.Run(strings.Trim(v.suffix+" "+v.prompt, " "), func(t *testing.T) {
			t.Parallel()
			a := c.NewAccount(t)
			word := fmt.Sprintf("variant-%d.", i)
			ask := map[string]any{"model": "many/m" + v.suffix, "messages": user("Hello " + word)}
			for k, x := range v.change {
				ask[k] = x
			}
			got := a.Chat(t, ask)
			r := readReply(t, got, false)
			if r.Model != "many/m"+v.suffix {
				t.Errorf("model %s", r.Model)
			}
			sent := c.Received(word)
			if len(sent) != 1 || !strings.Contains(string(sent[0].Body), v.sent) || v.sent == "" && strings.Contains(string(sent[0].Body), "service_tier") {
				t.Errorf("sent %s", sent)
			}
			answer := "0.4"
			if v.suffix == ":free" {
				answer = "0"
			}
			is := got.Reported(t, false)
			cost := func(n int64, perThousand string) money.Nano {
				return money.Nano(n * apptest.Price(t, perThousand).Nano / 1000)
			}
			if want := cost(is.Prompt, v.prompt) + cost(is.Completion, answer); is.Cost != want {
				t.Errorf("%d and %d tokens cost %s, want %s", is.Prompt, is.Completion, is.Cost, want)
			}
		})
	}
	a := c.NewAccount(t)
	if got := a.Chat(t, map[string]any{"model": "many/m:fast", "messages": user("x")}); got.Status != http.StatusNotFound {
		t.Errorf("an unknown suffix: status %d", got.Status)
	}
}
