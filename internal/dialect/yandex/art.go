package yandex

import (
	"iter"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/imagefile"
	"weir/internal/rawjson"
	"weir/internal/task"
)

// art makes images, one operation for each (Yandex Cloud, ImageGenerationAsync.Generate; Operation.Get).
func art(ask dialect.Ask, ep *catalog.Endpoint, t *task.Image) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		if len(t.References) > 0 {
			yield(nil, dialect.Unsupported(ep, "The provider of this model does not support input_references."))
			return
		}
		out, err := dialect.MakeImages(t.N, 1, func(first, _ int) (dialect.MadeImages, error) { return operate(ask, ep, t, first) })
		if err != nil {
			yield(nil, err)
			return
		}
		out.Give(ep, yield)
	}
}

// operate starts an operation and waits for its end.
func operate(ask dialect.Ask, ep *catalog.Endpoint, t *task.Image, index int) (dialect.MadeImages, error) {
	body, unsent := encodeArt(ep, t, index)
	answer, err := dialect.Object(ask, dialect.Call{Path: "/foundationModels/v1/imageGenerationAsync", Body: body, Unsent: unsent})
	if err != nil {
		return dialect.MadeImages{}, err
	}
	out := dialect.MadeImages{Head: completion.Head{ID: rawjson.TextAt(answer, "id")}}
	if out.Head.ID == "" {
		return out, dialect.Empty(ep)
	}
	look := operation(ep.Provider.BaseURL, out.Head.ID)
	err = dialect.PollUntil(ask, func() (bool, error) {
		if answer, err = dialect.Object(ask, look); err != nil {
			return false, operationFault(err)
		}
		done, _ := rawjson.Bool(rawjson.Find(answer, "done"))
		return done, nil
	})
	if err != nil {
		return out, err
	}
	made, err := dialect.Image(ask, index, rawjson.Text(rawjson.FindPath(answer, "response", "image")))
	if err != nil {
		return out, err
	}
	out.Head.Model = rawjson.Text(rawjson.FindPath(answer, "response", "modelVersion"))
	out.Images = append(out.Images, made)
	return out, nil
}

// operationFault distinguishes an operation that was refused because of its input from one that failed: such as a prompt that is too long,
// or audio that cannot be read (Yandex AI Studio, Error codes).
func operationFault(err error) error {
	f := fault.From(err)
	if f.Kind == fault.ProviderUnavailable && f.Upstream != nil && f.Upstream.Status == http.StatusOK && f.Upstream.Code == "3" { // INVALID_ARGUMENT
		f.Kind, f.Next, f.Public = fault.Invalid, fault.NextModel, "The provider refused the request as invalid."
	}
	return f
}

// operation is the address of an operation: the cloud has those of all its services at one host, any other server has its own.
func operation(base, id string) dialect.Call {
	call := dialect.Call{Method: http.MethodGet, Path: "/operations/" + url.PathEscape(id)}
	if u, err := url.Parse(base); err == nil && strings.HasSuffix(u.Hostname(), ".api.cloud.yandex.net") {
		call.URL = u.Scheme + "://operation.api.cloud.yandex.net" + call.Path
	}
	return call
}

func encodeArt(ep *catalog.Endpoint, t *task.Image, index int) (body []byte, unsent []string) {
	var m, options dialect.Members
	m.Text("modelUri", ep.UpstreamID)
	m.Raw("messages", append(rawjson.AppendText([]byte(`[{"weight":"1","text":`), t.Prompt), "}]"...))
	if t.Seed != nil {
		options.Text("seed", strconv.FormatInt(max(*t.Seed, 0)+int64(index), 10)) // the same seed would give the same image
	}
	if ratio := imagefile.RatioOf(t); ratio > 0 {
		w, h := whole(ratio)
		options.Raw("aspectRatio", []byte(`{"widthRatio":"`+strconv.Itoa(w)+`","heightRatio":"`+strconv.Itoa(h)+`"}`))
	}
	left := options.Options(t, ep.Provider.ID)
	if b := options.JSON(); len(b) > 2 {
		m.Raw("generationOptions", b)
	}
	unsent = append(left, dialect.Previews(t)...)
	for _, x := range []struct{ name, value string }{
		{"quality", t.Quality}, {"background", t.Background}, {"moderation", t.Moderation}, {"style", t.Style}, {"resolution", t.Resolution},
		{"output_format", strings.TrimPrefix(t.Output, "jpeg")},
	} {
		if x.value != "" && x.value != "auto" {
			unsent = append(unsent, x.name)
		}
	}
	if t.Compression >= 0 {
		unsent = append(unsent, "output_compression")
	}
	for i := range t.Extra {
		unsent = append(unsent, t.Extra[i].Name)
	}
	return m.JSON(), unsent
}

// whole returns a ratio as two small whole numbers.
func whole(ratio float64) (w, h int) {
	ratio = min(max(ratio, 1.0/16), 16)
	best := math.Inf(1)
	for y := 1; y <= 16; y++ {
		x := max(int(math.Round(ratio*float64(y))), 1)
		if off := math.Abs(math.Log(float64(x) / float64(y) / ratio)); off < best-1e-9 {
			best, w, h = off, x, y
		}
	}
	return w, h
}
