package fal

import (
	"iter"
	"strconv"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/imagefile"
	"weir/internal/rawjson"
	"weir/internal/task"
)

const (
	mostImages = 4 // per request
	step       = 8 // sides are multiples of it
	leastSide  = 256
	mostSide   = 4096
)

// paint makes images, up to four per request.
func paint(ask dialect.Ask, ep *catalog.Endpoint, t *task.Image) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		each := mostImages
		if ep.MaxN > 0 {
			each = ep.MaxN
		}
		out, err := dialect.MakeImages(t.N, each, func(first, count int) (dialect.MadeImages, error) {
			body, unsent := encode(ep, t, count)
			return run(ask, ep, body, first, unsent)
		})
		if err != nil {
			yield(nil, err)
			return
		}
		out.Give(ep, yield)
	}
}

// run carries one request through the queue.
func run(ask dialect.Ask, ep *catalog.Endpoint, body []byte, first int, unsent []string) (dialect.MadeImages, error) {
	j, err := submit(ask, ep, ep.UpstreamID, body, unsent)
	if err != nil {
		return dialect.MadeImages{}, err
	}
	ended := false
	defer func() {
		if !ended { // also when the client has gone: an image without a reader must not be made
			j.takeBack(ask)
		}
	}()
	err = dialect.PollUntil(ask, func() (bool, error) {
		return j.look(ask)
	})
	if err != nil {
		return dialect.MadeImages{}, err
	}
	ended = true
	answer, err := j.result(ask)
	if err != nil {
		return dialect.MadeImages{}, err
	}
	return read(ask, ep, answer, first, completion.Head{ID: j.id})
}

// encode writes the request. Apps have different names for the same fields, and ignore unknown members: the size is sent as a size and as
// a ratio, an input image as one address and as a list.
func encode(ep *catalog.Endpoint, t *task.Image, count int) (body []byte, unsent []string) {
	var m dialect.Members
	m.Text("prompt", t.Prompt)
	m.Int("num_images", int64(count))
	size(&m, t)
	m.Text("output_format", t.Output)
	m.Text("quality", named(t.Quality))
	m.Text("background", named(t.Background))
	m.Text("style", t.Style)
	if t.Seed != nil {
		m.Int("seed", *t.Seed)
	}
	if len(t.References) > 0 {
		list := []byte{'['}
		for i, address := range t.References {
			if i > 0 {
				list = append(list, ',')
			}
			list = rawjson.AppendText(list, address)
		}
		m.Text("image_url", t.References[0])
		m.Raw("image_urls", append(list, ']'))
	}
	m.Text("mask_url", t.Mask)
	unsent = append(m.Options(t, ep.Provider.ID), m.Extra(t.Extra)...)
	unsent = append(unsent, dialect.Previews(t)...)
	if t.Compression >= 0 {
		unsent = append(unsent, "output_compression")
	}
	if named(t.Moderation) != "" {
		unsent = append(unsent, "moderation")
	}
	return m.JSON(), unsent
}

// named is a setting that the client has chosen, "" when the model may choose.
func named(setting string) string {
	if setting == "auto" {
		return ""
	}
	return setting
}

func size(m *dialect.Members, t *task.Image) {
	w, h, pixels := task.Dimensions(t.Size)
	tier, ratio := imagefile.Tier(t), imagefile.RatioOf(t)
	if tier == "" && ratio == 0 {
		return
	}
	if ratio == 0 {
		ratio = 1
	}
	if !pixels {
		side := imagefile.Side(tier)
		if side == 0 {
			side = 1024
		}
		w, h = imagefile.Fit(ratio, side, step, leastSide, mostSide)
		m.Text("aspect_ratio", t.AspectRatio)
		m.Text("resolution", t.Resolution)
	}
	m.Raw("image_size", []byte(`{"width":`+strconv.Itoa(w)+`,"height":`+strconv.Itoa(h)+`}`))
}

// read reads the images of a result: {"images":[{"url":...}]}, or {"image":{...}} of apps that make only one. An image that the
// provider's safety checker has blackened is left out.
func read(ask dialect.Ask, ep *catalog.Endpoint, answer []byte, first int, head completion.Head) (dialect.MadeImages, error) {
	out := dialect.MadeImages{Head: head}
	var flagged []bool
	for e := rawjson.ElementsOf(rawjson.Find(answer, "has_nsfw_concepts")); e.Next(); {
		f, _ := rawjson.Bool(e.Value)
		flagged = append(flagged, f)
	}
	var found [][]byte
	for e := rawjson.ElementsOf(rawjson.Find(answer, "images")); e.Next(); {
		found = append(found, e.Value)
	}
	if one := rawjson.Find(answer, "image"); len(found) == 0 && one != nil {
		found = append(found, one)
	}
	for i, v := range found {
		var made *task.MadeImage
		var err error
		if i < len(flagged) && flagged[i] {
			err = dialect.Barred(ep, "nsfw", "", "")
		} else {
			made, err = dialect.ImageAt(ask, first+len(out.Images), rawjson.TextAt(v, "url"))
		}
		if err := out.Add(made, err); err != nil {
			return out, err
		}
	}
	return out, out.Some(ep)
}
