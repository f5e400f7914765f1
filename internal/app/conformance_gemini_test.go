package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"weir/internal/app/apptest"
)

// If the provider uses the client's wire, it gets the request byte for byte, without what is for the gateway, and its answer comes back byte for byte.
func TestGeminiPassesThrough(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	a := c.NewAccount(t)
	const body = `{ "session_id":"s", "contents" : [{"parts":[{"text":"K-pass \u0416 \"weir\""}],"role":"user"}],"labels":{"team":"a"},"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}], "models":["gemini/echo"],` +
		`"generationConfig":{"topK": 4.0,"mediaResolution":"MEDIA_RESOLUTION_LOW"} }`
	const want = `{"contents" : [{"parts":[{"text":"K-pass \u0416 \"weir\""}],"role":"user"}],"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}],"generationConfig":{"topK": 4.0,"mediaResolution":"MEDIA_RESOLUTION_LOW"}}`
	for _, stream := range []bool{false, true} {
		got := a.Send(t, http.MethodPost, apptest.GeminiStyle{}.Path("gemini/echo", stream), []byte(body), nil)
		if got.Status != http.StatusOK || !strings.Contains(string(got.Body), `"createTime"`) || strings.Contains(string(got.Body), "notice") || !strings.Contains(string(got.Body), `"modelVersion":"gemini/echo"`) {
			t.Errorf("status %d: %s", got.Status, got.Body)
		}
		all := c.Received("K-pass")
		if last := all[len(all)-1]; string(last.Body) != want {
			t.Errorf("the provider got\n%s, want\n%s", last.Body, want)
		}
	}
	odd := strings.Replace(body, `"labels"`, `"odd":{"x":1},"labels"`, 1)
	got := a.Send(t, http.MethodPost, apptest.GeminiStyle{}.Path("gemini/echo", false), []byte(odd), nil)
	if got.Status != http.StatusOK || !strings.Contains(string(got.Body), "does not take generationConfig.mediaResolution, odd") {
		t.Errorf("status %d: %s", got.Status, got.Body)
	}
	if all := c.Received("K-pass"); strings.Contains(string(all[len(all)-1].Body), "odd") || !strings.Contains(string(all[len(all)-1].Body), `"safetySettings"`) {
		t.Errorf("the provider got %s", all[len(all)-1].Body)
	}
}

// A provider of this wire counts the tokens of a whole request; the gateway counts for others.
func TestGeminiCountsTokens(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	a := c.NewAccount(t)
	count := func(model, body string) int64 {
		got := a.Send(t, http.MethodPost, "/v1beta/models/"+model+":countTokens", []byte(body), nil)
		if got.Status != http.StatusOK {
			t.Fatalf("status %d: %s", got.Status, got.Body)
		}
		return apptest.Decode[struct{ TotalTokens int64 }](t, got.Body).TotalTokens
	}
	const contents = `{"contents":[{"role":"user","parts":[{"text":"K-count Over the weir"}]}]}`
	n := count("gemini/chat", contents)
	all := c.Received("K-count")
	if len(all) != 1 || all[0].Path != "/v1beta/models/chat:countTokens" || !strings.HasPrefix(string(all[0].Body), `{"generateContentRequest":{"model":"models/chat","contents":`) {
		t.Errorf("the provider was asked %+v", all)
	}
	if again := count("gemini/chat", `{"generate_content_request":{"model":"models/gemini/chat","contents":[{"role":"user","parts":[{"text":"K-count Over the weir"}]}]}}`); n == 0 || again != n {
		t.Errorf("%d tokens, and %d in the other form", n, again)
	}
	if own := count("openai/chat", contents); own == 0 || own == n {
		t.Errorf("%d tokens by our own count", own)
	}
	if spent := apptest.Parse(t, a.Credits(t).TotalUsage); spent != 0 {
		t.Errorf("%s was charged", spent)
	}
}

// A prompt that a provider refuses because of its content has an answer that says so, on every dialect, and costs nothing.
func TestGeminiPromptFeedback(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	a := c.NewAccount(t)
	for _, path := range []string{"gemini/chat:generateContent", "gemini/chat:streamGenerateContent?alt=sse", "gemini/chat:streamGenerateContent"} {
		got := a.Send(t, http.MethodPost, "/v1beta/models/"+path, []byte(`{"contents":[{"role":"user","parts":[{"text":"[[sim finish=refusal]] hm"}]}]}`), nil)
		if got.Status != http.StatusOK || !strings.Contains(string(got.Body), `"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","blockReasonMessage":"`) {
			t.Errorf("%s: status %d: %s", path, got.Status, got.Body)
		}
	}
	if spent := apptest.Parse(t, a.Credits(t).TotalUsage); spent != 0 {
		t.Errorf("%s was charged", spent)
	}
}

// A key in the address reaches no log, no metric, no record, no provider and no answer.
func TestKeyInAddressStaysSecret(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, func(s *apptest.Setup) { s.Server.AdminListen, s.Log.Level = "127.0.0.1:0", "debug" })
	a := c.NewAccount(t)
	query := "key=" + url.QueryEscape(a.Key)
	for _, try := range []struct{ method, path, body string }{
		{"POST", "/v1beta/models/gemini/chat:generateContent?" + query, `{"contents":[{"parts":[{"text":"hi"}]}]}`},
		{"POST", "/v1beta/models/openai/chat:streamGenerateContent?alt=sse&" + query, `{"contents":[{"parts":[{"text":"[[sim fault=u15,status=500]] hi"}]}]}`},
		{"POST", "/v1beta/models/openai/chat:generateContent?" + query, `{`},
		{"POST", "/v1beta/models/openai/chat:nothing?" + query, `{}`},
		{"GET", "/v1beta/models?pageSize=1&" + query, ""}, {"GET", "/v1beta/models?pageSize=x&" + query, ""}, {"GET", "/v1beta/nothing?" + query, ""},
		{"GET", "/v1beta/models/?" + query, ""}, {"GET", "/v1beta//models?" + query, ""}, {"GET", "/v1/models?page=1&per_page=1&" + query, ""},
	} {
		got := a.Send(t, try.method, try.path, []byte(try.body), map[string]string{"Authorization": ""})
		if strings.Contains(string(got.Body)+fmt.Sprint(got.Header), a.Key) {
			t.Errorf("%s %s: the answer shows the key: %v %s", try.method, try.path, got.Header, got.Body)
		}
		if got.Status >= 300 && got.Status < 400 {
			t.Errorf("%s %s redirects to %s", try.method, try.path, got.Header.Get("Location"))
		}
	}
	if spent := apptest.Parse(t, a.Credits(t).TotalUsage); spent == 0 {
		t.Error("the key in the address was not used")
	}
	c.Mu.Lock()
	for _, s := range c.Sent {
		if strings.Contains(s.Path+fmt.Sprint(s.Header)+string(s.Body), a.Key) {
			t.Errorf("the provider got the key: %s %v", s.Path, s.Header)
		}
	}
	c.Mu.Unlock()
	for place, text := range map[string]string{"the log": c.Log.String(), "metrics": c.Metrics(t), "the disk": c.Disk(t)} {
		if at := strings.Index(text, a.Key); at >= 0 {
			t.Errorf("the key was found in %s: ...%s", place, text[max(0, at-200):at])
		}
	}
}
