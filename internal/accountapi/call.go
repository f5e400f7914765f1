package accountapi

import (
	"context"
	"strconv"
	"strings"
	"time"

	"weir/internal/agent"
	"weir/internal/explain"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/rawjson"
	"weir/internal/record"
	"weir/internal/wire/responses"
)

// Call is the record of one call: why it was routed as it was, and how each number of its charge came about.
type Call struct {
	ID           string                `json:"id"`
	RequestID    string                `json:"request_id"`
	CreatedAt    time.Time             `json:"created_at"`
	User         string                `json:"user"`
	Key          *string               `json:"key"` // id of the key
	API          string                `json:"api"`
	Kind         string                `json:"kind"`   // the same as api
	Status       int                   `json:"status"` // HTTP status of the answer
	Result       string                `json:"result"` // one of ok, canceled and the values of error_type
	ModelAsked   string                `json:"model_asked"`
	Preset       *CallPreset           `json:"preset"`
	Model        *string               `json:"model"`
	Provider     *string               `json:"provider"`
	ProviderName *string               `json:"provider_name"`
	Endpoint     *string               `json:"endpoint"`
	UpstreamID   *string               `json:"upstream_id"`
	OwnKey       *string               `json:"own_key"` // id of the own key of its provider that the call was answered with; null: the gateway's
	Stream       bool                  `json:"stream"`
	Canceled     bool                  `json:"canceled"`
	Settled      bool                  `json:"settled"`
	Error        *string               `json:"error"`
	Finish       *string               `json:"finish_reason"`
	NativeFinish *string               `json:"native_finish_reason"`
	Notice       *string               `json:"notice"` // parts of the request that were not sent to the provider that served
	Cost         money.Nano            `json:"cost"`
	FirstToken   int64                 `json:"first_token_ms"`
	Generating   int64                 `json:"generating_ms"`
	Duration     int64                 `json:"duration_ms"`
	Session      *string               `json:"session_id"`
	Reported     *SessionReport        `json:"session_report"` // what the program has said of the session; null: nothing
	ClientUser   *string               `json:"client_user"`
	Tags         []string              `json:"tags"`   // as name=value, or a name alone
	Member       *string               `json:"member"` // id of the person, or of the service, of an organization for whom the key works
	Team         *string               `json:"team"`   // id of that person's team at the time of the call
	UserAgent    *string               `json:"user_agent"`
	Referer      *string               `json:"http_referer"`
	Title        *string               `json:"title"`
	Metadata     operation.Raw         `json:"metadata" schema:"CallMembers"`
	Parameters   operation.Raw         `json:"parameters" schema:"CallMembers"` // settings of the request as it named them: numbers, booleans and names, such as temperature, max_tokens or provider.sort; never a text, a tool or a schema
	KeyHash      *string               `json:"key_hash"`
	KeyName      *string               `json:"key_name"`
	Plan         explain.Plan          `json:"plan"`
	Attempts     []explain.MadeAttempt `json:"attempts"`
	Usage        CallUsage             `json:"usage"`
	Price        explain.PriceBasis    `json:"price"`
	Hold         CallHold              `json:"hold"`
	CountsIn     []CallFund            `json:"counts_in"` // budgets, and keys from which its key comes, in which the charge counts
	Entries      []int64               `json:"entries"`
	Refunds      []Movement            `json:"refunds"`
	StoredText   bool                  `json:"stored_text"`
}

// SessionReport is what a coding agent counts of a session and reports by itself. It is not checked, and has no part in any charge.
type SessionReport struct {
	Client        *string   `json:"client"` // name and version of the program
	FirstAt       time.Time `json:"first_at"`
	LastAt        time.Time `json:"last_at"`
	EditsAccepted int64     `json:"edits_accepted"` // uses of tools that edit files
	EditsRejected int64     `json:"edits_rejected"`
	ToolsAccepted int64     `json:"tools_accepted"` // uses of all tools
	ToolsRejected int64     `json:"tools_rejected"`
	LinesAdded    int64     `json:"lines_added"`
	LinesRemoved  int64     `json:"lines_removed"`
	Commits       int64     `json:"commits"`
	PullRequests  int64     `json:"pull_requests"`
	UserMS        int64     `json:"user_ms"`    // the person was active
	ProgramMS     int64     `json:"program_ms"` // the program worked
}

