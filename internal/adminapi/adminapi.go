// Package adminapi is the part of the HTTP API that the operators of a gateway run it with. Operations are declared like those of accounts, in
// package accountapi, whose types they show with what operators see beside.
package adminapi

import (
	"slices"

	"weir/internal/accountapi"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/console"
	"weir/internal/invoice"
	"weir/internal/operation"
	"weir/internal/payment"
	"weir/internal/reconcile"
	"weir/internal/voucher"
)

// Deps are what the operations work with.
type Deps struct {
	Editor      Editor
	Console     *console.Console
	Alerts      Alerts
	MailReady   bool // this gateway sends mails
	Ledger      LedgerDeps
	Audit       AuditLog
	Jobs        *console.Jobs
	Settings    func() ([]Setting, error) // of this node, as they are in use
	Accounts    Accounts
	Corrections Corrections
	Sales       Sales
	Fetch       PriceFetcher
	Test        Tester
	TestKey     KeyTester
	// DeclaredKeys are the keys of a provider that the configuration or the environment has.
	DeclaredKeys func(*edit.ProviderView) []DeclaredKey
	// KeyVariables are the environment variables that may hold a provider's key, and whether it needs one and has none.
	KeyVariables func(*catalog.Provider) (variables []string, missing bool)

	// Of has what the pages of an account are made of: operators see the same of others.
	Of accountapi.Deps

	Reconciliations *reconcile.Manager

	Vouchers *voucher.Manager
	Payments *payment.Service // nil: payments are off
	Invoices *invoice.Manager // nil: absent
}

// Operations lists the operations. With empty Deps they can be described, not performed.
func Operations(d Deps) []operation.Operation {
	return slices.Concat(
		reconciliations(d.Reconciliations),
		users(d.Of), userActs(d.Of), newUsers(d.Of, d.Corrections), allCalls(d.Of, keyOperations{d.Editor, d.Console, d.TestKey, d.DeclaredKeys}), failures(d.Of), sales(d.Of), endpointActivity(d), nowRoutes(d),
		priceRoutes(d),
		catalogRoutes(d), absenceRoutes(d), stateRoutes(d), []operation.Operation{providerTests(d.Test)}, providerKeyRoutes(d), rateRoutes(d),
		corrections(d.Corrections, d.Accounts), vouchers(d.Vouchers), paymentRoutes(d), invoices(d.Invoices, d.Audit),
		alertRoutes(d), auditRoutes(d.Audit, d.Console), ledgerRoutes(d.Ledger, d.Console), jobRoutes(d.Jobs, d.Audit), settingsRoutes(d.Settings, d.Editor, d.Console),
	)
}
