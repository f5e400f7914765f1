package plugin

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/plugin/pdf"
	"weir/internal/rawjson"
)

const maxFiles = 32 // of a request that are read

// read puts the text of files in the place of the files.
func (s *Shaper) read(req *completion.Request, a *answer) (*completion.Request, error) {
	p, err := req.Prompt()
	if err != nil {
		return nil, err
	}
	r := reader{lim: pdf.Default(), known: p.Files}
	eachFile(p, func(part *completion.Part) {
		if r.err == nil {
			r.file(part.Media)
		}
	})
	if r.err != nil {
		return nil, r.err
	}
	out := req.Revise(completion.RevisedTurns, func(p *completion.Prompt) {
		i := 0
		eachFile(p, func(part *completion.Part) {
			if i < len(r.texts) {
				*part = completion.Part{Text: r.texts[i], Cache: part.Cache}
			}
			i++
		})
	})
	if len(r.told) > 0 && req.Style == completion.Chat { // other styles have no place for it
		a.annotations = append(r.told, ']')
	}
	if p, err = out.Prompt(); err != nil {
		return nil, err
	}
	out.Needs.Input &^= catalog.File
	n := &out.Needs
	n.MediaTokens, n.MediaMost = max(n.MediaTokens-n.FileTokens, 0), max(n.MediaTokens-n.FileTokens, 0)
	n.FileTokens, n.PromptTokens, n.Open = 0, s.size(p), n.Open && n.Input&(catalog.Audio|catalog.Video) != 0
	return out, nil
}

// eachFile visits the files of a prompt, in order. The turns that have any are not the client's own any more.
func eachFile(p *completion.Prompt, visit func(*completion.Part)) {
	for i := range p.Turns {
		if filesIn(p.Turns[i].Parts, visit) {
			p.Turns[i].At = completion.Span{}
		}
	}
}

func filesIn(parts []completion.Part, visit func(*completion.Part)) (some bool) {
	for i := range parts {
		switch part := &parts[i]; {
		case part.Kind == completion.FilePart && part.Media != nil:
			visit(part)
			some = true
		case part.Result != nil:
			some = filesIn(part.Result.Parts, visit) || some
		}
	}
	return some
}

// reader reads the files of one request, within limits that hold for all of them together.
type reader struct {
	lim   pdf.Limits
	known []completion.ReadFile
	texts []string // as they stand in the prompt
	told  []byte   // annotations, behind an opening bracket
	err   error
}

func (r *reader) fail(name, why string) {
	r.err = refused(fault.InvalidPrompt, "The file-parser plugin cannot read the file %q: %s. Nobody who serves this model takes files as they are.", name, why)
}

func (r *reader) file(m *completion.Media) {
	name := m.Name
	if name == "" {
		name = "file"
	}
	name = strings.ToValidUTF8(name[:min(len(name), 200)], "")
	switch {
	case len(r.texts) >= maxFiles:
		r.fail(name, "a request may have 32 files")
		return
	case m.Base64 == nil:
		r.fail(name, "it is given by an address or id and not by its data")
		return
	case base64.StdEncoding.DecodedLen(len(m.Base64)) > r.lim.Bytes+4:
		r.fail(name, pdf.ErrTooLarge.Error())
		return
	}
	data := make([]byte, base64.RawStdEncoding.DecodedLen(len(m.Base64)))
	n, err := base64.RawStdEncoding.Decode(data, []byte(strings.TrimRight(string(m.Base64), "=")))
	if err != nil {
		r.fail(name, "its data is no base64")
		return
	}
	data = data[:n]
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	text, known := r.before(hash)
	if !known {
		if text, err = r.text(m.Type, data); err != nil {
			r.fail(name, err.Error())
			return
		}
		r.tell(hash, name, text)
	}
	r.lim.Bytes -= len(data)
	r.lim.Text -= len(text)
	r.texts = append(r.texts, "<file name=\""+strings.ReplaceAll(name, `"`, "'")+"\">\n"+text+"\n</file>")
}

// before is what an earlier answer told of a file.
func (r *reader) before(hash string) (text string, known bool) {
	for i := range r.known {
		if r.known[i].Hash == hash && r.known[i].Text != "" {
			return r.known[i].Text, true
		}
	}
	return "", false
}

// text is what a file says.
func (r *reader) text(kind string, data []byte) (string, error) {
	kind, _, _ = strings.Cut(kind, ";")
	if strings.HasPrefix(kind, "text/") || kind == "application/json" || kind == "application/xml" || kind == "application/yaml" {
		if len(data) > r.lim.Text {
			return "", pdf.ErrTooLarge
		}
		if !utf8.Valid(data) {
			return strings.ToValidUTF8(string(data), "\uFFFD"), nil
		}
		return string(data), nil
	}
	text, cut, err := pdf.Text(data, r.lim)
	if cut && err == nil {
		text += "\n[The rest of the file was left out.]"
	}
	return text, err
}

// tell adds an annotation, which the client may send back so that the file need not be read again.
func (r *reader) tell(hash, name, text string) {
	b := append(r.told, ',')
	if len(r.told) == 0 {
		b = append(r.told, '[')
	}
	b = append(b, `{"type":"file","file":{"hash":"`...)
	b = append(append(b, hash...), `","name":`...)
	b = rawjson.AppendText(b, name)
	b = rawjson.AppendText(append(b, `,"content":[{"type":"text","text":`...), text)
	r.told = append(b, "}]}}"...)
}
