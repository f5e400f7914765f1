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
	if b.Counts.Completed != lines || b.Counts.Failed != 0 {
		t.Fatalf("the batch: %+v", b)
	}
	_, content, _ := n.call("GET", "/v1/files/"+b.Output+"/content", "")
	seen, sum := map[string]int{}, new(big.Rat)
	for text := range strings.Lines(string(content)) {
		var line struct {
			CustomID string `json:"custom_id"`
			Response struct {
				Body struct {
					Choices []struct{ Message struct{ Content string } }
					Usage   struct{ Cost json.Number }
				}
			}
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		seen[line.CustomID]++
		if want := strings.Replace(line.CustomID, "line-", "word ", 1); line.Response.Body.Choices[0].Message.Content != want {
			t.Errorf("%s is answered by %q", line.CustomID, line.Response.Body.Choices[0].Message.Content)
		}
		cost, _ := new(big.Rat).SetString(line.Response.Body.Usage.Cost.String())
		sum.Add(sum, cost)
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
		if of, _ := new(big.Rat).SetString(amount.String()); of == nil || of.Sign() == 0 || of.Cmp(sum) != 0 {
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
