package webhook

import (
	"context"
	"strconv"
	"sync"
	"time"

	"weir/internal/fault"
	"weir/internal/loop"
)

// delays are the waits after failed attempts, as "Standard Webhooks" advises; after the last of them one more attempt is made, a little
// more than a day after the first.
var delays = [...]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
}

const (
	leaseBeyond   = 30 * time.Second // that a claim outlasts an attempt
	perAccount    = 2                // attempts for one account at a time, so that a slow receiver leaves room for the others
	sweepEvery    = 10 * time.Minute
	sweepAtOnce   = 1000
	sweepFor      = time.Minute // one step of it
	maxErrorBytes = 300
)

// Sender posts events. It follows no redirect, and calls no address that the rules for addresses forbid.
type Sender interface {
	// Post sends a JSON body, and returns the status of the answer and how long it asks to be left alone, 0 when it does not. It fails
	// when there was no answer, with fault.Invalid when the address may not be called at all.
	Post(ctx context.Context, url string, header map[string]string, body []byte) (status int, retryAfter time.Duration, err error)
}

// Config says how a Courier works. Its values are in package config, which has the defaults.
type Config struct {
	Now     func() time.Time
	Chance  func() float64                           // from 0 to 1, spreads retries
	Timeout time.Duration                            `constant:"timeout"` // of an attempt
	AtOnce  int                                      `constant:"at_once"` // attempts at a time, on this node
	Poll    time.Duration                            `constant:"poll"`    // between looks into the outbox
	KeepFor time.Duration                            `yaml:"keep_for"`    // deliveries are remembered after their end
	Report  func(what string, d Delivery, err error) // an event that the operator should know about; d may be zero
}

// Default is a Config with usual values.
func Default() Config {
	return Config{Timeout: 10 * time.Second, AtOnce: 8, Poll: 2 * time.Second, KeepFor: 7 * 24 * time.Hour}
}

// Courier takes deliveries from the outbox and sends them. Several may work on one outbox, on several nodes.
type Courier struct {
	cfg     Config
	outbox  Outbox
	secrets *Secrets
	sender  Sender
	looks   *loop.Loop
	slots   chan struct{} // an attempt under way has one
	under   sync.WaitGroup
	swept   time.Time // used by rounds alone
}

// NewCourier makes a Courier. It does nothing before Start.
func NewCourier(o Outbox, s *Secrets, send Sender, cfg Config) *Courier {
	c := &Courier{cfg: cfg, outbox: o, secrets: s, sender: send, slots: make(chan struct{}, cfg.AtOnce)}
	c.looks = loop.New(0, c.look)
	return c
}

// Wake makes the courier look into the outbox at once. It never blocks.
func (c *Courier) Wake() { c.looks.Wake() }

// Start starts sending due deliveries, until Stop.
func (c *Courier) Start() { c.looks.Start() }

// Stop begins no more attempts, and waits for those that are under way.
func (c *Courier) Stop() {
	c.looks.Stop()
	c.under.Wait()
}

func (c *Courier) look(ctx context.Context) time.Duration {
	c.take(ctx)
	if now := c.cfg.Now(); now.Sub(c.swept) >= sweepEvery || now.Before(c.swept) {
		c.swept = now
		c.sweep(ctx)
	}
	return c.cfg.Poll
}

// take begins attempts while there are deliveries and free slots. An attempt that ends wakes the courier, because its slot is free.
func (c *Courier) take(ctx context.Context) {
	free := cap(c.slots) - len(c.slots) // only rounds fill them
	if free == 0 {
		return
	}
	now := c.cfg.Now()
	due, err := c.outbox.ClaimDeliveries(ctx, now, now.Add(c.cfg.Timeout+leaseBeyond), perAccount, free)
	if err != nil {
		if ctx.Err() == nil {
			c.cfg.Report("webhooks cannot be read from the store", Delivery{}, err)
		}
		return
	}
	for i := range due {
		c.slots <- struct{}{}
		c.under.Go(func() {
			c.deliver(context.WithoutCancel(ctx), &due[i])
			<-c.slots
			c.Wake()
		})
	}
}

// deliver makes one attempt and records it in the outbox.
func (c *Courier) deliver(ctx context.Context, d *Delivery) {
	status, retryAfter, err := c.attempt(ctx, d)
	o := c.judge(d, status, retryAfter, err)
	if o.State == Failed {
		c.cfg.Report("a webhook was given up", *d, err)
	}
	if _, err := c.outbox.EndDelivery(ctx, d.ID, d.Fence, o); err != nil {
		c.cfg.Report("the outcome of a webhook cannot be stored", *d, err) // it is sent once more when the claim ends
	}
}

func (c *Courier) attempt(ctx context.Context, d *Delivery) (status int, retryAfter time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	secrets, err := c.secrets.signing(ctx, d.Account)
	if err != nil {
		return 0, 0, notOurs(err)
	}
	now := c.cfg.Now()
	signature, err := Signature(secrets, d.ID, now, d.Payload)
	if err != nil {
		return 0, 0, err
	}
	return c.sender.Post(ctx, d.URL, map[string]string{
		"webhook-id": d.ID, "webhook-timestamp": strconv.FormatInt(now.Unix(), 10), "webhook-signature": signature,
	}, d.Payload)
}

// notOurs keeps a failure to get the secret apart from an address that may not be called: the first passes.
func notOurs(err error) error { return fault.Wrap("webhook.attempt", err) }

// judge decides what follows an attempt: 2xx is done, 410 and forbidden addresses are given up, everything else is tried again while
// there is a delay left.
func (c *Courier) judge(d *Delivery, status int, retryAfter time.Duration, err error) Outcome {
	o := Outcome{State: Pending, At: c.cfg.Now(), Status: status}
	switch {
	case err != nil:
		o.Error = err.Error()
		o.Error = o.Error[:min(len(o.Error), maxErrorBytes)]
		if fault.From(err).Kind == fault.Invalid {
			o.State = Failed
		}
	case status/100 == 2:
		o.State = Delivered
	case status == 410:
		o.State = Failed
		fallthrough
	default:
		o.Error = "status " + strconv.Itoa(status)
	}
	if o.State != Pending {
		return o
	}
	if d.Attempts > len(delays) {
		o.State = Failed
		return o
	}
	wait := delays[max(d.Attempts, 1)-1]
	wait += time.Duration(float64(wait) / 10 * c.cfg.Chance()) // so that a receiver that is available again does not get all retries at once
	o.NextAt = o.At.Add(max(wait, min(retryAfter, delays[len(delays)-1])))
	return o
}

func (c *Courier) sweep(ctx context.Context) {
	err := loop.Sweep(ctx, sweepFor, sweepAtOnce, func(ctx context.Context, most int) (int, error) {
		return c.outbox.SweepDeliveries(ctx, c.cfg.Now().Add(-c.cfg.KeepFor), most)
	})
	if err != nil && ctx.Err() == nil {
		c.cfg.Report("old webhooks cannot be removed from the store", Delivery{}, err)
	}
}