// ReportsOfAgents finds what programs have reported. *agent.Collector is one.
type ReportsOfAgents interface {
	// ReportOf finds the report of a session of a user. It fails with fault.NotFound.
	ReportOf(ctx context.Context, user, session string) (agent.Report, error)
}

// reportOf is what was reported of a session, nil nothing.
func reportOf(ctx context.Context, d Deps, user, session string) (*SessionReport, error) {
	if d.AgentReports == nil || session == "" {
		return nil, nil
	}
	r, err := d.AgentReports.ReportOf(ctx, user, session)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	n := &r.Sums
	return &SessionReport{
		Client: OrNull(r.Client), FirstAt: r.FirstAt, LastAt: r.LastAt, EditsAccepted: n[agent.EditsAccepted], EditsRejected: n[agent.EditsRejected], ToolsAccepted: n[agent.ToolsAccepted],
		ToolsRejected: n[agent.ToolsRejected], LinesAdded: n[agent.LinesAdded], LinesRemoved: n[agent.LinesRemoved], Commits: n[agent.Commits], PullRequests: n[agent.PullRequests],
		UserMS: n[agent.ActiveUser], ProgramMS: n[agent.ActiveProgram],
	}, err
}

// CallPreset is the preset that a request used.
type CallPreset struct {
	Name    string `json:"name"`
	Version int64  `json:"version"`
}

// CallFund is one interval of a budget or of a key in which a charge counts.
type CallFund struct {
	ID     string  `json:"id"`     // of the budget or key
	Period string  `json:"period"` // total, day, week or month
	From   *string `json:"from"`   // first day of the interval, by the account's clock; null of a total
	Held   bool    `json:"held"`   // it was held there before; else it only counts
}

// fundsOf are the funds of a call.
func fundsOf(c *record.Call) []CallFund {
	list := make([]CallFund, len(c.Funds))
	for i := range c.Funds {
		f := &c.Funds[i]
		list[i] = CallFund{ID: f.ID, Period: f.Kind, Held: f.Lease != 0}
		if f.Kind != ledger.PeriodTotal {
			from := time.Unix(f.Start, 0).UTC().Format(time.DateOnly)
			list[i].From = &from
		}
	}
	return list
}

// CallUsage is what a call used, and how its charge came about.
type CallUsage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	ReasoningTokens  int64 `json:"reasoning_tokens"`
	explain.Charge
	Source       string `json:"source" enum:"reported,estimated,capped,low"`
	UpstreamCost string `json:"upstream_cost_usd,omitempty"` // the cost that the provider reported, in dollars, unchanged
}

// CallHold is what was on hold for a call.
type CallHold struct {
	Amount   money.Nano `json:"amount"`
	Released money.Nano `json:"released"`
}

// CallText is what the model of a call was given.
type CallText struct {
	ID           string          `json:"id"`          // of the call
	ResponseID   string          `json:"response_id"` // of the stored response: GET and DELETE /v1/responses/{id}
	Instructions operation.Raw   `json:"instructions" schema:"GivenInstructions"`
	Tools        operation.Raw   `json:"tools" schema:"GivenTools"`
	Text         operation.Raw   `json:"text" schema:"GivenFormat"`
	Whole        bool            `json:"whole"`                           // false where an earlier response of the conversation was deleted or has expired
	Input        []operation.Raw `json:"input" schema:"ResponseItemList"` // all that the model was given, the oldest first: the conversation before the call, with its answers, and the input of the call
}

type callID struct {
	ID string `json:"-" path:"id"` // generation id
}

// mostCallText bounds what the text of one call has: of its response, with its answer, and of the conversation before it.
const mostCallText = 4 << 20

// responsesStyle is the API of calls in the responses style, in their records.
const responsesStyle = "responses"

// recordedWithin is how soon a call's record is there after its end, for the longest calls.
const recordedWithin = 10 * time.Minute

