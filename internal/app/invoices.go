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
	return newInvoices(g.store, &g.cfg.Invoices, g.book.Unlease)
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
func (o *Office) Invoices() (*invoice.Manager, error) {
	m, err := newInvoices(o.Store, &o.cfg.Invoices, nil)
	if err == nil && m == nil {
		err = errors.New("invoices are not enabled; set invoices.enabled and invoices.seller, see docs/invoices.md")
	}
	return m, err
}

// PrintInvoice prints an invoice, by its number or id, or an act by its id.
func (o *Office) PrintInvoice(ctx context.Context, m *invoice.Manager, name string) ([]byte, error) {
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
	if v.Enabled || v.Seller != (config.Seller{}) {
		return
	}
	v.Enabled = true
	v.Seller = config.Seller{
		Name: "ООО «Пример» (демонстрация, не оплачивайте)", INN: "9900000017", KPP: "990001001", Address: "г. Москва, ул. Примерная, д. 1", Bank: "Банк «Пример», г. Москва", BIK: "000000000",
		Account: "40702810900000000001", CorrespondentAccount: "30101810800000000000", Director: "Примерова А. А.", Accountant: "Образцов Б. Б.",
	}
}
