package completion

import (
	"math"

	"weir/internal/catalog"
)

// Budgets of reasoning, in tokens.
const (
	minBudget  = 1024
	maxBudget  = 128_000
	defaultCap = 32_768 // cap of an answer when neither the client nor the endpoint has one
)

// efforts are the levels of effort and the part of the answer cap that each allows for reasoning, highest first.
var efforts = [...]struct {
	name  string
	share float64
}{{"xhigh", 0.95}, {"high", 0.8}, {"medium", 0.5}, {"low", 0.2}, {"minimal", 0.1}}

// Off reports whether the client switched reasoning off.
func (r *Reasoning) Off() bool { return r.Disabled || r.Effort == "none" }

// AnswerCap returns the cap in tokens from which reasoning budgets are computed: the client's cap, else the endpoint's, else a default.
func (r *Request) AnswerCap(endpoint int64) int64 {
	switch {
	case r.MaxTokens > 0:
		return r.MaxTokens
	case endpoint > 0:
		return endpoint
	}
	return defaultCap
}

// EffortOf returns the requested effort, for models that accept only an effort: "none" to "xhigh", or "max" where the client wrote it.
// A budget becomes the effort whose part of answerCap is nearest. It is "" when the client left it to the model.
func (r *Reasoning) EffortOf(answerCap int64) string {
	switch {
	case r.Off():
		return "none"
	case r.Effort != "":
		return r.Effort
	case r.MaxTokens > 0:
		share := float64(r.MaxTokens) / float64(answerCap)
		best := efforts[0]
		for _, f := range efforts[1:] {
			if math.Abs(f.share-share) < math.Abs(best.share-share) {
				best = f
			}
		}
		return best.name
	case r.Enabled:
		return "medium"
	}
	return ""
}

// EffortFor is EffortOf in a word that a model takes. still reports that the client switched reasoning off, which the model cannot: the word
// is then the model's least, or "".
func (r *Reasoning) EffortFor(f *catalog.Facts, answerCap int64) (word string, still bool) {
	if word = r.EffortOf(answerCap); word == "" {
		return "", false
	}
	fit := f.Effort(word)
	return fit, word == "none" && fit != "none"
}

// BudgetFor is BudgetOf within the range that a model has. Where the client left the budget to the gateway, it stays below the cap that the
// client set on the answer, if the model's range allows that.
func (r *Reasoning) BudgetFor(f *catalog.Facts, req *Request, endpointCap int64) int64 {
	budget := r.BudgetOf(req.AnswerCap(endpointCap))
	if budget == 0 {
		return 0
	}
	if r.MaxTokens == 0 && req.MaxTokens > 0 && budget >= req.MaxTokens && f.BudgetLeast > 0 {
		budget = req.MaxTokens / 2
	}
	return f.Budget(budget)
}

// NoticeForced says that reasoning was left out, because a call of a tool is required.
const NoticeForced = "Reasoning was left out, because the provider does not support it together with a required tool call."

// NoticeStill says that a model reasons although the client switched that off.
const NoticeStill = "Reasoning is set to its least, because this model cannot be asked without."

// BudgetOf returns the reasoning budget in tokens, for models that accept only a budget; 0 when the client left it to the model.
func (r *Reasoning) BudgetOf(answerCap int64) int64 {
	budget := r.MaxTokens
	if budget == 0 {
		effort := r.Effort
		switch {
		case effort == "max":
			effort = "xhigh"
		case effort == "" && r.Enabled:
			effort = "medium"
		}
		for _, f := range efforts {
			if f.name == effort {
				budget = int64(float64(answerCap) * f.share)
			}
		}
	}
	if budget == 0 {
		return 0
	}
	return min(max(budget, minBudget), maxBudget)
}
