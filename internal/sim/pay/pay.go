// Package pay is a payment provider with play money: YooKassa's API, version 3, as strict as the real one where the gateway uses it, and its
// faults on demand. It shares no code with the gateway.
package pay

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/sim/kit"
)

// Config is a shop.
type Config struct {
	ShopID, SecretKey string
	Notify            string // where notifications go; "": nowhere
	Now               func() time.Time
}

// Faults are what goes wrong. The zero value is a provider without any.
type Faults struct {
	Lose      int   // next requests that change something and are answered with 500 all the same
	Fail      int   // next requests that change nothing and are answered with 500
	Down      bool  // all requests fail
	Hold      bool  // notifications wait until Deliver
	Twice     bool  // each notification is sent twice
	Never     bool  // none is sent
	Kopecks   int64 // by which a confirmed payment differs from what was asked for
	Currency  string
	Refuse    bool // refunds are refused
	Pending   bool // refunds wait until Settle
	TwoStages bool // confirmed payments wait for capture
	NotSaved  bool // methods are not saved
}

// Payment is one of the shop's payments.
type Payment struct {
	ID, Status, Description, ReturnURL, Reference, Reason, Method, Currency, Email string
	Kopecks, Refunded                                                              int64
	Save, Saved                                                                    bool
	metadata                                                                       []byte
	created                                                                        time.Time
}

// Refund is one of the shop's refunds.
type Refund struct {
	ID, Payment, Status, Description string
	Kopecks                          int64
	created                          time.Time
}

// Shop is the simulator. It is an http.Handler, safe for concurrent use.
type Shop struct {
	cfg Config
	mux *http.ServeMux

	mu       sync.Mutex
	faults   Faults
	payments []*Payment
	refunds  []*Refund
	answers  map[string]answer // by idempotence key
	methods  map[string]bool   // saved ones, that can be charged
	notices  [][]byte
	calls    map[string]int
}

// answer is what a key was answered with.
type answer struct {
	request string
	made    func() []byte
}

