package yookassa_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/payment"
	"weir/internal/payment/yookassa"
	"weir/internal/secret"
)

// server answers each request with a status and a body, and keeps what it was asked.
type server struct {
	status  int
	body    string
	asked   *http.Request
	content string
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked, s.content = r, ""
	if r.Body != nil {
		b, _ := io.ReadAll(r.Body)
		s.content = string(b)
	}
	w := httptest.NewRecorder()
	w.WriteHeader(s.status)
	_, _ = w.WriteString(s.body)
	return w.Result(), nil
}

func shop(s *server, r yookassa.Receipt) *yookassa.Shop {
	return yookassa.New(yookassa.Config{ShopID: "100500", SecretKey: secret.New("live_secret"), HTTP: s, Receipt: r})
}

// answered is the answer of the reference, to a payment of this shop.
const answered = `{"id":"23d93cac-000f-5000-8000-126628f15141","status":"pending","paid":false,"amount":{"value":"100.00","currency":"RUB"},
	"confirmation":{"type":"redirect","confirmation_url":"https://yoomoney.ru/api-pages/v2/payment-confirm/epl?orderId=23d93cac-000f-5000-8000-126628f15141"},
	"created_at":"2019-01-22T14:30:45.129Z","description":"Order 1","metadata":{"weir_payment":"pay_1"},"recipient":{"account_id":"100500","gateway_id":"100700"},"refundable":false,"test":false}`

func TestCreate(t *testing.T) {
	t.Parallel()
	s := &server{status: 200, body: answered}
	x, err := shop(s, yookassa.Receipt{Send: true, Description: "Access", VATCode: 11, TaxSystem: 2, PaymentSubject: "service", PaymentMode: "advance"}).Create(t.Context(),
		payment.Order{Key: "pay_1", Amount: 100*money.Ruble + money.Ruble/10, Description: "Top-up", ReturnURL: "https://weir.example.org/", Email: "anna@example.org", Save: true})
	if err != nil {
		t.Fatal(err)
	}
	want := payment.Remote{ID: "23d93cac-000f-5000-8000-126628f15141", Reference: "pay_1", State: payment.RemotePending, Amount: 100 * money.Ruble, Currency: "RUB",
		URL: "https://yoomoney.ru/api-pages/v2/payment-confirm/epl?orderId=23d93cac-000f-5000-8000-126628f15141", CreatedAt: time.Date(2019, 1, 22, 14, 30, 45, 129e6, time.UTC)}
	if d := cmp.Diff(want, x); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	const body = `{"amount":{"value":"100.10","currency":"RUB"},"capture":true,"description":"Top-up","confirmation":{"type":"redirect","return_url":"https://weir.example.org/"},` +
		`"save_payment_method":true,"metadata":{"weir_payment":"pay_1"},"receipt":{"customer":{"email":"anna@example.org"},"items":[{"description":"Access","quantity":1.000,` +
		`"amount":{"value":"100.10","currency":"RUB"},"vat_code":11,"payment_subject":"service","payment_mode":"advance"}],"tax_system_code":2}}`
	if s.content != body {
		t.Errorf("sent %s", s.content)
	}
	id, secret, _ := s.asked.BasicAuth()
	if id != "100500" || secret != "live_secret" || s.asked.Header.Get("Idempotence-Key") != "pay_1" || s.asked.URL.String() != "https://api.yookassa.ru/v3/payments" {
		t.Errorf("asked %s with %v", s.asked.URL, s.asked.Header)
	}
	if _, err := shop(s, yookassa.Receipt{}).Create(t.Context(), payment.Order{Key: "pay_1", Amount: money.Ruble, Method: "saved"}); err != nil || !strings.Contains(s.content, `"payment_method_id":"saved"`) || strings.Contains(s.content, "confirmation") {
		t.Errorf("with a saved method: %v, %s", err, s.content)
	}
}

