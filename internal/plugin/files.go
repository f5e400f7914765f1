package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/encoded"
	"weir/internal/fault"
	"weir/internal/plugin/pdf"
	"weir/internal/plugin/pdftext"
	"weir/internal/rawjson"
)

const maxFiles = 32 // of a request that are read

// readFiles puts the text of files in the place of the files. They are read for the first attempt that needs it.
func (s *shaping) readFiles(ctx context.Context, req *completion.Request, a *answer) (*completion.Request, error) {
	p, err := req.Prompt()
	if err != nil {
		return nil, err
	}
	if s.files == nil {
		s.files = &reader{shaping: s, known: p.Files}
		eachFile(p, func(part *completion.Part) {
			if s.files.err == nil {
				s.files.file(ctx, part.Media)
			}
		})
	}
	r := s.files
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
	if len(r.reported) > 0 && req.Style == completion.Chat { // other styles have no place for it
		a.annotations = append(r.reported[:len(r.reported):len(r.reported)], ']')
	}
	if p, err = out.Prompt(); err != nil {
		return nil, err
	}
	out.Needs.Input &^= catalog.File
	n := &out.Needs
	n.MediaTokens, n.MediaMost = max(n.MediaTokens-n.FileTokens, 0), max(n.MediaTokens-n.FileTokens, 0)
	n.FileTokens, n.PromptTokens, n.Open = 0, s.size(ctx, p), n.Open && n.Input&(catalog.Audio|catalog.Video) != 0
	return out, overdue(ctx)
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

// reader reads the files of one call, within limits that hold for all of them together.
type reader struct {
	*shaping
	known    []completion.ReadFile
	texts    []string // as they are in the prompt
	reported []byte   // annotations, after an opening bracket
	err      error
}

func (r *reader) fail(name, why string) {
	r.err = refused(fault.InvalidPrompt, "The file-parser plugin cannot read the file %q: %s. No provider of this model takes files.", name, why)
}

func (r *reader) file(ctx context.Context, m *completion.Media) {
	name := m.Name
	if name == "" {
		name = "file"
	}
	name = strings.ToValidUTF8(name[:min(len(name), 200)], "")
	switch {
	case len(r.texts) >= maxFiles:
		r.fail(name, "a request may have at most 32 files")
		return
	case m.Base64.None():
		r.fail(name, "it is given by URL or id, not as data")
		return
	case m.Base64.Size() > r.left.Bytes:
		r.fail(name, pdf.ErrTooLarge.Error())
		return
	}
	size, hash, err := sum(ctx, m.Base64)
	if err != nil {
		r.err = overdue(ctx)
		return
	}
	r.left.Bytes -= size
	text, known := r.before(hash)
	if known && len(text) > r.left.Text {
		r.fail(name, pdf.ErrTooLarge.Error())
		return
	}
	if !known {
		if text, err = r.text(ctx, m.Type, m.Base64, size); err != nil {
			if r.err = overdue(ctx); r.err == nil {
				r.refuse(name, err)
			}
			return
		}
		r.tell(hash, name, text)
	}
	r.left.Text -= len(text)
	r.texts = append(r.texts, "<file name=\""+strings.ReplaceAll(name, `"`, "'")+"\">\n"+text+"\n</file>")
}

// refuse says why a file was not read.
func (r *reader) refuse(name string, err error) {
	if !errors.Is(err, pdftext.ErrUnavailable) {
		r.fail(name, err.Error())
		return
	}
	f := fault.New(fault.Overloaded, "plugin.read", "The gateway cannot read files at present. Try again.").Because(err)
	f.RetryAfter = r.cfg.Wait
	r.err = f
}

// before is an earlier answer's text of a file.
func (r *reader) before(hash string) (text string, known bool) {
	for i := range r.known {
		if r.known[i].Hash == hash && r.known[i].Text != "" {
			return r.known[i].Text, true
		}
	}
	return "", false
}

// text returns the text of a file.
func (r *reader) text(ctx context.Context, kind string, data encoded.Base64, size int) (string, error) {
	kind, _, _ = strings.Cut(kind, ";")
	if strings.HasPrefix(kind, "text/") || kind == "application/json" || kind == "application/xml" || kind == "application/yaml" {
		if size > r.left.Text {
			return "", pdf.ErrTooLarge
		}
		if valid := strings.ToValidUTF8(string(data.File()), "\uFFFD"); len(valid) <= r.left.Text {
			return valid, nil
		}
		return "", pdf.ErrTooLarge
	}
	if r.cpu <= 0 || r.left.Work <= 0 || r.left.Text <= 0 {
		return "", pdftext.ErrCostly
	}
	lim := r.left
	lim.Bytes = size
	out, err := r.read(ctx, data.Reader(), size, pdftext.Limits{Memory: r.cfg.Memory, CPU: r.cpu, PDF: lim})
	r.cpu -= out.CPU
	r.left.Work -= out.Work
	if out.Cut && err == nil {
		out.Text += "\n[The rest of the file was left out.]"
	}
	return out.Text, err
}

// tell adds an annotation, which the client may send back so that the file need not be read again.
func (r *reader) tell(hash, name, text string) {
	b := append(r.reported, ',')
	if len(r.reported) == 0 {
		b = append(r.reported, '[')
	}
	b = append(b, `{"type":"file","file":{"hash":"`...)
	b = append(append(b, hash...), `","name":`...)
	b = rawjson.AppendText(b, name)
	b = rawjson.AppendText(append(b, `,"content":[{"type":"text","text":`...), text)
	r.reported = append(b, "}]}}"...)
}

// sum is how many bytes a file has, and its hash. It fails when the time is over.
func sum(ctx context.Context, data encoded.Base64) (size int, hash string, err error) {
	h, from, part := sha256.New(), data.Reader(), make([]byte, 64<<10)
	for ctx.Err() == nil {
		n, err := from.Read(part)
		h.Write(part[:n])
		size += n
		if err != nil { // the end
			return size, hex.EncodeToString(h.Sum(nil)), nil
		}
	}
	return 0, "", ctx.Err()
}
