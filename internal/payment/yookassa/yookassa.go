// Package yookassa speaks the API of YooKassa, version 3: payments that are confirmed on its pages, payments with saved methods, refunds,
// and receipts by the federal law 54-FZ. It decides nothing about money, and keeps no state.
package yookassa

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/payment"
	"weir/internal/rawjson"
	"weir/internal/secret"
)

// Name is the provider's name, and the source of its top-ups.
const Name = "yookassa"

// BaseURL is the address of the API.
const BaseURL = "https://api.yookassa.ru/v3"

// Config is a shop.
type Config struct {
	ShopID     string      `yaml:"shop_id"`
	SecretKey  secret.Text `yaml:"secret_key"`
	Test       bool        `yaml:"test"` // the shop is for tests, and its play money is credited
	BaseURL    string      `yaml:"base_url"`
	NotifyFrom []string    `yaml:"notify_from"` // addresses or prefixes
	Receipt    Receipt     `yaml:"receipt"`

	HTTP http.RoundTripper                                                    // nil: the usual one
	Dial func(ctx context.Context, network, address string) (net.Conn, error) // where HTTP is nil; nil: directly
}

// Default is the configuration of a shop without a name.
func Default() Config {
	return Config{
		BaseURL:    BaseURL,
		NotifyFrom: []string{"185.71.76.0/27", "185.71.77.0/27", "77.75.153.0/25", "77.75.156.11", "77.75.156.35", "77.75.154.128/25", "2a02:5180::/32"},
		Receipt:    Receipt{Description: "Access to models, prepaid", VATCode: 1, PaymentSubject: "service", PaymentMode: "advance"},
	}
}

// Receipt is what receipts say of a top-up. The values are those of the provider's "Parameters of a receipt".
type Receipt struct {
	Send           bool   `yaml:"send"` // the shop sends receipts through this API
	Description    string `yaml:"description"`
	VATCode        int    `yaml:"vat_code"`
	TaxSystem      int    `yaml:"tax_system"` // 0: not sent, the shop has one
	PaymentSubject string `yaml:"payment_subject"`
	PaymentMode    string `yaml:"payment_mode"`
}

// Shop is a payment.Provider.
type Shop struct {
	cfg    Config
	client *http.Client
}

var _ payment.Provider = (*Shop)(nil)

