package accounts_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
)

// issued makes a certificate for loopback that by vouches for, and itself where by is nil.
func issued(t *testing.T, name string, authority bool, by *tls.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: authority, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	parent, signer := c, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// A provider whose certificate nobody here knows is tested: the test names the authority, where the server shows it, and with that as its ca the
// provider works, and no other one does.
func TestAuthorityIsTrusted(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	origin, err := url.Parse(d.origin)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(certificate tls.Certificate, above ...tls.Certificate) string {
		for i := range above {
			certificate.Certificate = append(certificate.Certificate, above[i].Certificate...)
		}
		s := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(origin))
		s.TLS, s.Config.ErrorLog = &tls.Config{Certificates: []tls.Certificate{certificate}}, log.New(&bytes.Buffer{}, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.URL
	}
	root := issued(t, "Test Root CA", true, nil)
	middle := issued(t, "Test Sub CA", true, &root)
	alone := issued(t, "vllm", false, nil)
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.Server.AdminAPI, s.OwnKeys.TestsPerMinute = true, 100 })
	boss := gw.NewOwner(t, 100, apikey.NewKey{})
	if err := gw.Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	manage := func(status int, method, path string, body map[string]any) []byte {
		t.Helper()
		got := boss.Pages.Do(t, method, "/api/admin/"+path, body)
		if got.Status != status {
			t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
		}
		return got.Body
	}
	type tried struct {
		Data []struct {
			Wrong     *string
			Advice    []string
			Authority *struct{ Name, Fingerprint, PEM string }
		}
	}
	for _, tt := range []struct {
		id, address, authority string // "": the server shows none
	}{
		{"chain", serve(issued(t, "model server", false, &middle), middle), "Test Sub CA"},
		{"whole", serve(issued(t, "model server", false, &middle), middle, root), "Test Root CA"},
		{"alone", serve(alone), "vllm"},
		{"hidden", serve(issued(t, "model server", false, &root)), ""},
	} {
		t.Run(tt.id, func(t *testing.T) {
			manage(201, http.MethodPost, "providers", map[string]any{"id": tt.id, "base_url": tt.address + "/v1", "api_key": "key-0123456789"})
			manage(201, http.MethodPost, "endpoints", map[string]any{"provider": tt.id, "model": tt.id + "/chat", "upstream_id": "chat", "context_length": 8000, "prices": map[string]any{"prompt": "0.1", "completion": "0.2"}})
			got := apptest.Decode[tried](t, manage(200, http.MethodPost, "providers/"+tt.id+"/test", nil)).Data
			if len(got) != 1 || got[0].Wrong == nil || *got[0].Wrong != "address" || len(got[0].Advice) != 1 {
				t.Fatalf("%+v", got)
			}
			if tt.authority == "" {
				if got[0].Authority != nil {
					t.Errorf("it shows %+v", got[0].Authority)
				}
				manage(200, http.MethodPatch, "providers/"+tt.id, map[string]any{"ca": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate[0]}))})
			} else {
				if a := got[0].Authority; a == nil || a.Name != tt.authority || len(a.Fingerprint) != 32*3-1 {
					t.Fatalf("%+v", a)
				}
				other := issued(t, tt.authority, true, nil)
				manage(200, http.MethodPatch, "providers/"+tt.id, map[string]any{"ca": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate[0]}))})
				if again := apptest.Decode[tried](t, manage(200, http.MethodPost, "providers/"+tt.id+"/test", nil)).Data; again[0].Wrong == nil {
					t.Error("the certificate of another authority with the same name was taken")
				}
				manage(200, http.MethodPatch, "providers/"+tt.id, map[string]any{"ca": got[0].Authority.PEM})
			}
			if again := apptest.Decode[tried](t, manage(200, http.MethodPost, "providers/"+tt.id+"/test", nil)).Data; again[0].Wrong != nil {
				t.Errorf("%+v", again[0])
			}
		})
	}
	manage(400, http.MethodPatch, "providers/alone", map[string]any{"ca": "-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n"})
}
