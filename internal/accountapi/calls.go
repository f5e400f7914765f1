package accountapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/usage"
)

// CallRow is a call in a list.
type CallRow struct {
	ID               string     `json:"id"`
	CreatedAt        time.Time  `json:"created_at"`
	Kind             string     `json:"kind"`
	Model            *string    `json:"model"`
	ModelAsked       string     `json:"model_asked"`
	Provider         *string    `json:"provider"`
	ProviderName     *string    `json:"provider_name"`
	Key              *CallKey   `json:"key"`
	User             string     `json:"user"`
	Status           int        `json:"status"` // HTTP status of the answer
	Result           string     `json:"result"` // ok, canceled or an error_type
	Error            *string    `json:"error"`
	Canceled         bool       `json:"canceled"`
	Stream           bool       `json:"stream"`
	Attempts         int        `json:"attempts"` // how many endpoints were asked
	FinishReason     *string    `json:"finish_reason"`
	Cost             money.Nano `json:"cost"`
	Settled          bool       `json:"settled"`
	Estimated        bool       `json:"estimated"`
	PromptTokens     int64      `json:"prompt_tokens"`
	CachedTokens     int64      `json:"cached_tokens"`
	CompletionTokens int64      `json:"completion_tokens"`
	ReasoningTokens  int64      `json:"reasoning_tokens"`
	FirstTokenMs     *int64     `json:"first_token_ms"`
	DurationMs       int64      `json:"duration_ms"`
	Tags             []string   `json:"tags"` // as name=value, or a name alone. Operators see none of what follows
	Member           *string    `json:"member"`
	Team             *string    `json:"team"`
	Session          *string    `json:"session_id"`
	ClientUser       *string    `json:"client_user"`
}

// LastCalls shows the last calls of a user as the user sees them.
func (d Deps) LastCalls(ctx context.Context, user, wallet string, now time.Time, most int) ([]CallRow, error) {
	p, err := d.Reports.Calls(ctx, report.Search{Wallet: wallet, To: now.Add(time.Hour), Limit: most}) // clocks of nodes differ a little
	if err != nil || len(p.Calls) == 0 {
		return []CallRow{}, err
	}
	names, err := namesOfKeys(ctx, d.Keys, user)
	return CallRows(names.of, p.Calls), err
}

// rowsOf lists calls of the caller's account.
func rowsOf(ctx context.Context, d Deps, c *operation.Call, calls []record.Call) ([]CallRow, error) {
	if len(calls) == 0 {
		return []CallRow{}, nil
	}
	names, err := namesOfKeys(ctx, d.Keys, c.User)
	rows := CallRows(names.of, calls)
	note(rows, calls)
	return rows, err
}

// note adds what is the account's alone: by what it sorts its calls, and the users of its clients.
func note(rows []CallRow, calls []record.Call) {
	for i := range rows {
		r, c := &rows[i], &calls[i]
		r.Tags = append(r.Tags, c.Tags...)
		r.Member, r.Team, r.Session, r.ClientUser = OrNull(c.Member), OrNull(c.Team), OrNull(c.Session), OrNull(c.ClientUser)
	}
}

// CallRows lists calls, without what is their account's alone. key is the key with an id.
func CallRows(key func(id string) *CallKey, calls []record.Call) []CallRow {
	rows := make([]CallRow, len(calls))
	for i := range calls {
		c := &calls[i]
		u := &c.Usage
		rows[i] = CallRow{
			ID: c.Generation, CreatedAt: c.At, Kind: c.API, Model: OrNull(c.Model), ModelAsked: c.ModelAsked, Provider: OrNull(c.Provider), ProviderName: OrNull(c.ProviderName),
			Key: key(c.Key), User: c.User, Status: c.Status, Result: c.Result(), Error: OrNull(c.Error), Canceled: c.Cancelled, Stream: c.Streamed, Attempts: len(c.Attempts),
			FinishReason: OrNull(c.Finish), Cost: c.Cost, Settled: c.Settled, Estimated: u.Source&usage.Estimated != 0, PromptTokens: u.Prompt.N, CachedTokens: u.CacheRead.N,
			CompletionTokens: u.Completion.N, ReasoningTokens: u.Reasoning.N, FirstTokenMs: firstToken(c.FirstContent), DurationMs: c.Duration.Milliseconds(),
			Tags: []string{},
		}
	}
	return rows
}

// firstToken is how long a client waited for the first content; nil: none came.
func firstToken(after time.Duration) *int64 {
	if after <= 0 {
		return nil
	}
	ms := after.Milliseconds()
	return &ms
}

// CallsAfter asks for a page of calls.
type CallsAfter struct {
	Cursor string `json:"-" query:"cursor" maxLength:"200"` // next of the page before
	Limit  int    `json:"-" query:"limit" most:"200"`       // calls of the page; 50 without it
}

const usualCalls = 50

// Into has a search find the page.
func (p *CallsAfter) Into(s *report.Search) (err error) {
	s.Limit = cmp.Or(p.Limit, usualCalls)
	s.After, err = placeOf(p.Cursor)
	return err
}

// CursorOf is the cursor of a list of calls: the time and the id of the last one.
func CursorOf(p report.Place) *string {
	if p == (report.Place{}) {
		return nil
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.At.UnixMicro(), 36) + " " + p.ID))
	return &text
}

func placeOf(cursor string) (p report.Place, err error) {
	if cursor == "" {
		return p, nil
	}
	wrong := fault.Field("accountapi.placeOf", "cursor", "cursor must be next of the page before.").Coded("cursor")
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) > 200 {
		return p, wrong
	}
	at, id, found := strings.Cut(string(raw), " ")
	n, err := strconv.ParseInt(at, 36, 64)
	if err != nil || !found || n < 0 || strings.ContainsRune(id, 0) {
		return p, wrong
	}
	return report.Place{At: time.UnixMicro(n).UTC(), ID: id}, nil
}
