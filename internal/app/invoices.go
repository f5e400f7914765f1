package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"weir/internal/config"
	"weir/internal/invoice"
	"weir/internal/report/paper"
)

// makeInvoices makes what makes invoices; nil when they are not enabled.
func (g *Gateway) makeInvoices() (*invoice.Manager, error) {
	m, err := newInvoices(g.store.Payments, &g.cfg.Invoices, g.book.Unlease)
	if err == nil {
		g.closeMonths(m)
	}
	return m, err
}

func newInvoices(s invoice.Store, c *config.Invoices, unlease func(context.Context, string) error) (*invoice.Manager, error) {
	if !c.Enabled {
		return nil, nil //nolint:nilnil // the configuration has no invoices
	}
	with, err := c.Manager(time.Now)
	if err != nil {
		return nil, err
	}
	with.Unlease = unlease
	return invoice.NewManager(s, with), nil
}

// Invoices is what makes invoices, for commands.
func (o *Admin) Invoices() (*invoice.Manager, error) {
	m, err := newInvoices(o.Store.Payments, &o.cfg.Invoices, nil)
	if err == nil && m == nil {
		err = errors.New("invoices are not enabled; set invoices.enabled and invoices.seller, see docs/invoices.md")
	}
	return m, err
}

// PrintInvoice prints an invoice, by its number or id, or an act by its id.
func (o *Admin) PrintInvoice(ctx context.Context, m *invoice.Manager, name string) ([]byte, error) {
	if strings.HasPrefix(name, "act_") {
		a, err := m.Act(ctx, name, "")
		if err != nil {
			return nil, err
		}
		return paper.Act(&a)
	}
	i, err := m.Named(ctx, name)
	if err != nil {
		return nil, err
	}
	return paper.Invoice(&i)
}

// demoInvoices makes a seller that does not exist, unless a real one is configured.
func demoInvoices(cfg *config.Config) {
	v := &cfg.Invoices
	if v.Enabled || v.Seller != (invoice.Seller{}) {
		return
	}
	v.Enabled = true
	v.Seller = invoice.Seller{
		Name: "ООО «Пример» (демонстрация, не оплачивайте)", INN: "0099887766", KPP: "009901001", Address: "г. Москва, ул. Примерная, д. 1", Bank: "Банк «Пример», г. Москва", BIK: "000000000",
		Account: "40702810900000000001", Correspondent: "30101810800000000000", Director: "Примерова А. А.", Accountant: "Образцов Б. Б.",
	}
}

// closeMonths has the acts of each month made when it can be closed.
func (g *Gateway) closeMonths(m *invoice.Manager) {
	if m == nil {
		return
	}
	g.keep(m.NewCloser(func(account string, made []invoice.Act, err error) {
		switch {
		case err != nil:
			g.slog.Error("acts could not be made", "account", account, "error", err)
		default:
			g.slog.Info("acts are made", "account", account, "acts", len(made), "month", made[len(made)-1].Month)
		}
	}).Loop())
}
