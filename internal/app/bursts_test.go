package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
)

const burstWords = 6

// burst is a whole answer in one write: frames of one word each, the end, and the usage.
func burst() string {
	frame := func(rest string) string {
		data := `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",` + rest + "}\n\n"
		return fmt.Sprintf("%x\r\n%s\r\n", len(data), data)
	}
	s := ""
	for i := range burstWords {
		s += frame(fmt.Sprintf(`"choices":[{"index":0,"delta":{"content":"w%d "},"finish_reason":null}]`, i))
	}
	s += frame(`"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]`)
	s += frame(`"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":12,"total_tokens":22}`)
	return s + "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
}

// burstProvider sends as much of a burst as the prompt says, in one write, and closes the connection. The prompt "error N" has it send N frames
// and an error behind them.
func burstProvider(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	whole := burst()
	serve := func(c net.Conn) {
		defer c.Close()
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		var asked struct {
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Messages) == 0 {
			return
		}
		word, number, _ := strings.Cut(asked.Messages[0].Content, " ")
		n, _ := strconv.Atoi(number)
		var sent string
		if word == "cut" {
			sent = whole[:n]
		} else {
			at := 0
			for range n { // a chunk is a size, a line end, a frame of two, and a line end
				at += strings.Index(whole[at:], "\n\n\r\n") + 4
			}
			data := "data: {\"error\":{\"message\":\"The provider failed.\",\"code\":500}}\n\n"
			sent = whole[:at] + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(data), data)
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"+sent)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return "http://" + l.Addr().String() + "/v1"
}

var burstStyles = []struct {
	path string
	body func(prompt string) map[string]any
	text func(frame map[string]any) string
}{
	{"/v1/chat/completions", func(p string) map[string]any {
		return map[string]any{"messages": []any{map[string]any{"role": "user", "content": p}}}
	}, func(f map[string]any) string {
		if list, _ := f["choices"].([]any); len(list) > 0 {
			delta, _ := list[0].(map[string]any)["delta"].(map[string]any)
			text, _ := delta["content"].(string)
			return text
		}
		return ""
	}},
	{"/v1/messages", func(p string) map[string]any {
		return map[string]any{"max_tokens": 100, "messages": []any{map[string]any{"role": "user", "content": p}}}
	}, func(f map[string]any) string {
		delta, _ := f["delta"].(map[string]any)
		text, _ := delta["text"].(string)
		return text
	}},
	{"/v1/responses", func(p string) map[string]any { return map[string]any{"input": p} }, func(f map[string]any) string {
		text, _ := f["delta"].(string)
		if f["type"] != "response.output_text.delta" {
			return ""
		}
		return text
	}},
}

// A burst that is cut at any byte, or has an error behind any of its frames: the client gets the words of the whole frames in their order and
// nothing of the others, and an error wherever the answer is not whole; and it pays for what it got.
func TestBursts(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: "bursts", Name: "Bursts", Dialect: "openai", BaseURL: burstProvider(t), Key: "sk-upstream-key"})
		s.Declared.Offers = append(s.Declared.Offers, apptest.OfferOf(t, "bursts", "bursts/m", "m"))
	})
	whole := burst()
	ends := []int{} // of the frames with words: the last byte of each one's data
	for at := 0; len(ends) < burstWords; {
		at += strings.Index(whole[at:], "\n\n") + 2
		ends = append(ends, at)
	}
	step := 1
	if testing.Short() {
		step = 11
	}
	for s, style := range burstStyles {
		t.Run(style.path, func(t *testing.T) {
			t.Parallel()
			a := gw.NewAccount(t)
			check := func(prompt string, words int, complete, failed bool) {
				t.Helper()
				body := style.body(prompt)
				body["model"], body["stream"] = "bursts/m", true
				got := a.Do(t, http.MethodPost, style.path, body)
				text, broken, done := "", got.Status != http.StatusOK, false
				for line := range strings.Lines(string(got.Body)) {
					data, ok := strings.CutPrefix(line, "data: ")
					if !ok || got.Status != http.StatusOK {
						continue
					}
					if strings.TrimSpace(data) == "[DONE]" {
						done = true
						continue
					}
					var frame map[string]any
					if err := json.Unmarshal([]byte(data), &frame); err != nil {
						t.Fatalf("%s: a frame is not whole: %q", prompt, data)
					}
					kind, _ := frame["type"].(string)
					broken = broken || frame["error"] != nil || kind == "error" || kind == "response.failed"
					done = done || kind == "message_stop" || kind == "response.completed"
					text += style.text(frame)
				}
				want := ""
				for i := range words {
					want += fmt.Sprintf("w%d ", i)
				}
				if text != want || broken != failed || complete && !done {
					t.Fatalf("%s: %d, text %q, want %q; broken %v, want %v; done %v\n%s", prompt, got.Status, text, want, broken, failed, done, got.Body)
				}
				if id := got.Header.Get("X-Generation-Id"); words > 0 {
					if g := a.Generation(t, id); apptest.Parse(t, g.TotalCost) <= 0 {
						t.Fatalf("%s: charged %+v", prompt, g)
					}
				}
			}
			for cut := s; cut <= len(whole); cut += step {
				words := 0
				for words < burstWords && cut >= ends[words] {
					words++
				}
				finished := cut >= strings.Index(whole, "[DONE]\n\n")+len("[DONE]\n\n") // without its usage an answer is not whole
				check(fmt.Sprint("cut ", cut), words, finished, !finished)
			}
			for n := 1; n <= burstWords; n++ {
				check(fmt.Sprint("error ", n), n, false, true)
			}
		})
	}
}
