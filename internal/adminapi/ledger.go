package adminapi

import (
	"context"
	"strconv"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/operation"
)

// LedgerDeps are what operators look at the books with.
type LedgerDeps struct {
	Checks *console.BookChecks
	Books  Books
}

// Books are the ledger as operators read it. Its store has them.
type Books interface {
	Transaction(ctx context.Context, what string) (ledger.Transaction, error)
	Asides(ctx context.Context) ([]ledger.Aside, error)
	PostAside(ctx context.Context, id int64, by audit.Actor, now time.Time) error
	DismissAside(ctx context.Context, id int64, reason string, by audit.Actor, now time.Time) error
}

// AdminLedger is what the books say of themselves.
type AdminLedger struct {
	Totals    []LedgerTotal `json:"totals"`     // of all entries, by kind of account; empty until the first look
	Sum       *string       `json:"sum"`        // of all entries, in rubles: "0", or the books are wrong
	Entries   int64         `json:"entries"`    // that were added up
	TotalsAt  *time.Time    `json:"totals_at"`  // when; each node looks once an hour
	Check     *BookCheck    `json:"check"`      // the last one, or the one that runs; null: there was none
	SetAside  []SetAside    `json:"set_aside"`  // charges that could not be posted
	AsideLost money.Nano    `json:"aside_cost"` // what they would be, in rubles
}

// LedgerTotal is the sum of the entries of one kind of account.
type LedgerTotal struct {
	Account string `json:"account"` // wallet, refund, revenue, adjustment, or topup: and a source
	Entries int64  `json:"entries"`
	Amount  string `json:"amount"` // rubles
}

// BookCheck recomputes each balance, charge and sum from the entries. Calls go on meanwhile.
type BookCheck struct {
	Node      string          `json:"node"`
	By        string          `json:"by"`
	BeganAt   time.Time       `json:"began_at"`
	EndedAt   *time.Time      `json:"ended_at"`   // null: it runs
	Balanced  *bool           `json:"balanced"`   // null while it runs, and of one that was not finished
	StoppedBy *string         `json:"stopped_by"` // who ended it early
	Failed    *string         `json:"failed"`     // why it could not be finished
	Parts     []BookCheckPart `json:"parts"`      // that have ended
}

// BookCheckPart is one part of a check of the books.
type BookCheckPart struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what was compared, or the first places that are wrong
}

func bookCheckOf(k *console.BookCheck) *BookCheck {
	if k == nil {
		return nil
	}
	out := &BookCheck{Node: k.Node, By: k.By, BeganAt: k.Began, EndedAt: k.Ended, StoppedBy: accountapi.OrNull(k.Stopped), Failed: accountapi.OrNull(k.Failed), Parts: []BookCheckPart{}}
	for i := range k.Parts {
		out.Parts = append(out.Parts, BookCheckPart{k.Parts[i].Name, k.Parts[i].OK, k.Parts[i].Detail})
	}
	if !k.Running() && k.Stopped == "" && k.Failed == "" {
		out.Balanced = new(k.Balanced())
	}
	return out
}

// SetAside is a charge that could not be posted, and waits for a decision.
type SetAside struct {
	ID         int64      `json:"id"`
	At         time.Time  `json:"at"`
	Node       string     `json:"node"`
	Generation *string    `json:"generation"` // null: its record could not be read
	Wallet     *string    `json:"wallet"`
	Cost       money.Nano `json:"cost"` // rubles
	Reason     string     `json:"reason"`
}

// LedgerTransaction is what was posted at once. Its entries sum to zero, with what other calls were charged in it.
type LedgerTransaction struct {
	ID      int64         `json:"id"`
	Kind    string        `json:"kind"` // settle, topup, adjustment, refund
	Ref     string        `json:"ref"`
	At      time.Time     `json:"at"`
	Actor   *string       `json:"actor"`
	Reason  *string       `json:"reason"`
	Entries []LedgerEntry `json:"entries"` // of one that settles calls, the one that was asked for and the other side
	Others  *money.Nano   `json:"others"`  // what other calls were charged in it, in rubles; null for other kinds
}

// LedgerEntry is one line of the ledger.
type LedgerEntry struct {
	Account string     `json:"account"`
	Ref     string     `json:"ref"`
	Amount  money.Nano `json:"amount"` // rubles; what leaves an account is negative
}

func transactionOf(t *ledger.Transaction) LedgerTransaction {
	out := LedgerTransaction{ID: t.ID, Kind: t.Kind, Ref: t.Ref, At: t.At, Actor: accountapi.OrNull(t.Actor), Reason: accountapi.OrNull(t.Reason), Entries: []LedgerEntry{}}
	for i := range t.Entries {
		out.Entries = append(out.Entries, LedgerEntry{t.Entries[i].Account, t.Entries[i].Ref, t.Entries[i].Amount})
	}
	if strings.HasPrefix(t.Ref, ledger.SettleRef) {
		out.Others = &t.Others
	}
	return out
}

