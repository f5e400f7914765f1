package e2e_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"
)

var (
	interleaveFor  = flag.Duration("interleave", 0, "how long TestInterleavedCalls tries streams; 0: a few")
	interleaveSeed = flag.Uint64("interleave-seed", 0, "the first stream that TestInterleavedCalls tries; 0: any")
)

const interleaveConfig = `
server: {listen: %[1]q, admin_listen: "off", shutdown_delay: 0s}
data_dir: %[2]q
builtin: false
log: {access: false}
providers:
  - {id: a, dialect: openai, base_url: %[3]s/chat, api_key: sk-a, models: [{id: p/chat, upstream_id: m, prices: {prompt: "0", completion: "0"}}]}
  - {id: b, dialect: responses, base_url: %[3]s/responses, api_key: sk-b, models: [{id: p/responses, upstream_id: m, prices: {prompt: "0", completion: "0"}}]}
  - {id: c, dialect: anthropic, base_url: %[3]s/messages, api_key: sk-c, models: [{id: p/messages, upstream_id: m, prices: {prompt: "0", completion: "0"}}]}
  - {id: d, dialect: gemini, base_url: %[3]s/gemini, api_key: sk-d, models: [{id: p/gemini, upstream_id: m, prices: {prompt: "0", completion: "0"}}]}
`

// said is what an answer says: its text, and its calls in the order in which they began.
type said struct {
	text  string
	calls []string // name and arguments
	ids   []string
}

func (s *said) call(id, name, arguments string) {
	var v any
	if err := json.Unmarshal([]byte(cmp.Or(arguments, "{}")), &v); err != nil {
		v = "no JSON: " + arguments
	}
	b, _ := json.Marshal(v)
	s.calls, s.ids = append(s.calls, name+string(b)), append(s.ids, id)
}

// TestInterleavedCalls streams calls in any order that a provider's wire allows: parallel, interleaved, with late names and missing arguments, and text
// between them. The official SDK of each style puts the same calls together.
func TestInterleavedCalls(t *testing.T) {
	t.Parallel()
	var scripts sync.Map
	named := regexp.MustCompile(`case-[a-z]+-\d+`)
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		script, ok := scripts.Load(named.FindString(string(body)))
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, script.(string))
	}))
	t.Cleanup(fake.Close)
	n := serveNode(t, interleaveConfig, fake.URL)
	clients := sdksOf(t, n)
	seed := cmp.Or(*interleaveSeed, rand.Uint64())
	end, tried := time.Now().Add(*interleaveFor), 0
	for i := uint64(0); i < 12 || time.Now().Before(end); i++ {
		for wire, write := range streamWriters {
			want, script := write(rand.New(rand.NewPCG(seed+i, 0)))
			prompt := fmt.Sprintf("case-%s-%d", wire, i)
			scripts.Store(prompt, script)
			for style, ask := range clients {
				got, err := ask("p/"+wire, prompt)
				tried++
				distinct := slices.Compact(slices.Sorted(slices.Values(got.ids)))
				if err != nil || got.text != want.text || !slices.Equal(got.calls, want.calls) || style != "gemini" && (len(distinct) != len(got.calls) || slices.Contains(distinct, "")) {
					t.Fatalf("-interleave-seed %d, %s to %s: %v\n%q %q %q, want\n%q %q\n%s", seed+i, style, wire, err, got.text, got.calls, got.ids, want.text, want.calls, script)
				}
			}
			scripts.Delete(prompt)
		}
	}
	t.Logf("%d streams from -interleave-seed %d", tried, seed)
}

