package invoice

import (
	"context"
	"slices"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/zone"
)

// Act says what was rendered to an account in a month of its time zone, Moscow unless it has chosen another. It never changes. Opening, ToppedUp, Spent and Closing are the statement of
// the month, exact; the amounts of the act are whole kopecks.
type Act struct {
	ID        string // "act_..."
	Number    string // without gaps for the seller and the year of the month
	Year, Seq int64
	Account   string
	Wallet    string
	Month     string // "2026-10"
	Buyer     Buyer
	Seller    Seller
	VAT       rate.VAT
	Line      string
	Opening   money.Nano // balance at the beginning of the month
	ToppedUp  money.Nano // top-ups less what was paid back
	Spent     money.Nano // calls, less refunds and adjustments
	Closing   money.Nano
	Before    money.Nano // carried from the months before: what their acts left over
	Amount    money.Nano // of the wallet that the act covers: Before + Spent, less the parts of a kopeck
	Tax       money.Nano // VAT in Total
	Total     money.Nano
	After     money.Nano // carried to the next month: Before + Spent - Amount
	MadeAt    time.Time
}

// From is the first day of the month.
func (a *Act) From() time.Time { return monthStart(a.Month) }

// To is the first day of the next one.
func (a *Act) To() time.Time { return a.From().AddDate(0, 1, 0) }

// Sums are what moved a wallet before a moment.
type Sums struct {
	ToppedUp money.Nano // top-ups less what was paid back
	Spent    money.Nano // calls, less refunds and adjustments
}

// Unacted is an account that has invoices, and no act of a month or a later one.
type Unacted struct {
	Account, Wallet string
	Closing         // what its act would be made of; without sums if its first invoice is from a later month
}

// Closing is what an act is made of, while the wallet is locked.
type Closing struct {
	First      string     // month of the first invoice of the account; "": absent
	Last       string     // month of the last act; "": absent
	Acted      money.Nano // amounts of all acts
	Base       Sums       // at the beginning of First
	Start, End Sums       // at the beginning and the end of the month
}

// ActStore keeps acts.
type ActStore interface {
	// AddAct gives f what the act is made of. If f returns true, the act has the next number of its seller and year, which name makes a text
	// of, and is added. It fails with fault.Conflict when the account has an act of that month.
	AddAct(ctx context.Context, a Act, f func(*Act, *Closing) (bool, error), name func(*Act) audit.Event) (Act, bool, error)
	// ActByID fails with fault.NotFound.
	ActByID(ctx context.Context, id string) (Act, error)
	// Acts lists acts of an account, or of all ("") in a month, or in all (""), the newest month first. It fails with fault.NotFound when there is no act before.
	Acts(ctx context.Context, account, month, before string, limit int) ([]Act, error)
	// ActsBegin is the month of the first invoice of an account, and that of its last act, each "" without any.
	ActsBegin(ctx context.Context, account string) (first, last string, err error)
	// Unacted lists accounts that have invoices and no act of a month or a later one, by id, after one. They are read at one moment, and nothing is locked.
	Unacted(ctx context.Context, month, after string, limit int) ([]Unacted, error)
	// InvoicedAccounts lists accounts with invoices and their wallets, by id, after one.
	InvoicedAccounts(ctx context.Context, after string, limit int) (accounts, wallets []string, err error)
}

const monthForm = "2006-01"

// ClosedAfter is how long after the end of a month its act can be made: calls that began in it have ended by then.
const ClosedAfter = 24 * time.Hour

// mostMonths is how many months one request closes.
const mostMonths = 60

func monthStart(month string) time.Time {
	t, _ := time.ParseInLocation(monthForm, month, Moscow)
	return t
}

// Months are the months of acts: those of the account's time zone, and of Moscow before it has chosen one.
type Months struct{ days zone.History }

// MonthsOf are the months of an account with those changes of its time zone.
func MonthsOf(h zone.History) Months { return Months{slices.Concat(moscowDays, h)} }

// Of is the month that has a moment.
func (m Months) Of(t time.Time) string { return m.days.Day(t).Format(monthForm) }

// Start is when a month begins.
func (m Months) Start(month string) time.Time {
	first, _ := time.Parse(monthForm, month)
	return m.days.Start(first)
}

