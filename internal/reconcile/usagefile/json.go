package usagefile

import (
	"strings"
	"time"

	"weir/internal/rawjson"
	"weir/internal/reconcile"
)

// reader reads pages of one format.
type reader struct{ File }

// readJSON reads a page as the provider's API answers it, or several in an array.
func readJSON(b []byte) (File, error) {
	if err := rawjson.Check(b, rawjson.Limits{Depth: 16, Values: 8_000_000}); err != nil {
		return File{}, err
	}
	var r reader
	if b[0] == '[' {
		err := value{b, "pages"}.elements(r.page)
		return r.File, err
	}
	return r.File, r.page(value{raw: b, place: "file"})
}

func (r *reader) page(p value) error {
	data := p.member("data")
	if data.absent() {
		return wrong(p.place, "there is no data: save the whole answer of the provider")
	}
	more := p.member("has_more")
	r.More = string(more.raw) == "true"
	return data.elements(func(e value) error {
		switch {
		case !e.member("start_time").absent():
			from, err := e.member("start_time").count()
			if err != nil {
				return err
			}
			to, err := e.member("end_time").count()
			if err != nil {
				return err
			}
			return r.bucket(e, time.Unix(from, 0), time.Unix(to, 0), r.openAI)
		case !e.member("starting_at").absent():
			from, err := moment(e.member("starting_at"))
			if err != nil {
				return err
			}
			to, err := moment(e.member("ending_at"))
			if err != nil {
				return err
			}
			return r.bucket(e, from, to, r.anthropic)
		case !e.member("requests").absent():
			return r.openRouter(e)
		}
		return wrong(e.place, "this is neither a bucket of OpenAI or Anthropic nor an activity of OpenRouter")
	})
}

func moment(v value) (time.Time, error) {
	text, err := v.text()
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, wrong(v.place, "a time such as 2026-11-25T00:00:00Z is expected")
	}
	return t, nil
}

// bucket reads the results of a length of time within one day of UTC.
func (r *reader) bucket(e value, from, to time.Time, read func(value, *reconcile.Row) error) error {
	day, ok := dayOf(from.UTC().Format(time.RFC3339))
	if !ok || !to.After(from) || to.After(from.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)) {
		return wrong(e.place, "a bucket must be within one day of UTC: export with buckets of a day or an hour")
	}
	return e.member("results").elements(func(result value) error {
		row := reconcile.Row{Place: result.place, Day: day, Figures: reconcile.Unreported()}
		var err error
		if row.Key, err = result.member("api_key_id").text(); err != nil {
			return err
		}
		if err := read(result, &row); err != nil {
			return err
		}
		return r.add(row)
	})
}

func (r *reader) add(row reconcile.Row) error {
	if len(r.Rows) >= MaxRows {
		return wrong(row.Place, "a file may have %d rows: export fewer days", MaxRows)
	}
	r.Rows = append(r.Rows, row)
	return nil
}

func (r *reader) is(f, service, place string) error {
	if r.Format != "" && r.Format != f {
		return wrong(place, "this is %s, while the file began with %s", f, r.Format)
	}
	r.Format, r.Service = f, service
	return nil
}

// tokens reads counts. input are the members that make up the prompt.
func tokens(v value, row *reconcile.Row, input []string, output string) (err error) {
	if v.member(output).absent() {
		return wrong(v.place, "%s is missing", output)
	}
	if row.Prompt, err = v.counted(input...); err != nil {
		return err
	}
	row.Completion, err = v.counted(output)
	return err
}

// openAI reads a result of usage or of costs. input_tokens contains cached tokens (API reference, "Completions usage object"), and the line item of a
// cost is the model and what of it: "gpt-4o-2024-08-06, input".
func (r *reader) openAI(v value, row *reconcile.Row) (err error) {
	if amount := v.member("amount"); !amount.absent() {
		if err = r.is(OpenAICosts, "openai", v.place); err != nil {
			return err
		}
		if err = dollarsOnly(amount.member("currency")); err != nil {
			return err
		}
		if row.Dollars, err = amount.member("value").amount(); err != nil {
			return err
		}
		item, err := v.member("line_item").text()
		if model, _, found := strings.Cut(item, ", "); found {
			row.Model = model
		}
		return err
	}
	if err = r.is(OpenAIUsage, "openai", v.place); err != nil {
		return err
	}
	if row.Model, err = v.member("model").text(); err != nil {
		return err
	}
	if row.Calls, err = v.member("num_model_requests").count(); err != nil {
		return err
	}
	return tokens(v, row, []string{"input_tokens"}, "output_tokens")
}

// anthropic reads a result of a usage or cost report. Cached tokens are beside the uncached ones, and an amount is in cents, as text ("123.45" is 1.23
// dollars; API reference, "Get Cost Report"). Calls are not counted.
func (r *reader) anthropic(v value, row *reconcile.Row) (err error) {
	if row.Model, err = v.member("model").text(); err != nil {
		return err
	}
	if amount := v.member("amount"); !amount.absent() {
		if err = r.is(AnthropicCosts, "anthropic", v.place); err != nil {
			return err
		}
		if err = dollarsOnly(v.member("currency")); err != nil {
			return err
		}
		cents, err := amount.amount()
		if err == nil {
			row.Dollars = dollarsOfCents(cents)
		}
		return err
	}
	if err = r.is(AnthropicUsage, "anthropic", v.place); err != nil {
		return err
	}
	return tokens(v, row, []string{
		"uncached_input_tokens", "cache_read_input_tokens", "cache_creation.ephemeral_5m_input_tokens", "cache_creation.ephemeral_1h_input_tokens",
	}, "output_tokens")
}

func dollarsOnly(currency value) error {
	text, err := currency.text()
	if err == nil && !strings.EqualFold(text, "usd") {
		err = wrong(currency.place, "only dollars (USD) can be compared")
	}
	return err
}

// openRouter reads an activity. usage is dollars of credits (API reference, "ActivityItem"); what was spent with keys of one's own is not among it.
func (r *reader) openRouter(v value) (err error) {
	if err = r.is(OpenRouter, "openrouter", v.place); err != nil {
		return err
	}
	row := reconcile.Row{Place: v.place, Figures: reconcile.Unreported()}
	date, err := v.member("date").text()
	if err != nil {
		return err
	}
	var ok bool
	if row.Day, ok = dayOf(date); !ok {
		return wrong(v.place+".date", "a day such as 2026-11-25 is expected")
	}
	if row.Model, err = v.member("model").text(); err != nil {
		return err
	}
	if row.Calls, err = v.member("requests").count(); err != nil {
		return err
	}
	if row.Dollars, err = v.member("usage").amount(); err != nil {
		return err
	}
	if err = tokens(v, &row, []string{"prompt_tokens"}, "completion_tokens"); err != nil {
		return err
	}
	return r.add(row)
}
