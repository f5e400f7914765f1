// Package report answers what the pages of an account ask: usage over time, lists of calls, statements. All figures come from roll-ups and
// postings, so that the same amount is the same on every page; nothing is counted call by call. It must not know HTTP.
package report

import (
	"context"
	"time"
	"weir/internal/apikey"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/zone"
)

// Part is a property of calls by which usage is grouped.
type Part string

// The parts. None does not group.
const (
	None     Part = ""
	Model    Part = "model"
	Key      Part = "key"
	Member   Part = "member" // the user
	Provider Part = "provider"
	Kind     Part = "kind"   // the style or task: record.Call.API
	Result   Part = "result" // record.Call.Result
)

// Failed as a Result in a Filter is every result but record.OK and record.Canceled.
const Failed = "failed"

// Nothing as a property in a Filter chooses the calls that do not have it: the group whose key is "". No name has parentheses.
const Nothing = "(none)"

// Filter chooses calls; "" chooses all. Tag is a whole tag, or its name with the value tag.None for calls that have none of that name.
type Filter struct {
	Model, Key, Member, Provider, Kind, Result string
	Team, Session, ClientUser, Tag             string

	Org  string // of Sees
	Sees apikey.Sight
}

// Bucket is a length of time.
type Bucket string

// The buckets. Days and months are those of the account, written as their midnight in UTC.
const (
	Hour  Bucket = "hour"
	Day   Bucket = "day"
	Month Bucket = "month"
	// Period is the whole of a query, which only a Store is asked for: all its rows are at Query.From.
	Period Bucket = "period"
)

