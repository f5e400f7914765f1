package report

import (
	"strconv"

	"weir/internal/record"
	"weir/internal/sheet"
	"weir/internal/usage"
)

// CallHeads are the heads of a table of calls, whose rows AppendCall writes.
func CallHeads() []string {
	return []string{"id", "created_at_utc", "kind", "model", "model_asked", "provider", "key", "user", "status", "result", "stream", "finish_reason", "prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens",
		"first_token_ms", "duration_ms", "estimated", "cost_rub"}
}

// AppendCall writes the cells of a call; key is what names its key.
func AppendCall(s *sheet.Sheet, c *record.Call, key string) {
	s.Text(c.Generation)
	s.Moment(c.At)
	s.Texts(c.API, c.Model, c.ModelAsked, c.Provider, key, c.User)
	s.Int(int64(c.Status))
	s.Texts(c.Result(), strconv.FormatBool(c.Streamed), c.Finish)
	for _, n := range []int64{c.Usage.Prompt.N, c.Usage.CacheRead.N, c.Usage.Completion.N, c.Usage.Reasoning.N} {
		s.Int(n)
	}
	if c.FirstContent > 0 {
		s.Int(c.FirstContent.Milliseconds())
	} else {
		s.Text("")
	}
	s.Int(c.Duration.Milliseconds())
	s.Text(strconv.FormatBool(c.Usage.Source&usage.Estimated != 0))
	s.Amount(c.Cost)
}
