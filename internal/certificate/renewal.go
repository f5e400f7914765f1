package certificate

import (
	"context"
	"crypto/x509"
	"time"

	"weir/internal/loop"
)

// Start asks for the certificates, so that the first client does not wait for the authority, and a mistake shows in the log at once. Then it
// watches that they are renewed, which the library does without a word.
func (s *automatic) Start(ctx context.Context) {
	seen := map[string]*sight{}
	for _, d := range s.domains {
		seen[d] = &sight{}
	}
	for {
		pause := longestLook
		for _, d := range s.domains {
			if ctx.Err() != nil {
				return
			}
			pause = min(pause, s.look(d, seen[d]))
		}
		if loop.Wait(ctx, pause) != nil {
			return
		}
	}
}

const (
	longestLook  = time.Hour
	shortestLook = time.Second
	sayEvery     = 24 * time.Hour
)

// sight is what was seen of a certificate.
type sight struct {
	ends time.Time
	said time.Time // when it was reported that it is not renewed
	why  string    // as reported
}

// look reports a new certificate, and one that should have been renewed. It returns when to look again at the latest.
func (s *automatic) look(domain string, seen *sight) time.Duration {
	c, err := s.get(modern(domain))
	if err != nil { // which is in the log
		return leastPause
	}
	if !c.Leaf.NotAfter.Equal(seen.ends) {
		*seen = sight{ends: c.Leaf.NotAfter}
		s.refused.forget()
		s.log.Info("the certificate is there", "domain", domain, "ends", c.Leaf.NotAfter)
	}
	if left := time.Until(late(c.Leaf)); left > 0 {
		return max(left, shortestLook)
	}
	if why := s.refused.reason(); why != seen.why || time.Since(seen.said) > sayEvery {
		seen.said, seen.why = time.Now(), why
		s.log.Error("the certificate is not renewed; clients are shown the one before, until it ends", "domain", domain, "ends", c.Leaf.NotAfter, "error", why, "remedy", remedy)
	}
	left := time.Until(c.Leaf.NotAfter)
	if left < 0 {
		return leastPause
	}
	return max(left/4, shortestLook)
}

// late is when a certificate should have been replaced. The library begins when a third of its time is left, or a month, or a little later.
func late(c *x509.Certificate) time.Time {
	threshold := min(c.NotAfter.Sub(c.NotBefore)/3, 30*24*time.Hour)
	return c.NotAfter.Add(-threshold + min(threshold/2, 2*time.Hour))
}
