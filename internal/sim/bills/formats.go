package bills

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

var writers = map[string]func([]line) []byte{
	"openai-usage": openAIUsage, "openai-costs": openAICosts, "anthropic-usage": anthropicUsage, "anthropic-costs": anthropicCosts,
	"openrouter": openRouter, "openrouter-csv": openRouterCSV, "anthropic-csv": anthropicCSV, "csv": plainCSV,
}

// sum is what one day, model and key has.
type sum struct {
	day, model, key                                  string
	calls, prompt, completion, cached, written, hour int64
	nanos                                            int64
}

// sums adds lines up. They are in order.
func sums(lines []line) (all []sum) {
	for i := range lines {
		l := &lines[i]
		if n := len(all); n == 0 || all[n-1].day != l.day || all[n-1].model != l.Model || all[n-1].key != l.Key {
			all = append(all, sum{day: l.day, model: l.Model, key: l.Key})
		}
		s := &all[len(all)-1]
		s.calls++
		s.prompt += l.prompt
		s.completion += l.completion
		s.cached += int64(l.Usage.Cached)
		s.written += int64(l.Usage.Written)
		s.hour += int64(l.Usage.WrittenHour)
		s.nanos += l.nanos
	}
	return all
}

// days are the sums of each day, as buckets. A day without calls between has a bucket without results, as providers write it.
func days(all []sum, result func(*sum) string, bucket func(day time.Time, results string) string) []byte {
	var parts []string
	for len(all) > 0 {
		day, err := time.Parse(time.DateOnly, all[0].day)
		if err != nil {
			return nil
		}
		n := slices.IndexFunc(all, func(s sum) bool { return s.day != all[0].day })
		if n < 0 {
			n = len(all)
		}
		var results []string
		for i := range all[:n] {
			results = append(results, result(&all[i]))
		}
		parts = append(parts, bucket(day, strings.Join(results, ",")))
		if all = all[n:]; len(all) > 0 {
			if next := day.AddDate(0, 0, 1); next.Format(time.DateOnly) != all[0].day {
				parts = append(parts, bucket(next, ""))
			}
		}
	}
	return []byte(`{"object":"page","data":[` + strings.Join(parts, ",") + `],"has_more":false,"next_page":null}`)
}

func openAIBucket(day time.Time, results string) string {
	return fmt.Sprintf(`{"object":"bucket","start_time":%d,"end_time":%d,"results":[%s]}`, day.Unix(), day.AddDate(0, 0, 1).Unix(), results)
}

// shortKey names a key as an id would, without the key.
func shortKey(key string) string {
	if len(key) < 4 {
		return "key_none"
	}
	return "key_" + key[len(key)-4:]
}

// openAIUsage is GET /v1/organization/usage/completions. Cached tokens are part of the input, and models have their dates.
func openAIUsage(lines []line) []byte {
	return days(sums(lines), func(s *sum) string {
		return fmt.Sprintf(`{"object":"organization.usage.completions.result","input_tokens":%d,"output_tokens":%d,"input_cached_tokens":%d,"input_audio_tokens":0,"output_audio_tokens":0,"num_model_requests":%d,"project_id":null,"user_id":null,"api_key_id":%s,"model":%s,"batch":null,"service_tier":null}`,
			s.prompt, s.completion, s.cached, s.calls, text(shortKey(s.key)), text(s.model+"-2026-01-15"))
	}, openAIBucket)
}

// openAICosts is GET /v1/organization/costs by line item: a line for the input and one for the output, in dollars. One of them is a text.
func openAICosts(lines []line) []byte {
	return days(sums(lines), func(s *sum) string {
		half := s.nanos / 2
		item := func(what string, value string) string {
			return fmt.Sprintf(`{"object":"organization.costs.result","amount":{"value":%s,"currency":"usd"},"line_item":%s,"project_id":null,"organization_id":"org-sim"}`, value, text(s.model+"-2026-01-15, "+what))
		}
		return item("input", decimal(half, 9)) + "," + item("output", text(decimal(s.nanos-half, 9)))
	}, openAIBucket)
}

func anthropicBucket(day time.Time, results string) string {
	return fmt.Sprintf(`{"starting_at":%q,"ending_at":%q,"results":[%s]}`, day.Format(time.RFC3339), day.AddDate(0, 0, 1).Format(time.RFC3339), results)
}

