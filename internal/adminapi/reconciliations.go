package adminapi

import (
	"context"
	"encoding/base64"
	"maps"
	"math/big"
	"strconv"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/reconcile"
	"weir/internal/usertext"
)

const mostFileName = 200 // bytes

// UsageUpload is a file that a provider exported.
type UsageUpload struct {
	Name    string `json:"name" maxLength:"200"`
	Content string `json:"content"` // in base64
}

// UsageColumns are the names of the columns of a CSV file, where they are not found by themselves. Several with a plus between are added up; an empty text
// leaves a column out.
type UsageColumns struct {
	Date             *string `json:"date,omitempty" null:"none"`
	Model            *string `json:"model,omitempty" null:"none"`
	ID               *string `json:"id,omitempty" null:"none"`
	Key              *string `json:"key,omitempty" null:"none"`
	Requests         *string `json:"requests,omitempty" null:"none"`
	PromptTokens     *string `json:"prompt_tokens,omitempty" null:"none"`
	CompletionTokens *string `json:"completion_tokens,omitempty" null:"none"`
	Cost             *string `json:"cost,omitempty" null:"none"`
}

func (c *UsageColumns) chosen() map[string]string {
	out := map[string]string{}
	if c == nil {
		return out
	}
	for name, v := range map[string]*string{
		"date": c.Date, "model": c.Model, "id": c.ID, "key": c.Key, "requests": c.Requests, "prompt_tokens": c.PromptTokens, "completion_tokens": c.CompletionTokens, "cost": c.Cost,
	} {
		if v != nil {
			out[name] = *v
		}
	}
	return out
}

// UsageFiles are what a provider exported.
type UsageFiles struct {
	Files   []UsageUpload `json:"files"` // at most 4 files with 16 MiB together
	Columns *UsageColumns `json:"columns,omitempty" null:"none"`
}

type lookInput struct {
	UsageFiles
	Provider *string `json:"provider,omitempty" null:"none"` // id of the provider: our_keys says which of its keys are known
}

type reconcileInput struct {
	UsageFiles
	Provider  string             `json:"provider"`                        // id of the provider
	Keys      *[]string          `json:"keys,omitempty" null:"none"`      // only rows of these keys, as the file names them
	Ours      *map[string]string `json:"our_keys,omitempty" null:"none"`  // which of the gateway's keys those of the files are: tag or id of one of the provider's, "-" for a key of another program, "" for not known; it is remembered
	Tolerance *money.Nano        `json:"tolerance,omitempty" null:"none"` // dollars by which the cost of a call may differ, at most 1
}

func (in *UsageFiles) read() ([]reconcile.Upload, error) {
	const op = "adminapi.usageFiles"
	all := make([]reconcile.Upload, len(in.Files))
	for i, f := range in.Files {
		b, err := base64.StdEncoding.DecodeString(f.Content)
		if err != nil {
			return nil, fault.Field(op, "files", "content must be the file in base64.").Coded("usage_base64")
		}
		if f.Name == "" || len(f.Name) > mostFileName || !usertext.Is(f.Name) {
			return nil, fault.Field(op, "files", "The name of a file is one line of at most %d bytes.", mostFileName).Coded("usage_name", "most", mostFileName)
		}
		all[i] = reconcile.Upload{Name: f.Name, Content: b}
	}
	return all, nil
}

// UsageFile is a file as it was read.
type UsageFile struct {
	Name   string `json:"name"`
	Format string `json:"format" enum:"OpenAI usage,OpenAI costs,Anthropic usage,Anthropic costs,OpenRouter activity,CSV"`
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
	Rows   int    `json:"rows"`
}

// UsageLook is what a file is, before anything is compared.
type UsageLook struct {
	UsageFile
	Service *string           `json:"service" enum:"openai,anthropic,openrouter"` // whose export it is
	First   *string           `json:"first" format:"date"`
	Last    *string           `json:"last" format:"date"`
	Models  []string          `json:"models"`   // the first 100
	Keys    []string          `json:"keys"`     // the first 100, as the provider names them
	OurKeys map[string]string `json:"our_keys"` // which of the gateway's keys these are, by tag; "-" for a key of another program
	Header  []string          `json:"header"`   // names of the columns of a CSV file
	Columns map[string]string `json:"columns"`  // which of them are read as date, model, id, key, requests, prompt_tokens, completion_tokens and cost
	Wrong   *string           `json:"wrong"`    // why it cannot be read as it is
}