// New makes a Shop.
func New(c Config) *Shop {
	if c.BaseURL == "" {
		c.BaseURL = BaseURL
	}
	if c.HTTP == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.Proxy = nil
		if c.Dial != nil {
			t.DialContext = c.Dial
		}
		t.MaxIdleConnsPerHost, t.ResponseHeaderTimeout = 4, 30*time.Second
		c.HTTP = t
	}
	return &Shop{cfg: c, client: &http.Client{Transport: c.HTTP, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Name is payment.Provider.Name.
func (s *Shop) Name() string { return Name }

const (
	maxAnswer   = 4 << 20
	pageSize    = 100
	maxPages    = 1000
	maxText     = 128 // of descriptions, in characters
	reference   = "weir_payment"
	refundStart = "weir "
)

func amount(w *rawjson.Writer, name string, n money.Nano) {
	w.Name(name).Object()
	w.Name("value").Text(Decimal(n))
	w.Name("currency").Text("RUB")
	w.EndObject()
}

// Decimal writes an amount as the API wants it: with two digits after the point. The amount must be whole kopecks.
func Decimal(n money.Nano) string {
	kopecks := int64(n / (money.Ruble / 100))
	return fmt.Sprintf("%d.%02d", kopecks/100, kopecks%100)
}

// Create is payment.Provider.Create.
func (s *Shop) Create(ctx context.Context, o payment.Order) (payment.Remote, error) {
	var w rawjson.Writer
	w.Object()
	amount(&w, "amount", o.Amount)
	w.Name("capture").Bool(true)
	w.Name("description").Text(short(o.Description, maxText))
	if o.Method != "" {
		w.Name("payment_method_id").Text(o.Method)
	} else {
		w.Name("confirmation").Object()
		w.Name("type").Text("redirect")
		w.Name("return_url").Text(o.ReturnURL)
		w.EndObject()
	}
	if o.Save {
		w.Name("save_payment_method").Bool(true)
	}
	w.Name("metadata").Object()
	w.Name(reference).Text(o.Key)
	w.EndObject()
	s.receipt(&w, o.Amount, o.Email)
	w.EndObject()
	body, err := s.ask(ctx, http.MethodPost, "/payments", o.Key, w.B)
	if err != nil {
		return payment.Remote{}, err
	}
	return s.payment(body)
}

// receipt adds the receipt of one position, if the shop sends any.
func (s *Shop) receipt(w *rawjson.Writer, n money.Nano, email string) {
	r := &s.cfg.Receipt
	if !r.Send || email == "" {
		return
	}
	w.Name("receipt").Object()
	w.Name("customer").Object()
	w.Name("email").Text(email)
	w.EndObject()
	w.Name("items").Array()
	w.Object()
	w.Name("description").Text(short(r.Description, maxText))
	w.Name("quantity").Literal("1.000")
	amount(w, "amount", n)
	w.Name("vat_code").Int(int64(r.VATCode))
	w.Name("payment_subject").Text(r.PaymentSubject)
	w.Name("payment_mode").Text(r.PaymentMode)
	w.EndObject()
	w.EndArray()
	if r.TaxSystem != 0 {
		w.Name("tax_system_code").Int(int64(r.TaxSystem))
	}
	w.EndObject()
}

// Payment is payment.Provider.Payment.
func (s *Shop) Payment(ctx context.Context, id string) (payment.Remote, error) {
	body, err := s.ask(ctx, http.MethodGet, "/payments/"+url.PathEscape(id), "", nil)
	if err != nil {
		return payment.Remote{}, err
	}
	return s.payment(body)
}

// Capture is payment.Provider.Capture.
func (s *Shop) Capture(ctx context.Context, id, key string, n money.Nano) (payment.Remote, error) {
	var w rawjson.Writer
	w.Object()
	amount(&w, "amount", n)
	w.EndObject()
	body, err := s.ask(ctx, http.MethodPost, "/payments/"+url.PathEscape(id)+"/capture", key, w.B)
	if err != nil {
		return payment.Remote{}, err
	}
	return s.payment(body)
}

// Cancel gives up a payment that waits for capture.
func (s *Shop) Cancel(ctx context.Context, id, key string) (payment.Remote, error) {
	body, err := s.ask(ctx, http.MethodPost, "/payments/"+url.PathEscape(id)+"/cancel", key, []byte("{}"))
	if err != nil {
		return payment.Remote{}, err
	}
	return s.payment(body)
}

// Refund is payment.Provider.Refund. The receipt of a whole refund is made by the provider from that of the payment.
func (s *Shop) Refund(ctx context.Context, o payment.RefundOrder) (payment.RemoteRefund, error) {
	var w rawjson.Writer
	w.Object()
	w.Name("payment_id").Text(o.Payment)
	amount(&w, "amount", o.Amount)
	w.Name("description").Text(refundStart + o.Key)
	if !o.Whole {
		s.receipt(&w, o.Amount, o.Email)
	}
	w.EndObject()
	body, err := s.ask(ctx, http.MethodPost, "/refunds", o.Key, w.B)
	if err != nil {
		return payment.RemoteRefund{}, err
	}
	return refund(body)
}

// RefundByID is payment.Provider.RefundByID.
func (s *Shop) RefundByID(ctx context.Context, id string) (payment.RemoteRefund, error) {
	body, err := s.ask(ctx, http.MethodGet, "/refunds/"+url.PathEscape(id), "", nil)
	if err != nil {
		return payment.RemoteRefund{}, err
	}
	return refund(body)
}

// Refunds is payment.Provider.Refunds.
func (s *Shop) Refunds(ctx context.Context, id string) (all []payment.RemoteRefund, err error) {
	err = s.pages(ctx, "/refunds", url.Values{"payment_id": {id}}, func(item []byte) (bool, error) {
		r, err := refund(item)
		all = append(all, r)
		return true, err
	})
	return all, err
}

// List is payment.Provider.List.
func (s *Shop) List(ctx context.Context, since time.Time, each func(payment.Remote) bool) error {
	q := url.Values{"created_at.gte": {since.UTC().Format("2006-01-02T15:04:05.000Z")}}
	return s.pages(ctx, "/payments", q, func(item []byte) (bool, error) {
		p, err := s.payment(item)
		return err == nil && each(p), err
	})
}

func (s *Shop) pages(ctx context.Context, path string, q url.Values, each func(item []byte) (bool, error)) error {
	q.Set("limit", strconv.Itoa(pageSize))
	for range maxPages {
		body, err := s.ask(ctx, http.MethodGet, path+"?"+q.Encode(), "", nil)
		if err != nil {
			return err
		}
		for e := rawjson.ElementsOf(rawjson.Find(body, "items")); e.Next(); {
			if more, err := each(e.Value); err != nil || !more {
				return err
			}
		}
		next := rawjson.TextAt(body, "next_cursor")
		if next == "" {
			return nil
		}
		q.Set("cursor", next)
	}
	return fault.New(fault.ProviderUnavailable, "yookassa.pages", "YooKassa's list does not end.")
}

// ask sends a request and returns the body of a good answer.
func (s *Shop) ask(ctx context.Context, method, path, key string, body []byte) ([]byte, error) {
	const op = "yookassa.ask"
	req, err := http.NewRequestWithContext(ctx, method, s.cfg.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, fault.New(fault.Unprocessable, op, "The request cannot be sent.").Because(err)
	}
	req.SetBasicAuth(s.cfg.ShopID, s.cfg.SecretKey.Reveal())
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotence-Key", key)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, fault.New(fault.ProviderUnavailable, op, "YooKassa cannot be reached.").Because(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil || len(answer) > maxAnswer {
		return nil, fault.New(fault.ProviderUnavailable, op, "YooKassa's answer was cut.").Because(err)
	}
	if resp.StatusCode == http.StatusOK {
		if err := rawjson.Check(answer, rawjson.Limits{Depth: 32, Keys: 100_000, Values: 200_000}); err != nil || rawjson.KindOf(answer) != rawjson.Object {
			return nil, fault.New(fault.ProviderUnavailable, op, "YooKassa's answer is not JSON.").Because(err)
		}
		return answer, nil
	}
	return nil, refused(resp.StatusCode, answer)
}

// refused turns an error of the API into a fault. Its text and codes contain no secrets.
func refused(status int, answer []byte) error {
	what := "YooKassa answered " + strconv.Itoa(status)
	if rawjson.Valid(answer) && rawjson.KindOf(answer) == rawjson.Object {
		for _, name := range []string{"code", "parameter", "description"} {
			if v := short(rawjson.TextAt(answer, name), 200); v != "" {
				what += ", " + v
			}
		}
	}
	kind := fault.ProviderUnavailable // what it did is not known
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		kind = fault.PermissionDenied
	case status == http.StatusNotFound:
		kind = fault.NotFound
	case status == http.StatusTooManyRequests:
		kind = fault.ProviderOverloaded
	case status >= 400 && status < 500:
		kind = fault.Unprocessable
	}
	return fault.New(kind, "yookassa.ask", what+".")
}

