package wire_test

import (
	"strings"
	"testing"

	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

const (
	notBase64 = "is not base64: it has characters that base64 does not have. Encode the bytes of the file as standard base64."
	noType    = "has no valid media type. It must be one such as image/png."
	noURL     = "must be a data URL in base64, such as data:image/png;base64,..."
)

func TestMediaFrom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, kind, data, url, problem string }{
		{"https://example.com/a.png", "", "", "https://example.com/a.png", ""},
		{"data:image/png;base64,iVBORw0K", "image/png", "iVBORw0K", "", ""},
		{"DATA:IMAGE/PNG;charset=utf-8;BASE64,iVBO\r\nRw0K\n", "image/png", "iVBORw0K", "", ""},
		{"data:;base64,_-8", "", "/+8=", "", ""},
		{"data: image/png ; base64,iVBORw0K", "image/png", "iVBORw0K", "", ""},
		{"data:application/octet-stream;base64,iVBORw0K", "image/png", "iVBORw0K", "", ""}, // waooAI/waoowaoo#89
		{"data:binary/octet-stream;base64,JVBERi0xLjc=", "application/pdf", "JVBERi0xLjc=", "", ""},
		{"data:;base64,iVBORw0K", "image/png", "iVBORw0K", "", ""},
		{"data:image/png;base64,/9j/4AAQ", "image/jpeg", "/9j/4AAQ", "", ""}, // BerriAI/litellm#24900
		{"data:image/jpg;base64,R0lGODlhAQABAIAAAAAAAP///w==", "image/gif", "R0lGODlhAQABAIAAAAAAAP///w==", "", ""},
		{"data:image/svg+xml;base64,PHN2Zy8+", "image/svg+xml", "PHN2Zy8+", "", ""},
		{"data:text/csv;base64,JVBERi0xLjc=", "text/csv", "JVBERi0xLjc=", "", ""},
		{"data:application/octet-stream;base64,UEsDBAo=", "application/octet-stream", "UEsDBAo=", "", ""},
		{`data:image/png;base64,iVBO","x":{"y":"Rw0K`, "", "", "", notBase64},
		{"data:image/png;base64,https://example.com/", "", "", "", notBase64},
		{"data:image/png;base64,", "", "", "", "is not base64: it is empty. Encode the bytes of the file as standard base64."},
		{"data:image/png;base64,iVBOR", "", "", "", "is not base64: its end is missing. Encode the bytes of the file as standard base64."},
		{`data:image/png":"x;base64,iVBORw0K`, "", "", "", noType},
		{"data:image/p\nng;base64,iVBORw0K", "", "", "", noType},
		{"data:image/" + strings.Repeat("x", 128) + ";base64,iVBORw0K", "", "", "", noType},
		{"data:image/png,iVBORw0K", "", "", "", noURL},
		{"data:image/svg+xml;utf8,<svg/>", "", "", "", noURL},
		{"data:image/png;base64", "", "", "", noURL},
	} {
		var bad *fault.Error
		m := wire.MediaFrom(&bad, "input[0].image_url", rawjson.AppendText(nil, c.address))
		if m.Type != c.kind || string(m.Base64.Text()) != c.data || m.URL != c.url {
			t.Errorf("%q: got type %q, data %q, address %q", c.address, m.Type, m.Base64.Text(), m.URL)
		}
		complains(t, c.address, bad, "input[0].image_url", c.problem)
	}
}

func TestDataFrom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, text, data, problem string }{
		{"image/png", "iVBORw0K", "iVBORw0K", ""},
		{"audio/L16;rate=24000", "AAA", "AAA=", ""},
		{"", "iVBORw0K", "iVBORw0K", ""},
		{"image/png", `AAAA"}},{"fileData":{"fileUri":"files/other`, "", notBase64},
		{"image/png", "data:image/png;base64,iVBORw0K", "", "must be base64 alone: leave out the beginning of the data URL, up to its comma."},
		{`image/png","x":"y`, "iVBORw0K", "", noType},
		{"image/png,", "iVBORw0K", "", noType},
	} {
		var bad *fault.Error
		m := wire.DataFrom(&bad, "source.data", c.kind, rawjson.AppendText(nil, c.text))
		if string(m.Base64.Text()) != c.data || m.URL != "" {
			t.Errorf("%q: got data %q, address %q", c.text, m.Base64.Text(), m.URL)
		}
		complains(t, c.text, bad, "source.data", c.problem)
	}
}

func complains(t *testing.T, what string, bad *fault.Error, path, problem string) {
	t.Helper()
	switch {
	case problem == "" && bad != nil:
		t.Errorf("%q: refused: %v", what, bad)
	case problem != "" && (bad == nil || bad.Kind != fault.InvalidPrompt || bad.Param != path || bad.Public != path+" "+problem):
		t.Errorf("%q: got the fault %+v, want %q", what, bad, problem)
	}
}

// The first fault stays: a client mends one thing at a time.
func TestMediaFromKeepsTheFirstFault(t *testing.T) {
	t.Parallel()
	var bad *fault.Error
	wire.DataFrom(&bad, "a", "", []byte(`"!"`))
	wire.DataFrom(&bad, "b", "", []byte(`"!"`))
	if bad == nil || bad.Param != "a" {
		t.Errorf("got %+v", bad)
	}
}
