// Package certificatetest makes certificates for tests.
package certificatetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"time"
)

// Write writes a certificate for names and addresses, good from an hour ago until then, and its key. Who trusts the roots that it returns
// trusts it. It panics on an error, such as a full disk.
func Write(cert, key string, until time.Time, names ...string) *x509.CertPool {
	private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := describe(until, names)
	template.IsCA, template.KeyUsage = true, template.KeyUsage|x509.KeyUsageCertSign
	public := inPEM(must(x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)))
	write(cert, key, public, private)
	return trusting(public)
}

// WriteSigned writes a certificate as Write does, which an authority has signed whose own certificate is good until authorityUntil and
// follows in the file, unless alone is set. The roots are that authority.
func WriteSigned(cert, key string, until, authorityUntil time.Time, alone bool, names ...string) *x509.CertPool {
	authorityKey, private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	authority := describe(authorityUntil, nil)
	authority.Subject.CommonName = "an authority"
	authority.IsCA, authority.KeyUsage = true, x509.KeyUsageCertSign
	its := inPEM(must(x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)))
	public := inPEM(must(x509.CreateCertificate(rand.Reader, describe(until, names), authority, &private.PublicKey, authorityKey)))
	if !alone {
		public = append(public, its...)
	}
	write(cert, key, public, private)
	return trusting(its)
}

func describe(until time.Time, names []string) *x509.Certificate {
	template := x509.Certificate{
		SerialNumber: must(rand.Int(rand.Reader, big.NewInt(1<<62))), NotBefore: time.Now().Add(-time.Hour), NotAfter: until, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	return &template
}

func inPEM(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}) }

func write(cert, key string, public []byte, private *ecdsa.PrivateKey) {
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(private))})
	if err := errors.Join(os.WriteFile(cert, public, 0o600), os.WriteFile(key, secret, 0o600)); err != nil {
		panic(err)
	}
}

func trusting(public []byte) *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(public)
	return roots
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