type ledgerQuery struct {
	Query string `json:"-" query:"q"` // the number of a transaction, a reference, or the id of a call
}

// AsideID names a charge that was set aside.
type AsideID struct {
	ID string `json:"-" path:"id"` // number of the charge
}

type asideDismissal struct {
	AsideID
	Reason string `json:"reason,omitempty" minLength:"1" maxLength:"1000"` // for the audit log
}

func (a *AsideID) number() (int64, error) {
	n, err := strconv.ParseInt(a.ID, 10, 64)
	if err != nil {
		return 0, fault.New(fault.NotFound, "adminapi.aside", "No such charge is set aside.")
	}
	return n, nil
}

type ledgerOperations struct {
	LedgerDeps
	console *console.Console
}

func ledgerRoutes(d LedgerDeps, c *console.Console) []operation.Operation {
	o := ledgerOperations{d, c}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/ledger", ID: "getAdminLedger", Access: operation.Operating, Tag: "administration",
			Summary: "Sums of the books, their last check, and charges set aside; for operators", Answer: "The books",
		}, o.look),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/ledger/transaction", ID: "getLedgerTransaction", Access: operation.Operating, Tag: "administration",
			Summary: "What was posted under a number, a reference, or the id of a call; for operators", Answer: "The transaction with its entries",
		}, func(ctx context.Context, _ *operation.Call, in *ledgerQuery) (out operation.Data[LedgerTransaction], err error) {
			t, err := o.Books.Transaction(ctx, strings.TrimSpace(in.Query))
			out.Data = transactionOf(&t)
			return out, err
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/ledger/check", ID: "startBookCheck", Access: operation.Operating, Status: 202, Tag: "administration",
			Summary: "Recompute each balance, charge and sum from the entries; for operators", Answer: "The check, which goes on after the answer",
			Description: "One runs at a time, on whatever node. It reads the whole ledger, and no call waits for it.",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[*BookCheck], err error) {
			k, err := o.Checks.Start(ctx, c.Actor.Name)
			out.Data = bookCheckOf(k)
			return out, err
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/ledger/check", ID: "stopBookCheck", Access: operation.Operating, Status: 204, Tag: "administration",
			Summary: "Stop the check of the books that is under way; for operators", Answer: "It ends within a few seconds",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (none operation.None, err error) {
			return none, o.Checks.Stop(ctx, c.Actor.Name)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/ledger/aside/{id}/post", ID: "postSetAside", Access: operation.Administration, Fresh: true, Status: 204, Tag: "administration",
			Summary: "Post a charge that was set aside", Answer: "It is charged",
		}, func(ctx context.Context, c *operation.Call, in *AsideID) (none operation.None, err error) {
			n, err := in.number()
			if err != nil {
				return none, err
			}
			return none, o.Books.PostAside(ctx, n, c.Actor, c.At)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/ledger/aside/{id}/dismiss", ID: "dismissSetAside", Access: operation.Administration, Fresh: true, Status: 204, Tag: "administration",
			Summary: "Dismiss a charge that was set aside: it is never charged", Answer: "It is a loss", Example: `{"reason": "the account was deleted meanwhile"}`,
		}, func(ctx context.Context, c *operation.Call, in *asideDismissal) (none operation.None, err error) {
			n, err := in.number()
			if err != nil {
				return none, err
			}
			if in.Reason == "" {
				return none, missing("reason")
			}
			return none, o.Books.DismissAside(ctx, n, in.Reason, c.Actor, c.At)
		}),
	}
}

func (o ledgerOperations) look(ctx context.Context, _ *operation.Call, _ *operation.None) (out operation.Data[AdminLedger], err error) {
	d := &out.Data
	d.Totals, d.SetAside = []LedgerTotal{}, []SetAside{}
	if totals, at := o.console.LedgerTotals(); totals != nil {
		d.Sum, d.Entries, d.TotalsAt = &totals.Sum, totals.Entries, &at
		for _, k := range totals.Kinds {
			d.Totals = append(d.Totals, LedgerTotal(k))
		}
	}
	last, err := o.Checks.Last(ctx)
	if err != nil {
		return out, err
	}
	d.Check = bookCheckOf(last)
	aside, err := o.Books.Asides(ctx)
	for i := range aside {
		a := &aside[i]
		d.AsideLost += a.Cost
		d.SetAside = append(d.SetAside, SetAside{ID: a.ID, At: a.At, Node: a.Node, Generation: accountapi.OrNull(a.Generation), Wallet: accountapi.OrNull(a.Wallet), Cost: a.Cost, Reason: a.Reason})
	}
	return out, err
}
