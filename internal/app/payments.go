package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/outbound/tunnel"
	"weir/internal/payment"
	"weir/internal/payment/yookassa"
)

// newPayments makes what takes payments; nil when nothing is configured.
func newPayments(s payment.Store, c *config.Payments, d *tunnel.Dialer, log *slog.Logger, unlease func(context.Context, string) error) *payment.Service {
	if c.Provider == "" {
		return nil
	}
	cfg := c.Config
	cfg.Now, cfg.Test, cfg.Receipts, cfg.Unlease = time.Now, c.YooKassa.Test, c.YooKassa.Receipt.Send, unlease
	cfg.Report = func(what, id string, err error) {
		if err != nil {
			log.Warn(what, "id", id, "error", err)
			return
		}
		log.Warn(what, "id", id)
	}
	shop := c.YooKassa
	shop.Dial = d.DialContext
	return payment.NewService(s, yookassa.New(shop), cfg)
}

// makePayments makes and starts what takes payments; nil when nothing is configured.
func (g *Gateway) makePayments() *payment.Service {
	s := newPayments(g.store.Payments, &g.cfg.Payments, g.dialer, g.slog, g.book.Unlease)
	if s != nil {
		s.Start()
		g.onClose(func(context.Context) { s.Stop() })
	}
	return s
}

// payments makes what takes payments, for commands.
func (o *Admin) payments() (*payment.Service, error) {
	s := newPayments(o.Store.Payments, &o.cfg.Payments, dialerOf(&o.cfg), slog.New(slog.DiscardHandler), nil)
	if s == nil {
		return nil, errors.New("no payment provider is configured; set payments.provider, see docs/payments.md")
	}
	return s, nil
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