// notRecorded is the error for a call without a record. Whether the record may still come follows from the time in the id alone: the answer
// reveals nothing about calls of other accounts.
func notRecorded(id string, now time.Time) error {
	e := fault.New(fault.NotFound, "accountapi.getCall", "There is no such call.")
	rest, ours := strings.CutPrefix(id, "gen-")
	seconds, _, _ := strings.Cut(rest, "-")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if age := now.Sub(time.Unix(n, 0)); ours && err == nil && age > -time.Minute && age < recordedWithin {
		e.Public = "There is no record of such a call yet. A call is recorded when it has ended."
		e.Details = map[string]any{"recording": true}
		e.RetryAfter = time.Second
	}
	return e
}

// recorded is the record of a call of a wallet ("" any wallet), with its entries in the ledger.
func recorded(ctx context.Context, d Deps, wallet, id string, now time.Time) (*record.Call, []ledger.Entry, error) {
	r, entries, err := d.Books.Call(ctx, wallet, id)
	if fault.Is(err, fault.NotFound) {
		err = notRecorded(id, now)
	}
	return r, entries, err
}

// seesCall fails as for a call that does not exist, for one of an organization that the caller does not see.
func (d Deps) seesCall(ctx context.Context, c *operation.Call, r *record.Call) error {
	sees, err := d.Keys.Sees(ctx, c.Caller, r.Key)
	if err == nil && !sees {
		err = notRecorded(r.Generation, c.At)
	}
	return err
}

func getCall(ctx context.Context, d Deps, c *operation.Call, in *callID) (out operation.Data[Call], err error) {
	r, one, err := d.OneCall(ctx, c.Wallet, in.ID, c.At)
	if err == nil {
		err = d.seesCall(ctx, c, r)
	}
	if err != nil {
		return out, err
	}
	out.Data = one
	if r.API == responsesStyle {
		if out.Data.StoredText, err = d.History.Has(ctx, c.User, responses.CallID(r.Generation)); err != nil {
			return out, err
		}
	}
	if r.Key != "" {
		names, err := namesOfKeys(ctx, d.Keys, c.User)
		if err != nil {
			return out, err
		}
		if k := names[r.Key]; k != nil {
			out.Data.KeyHash, out.Data.KeyName = &k.Hash, &k.Name
		}
	}
	return out, nil
}

// OneCall finds a call of a wallet ("" any wallet), with its entries and refunds, and without the name of its key.
func (d Deps) OneCall(ctx context.Context, wallet, id string, now time.Time) (r *record.Call, out Call, err error) {
	r, entries, err := recorded(ctx, d, wallet, id, now)
	if err != nil {
		return nil, out, err
	}
	refunds, err := d.Books.Refunds(ctx, wallet, id)
	out = callOf(r)
	if err == nil {
		out.Reported, err = reportOf(ctx, d, r.User, r.Session)
	}
	for i := range entries {
		out.Entries = append(out.Entries, entries[i].ID)
	}
	for i := range refunds {
		out.Refunds = append(out.Refunds, MovementOf(&refunds[i]))
	}
	return r, out, err
}

// callOf is what the record of a call says by itself.
func callOf(c *record.Call) Call {
	u := &c.Usage
	out := Call{
		ID: c.Generation, RequestID: c.Request, CreatedAt: c.At, User: c.User, Key: OrNull(c.Key), API: c.API, Kind: c.API, Status: c.Status, Result: c.Result(), ModelAsked: c.ModelAsked,
		Model: OrNull(c.Model), Provider: OrNull(c.Provider), ProviderName: OrNull(c.ProviderName), Endpoint: OrNull(c.Endpoint), UpstreamID: OrNull(c.UpstreamID), OwnKey: OrNull(c.OwnKey),
		Stream: c.Streamed, Canceled: c.Cancelled, Settled: c.Settled, Error: OrNull(c.Error), Finish: OrNull(c.Finish), NativeFinish: OrNull(c.NativeFinish), Notice: OrNull(c.Notice),
		Cost: c.Cost, FirstToken: c.FirstContent.Milliseconds(), Generating: c.Generating.Milliseconds(), Duration: c.Duration.Milliseconds(), Session: OrNull(c.Session),
		ClientUser: OrNull(c.ClientUser), Tags: append([]string{}, c.Tags...), Member: OrNull(c.Member), Team: OrNull(c.Team), UserAgent: OrNull(c.UserAgent), Referer: OrNull(c.Referer), Title: OrNull(c.Title), Metadata: rawOrNull(c.Metadata), Parameters: rawOrNull(c.Parameters),
		Plan: explain.PlanOf(c), Attempts: explain.AttemptsOf(c), Price: explain.BasisOf(c), Hold: CallHold{Amount: c.Hold, Released: max(0, c.Hold-c.Cost)}, CountsIn: fundsOf(c),
		Usage: CallUsage{
			PromptTokens: u.Prompt.N, CompletionTokens: u.Completion.N, ReasoningTokens: u.Reasoning.N, Charge: explain.ChargeOf(c), Source: u.Source.String(), UpstreamCost: u.UpstreamCost,
		},
	}
	if c.Preset != "" {
		out.Preset = &CallPreset{Name: c.Preset, Version: c.PresetVersion}
	}
	return out
}

