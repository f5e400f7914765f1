package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
)

func batchFile(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, `{"custom_id":"line-%d","method":"POST","url":"/v1/chat/completions","body":{"model":"sim/echo","messages":[{"role":"user","content":"word %d"}]}}`+"\n", i, i)
	}
	return b.String()
}

// waitFor asks until done says so.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it does not end")
		}
	}
}

// The official SDK uploads a file, runs it as a batch, and reads the results.
func TestBatchOfTheSDK(t *testing.T) {
	t.Parallel()
	d := ownDemo(t)
	client := d.client(t)
	file, err := client.Files.New(t.Context(), openai.FileNewParams{File: openai.File(strings.NewReader(batchFile(30)), "requests.jsonl", "application/jsonl"), Purpose: openai.FilePurposeBatch})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := client.Batches.New(t.Context(), openai.BatchNewParams{InputFileID: file.ID, Endpoint: openai.BatchNewParamsEndpointV1ChatCompletions, CompletionWindow: openai.BatchNewParamsCompletionWindow24h,
		Metadata: map[string]string{"purpose": "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if batch.Status != openai.BatchStatusValidating || batch.Metadata["purpose"] != "test" {
		t.Errorf("a new batch: %s", batch.RawJSON())
	}
	waitFor(t, func() bool {
		if batch, err = client.Batches.Get(t.Context(), batch.ID); err != nil {
			t.Fatal(err)
		}
		return batch.Status == openai.BatchStatusCompleted
	})
	if batch.RequestCounts.Completed != 30 || batch.RequestCounts.Failed != 0 || batch.Usage.OutputTokens == 0 || batch.ErrorFileID != "" {
		t.Errorf("the batch: %s", batch.RawJSON())
	}
	content, err := client.Files.Content(t.Context(), batch.OutputFileID)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Body.Close()
	seen := map[string]bool{}
	for lines := bufio.NewScanner(content.Body); lines.Scan(); {
		var line struct {
			CustomID string `json:"custom_id"`
			Response struct {
				StatusCode int                   `json:"status_code"`
				Body       openai.ChatCompletion `json:"body"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(line.CustomID, "line-", "word ", 1); line.Response.StatusCode != 200 || line.Response.Body.Choices[0].Message.Content != want || seen[line.CustomID] {
			t.Errorf("%s", lines.Text())
		}
		seen[line.CustomID] = true
	}
	if len(seen) != 30 {
		t.Errorf("%d results", len(seen))
	}
	page := client.Batches.ListAutoPaging(t.Context(), openai.BatchListParams{Limit: openai.Int(1)})
	if !page.Next() || page.Current().ID != batch.ID || page.Next() || page.Err() != nil {
		t.Errorf("the list: %v", page.Err())
	}
	if _, err := client.Batches.Cancel(t.Context(), batch.ID); err == nil {
		t.Error("a batch that has ended is cancelled")
	}
	if gone, err := client.Files.Delete(t.Context(), file.ID); err != nil || !gone.Deleted {
		t.Errorf("%v, %v", gone, err)
	}
	if _, err := client.Files.Get(t.Context(), file.ID); err == nil {
		t.Error("a deleted file is there")
	}
}

// The official SDK of the messages style makes a batch and reads its results.
func TestMessageBatchOfTheSDK(t *testing.T) {
	t.Parallel()
	client := ownDemo(t).anthropic(t)
	var requests []anthropic.MessageBatchNewParamsRequest
	for i := range 5 {
		requests = append(requests, anthropic.MessageBatchNewParamsRequest{CustomID: fmt.Sprint("id-", i), Params: anthropic.MessageBatchNewParamsRequestParams{
			Model: "sim/chat-anthropic", MaxTokens: 50, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hello"))}}})
	}
	requests[4].Params.Model = "sim/none"
	batch, err := client.Messages.Batches.New(t.Context(), anthropic.MessageBatchNewParams{Requests: requests})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		if batch, err = client.Messages.Batches.Get(t.Context(), batch.ID, anthropic.MessageBatchGetParams{}); err != nil {
			t.Fatal(err)
		}
		return batch.ProcessingStatus == anthropic.MessageBatchProcessingStatusEnded
	})
	if c := batch.RequestCounts; c.Succeeded != 4 || c.Errored != 1 || c.Processing != 0 {
		t.Errorf("the batch: %s", batch.RawJSON())
	}
	kinds := map[string]int{}
	stream := client.Messages.Batches.ResultsStreaming(t.Context(), batch.ID, anthropic.MessageBatchResultsParams{})
	for stream.Next() {
		one := stream.Current()
		kinds[one.Result.Type]++
		switch result := one.Result.AsAny().(type) {
		case anthropic.MessageBatchSucceededResult:
			if result.Message.Content[0].Text == "" || result.Message.Usage.OutputTokens == 0 {
				t.Errorf("%s", one.RawJSON())
			}
		case anthropic.MessageBatchErroredResult:
			if one.CustomID != "id-4" || result.Error.Error.Type != "not_found_error" {
				t.Errorf("%s", one.RawJSON())
			}
		}
	}
	if stream.Err() != nil || kinds["succeeded"] != 4 || kinds["errored"] != 1 {
		t.Errorf("%v, %v", kinds, stream.Err())
	}
	if _, err := client.Messages.Batches.Delete(t.Context(), batch.ID, anthropic.MessageBatchDeleteParams{}); err != nil {
		t.Error(err)
	}
	if _, err := client.Messages.Batches.Get(t.Context(), batch.ID, anthropic.MessageBatchGetParams{}); err == nil {
		t.Error("a deleted batch is there")
	}
}
