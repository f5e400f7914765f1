package wire

import (
	"math"
	"strings"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

// ImageURL reads the address of an image, https or data: a string, or an object with a url.
func (r *Reader) ImageURL() (url string) {
	if r.Kind() != rawjson.Object {
		return r.imageAddress()
	}
	r.Object()
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		if string(name) == "url" {
			url = r.imageAddress()
		} else {
			r.Skip()
		}
	}
	if url == "" {
		r.FailIn(fault.Invalid, "url", "%s.url is required: https://... or data:image/...", r.Path())
	}
	return url
}

func (r *Reader) imageAddress() string {
	text, ok := r.Text(math.MaxInt)
	if !ok {
		r.Required()
		return ""
	}
	for _, scheme := range [...]string{"https://", "http://", "data:image/"} {
		if len(text) > len(scheme) && strings.EqualFold(string(text[:len(scheme)]), scheme) {
			return r.Address(text)
		}
	}
	r.Fail(fault.Invalid, "%s must be a URL such as https://... or data:image/...", r.Path())
	return ""
}

// Address is an address that was read, its data checked if it is a data URL. It is "" with a fault.
func (r *Reader) Address(text []byte) string {
	if !isData(text) {
		return string(text)
	}
	var bad *fault.Error
	m := mediaIn(&bad, r.Path(), text)
	if bad != nil {
		r.Fail(fault.Invalid, "%s", bad.Public)
	}
	return addressOf(m)
}
