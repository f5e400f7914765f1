package httpapi

import (
	"bytes"
	"mime"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/wire/images"
)

// postImages serves POST /v1/images, whole or as a stream of events.
func (x *request) postImages() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	req, err := images.Decode(body, false)
	if err != nil {
		return err
	}
	return x.paint(req)
}

// postImageEdits serves POST /v1/images/edits: a form with images, or JSON with their addresses.
func (x *request) postImageEdits() error {
	boundary, err := x.boundary()
	if err != nil {
		return err
	}
	var req *completion.Request
	if boundary == "" {
		var body []byte
		if body, err = x.readBody(); err == nil {
			req, err = images.Decode(body, true)
		}
	} else {
		var body []byte
		if body, err = x.readForm(boundary); err == nil {
			req, err = images.DecodeForm(body, boundary)
		}
	}
	if err != nil {
		return err
	}
	return x.paint(req)
}

// postImageVariations serves POST /v1/images/variations: a form with one image.
func (x *request) postImageVariations() error {
	boundary, err := x.boundary()
	if err != nil {
		return err
	}
	if boundary == "" {
		return fault.New(fault.UnsupportedMediaType, "httpapi.postImageVariations", "The body must be a form: send Content-Type: multipart/form-data with its boundary.")
	}
	body, err := x.readForm(boundary)
	if err != nil {
		return err
	}
	req, err := images.DecodeVariation(body, boundary)
	if err != nil {
		return err
	}
	return x.paint(req)
}

// boundary separates the fields of a form; "" when the body is no form.
func (x *request) boundary() (string, error) {
	kind := x.header("Content-Type")
	if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(kind)), "multipart/") {
		return "", nil
	}
	media, params, err := mime.ParseMediaType(kind)
	if boundary := params["boundary"]; err == nil && media == "multipart/form-data" && boundary != "" && len(boundary) <= 70 {
		return boundary, nil
	}
	return "", fault.New(fault.UnsupportedMediaType, "httpapi.boundary", "The body must be JSON or a form: send Content-Type: multipart/form-data with its boundary.")
}

// readForm reads the body of a form. A client that sends a named form again parts it by another boundary: it is the same form.
func (x *request) readForm(boundary string) ([]byte, error) {
	body, err := x.readBytes()
	if err != nil {
		return nil, err
	}
	if err := x.api.quotas.Short(x.memory.TakeAlone(int64(len(body))*3/2), "httpapi.readForm"); err != nil { // images of forms are decoded to base64
		return nil, err
	}
	if x.named != nil {
		err = x.claim(bytes.ReplaceAll(body, []byte(boundary), nil))
	}
	return body, err
}

// paint answers a request for images.
func (x *request) paint(req *completion.Request) error {
	if err := x.admitTask(req); err != nil {
		return err
	}
	call := x.newCall(req, "image", images.PromptText(req))
	options := images.OptionsOf(req, x.at.Unix())
	var err error
	if req.Stream {
		err = x.performStream(call, httpserver.ErrorObject, func(w *frameWriter) frames { return images.NewStream(w, options) })
	} else {
		err = x.perform(call, images.NewWhole(wholeWriter{x}, options))
	}
	if err != nil && x.w.Status() == 0 && worked(fault.From(err)) {
		x.w.Header()["X-Should-Retry"] = []string{"false"}
	}
	return err
}

// worked reports whether a provider had taken the task on when it failed: doing it again costs as much, and official clients would, unasked.
func worked(e *fault.Error) bool {
	return e.Upstream != nil && (e.Kind == fault.Timeout || e.Upstream.Status >= 200 && e.Upstream.Status <= 299)
}

func (x *request) getImageModels() error { return x.list(x.lists().Images, catalog.TypeImage) }
