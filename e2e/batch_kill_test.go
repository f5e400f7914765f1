package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

const batchConfig = `
server: {listen: %[1]q, admin_listen: "off", shutdown_delay: 0s}
data_dir: %[2]q
builtin: false
log: {access: false}
batch: {min_free_bytes: 1}
providers:
  - id: words
    base_url: %[3]s/v1
    api_key: sk-words
    models: [{id: sim/echo, upstream_id: echo, prices: {prompt: "1", completion: "2"}}]
`

type batchState struct {
	ID, Status string
	Output     string                                 `json:"output_file_id"`
	Counts     struct{ Total, Completed, Failed int } `json:"request_counts"`
	Usage      struct{ Cost json.Number }
}

func (n *node) upload(text string) string {
	n.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("purpose", "batch")
	part, err := w.CreateFormFile("file", "requests.jsonl")
	if err != nil {
		n.t.Fatal(err)
	}
	_, _ = part.Write([]byte(text))
	_ = w.Close()
	status, body, ok := n.call("POST", "/v1/files", form.String(), "Content-Type", w.FormDataContentType())
	var file struct{ ID string }
	if err := json.Unmarshal(body, &file); err != nil || !ok || status != http.StatusOK {
		n.t.Fatalf("%d: %s", status, body)
	}
	return file.ID
}

func (n *node) batch(method, path, body string, header ...string) (b batchState) {
	n.t.Helper()
	status, got, ok := n.call(method, path, body, header...)
	if err := json.Unmarshal(got, &b); err != nil || !ok || status != http.StatusOK {
		n.t.Fatalf("%d, %v: %s", status, err, got)
	}
	return b
}

// A gateway that is killed again and again while it runs a batch charges each line once, and answers each line once.
func TestBatchSurvivesKills(t *testing.T) {
	t.Parallel()
	const lines, kills = 400, 8
	n := serveNode(t, batchConfig, startStudio(t).sim)
	request := fmt.Sprintf(`{"input_file_id":%q,"endpoint":"/v1/chat/completions","completion_window":"24h"}`, n.upload(batchFile(lines)))
	b := n.batch("POST", "/v1/batches", request, "Idempotency-Key", "one")
	for i := range kills {
		n.wait("some lines", func() bool {
			b = n.batch("GET", "/v1/batches/"+b.ID, "")
			return b.Counts.Completed >= i*lines/kills || b.Status == "completed"
		})
		n.kill()
		n.start()
	}
	if again := n.batch("POST", "/v1/batches", request, "Idempotency-Key", "one"); again.ID != b.ID {
		t.Errorf("the same key made %s and %s", b.ID, again.ID)
	}
	n.wait("the end of the batch", func() bool { b = n.batch("GET", "/v1/batches/"+b.ID, ""); return b.Status == "completed" })
	n.wantBatch(b, lines, 1, 2)
}

// wantBatch checks that each line has one result and costs its tokens, at prices in rubles for a thousand, that this is what was charged, that
// nothing is held, and that the ledger is balanced. It kills the node.
func (n *node) wantBatch(b batchState, lines int, prompt, completion int64) {
	t := n.t
	t.Helper()
	if b.Counts.Completed != lines || b.Counts.Failed != 0 {
		t.Fatalf("the batch: %+v\n%s", b, n.log.String())
	}
	status, content, _ := n.call("GET", "/v1/files/"+b.Output+"/content", "")
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, content)
	}
	seen, sum := map[string]int{}, new(big.Rat)
	for text := range strings.Lines(string(content)) {
		var line struct {
			CustomID string `json:"custom_id"`
			Response struct {
				Body struct {
					Choices []struct{ Message struct{ Content string } }
					Usage   struct {
						Prompt     int64 `json:"prompt_tokens"`
						Completion int64 `json:"completion_tokens"`
						Cost       json.Number
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		seen[line.CustomID]++
		body := &line.Response.Body
		if want := strings.Replace(line.CustomID, "line-", "word ", 1); len(body.Choices) != 1 || body.Choices[0].Message.Content != want {
			t.Errorf("%s is answered by %s", line.CustomID, text)
		}
		cost, _ := new(big.Rat).SetString(body.Usage.Cost.String())
		want := big.NewRat(body.Usage.Prompt*prompt+body.Usage.Completion*completion, 1000)
		if cost == nil || want.Sign() == 0 || cost.Cmp(want) != 0 {
			t.Errorf("%s costs %s for %d and %d tokens, want %s", line.CustomID, body.Usage.Cost, body.Usage.Prompt, body.Usage.Completion, want.FloatString(9))
		}
		sum.Add(sum, want)
	}
	for i := range lines {
		if n := seen[fmt.Sprint("line-", i)]; n != 1 {
			t.Errorf("line %d has %d results", i, n)
		}
	}
	var credits struct {
		Data struct {
			Usage    json.Number `json:"total_usage"`
			Reserved json.Number
		}
	}
	_, got, _ := n.call("GET", "/v1/credits", "")
	if err := json.Unmarshal(got, &credits); err != nil {
		t.Fatal(err)
	}
	for what, amount := range map[string]json.Number{"charged": credits.Data.Usage, "the cost of the batch": b.Usage.Cost} {
		if of, _ := new(big.Rat).SetString(amount.String()); of == nil || of.Cmp(sum) != 0 {
			t.Errorf("%s: %s, and the lines cost %s", what, amount, sum.FloatString(9))
		}
	}
	if credits.Data.Reserved != "0" {
		t.Errorf("%s are held", credits.Data.Reserved)
	}
	n.kill()
	if said, err := weir(t, "ledger", "verify", "-c", n.config); err != nil {
		t.Errorf("ledger verify: %v\n%s", err, said)
	}
}
