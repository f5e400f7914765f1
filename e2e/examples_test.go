package e2e_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// Every operation of the document has an example that the demo answers with success. What an operation makes is an example for those that
// read, change and remove it.
func TestExamples(t *testing.T) {
	t.Parallel()
	own := ownDemo(t)
	x := &examples{t: t, demo: own, client: &http.Client{Transport: &checked{t, own.contract}, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, made: map[string]string{}}
	type operation struct {
		method, path string
		*openapi3.Operation
	}
	var all []operation
	for at, item := range own.contract.doc.Paths.Map() {
		for method, op := range item.Operations() {
			op.Parameters = append(slices.Clone(op.Parameters), item.Parameters...)
			all = append(all, operation{method, at, op})
		}
	}
	stage := []string{http.MethodPost, http.MethodPut, http.MethodGet, http.MethodPatch, http.MethodDelete}
	rank := func(path string) int { // others refer to what the first of them make
		switch path {
		case "/api/invoices/buyer":
			return 0
		case "/v1/chat/completions", "/v1/videos", "/api/invoices":
			return 1
		case "/api/admin/invoices/{id}/paid":
			return 2
		}
		return 3
	}
	slices.SortFunc(all, func(a, b operation) int {
		if rank(a.path) != rank(b.path) {
			return cmp.Compare(rank(a.path), rank(b.path))
		}
		made := func(path string) int { return strings.Count(path, "{") }
		order := cmp.Or(cmp.Compare(made(a.path), made(b.path)), -cmp.Compare(a.path, b.path)) // providers before their endpoints
		if a.method == http.MethodDelete {
			order = -order
		}
		return cmp.Or(cmp.Compare(slices.Index(stage, a.method), slices.Index(stage, b.method)), order)
	})
	for _, op := range all {
		x.send(op.method, op.path, op.Operation)
	}
}

// ended are the operations whose examples come too late: their answers say so.
var ended = map[string]int{"cancelBatch": 409, "cancelMessageBatch": 409, "cancelInvoice": 409, "cancelAnyInvoice": 409}

// withoutLink are the operations whose examples need a link, a mail or a password, which a demo has not: their answers say so. The tests of
// internal/httpapi have them succeed.
var withoutLink = map[string]int{
	"signIn": 401, "signUp": 400, "confirmSignUp": 400, "setUp": 400, "recoverPassword": 403, "resetPassword": 400, "lookAtLink": 400, "proveIdentity": 400, "setPassword": 409,
	"removePassword": 404, "askForEmail": 403, "confirmEmail": 400, "keepEmail": 400, // the demo's account has no password, and the demo sends no mail
	"beginPasskeySignIn": 403, "signInWithPasskey": 403, "beginPasskey": 403, "addPasskey": 403, "renamePasskey": 404, "removePasskey": 404, "beginProof": 403, "requirePasskey": 403, "visitProvider": 404, "returnFromProvider": 404, "removeIdentity": 404, // at 127.0.0.1 there are no passkeys
	"changeAutoTopUp": 404, "endAutoTopUp": 404, "refundPayment": 422, "getBankStatement": 404, "assignBankDocument": 404, "setBankDocumentAside": 404, // no payment was made
	"unsubscribe": 404, "openUnsubscribe": 303, "testNotifications": 409, // the demo sends no mail, and its account has no webhook yet
	"lookAtDevice": 404, "decideOnDevice": 404, "getOAuthToken": 400, "getManagedSettings": 404, // no program waits with the code, and the demo sets nothing
	"putChat": 403, "getChat": 404, "deleteChat": 404, // the demo's account has not switched chats on
	"getCallText":          404,                                              // a chat is not stored
	"getLedgerTransaction": 404, "postSetAside": 404, "dismissSetAside": 404, // the example names nothing
	"testAlertChannel": 404, "removeAlertChannel": 404, // the example names nothing
	"retryJob": 400, "endJob": 400, // the example names no kind
	"findUserByKey": 400,                                                                                                                                                                                // a whole key is shown once
	"getUser":       404, "blockUser": 404, "unblockUser": 404, "signOutUser": 404, "sendPasswordLink": 404, "changeUserRole": 404, "switchUserKey": 404, "seeAsUser": 403, "resetUserKeySpending": 404, // the example names nobody
	"deleteUser": 404, "deleteAccount": 403, // of a person who signed in; the demo's account is the last administrator
	"reconcile": 400, "getReconciliation": 404, "getReconciliationFile": 404, "deleteReconciliation": 404, "settleDifference": 404, "reopenDifference": 404, // the day of the example is never over
	"editPriceDraft": 404, "cancelPrices": 404, "revertPrices": 404, // the example names no endpoint, and no publication
	"setMargins": 400, "takePriceImport": 404, // the demo has no prices in dollars, and public lists were not fetched
	"changeOrganizationMember": 404, "removeOrganizationMember": 404, "lookAtOrganizationInvitation": 403, "joinOrganization": 400, // the link and the member are none
	"getScimConfig": 401, "listScimResourceTypes": 401, "getScimResourceType": 401, "listScimSchemas": 401, "getScimSchema": 401, "listScimUsers": 401, "createScimUser": 401, "getScimUser": 401, "replaceScimUser": 401, "changeScimUser": 401, "deleteScimUser": 401, "listScimGroups": 401, "createScimGroup": 401, "getScimGroup": 401, "replaceScimGroup": 401, "changeScimGroup": 401, "deleteScimGroup": 401, // they are for the token of a directory
	"disconnectOrganizationDirectory": 404,                   // the organization of the examples is closed by then
	"getAgent":                        404, "stopAgent": 404, // the first example names no key with children
	"litellmUpdateKey": 404, "litellmDeleteKeys": 404, // the examples name no key
	"litellmNewTeam": 400, "litellmUpdateTeam": 400, "litellmDeleteTeams": 400, "litellmTeamInfo": 400, "litellmAddTeamMembers": 400, "litellmUpdateTeamMember": 400, "litellmDeleteTeamMember": 400, // teams are of organizations
	"litellmNewUser": 400, "litellmUpdateUser": 400, "litellmDeleteUsers": 400, // likewise
	"redeemVoucher": 404,                                                  // a code is shown once
	"createActs":    422, "getActDocument": 404, "getAnyActDocument": 404, // no month with an invoice is over
}

// examples sends examples to a demo.
type examples struct {
	t      *testing.T
	demo   *demo
	client *http.Client
	made   map[string]string // the id that a path made, and those of the call
	cookie string            // of a session
}

func (x *examples) send(method, at string, op *openapi3.Operation) {
	name := op.OperationID
	target := x.target(name, at, op)
	if op.RequestBody == nil {
		x.answer(name, method, at, target, "", nil)
		return
	}
	for _, media := range slices.Sorted(maps.Keys(op.RequestBody.Value.Content)) {
		content := op.RequestBody.Value.Content[media]
		example, ok := content.Example.(map[string]any)
		if !ok {
			x.t.Errorf("%s: %s has no example", name, media)
			continue
		}
		if _, ok := example["generation"]; ok {
			example["generation"] = x.made["generation"]
		}
		if _, ok := example["input_file_id"]; ok {
			example["input_file_id"] = x.made["/v1/files"]
		}
		if name == "createProviderKey" {
			example["provider"] = "sim-bedrock" // one of the demo
		}
		if _, ok := example["user"]; ok && strings.HasPrefix(at, "/api/admin/") {
			example["user"] = x.made["user"]
		}
		if media == "application/json" || media == "application/scim+json" {
			body, err := json.Marshal(example)
			if err != nil {
				x.t.Fatal(err)
			}
			x.answer(name, method, at, target, media, body)
			continue
		}
		if media == "application/x-www-form-urlencoded" {
			form := url.Values{}
			for field, value := range example {
				form.Set(field, fmt.Sprint(value))
			}
			x.answer(name, method, at, target, media, []byte(form.Encode()))
			continue
		}
		media, body := x.form(content, example)
		x.answer(name, method, at, target, media, body)
	}
}

// target is the address of an example: its parameters have the values of the document, or the id of what another example made.
func (x *examples) target(name, at string, op *openapi3.Operation) string {
	query := url.Values{}
	target := at
	for _, p := range op.Parameters {
		if p := p.Value; p.Required || op.OperationID == "followEvents" && p.Name == "topics" { // topics are needed, though no query is described so
			value, _ := p.Example.(string)
			switch parent, _, found := strings.Cut(at, "/{"+p.Name+"}"); {
			case found && x.made[parent] != "":
				value = url.PathEscape(x.made[parent])
			case value != "":
				if strings.HasPrefix(at, "/api/admin/") {
					value = url.PathEscape(value)
				}
			case found && x.made[strings.Replace(parent, "/api/admin/", "/api/", 1)] != "": // what a user made
				value = url.PathEscape(x.made[strings.Replace(parent, "/api/admin/", "/api/", 1)])
			default:
				value = x.made["generation"] // the id of a call
			}
			target = strings.Replace(target, "{"+p.Name+"}", value, 1)
			if p.In == "query" {
				query.Set(p.Name, value)
			}
		}
	}
	base := x.demo.site()
	if strings.HasPrefix(at, "/api/admin/") {
		base = x.demo.AdminURL
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return strings.TrimSuffix(base, "/") + target
}

// form returns the media type and the body of a form. An example names its files.
func (x *examples) form(content *openapi3.MediaType, example map[string]any) (string, []byte) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, field := range slices.Sorted(maps.Keys(example)) {
		value := fmt.Sprint(example[field])
		var media string
		var file []byte
		switch path.Ext(value) {
		case ".wav":
			file, media = recording(time.Second), "audio/wav"
		case ".png":
			_, encoded, _ := strings.Cut(pixel, ",")
			file, _ = base64.StdEncoding.DecodeString(encoded)
			media = "image/png"
		case ".jsonl":
			file, media = []byte(`{"custom_id":"one","method":"POST","url":"/v1/chat/completions","body":{"model":"sim/chat","messages":[{"role":"user","content":"Hello"}]}}`), "application/jsonl"
		default:
			_ = w.WriteField(field, value)
			continue
		}
		part, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename=%q`, field, value)}, "Content-Type": {media}})
		_, _ = part.Write(file)
	}
	_ = w.Close()
	return w.FormDataContentType(), b.Bytes()
}

// page makes a request one of a page in which somebody is signed in.
func (x *examples) page(r *http.Request) {
	own := strings.TrimSuffix(x.demo.site(), "/")
	r.Header.Set("Origin", own)
	r.Header.Set("X-Weir", "1")
	for range 2 { // one of the sessions is ended by an example
		if x.cookie != "" {
			break
		}
		in, err := http.NewRequestWithContext(x.t.Context(), http.MethodPost, own+"/api/auth/demo", strings.NewReader("{}"))
		if err != nil {
			x.t.Fatal(err)
		}
		in.Header = r.Header.Clone()
		got, err := http.DefaultClient.Do(in)
		if err != nil || got.StatusCode != http.StatusOK {
			x.t.Fatalf("the demo signs nobody in: %v, %v", got, err)
		}
		defer got.Body.Close()
		cookie, _, _ := strings.Cut(got.Header.Get("Set-Cookie"), ";")
		if x.made["/api/auth/sessions"] != "" {
			x.cookie = cookie
			break
		}
		var me struct {
			Session struct {
				ID string `json:"id"`
			} `json:"session"`
		}
		if err := json.NewDecoder(got.Body).Decode(&me); err != nil {
			x.t.Fatal(err)
		}
		x.made["/api/auth/sessions"] = me.Session.ID
	}
	r.Header.Set("Cookie", x.cookie)
}

func (x *examples) answer(name, method, at, target, media string, body []byte) {
	ctx, cancel := context.WithCancel(x.t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	if body == nil {
		request.Body = nil
	}
	key := x.demo.APIKey
	if strings.HasPrefix(at, "/v1/keys") && !strings.HasPrefix(at, "/v1/keys/child") || strings.HasPrefix(at, "/api/") || strings.HasPrefix(name, "litellm") {
		key = x.demo.ManagementKey
	}
	if strings.HasPrefix(at, "/api/auth/") || at == "/api/me" { // as a page sends it
		x.page(request)
	} else {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	if media != "" {
		request.Header.Set("Content-Type", media)
	}
	response, err := x.client.Do(request)
	if err != nil {
		x.t.Fatalf("%s: %v", name, err)
	}
	defer response.Body.Close()
	if name == "followEvents" && response.StatusCode == http.StatusOK { // without an end: its first event is the answer
		if _, err := bufio.NewReader(response.Body).ReadString('}'); err != nil {
			x.t.Errorf("%s: %v", name, err)
		}
		cancel()
		return
	}
	got, err := io.ReadAll(response.Body)
	if err != nil {
		x.t.Fatalf("%s: %v", name, err)
	}
	if set := response.Header.Get("Set-Cookie"); set != "" && name != "endSession" {
		x.cookie, _, _ = strings.Cut(set, ";")
		if strings.HasSuffix(x.cookie, "=") { // signed out
			x.cookie = ""
		}
	}
	if want := cmp.Or(withoutLink[name], ended[name]); want != 0 {
		if response.StatusCode != want {
			x.t.Errorf("%s: status %d for the example, want %d\n%s", name, response.StatusCode, want, got)
		}
		return
	}
	if response.StatusCode/100 != 2 {
		x.t.Errorf("%s: status %d for the example\n%s %s\n%s\n%s", name, response.StatusCode, method, target, body, got[:min(len(got), 1000)])
		return
	}
	var is struct {
		ID   string `json:"id"`
		Data struct{ ID, Hash string }
	}
	_ = json.Unmarshal(got, &is)
	if method == http.MethodPost {
		x.made[at] = cmp.Or(is.ID, is.Data.Hash, is.Data.ID)
	}
	switch method + at {
	case "POST/v1/chat/completions":
		x.made["generation"] = response.Header.Get("X-Generation-Id")
		type record struct {
			Data struct {
				User string `json:"user"`
			} `json:"data"`
		}
		call := get[record](x.t, x.demo.client(x.t, withKey(x.demo.ManagementKey), option.WithBaseURL(x.demo.site()+"/api/")), "calls/"+x.made["generation"], nil)
		x.made["user"] = call.Data.User
	case "POST/v1/batches", "POST/v1/messages/batches": // their files and results exist at the end
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		type state struct {
			Status     string `json:"status"`
			Processing string `json:"processing_status"`
		}
		for {
			if now := get[state](x.t, x.demo.client(x.t), strings.TrimPrefix(at, "/v1/")+"/"+is.ID, nil); now.Status == "completed" || now.Processing == "ended" {
				break
			}
			<-tick.C
		}
	case "POST/v1/videos": // its content exists at the end
		x.made["/api/jobs"] = is.ID
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			job := get[openai.Video](x.t, x.demo.client(x.t), "videos/"+is.ID, nil)
			if job.Status == "failed" {
				x.t.Fatalf("%s: %s", name, job.RawJSON())
			}
			if job.Status == "completed" {
				break
			}
			<-tick.C
		}
	}
}
