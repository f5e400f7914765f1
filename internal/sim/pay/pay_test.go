package pay_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/sim/pay"
)

// The page of a payment shows what a shop wrote of it as text, whatever it is.
func TestPage(t *testing.T) {
	t.Parallel()
	shop := pay.New(pay.Config{ShopID: "1", SecretKey: "s", Now: time.Now})
	r := httptest.NewRequest("POST", "/v3/payments", strings.NewReader(`{"amount":{"value":"1500.05","currency":"RUB"},"description":"<b>1</b> & \"2\"",
		"confirmation":{"type":"redirect","return_url":"http://127.0.0.1/back"}}`))
	r.SetBasicAuth("1", "s")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotence-Key", "k")
	made := httptest.NewRecorder()
	shop.ServeHTTP(made, r)
	if len(shop.Payments()) != 1 {
		t.Fatal(made.Body)
	}
	w := httptest.NewRecorder()
	shop.ServeHTTP(w, httptest.NewRequest("GET", "/pay/"+shop.Payments()[0].ID, nil))
	for _, want := range []string{"<p>&lt;b&gt;1&lt;/b&gt; &amp; &#34;2&#34;: <b>1500.05 RUB</b></p>", `<button name="do" value="pay">Pay</button>`, "5555&nbsp;5555", "body{font:16px/1.5 sans-serif;"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s is missing:\n%s", want, w.Body)
		}
	}
}