// sdksOf are the official SDKs, each with its own way to put a stream together.
func sdksOf(t *testing.T, n *node) map[string]func(model, prompt string) (said, error) {
	t.Helper()
	open := openai.NewClient(option.WithBaseURL(n.url+"/v1/"), option.WithAPIKey(n.key), option.WithMaxRetries(0))
	d := &demo{BaseURL: n.url + "/v1", APIKey: n.key}
	claude := d.anthropic(t)
	google, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: n.key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: n.url}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func(model, prompt string) (said, error){
		"chat": func(model, prompt string) (out said, err error) {
			params := ask(model, prompt)
			for _, name := range toolNames {
				params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: name}))
			}
			s := open.Chat.Completions.NewStreaming(t.Context(), params)
			var whole openai.ChatCompletionAccumulator
			for s.Next() {
				if !whole.AddChunk(s.Current()) {
					return out, fmt.Errorf("the SDK does not take %s", s.Current().RawJSON())
				}
			}
			if len(whole.Choices) != 1 {
				return out, fmt.Errorf("%d choices, %w", len(whole.Choices), s.Err())
			}
			out.text = whole.Choices[0].Message.Content
			for _, c := range whole.Choices[0].Message.ToolCalls {
				out.call(c.ID, c.Function.Name, c.Function.Arguments)
			}
			return out, s.Err()
		},
		"responses": func(model, prompt string) (out said, err error) {
			params := inquire(model, prompt)
			for _, name := range toolNames {
				params.Tools = append(params.Tools, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{Name: name}})
			}
			s := open.Responses.NewStreaming(t.Context(), params)
			streamed := map[string]string{}
			var last responses.Response
			for s.Next() {
				e := s.Current()
				if e.Type == "response.function_call_arguments.delta" {
					streamed[e.ItemID] += e.Delta
				}
				last = e.Response
			}
			out.text = last.OutputText()
			for _, item := range last.Output {
				if item.Type == "function_call" {
					c := item.AsFunctionCall()
					if out.call(c.CallID, c.Name, c.Arguments); streamed[c.ID] != c.Arguments && (model != "p/responses" || streamed[c.ID] != "") { // what passes through may have none
						return out, fmt.Errorf("%q was streamed, %q is in the item", streamed[c.ID], c.Arguments)
					}
				}
			}
			return out, s.Err()
		},
		"messages": func(model, prompt string) (out said, err error) {
			params := say(model, prompt)
			for _, name := range toolNames {
				params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{Name: name}})
			}
			s := claude.Messages.NewStreaming(t.Context(), params)
			var m anthropic.Message
			for s.Next() {
				if err := m.Accumulate(s.Current()); err != nil {
					return out, err
				}
			}
			out.text = textOf(&m)
			for _, b := range m.Content {
				if b.Type == "tool_use" {
					out.call(b.ID, b.Name, string(b.Input))
				}
			}
			return out, s.Err()
		},
		"gemini": func(model, prompt string) (out said, err error) {
			var declared []*genai.FunctionDeclaration
			for _, name := range toolNames {
				declared = append(declared, &genai.FunctionDeclaration{Name: name})
			}
			parts, _, err := piecesOf(t.Context(), google, model, genai.Text(prompt), &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: declared}}})
			out.text = spokenBy(parts)
			var open *genai.FunctionCall // one that is streamed: Google's SDK leaves it to its user to put the arguments together
			for _, p := range parts {
				switch c := p.FunctionCall; {
				case c == nil:
				case open != nil && c.Name == "":
					placeAll(open.Args, c.PartialArgs)
					if c.WillContinue == nil || !*c.WillContinue {
						out.args(open)
						open = nil
					}
				case c.WillContinue != nil && *c.WillContinue:
					open = c
					open.Args = map[string]any{}
				default:
					out.args(c)
				}
			}
			return out, err
		},
	}
}

func (s *said) args(c *genai.FunctionCall) {
	b, _ := json.Marshal(c.Args)
	if c.Args == nil {
		b = nil
	}
	s.call(c.ID, c.Name, string(b))
}

// placeAll puts the pieces of streamed arguments into their places. All are members of the arguments themselves.
func placeAll(args map[string]any, pieces []*genai.PartialArg) {
	for _, p := range pieces {
		name := strings.TrimPrefix(p.JsonPath, "$.")
		switch {
		case p.NumberValue != nil:
			args[name] = *p.NumberValue
		case p.BoolValue != nil:
			args[name] = *p.BoolValue
		default:
			was, _ := args[name].(string)
			args[name] = was + p.StringValue
		}
	}
}

var toolNames = []string{"get_weather", "get_time", "buy", "look"}
