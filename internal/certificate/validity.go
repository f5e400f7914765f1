package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"weir/internal/loop"
)

// Validity is from when until when a certificate is good. Both are zero without a certificate.
type Validity struct{ From, Until time.Time }

// validity is that of a certificate and of the one that signed it, if it comes along: clients check both. Others that come along may have
// ended: clients go another way around them.
func validity(c *tls.Certificate) Validity {
	v := Validity{c.Leaf.NotBefore, c.Leaf.NotAfter}
	if len(c.Certificate) > 1 {
		if by, err := x509.ParseCertificate(c.Certificate[1]); err == nil && c.Leaf.CheckSignatureFrom(by) == nil && by.NotAfter.Before(v.Until) {
			v.Until = by.NotAfter
		}
	}
	return v
}

// Verdict is what clients think of a certificate.
type Verdict int

// The verdicts, from good to bad.
const (
	Fine    Verdict = iota
	Soon            // clients will refuse it soon
	Refused         // clients refuse it
)

// Judge says what clients think of a certificate at a time, and why. name "" is not checked.
func Judge(c *tls.Certificate, name string, now time.Time) (Verdict, string) {
	if c.Leaf == nil {
		return Refused, "it has no certificate"
	}
	v := validity(c)
	switch {
	case now.After(v.Until):
		return Refused, "it ended on " + day(v.Until)
	case now.Before(v.From):
		return Refused, "it begins only on " + day(v.From)
	case name != "" && c.Leaf.VerifyHostname(name) != nil:
		return Refused, "it is not for " + name
	case v.Until.Sub(now) < min(endsSoon, v.Until.Sub(v.From)/4):
		return Soon, "it ends on " + day(v.Until)
	}
	return Fine, ""
}

// endsSoon is the time that a renewal should not leave. Certificates of a few days are renewed when a third of their time is left.
const endsSoon = 14 * 24 * time.Hour

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Unknown says why a machine whose authorities are roots does not trust a certificate at a time, "" when it does. roots nil are the system's.
func Unknown(c *tls.Certificate, roots *x509.CertPool, now time.Time) string {
	between := x509.NewCertPool()
	for _, der := range c.Certificate[1:] {
		if one, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(one)
		}
	}
	_, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now})
	switch {
	case err == nil:
		return ""
	case c.Leaf.CheckSignatureFrom(c.Leaf) == nil || c.Leaf.Issuer.String() == c.Leaf.Subject.String():
		return "it is signed by itself"
	case len(c.Certificate) == 1:
		return fmt.Sprintf("%s signed it, which this machine does not know and whose certificate is not in the file", c.Leaf.Issuer)
	}
	return err.Error()
}

// Kept reads the certificate that an authority gave out for a domain, from the folder of FromAuthority. It fails with fs.ErrNotExist when there
// is none yet.
func Kept(folder, domain string) (*tls.Certificate, error) {
	both, err := os.ReadFile(filepath.Join(folder, domain)) // key and certificates in one file, as autocert.DirCache keeps them
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(both, both)
	if err != nil {
		return nil, err
	}
	return &pair, nil
}

// Shown are the certificates that clients are shown, by the file's path or the domain.
func (f *Files) Shown() map[string]Validity {
	return map[string]Validity{f.cert: validity(f.current())}
}

// Shown are those of the domains.
func (s *automatic) Shown() map[string]Validity {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]Validity{}
	for _, d := range s.domains {
		out[d] = s.shown[d]
	}
	return out
}

// Start logs until ctx ends when the certificate is no longer good, or will soon not be: its renewal may have failed unseen.
func (f *Files) Start(ctx context.Context) {
	var said time.Time
	var before string
	for {
		now := f.now()
		verdict, why := Judge(f.current(), f.host, now)
		if verdict != Fine && (why != before || now.Sub(said) >= sayEvery) {
			said, before = now, why
			level, text := f.log.Warn, "clients will soon refuse the certificate"
			if verdict == Refused {
				level, text = f.log.Error, "clients refuse the certificate"
			}
			level(text, "file", f.cert, "error", why, "remedy", "put a new certificate and its key into the files; they are read without a restart")
		}
		if verdict == Fine {
			before = ""
		}
		if loop.Wait(ctx, longestLook) != nil {
			return
		}
	}
}