var states = map[string]payment.RemoteState{
	"pending": payment.RemotePending, "waiting_for_capture": payment.RemoteWaiting, "succeeded": payment.RemoteSucceeded, "canceled": payment.RemoteCanceled,
}

// payment reads a payment of an answer.
func (s *Shop) payment(v []byte) (p payment.Remote, err error) {
	p = payment.Remote{
		ID: rawjson.TextAt(v, "id"), State: states[rawjson.TextAt(v, "status")], Reason: short(rawjson.Text(rawjson.FindPath(v, "cancellation_details", "reason")), 100),
		Reference: rawjson.Text(rawjson.FindPath(v, "metadata", reference)), URL: rawjson.Text(rawjson.FindPath(v, "confirmation", "confirmation_url")),
	}
	p.Test, _ = rawjson.Bool(rawjson.Find(v, "test"))
	if p.Amount, p.Currency, err = amountOf(rawjson.Find(v, "amount")); err != nil {
		return p, err
	}
	if r := rawjson.Find(v, "refunded_amount"); !rawjson.IsNull(r) {
		if p.Refunded, _, err = amountOf(r); err != nil {
			return p, err
		}
	}
	if m := rawjson.Find(v, "payment_method"); rawjson.KindOf(m) == rawjson.Object {
		p.Method.ID, p.Method.Title = rawjson.TextAt(m, "id"), short(rawjson.TextAt(m, "title"), 100)
		p.Method.Saved, _ = rawjson.Bool(rawjson.Find(m, "saved"))
	}
	p.CreatedAt, _ = time.Parse(time.RFC3339, rawjson.TextAt(v, "created_at"))
	paid, _ := rawjson.Bool(rawjson.Find(v, "paid"))
	account, gateway := rawjson.Text(rawjson.FindPath(v, "recipient", "account_id")), rawjson.Text(rawjson.FindPath(v, "recipient", "gateway_id"))
	switch {
	case !plausibleID(p.ID) || p.State == 0:
		return p, implausible("a payment without an id or a known status")
	case p.State == payment.RemoteSucceeded && !paid:
		return p, implausible("a payment that has succeeded and is not paid")
	case account != s.cfg.ShopID && gateway != s.cfg.ShopID: // a shop may use the id of its gateway
		return p, implausible("a payment of another shop")
	case p.URL != "" && !webAddress(p.URL):
		return p, implausible("a confirmation that is no address")
	}
	return p, nil
}

