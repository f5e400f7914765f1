package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

const nativeBatchConfig = `
server: {listen: %[1]q, admin_listen: "off", shutdown_delay: 0s}
data_dir: %[2]q
builtin: false
log: {access: false}
batch: {min_free_bytes: 1, lost_after: 100ms}
providers:
  - id: oa
    base_url: %[3]s/v1
    api_key: sk-oa
    models:
      - {id: acme/openai, upstream_id: echo, prices: {prompt: "10", completion: "20"}}
      - {id: acme/openai, upstream_id: echo, tier: batch, prices: {prompt: "5", completion: "10"}}
  - id: an
    dialect: anthropic
    base_url: %[3]s/anthropic
    api_key: sk-an
    models:
      - {id: acme/anthropic, upstream_id: echo, prices: {prompt: "10", completion: "20"}}
      - {id: acme/anthropic, upstream_id: echo, tier: batch, prices: {prompt: "5", completion: "10"}}
  - id: ge
    dialect: gemini
    base_url: %[3]s/v1beta
    api_key: AIza-ge
    models:
      - {id: acme/gemini, upstream_id: echo, prices: {prompt: "10", completion: "20"}}
      - {id: acme/gemini, upstream_id: echo, tier: batch, prices: {prompt: "5", completion: "10"}}
`

// batches returns how many batches the provider has made, and how many files and batches with content it keeps.
func (s *studio) batches(t *testing.T) (made, kept int) {
	t.Helper()
	var stats struct{ Batches struct{ Made, Kept int } }
	if err := json.Unmarshal(fetched(t, s.sim+"/sim/stats"), &stats); err != nil {
		t.Fatal(err)
	}
	return stats.Batches.Made, stats.Batches.Kept
}

// moment is a point of a batch at a provider: requests is a regular expression for method, space and path.
type moment struct{ requests, when string }

const (
	uploads    = `^POST /v1/files$`
	openAIs    = `^POST /v1/batches$`
	openAIPoll = `^GET /v1/batches/[^/]+$`
	openAIRead = `^GET /v1/files/[^/]+/content$`

	anthropics    = `^POST /anthropic/v1/messages/batches$`
	anthropicPoll = `^GET /anthropic/v1/messages/batches/[^/]+$`
	anthropicRead = `^GET /anthropic/v1/messages/batches/[^/]+/results$`

	geminis    = `^POST /v1beta/models/echo:batchGenerateContent$`
	geminiRead = `^GET /v1beta/batches/[^/]+$` // progress and results are in one answer
)

// The gateway is killed at each step of a batch that a provider runs. After a restart there is one batch at the provider, or none and its
// requests are made one by one; each line is answered once, and costs what it costs where it was answered. Nothing is left at the provider.
func TestProvidersBatchSurvivesKills(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, wire string
		native     bool // the provider's batch answers
		moments    []moment
	}{
		{"before the file is there", "openai", false, []moment{{uploads, "before"}}},
		{"before the id of the file is known", "openai", false, []moment{{uploads, "after"}}},
		{"before the provider has it", "openai", false, []moment{{openAIs, "before"}}},
		{"before its id is known", "openai", true, []moment{{openAIs, "after"}}},
		{"before it is asked for progress", "openai", true, []moment{{openAIPoll, "before"}}},
		{"before its progress is known", "openai", true, []moment{{openAIPoll, "after"}}},
		{"before its results are read", "openai", true, []moment{{openAIRead, "before"}}},
		{"when half of its results are read", "openai", true, []moment{{openAIRead, "half"}}},
		{"when its results are read", "openai", true, []moment{{openAIRead, "whole"}}},
		{"at all steps after it was sent", "openai", true, []moment{{openAIs, "after"}, {openAIPoll, "before"}, {openAIPoll, "after"}, {openAIRead, "half"}, {openAIRead, "half"}, {openAIRead, "whole"}}},

		{"before the provider has it", "anthropic", false, []moment{{anthropics, "before"}}},
		{"before its id is known", "anthropic", true, []moment{{anthropics, "after"}}},
		{"before it is asked for progress", "anthropic", true, []moment{{anthropicPoll, "before"}}},
		{"before its progress is known", "anthropic", true, []moment{{anthropicPoll, "after"}}},
		{"before its results are read", "anthropic", true, []moment{{anthropicRead, "before"}}},
		{"when half of its results are read", "anthropic", true, []moment{{anthropicRead, "half"}}},
		{"when its results are read", "anthropic", true, []moment{{anthropicRead, "whole"}}},
		{"at all steps after it was sent", "anthropic", true, []moment{{anthropics, "after"}, {anthropicPoll, "before"}, {anthropicPoll, "after"}, {anthropicRead, "half"}, {anthropicRead, "half"}, {anthropicRead, "whole"}}},

		{"before the provider has it", "gemini", false, []moment{{geminis, "before"}}},
		{"before its id is known", "gemini", true, []moment{{geminis, "after"}}},
		{"before it is asked for progress", "gemini", true, []moment{{geminiRead, "before"}}},
		{"before its progress is known", "gemini", true, []moment{{geminiRead, "after"}}},
		{"when half of its results are read", "gemini", true, []moment{{geminiRead, "half"}}},
		{"when its results are read", "gemini", true, []moment{{geminiRead, "whole"}}},
		{"at all steps after it was sent", "gemini", true, []moment{{geminis, "after"}, {geminiRead, "before"}, {geminiRead, "half"}, {geminiRead, "half"}, {geminiRead, "whole"}}},
	} {
		t.Run(c.wire+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			const lines = 30
			s := startStudio(t)
			n := serveNode(t, nativeBatchConfig, s.gate.URL)
			file := strings.NewReplacer(`"sim/echo"`, `"acme/`+c.wire+`","max_tokens":50`).Replace(batchFile(lines))
			request := fmt.Sprintf(`{"input_file_id":%q,"endpoint":"/v1/chat/completions","completion_window":"24h"}`, n.upload(file))
			reached := s.at(c.moments[0].requests, c.moments[0].when)
			b := n.batch("POST", "/v1/batches", request)
			for i := range c.moments {
				select {
				case <-reached:
				case <-time.After(3 * time.Minute):
					t.Fatalf("the moment %v did not come\n%s", c.moments[i], n.log.String())
				}
				n.kill()
				if i+1 < len(c.moments) {
					reached = s.at(c.moments[i+1].requests, c.moments[i+1].when)
				}
				n.start()
			}
			n.wait("the end of the batch", func() bool { b = n.batch("GET", "/v1/batches/"+b.ID, ""); return b.Status == "completed" })
			n.wait("nothing to be left at the provider", func() bool { _, kept := s.batches(t); return kept == 0 })
			prompt, completion, made := int64(10), int64(20), 0
			if c.native {
				prompt, completion, made = 5, 10, 1
			}
			n.wantBatch(b, lines, prompt, completion)
			if got, _ := s.batches(t); got != made {
				t.Errorf("the provider made %d batches, want %d\n%s", got, made, n.log.String())
			}
		})
	}
}
