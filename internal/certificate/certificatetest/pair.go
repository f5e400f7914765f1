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
// trusts it. It panics on an error: there is none but a full disk.
func Write(cert, key string, until time.Time, names ...string) *x509.CertPool {
	private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := x509.Certificate{
		SerialNumber: must(rand.Int(rand.Reader, big.NewInt(1<<62))), NotBefore: time.Now().Add(-time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: must(x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private))})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(private))})
	if err := errors.Join(os.WriteFile(cert, public, 0o600), os.WriteFile(key, secret, 0o600)); err != nil {
		panic(err)
	}
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
