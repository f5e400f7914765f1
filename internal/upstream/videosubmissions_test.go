package upstream_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/kling"
	"weir/internal/dialect/openai"
	"weir/internal/fault"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/video"
)

// Whatever a provider answers to a submission, the fault has its name for the request, if that is a name.
func TestSubmissionsAreNamed(t *testing.T) {
	t.Parallel()
	answer := func(status, fields, body string) upstreamtest.Script {
		return upstreamtest.SendClose("HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\n" + fields + "Connection: close\r\n\r\n" + body)
	}
	for name, c := range map[string]struct {
		script  upstreamtest.Script
		dialect dialect.Dialect
		want    string
		refused bool
	}{
		"an error":             {answer("500 Oops", "X-Request-Id: req_1\r\n", `{"error":{"message":"no"}}`), new(openai.Dialect), "req_1", false},
		"no name for the job":  {answer("200 OK", "Cf-Ray: 77-AMS\r\n", `{}`), new(openai.Dialect), "77-AMS", false},
		"a name that is none":  {answer("200 OK", "X-Request-Id: req_2\r\n", `{"id":"a b"}`), new(openai.Dialect), "req_2", false},
		"a name without end":   {answer("200 OK", "X-Request-Id: req_3\r\n", `{"id":"`+strings.Repeat("a", 2000)+`"}`), new(openai.Dialect), "req_3", false},
		"rubbish":              {answer("200 OK", "X-Request-Id: req_4\r\n", `<html>`), new(openai.Dialect), "req_4", false},
		"a refusal":            {answer("429 Busy", "X-Request-Id: req_5\r\n", `{}`), new(openai.Dialect), "req_5", true},
		"a sentence as a name": {answer("500 Oops", "X-Request-Id: a heron in a river\r\n", `{}`), new(openai.Dialect), "", false},
		"in the body":          {answer("200 OK", "", `{"code":5000,"message":"x","request_id":"kl-1"}`), new(kling.Dialect), "kl-1", false},
		"busy by its own code": {answer("200 OK", "", `{"code":5001,"message":"x","request_id":"kl-2"}`), new(kling.Dialect), "kl-2", false},
		"full by its own code": {answer("200 OK", "", `{"code":1303,"message":"x","request_id":"kl-3"}`), new(kling.Dialect), "kl-3", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, c.script)
			cl := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"it": c.dialect}})
			t.Cleanup(cl.Close)
			got, err := upstream.NewVideos(cl, upstreamtest.Files{}).Submit(t.Context(), videoEndpoint(p.URL, catalog.Quirks{}, "m"),
				&video.Submission{Token: "t", Request: &video.Request{Prompt: "x", Seconds: 4, Outputs: 1}})
			f := fault.From(err)
			if err == nil || got.ID != "" || f.Upstream == nil || f.Upstream.Request != c.want || video.Refused(f) != c.refused {
				t.Errorf("%+v, %v, %+v", got, err, f.Upstream)
			}
		})
	}
}

// A credential that cannot be had is no submission: somebody else may be asked.
func TestSubmissionWithoutCredential(t *testing.T) {
	t.Parallel()
	p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.Sized(http.StatusInternalServerError, "application/json", `{}`)))
	cl := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"it": new(openai.Dialect)}})
	t.Cleanup(cl.Close)
	ep := videoEndpoint(p.URL, catalog.Quirks{}, "m")
	ep.Provider.Key = `{"type":"service_account","client_email":"a@b.test","token_uri":"` + p.URL + `/token","private_key":` + accountKey() + `}`
	_, err := upstream.NewVideos(cl, upstreamtest.Files{}).Submit(t.Context(), ep, &video.Submission{Token: "t", Request: &video.Request{Prompt: "x", Seconds: 4, Outputs: 1}})
	if f := fault.From(err); err == nil || !video.Refused(f) {
		t.Errorf("%v", err)
	}
}
