package upstream_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/fal"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/kling"
	"weir/internal/dialect/luma"
	"weir/internal/dialect/minimax"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/runway"
	"weir/internal/fault"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/video"
)

// A job that has ended at its provider has ended here, in the provider's words: it is not looked at for ever, and nothing without a file is a
// video. What is not known yet goes on (TanStack/ai#394 of fal, QuantumNous/new-api#6838 of Veo, lidge-jun/opencodex#582 of a job that is done and
// has no address, ArcReel/ArcReel#1889 of words that gateways pass on).
func TestVideosEnd(t *testing.T) {
	t.Parallel()
	const done, filtered = `{"name":"operations/o","done":true,"response":`, `"raiMediaFilteredCount":1,"raiMediaFilteredReasons":["It has a child."]`
	router := catalog.Quirks{VideosWire: "openrouter"}
	for _, x := range []struct {
		dialect string
		quirks  catalog.Quirks
		body    string // "404 {...}" with a status; of fal the state, and after a zero byte the result
		state   video.State
		kind    fault.Kind // of what it says, or of the error that the look has
		said    string
	}{
		{"openai", catalog.Quirks{}, `{"id":"v","status":"failed","error":{"code":"moderation_blocked","message":"Blocked by the safety system."}}`, video.Failed, fault.ContentPolicy, "Blocked by the safety system."},
		{"openai", catalog.Quirks{}, `{"id":"v","status":"failed","error":"Out of frames."}`, video.Failed, fault.ProviderUnavailable, "Out of frames."},
		{"openai", catalog.Quirks{}, `{"id":"v","status":"failed","error":null}`, video.Failed, fault.ProviderUnavailable, "The provider could not make the video."},
		{"openai", catalog.Quirks{}, `{"id":"v","status":"FAILURE","fail_reason":"No GPU."}`, video.Failed, fault.ProviderUnavailable, "No GPU."},
		{"openai", catalog.Quirks{}, `{"id":"v","status":"completed","error":{"message":"No file was written."}}`, video.Failed, fault.ProviderUnavailable, "No file was written."},
		{"openai", catalog.Quirks{}, `{"id":"v","status":"Cancelled"}`, video.Cancelled, fault.ProviderUnavailable, ""},
		{"openai", catalog.Quirks{}, `{"id":"v","status":"EXPIRED"}`, video.Expired, fault.ProviderUnavailable, ""},
		{"openai", catalog.Quirks{}, `{"id":"v","status":"succeeded"}`, video.Completed, 0, ""},
		{"openai", catalog.Quirks{}, `{"id":"v","status":"done"}`, video.Completed, 0, ""},
		{"openai", catalog.Quirks{}, `{"id":"v","status":"unknown"}`, video.InProgress, 0, ""}, // QuantumNous/new-api#5045: it is new
		{"openai", catalog.Quirks{}, `{"request_id":"v"}`, video.InProgress, 0, ""},            // QuantumNous/new-api#5927: it has not begun
		{"openai", catalog.Quirks{}, `400 {"error":{"code":"content_policy_violation","message":"Not this."}}`, "", fault.ContentPolicy, "Not this."},
		{"openai", router, `{"id":"v","status":"failed","error":"Provider error"}`, video.Failed, fault.ProviderUnavailable, "Provider error"},
		{"openai", router, `{"id":"v","status":"completed","unsigned_urls":[]}`, video.Completed, 0, ""},
		{"gemini", catalog.Quirks{}, done + `{"generateVideoResponse":{` + filtered + `}}}`, video.Failed, fault.ContentPolicy, "It has a child."},
		{"gemini", catalog.Quirks{}, done + `{` + filtered + `}}`, video.Failed, fault.ContentPolicy, "It has a child."},
		{"gemini", catalog.Quirks{}, done + `{"raiMediaFilteredReasons":["It has a child."]}}`, video.Failed, fault.ContentPolicy, "It has a child."},
		{"gemini", catalog.Quirks{}, done + `{"videos":[{"mimeType":"video/mp4"}]}}`, video.Failed, fault.ProviderUnavailable, ""},
		{"gemini", catalog.Quirks{}, done + `{}}`, video.Failed, fault.ProviderUnavailable, ""},
		{"gemini", catalog.Quirks{}, `{"name":"operations/o","error":{"code":3,"message":"It violates our usage guidelines."}}`, video.Failed, fault.ContentPolicy, "It violates our usage guidelines."},
		{"gemini", catalog.Quirks{}, `{"name":"operations/o","done":true,"error":{"code":13,"message":"Internal error."}}`, video.Failed, fault.ProviderUnavailable, "Internal error."},
		{"gemini", catalog.Quirks{}, `{"name":"operations/o"}`, video.InProgress, 0, ""},
		{"runway", catalog.Quirks{}, `{"id":"v","status":"FAILED","failureCode":"SAFETY.INPUT.TEXT","failure":"Not this."}`, video.Failed, fault.ContentPolicy, "Not this."},
		{"runway", catalog.Quirks{}, `{"id":"v","status":"SUCCEEDED","output":[]}`, video.Completed, 0, ""},
		{"runway", catalog.Quirks{}, `{"id":"v","status":"CANCELED"}`, video.Cancelled, fault.ProviderUnavailable, ""},
		{"kling", catalog.Quirks{}, `{"code":0,"data":{"task_status":"failed","task_status_msg":"Failure to pass the risk control system"}}`, video.Failed, fault.ContentPolicy, "risk control"},
		{"kling", catalog.Quirks{}, `{"code":0,"data":{"task_status":"succeed","task_result":{"videos":[{"id":"1"}]}}}`, video.Completed, 0, ""},
		{"kling", catalog.Quirks{}, `{"code":0,"data":{"task_status":"processing"}}`, video.InProgress, 0, ""},
		{"minimax", catalog.Quirks{}, `{"task_id":"1","status":"Fail","base_resp":{"status_code":1027,"status_msg":"output new_sensitive"}}`, video.Failed, fault.ContentPolicy, "output new_sensitive"},
		{"minimax", catalog.Quirks{}, `{"task_id":"1","status":"Failed","error_message":"No GPU.","base_resp":{"status_code":0,"status_msg":"success"}}`, video.Failed, fault.ProviderUnavailable, "No GPU."},
		{"minimax", catalog.Quirks{}, `{"task_id":"1","status":"Success","file_id":"","base_resp":{"status_code":0}}`, video.Completed, 0, ""},
		{"luma", catalog.Quirks{}, `{"id":"v","state":"failed","failure_reason":"400: moderation failed"}`, video.Failed, fault.ContentPolicy, "moderation failed"},
		{"luma", catalog.Quirks{}, `{"id":"v","state":"completed","assets":{"image":"https://files.test/a"}}`, video.Completed, 0, ""},
		{"luma", catalog.Quirks{}, `{"id":"v","state":"dreaming"}`, video.InProgress, 0, ""},
		{"fal", catalog.Quirks{}, `{"status":"COMPLETED","error":"The model failed","error_type":"internal_error"}`, video.Failed, fault.ProviderUnavailable, "The model failed"},
		{"fal", catalog.Quirks{}, `{"status":"COMPLETED","error":"x","error_type":"client_cancelled"}`, video.Cancelled, fault.ProviderUnavailable, ""},
		{"fal", catalog.Quirks{}, `{"status":"FAILED"}`, video.Failed, fault.ProviderUnavailable, ""},
		{"fal", catalog.Quirks{}, `{"status":"ERROR","detail":"No GPU."}`, video.Failed, fault.ProviderUnavailable, "No GPU."},
		{"fal", catalog.Quirks{}, "{\"status\":\"COMPLETED\"}\x00422 {\"detail\":[{\"loc\":[\"body\",\"prompt\"],\"msg\":\"It is too long.\",\"type\":\"string_too_long\"}]}", video.Failed, fault.Invalid, "It is too long."},
		{"fal", catalog.Quirks{}, "{\"status\":\"COMPLETED\"}\x00422 {\"detail\":[{\"msg\":\"flagged\",\"type\":\"content_policy_violation\"}]}", video.Failed, fault.ContentPolicy, "flagged"},
		{"fal", catalog.Quirks{}, "{\"status\":\"COMPLETED\"}\x00{\"detail\":\"The model failed\"}", video.Failed, fault.ProviderUnavailable, "The model failed"},
		{"fal", catalog.Quirks{}, "{\"status\":\"COMPLETED\"}\x00{\"video\":null}", video.Completed, 0, ""},
		{"fal", catalog.Quirks{}, "{\"status\":\"COMPLETED\"}\x00504 {}", "", fault.ProviderUnavailable, ""}, // openstory-so/openstory#1505: the result is there
		{"fal", catalog.Quirks{}, `{"status":"IN_PROGRESS"}`, video.InProgress, 0, ""},
	} {
		t.Run(x.dialect+" "+x.body, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, result, ok := strings.Cut(x.body, "\x00")
				if ok && !strings.HasSuffix(r.URL.Path, "/status") {
					body = result
				}
				status := http.StatusOK
				if _, err := fmt.Sscanf(body, "%d ", &status); err == nil {
					body = body[4:]
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			}))
			t.Cleanup(s.Close)
			c := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"openai": new(openai.Dialect), "gemini": new(gemini.Dialect), "runway": new(runway.Dialect),
				"kling": new(kling.Dialect), "minimax": new(minimax.Dialect), "luma": new(luma.Dialect), "fal": new(fal.Dialect)}})
			t.Cleanup(c.Close)
			ep := &catalog.Endpoint{ID: "p/v/m", UpstreamID: "a/b", Provider: &catalog.Provider{ID: "p", Name: "P", Dialect: x.dialect, BaseURL: s.URL, Key: "k", Quirks: x.quirks}}
			p, err := upstream.NewVideos(c, upstreamtest.Files{}).Poll(t.Context(), ep, &video.Job{UpstreamID: "text2video/o"})
			failure := p.Failure
			if err != nil {
				failure = fault.From(err)
			}
			if p.State != x.state || (failure != nil) != (x.kind != 0) || failure != nil && (failure.Kind != x.kind || !strings.Contains(failure.Public, x.said)) {
				t.Errorf("%+v, failure %v, error %v", p, failure, err)
			}
			if hollow := x.dialect != "openai" || x.quirks.VideosWire != ""; p.State == video.Completed && hollow != (len(p.Outputs) == 0) {
				t.Errorf("outputs %+v", p.Outputs)
			}
		})
	}
}
