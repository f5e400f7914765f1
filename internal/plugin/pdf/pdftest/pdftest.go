// Package pdftest makes PDF files that are meant to hurt their reader: small ones that ask for much memory or time, and damaged ones. Only
// tests import it.
package pdftest

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"sync"
)

// File is a hostile file.
type File struct {
	Name string
	Data []byte
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

// assemble writes objects from 1 on as a file; the first is its catalog.
func assemble(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b.WriteString("trailer\n<</Root 1 0 R" + trailer + ">>\n%%EOF\n")
	return b.Bytes()
}

func stream(attributes, data string) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", attributes, len(data), data)
}

func compressed(data string, times int) string {
	for range times {
		var b bytes.Buffer
		z, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
		_, _ = z.Write([]byte(data))
		_ = z.Close()
		data = b.String()
	}
	return data
}

func deflated(attributes, data string) string {
	return stream("/Filter/FlateDecode"+attributes, compressed(data, 1))
}

const plainFont = "/F<</Type/Font/Subtype/Type1>>"

// page is a file of one page: object 4 is what it draws, 5 the form X, and further ones follow.
func page(fonts, contents, content string, more ...string) []byte {
	return assemble("", append([]string{"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1/Resources<</Font<<" + fonts + ">>/XObject<</X 5 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents " + contents + ">>", content}, more...)...)
}

func drawn(text string) string { return "BT /F 9 Tf (" + text + ") Tj ET " }

// objectStream is a file of one object stream.
func objectStream(index, body string) []byte {
	return []byte("%PDF-1.5\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj 9 0 obj " +
		deflated(fmt.Sprintf("/Type/ObjStm/N %d/First %d", strings.Count(index, "\n"), len(index)), index+body) + " endobj\n")
}

