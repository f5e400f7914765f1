package config

import (
	"time"

	"weir/internal/money"
	"weir/internal/notify"
)

const (
	leastCheckEvery    = 10 * time.Second
	mostMailsPerMinute = 6000
)

func (k *checker) notify() {
	n := &k.c.Notify
	names := make([]string, 0, len(notify.Causes))
	for _, c := range notify.Causes {
		names = append(names, string(c))
	}
	for path, list := range map[string][]string{"notifications.email": n.Email, "notifications.webhook": n.Webhook} {
		for _, name := range list {
			k.oneOf(path, name, names...)
		}
	}
	if k.rubles("notifications.threshold", n.Threshold) < 0 {
		k.fail("notifications.threshold", "it must not be below 0; 0 leaves only the days that a balance lasts")
	}
	if n.CheckEvery < leastCheckEvery {
		k.fail("notifications.check_every", "it must be at least %s", leastCheckEvery)
	}
	if n.MailsPerMinute < 1 || n.MailsPerMinute > mostMailsPerMinute {
		k.fail("notifications.mails_per_minute", "it must be from 1 to %d", mostMailsPerMinute)
	}
}

// Defaults are the switches without a choice of the person's. It is only called of a configuration that is valid.
func (n *Notify) Defaults() notify.Choices {
	return notify.NewChoices(causes(n.Email), causes(n.Webhook))
}

func causes(names []string) (list []notify.Cause) {
	for _, name := range names {
		list = append(list, notify.Cause(name))
	}
	return list
}

// Low is the threshold of a low balance without a choice of the person's. It is only called of a configuration that is valid.
func (n *Notify) Low() (money.Nano, error) { return money.Parse(string(n.Threshold)) }
