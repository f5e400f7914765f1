package app

import (
	"cmp"
	"context"
	"io"

	"weir/internal/money"
	"weir/internal/report"
	"weir/internal/store/ledgerdb"
)

// atRest are the books without a node: calls that are still in the journal of one are not among them.
type atRest struct{ *ledgerdb.Ledger }

func (atRest) CatchUp(context.Context) (late, err error) { return nil, nil }
func (atRest) Running(string) (int, money.Nano)          { return 0, 0 }

// Sold sums sales up as the page of operators does.
func (o *Admin) Sold(ctx context.Context, q report.SalesQuery) (*report.Sold, error) {
	return report.New(o.Store.Ledger, atRest{o.Store.Ledger}).Sold(ctx, q)
}

// WriteSales writes sales as the file of that page.
func (o *Admin) WriteSales(ctx context.Context, q report.SalesQuery, to io.Writer) error {
	var s report.Sheet
	s.Texts(report.SalesHeader...)
	s.End()
	err := report.New(o.Store.Ledger, atRest{o.Store.Ledger}).EachSale(ctx, q, func(rows []report.SaleDay) (bool, error) {
		owners, err := o.Owners(ctx, report.WalletsOf(rows))
		if err != nil {
			return false, err
		}
		for i := range rows {
			owner := owners[rows[i].Wallet]
			rows[i].Cells(&s, cmp.Or(owner.ID, rows[i].Wallet), owner.Name)
			s.End()
		}
		_, err = to.Write(s.Bytes)
		s.Bytes = s.Bytes[:0]
		return true, err
	})
	if err == nil {
		_, err = to.Write(s.Bytes)
	}
	return err
}

// Owners are the users of wallets.
func (o *Admin) Owners(ctx context.Context, wallets []string) (map[string]report.Named, error) {
	return o.Store.Ledger.Names(ctx, report.UsersByWallet, wallets)
}