// rawOrNull is JSON as it is, null for "".
func rawOrNull(text string) operation.Raw {
	if text == "" {
		return nil
	}
	return operation.Raw(text)
}

// getCallText shows what the model of a call was given, where that is stored. Calls of others and calls that do not exist have the answer of getCall.
func getCallText(ctx context.Context, d Deps, c *operation.Call, in *callID) (out operation.Data[CallText], err error) {
	r, _, err := recorded(ctx, d, c.Wallet, in.ID, c.At)
	if err == nil {
		err = d.seesCall(ctx, c, r)
	}
	if err != nil {
		return out, err
	}
	if r.API != responsesStyle {
		return out, fault.New(fault.NotFound, "accountapi.getCallText", "The text of this call is not stored: only that of calls in the responses style can be.")
	}
	chain, err := d.History.Text(ctx, c.User, responses.CallID(r.Generation), mostCallText)
	if err != nil {
		return out, err
	}
	n := 0
	for i := range chain {
		n += chain[i].Size()
	}
	if err := c.Charge(2 * int64(n)); err != nil { // with its copy in the answer
		return out, err
	}
	c.NoStore()
	out.Data = textOf(r.Generation, chain)
	return out, nil
}

// textOf is what the last response of a conversation was asked with. Tools and instructions hold for one request, so those of earlier ones are left
// out.
func textOf(call string, chain []history.Response) CallText {
	last := &chain[len(chain)-1]
	out := CallText{ID: call, ResponseID: last.ID, Whole: chain[0].Parent == ""}
	for name, to := range map[string]*operation.Raw{"instructions": &out.Instructions, "tools": &out.Tools, "text": &out.Text} {
		if v := rawjson.Find(last.Object, name); !rawjson.IsNull(v) {
			*to = v
		}
	}
	for i := range chain {
		r := &chain[i]
		for _, v := range responses.Listed(r.ID, r.Input) {
			out.Input = append(out.Input, v)
		}
		if r == last {
			break
		}
		for _, v := range responses.Split(r.Output) {
			out.Input = append(out.Input, v)
		}
	}
	return out
}

func calls(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/calls/{id}", ID: "getCall", Org: operation.Workers, Access: operation.AnyKey, Tag: "account", Answer: "The record",
			Summary: "Explain one call: its routing, its usage, and the calculation of its charge",
			Description: "A call that has just ended may not be recorded yet: then the 404 has error.metadata.recording true and Retry-After. It says nothing else: calls of others and " +
				"calls that do not exist have the same answer.",
		}, func(ctx context.Context, c *operation.Call, in *callID) (operation.Data[Call], error) {
			return getCall(ctx, d, c, in)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/calls/{id}/text", ID: "getCallText", Org: operation.Workers, Access: operation.AnyKey, Private: true, Tag: "account", Answer: "The text",
			Summary: "What the model of a call was given, where it is stored",
			Description: "Only texts of calls in the responses style are stored, and only where the account or the request wants it: stored_text of GET /api/calls/{id} says which. The " +
				"answer has the input, with the conversation before it, and of the request's settings those that are texts. A text that was deleted, has expired or was never kept is " +
				"404, and one of more than 4 MiB with its conversation 413. Calls of others and calls that do not exist have the answer of GET /api/calls/{id}.",
		}, func(ctx context.Context, c *operation.Call, in *callID) (operation.Data[CallText], error) {
			return getCallText(ctx, d, c, in)
		}),
	}
}