// New makes a Shop.
func New(c Config) *Shop {
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Shop{cfg: c, mux: http.NewServeMux(), answers: map[string]answer{}, methods: map[string]bool{}, calls: map[string]int{}}
	s.mux.HandleFunc("POST /v3/payments", s.guard(s.create))
	s.mux.HandleFunc("GET /v3/payments", s.guard(s.list))
	s.mux.HandleFunc("GET /v3/payments/{id}", s.guard(s.get))
	s.mux.HandleFunc("POST /v3/payments/{id}/capture", s.guard(s.capture))
	s.mux.HandleFunc("POST /v3/payments/{id}/cancel", s.guard(s.cancel))
	s.mux.HandleFunc("POST /v3/refunds", s.guard(s.refund))
	s.mux.HandleFunc("GET /v3/refunds", s.guard(s.listRefunds))
	s.mux.HandleFunc("GET /v3/refunds/{id}", s.guard(s.getRefund))
	s.mux.HandleFunc("GET /pay/{id}", s.page)
	s.mux.HandleFunc("POST /pay/{id}", s.decide)
	s.mux.HandleFunc("POST /sim/faults", s.setFaults)
	s.mux.HandleFunc("POST /sim/deliver", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"left":%d}`, s.Deliver(r.Context()))
	})
	return s
}

// ServeHTTP answers one request.
func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Set sets what goes wrong from now on.
func (s *Shop) Set(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// NotifyAt sets where notifications go, as a shop's owner does in the provider's pages.
func (s *Shop) NotifyAt(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Notify = address
}

// Payments lists the shop's payments, oldest first.
func (s *Shop) Payments() (all []Payment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.payments {
		all = append(all, *p)
	}
	return all
}

// Refunds lists the shop's refunds, oldest first.
func (s *Shop) Refunds() (all []Refund) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.refunds {
		all = append(all, *r)
	}
	return all
}

// Calls is how often a route was used: "POST /v3/payments".
func (s *Shop) Calls(route string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[route]
}

// refusal is an error of the API.
type refusal struct {
	status                       int
	code, parameter, description string
}

func bad(parameter, format string, args ...any) *refusal {
	return &refusal{400, "invalid_request", parameter, fmt.Sprintf(format, args...)}
}

type handler func(r *http.Request, body *kit.Node) ([]byte, *refusal)

const maxBody = 1 << 20

// guard checks what all requests must have, remembers the answers of keys, and makes faults.
func (s *Shop) guard(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls[r.Pattern]++
		body, no := s.serve(r, h)
		if no != nil {
			w.Header().Set("Content-Type", "application/json;charset=UTF-8")
			w.WriteHeader(no.status)
			_, _ = w.Write(object("type", "error", "id", newID(), "code", no.code, "description", no.description, "parameter", no.parameter))
			return
		}
		kit.SendJSON(w, 200, body)
	}
}

func (s *Shop) serve(r *http.Request, h handler) ([]byte, *refusal) {
	broken := &refusal{500, "internal_server_error", "", "Internal server error"}
	id, secret, ok := r.BasicAuth()
	switch {
	case s.faults.Down:
		return nil, broken
	case !ok || id != s.cfg.ShopID || subtle.ConstantTimeCompare([]byte(secret), []byte(s.cfg.SecretKey)) != 1:
		return nil, &refusal{401, "invalid_credentials", "", "Basic authentication failed"}
	case r.Method != http.MethodPost:
		return h(r, nil)
	}
	key := r.Header.Get("Idempotence-Key")
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil || len(raw) > maxBody {
		return nil, bad("", "The request body is too large")
	}
	switch media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); {
	case media != "application/json":
		return nil, &refusal{415, "invalid_request", "", "Unsupported media type"}
	case key == "" || len(key) > 64:
		return nil, bad("Idempotence-Key", "Idempotence key is missing or longer than 64 characters")
	}
	request := r.URL.Path + " " + string(raw)
	if before, ok := s.answers[key]; ok {
		if before.request != request {
			return nil, bad("Idempotence-Key", "Idempotence key duplicated")
		}
		return before.made(), nil
	}
	if s.faults.Fail > 0 {
		s.faults.Fail--
		return nil, broken
	}
	body, err := kit.Parse(raw)
	if err != nil || !body.Is(kit.Object) {
		return nil, bad("", "The request body is not valid JSON")
	}
	out, no := h(r, body)
	if no != nil {
		return nil, no
	}
	s.answers[key] = answer{request, s.again(out)}
	if s.faults.Lose > 0 {
		s.faults.Lose--
		return nil, broken
	}
	return out, nil
}

// again answers a repeated key with the thing as it is by then.
func (s *Shop) again(first []byte) func() []byte {
	n, err := kit.Parse(first)
	if err != nil {
		return func() []byte { return first }
	}
	id := n.Get("id").Str()
	base := ""
	if c := n.Given("confirmation"); c != nil {
		base, _, _ = strings.Cut(c.Get("confirmation_url").Str(), "/pay/")
	}
	return func() []byte {
		if p := s.find(id); p != nil {
			return s.view(p, base)
		}
		for _, r := range s.refunds {
			if r.ID == id {
				return r.view()
			}
		}
		return first
	}
}

func (s *Shop) find(id string) *Payment {
	for _, p := range s.payments {
		if p.ID == id {
			return p
		}
	}
	return nil
}

var (
	createFields  = []string{"amount", "capture", "description", "confirmation", "payment_method_id", "save_payment_method", "metadata", "receipt"}
	refundFields  = []string{"payment_id", "amount", "description", "receipt"}
	receiptFields = []string{"customer", "items", "tax_system_code"}
	itemFields    = []string{"description", "quantity", "amount", "vat_code", "payment_subject", "payment_mode"}
	modes         = []string{"full_prepayment", "partial_prepayment", "advance", "full_payment", "partial_payment", "credit", "credit_payment"}
	subjects      = []string{"commodity", "excise", "job", "service", "gambling_bet", "gambling_prize", "lottery", "lottery_prize", "intellectual_activity", "payment", "agent_commission", "property_right", "non_operating_gain", "insurance_premium", "sales_tax", "resort_fee", "composite", "another"}
)

func unknown(body *kit.Node, known []string) *refusal {
	for _, name := range body.Names {
		if !slices.Contains(known, name) {
			return bad(name, "Unknown parameter")
		}
	}
	return nil
}

const maxPayment = 10_000_000_00 // kopecks

func kopecks(n *kit.Node, parameter string) (int64, *refusal) {
	if !n.Is(kit.Object) || n.Get("currency").Str() != "RUB" {
		return 0, bad(parameter, "Amount must have a value and a currency")
	}
	whole, part, ok := strings.Cut(n.Get("value").Str(), ".")
	rubles, err := strconv.ParseInt(whole, 10, 64)
	rest, err2 := strconv.ParseInt(part, 10, 64)
	if !ok || err != nil || err2 != nil || len(part) != 2 || rubles < 0 || rubles > maxPayment || rest < 0 || rubles == 0 && rest == 0 {
		return 0, bad(parameter+".value", "Amount must be a decimal with two digits after the point, above 0")
	}
	return rubles*100 + rest, nil
}

func text(n *kit.Node, most int, parameter string) *refusal {
	if n != nil && (n.Kind != kit.Text || n.Str() == "" || len([]rune(n.Str())) > most) {
		return bad(parameter, "Must be a string of 1 to %d characters", most)
	}
	return nil
}

func receipt(n *kit.Node, total int64) *refusal {
	if n == nil {
		return nil
	}
	if no := unknown(n, receiptFields); no != nil {
		return no
	}
	if !strings.Contains(n.Get("customer").Get("email").Str(), "@") {
		return bad("receipt.customer", "Customer's email or phone is required")
	}
	items := n.Get("items")
	if !items.Is(kit.Array) || len(items.Items) == 0 {
		return bad("receipt.items", "Items are required")
	}
	var sum int64
	for i := range items.Items {
		item, at := &items.Items[i], "receipt.items["+strconv.Itoa(i)+"]"
		if no := unknown(item, itemFields); no != nil {
			return no
		}
		k, no := kopecks(item.Get("amount"), at+".amount")
		if no != nil {
			return no
		}
		sum += k
		vat, ok := item.Get("vat_code").Int()
		switch {
		case text(item.Get("description"), 128, at) != nil || item.Get("description") == nil:
			return bad(at+".description", "Description is required, at most 128 characters")
		case !ok || vat < 1 || vat > 12:
			return bad(at+".vat_code", "VAT code must be from 1 to 12")
		case !slices.Contains(subjects, item.Get("payment_subject").Str()):
			return bad(at+".payment_subject", "Unknown payment subject")
		case !slices.Contains(modes, item.Get("payment_mode").Str()):
			return bad(at+".payment_mode", "Unknown payment mode")
		}
	}
	if sum != total {
		return bad("receipt", "The sum of the receipt differs from the amount")
	}
	return nil
}

func (s *Shop) create(r *http.Request, body *kit.Node) ([]byte, *refusal) {
	if no := unknown(body, createFields); no != nil {
		return nil, no
	}
	k, no := kopecks(body.Get("amount"), "amount")
	if no != nil {
		return nil, no
	}
	if no := text(body.Given("description"), 128, "description"); no != nil {
		return nil, no
	}
	meta := body.Given("metadata")
	if meta != nil && (!meta.Is(kit.Object) || len(meta.Names) > 16) {
		return nil, bad("metadata", "Metadata must be an object of at most 16 members")
	}
	p := &Payment{
		ID: newID(), Status: "pending", Kopecks: k, Currency: "RUB", Description: body.Given("description").Str(), created: s.cfg.Now(),
		Save: body.Given("save_payment_method").IsTrue(), metadata: []byte("{}"), Email: body.Get("receipt").Get("customer").Get("email").Str(),
	}
	if meta != nil {
		for i := range meta.Names {
			if len(meta.Names[i]) > 32 || meta.Items[i].Kind != kit.Text || len(meta.Items[i].Str()) > 512 {
				return nil, bad("metadata", "Names have at most 32 characters, values are strings of at most 512")
			}
			if meta.Names[i] == "weir_payment" {
				p.Reference = meta.Items[i].Str()
			}
		}
		p.metadata = bytes.Clone(meta.Raw)
	}
	if no := receipt(body.Given("receipt"), k); no != nil {
		return nil, no
	}
	if method := body.Given("payment_method_id"); method != nil {
		p.Method = method.Str()
		works, known := s.methods[p.Method]
		if !known {
			return nil, bad("payment_method_id", "Payment method is not found or not saved")
		}
		s.payments = append(s.payments, p)
		p.Saved = true
		if works {
			s.pay(p)
		} else {
			p.Status, p.Reason = "canceled", "permission_revoked"
			s.notice("payment.canceled", s.view(p, ""))
		}
		return s.view(p, ""), nil
	}
	c := body.Given("confirmation")
	if c == nil || c.Get("type").Str() != "redirect" {
		return nil, bad("confirmation", "Confirmation is required")
	}
	p.ReturnURL = c.Get("return_url").Str()
	if u, err := url.Parse(p.ReturnURL); err != nil || u.Host == "" || len(p.ReturnURL) > 2048 {
		return nil, bad("confirmation.return_url", "Return URL must be an absolute address")
	}
	s.payments = append(s.payments, p)
	return s.view(p, baseOf(r)), nil
}

func baseOf(r *http.Request) string {
	before, _, _ := strings.Cut(r.RequestURI, "/v3/") // with the folder that it is mounted at
	return "http://" + r.Host + before
}

// pay moves the money of a payment.
func (s *Shop) pay(p *Payment) {
	p.Kopecks += s.faults.Kopecks
	if s.faults.Currency != "" {
		p.Currency = s.faults.Currency
	}
	if p.Method == "" {
		p.Method = newID()
	}
	if p.Save && !s.faults.NotSaved {
		p.Saved = true
		s.methods[p.Method] = true
	}
	p.Status = "succeeded"
	if s.faults.TwoStages {
		p.Status = "waiting_for_capture"
	}
	s.notice("payment."+p.Status, s.view(p, ""))
}

func (s *Shop) get(r *http.Request, _ *kit.Node) ([]byte, *refusal) {
	p := s.find(r.PathValue("id"))
	if p == nil {
		return nil, &refusal{404, "not_found", "payment_id", "Payment is not found"}
	}
	return s.view(p, baseOf(r)), nil
}

func (s *Shop) capture(r *http.Request, body *kit.Node) ([]byte, *refusal) {
	p := s.find(r.PathValue("id"))
	if p == nil {
		return nil, &refusal{404, "not_found", "payment_id", "Payment is not found"}
	}
	if p.Status != "waiting_for_capture" {
		return nil, bad("payment_id", "Incorrect payment status")
	}
	if a := body.Given("amount"); a != nil && p.Currency == "RUB" {
		k, no := kopecks(a, "amount")
		if no != nil || k > p.Kopecks {
			return nil, bad("amount", "Incorrect amount")
		}
		p.Kopecks = k
	}
	p.Status = "succeeded"
	s.notice("payment.succeeded", s.view(p, ""))
	return s.view(p, ""), nil
}

func (s *Shop) cancel(r *http.Request, _ *kit.Node) ([]byte, *refusal) {
	p := s.find(r.PathValue("id"))
	if p == nil {
		return nil, &refusal{404, "not_found", "payment_id", "Payment is not found"}
	}
	if p.Status != "waiting_for_capture" {
		return nil, bad("payment_id", "Incorrect payment status")
	}
	p.Status, p.Reason = "canceled", "canceled_by_merchant"
	s.notice("payment.canceled", s.view(p, ""))
	return s.view(p, ""), nil
}

func (s *Shop) refund(_ *http.Request, body *kit.Node) ([]byte, *refusal) {
	if no := unknown(body, refundFields); no != nil {
		return nil, no
	}
	p := s.find(body.Get("payment_id").Str())
	k, no := kopecks(body.Get("amount"), "amount")
	switch {
	case no != nil:
		return nil, no
	case p == nil:
		return nil, bad("payment_id", "Payment is not found")
	case p.Status != "succeeded" || s.faults.Refuse:
		return nil, bad("payment_id", "Payment cannot be refunded")
	case k > p.Kopecks-p.Refunded:
		return nil, bad("amount", "Refund exceeds the rest of the payment")
	}
	if no := text(body.Given("description"), 250, "description"); no != nil {
		return nil, no
	}
	if no := receipt(body.Given("receipt"), k); no != nil {
		return nil, no
	}
	return s.giveBack(p, k, body.Given("description").Str()).view(), nil
}

func (s *Shop) giveBack(p *Payment, k int64, description string) *Refund {
	r := &Refund{ID: newID(), Payment: p.ID, Status: "succeeded", Kopecks: k, Description: description, created: s.cfg.Now()}
	if s.faults.Pending {
		r.Status = "pending"
	}
	p.Refunded += k
	s.refunds = append(s.refunds, r)
	if r.Status == "succeeded" {
		s.notice("refund.succeeded", r.view())
	}
	return r
}

func (s *Shop) getRefund(r *http.Request, _ *kit.Node) ([]byte, *refusal) {
	for _, f := range s.refunds {
		if f.ID == r.PathValue("id") {
			return f.view(), nil
		}
	}
	return nil, &refusal{404, "not_found", "refund_id", "Refund is not found"}
}

func (s *Shop) list(r *http.Request, _ *kit.Node) ([]byte, *refusal) {
	since, err := time.Parse(time.RFC3339, r.URL.Query().Get("created_at.gte"))
	if err != nil {
		return nil, bad("created_at.gte", "Must be a time")
	}
	var items [][]byte
	for _, p := range slices.Backward(s.payments) {
		if !p.created.Before(since) {
			items = append(items, s.view(p, ""))
		}
	}
	return listOf(r, items)
}

func (s *Shop) listRefunds(r *http.Request, _ *kit.Node) ([]byte, *refusal) {
	var items [][]byte
	for _, f := range slices.Backward(s.refunds) {
		if id := r.URL.Query().Get("payment_id"); id == "" || id == f.Payment {
			items = append(items, f.view())
		}
	}
	return listOf(r, items)
}

func listOf(r *http.Request, items [][]byte) ([]byte, *refusal) {
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		return nil, bad("limit", "Must be from 1 to 100")
	}
	from := 0
	if c := r.URL.Query().Get("cursor"); c != "" {
		if from, err = strconv.Atoi(c); err != nil || from < 0 || from > len(items) {
			return nil, bad("cursor", "Unknown cursor")
		}
	}
	to := min(from+limit, len(items))
	out := []byte(`{"type":"list","items":[`)
	for i, item := range items[from:to] {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	out = append(out, ']')
	if to < len(items) {
		out = append(out, `,"next_cursor":"`+strconv.Itoa(to)+`"`...)
	}
	return append(out, '}'), nil
}

// Confirm pays a payment, as its payer would.
func (s *Shop) Confirm(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(id)
	if p == nil || p.Status != "pending" {
		return false
	}
	s.pay(p)
	return true
}

// Decline ends a payment without money.
func (s *Shop) Decline(id, reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(id)
	if p == nil || p.Status != "pending" {
		return false
	}
	p.Status, p.Reason = "canceled", reason
	s.notice("payment.canceled", s.view(p, ""))
	return true
}

// Revoke makes a saved method useless, as its owner can.
func (s *Shop) Revoke(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.methods[method]; ok {
		s.methods[method] = false
	}
}

// RefundHere refunds a payment in the pages of the provider, without the gateway.
func (s *Shop) RefundHere(id string, k int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(id)
	if p == nil || p.Status != "succeeded" || k > p.Kopecks-p.Refunded {
		return false
	}
	s.giveBack(p, k, "by hand")
	return true
}

// Settle ends refunds that wait: they succeed, or are canceled.
func (s *Shop) Settle(succeed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.refunds {
		if r.Status != "pending" {
			continue
		}
		r.Status = "succeeded"
		if !succeed {
			r.Status = "canceled"
			s.find(r.Payment).Refunded -= r.Kopecks
		}
		s.notice("refund."+r.Status, r.view())
	}
}

// notice queues a notification.
func (s *Shop) notice(event string, of []byte) {
	if s.faults.Never || s.cfg.Notify == "" {
		return
	}
	body := append([]byte(`{"type":"notification","event":"`+event+`","object":`), of...)
	s.notices = append(s.notices, append(body, '}'))
	if s.faults.Twice {
		s.notices = append(s.notices, s.notices[len(s.notices)-1])
	}
	if !s.faults.Hold {
		go s.Deliver(context.Background())
	}
}

// Notices returns the bodies of notifications that wait, and forgets them: for tests that deliver them on their own.
func (s *Shop) Notices() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.notices
	s.notices = nil
	return all
}

// Deliver sends the notifications that wait, and returns how many were not accepted; they wait on.
func (s *Shop) Deliver(ctx context.Context) (left int) {
	s.mu.Lock()
	all, to := s.notices, s.cfg.Notify
	s.notices = nil
	s.mu.Unlock()
	for _, body := range all {
		short, cancel := context.WithTimeout(ctx, 10*time.Second)
		req, err := http.NewRequestWithContext(short, http.MethodPost, to, bytes.NewReader(body))
		if err == nil {
			req.Header.Set("Content-Type", "application/json")
			var resp *http.Response
			if resp, err = http.DefaultClient.Do(req); err == nil {
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					err = fmt.Errorf("status %d", resp.StatusCode)
				}
			}
		}
		cancel()
		if err != nil {
			left++
			s.mu.Lock()
			s.notices = append(s.notices, body)
			s.mu.Unlock()
		}
	}
	return left
}

func (s *Shop) setFaults(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(io.LimitReader(r.Body, maxBody))
	n, err := kit.Parse(raw)
	if err != nil || !n.Is(kit.Object) {
		http.Error(w, "an object of faults is needed", http.StatusBadRequest)
		return
	}
	var f Faults
	for i, name := range n.Names {
		v := &n.Items[i]
		number, _ := v.Int()
		switch name {
		case "lose":
			f.Lose = int(number)
		case "fail":
			f.Fail = int(number)
		case "down":
			f.Down = v.IsTrue()
		case "hold":
			f.Hold = v.IsTrue()
		case "twice":
			f.Twice = v.IsTrue()
		case "never":
			f.Never = v.IsTrue()
		case "kopecks":
			f.Kopecks = number
		case "refuse":
			f.Refuse = v.IsTrue()
		case "pending":
			f.Pending = v.IsTrue()
		case "two_stages":
			f.TwoStages = v.IsTrue()
		case "notify": // where notifications go from now on
			s.NotifyAt(v.Str())
		default:
			http.Error(w, "there is no fault "+strconv.Quote(name), http.StatusBadRequest)
			return
		}
	}
	s.Set(f)
	kit.SendJSON(w, 200, []byte(`{}`))
}

// decision is the page where the payer decides.
var decision = template.Must(template.New("decision").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Play money</title>
<style>
body{font:16px/1.5 sans-serif;max-width:28rem;margin:3rem auto;padding:0 1rem}
button{font:inherit;padding:.6rem 1.2rem;margin:.3rem .3rem .3rem 0}
</style>
<h1>Play money</h1>
<p>This page stands for the payment provider. No money moves.</p>
<p>{{.Description}}: <b>{{.Rubles}} RUB</b></p>
<form method="post"><button name="do" value="pay">Pay</button> <button name="do" value="decline">Decline</button></form>
<p>Card: 5555&nbsp;5555&nbsp;5555&nbsp;4444, of nobody.</p>
</html>
`))

// page shows a payment to the payer.
func (s *Shop) page(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	p := s.find(r.PathValue("id"))
	var shown Payment
	if p != nil {
		shown = *p
	}
	s.mu.Unlock()
	if p == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_ = decision.Execute(w, struct{ Description, Rubles string }{shown.Description, rubles(shown.Kopecks)}) // a payer who is gone needs no page
}

func (s *Shop) decide(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	p := s.find(r.PathValue("id"))
	back := ""
	if p != nil {
		back = p.ReturnURL
	}
	s.mu.Unlock()
	if p == nil {
		http.NotFound(w, r)
		return
	}
	if r.FormValue("do") == "pay" {
		s.Confirm(r.PathValue("id"))
	} else {
		s.Decline(r.PathValue("id"), "general_decline")
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}

func rubles(k int64) string { return fmt.Sprintf("%d.%02d", k/100, k%100) }

func (s *Shop) view(p *Payment, base string) []byte {
	members := []any{
		"id", p.ID, "status", p.Status, "amount", raw(object("value", rubles(p.Kopecks), "currency", p.Currency)), "description", p.Description,
		"recipient", raw(object("account_id", s.cfg.ShopID, "gateway_id", "100700")), "created_at", stamp(p.created), "test", true,
		"paid", p.Status == "succeeded" || p.Status == "waiting_for_capture", "refundable", p.Status == "succeeded" && p.Refunded < p.Kopecks, "metadata", raw(p.metadata),
	}
	if p.Status == "pending" && base != "" {
		members = append(members, "confirmation", raw(object("type", "redirect", "return_url", p.ReturnURL, "confirmation_url", base+"/pay/"+p.ID)))
	}
	if p.Status == "succeeded" {
		members = append(members, "refunded_amount", raw(object("value", rubles(p.Refunded), "currency", p.Currency)), "captured_at", stamp(p.created))
	}
	if p.Status == "canceled" {
		members = append(members, "cancellation_details", raw(object("party", "payment_network", "reason", p.Reason)))
	}
	if p.Method != "" {
		members = append(members, "payment_method", raw(object("type", "bank_card", "id", p.Method, "saved", p.Saved, "title", "Bank card *4444",
			"card", raw(object("first6", "555555", "last4", "4444", "expiry_month", "12", "expiry_year", "2030", "card_type", "MasterCard")))))
	}
	return object(members...)
}

func (r *Refund) view() []byte {
	return object("id", r.ID, "payment_id", r.Payment, "status", r.Status, "created_at", stamp(r.created), "amount", raw(object("value", rubles(r.Kopecks), "currency", "RUB")),
		"description", r.Description)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// raw is JSON that is written as it is.
type raw []byte

// object writes an object of names and values; members with "" are left out.
func object(members ...any) []byte {
	out := []byte{'{'}
	for i := 0; i < len(members); i += 2 {
		if members[i+1] == "" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, _ := members[i].(string)
		out = append(kit.AppendText(out, name), ':')
		switch v := members[i+1].(type) {
		case string:
			out = kit.AppendText(out, v)
		case bool:
			out = strconv.AppendBool(out, v)
		case raw:
			out = append(out, v...)
		}
	}
	return append(out, '}')
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-5" + h[13:16] + "-8" + h[17:20] + "-" + h[20:]
}
