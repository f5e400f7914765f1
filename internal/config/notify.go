package config

import (
	"time"

	"weir/internal/notify"
)

const (
	leastCheckEvery    = 10 * time.Second
	mostMailsPerMinute = 6000
)

func (k *checker) notify() {
	n := &k.c.Notify
	for path, list := range map[string][]string{"notifications.email": n.Email, "notifications.webhook": n.Webhook} {
		for _, name := range list {
			k.oneOf(path, name, notify.CauseNames()...)
		}
	}
	if n.CheckEvery < leastCheckEvery {
		k.fail("notifications.check_every", "it must be at least %s", leastCheckEvery)
	}
	if n.MailsPerMinute < 1 || n.MailsPerMinute > mostMailsPerMinute {
		k.fail("notifications.mails_per_minute", "it must be from 1 to %d", mostMailsPerMinute)
	}
}
