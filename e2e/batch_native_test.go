package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// The official SDKs run a batch over models of three providers, each of which answers its part as one batch at its price there. To the SDKs it
// looks like any batch.
func TestProvidersBatchesOfTheSDKs(t *testing.T) {
	t.Parallel()
	const each = 4
	s := startStudio(t)
	n := serveNode(t, nativeBatchConfig, s.sim)
	wires := []string{"openai", "anthropic", "gemini"}

	client := openai.NewClient(option.WithBaseURL(n.url+"/v1"), option.WithAPIKey(n.key))
	var lines strings.Builder
	for i := range each * len(wires) {
		fmt.Fprintf(&lines, `{"custom_id":"line-%d","method":"POST","url":"/v1/chat/completions","body":{"model":"acme/%s","max_tokens":20,"messages":[{"role":"user","content":"word %d"}]}}`+"\n", i, wires[i%len(wires)], i)
	}
	file, err := client.Files.New(t.Context(), openai.FileNewParams{File: openai.File(strings.NewReader(lines.String()), "requests.jsonl", "application/jsonl"), Purpose: openai.FilePurposeBatch})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := client.Batches.New(t.Context(), openai.BatchNewParams{InputFileID: file.ID, Endpoint: openai.BatchNewParamsEndpointV1ChatCompletions, CompletionWindow: openai.BatchNewParamsCompletionWindow24h})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		if batch, err = client.Batches.Get(t.Context(), batch.ID); err != nil {
			t.Fatal(err)
		}
		return batch.Status == openai.BatchStatusCompleted
	})
	content, err := client.Files.Content(t.Context(), batch.OutputFileID)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Body.Close()
	seen := map[string]bool{}
	for scan := bufio.NewScanner(content.Body); scan.Scan(); {
		var line struct {
			CustomID string `json:"custom_id"`
			Response struct {
				Body openai.ChatCompletion `json:"body"`
			}
		}
		if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(line.CustomID, "line-", "word ", 1); seen[line.CustomID] || len(line.Response.Body.Choices) != 1 || line.Response.Body.Choices[0].Message.Content != want {
			t.Errorf("%s", scan.Text())
		}
		seen[line.CustomID] = true
		wantBatchPrice(t, usageOf(t, []byte(line.Response.Body.RawJSON())))
	}
	if len(seen) != each*len(wires) {
		t.Errorf("%d results", len(seen))
	}

	claude := anthropic.NewClient(anthropicoption.WithBaseURL(n.url), anthropicoption.WithAPIKey(n.key))
	var requests []anthropic.MessageBatchNewParamsRequest
	for i := range each * len(wires) {
		requests = append(requests, anthropic.MessageBatchNewParamsRequest{CustomID: fmt.Sprint("id-", i), Params: anthropic.MessageBatchNewParamsRequestParams{
			Model: "acme/" + wires[i%len(wires)], MaxTokens: 20, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(fmt.Sprint("id-", i)))}}})
	}
	messages, err := claude.Messages.Batches.New(t.Context(), anthropic.MessageBatchNewParams{Requests: requests})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		if messages, err = claude.Messages.Batches.Get(t.Context(), messages.ID, anthropic.MessageBatchGetParams{}); err != nil {
			t.Fatal(err)
		}
		return messages.ProcessingStatus == anthropic.MessageBatchProcessingStatusEnded
	})
	answered := map[string]bool{}
	stream := claude.Messages.Batches.ResultsStreaming(t.Context(), messages.ID, anthropic.MessageBatchResultsParams{})
	for stream.Next() {
		one := stream.Current()
		if m := one.Result.Message; one.Result.Type != "succeeded" || answered[one.CustomID] || len(m.Content) != 1 || m.Content[0].Text != one.CustomID {
			t.Errorf("%s", one.RawJSON())
		}
		answered[one.CustomID] = true
	}
	if stream.Err() != nil || len(answered) != each*len(wires) {
		t.Errorf("%d results, %v", len(answered), stream.Err())
	}
	waitFor(t, func() bool { _, kept := s.batches(t); return kept == 0 })
	if made, _ := s.batches(t); made != 2*len(wires) {
		t.Errorf("the providers made %d batches, want %d", made, 2*len(wires))
	}
}

// wantBatchPrice checks a cost by the prices of nativeBatchConfig in batches.
func wantBatchPrice(t *testing.T, u usage) {
	t.Helper()
	cost, _ := new(big.Rat).SetString(u.Cost.String())
	if want := big.NewRat(u.Prompt*5+u.Completion*10, 1000); cost == nil || want.Sign() == 0 || cost.Cmp(want) != 0 {
		t.Errorf("%s for %d and %d tokens, want %s", u.Cost, u.Prompt, u.Completion, want.FloatString(9))
	}
}