// anthropicUsage is GET /v1/organizations/usage_report/messages. Cached tokens stand beside the others, and calls are not counted.
func anthropicUsage(lines []line) []byte {
	return days(sums(lines), func(s *sum) string {
		return fmt.Sprintf(`{"uncached_input_tokens":%d,"cache_creation":{"ephemeral_1h_input_tokens":%d,"ephemeral_5m_input_tokens":%d},"cache_read_input_tokens":%d,"output_tokens":%d,"server_tool_use":{"web_search_requests":0},"api_key_id":%s,"workspace_id":null,"model":%s,"service_tier":"standard","context_window":"0-200k"}`,
			s.prompt-s.cached-s.written-s.hour, s.hour, s.written, s.cached, s.completion, text(shortKey(s.key)), text(s.model+"-20260115"))
	}, anthropicBucket)
}

// anthropicCosts is GET /v1/organizations/cost_report: cents, as text.
func anthropicCosts(lines []line) []byte {
	return days(sums(lines), func(s *sum) string {
		return fmt.Sprintf(`{"currency":"USD","amount":%s,"workspace_id":null,"description":"Usage","cost_type":"tokens","context_window":"0-200k","model":%s,"service_tier":"standard","token_type":"output_tokens"}`,
			text(decimal(s.nanos, 7)), text(s.model+"-20260115"))
	}, anthropicBucket)
}

// openRouter is GET /api/v1/activity.
func openRouter(lines []line) []byte {
	var parts []string
	for _, s := range sums(lines) {
		parts = append(parts, fmt.Sprintf(`{"date":%q,"model":%s,"model_permaslug":%s,"endpoint_id":"550e8400-e29b-41d4-a716-446655440000","provider_name":"Sim","usage":%s,"byok_usage_inference":0,"requests":%d,"prompt_tokens":%d,"completion_tokens":%d,"reasoning_tokens":0}`,
			s.day, text(s.model), text(s.model+"-2026-01-15"), decimal(s.nanos, 9), s.calls, s.prompt, s.completion))
	}
	return []byte(`{"data":[` + strings.Join(parts, ",") + `]}`)
}

func table(header string, lines []line, row func(*line) []string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(strings.Split(header, ",")) //nolint:errcheck // a buffer takes all
	for i := range lines {
		w.Write(row(&lines[i])) //nolint:errcheck // likewise
	}
	w.Flush()
	return b.Bytes()
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// openRouterCSV is the file of openrouter.ai/activity: a line for each generation.
func openRouterCSV(lines []line) []byte {
	return table("generation_id,created_at,cost_total,cost_web_search,cost_cache,cost_file_processing,byok_usage_inference,tokens_prompt,tokens_completion,tokens_reasoning,tokens_cached,model_permaslug,provider_name,variant,cancelled,streamed,user,finish_reason_raw,finish_reason_normalized,generation_time_ms,time_to_first_token_ms,api_key_disabled,api_key_name,app_name",
		lines, func(l *line) []string {
			return []string{l.ID, l.Began.UTC().Format("2006-01-02 15:04:05.000"), decimal(l.nanos, 9), "0", "0", "0", "0", number(l.prompt), number(l.completion), "0", number(int64(l.Usage.Cached)),
				l.Model + "-2026-01-15", "Sim", "standard", "false", "true", "", "stop", "stop", "100", "10", "false", shortKey(l.Key), "weir"}
		})
}

// anthropicCSV is the usage of the Claude Console as a file: tokens by day, model and key.
func anthropicCSV(lines []line) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(strings.Split("usage_date_utc,model_version,api_key,workspace,usage_type,context_window,usage_input_tokens_no_cache,usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens,web_search_count,inference_geo,speed", ",")) //nolint:errcheck // a buffer takes all
	for _, s := range sums(lines) {
		w.Write([]string{s.day, s.model + "-20260115", shortKey(s.key), "Default", "standard", "≤ 200k", number(s.prompt - s.cached - s.written - s.hour), number(s.written), number(s.hour), number(s.cached), number(s.completion), "0", "global", ""}) //nolint:errcheck // likewise
	}
	w.Flush()
	return b.Bytes()
}

// plainCSV has columns of its own names, which must be chosen, and numbers of calls.
func plainCSV(lines []line) []byte {
	return table("When,What,Number,In,Out,Amount", lines, func(l *line) []string {
		return []string{l.day + "T10:00:00Z", l.Model, l.ID, number(l.prompt), number(l.completion), "$" + decimal(l.nanos, 9)}
	})
}

func text(s string) string { return string(kit.AppendText(nil, s)) }

// decimal writes a number with so many digits after the point.
func decimal(n int64, places int) string {
	digits := fmt.Sprintf("%0*d", places+1, n)
	return digits[:len(digits)-places] + "." + digits[len(digits)-places:]
}
