package pdf_test

import (
	"bytes"
	"compress/zlib"
	"encoding/ascii85"
	"errors"
	"fmt"
	"strings"
	"testing"

	"weir/internal/plugin/pdf"
)

// file writes objects from 1 on as a file; the first is its catalog.
func file(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b.WriteString("trailer\n<</Root 1 0 R" + trailer + ">>\nstartxref\n0\n%%EOF\n")
	return b.Bytes()
}

func stream(attributes, data string) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", attributes, len(data), data)
}

func deflated(attributes, data string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(data))
	_ = z.Close()
	return stream("/Filter/FlateDecode"+attributes, b.String())
}

// one is a file of one page that draws content with the fonts.
func one(fonts, content string, more ...string) []byte {
	return file("", append([]string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1/Resources<</Font<<" + fonts + ">>/XObject<</X 5 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>", content}, more...)...)
}

const helvetica = "/F<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"

func TestText(t *testing.T) {
	t.Parallel()
	catalog := "<</Type/Catalog/Pages 8 0 R>> "
	index := fmt.Sprintf("7 0 8 %d ", len(catalog))
	objectStream := deflated(fmt.Sprintf("/Type/ObjStm/N 2/First %d", len(index)), index+catalog+"<</Type/Pages/Kids[3 0 R]/Resources<</Font<<"+helvetica+">>>>>>")
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"a line", one(helvetica, stream("", "BT /F 12 Tf 72 700 Td (Hello, world.) Tj ET")), "Hello, world."},
		{"compressed", one(helvetica, deflated("", "BT /F 12 Tf (Hello) Tj ET")), "Hello"},
		{"two filters", one(helvetica, func() string {
			var z bytes.Buffer
			w := zlib.NewWriter(&z)
			_, _ = w.Write([]byte("BT /F 12 Tf (Hello) Tj ET"))
			_ = w.Close()
			var b bytes.Buffer
			a := ascii85.NewEncoder(&b)
			_, _ = a.Write(z.Bytes())
			_ = a.Close()
			return stream("/Filter[/ASCII85Decode/FlateDecode]", b.String()+"~>")
		}()), "Hello"},
		{"hexadecimal", one(helvetica, stream("/Filter/ASCIIHexDecode", "4254202f46203120546620284869295 46a204554>")), "Hi"},
		{"lines and paragraphs", one(helvetica, stream("", "BT /F 10 Tf 12 TL 72 700 Td (one) Tj T* (two) Tj (three) ' 0 -40 Td (four) Tj ET")), "one\ntwo\nthree\n\nfour"},
		{"pieces", one(helvetica, stream("", "BT /F 10 Tf [(W) 70 (ord) -300 (next) 20 (s)] TJ (!) Tj ET")), "Word nexts!"},
		{"words one by one", one("/F<</Subtype/TrueType/FirstChar 97/Widths[500 500 500]>>", stream("", "BT /F 10 Tf 1 0 0 1 10 50 Tm (abc) Tj 1 0 0 1 25 50 Tm (ab) Tj 1 0 0 1 40 50 Tm (c) Tj ET")), "abcab c"},
		{"escapes", one(helvetica, stream("", `BT /F 10 Tf (a\(b\)c\\ \101\n(in) x\
y) Tj ET`)), `a(b)c\ A (in) xy`},
		{"WinAnsi", one(helvetica, stream("", "BT /F 10 Tf (caf\xe9 \x93q\x94 \x80) Tj ET")), "caf\u00e9 \u201cq\u201d \u20ac"},
		{"MacRoman", one("/F<</Encoding/MacRomanEncoding>>", stream("", "BT /F 10 Tf (caf\x8e) Tj ET")), "caf\u00e9"},
		{"differences", one("/F<</Encoding<</BaseEncoding/WinAnsiEncoding/Differences[1/T/afii10017/afii10071 65/uni0416/eacute.alt/u1F600]>>>>", stream("", "BT /F 10 Tf (\x01\x02\x03ABC) Tj ET")), "T\u0410\u0451\u0416\u00e9\U0001F600"},
		{"a table of characters", one("/F<</Subtype/Type0/Encoding/Identity-H/ToUnicode 5 0 R>>", stream("", "BT /F 10 Tf <000100020010001100200021> Tj ET"),
			deflated("", "1 begincodespacerange <0000> <ffff> endcodespacerange 2 beginbfchar <0001> <041F> <0002> <00660069> endbfchar 2 beginbfrange <0010> <0012> <0430> <0020> <0021> [<0061> <D83DDE00>] endbfrange")),
			"\u041ffi\u0430\u0431a\U0001F600"},
		{"a table for one byte", one("/F<</ToUnicode 5 0 R>>", stream("", "BT /F 10 Tf (AB) Tj ET"), stream("", "1 beginbfchar <41> <0416> endbfchar")), "\u0416B"},
		{"a form", one(helvetica, stream("", "/X Do"), stream("/Type/XObject/Subtype/Form", "BT /F 10 Tf (inside) Tj ET")), "inside"},
		{"a form inside itself", one(helvetica, stream("", "/X Do"), stream("/Type/XObject/Subtype/Form", "BT /F 10 Tf (x) Tj ET /X Do")), "x x x x x x x x"},
		{"a picture among operators", one(helvetica, stream("", "BI /W 1 ID \x00(\xff EI BT /F 10 Tf (text) Tj ET")), "text"},
		{"several streams of a page", file("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]>>", "<</Type/Page/Resources 6 0 R/Contents[4 0 R 5 0 R]>>",
			stream("", "BT /F 10 Tf (one ) Tj"), stream("", "(two) Tj ET"), "<</Font<<"+helvetica+">>>>"), "one two"},
		{"two pages", file("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R 4 0 R 3 0 R]/Resources<</Font<<"+helvetica+">>>>>>",
			"<</Type/Page/Contents 5 0 R>>", "<</Type/Page/Contents 6 0 R>>", stream("", "BT /F 9 Tf (first) Tj ET"), stream("", "BT /F 9 Tf (second) Tj ET")), "first\n\nsecond"},
		{"objects in a stream", append([]byte("%PDF-1.5\n3 0 obj <</Type/Page/Contents 4 0 R>> endobj 4 0 obj "+stream("", "BT /F 9 Tf (packed) Tj ET")+" endobj 5 0 obj "+objectStream+
			" endobj 6 0 obj "+stream("/Type/XRef/Root 7 0 R", "\x00\x01")+" endobj"), '\n'), "packed"},
		{"no trailer", bytes.Replace(one(helvetica, stream("", "BT /F 9 Tf (found) Tj ET")), []byte("trailer"), []byte("tr@iler"), 1), "found"},
		{"a wrong length", one(helvetica, "<</Length 3>>\nstream\nBT /F 9 Tf (whole) Tj ET\nendstream"), "whole"},
		{"a changed file", append(one(helvetica, stream("", "BT /F 9 Tf (old) Tj ET")), []byte("4 0 obj "+stream("", "BT /F 9 Tf (new) Tj ET")+" endobj\n")...), "new"},
		{"a tree that goes round", file("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R 3 0 R]/Resources<</Font<<"+helvetica+">>>>>>", "<</Type/Page/Contents 4 0 R>>", stream("", "BT /F 9 Tf (once) Tj ET")), "once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := pdf.Text(c.file, pdf.Default())
			if err != nil || got.Cut || got.Text != c.want {
				t.Errorf("got %+v, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	text := one(helvetica, stream("", "BT /F 9 Tf (text) Tj ET"))
	lim := func(f func(*pdf.Limits)) pdf.Limits { l := pdf.Default(); f(&l); return l }
	for _, c := range []struct {
		name string
		file []byte
		lim  pdf.Limits
		want error
	}{
		{"nothing", nil, pdf.Default(), pdf.ErrNoPDF},
		{"another file", []byte("PK\x03\x04"), pdf.Default(), pdf.ErrNoPDF},
		{"encrypted", file("/Encrypt 9 0 R", "<</Type/Catalog/Pages 2 0 R>>"), pdf.Default(), pdf.ErrEncrypted},
		{"a picture", one("", stream("", "q 600 0 0 800 0 0 cm /Im Do Q")), pdf.Default(), pdf.ErrNoText},
		{"a font without characters", one("/F<</Subtype/Type0/Encoding/Identity-H>>", stream("", "BT /F 9 Tf <00010002> Tj ET")), pdf.Default(), pdf.ErrNoText},
		{"an unknown filter", one(helvetica, stream("/Filter/JBIG2Decode", "BT /F 9 Tf (text) Tj ET")), pdf.Default(), pdf.ErrNoText},
		{"too many bytes", text, lim(func(l *pdf.Limits) { l.Bytes = 10 }), pdf.ErrTooLarge},
		{"too much work", text, lim(func(l *pdf.Limits) { l.Work = 10 }), pdf.ErrTooLarge},
		{"a bomb", one(helvetica, deflated("", strings.Repeat(" ", 1<<20)+"BT /F 9 Tf (text) Tj ET")), lim(func(l *pdf.Limits) { l.Memory = 1 << 16 }), pdf.ErrTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, err := pdf.Text(c.file, c.lim); !errors.Is(err, c.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	got, err := pdf.Text(text, lim(func(l *pdf.Limits) { l.Text = 2 }))
	if got.Text != "te" || !got.Cut || err != nil {
		t.Errorf("a limit of two bytes gave %+v, %v", got, err)
	}
}
