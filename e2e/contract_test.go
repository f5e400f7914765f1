package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// contract is the OpenAPI document that the gateway serves.
type contract struct {
	doc    *openapi3.T
	router routers.Router
}

func loadContract(d *demo) (*contract, error) {
	base, err := url.Parse(d.BaseURL)
	if err != nil {
		return nil, err
	}
	origin := url.URL{Scheme: base.Scheme, Host: base.Host, Path: "/openapi.yaml"}
	response, err := http.Get(origin.String())
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET /openapi.yaml: %s", response.Status)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	for _, server := range doc.Servers { // only the path of a server matters, because the port changes
		at, err := url.Parse(server.URL)
		if err != nil {
			return nil, err
		}
		server.URL = "/" + strings.Trim(at.Path, "/")
	}
	router, err := gorillamux.NewRouter(doc)
	return &contract{doc, router}, err
}

// checked is a transport that fails the test for everything that the document does not allow.
type checked struct {
	t *testing.T
	*contract
}

type wrongKey struct{}

// sendingWrong marks requests that violate the document on purpose: only their responses are checked.
func sendingWrong(ctx context.Context) context.Context {
	return context.WithValue(ctx, wrongKey{}, true)
}

func (c *checked) RoundTrip(request *http.Request) (*http.Response, error) {
	var sent []byte
	if request.Body != nil {
		var err error
		if sent, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
		request.Body.Close()
	}
	outgoing := request.Clone(request.Context())
	outgoing.Body = io.NopCloser(bytes.NewReader(sent))
	if request.Body == nil {
		outgoing.Body = nil
	}
	response, err := http.DefaultTransport.RoundTrip(outgoing)
	if err != nil {
		return nil, err
	}
	return response, c.check(request, sent, response)
}

func (c *checked) check(request *http.Request, sent []byte, response *http.Response) error {
	name := request.Method + " " + request.URL.Path
	inside := request.Clone(request.Context())
	inside.Body = io.NopCloser(bytes.NewReader(sent))
	inside.URL.Scheme, inside.URL.Host, inside.Host = "", "", ""
	route, params, err := c.router.FindRoute(inside)
	if err != nil {
		c.t.Errorf("%s: the OpenAPI document lacks it: %v", name, err)
		return nil
	}
	input := &openapi3filter.RequestValidationInput{
		Request: inside, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			MultiError: true, IncludeResponseStatus: true, SkipSettingDefaults: true,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		},
	}
	if request.Context().Value(wrongKey{}) == nil {
		if err := openapi3filter.ValidateRequest(request.Context(), input); err != nil {
			c.t.Errorf("%s: the request is not what the document says: %v\n%.2000s", name, err, sent)
		}
	}
	if response.Header.Get("X-Request-Id") == "" {
		c.t.Errorf("%s: the answer has no X-Request-Id", name)
	}
	if media, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";"); media == "text/event-stream" {
		return c.checkStream(name, input, response)
	}
	return c.checkWhole(name, input, response)
}

func (c *checked) checkWhole(name string, input *openapi3filter.RequestValidationInput, response *http.Response) error {
	got, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(got))
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: response.StatusCode, Header: response.Header, Options: input.Options,
	}
	answer.SetBodyBytes(got)
	if err := openapi3filter.ValidateResponse(context.Background(), answer); err != nil {
		c.t.Errorf("%s: the answer %d is not what the document says: %v\n%.2000s", name, response.StatusCode, err, got)
	}
	return nil
}

// checkStream passes the stream on, and checks it frame by frame when it has ended.
func (c *checked) checkStream(name string, input *openapi3filter.RequestValidationInput, response *http.Response) error {
	described := input.Route.Operation.Responses.Status(response.StatusCode)
	var media *openapi3.MediaType
	if described != nil && described.Value != nil {
		media = described.Value.Content["text/event-stream"]
	}
	if media == nil || media.Schema == nil {
		c.t.Errorf("%s: the document does not describe a stream with status %d", name, response.StatusCode)
		return nil
	}
	// In the document, a stream is a text named XStream, and the JSON of its frames is XChunk.
	chunk := c.doc.Components.Schemas[strings.TrimSuffix(path.Base(media.Schema.Ref), "Stream")+"Chunk"]
	if chunk == nil {
		chunk = media.Schema.Value.ContentSchema // or it is said in its place
	}
	if chunk == nil {
		c.t.Errorf("%s: the document describes no frames for %s", name, media.Schema.Ref)
		return nil
	}
	response.Body = &tee{from: response.Body, end: func(seen []byte) { c.checkFrames(name, chunk.Value, seen) }}
	return nil
}

func (c *checked) checkFrames(name string, schema *openapi3.Schema, seen []byte) {
	done := false
	for frame := range strings.SplitSeq(string(seen), "\n\n") {
		data := dataOf(frame)
		switch {
		case data == "":
		case done:
			c.t.Errorf("%s: a frame after [DONE]: %s", name, data)
		case data == "[DONE]":
			done = true
		default:
			var value any
			if err := json.Unmarshal([]byte(data), &value); err != nil {
				c.t.Errorf("%s: a frame is not JSON: %v: %s", name, err, data)
				continue
			}
			err := schema.VisitJSON(value, openapi3.VisitAsResponse(), openapi3.EnableJSONSchema2020(), openapi3.MultiErrors())
			if err != nil {
				c.t.Errorf("%s: a frame is not what the document says: %v: %s", name, err, data)
			}
		}
	}
	if ends := !strings.Contains(name, "/v1beta/") && !strings.Contains(name, "/api/events"); ends != done { // the Gemini style has no mark of the end, and events have no end
		c.t.Errorf("%s: the stream has no [DONE]; it ends with %q", name, seen[max(0, len(seen)-200):])
	}
}

// dataOf returns the data of one frame; lines that start with a colon are comments.
func dataOf(frame string) string {
	var data []string
	for line := range strings.Lines(frame) {
		if value, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:"); ok {
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	return strings.Join(data, "\n")
}

// tee stores everything that is read. If the reader stops early, it reads the rest, because the last frames are checked, too.
type tee struct {
	from io.ReadCloser
	seen bytes.Buffer
	once sync.Once
	end  func([]byte)
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	t.seen.Write(p[:n])
	if err == io.EOF {
		t.once.Do(func() { t.end(t.seen.Bytes()) })
	}
	return n, err
}

func (t *tee) Close() error {
	t.once.Do(func() {
		_, _ = io.Copy(&t.seen, t.from) // a broken connection shows as a missing [DONE]
		t.end(t.seen.Bytes())
	})
	return t.from.Close()
}
