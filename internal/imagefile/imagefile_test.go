package imagefile_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/imagefile"
	"weir/internal/task"
)

func paint(w, h int) image.Image {
	img := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})
	img.Pix[0] = 1
	return img
}

func encoded(t testing.TB, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func files(t testing.TB, w, h int) map[string][]byte {
	t.Helper()
	return map[string][]byte{
		"image/png":  encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, paint(w, h)) }),
		"image/jpeg": encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, paint(w, h), nil) }),
		"image/gif":  encoded(t, func(b *bytes.Buffer) error { return gif.Encode(b, paint(w, h), nil) }),
	}
}

// Whatever the size, a file of each kind shows it; cut short, it is no image.
func TestOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w, h := rapid.IntRange(1, 300).Draw(r, "w"), rapid.IntRange(1, 300).Draw(r, "h")
		for media, data := range files(t, w, h) {
			if got, ok := imagefile.Of(data); !ok || got != (imagefile.Info{MediaType: media, Width: w, Height: h}) {
				r.Fatalf("%s of %dx%d: %+v, %t", media, w, h, got, ok)
			}
			if !imagefile.Known(media) {
				r.Fatalf("%s is recognized but not known", media)
			}
			if media == "image/gif" { // has no mark that a cut would take away
				continue
			}
			if got, ok := imagefile.Of(data[:len(data)-4]); ok {
				r.Fatalf("%s cut short is %+v", media, got)
			}
		}
	})
}

// The files are written out: RFC 9649 for WebP.
func TestOfWritten(t *testing.T) {
	t.Parallel()
	lossless := "RIFF\x1a\x00\x00\x00WEBPVP8L\x0e\x00\x00\x00\x2f\x0f\xc0\x03\x00\x07\x10\x11\x11\x88\x88\xfe\x07\x00\x00"
	extended := "RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\x03\x00\xff\x01\x00"
	lossy := "RIFF\x16\x00\x00\x00WEBPVP8 \x0a\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x20\x00\x10\x00"
	for _, x := range []struct {
		name, data string
		want       imagefile.Info
		ok         bool
	}{
		{"webp lossless", lossless[:len(lossless)-1] + "\x00", imagefile.Info{MediaType: "image/webp", Width: 16, Height: 16}, true},
		{"webp extended", extended, imagefile.Info{MediaType: "image/webp", Width: 1024, Height: 512}, true},
		{"webp lossy", lossy, imagefile.Info{MediaType: "image/webp", Width: 32, Height: 16}, true},
		{"webp cut", lossless[:25], imagefile.Info{}, false},
		{"webp of nothing", "RIFF\x04\x00\x00\x00WEBPVP8Y" + strings.Repeat("\x00", 20), imagefile.Info{}, false},
		{"svg", `<svg xmlns="x" width="640" height="480px"><rect/></svg>`, imagefile.Info{MediaType: "image/svg+xml", Width: 640, Height: 480}, true},
		{"svg by its box", "<?xml version=\"1.0\"?>\n<!-- a --><svg viewBox='0 0 24 12'></svg>\n", imagefile.Info{MediaType: "image/svg+xml", Width: 24, Height: 12}, true},
		{"svg in percent", `<svg width="100%" height="100%"></svg>`, imagefile.Info{MediaType: "image/svg+xml"}, true},
		{"svg whose stroke has a width", `<svg stroke-width="3" width="7" height="8"></svg>`, imagefile.Info{MediaType: "image/svg+xml", Width: 7, Height: 8}, true},
		{"svg cut", `<svg width="7" height="8"><rect`, imagefile.Info{}, false},
		{"a page", `<html><body><svg></svg></body></html>`, imagefile.Info{}, false},
		{"text", "I cannot draw that.", imagefile.Info{}, false},
		{"nothing", "", imagefile.Info{}, false},
		{"png of no size", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00IEND\x00\x00\x00\x00", imagefile.Info{}, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			got, ok := imagefile.Of([]byte(x.data))
			if ok != x.ok || ok && got != x.want {
				t.Errorf("%+v, %t", got, ok)
			}
		})
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	if data, err := imagefile.FromURL(imagefile.URL("image/png", []byte("abcd"))); err != nil || string(data) != "abcd" {
		t.Errorf("%q, %v", data, err)
	}
	for _, address := range []string{"https://a.test/b.png", "data:image/png,abc", "data:image/png;base64,", "data:image/png;base64,%%%", "data:"} {
		if data, err := imagefile.FromURL(address); err == nil {
			t.Errorf("%s gives %q", address, data)
		}
	}
	if data, err := imagefile.FromBase64("YWI"); err != nil || string(data) != "ab" {
		t.Errorf("without padding: %q, %v", data, err)
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		task  task.Image
		tier  string
		ratio float64
	}{
		{task.Image{}, "", 0},
		{task.Image{Size: "1536x1024"}, "1K", 1.5},
		{task.Image{Size: "2K", AspectRatio: "16:9"}, "2K", 16.0 / 9},
		{task.Image{Resolution: "4K"}, "4K", 0},
		{task.Image{Size: "auto", AspectRatio: "19.5:9"}, "", 19.5 / 9},
		{task.Image{Size: "512x512"}, "512", 1},
	} {
		if tier, ratio := imagefile.Tier(&x.task), imagefile.RatioOf(&x.task); tier != x.tier || math.Abs(ratio-x.ratio) > 1e-9 {
			t.Errorf("%+v: tier %q, ratio %v", x.task, tier, ratio)
		}
	}
	for ratio, want := range map[float64]string{1.5: "1536x1024", 0.5: "1024x1536", 1.05: "1024x1024", 20: "1536x1024"} {
		if got := imagefile.Nearest(ratio, []string{"1024x1024", "1536x1024", "1024x1536"}); got != want {
			t.Errorf("nearest to %v is %s", ratio, got)
		}
	}
	if w, h := imagefile.Fit(16.0/9, 1024, 16, 256, 3840); w != 1360 || h != 768 {
		t.Errorf("16:9 is %dx%d", w, h)
	}
	for _, text := range []string{"", "1", "0:1", "1:0", "a:b", "1:-1", "NaN:1", "Inf:1"} {
		if r := imagefile.Ratio(text); r != 0 {
			t.Errorf("%q is the ratio %v", text, r)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, data := range files(f, 8, 4) {
		f.Add(data)
	}
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0e\x00\x00\x00\x2f\x0f\xc0\x03\x00"))
	f.Add([]byte(`<?xml version="1.0"?><svg width="1" height="2" viewBox="0 0 1 2"/>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		info, ok := imagefile.Of(data)
		if ok && (info.MediaType == "" || info.Width < 0 || info.Height < 0 || info.Width > 1<<24 || info.Height > 1<<24) {
			t.Errorf("%+v", info)
		}
	})
}
