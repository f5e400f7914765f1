package usagefile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/fault"
	"weir/internal/reconcile/usagefile"
)

func rowsOf(f *usagefile.File) string {
	var b strings.Builder
	for i := range f.Rows {
		r := &f.Rows[i]
		dollars := "-"
		if r.Dollars != nil {
			dollars = r.Dollars.FloatString(10)
		}
		fmt.Fprintf(&b, "%s | %s | %s | %s | %d | %d | %d | %s\n", r.Place, r.Day, r.Model, r.Call, r.Calls, r.Prompt, r.Completion, dollars)
	}
	return b.String()
}

// Each file has the shape that the provider documents, or that a public bug report shows.
func TestFilesOfProviders(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		format  string
		columns map[string]string
		want    string
	}{
		"openai-usage.json": {usagefile.OpenAIUsage, nil, `file.data[0].results[0] | 2024-11-01 | gpt-4o-2024-08-06 |  | 5 | 1000 | 500 | -
file.data[0].results[1] | 2024-11-01 | gpt-4o-mini-2024-07-18 |  | 2 | 30 | 12 | -
`},
		"openai-costs.json": {usagefile.OpenAICosts, nil, `file.data[0].results[0] | 2024-11-01 | gpt-4o-2024-08-06 |  | -1 | -1 | -1 | 0.0600000000
file.data[0].results[1] | 2024-11-01 | gpt-4o-2024-08-06 |  | -1 | -1 | -1 | 12.5000000000
file.data[0].results[2] | 2024-11-01 |  |  | -1 | -1 | -1 | 0.0000012000
`},
		"anthropic-usage.json": {usagefile.AnthropicUsage, nil, `file.data[0].results[0] | 2025-08-01 | claude-opus-4-20250514 |  | -1 | 3200 | 500 | -
`},
		"anthropic-costs.json": {usagefile.AnthropicCosts, nil, `file.data[0].results[0] | 2025-08-01 | claude-opus-4-20250514 |  | -1 | -1 | -1 | 1.2345000000
file.data[0].results[1] | 2025-08-01 |  |  | -1 | -1 | -1 | 0.0100000000
`},
		"openrouter-activity.json": {usagefile.OpenRouter, nil, `file.data[0] | 2025-08-24 | openai/gpt-4.1 |  | 5 | 50 | 125 | 0.0150000000
`},
		// Buckets of an hour, grouped by key; cached tokens are part of the input (github.com/vercel/ai/issues/8794).
		"openai-usage-hours.json": {usagefile.OpenAIUsage, nil, `file.data[0].results[0] | 2024-11-01 | gpt-5-nano-2025-08-07 |  | 1 | 2224 | 1415 | -
file.data[0].results[1] | 2024-11-01 | gpt-5-nano-2025-08-07 |  | 1 | 2224 | 1469 | -
`},
		// Cents, with zeros after the point (github.com/langwatch/langwatch/issues/6977).
		"anthropic-costs-cents.json": {usagefile.AnthropicCosts, nil, `file.data[0].results[0] | 2026-08-13 | claude-sonnet-4-20250514 |  | -1 | -1 | -1 | 412.8000000000
`},
		// The file of the Claude Console: four columns make up the prompt.
		"anthropic-console.csv": {usagefile.Table, nil, `line 2 | 2026-08-05 | claude-opus-5 |  | -1 | 62957 | 16932 | -
`},
		// The file of openrouter.ai/activity: a line for each generation, dated models.
		"openrouter-activity.csv": {usagefile.Table, nil, `line 2 | 2026-09-05 | openai/gpt-4.1-2025-04-14 | gen-1756000000-a1B2 | -1 | 2846 | 379 | 0.0142275000
`},
		"table.csv": {usagefile.Table, nil, `line 2 | 2026-11-25 | gpt-4o | answer-1 | -1 | 100 | 10 | 0.0000125000
line 3 | 2026-11-24 | gpt-4o | answer-2 | -1 | 200 | 20 | -
`},
		"columns.csv": {usagefile.Table, map[string]string{"date": "Created", "cost": "Amount, USD", "requests": "n"}, `line 2 | 2026-11-25 |  |  | 3 | -1 | -1 | 0.5000000000
`},
	} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		f, err := usagefile.Read(b, x.columns)
		if got := rowsOf(&f); err != nil || f.Format != x.format || got != x.want {
			t.Errorf("%s: %s %v\n%s\nwant\n%s", name, f.Format, err, got, x.want)
		}
	}
}

