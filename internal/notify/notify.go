// Package notify sends accounts what they should know before it costs them money: that money ends, that a key reaches its limit, that a
// model retires. It finds facts in roll-ups, and says each once, by e-mail and by webhook. It opens no connection and scans no calls.
package notify

import (
	"slices"
	"strconv"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
)

// Cause is what a person switches on and off.
type Cause string

// The causes.
const (
	LowBalance    Cause = "low_balance"
	KeyLimit      Cause = "key_limit"
	KeyExpiry     Cause = "key_expiring"
	ModelRetiring Cause = "model_retiring"
	Payment       Cause = "payment"
	Spending      Cause = "unusual_spending"
)

// Causes lists all, in the order of pages and documents.
var Causes = []Cause{LowBalance, KeyLimit, KeyExpiry, ModelRetiring, Payment, Spending}

// CauseNames lists the names of all.
func CauseNames() (names []string) {
	for _, c := range Causes {
		names = append(names, string(c))
	}
	return names
}

// Channel is a way to report a fact.
type Channel string

// The channels.
const (
	Email   Channel = "email"
	Webhook Channel = "webhook"
)

// Channels lists all.
var Channels = []Channel{Email, Webhook}

// Kind is what a fact says. The notices of the overview and the events of webhooks have the same names.
type Kind string

// The kinds.
const (
	MoneyGone       Kind = "money_gone"
	MoneyLow        Kind = "money_low"
	KeyNear         Kind = "key_limit"
	KeyReached      Kind = "key_limit_reached"
	BudgetAlarm     Kind = "budget_alarm"
	BudgetReached   Kind = "budget_reached"
	AgentOut        Kind = "agent_out_of_money"
	KeyExpiring     Kind = "key_expiring"
	KeyExpired      Kind = "key_expired"
	ModelGone       Kind = "model_gone"
	ModelRetires    Kind = "model_retiring"
	PaymentReceived Kind = "payment_received"
	PaymentRefunded Kind = "payment_refunded"
	TopUpFailed     Kind = "top_up_failed"
	UnusualSpending Kind = "unusual_spending"
	CacheRateFell   Kind = "cache_rate_fell"
	TestNotice      Kind = "test" // what the page's button sends
)

// Kinds lists all that a check finds.
var Kinds = []Kind{MoneyGone, MoneyLow, KeyNear, KeyReached, BudgetAlarm, BudgetReached, AgentOut, KeyExpiring, KeyExpired, ModelGone, ModelRetires, PaymentReceived, PaymentRefunded, TopUpFailed, UnusualSpending, CacheRateFell}

// Cause is the cause that a kind belongs to, "" of a test.
func (k Kind) Cause() Cause {
	switch k {
	case MoneyGone, MoneyLow:
		return LowBalance
	case KeyNear, KeyReached, BudgetAlarm, BudgetReached, AgentOut:
		return KeyLimit
	case KeyExpiring, KeyExpired:
		return KeyExpiry
	case ModelGone, ModelRetires:
		return ModelRetiring
	case PaymentReceived, PaymentRefunded, TopUpFailed:
		return Payment
	case UnusualSpending, CacheRateFell:
		return Spending
	}
	return ""
}

// Fact is one thing that an account should know. Which fields it has depends on its kind.
type Fact struct {
	Kind    Kind
	Ref     string // the hash of a key, the id of a budget, the slug of a model, the id of a payment or refund, the tag of which a day is unusual; "" none
	Name    string // of the key, budget or model, or the tag; people chose it
	Tag     string // that a budget is of, or of which a day is unusual; "" none
	At      time.Time
	Amount  money.Nano // available; the limit; the payment; the day's spending
	Spent   money.Nano // of a limit
	Usual   money.Nano // spending of a day
	Percent int64      // of a limit; of a day's prompts that caches were read for
	Days    int        // that the money lasts, -1 unknown; how often an agent repeated its tools, 0: it did not
	Reset   string     // of a limit, as apikey.Reset; the reason of a failed top-up; the tools that an agent repeated
	Grown   []Growth   // where the money of an unusual day went
	Episode string     // distinguishes one occasion from the next: two facts with the same kind, reference and episode are one
}

// ID names a fact within its account: the same while it lasts.
func (f *Fact) ID() string {
	return string(f.Kind) + "/" + strconv.Itoa(len(f.Ref)) + "/" + f.Ref + "/" + f.Episode
}

// Happened reports whether a fact is an event, which stays true, and not a state, which may end and come again.
func (f *Fact) Happened() bool { return f.Kind.Cause() == Payment || f.Kind.Cause() == Spending }

// Choices are the switches of an account, and what they are without a choice.
type Choices map[Cause]map[Channel]bool

// On reports a switch.
func (c Choices) On(cause Cause, by Channel) bool { return c[cause][by] }

// NewChoices makes choices that are on for the causes listed of each channel.
func NewChoices(email, hook []Cause) Choices {
	c := Choices{}
	for _, cause := range Causes {
		c[cause] = map[Channel]bool{Email: slices.Contains(email, cause), Webhook: slices.Contains(hook, cause)}
	}
	return c
}

func causes(names []string) (list []Cause) {
	for _, name := range names {
		list = append(list, Cause(name))
	}
	return list
}

// With returns the choices with those of an account over them.
func (c Choices) With(own Choices) Choices {
	out := Choices{}
	for _, cause := range Causes {
		out[cause] = map[Channel]bool{}
		for _, by := range Channels {
			on, said := own[cause][by]
			if !said {
				on = c[cause][by]
			}
			out[cause][by] = on
		}
	}
	return out
}

// ParseCause reads the name of a cause. It fails with fault.Invalid.
func ParseCause(param, name string) (Cause, error) {
	if c := Cause(name); slices.Contains(Causes, c) {
		return c, nil
	}
	return "", fault.Field("notify.ParseCause", param, "There is no such cause. The causes are low_balance, key_limit, key_expiring, model_retiring, payment and unusual_spending.")
}

// Mail is an e-mail of one cause. A Mailer makes words of it.
type Mail struct {
	ID          string // the same in each attempt, such as "ntf-...": letters, digits and hyphens
	To          string
	Locale      string // "ru", or anything else for English
	Cause       Cause  // "" of a test
	Facts       []Fact
	Account     string // the organization that it is about; "": their own account
	Unsubscribe string // token that switches mails of the cause off; "" none
}