// End is when it ends.
func (m Months) End(month string) time.Time { return m.Start(nextMonth(month)) }

var moscowDays = func() zone.History {
	c, err := zone.NewChange("Europe/Moscow", time.Time{})
	if err != nil {
		panic(err) // the program contains that zone
	}
	return zone.History{c}
}()

func nextMonth(month string) string { return monthStart(month).AddDate(0, 1, 0).Format(monthForm) }

// Closed is the last month whose act can be made.
func Closed(now time.Time) string {
	t := now.Add(-ClosedAfter).In(Moscow)
	return time.Date(t.Year(), t.Month()-1, 1, 0, 0, 0, 0, Moscow).Format(monthForm)
}

// ActsDue lists the months of an account whose acts can be made, the oldest first, without those that were made.
func (m *Manager) ActsDue(ctx context.Context, account string) ([]string, error) {
	first, last, err := m.store.ActsBegin(ctx, account)
	if err != nil || first == "" {
		return nil, err
	}
	if last != "" {
		first = nextMonth(last)
	}
	var all []string
	for month, end := first, Closed(m.now()); month <= end && len(all) < mostMonths; month = nextMonth(month) {
		all = append(all, month)
	}
	return all, nil
}

// MakeActs makes the acts of an account up to a month, in order; months in which nothing was rendered have none. It fails with fault.Invalid
// for a month that is not closed, and with fault.Unprocessable when the account has no invoice in or before it.
func (m *Manager) MakeActs(ctx context.Context, account, wallet, month string, by audit.Actor) ([]Act, error) {
	const op = "invoice.MakeActs"
	if err := m.closed(op, month); err != nil {
		return nil, err
	}
	first, last, err := m.store.ActsBegin(ctx, account)
	if err != nil {
		return nil, err
	}
	if first == "" || month < first {
		e := fault.New(fault.Unprocessable, op, "Acts begin with the month of the first invoice. This account has none in or before that month.")
		e.Param = "month"
		return nil, e
	}
	if last != "" {
		first = nextMonth(last)
	}
	all := []Act{}
	for one := first; one <= month && len(all) < mostMonths; one = nextMonth(one) {
		a, made, err := m.makeAct(ctx, account, wallet, one, by)
		if fault.Is(err, fault.Conflict) { // another made it meanwhile
			continue
		}
		if err != nil {
			return all, err
		}
		if made {
			all = append(all, a)
		}
	}
	return all, nil
}

// closed fails with fault.Invalid unless the act of a month can be made.
func (m *Manager) closed(op, month string) error {
	if t, err := time.Parse(monthForm, month); err != nil || t.Format(monthForm) != month {
		return fault.Field(op, "month", "month must be a month such as 2026-10.").Coded("month")
	}
	if end := Closed(m.now()); month > end {
		return fault.Field(op, "month", "The act of a month can be made from the second day of the next month, Moscow time. The last one that can be made is %s.", end).Coded("act_too_early", "last", end)
	}
	return nil
}

// Missing is an act that can be made and was not.
type Missing struct {
	Account string
	Buyer   Buyer
	Amount  money.Nano // of the wallet that its acts up to the month would cover
	Total   money.Nano
}

// missingAtOnce is how many accounts one look for missing acts reads.
const missingAtOnce = 200

