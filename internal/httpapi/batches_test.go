package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/batch"
	"weir/internal/blob/folder"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/httpapi"
	"weir/internal/relay"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
	"weir/internal/wire/batches"
)

type noMember struct{}

func (noMember) Node() string { return "node_1" }

func (noMember) Epoch() int64 { return 1 }

// startBatches runs a node that keeps files and admits batches, and works on none.
func startBatches(t *testing.T, r httpapi.Completer, edit func(*httpapi.Config)) *node {
	store, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	files, err := folder.Open(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	bounds := batch.Default(time.Now)
	bounds.MaxActive, bounds.MaxFileBytes, bounds.MaxLines, bounds.Files = 2, 1<<20, 3, batch.FileBounds{Files: 4, Bytes: 3 << 20}
	s := batch.New(batch.Deps{Store: store.Jobs, Contents: files, Member: noMember{}, Wire: batches.Wire{}}, bounds)
	return startWith(t, r, func(c *httpapi.Config) {
		c.MaxFile = 1 << 20
		if edit != nil {
			edit(c)
		}
	}, func(d *httpapi.Deps) {
		d.Batches, d.History = s, history.New(store.Pages, history.Default(time.Now))
	})
}

func (n *node) upload(purpose, name, text string, header ...string) *response {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if purpose != "" {
		_ = w.WriteField("purpose", purpose)
	}
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		n.t.Fatal(err)
	}
	_, _ = part.Write([]byte(text))
	_ = w.Close()
	return n.do("POST", "/v1/files", b.String(), append([]string{"Content-Type", w.FormDataContentType()}, header...)...)
}

func TestFiles(t *testing.T) {
	t.Parallel()
	n := startBatches(t, relayFunc(hello), nil)
	other := n.newUser("Boris")
	r := n.upload("batch", "../../etc/my \"file\".jsonl", "{}\n")
	f := r.json(t)
	id, _ := f["id"].(string)
	if r.StatusCode != 200 || f["object"] != "file" || f["bytes"] != 3.0 || f["filename"] != `my "file".jsonl` || f["purpose"] != "batch" {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	got := n.do("GET", "/v1/files/"+id+"/content", "")
	if string(got.body) != "{}\n" || got.Header.Get("Content-Type") != "application/x-ndjson" || got.Header.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment; filename=") || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v %q", got.Header, got.body)
	}
	for _, path := range []string{"/v1/files/" + id, "/v1/files/" + id + "/content"} {
		wantError(t, n.do("GET", path, "", "Authorization", "Bearer "+other), 404, fault.NotFound)
	}
	wantError(t, n.do("DELETE", "/v1/files/"+id, "", "Authorization", "Bearer "+other), 404, fault.NotFound)
	if list := n.do("GET", "/v1/files", "", "Authorization", "Bearer "+other).json(t); len(list["data"].([]any)) != 0 {
		t.Errorf("files of somebody else: %v", list)
	}
	for name, x := range map[string]struct {
		r      *response
		status int
		kind   fault.Kind
	}{
		"another purpose":  {n.upload("fine-tune", "a", "{}"), 400, fault.Invalid},
		"no purpose":       {n.upload("", "a", "{}"), 400, fault.Invalid},
		"too large":        {n.upload("batch", "a", strings.Repeat("x", 1<<20+1)), 413, fault.PayloadTooLarge},
		"far too large":    {n.upload("batch", "a", strings.Repeat("x", 3<<20)), 413, fault.PayloadTooLarge},
		"JSON":             {n.do("POST", "/v1/files", "{}"), 415, fault.UnsupportedMediaType},
		"nobody":           {n.upload("batch", "a", "{}", "Authorization", ""), 401, fault.Authentication},
		"a management key": {n.upload("batch", "a", "{}", "Authorization", "Bearer "+n.first.ManagementKey), 403, fault.PermissionDenied},
		"a wrong order":    {n.do("GET", "/v1/files?order=up", ""), 400, fault.Invalid},
		"a wrong limit":    {n.do("GET", "/v1/files?limit=0", ""), 400, fault.Invalid},
		"a wrong page":     {n.do("GET", "/v1/files?after=x", ""), 400, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, x.r, x.status, x.kind) })
	}
	for range 3 {
		if r := n.upload("batch", "a", "{}"); r.StatusCode != 200 {
			t.Fatalf("%d %s", r.StatusCode, r.body)
		}
	}
	wantError(t, n.upload("batch", "a", "{}"), 429, fault.RateLimited)
	if gone := n.do("DELETE", "/v1/files/"+id, "").json(t); gone["deleted"] != true {
		t.Errorf("%v", gone)
	}
	wantError(t, n.do("GET", "/v1/files/"+id, ""), 404, fault.NotFound)
}

