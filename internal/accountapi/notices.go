package accountapi

import (
	"time"

	"weir/internal/money"
	"weir/internal/notify"
	"weir/internal/operation"
)

// Notice is something that needs attention.
type Notice struct {
	Kind   notify.Kind  `json:"kind" enum:"key_limit,key_limit_reached,budget_alarm,budget_reached,agent_out_of_money,key_expiring,key_expired,model_retiring,model_gone,model_down,model_trouble,money_low,money_gone,payment_received,payment_refunded,top_up_failed,unusual_spending,cache_rate_fell"` // model_down: no endpoint of a model used in the last 30 days takes calls at present; model_trouble: some of its endpoints take none
	Ref    *string      `json:"ref"`                                                                                                                                                                                                                                                                      // hash of the key, id of the budget or payment, slug of the model, the tag of which a day is unusual; null for the wallet
	Name   *string      `json:"name"`
	Detail NoticeDetail `json:"detail"`
}

// NoticeDetail is what a notice is about, by its kind.
type NoticeDetail struct {
	Limit     *money.Nano              `json:"limit,omitempty"`
	Available *money.Nano              `json:"available,omitempty"`
	Amount    *money.Nano              `json:"amount,omitempty"`
	Spent     *money.Nano              `json:"spent,omitempty"`
	Usual     *money.Nano              `json:"usual,omitempty"`   // median of the spending of days
	Percent   *int64                   `json:"percent,omitempty"` // of a limit that is used; of the day's prompts that were read from caches
	Resets    operation.As[*string]    `json:"resets,omitzero"`   // when the limit begins anew; null: never
	Days      operation.As[*int]       `json:"days,omitzero"`     // that the money lasts; null where that is not known
	At        operation.As[*time.Time] `json:"at,omitzero"`
	Repeated  *Repeated                `json:"repeated,omitempty"`           // by an agent
	Grown     []Grown                  `json:"grown,omitempty" maxItems:"9"` // what grew by at least a fifth of what was spent above the usual: tags, sessions and keys, at most three of each; their sums overlap
}

// Grown is something that cost more on a day than usual.
type Grown struct {
	By    notify.GrowthBy `json:"by" enum:"tag,session,key"`
	Ref   *string         `json:"ref"`  // hash of the key
	Name  string          `json:"name"` // the tag, the session, the name of the key
	Spent money.Nano      `json:"spent"`
	Usual money.Nano      `json:"usual"` // the median of the same days; on some of them it may have cost nothing
}

// Repeated is that an agent asked for the same tools again and again.
type Repeated struct {
	Tools string `json:"tools"` // in their order
	Times int    `json:"times"` // in a row
}

// noticeEvent is the data of a webhook's event: a notice with its cause.
type noticeEvent struct {
	Cause *string `json:"cause"`
	Notice
}

// EncodeFact is the data of a webhook's event.
func EncodeFact(f *notify.Fact) []byte {
	b, _ := operation.JSON(noticeEvent{Cause: OrNull(string(f.Kind.Cause())), Notice: noticeOf(f)}) // its parts are texts and numbers
	return b
}

// given is a member that is there, null where v is nil.
func given[T any](v T) operation.As[T] {
	b, _ := operation.JSON(v) // of texts, numbers and times
	return operation.As[T]{Raw: b}
}

func noticeOf(f *notify.Fact) Notice {
	n := Notice{Kind: f.Kind, Ref: OrNull(f.Ref), Name: OrNull(f.Name)}
	d := &n.Detail
	switch f.Kind {
	case notify.MoneyGone:
		d.Available = &f.Amount
	case notify.MoneyLow:
		d.Available, d.Days = &f.Amount, given(known(f.Days))
	case notify.KeyNear, notify.KeyReached, notify.BudgetAlarm, notify.BudgetReached:
		d.Limit, d.Spent, d.Percent, d.Resets = &f.Amount, &f.Spent, &f.Percent, given(OrNull(f.Reset))
	case notify.AgentOut:
		d.Limit, d.Spent, d.Percent = &f.Amount, &f.Spent, &f.Percent
		if f.Days > 0 {
			d.Repeated = &Repeated{Tools: f.Reset, Times: f.Days}
		}
	case notify.UnusualSpending:
		d.Spent, d.Usual, d.At = &f.Amount, &f.Usual, given(Moment(f.At))
		for i := range f.Grown {
			g := &f.Grown[i]
			d.Grown = append(d.Grown, Grown{By: g.By, Ref: OrNull(g.Ref), Name: g.Name, Spent: g.Spent, Usual: g.Usual})
		}
	case notify.CacheRateFell:
		d.Percent, d.At = &f.Percent, given(Moment(f.At))
	case notify.PaymentReceived, notify.PaymentRefunded, notify.TopUpFailed:
		d.Amount, d.At = &f.Amount, given(Moment(f.At))
	case notify.KeyExpiring, notify.KeyExpired, notify.ModelGone, notify.ModelRetires:
		d.At = given(Moment(f.At))
	case notify.TestNotice:
	}
	return n
}

// known is a number, nil for one that is not known, which is -1.
func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}
