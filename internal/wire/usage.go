package wire

import (
	"strconv"

	"weir/internal/rawjson"
	"weir/internal/record"
	"weir/internal/relay"
	"weir/internal/usage"
)

// Tier is the service tier to report in an answer, "" when clients do not know the upstream's word.
func Tier(upstream string) string {
	switch upstream {
	case "default", "standard":
		return "default"
	case "flex", "priority":
		return upstream
	}
	return ""
}

// AppendCost appends the members cost, currency, is_byok, cost_details and, where there is something to say, cache_details of a usage object: exact rubles. upstream_inference_cost is
// null, because the provider's own figure is in dollars; the record of the call has it.
func AppendCost(b []byte, receipt *relay.Receipt) []byte {
	b = append(b, `"cost":`...)
	b = receipt.Cost.Append(b)
	b = strconv.AppendBool(append(b, `,"currency":"RUB","is_byok":`...), receipt.OwnKey)
	b = append(b, `,"cost_details":{"upstream_inference_cost":null,"upstream_inference_prompt_cost":`...)
	b = receipt.PromptCost.Append(b)
	b = append(b, `,"upstream_inference_completions_cost":`...)
	// the parts add up to the whole, although each is rounded for display
	completion := max(receipt.Cost-receipt.PromptCost, 0)
	b = completion.Append(b)
	b = receipt.PromptCost.Append(append(b, `,"upstream_inference_input_cost":`...)) // the names of the responses style
	b = completion.Append(append(b, `,"upstream_inference_output_cost":`...))
	return appendCache(append(b, '}'), receipt)
}

// appendCache appends the member cache_details: what the provider's cache has saved, and what was lost of it and why. Answers without either have none.
func appendCache(b []byte, r *relay.Receipt) []byte {
	if r.Cached == nil && r.Lost.Why == "" {
		return b
	}
	b = append(b, `,"cache_details":{"saved":`...)
	if r.Cached != nil {
		b = r.Cached.Append(b)
	} else {
		b = append(b, '0')
	}
	if l := &r.Lost; l.Why != "" {
		b = strconv.AppendInt(append(b, `,"lost":{"tokens":`...), l.Tokens, 10)
		b = l.Cost.Append(append(b, `,"cost":`...))
		b = append(append(append(b, `,"because":"`...), l.Why...), '"')
		switch l.Why {
		case record.LostPrefix:
			b = strconv.AppendInt(append(b, `,"message":`...), l.Message, 10)
		case record.LostEndpoint:
			b = rawjson.AppendText(append(b, `,"endpoint":`...), l.From)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// Figure is one named count of a usage object.
type Figure struct {
	Name     string
	Count    usage.Count
	Required bool // written as 0 when it was not reported, if there is an object at all
}

// AppendFigures appends an object of the counts that were reported, or nothing when none was.
func AppendFigures(b []byte, name string, figures []Figure) []byte {
	some := false
	for i := range figures {
		some = some || figures[i].Count.Reported
	}
	if !some {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":{`...)
	for i := range figures {
		f := &figures[i]
		if !f.Count.Reported && !f.Required {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, f.Name...)
		b = append(b, `":`...)
		b = strconv.AppendInt(b, max(f.Count.N, 0), 10)
	}
	return append(b, '}')
}
