package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/payment"
	"weir/internal/payment/yookassa"
)

// newPayments makes what takes payments; nil when nothing is configured.
func newPayments(s payment.Store, c *config.Payments, log *slog.Logger, unlease func(context.Context, string) error) (*payment.Service, error) {
	if c.Provider == "" {
		return nil, nil //nolint:nilnil // the configuration has no payments
	}
	y := &c.YooKassa
	shop := yookassa.Config{BaseURL: y.BaseURL, ShopID: y.ShopID, SecretKey: y.SecretKey.Reveal()}
	if r := &y.Receipt; r.Send {
		shop.Receipt = &yookassa.Receipt{Description: r.Description, VATCode: int(r.VATCode), TaxSystem: int(r.TaxSystem), PaymentSubject: r.PaymentSubject, PaymentMode: r.PaymentMode}
	}
	cfg := payment.Config{
		Now: time.Now, Open: int(c.MaxOpen), Test: y.Test, Receipts: y.Receipt.Send, Auto: c.AutoTopUp.Enabled, Description: c.Description, Every: c.Poll, Unlease: unlease,
		Report: func(what, id string, err error) {
			if err != nil {
				log.Warn(what, "id", id, "error", err)
				return
			}
			log.Warn(what, "id", id)
		},
	}
	var err error
	for _, a := range []struct {
		text string
		to   *money.Nano
	}{{string(c.Min), &cfg.Least}, {string(c.Max), &cfg.Most}, {string(c.AutoTopUp.MaxMonthlyCap), &cfg.AutoCap}} {
		if *a.to, err = money.Parse(a.text); err != nil {
			return nil, err
		}
	}
	for _, text := range c.Amounts {
		n, err := money.Parse(text)
		if err != nil {
			return nil, err
		}
		cfg.Amounts = append(cfg.Amounts, n)
	}
	return payment.NewService(s, yookassa.New(shop), cfg), nil
}

// makePayments makes and starts what takes payments; nil when nothing is configured.
func (g *Gateway) makePayments() (*payment.Service, error) {
	s, err := newPayments(g.store.Payments, &g.cfg.Payments, g.slog, g.book.Unlease)
	if err != nil || s == nil {
		return nil, err
	}
	s.Start()
	g.onClose(func(context.Context) { s.Stop() })
	return s, nil
}

// payments makes what takes payments, for commands.
func (o *Admin) payments() (*payment.Service, error) {
	s, err := newPayments(o.Store.Payments, &o.cfg.Payments, slog.New(slog.DiscardHandler), nil)
	if err == nil && s == nil {
		err = fmt.Errorf("no payment provider is configured; set payments.provider, see docs/payments.md")
	}
	return s, err
}

// Payments lists payments, the newest first.
func (o *Admin) Payments(ctx context.Context, q payment.Query) ([]payment.Payment, error) {
	return o.Store.Payments.Payments(ctx, q)
}

// ComparePayments compares the payments since a time with the provider's list, and brings them to what it says.
func (o *Admin) ComparePayments(ctx context.Context, since time.Time) (found []payment.Finding, seen int, paid, refunded money.Nano, err error) {
	s, err := o.payments()
	if err != nil {
		return nil, 0, 0, 0, err
	}
	return s.Compare(ctx, since)
}

// RefundPayment gives money of a payment back to the payer.
func (o *Admin) RefundPayment(ctx context.Context, g payment.Give, by audit.Actor) (payment.Refund, error) {
	s, err := o.payments()
	if err != nil {
		return payment.Refund{}, err
	}
	g.Actor = by
	return s.GiveBack(ctx, g)
}