func TestRefusalsNameThePlace(t *testing.T) {
	t.Parallel()
	bucket := func(result string) string {
		return `{"data":[{"start_time":1730419200,"end_time":1730505600,"results":[` + result + `]}]}`
	}
	for text, place := range map[string]string{
		``:                   "line 1",
		`{}`:                 "file",
		`{"data":5}`:         "file.data",
		`{"data":[{"x":1}]}`: "file.data[0]",
		bucket(`{"model":"m","num_model_requests":-1,"input_tokens":1,"output_tokens":1}`):           "file.data[0].results[0].num_model_requests",
		bucket(`{"model":"m","num_model_requests":1,"input_tokens":1.5,"output_tokens":1}`):          "file.data[0].results[0].input_tokens",
		bucket(`{"model":"m","num_model_requests":1,"input_tokens":1}`):                              "file.data[0].results[0]",
		bucket(`{"model":7,"num_model_requests":1,"input_tokens":1,"output_tokens":1}`):              "file.data[0].results[0].model",
		bucket(`{"amount":{"value":"1e999","currency":"usd"}}`):                                      "file.data[0].results[0].amount.value",
		bucket(`{"amount":{"value":"1","currency":"eur"}}`):                                          "file.data[0].results[0].amount.currency",
		bucket(`{"amount":{"value":1,"currency":"usd"}},{"num_model_requests":1,"output_tokens":1}`): "file.data[0].results[1]",
		`{"data":[{"start_time":1730419200,"end_time":1731024000,"results":[]}]}`:                    "file.data[0]",
		`{"data":[{"starting_at":"yesterday","results":[]}]}`:                                        "file.data[0].starting_at",
		`{"data":[{"date":"2025-13-01","requests":1}]}`:                                              "file.data[0].date",
		`[{"data":[{"date":"2025-12-01","requests":1,"usage":"x"}]}]`:                                "pages[0].data[0].usage",
		"model,cost\na,1\n":                                                   "line 1",
		"date,model\n2026-11-25,a\n":                                          "line 1",
		"date,cost\n2026-11-25,1\nsoon,1\n":                                   "line 3",
		"date,cost\n2026-11-25,1,2\n":                                         "line 2",
		"date,cost\n2026-11-25,\"1\n":                                         "line 2",
		"date,cost\n2026-11-25,1.2.3\n":                                       "line 2",
		"date,prompt_tokens\n2026-11-25,many\n":                               "line 2",
		"date,cost\n" + strings.Repeat("2026-11-25,1\n", usagefile.MaxRows+1): fmt.Sprintf("line %d", usagefile.MaxRows+2),
	} {
		_, err := usagefile.Read([]byte(text), nil)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), place+": ") {
			t.Errorf("%.80s: %v, want %s", text, err, place)
		}
	}
	if _, err := usagefile.Read([]byte("date,cost\n"), map[string]string{"model": "Name"}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), `"Name"`) {
		t.Errorf("a column that is not there: %v", err)
	}
	if _, err := usagefile.Read(make([]byte, usagefile.MaxBytes+1), nil); !fault.Is(err, fault.PayloadTooLarge) {
		t.Errorf("a large file: %v", err)
	}
	if _, err := usagefile.Read([]byte(`{"data":[],"data":[]}`), nil); err == nil {
		t.Error("a name twice")
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := usagefile.Read(b, nil)
		if err != nil {
			return
		}
		for i := range file.Rows {
			r := &file.Rows[i]
			if r.Day == "" || r.Place == "" || r.Prompt < -1 || r.Completion < -1 || r.Calls < -1 {
				t.Errorf("%+v", r)
			}
		}
	})
}