// UsageFigures are calls, tokens and cost. What is not reported is null.
type UsageFigures struct {
	Calls      *int64  `json:"calls"`
	Prompt     *int64  `json:"prompt_tokens"`
	Completion *int64  `json:"completion_tokens"`
	Dollars    *string `json:"dollars" format:"decimal"`
}

// UsageDelta is by how much the provider has more; below zero where the gateway has more.
type UsageDelta struct {
	Calls      int64   `json:"calls"`
	Prompt     int64   `json:"prompt_tokens"`
	Completion int64   `json:"completion_tokens"`
	Dollars    *string `json:"dollars" format:"decimal"` // null: one side has none
}

// UsageDifference is one thing on which a provider and the gateway do not agree.
type UsageDifference struct {
	Kind     string         `json:"kind" enum:"lost,extra,doubled,tokens,repriced,late,cost"`
	Day      string         `json:"day" format:"date"`
	Model    *string        `json:"model"`    // null: days are compared as a whole
	Key      *string        `json:"key"`      // tag of the provider's key; null: they are not compared by key
	Place    *string        `json:"place"`    // of the first row of the file that is part of it
	AnswerID *string        `json:"answer"`   // the provider's id, where calls are compared one by one
	Calls    int64          `json:"calls"`    // how many it is of; 0: that is not known
	Theirs   UsageFigures   `json:"theirs"`   // of that day and model, or of that call
	Ours     UsageFigures   `json:"ours"`     // likewise
	Delta    UsageDelta     `json:"delta"`    // because of it
	CallIDs  []string       `json:"call_ids"` // those behind it if they are known, else those of the day and model; at most 20
	More     int            `json:"more"`     // calls beyond these
	ID       string         `json:"id"`       // of the difference: the same in each comparison that finds it
	Decision *UsageDecision `json:"decision"` // null: it is open
}

// UsageDecision is what an operator decided on a difference.
type UsageDecision struct {
	Outcome string    `json:"outcome" enum:"loss,explained"` // the gateway bears it, or there is a reason
	Reason  string    `json:"reason"`
	Actor   string    `json:"actor"`
	At      time.Time `json:"at"`
}

// UsageGroup is what both sides have of a day and a model.
type UsageGroup struct {
	Day    string       `json:"day" format:"date"`
	Model  *string      `json:"model"` // null: days are compared as a whole
	Key    *string      `json:"key"`   // tag of the provider's key; null: they are not compared by key
	Theirs UsageFigures `json:"theirs"`
	Ours   UsageFigures `json:"ours"`
	Delta  UsageDelta   `json:"delta"`
}

// UsageSum is all differences of a kind.
type UsageSum struct {
	Kind        string     `json:"kind" enum:"lost,extra,doubled,tokens,repriced,late,cost"`
	Differences int        `json:"differences"`
	Calls       int64      `json:"calls"`
	Delta       UsageDelta `json:"delta"`
}

// Reconciliation is a comparison of a provider's files with the calls of the gateway.
type Reconciliation struct {
	ID       string       `json:"id"`
	Provider string       `json:"provider"`
	Actor    string       `json:"actor"`
	At       time.Time    `json:"at"`
	Files    []UsageFile  `json:"files"`
	Keys     *[]string    `json:"keys" nullable:"true"` // of the provider, when only these were compared
	First    string       `json:"first" format:"date"`  // days of UTC
	Last     string       `json:"last" format:"date"`
	By       string       `json:"by" enum:"call,model,day"` // what was compared with what
	ByKey    bool         `json:"by_key"`                   // and by the provider's key
	Rows     int          `json:"rows"`
	Calls    int          `json:"calls"` // of the gateway
	More     bool         `json:"more"`  // the provider says that further pages follow: their days are not compared
	Theirs   UsageFigures `json:"theirs"`
	Ours     UsageFigures `json:"ours"`
	Delta    UsageDelta   `json:"delta"`
	Sums     []UsageSum   `json:"sums"`
}

// ReconciliationDetail is a comparison with what it found.
type ReconciliationDetail struct {
	Reconciliation
	Open        int               `json:"open"`        // differences on which nothing is decided, without late calls
	Differences []UsageDifference `json:"differences"` // the largest 1,000, those first
	Groups      []UsageGroup      `json:"groups"`
}

