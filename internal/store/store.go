// Package store keeps all data in a database: one implementation of the domain's interfaces, written once for both engines. It must not
// know its engine beyond what sqldb.Engine reports, and decides nothing: rules are in the domain.
package store

import (
	"time"

	"weir/internal/store/accountdb"
	"weir/internal/store/catalogdb"
	"weir/internal/store/jobdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/nodedb"
	"weir/internal/store/noticedb"
	"weir/internal/store/pagedb"
	"weir/internal/store/paymentdb"
	"weir/internal/store/sqldb"
)

// Store is an open database, by what is kept. It is safe for concurrent use.
type Store struct {
	Ledger        *ledgerdb.Ledger
	Accounts      *accountdb.Accounts
	People        *accountdb.People
	Agents        *accountdb.Agents
	Organizations *accountdb.Organizations
	Catalog       *catalogdb.Catalog
	Jobs          *jobdb.Jobs
	Payments      *paymentdb.Payments
	Pages         *pagedb.Pages
	Notices       *noticedb.Notices
	Nodes         *nodedb.Nodes

	db *sqldb.DB
}

// New makes a store of an open engine. now determines the current day, week and month.
func New(e sqldb.Engine, now func() time.Time) *Store {
	d := sqldb.Open(e, now)
	return &Store{
		Ledger: ledgerdb.New(d), Accounts: accountdb.NewAccounts(d), People: accountdb.NewPeople(d), Agents: accountdb.NewAgents(d), Organizations: accountdb.NewOrganizations(d), Catalog: catalogdb.New(d), Jobs: jobdb.New(d), Payments: paymentdb.New(d), Pages: pagedb.New(d),
		Notices: noticedb.New(d), Nodes: nodedb.New(d), db: d,
	}
}

// Close closes the database. Calls still running fail.
func (s *Store) Close() error { return s.db.Engine.Close() }