// MissingActs lists the accounts after one that have something to act up to a month and no act of it. next is the account to go on after; "":
// that was all. It fails with fault.Invalid for a month that is not closed.
func (m *Manager) MissingActs(ctx context.Context, month, after string) (all []Missing, next string, err error) {
	if err := m.closed("invoice.MissingActs", month); err != nil {
		return nil, "", err
	}
	list, err := m.store.Unacted(ctx, month, after, missingAtOnce)
	if err != nil {
		return nil, "", err
	}
	for i := range list {
		u := &list[i]
		a := Act{Account: u.Account, Wallet: u.Wallet, Month: month, Seller: m.cfg.Seller, VAT: m.cfg.VAT}
		made, err := closeMonth(&a, &u.Closing)
		if fault.Is(err, fault.Conflict) || err == nil && !made {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		buyer, err := m.store.BuyerOf(ctx, u.Account)
		if err != nil {
			return nil, "", err
		}
		all = append(all, Missing{Account: u.Account, Buyer: buyer, Amount: a.Amount, Total: a.Total})
	}
	if len(list) == missingAtOnce {
		next = list[len(list)-1].Account
	}
	return all, next, nil
}

// Closed is the last month whose act can be made now.
func (m *Manager) Closed() string { return Closed(m.now()) }

func (m *Manager) makeAct(ctx context.Context, account, wallet, month string, by audit.Actor) (Act, bool, error) {
	buyer, err := m.store.BuyerOf(ctx, account)
	if err != nil {
		return Act{}, false, err
	}
	a := Act{ID: apikey.NewID("act_"), Account: account, Wallet: wallet, Month: month, Buyer: buyer, Seller: m.cfg.Seller, VAT: m.cfg.VAT, Line: m.cfg.ActLine, MadeAt: m.now()}
	a.Year = int64(a.From().Year())
	return m.store.AddAct(ctx, a, closeMonth, func(a *Act) audit.Event {
		a.Number = numberOf(m.cfg.ActPrefix, a.Year, a.Seq)
		return audit.Event{Actor: by, Action: audit.ActMade, Target: a.ID, After: a.Number + ", " + a.Month + ", " + a.Total.String() + " rubles, INN " + a.Buyer.INN}
	})
}

// closeMonth computes an act, and reports whether there is anything in it. What earlier acts left over, parts of a kopeck and what was charged
// late, is in Before; so all acts together are what was spent since they began, less what the last one carries on.
func closeMonth(a *Act, c *Closing) (bool, error) {
	if c.First == "" || c.First > a.Month || c.Last >= a.Month {
		return false, fault.Newf(fault.Conflict, "invoice.MakeActs", "The act of %s was made, or comes before the first invoice.", a.Month)
	}
	a.Opening = c.Start.ToppedUp - c.Start.Spent
	a.ToppedUp = c.End.ToppedUp - c.Start.ToppedUp
	a.Spent = c.End.Spent - c.Start.Spent
	a.Closing = a.Opening + a.ToppedUp - a.Spent
	a.Before = c.Start.Spent - c.Base.Spent - c.Acted
	sum := a.Before + a.Spent
	if sum < Kopeck { // below zero: refunds of what earlier acts cover; the next act is less by it
		return false, nil
	}
	a.Amount = sum - sum%Kopeck
	a.After = sum - a.Amount
	a.Total, a.Tax = charge(a.VAT, a.Amount)
	return true, nil
}

// Act finds one of an account; account "" finds any. It fails with fault.NotFound, also for one of another account.
func (m *Manager) Act(ctx context.Context, id, account string) (Act, error) {
	a, err := m.store.ActByID(ctx, id)
	if err == nil && account != "" && a.Account != account {
		return Act{}, fault.New(fault.NotFound, "invoice.Act", "There is no such act.")
	}
	return a, err
}

// Acts lists acts; see ActStore.
func (m *Manager) Acts(ctx context.Context, account, month, before string, limit int) ([]Act, error) {
	if before != "" && account != "" {
		if _, err := m.Act(ctx, before, account); err != nil {
			return nil, err
		}
	}
	return m.store.Acts(ctx, account, month, before, limit)
}

// MakeAllActs makes the acts of all accounts up to a month, and calls each with those of one account, or what kept them from being made. It
// fails with fault.Invalid for a month that is not closed.
func (m *Manager) MakeAllActs(ctx context.Context, month string, by audit.Actor, each func(account string, made []Act, err error)) error {
	const page = 100
	if err := m.closed("invoice.MakeAllActs", month); err != nil {
		return err
	}
	for after := ""; ; {
		accounts, wallets, err := m.store.InvoicedAccounts(ctx, after, page)
		if err != nil {
			return err
		}
		for i, account := range accounts {
			made, err := m.MakeActs(ctx, account, wallets[i], month, by)
			if !fault.Is(err, fault.Unprocessable) && (err != nil || len(made) > 0) {
				each(account, made, err)
			}
		}
		if len(accounts) < page {
			return nil
		}
		after = accounts[len(accounts)-1]
	}
}