func times(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Files are the hostile files. Callers must not change them.
func Files() []File { return files() }

var files = sync.OnceValue(makeFiles)

func makeFiles() []File {
	wide := func(inner, toUnicode string) string {
		return "/F<</Subtype/Type0/Encoding/Identity-H/ToUnicode " + toUnicode + "/DescendantFonts[<<" + inner + ">>]>>"
	}
	long := times(1000, "<0041> <"+strings.Repeat("0041", 16)+">%.0d\n")
	mapped := deflated("", "1 beginbfrange <0000> <ffff> <"+strings.Repeat("0416", 16)+"> endbfrange")
	codes := strings.Repeat("0041", 200*kib)
	nest := func(open, inside, shut string, n int) string {
		return strings.Repeat(open, n) + inside + strings.Repeat(shut, n)
	}
	ordinary := page(plainFont, "4 0 R", deflated("", strings.Repeat(drawn("ordinary text "), 2000)))
	spread := func(n int) string { return strings.Repeat("4 0 R ", n) }
	kids := func(n int, to string) string { return strings.Repeat(to+" ", n) }

	return []File{
		// memory
		{"object stream: all objects at one offset", objectStream(strings.Repeat("7 0\n", 20_000), "["+strings.Repeat("1 ", 200*kib)+"]")},
		{"object stream: many objects at one offset, other numbers", objectStream(times(100_000, "%d 0\n"), "("+strings.Repeat("x", mib)+")")},
		{"object stream: objects that overlap", objectStream(times(20_000, "7 %d\n"), strings.Repeat("[", 20_000)+strings.Repeat("1 ", mib))},
		{"object stream: strings that overlap", objectStream(times(20_000, "7 %d\n"), strings.Repeat("(", 20_000)+strings.Repeat("x", mib))},
		{"contents name one stream a million times", page(plainFont, "["+spread(mib)+"]", deflated("", strings.Repeat(" ", mib)))},
		{"contents name one stream that draws", page(plainFont, "["+spread(200_000)+"]", deflated("", strings.Repeat(drawn("text"), 10_000)))},
		{"one string of a table that expands", page(wide("", "5 0 R"), "4 0 R", deflated("", "BT /F 9 Tf <"+codes+"> Tj ET"), mapped)},
		{"many strings of a table that expands", page(wide("", "5 0 R"), "4 0 R", deflated("", strings.Repeat("BT /F 9 Tf <"+codes[:4*kib]+"> Tj ET ", 1000)), mapped)},
		{"array of strings of a table that expands", page(wide("", "5 0 R"), "4 0 R", deflated("", "BT /F 9 Tf ["+strings.Repeat("<"+codes[:64]+"> -300 ", 50_000)+"] TJ ET"), mapped)},
		{"deflated spaces", page(plainFont, "4 0 R", deflated("", strings.Repeat(" ", 72*mib)))},
		{"deflated twice", page(plainFont, "4 0 R", stream("/Filter[/FlateDecode/FlateDecode]", compressed(strings.Repeat(" ", 72*mib), 2)))},
		{"deflated three times", page(plainFont, "4 0 R", stream("/Filter[/Fl/Fl/Fl]", compressed(strings.Repeat(" ", 72*mib), 3)))},
		{"deflated array", page(plainFont, "4 0 R", deflated("", "["+strings.Repeat("1 ", 4*mib)))},
		{"deflated nested arrays", page(plainFont, "4 0 R", deflated("", strings.Repeat("[[]]", 2*mib)))},
		{"deflated dictionary", page(plainFont, "4 0 R", deflated("", "<<"+times(mib, "/%d 1")))},
		{"deflated string", page(plainFont, "4 0 R", deflated("", "("+strings.Repeat("x", 40*mib)))},
		{"deflated object stream", objectStream("7 0\n", "["+strings.Repeat("1 ", 8*mib))},
		{"deflated table of characters", page(wide("", "5 0 R"), "4 0 R", drawnStream(), deflated("", strings.Repeat("1 beginbfchar "+long+" endbfchar ", 200)))},
		{"zeros of ASCII85", page(plainFont, "4 0 R", stream("/Filter/A85", strings.Repeat("z", mib)+"~>"))},
		{"zeros of ASCII85, deflated", page(plainFont, "4 0 R", stream("/Filter[/Fl/A85/A85/A85]", compressed(strings.Repeat("z", 12*mib), 1)))},
		{"many small streams of a bomb", assemble("", append([]string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]>>", "<</Type/Page/Contents[" + times(500, "%d 0 R ") + "]>>"},
			repeated(deflated("", strings.Repeat(" ", 4*mib)), 400)...)...)},
		{"a million empty objects", []byte("%PDF-1.4\n" + times(500_000, "%d 0 obj[]"))},
		{"dictionaries everywhere", []byte("%PDF-1.4\n1 0 obj" + strings.Repeat("<<>>", mib))},
		// time
		{"trailers", []byte("%PDF-1.4\n" + strings.Repeat("trailer ", mib/2))},
		{"objects without a number", []byte("%PDF-1.4\n" + strings.Repeat("obj ", mib/2))},
		{"objects before long lists", []byte("%PDF-1.4\n" + strings.Repeat("1 0 obj<<>>[ ", 200_000))},
		{"streams without an end", []byte("%PDF-1.4\n" + strings.Repeat("1 0 obj<<>>stream\n", 100_000))},
		{"comments", []byte("%PDF-1.4\n1 0 obj [" + strings.Repeat("1 %\n", mib/2))},
		{"numbers that could refer", []byte("%PDF-1.4\n1 0 obj [" + strings.Repeat("1 ", mib/2) + strings.Repeat("1", mib))},
		{"ranges of widths", page(wide("/W["+strings.Repeat("0 65535 1 ", 3000)+"]", "5 0 R"), "4 0 R", drawnStream())},
		{"lists of widths", page(wide("/W["+strings.Repeat("0 6 0 R ", 50_000)+"]", "5 0 R"), "4 0 R", drawnStream(), stream("", ""), "["+strings.Repeat("1 ", 60_000)+"]")},
		{"ranges of characters", page(wide("", "5 0 R"), "4 0 R", deflated("", "BT /F 9 Tf <"+codes+"> Tj ET"), deflated("", strings.Repeat("1 beginbfrange <0000> <ffff> ["+strings.Repeat("<41>", 100)+"] endbfrange ", 20_000)))},
		{"a form that reads one font again", page("", "4 0 R", deflated("", strings.Repeat("/X Do ", 10_000)),
			"<</Subtype/Form/Resources<</Font<<"+wide("/W["+strings.Repeat("0 65535 1 ", 20)+"]", "6 0 R")+">>>>/Length 40>>\nstream\nBT /F 9 Tf <0041> Tj ET                   \nendstream",
			deflated("", strings.Repeat("1 beginbfchar "+long+" endbfchar ", 20)))},
		{"forms in forms", page(plainFont, "4 0 R", deflated("", strings.Repeat("/X Do ", 1000)), deflated("/Subtype/Form", strings.Repeat("/X Do ", 1000)))},
		{"forms in forms that draw", page(plainFont, "4 0 R", deflated("", strings.Repeat("/X Do ", 1000)), deflated("/Subtype/Form", strings.Repeat("/X Do ", 100)+drawn("x")))},
		{"pages that share their kids", assemble("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids 3 0 R>>", "["+kids(1000, "<</Kids 3 0 R>>")+"]")},
		{"pages without number", assemble("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R "+kids(200_000, "<<>>")+"]>>", "<</Type/Page>>")},
		{"pages that go round", assemble("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids["+kids(100_000, "2 0 R")+"]>>")},
		{"references that go round", assemble("", "<</Type/Catalog/Pages 2 0 R>>", "3 0 R", "2 0 R")},
		{"gaps between pieces", page(plainFont, "4 0 R", deflated("", "BT /F 9 Tf ["+strings.Repeat("(a)-999", mib)+"] TJ ET"))},
		// structure
		{"arrays in arrays", []byte("%PDF-1.4\n1 0 obj " + nest("[", "1", "]", mib))},
		{"dictionaries in dictionaries", []byte("%PDF-1.4\n1 0 obj " + nest("<</A", "1", ">>", mib/2))},
		{"parentheses in parentheses", []byte("%PDF-1.4\n1 0 obj " + nest("(", "1", ")", mib))},
		{"states in states", page(plainFont, "4 0 R", deflated("", nest("q BT ", drawn("deep"), "ET Q ", 100_000)))},
		{"huge numbers", []byte("%PDF-1.4\n99999999999999999999 0 obj<</Length 99999999999999999999/Kids 999999999999999999 0 R>>stream\nendobj 5 0 obj<</Type/ObjStm/N 999999999999999/First 999999999999999/Length 4>>stream\n7 0 \nendstream trailer<</Root 999999999999 0 R>>")},
		{"negative numbers", []byte("%PDF-1.4\n-1 0 obj<</Length -1>>stream\nendobj 5 0 obj<</Type/ObjStm/N -1/First -1/Length -4>>stream\n7 0 \nendstream 6 0 obj<</Type/ObjStm/N 4/First 4/Length 4>>stream\n7 -9\nendstream trailer<</Root -1 0 R>>")},
		{"widths of huge codes", page(wide("/W[999999999999999 999999999999999 1 -1 -1 5 1e300 1e300 1]", "5 0 R"), "4 0 R", drawnStream())},
		{"a length that lies", page(plainFont, "4 0 R", "<</Length 9999999>>stream\n"+drawn("text")+"\nendstream")},
		{"a table of places that lies", append(ordinary[:len(ordinary):len(ordinary)], "xref\n0 99999999\n9999999999 00000 n \ntrailer<</Size 99999999/Prev 0/Root 1 0 R>>\nstartxref\n99999999\n%%EOF"...)},
		{"cut in a stream", ordinary[:len(ordinary)/2]},
		{"cut in the head", []byte("%PDF-")},
		{"a damaged stream", page(plainFont, "4 0 R", strings.Replace(deflated("", strings.Repeat(drawn("text"), 1000)), "\x78\x01", "\x00\x00", 1))},
		{"zeros", append([]byte("%PDF-1.4\n"), make([]byte, 2*mib)...)},
		{"brackets", []byte("%PDF-1.4\n1 0 obj " + strings.Repeat("<", mib) + strings.Repeat("[(", mib/2))},
		{"everything at once", page(wide("/W["+strings.Repeat("0 65535 1 ", 1000)+"]", "6 0 R"), "["+spread(10_000)+"]",
			deflated("", strings.Repeat("/X Do BT /F 9 Tf <"+codes[:4*kib]+"> Tj ET ", 100)), deflated("/Subtype/Form", strings.Repeat("/X Do ", 1000)+strings.Repeat(" ", 12*mib)), mapped)},
	}
}

func drawnStream() string { return stream("", "BT /F 9 Tf <00410041> Tj ET") }

func repeated(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}