func dollarText(n *big.Rat) *string {
	if n == nil {
		return nil
	}
	text := n.FloatString(12)
	text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	if text == "-0" {
		text = "0"
	}
	return &text
}

func usageFigures(f *reconcile.Figures) UsageFigures {
	known := func(n int64) *int64 {
		if n < 0 {
			return nil
		}
		return &n
	}
	return UsageFigures{known(f.Calls), known(f.Prompt), known(f.Completion), dollarText(f.Dollars)}
}

func usageDelta(d reconcile.Delta) UsageDelta {
	return UsageDelta{d.Calls, d.Prompt, d.Completion, dollarText(d.Dollars)}
}

func usageFile(f *reconcile.KeptFile) UsageFile {
	return UsageFile{f.Name, f.Format, f.Sum, f.Bytes, f.Rows}
}

func reconciliationOf(k *reconcile.Kept) Reconciliation {
	r := &k.Result
	out := Reconciliation{
		ID: k.ID, Provider: k.Provider, Actor: k.Actor, At: k.At, Files: make([]UsageFile, len(k.Files)), First: r.First, Last: r.Last, By: "day", ByKey: r.ByKey, Rows: r.Rows, Calls: r.Calls,
		More: k.More, Theirs: usageFigures(&r.Theirs), Ours: usageFigures(&r.Ours), Delta: usageDelta(reconcile.DeltaBetween(&r.Theirs, &r.Ours)), Sums: make([]UsageSum, len(r.Sums)),
	}
	switch {
	case r.ByCall:
		out.By = "call"
	case r.ByModel:
		out.By = "model"
	}
	for i := range k.Files {
		out.Files[i] = usageFile(&k.Files[i])
	}
	if k.Keys != nil {
		out.Keys = &k.Keys
	}
	for i, s := range r.Sums {
		out.Sums[i] = UsageSum{string(s.Kind), s.Differences, s.Calls, usageDelta(s.Delta)}
	}
	return out
}

func reconciliationDetail(k *reconcile.Kept) ReconciliationDetail {
	r := &k.Result
	out := ReconciliationDetail{Reconciliation: reconciliationOf(k), Open: r.Open(), Differences: make([]UsageDifference, len(r.Differences)), Groups: make([]UsageGroup, len(r.Groups))}
	for i := range r.Differences {
		d := &r.Differences[i]
		out.Differences[i] = UsageDifference{
			Kind: string(d.Kind), Day: d.Day, Model: accountapi.OrNull(d.Model), Key: accountapi.OrNull(d.Key), ID: d.Mark, Place: accountapi.OrNull(d.Place), AnswerID: accountapi.OrNull(d.Answer), Calls: d.N,
			Theirs: usageFigures(&d.Theirs), Ours: usageFigures(&d.Ours), Delta: usageDelta(d.Delta), CallIDs: append([]string{}, d.Calls...), More: d.More,
		}
		if s := d.Settled; s != nil {
			out.Differences[i].Decision = &UsageDecision{string(s.Outcome), s.Reason, s.Actor, s.At}
		}
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		out.Groups[i] = UsageGroup{g.Day, accountapi.OrNull(g.Model), accountapi.OrNull(g.Key), usageFigures(&g.Theirs), usageFigures(&g.Ours), usageDelta(reconcile.DeltaBetween(&g.Theirs, &g.Ours))}
	}
	return out
}

type differenceID struct {
	ID         string `json:"-" path:"id"`         // of the reconciliation
	Difference string `json:"-" path:"difference"` // id of the difference
}

type decisionInput struct {
	ID         string `json:"-" path:"id"`         // of the reconciliation
	Difference string `json:"-" path:"difference"` // id of the difference
	Outcome    string `json:"outcome" enum:"loss,explained"`
	Reason     string `json:"reason" maxLength:"500"` // one line
}

type reconciliationID struct {
	ID string `json:"-" path:"id"` // of the reconciliation
}

// usageBody is the size of a request with files in base64.
const usageBody = reconcile.MaxBytes*4/3 + 64<<10

type reconcileOperations struct{ m *reconcile.Manager }

