// Package accountapi is the part of the HTTP API that people and their programs manage an account with: each operation is declared with its
// types, and a function of the domain answers it. Package operation reads requests and writes answers; package httpapi has the server.
package accountapi

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"

	"weir/internal/account"
	"weir/internal/agent"
	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/budget"
	"weir/internal/catalog"
	"weir/internal/chat"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/notify"
	"weir/internal/operation"
	"weir/internal/organization"
	"weir/internal/ownkey"
	"weir/internal/payment"
	"weir/internal/preset"
	"weir/internal/rate"
	"weir/internal/report"
	"weir/internal/view"
	"weir/internal/voucher"
)

// Deps are what the operations work with.
type Deps struct {
	Books    ledger.Reader
	Views    *view.Manager
	Vouchers *voucher.Manager
	Payments *payment.Service // nil: payments are off
	// ReadNotice reads a notification of the provider of payments. NotifyFrom are the addresses that may send any.
	ReadNotice    func(body []byte) (payment.Notice, error)
	NotifyFrom    []netip.Prefix
	Invoices      *invoice.Manager // nil: absent
	Accounts      *account.Manager
	People        *auth.Manager                                                // nil: there is no sign-in
	Organizations *organization.Manager                                        // nil likewise
	AgentReports  ReportsOfAgents                                              // nil: none
	Agents        *agent.Manager                                               // nil likewise
	CallerOf      func(ctx context.Context, id string) (*apikey.Caller, error) // the caller of a key by its id
	History       *history.Manager
	Chats         *chat.Manager
	Presets       *preset.Manager
	Keys          *apikey.Manager
	Budgets       *budget.Manager
	// StopCalls ends the running calls of a key and of those that come from it, on all nodes.
	StopCalls func(ctx context.Context, key string) error
	Rates     Rates
	Catalog   func() *catalog.Snapshot
	Videos    Videos
	Batches   Batches // nil: there are none
	Reports   *report.Reporter
	Health    Health // nil: all endpoints take calls

	Events    *Events
	Explainer Explainer
	Refusal   func(*fault.Error) []byte // the error object of a fault

	ProviderKeys *ownkey.Manager
	// TryKey calls a provider with a key, as shortly as possible. asked is false when the provider has no model for that.
	TryKey func(ctx context.Context, provider string, own func(*catalog.Endpoint) *catalog.Endpoint) (asked bool, err *fault.Error)

	Notifications  *notify.Manager                   // nil: notifications are off
	WebhookSecrets WebhookSecrets                    // nil: events are not signed, so none are sent
	CheckCallback  func(param, address string) error // refuses addresses that must not be called; nil: none is refused

	MostRates apikey.Rates // allowances that a client may give a key

	Docs, Rankings bool         // this gateway shows its documentation, and its rankings to visitors
	Demo           func() *Demo // nil, or what it returns: this gateway is no demo
	Log            *slog.Logger
}

// Rates is what rates were set. *edit.Editor knows them.
type Rates interface {
	Rates(ctx context.Context) ([]rate.Record, error)
	DeclaredRate() rate.Declared
}

// Operations lists the operations. With empty Deps they can be described, not performed.
func Operations(d Deps) []operation.Operation {
	return slices.Concat([]operation.Operation{statement(d.Books), imports(d), whoAmI(d), setup(d)}, views(d.Views), vouchers(d.Vouchers), payments(d.Payments), invoices(d.Invoices),
		chats(d), storing(d), profiles(d), presets(d), timezones(d), providerKeys(d), notifications(d), inbox(d), webhookSecrets(d.WebhookSecrets), invitations(d.People), jobs(d), accountKeys(d), budgets(d), trees(d), preferences(d),
		sessions(d.People), devices(d), identities(d.People), passwords(d.People), emails(d.People), passkeys(d.People), proofs(d.People),
		organizations(d), signIns(d), signUps(d), links(d), visits(d), ledgers(d), usages(d), callPages(d), hiddenModels(d), overview(d), calls(d), events(d.Events), notices(d))
}