func TestBatches(t *testing.T) {
	t.Parallel()
	n := startBatches(t, relayFunc(hello), nil)
	other := n.newUser("Boris")
	file, _ := n.upload("batch", "a", "{}").json(t)["id"].(string)
	request := fmt.Sprintf(`{"input_file_id":%q,"endpoint":"/v1/embeddings","completion_window":"24h"}`, file)
	b := n.do("POST", "/v1/batches", request).json(t)
	id, _ := b["id"].(string)
	if b["status"] != "validating" || b["input_file_id"] != file {
		t.Fatalf("%v", b)
	}
	wantError(t, n.do("DELETE", "/v1/files/"+file, ""), 409, fault.Conflict)
	wantError(t, n.do("POST", "/v1/batches", request, "Authorization", "Bearer "+other), 400, fault.Invalid)
	wantError(t, n.do("GET", "/v1/batches/"+id, "", "Authorization", "Bearer "+other), 404, fault.NotFound)
	wantError(t, n.do("POST", "/v1/batches/"+id+"/cancel", "", "Authorization", "Bearer "+other), 404, fault.NotFound)
	wantError(t, n.do("POST", "/v1/batches", request, "Authorization", "Bearer "+n.first.ManagementKey), 403, fault.PermissionDenied)
	wantError(t, n.do("POST", "/v1/batches", request, "Anthropic-Beta", strings.Repeat("x", 3000)), 400, fault.Invalid)
	wantError(t, n.do("GET", "/v1/batches?after=x", ""), 400, fault.Invalid)
	if c := n.do("POST", "/v1/batches/"+id+"/cancel", "").json(t); c["status"] != "cancelling" {
		t.Errorf("%v", c)
	}
	m := n.do("POST", "/v1/messages/batches", `{"requests":[{"custom_id":"a","params":{}}]}`)
	if m.StatusCode != 200 || m.json(t)["processing_status"] != "in_progress" {
		t.Fatalf("%d %s", m.StatusCode, m.body)
	}
	mid, _ := m.json(t)["id"].(string)
	wantError(t, n.do("POST", "/v1/batches", request), 429, fault.RateLimited)
	for _, c := range []struct {
		method, path, body, key string
		status                  int
	}{
		{"GET", "/v1/messages/batches/" + mid, "", other, 404},
		{"GET", "/v1/messages/batches/" + id, "", "", 404}, // it is of the other API
		{"GET", "/v1/messages/batches/" + mid + "/results", "", "", 404},
		{"DELETE", "/v1/messages/batches/" + mid, "", "", 409},
		{"POST", "/v1/messages/batches", `{"requests":[]}`, "", 400},
		{"POST", "/v1/messages/batches", `{"requests":[{"custom_id":"a","params":{}},{"custom_id":"b","params":{}},{"custom_id":"c","params":{}},{"custom_id":"d","params":{}}]}`, "", 400},
		{"GET", "/v1/messages/batches?after_id=a&before_id=b", "", "", 400},
	} {
		header := []string{}
		if c.key != "" {
			header = []string{"Authorization", "Bearer " + c.key}
		}
		r := n.do(c.method, c.path, c.body, header...)
		if r.StatusCode != c.status || r.json(t)["type"] != "error" { // the envelope of the messages style
			t.Errorf("%s %s: %d %s", c.method, c.path, r.StatusCode, r.body)
		}
	}
}