func refund(v []byte) (r payment.RemoteRefund, err error) {
	r = payment.RemoteRefund{
		ID: rawjson.TextAt(v, "id"), Payment: rawjson.TextAt(v, "payment_id"), State: states[rawjson.TextAt(v, "status")],
		Reason: short(rawjson.Text(rawjson.FindPath(v, "cancellation_details", "reason")), 100),
	}
	if text := rawjson.TextAt(v, "description"); strings.HasPrefix(text, refundStart+"rfd_") {
		r.Reference = strings.TrimPrefix(text, refundStart)
	}
	if r.Amount, r.Currency, err = amountOf(rawjson.Find(v, "amount")); err != nil {
		return r, err
	}
	if !plausibleID(r.ID) || r.Payment == "" || r.State == 0 {
		return r, implausible("a refund without an id or a known status")
	}
	return r, nil
}

func amountOf(v []byte) (n money.Nano, currency string, err error) {
	n, err = money.Parse(rawjson.TextAt(v, "value"))
	if err != nil || n < 0 {
		return 0, "", implausible("an amount that cannot be read")
	}
	return n, rawjson.TextAt(v, "currency"), nil
}

func implausible(what string) error {
	return fault.New(fault.ProviderUnavailable, "yookassa.read", "YooKassa reports "+what+".")
}

func plausibleID(id string) bool {
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return id != "" && len(id) <= 64
}

func webAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// ReadNotice reads a notification. Nothing in it but the ids is used.
func ReadNotice(body []byte) (n payment.Notice, err error) {
	const op = "yookassa.ReadNotice"
	if err := rawjson.Check(body, rawjson.Limits{Depth: 16, Keys: 500, Values: 2000}); err != nil {
		return n, err
	}
	event := rawjson.TextAt(body, "event")
	of := rawjson.Find(body, "object")
	id := rawjson.TextAt(of, "id")
	if !plausibleID(id) {
		return n, fault.Field(op, "object.id", "object.id must be the id of a payment or refund.")
	}
	switch {
	case strings.HasPrefix(event, "payment."):
		n.Payment = id
	case strings.HasPrefix(event, "refund."):
		n.Refund, n.Payment = id, rawjson.TextAt(of, "payment_id")
		if !plausibleID(n.Payment) {
			return n, fault.Field(op, "object.payment_id", "object.payment_id must be the id of a payment.")
		}
	default:
		return n, fault.Field(op, "event", "event must be one of payments or refunds, such as payment.succeeded.")
	}
	return n, nil
}

// Networks are the addresses from which YooKassa sends notifications, as its page "Incoming notifications" lists them.
var Networks = []string{"185.71.76.0/27", "185.71.77.0/27", "77.75.153.0/25", "77.75.156.11", "77.75.156.35", "77.75.154.128/25", "2a02:5180::/32"}

// short cuts a text to so many characters.
func short(text string, most int) string {
	r := []rune(text)
	if len(r) > most {
		r = r[:most]
	}
	return string(r)
}