func (o reconcileOperations) look(ctx context.Context, _ *operation.Call, in *lookInput) (out operation.Data[[]UsageLook], err error) {
	files, err := in.read()
	if err != nil {
		return out, err
	}
	provider := ""
	if in.Provider != nil {
		provider = *in.Provider
	}
	all, err := o.m.Look(ctx, provider, files, in.Columns.chosen())
	if err != nil {
		return out, err
	}
	out.Data = make([]UsageLook, len(all))
	for i := range all {
		l := &all[i]
		out.Data[i] = UsageLook{
			UsageFile: usageFile(&l.KeptFile), Service: accountapi.OrNull(l.Service), First: accountapi.OrNull(l.First), Last: accountapi.OrNull(l.Last), Wrong: accountapi.OrNull(l.Wrong),
			Models: append([]string{}, l.Models...), Keys: append([]string{}, l.Keys...), OurKeys: map[string]string{}, Header: append([]string{}, l.Header...), Columns: map[string]string{},
		}
		maps.Copy(out.Data[i].Columns, l.Chosen)
		maps.Copy(out.Data[i].OurKeys, l.Ours)
	}
	return out, nil
}

func (o reconcileOperations) make(ctx context.Context, c *operation.Call, in *reconcileInput) (out operation.Data[ReconciliationDetail], err error) {
	const op = "adminapi.reconcile"
	files, err := in.read()
	if err != nil {
		return out, err
	}
	order := reconcile.Order{Provider: in.Provider, Files: files, Columns: in.Columns.chosen(), Actor: c.Actor}
	if in.Keys != nil {
		order.Keys = *in.Keys
	}
	if in.Ours != nil {
		order.Ours = *in.Ours
	}
	if in.Tolerance != nil {
		if order.Tolerance = *in.Tolerance; order.Tolerance < 0 || order.Tolerance > money.Ruble {
			return out, fault.Field(op, "tolerance", "tolerance must be dollars from 0 to 1, such as 0.000001.").Coded("usage_tolerance")
		}
	}
	if order.Provider == "" {
		return out, fault.Field(op, "provider", "Say whose bill this is.").Coded("usage_provider")
	}
	k, err := o.m.Make(ctx, order)
	if e := fault.From(err); err != nil && e.Kind == fault.Invalid && e.Param == "" {
		here := *e
		here.Param = "files"
		return out, &here
	}
	if err != nil {
		return out, err
	}
	out.Data = reconciliationDetail(&k)
	return out, nil
}

func (o reconcileOperations) settle(ctx context.Context, c *operation.Call, in *decisionInput) (out operation.Data[UsageDifference], err error) {
	k, err := o.m.ByID(ctx, in.ID)
	if err != nil {
		return out, err
	}
	if err = o.m.Settle(ctx, k.Provider, &k.Result, in.Difference, reconcile.Outcome(in.Outcome), in.Reason, c.Actor); err != nil {
		return out, err
	}
	for _, d := range reconciliationDetail(&k).Differences {
		if d.ID == in.Difference {
			out.Data = d
		}
	}
	return out, nil
}

func (o reconcileOperations) reopen(ctx context.Context, c *operation.Call, in *differenceID) (operation.Deleted, error) {
	k, err := o.m.ByID(ctx, in.ID)
	if err != nil {
		return operation.Deleted{}, err
	}
	return operation.Deleted{}, o.m.Reopen(ctx, k.Provider, &k.Result, in.Difference, c.Actor)
}

func (o reconcileOperations) file(ctx context.Context, _ *operation.Call, in *reconciliationID) (out operation.File, err error) {
	k, err := o.m.ByID(ctx, in.ID)
	if err != nil {
		return out, err
	}
	d := reconciliationDetail(&k)
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	count := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	name := "weir-reconciliation-" + k.Provider + "-" + k.Result.First + "-" + k.Result.Last + ".csv"
	return accountapi.Table(name, func(row func(...string) bool) error {
		row("kind", "day", "model", "calls", "dollars", "prompt_tokens", "completion_tokens", "their_calls", "their_prompt_tokens", "their_completion_tokens", "their_dollars",
			"our_calls", "our_prompt_tokens", "our_completion_tokens", "our_dollars", "place", "answer", "call_ids", "more", "key", "id", "outcome", "reason")
		for i := range d.Differences {
			x := &d.Differences[i]
			var decided UsageDecision
			if x.Decision != nil {
				decided = *x.Decision
			}
			if !row(x.Kind, x.Day, text(x.Model), strconv.FormatInt(x.Calls, 10), text(x.Delta.Dollars), strconv.FormatInt(x.Delta.Prompt, 10), strconv.FormatInt(x.Delta.Completion, 10),
				count(x.Theirs.Calls), count(x.Theirs.Prompt), count(x.Theirs.Completion), text(x.Theirs.Dollars), count(x.Ours.Calls), count(x.Ours.Prompt), count(x.Ours.Completion),
				text(x.Ours.Dollars), text(x.Place), text(x.AnswerID), strings.Join(x.CallIDs, " "), strconv.Itoa(x.More), text(x.Key), x.ID, decided.Outcome, decided.Reason) {
				break
			}
		}
		return nil
	}), nil
}

