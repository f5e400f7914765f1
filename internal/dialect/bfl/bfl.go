// Package bfl is the dialect of Black Forest Labs: an image is submitted, polled, and fetched. It must not choose endpoints.
package bfl

import (
	"iter"
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

// Dialect implements dialect.Dialect and dialect.Performer. It is safe for concurrent use.
type Dialect struct{}

var (
	_ dialect.Dialect   = (*Dialect)(nil)
	_ dialect.Performer = (*Dialect)(nil)
)

// Header gives the credential in x-key, and the provider's own fields, which win.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	return dialect.Credential(p, "X-Key", "")
}

// Failure classifies an answer that is not 2xx: {"detail":"..."} or {"detail":[{"msg":...,"type":...}]}. A 403 means a wrong credential;
// so does a 402, an account without credits.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := dialect.Refusal{Status: status, Header: header}
	if rawjson.Valid(body) {
		r.Raw = string(body)
		detail := rawjson.Find(body, "detail")
		r.Message = rawjson.Text(detail)
		if first := rawjson.ElementsOf(detail); first.Next() {
			r.Message, r.Code = rawjson.TextAt(first.Value, "msg"), rawjson.TextAt(first.Value, "type")
		}
		if strings.Contains(r.Message, "Moderated") {
			r.Code = "content_policy_violation"
		}
	}
	return r.Fault(ep)
}

// Perform makes images, one request for each.
func (d *Dialect) Perform(ask dialect.Ask, ep *catalog.Endpoint, req *completion.Request) iter.Seq2[*completion.Event, error] {
	t, ok := req.Task.(*task.Image)
	if !ok {
		return dialect.NotServed(ep)
	}
	return func(yield func(*completion.Event, error) bool) {
		out, err := dialect.MakeImages(t.N, 1, func(first, _ int) (dialect.MadeImages, error) { return paint(ask, ep, t, first) })
		if err != nil {
			yield(nil, err)
			return
		}
		out.Give(ep, yield)
	}
}

// paint makes one image.
func paint(ask dialect.Ask, ep *catalog.Endpoint, t *task.Image, index int) (dialect.MadeImages, error) {
	m, unsent := encode(ep, t, index)
	answer, err := dialect.Object(ask, dialect.Call{Path: "/" + url.PathEscape(ep.UpstreamID), Body: m.JSON(), Unsent: unsent})
	if err != nil {
		return dialect.MadeImages{}, err
	}
	out := dialect.MadeImages{Head: completion.Head{ID: rawjson.TextAt(answer, "id")}}
	look := dialect.Call{Method: http.MethodGet, URL: rawjson.TextAt(answer, "polling_url")}
	if look.URL == "" { // answers of the global, not regional, address have none
		look.Path = "/get_result?id=" + url.QueryEscape(out.Head.ID)
	}
	sample := ""
	err = dialect.PollUntil(ask, func() (bool, error) {
		answer, err := dialect.Object(ask, look)
		if err != nil {
			return false, err
		}
		switch status := rawjson.TextAt(answer, "status"); status {
		case "Ready":
			sample = rawjson.Text(rawjson.FindPath(answer, "result", "sample"))
			return true, nil
		case "Request Moderated", "Content Moderated":
			return true, dialect.Barred(ep, "moderated", status, string(answer))
		case "Error", "Failed", "Task not found":
			return true, dialect.Refusal{Status: 200, Code: "500", Message: status, Raw: string(answer)}.Fault(ep)
		}
		return false, nil
	})
	if err != nil {
		return out, err
	}
	if sample == "" {
		return out, dialect.NoImage(ep)
	}
	made, err := dialect.ImageAt(ask, index, sample)
	if err != nil {
		return out, err
	}
	out.Images = append(out.Images, made)
	return out, nil
}

// Limits of the sides (Black Forest Labs, API reference): multiples of 16 in the second generation, of 32 in the first.
const (
	mostFirst, stepFirst   = 1440, 32
	mostSecond, stepSecond = 2048, 16
	leastSide              = 256
	mostReferences         = 8
)

// byRatio reports whether a model takes an aspect ratio instead of a size.
func byRatio(model string) bool {
	return strings.Contains(model, "kontext") || strings.HasSuffix(model, "-ultra")
}

var ratios = []string{"1:1", "1:2", "2:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "9:21", "21:9"}

func encode(ep *catalog.Endpoint, t *task.Image, index int) (m *dialect.Members, unsent []string) {
	m, unsent = new(dialect.Members), dialect.Previews(t)
	m.Text("prompt", t.Prompt)
	size(m, ep.MakersID(), t)
	switch t.Output {
	case "png", "jpeg", "webp":
		m.Text("output_format", t.Output)
	case "svg":
		unsent = append(unsent, "output_format")
	}
	if t.Seed != nil {
		m.Int("seed", *t.Seed+int64(index)) // the same seed would give the same image
	}
	for i, address := range t.References {
		if i == mostReferences {
			unsent = append(unsent, "input_references beyond the eighth")
			break
		}
		name := "input_image"
		if i > 0 {
			name += "_" + strconv.Itoa(i+1)
		}
		if imagefile.IsData(address) {
			_, address, _ = strings.Cut(address, ",")
		}
		m.Text(name, address)
	}
	for _, x := range []struct{ name, value string }{
		{"quality", t.Quality}, {"background", t.Background}, {"moderation", t.Moderation}, {"style", t.Style}, {"mask", t.Mask},
	} {
		if x.value != "" && x.value != "auto" {
			unsent = append(unsent, x.name)
		}
	}
	if t.Compression >= 0 {
		unsent = append(unsent, "output_compression")
	}
	unsent = append(unsent, m.Options(t, ep.Provider.ID)...)
	return m, append(unsent, m.Extra(t.Extra)...)
}

func size(m *dialect.Members, model string, t *task.Image) {
	tier, ratio := imagefile.Tier(t), imagefile.RatioOf(t)
	if tier == "" && ratio == 0 {
		return
	}
	if ratio == 0 {
		ratio = 1
	}
	if byRatio(model) {
		m.Text("aspect_ratio", imagefile.Nearest(ratio, ratios))
		return
	}
	step, most := stepFirst, mostFirst
	if strings.HasPrefix(model, "flux-2") {
		step, most = stepSecond, mostSecond
	}
	w, h, pixels := task.Dimensions(t.Size)
	if !pixels {
		side := imagefile.Side(tier)
		if side == 0 {
			side = 1024
		}
		w, h = imagefile.Fit(ratio, side, step, leastSide, most)
	}
	m.Int("width", int64(nearest(w, step, most)))
	m.Int("height", int64(nearest(h, step, most)))
}

// nearest is the nearest side that a model takes.
func nearest(side, step, most int) int {
	return min(max((side+step/2)/step*step, leastSide), most)
}