// Answers that must not be taken for money.
func TestImplausible(t *testing.T) {
	t.Parallel()
	paid := strings.Replace(strings.Replace(answered, `"pending"`, `"succeeded"`, 1), `"paid":false`, `"paid":true`, 1)
	if x, err := shop(&server{status: 200, body: paid}, yookassa.Receipt{}).Payment(t.Context(), "x"); err != nil || x.State != payment.RemoteSucceeded {
		t.Fatalf("%v, %v", x, err)
	}
	for name, body := range map[string]string{
		"not paid":            strings.Replace(paid, `"paid":true`, `"paid":false`, 1),
		"another shop":        strings.Replace(paid, `"100500"`, `"100501"`, 1),
		"an unknown status":   strings.Replace(paid, `"succeeded"`, `"done"`, 1),
		"no id":               strings.Replace(paid, `"id":"23d93cac-000f-5000-8000-126628f15141"`, `"id":""`, 1),
		"an amount in words":  strings.Replace(paid, `"100.00"`, `"1e9"`, 1),
		"an amount below 0":   strings.Replace(paid, `"100.00"`, `"-1.00"`, 1),
		"an amount as number": strings.Replace(paid, `"100.00"`, `100.00`, 1),
		"a script as address": strings.Replace(paid, `https://yoomoney.ru`, `javascript:alert(1)//`, 1),
		"no object":           `[]`,
		"half":                paid[:len(paid)-1],
		"a name twice":        strings.Replace(paid, `"paid":true`, `"paid":true,"paid":true`, 1),
	} {
		if x, err := shop(&server{status: 200, body: body}, yookassa.Receipt{}).Payment(t.Context(), "x"); !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%s: %v, %v", name, x, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]fault.Kind{400: fault.Unprocessable, 401: fault.PermissionDenied, 403: fault.PermissionDenied, 404: fault.NotFound, 429: fault.ProviderOverloaded, 500: fault.ProviderUnavailable,
		502: fault.ProviderUnavailable, 302: fault.ProviderUnavailable} {
		s := &server{status: status, body: `{"type":"error","code":"invalid_request","description":"Wrong amount","parameter":"amount"}`}
		_, err := shop(s, yookassa.Receipt{}).Refund(t.Context(), payment.RefundOrder{Key: "rfd_1", Payment: "x", Amount: money.Ruble})
		if !fault.Is(err, kind) || strings.Contains(err.Error(), "live_secret") || !strings.Contains(fault.From(err).Public, "Wrong amount") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestNotice(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]payment.Notice{
		`{"type":"notification","event":"payment.succeeded","object":{"id":"22d6d597-000f-5000-9000-145f6df21d6f","status":"succeeded"}}`: {Payment: "22d6d597-000f-5000-9000-145f6df21d6f"},
		`{"event":"refund.succeeded","object":{"id":"r-1","payment_id":"p-1"}}`:                                                           {Payment: "p-1", Refund: "r-1"},
		`{"event":"payout.succeeded","object":{"id":"r-1"}}`:                                                                              {},
		`{"event":"payment.succeeded","object":{"id":"../../v3/me"}}`:                                                                     {},
		`{"event":"payment.succeeded","object":{"id":5}}`:                                                                                 {},
		`{"event":"refund.succeeded","object":{"id":"r-1"}}`:                                                                              {},
		`[]`: {}, `{`: {}, ``: {},
	} {
		got, err := yookassa.ReadNotice([]byte(body))
		if (err != nil) != (want == payment.Notice{}) || err == nil && got != want {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
}

func FuzzReadNotice(f *testing.F) {
	f.Add([]byte(`{"event":"refund.succeeded","object":{"id":"r-1","payment_id":"p-1"}}`))
	f.Add([]byte(answered))
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := yookassa.ReadNotice(body)
		if err == nil && (n.Payment == "" || strings.ContainsAny(n.Payment+n.Refund, "/?#% ")) {
			t.Errorf("%q", n)
		}
	})
}

// Whatever the provider answers, a payment that counts as paid has an id and a plausible amount.
func FuzzPayment(f *testing.F) {
	f.Add([]byte(answered))
	f.Fuzz(func(t *testing.T, body []byte) {
		x, err := shop(&server{status: 200, body: string(body)}, yookassa.Receipt{}).Payment(t.Context(), "x")
		if err == nil && (x.ID == "" || x.Amount < 0 || x.State == 0) {
			t.Errorf("%v", x)
		}
	})
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	for n, want := range map[money.Nano]string{money.Ruble / 100: "0.01", 10 * money.Ruble: "10.00", 1234*money.Ruble + 5*money.Ruble/100: "1234.05", 100_000 * money.Ruble: "100000.00"} {
		if got := yookassa.Decimal(n); got != want {
			t.Errorf("%s: %s", n, got)
		}
	}
}