func reconciliations(m *reconcile.Manager) []operation.Operation {
	o := reconcileOperations{m}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/reconciliations", ID: "listReconciliations", Access: operation.Operating, Tag: "administration",
			Summary: "Comparisons with the bills of providers, the newest first; for operators", Answer: "One page",
		}, func(ctx context.Context, _ *operation.Call, in *accountapi.PageOf) (accountapi.List[Reconciliation], error) {
			return accountapi.Paged(ctx, *in, m.Store.Reconciliations, func(k *reconcile.Kept) (Reconciliation, string) { return reconciliationOf(k), k.ID })
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/reconciliations/look", ID: "lookAtUsage", Access: operation.Operating, Body: usageBody, Tag: "administration",
			Summary: "Say what files of a provider are, and which columns of a CSV file are read; for operators", Answer: "What each file is", Description: "Nothing is compared or kept.",
			Example: `{"files": [{"name": "usage.csv", "content": "ZGF0ZSxtb2RlbCxjb3N0CjIwMjYtMTEtMjUsZ3B0LTRvLDEuMgo="}]}`,
		}, o.look),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/reconciliations", ID: "reconcile", Access: operation.Operating, Status: 201, Body: usageBody, Tag: "administration",
			Summary: "Compare what a provider exported with the calls of the gateway; for operators", Answer: "What was found, which is kept",
			Description: "Files are usage and costs of OpenAI and Anthropic as their APIs answer, the activity of OpenRouter, or CSV. Costs that come without calls and tokens are given together with the usage of the same days. " +
				"Days are those of UTC and must be over. The result is kept, and the files are not.",
			Example: `{"provider": "openai", "files": [{"name": "usage.csv", "content": "ZGF0ZSxtb2RlbCxjb3N0CjIwOTktMTItMzEsZ3B0LTRvLDEuMgo="}]}`,
		}, o.make),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/reconciliations/{id}", ID: "getReconciliation", Access: operation.Operating, Tag: "administration",
			Summary: "A comparison and what it found; for operators", Answer: "The comparison",
		}, func(ctx context.Context, _ *operation.Call, in *reconciliationID) (out operation.Data[ReconciliationDetail], err error) {
			k, err := m.ByID(ctx, in.ID)
			if err == nil {
				out.Data = reconciliationDetail(&k)
			}
			return out, err
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/reconciliations/{id}/file", ID: "getReconciliationFile", Access: operation.Operating, Media: "text/csv", Tag: "administration",
			Summary: "The differences of a comparison as a file; for operators", Answer: "The differences, the largest first",
		}, o.file),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/admin/reconciliations/{id}/differences/{difference}", ID: "settleDifference", Access: operation.Operating, Tag: "administration",
			Summary: "Decide on a difference: the gateway bears it, or there is a reason; for operators", Answer: "The difference", Example: `{"outcome": "loss", "reason": "The provider gives nothing back"}`,
			Description: "No money moves. Each comparison that finds the same difference shows the decision; one that has grown is another one. What an account was charged wrongly is given back with POST /api/admin/refunds.",
		}, o.settle),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/reconciliations/{id}/differences/{difference}", ID: "reopenDifference", Access: operation.Operating, Tag: "administration",
			Summary: "Take the decision on a difference back; for operators", Answer: "It is open again",
		}, o.reopen),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/reconciliations/{id}", ID: "deleteReconciliation", Access: operation.Operating, Tag: "administration",
			Summary: "Delete a comparison; for operators", Answer: "It is deleted",
		}, func(ctx context.Context, c *operation.Call, in *reconciliationID) (operation.Deleted, error) {
			return operation.Deleted{}, m.Delete(ctx, in.ID, c.Actor)
		}),
	}
}