// Floor is the beginning of the bucket that has t. Of a day or month t is what the account's clock shows.
func (b Bucket) Floor(t time.Time) time.Time {
	t = t.UTC()
	switch b {
	case Hour:
		return t.Truncate(time.Hour)
	case Month:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// Next is the beginning of the bucket after the one that begins at t.
func (b Bucket) Next(t time.Time) time.Time {
	switch b {
	case Hour:
		return t.Add(time.Hour)
	case Month:
		return t.AddDate(0, 1, 0)
	}
	return t.AddDate(0, 0, 1)
}

// Sums are the figures of some calls together.
type Sums struct {
	Calls         int64
	Charged       int64 // of them
	Failed        int64
	Canceled      int64
	Prompt        int64 // tokens
	CacheRead     int64
	CacheWrite    int64
	Completion    int64
	Reasoning     int64
	Cost          money.Nano
	Refunded      money.Nano    // of Cost, which is not reduced
	FirstContent  time.Duration // summed over FirstContents calls
	FirstContents int64
	LastAt        time.Time // when the last of them began; zero without any
}

// Add adds other figures.
func (s *Sums) Add(o *Sums) {
	s.Calls += o.Calls
	s.Charged += o.Charged
	s.Failed += o.Failed
	s.Canceled += o.Canceled
	s.Prompt += o.Prompt
	s.CacheRead += o.CacheRead
	s.CacheWrite += o.CacheWrite
	s.Completion += o.Completion
	s.Reasoning += o.Reasoning
	s.Cost += o.Cost
	s.Refunded += o.Refunded
	s.FirstContent += o.FirstContent
	s.FirstContents += o.FirstContents
	if o.LastAt.After(s.LastAt) {
		s.LastAt = o.LastAt
	}
}

// Row is the usage of one group in one bucket.
type Row struct {
	At    time.Time // the bucket's beginning
	Value string    // of the group, "" where calls have none
	Sums
}

// Query asks for rows of usage of a wallet. What a Store is asked for by day or month is from and to days as zone.History.Day writes them.
type Query struct {
	Wallet string
	Filter Filter
	Part   Part
	Bucket Bucket
	From   time.Time    // beginning of a bucket
	To     time.Time    // beginning of the bucket after the last
	Zones  zone.History // of the account
	Metric Metric       // the figure that is needed, besides how many calls there were; "": all of them
	Whole  bool         // all figures of the period are needed, though Metric is one of them
}

// Place is where a list of calls continues: after the call with that time and id. Calls are listed from the newest.
type Place struct {
	At time.Time
	ID string
}

// Search asks for calls of a wallet.
type Search struct {
	Wallet  string
	Filter  Filter
	Charged bool // only calls that were charged
	MinCost money.Nano
	Status  int // HTTP status of the answer; 0: any
	// ProviderKey is the tag of the provider's key that an attempt was made with (catalog.KeyTag); "": any.
	ProviderKey string
	From        time.Time
	To          time.Time // not included
	After       Place     // zero: from the newest
	Limit       int
}

// Window is a part of a search: what a bounded number of calls had.
type Window struct {
	Calls []record.Call // without candidates and attempts' details left out: whole records
	End   Place         // the last call looked at; zero when there are no further ones
}

// KeySpend is what one key has spent in the interval of its limit and in others, and when it was last used.
type KeySpend struct {
	ledger.KeySpend
	LastAt time.Time // zero: never
}

// Held is money on hold for a job.
type Held struct {
	Job    string
	Model  string
	Amount money.Nano
	Since  time.Time
}

// DaySum is what the charged calls of a day cost.
type DaySum struct {
	Day   time.Time
	Calls int64
	Cost  money.Nano
}

// Tax is what calls and refunds contain of one VAT.
type Tax struct {
	Percent     string // decimal text, "" without VAT
	Calls       int64
	Charged     money.Nano
	ChargedTax  money.Nano // contained in Charged
	Refunds     int64
	Refunded    money.Nano
	RefundedTax money.Nano // contained in Refunded
}

// Add adds other figures of the same percentage.
func (t *Tax) Add(o *Tax) {
	t.Calls += o.Calls
	t.Charged += o.Charged
	t.ChargedTax += o.ChargedTax
	t.Refunds += o.Refunds
	t.Refunded += o.Refunded
	t.RefundedTax += o.RefundedTax
}

// Gross is what was charged and not given back, VAT what it contains.
func (t *Tax) Gross() money.Nano { return t.Charged - t.Refunded }

// VAT is the tax in Gross.
func (t *Tax) VAT() money.Nano { return t.ChargedTax - t.RefundedTax }

// DayTax is one VAT on one day: calls belong to the day on which they began, refunds to the one on which they were posted.
type DayTax struct {
	Day time.Time
	Tax
}

// Account is what a statement is made of, as of one moment.
type Account struct {
	Balance money.Nano
	// Before is what was credited and charged before the period, After what came after it, by rows.
	Before, After money.Nano
	Days          []DaySum          // of the period, oldest first
	Taxes         []DayTax          // of the period, oldest first, then by percentage as text
	Movements     []ledger.Movement // of the period, oldest first
	More          bool              // there are more movements than were asked for
	Zone          zone.History      // by which days are counted
}

// Store answers from one database. What it is asked is bounded by the caller; each answer comes from roll-ups or a bounded part of an
// index. It fails with fault.StorageUnavailable.
type Store interface {
	// Usage sums usage by bucket and group; rows without calls are left out. They are ordered by time and value. Without a wallet it is that of all
	// accounts, each by its own days.
	Usage(ctx context.Context, q Query) ([]Row, error)
	// SearchCalls looks at no more than most calls, from the newest, and returns at most s.Limit that fit.
	SearchCalls(ctx context.Context, s Search, most int) (Window, error)
	// LastHour is the latest hour before a moment in which roll-ups have calls that fit, zero without any since from.
	LastHour(ctx context.Context, wallet string, f Filter, from, before time.Time) (time.Time, error)
	// Spenders lists values of parts that an account sorts by, Key not among them, the dearest first and then by part and value.
	Spenders(ctx context.Context, q SpenderQuery) ([]Spender, error)
	// Zones are the time zones of a wallet's account.
	Zones(ctx context.Context, wallet string) (zone.History, error)
	// Account sums the rows of a wallet before, in and after the days of its account from..to, to not included, with at most most movements.
	Account(ctx context.Context, wallet string, from, to time.Time, most int) (Account, error)
	// JobHolds lists the holds of a wallet's jobs.
	JobHolds(ctx context.Context, wallet string) ([]Held, error)
	// KeySpends has an element for each key of a user that spent or was used.
	KeySpends(ctx context.Context, user, wallet string) (map[string]KeySpend, error)
	// People lists users, the newest first. It fails with fault.NotFound when there is no user s.After.
	People(ctx context.Context, s PeopleSearch) ([]Person, error)
	// SearchAll is SearchCalls for all accounts: s.Wallet does not count. Calls come by the second in their ids, which is that of their admission.
	SearchAll(ctx context.Context, s Search, most int) (Window, error)
	// Results sums the calls of all accounts that fit, by bucket of UTC and in its order.
	Results(ctx context.Context, q ResultQuery) ([]ResultRow, error)
	// KeptSince is the time before which calls were dropped, and no longer count in Results; zero when all are kept.
	KeptSince(ctx context.Context) (time.Time, error)
	// LastHourOfAll is LastHour for all accounts and the model and provider of a filter. Without a better answer it is before itself.
	LastHourOfAll(ctx context.Context, f Filter, from, before time.Time) (time.Time, error)
	// CallOfRequest is the generation of the call that a request made, by the id of the request, "" for none.
	CallOfRequest(ctx context.Context, request string, at time.Time) (generation string, err error)
	// Failures lists causes of failures in some hours, those with most errors first.
	Failures(ctx context.Context, from, to time.Time, most int) ([]Failure, error)
	// FailureTotals sums all failures of some hours.
	FailureTotals(ctx context.Context, from, to time.Time) (errors, reached int64, err error)
	// FailureParts lists what a cause did to accounts or endpoints, those with most errors first.
	FailureParts(ctx context.Context, from, to time.Time, c Cause, part FailurePart, most int) ([]FailedPart, error)
	// Sales sums sales by the part of a query, in its order.
	Sales(ctx context.Context, q SalesQuery) ([]SaleRow, error)
	// SalesOfDay lists the sales of the day that begins at q.From by account, model and provider.
	SalesOfDay(ctx context.Context, q SalesQuery) ([]SaleDay, error)
	// LastSale is the last day before another one that has calls; zero without any.
	LastSale(ctx context.Context, before time.Time) (time.Time, error)
	// FailuresAt is Failures of one endpoint.
	FailuresAt(ctx context.Context, endpoint string, from, to time.Time, most int) ([]Failure, error)
	// CallsElsewhere yields calls, among the newest most of some time, whose records name an endpoint that did not serve them: as tried, or as passed over.
	// Others may be among them. Of a call it has its id and time, where it ended, its candidates and attempts. since is from, or when the oldest of so
	// many began.
	CallsElsewhere(ctx context.Context, endpoint string, from, to time.Time, most int, yield func(*record.Call)) (since time.Time, err error)
	// Names are what users and keys are called.
	Names(ctx context.Context, kind NameKind, ids []string) (map[string]Named, error)
	// ToppedUp reports whether anything was ever credited to a wallet.
	ToppedUp(ctx context.Context, wallet string) (bool, error)
}

// Book is what a node knows of its own calls. *ledger.Book is one.
type Book interface {
	// CatchUp has the store know all calls that ended on this node. late is why it does not, when it takes none at present: reports go on with
	// what it has.
	CatchUp(ctx context.Context) (late, err error)
	// Balance is ledger.Reader.Balance.
	Balance(ctx context.Context, wallet string) (ledger.Balance, error)
	// Running counts this node's holds on a wallet, and sums them.
	Running(wallet string) (int, money.Nano)
}

// Reporter answers for one node. It is safe for concurrent use.
type Reporter struct {
	store Store
	book  Book
}

// Zones are the time zones of a wallet's account.
func (r *Reporter) Zones(ctx context.Context, wallet string) (zone.History, error) {
	return r.store.Zones(ctx, wallet)
}

// New makes a Reporter.
func New(s Store, b Book) *Reporter { return &Reporter{s, b} }