// Where nothing may be stored, files and batches are refused before anything is; what was stored before stays.
func TestBatchesWhereNothingIsStored(t *testing.T) {
	t.Parallel()
	for path, body := range map[string]string{"/api/account/preferences": `{"provider":{"zdr":true}}`, "/api/account/data": `{"responses":"never"}`} {
		n := startBatches(t, relayFunc(hello), nil)
		id := n.upload("batch", "a", `{"custom_id":"1","method":"POST","url":"/v1/chat/completions","body":{"model":"acme/small","messages":[{"role":"user","content":"q"}]}}`+"\n").json(t)["id"].(string)
		if r := n.do("PUT", path, body, "Authorization", "Bearer "+n.first.ManagementKey); r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", path, r.StatusCode, r.body)
		}
		wantError(t, n.upload("batch", "a", "{}"), 403, fault.PermissionDenied)
		wantError(t, n.do("POST", "/v1/batches", `{"input_file_id":"`+id+`","endpoint":"/v1/chat/completions","completion_window":"24h"}`), 403, fault.PermissionDenied)
		if r := n.do("POST", "/v1/messages/batches", `{"requests":[{"custom_id":"a","params":{}}]}`); r.StatusCode != 403 {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
		if r := n.do("GET", "/v1/files/"+id, ""); r.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
}

// A call of a batch is one of its route: with its limits, its answers and its errors.
func TestRunsCallsOfBatches(t *testing.T) {
	t.Parallel()
	asked := make(chan *relay.Call, 10)
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		asked <- c
		for _, m := range c.Request.Models {
			if m == "acme/panics" {
				panic("secret")
			}
		}
		if err := ctx.Err(); err != nil {
			return fault.New(fault.Canceled, "test", "gone").Because(err)
		}
		return hello(ctx, c, sink)
	}), func(c *httpapi.Config) { c.MaxBody = 1000 })
	caller := &apikey.Caller{User: n.first.User.ID, Wallet: n.first.User.Wallet, Key: "key_1"}
	const chat = "/v1/chat/completions"
	run := func(ctx context.Context, c *batch.Call) batch.Answer {
		if c.Caller == nil {
			c.Caller = caller
		}
		c.Generation = "gen-1-x"
		return n.api.Run(ctx, c)
	}
	a := run(t.Context(), &batch.Call{Endpoint: chat, Body: []byte(`{"model":"acme/small","messages":[{"role":"user","content":"q"}]}`)})
	if a.Status != 200 || a.Err != nil || a.Record == nil || a.Record.Generation != "gen-1-x" || !strings.HasPrefix(a.RequestID, "req_") || !strings.Contains(string(a.Body), `"content":"Hello"`) {
		t.Fatalf("%+v %s", a, a.Body)
	}
	if c := <-asked; c.Caller != caller || c.RequestID != a.RequestID {
		t.Errorf("%+v", c)
	}
	a = run(t.Context(), &batch.Call{Endpoint: "/v1/messages", Version: "2023-06-01", Betas: "unknown-1", Body: []byte(`{"model":"acme/small","max_tokens":5,"messages":[{"role":"user","content":"q"}]}`)})
	if c := <-asked; a.Status != 200 || c.Request.Version != "2023-06-01" || !strings.Contains(string(a.Body), `"type":"message"`) {
		t.Errorf("%+v %s", a, a.Body)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	management := *caller
	management.Management = true
	for name, x := range map[string]struct {
		ctx    context.Context
		call   batch.Call
		status int
		kind   fault.Kind
		text   string
	}{
		"a wrong body":         {t.Context(), batch.Call{Endpoint: chat, Body: []byte(`{"model":"acme/small"}`)}, 400, fault.InvalidPrompt, `"param":"messages"`},
		"a wrong message":      {t.Context(), batch.Call{Endpoint: "/v1/messages", Body: []byte(`{"model":"acme/small","messages":[]}`)}, 400, fault.InvalidPrompt, `{"type":"error"`},
		"a body too large":     {t.Context(), batch.Call{Endpoint: chat, Body: bytes.Repeat([]byte("x"), 1001)}, 413, fault.PayloadTooLarge, "1000 bytes"},
		"zero data retention":  {t.Context(), batch.Call{Endpoint: chat, Body: []byte(`{"model":"acme/small","messages":[{"role":"user","content":"q"}],"provider":{"zdr":true}}`)}, 400, fault.Invalid, "provider.zdr"},
		"a management key":     {t.Context(), batch.Call{Caller: &management, Endpoint: chat, Body: []byte(`{}`)}, 403, fault.PermissionDenied, ""},
		"another route":        {t.Context(), batch.Call{Endpoint: "/v1/keys", Body: []byte(`{}`)}, 404, fault.NotFound, ""},
		"a route of the pages": {t.Context(), batch.Call{Endpoint: "/api/auth/sign-in", Body: []byte(`{}`)}, 404, fault.NotFound, ""},
		"a panic":              {t.Context(), batch.Call{Endpoint: chat, Body: []byte(`{"model":"acme/panics","messages":[{"role":"user","content":"q"}]}`)}, 500, fault.Internal, "The server failed"},
		"the end of the node":  {gone, batch.Call{Endpoint: chat, Body: []byte(`{"model":"acme/small","messages":[{"role":"user","content":"q"}]}`)}, 0, fault.Canceled, ""},
	} {
		a := run(x.ctx, &x.call)
		if a.Status != x.status || a.Err == nil || a.Err.Kind != x.kind || !strings.Contains(string(a.Body), x.text) {
			t.Errorf("%s: %d %+v %s", name, a.Status, a.Err, a.Body)
		}
	}
	if strings.Contains(n.logged(), "secret") {
		t.Error("the log has the value of a panic")
	}
}

// Calls of batches leave a third of the allowances of a key to its user.
func TestSpare(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error {
		_ = sink.Start(served(c))
		_ = sink.Event(&completion.Event{Text: []byte("a"), Finish: completion.Stop})
		return sink.End(relay.Receipt{})
	}), nil)
	ten := int64(10)
	caller := &apikey.Caller{User: n.first.User.ID, Wallet: n.first.User.Wallet, Key: "key_1", Rates: &apikey.Rates{Requests: ten}}
	calls := 0
	for n.api.Spare(caller) && calls < 20 {
		a := n.api.Run(t.Context(), &batch.Call{Caller: caller, Endpoint: "/v1/chat/completions", Generation: fmt.Sprint("gen-", calls), Body: []byte(`{"model":"acme/small","messages":[{"role":"user","content":"q"}]}`)})
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		calls++
	}
	if calls < 7 || calls > 8 {
		t.Errorf("%d calls of ten are made", calls)
	}
	if !n.api.Spare(&apikey.Caller{User: "usr_2", Key: "key_2"}) {
		t.Error("a key without limits has nothing to spare")
	}
}
