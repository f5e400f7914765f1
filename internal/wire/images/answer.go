package images

import (
	"encoding/base64"
	"strconv"

	"weir/internal/completion"
	"weir/internal/imagefile"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/wire"
)

// Options of an answer.
type Options struct {
	Created int64       // Unix seconds
	Task    *task.Image // what was asked for
}

// OptionsOf are those for a request.
func OptionsOf(req *completion.Request, created int64) Options {
	t, _ := req.Task.(*task.Image)
	return Options{Created: created, Task: t}
}

func appendBase64(b []byte, p *task.MadeImage) []byte {
	b = append(b, `"b64_json":"`...)
	b = base64.StdEncoding.AppendEncode(b, p.Data)
	return append(b, '"')
}

// appendImage appends the file and its type, and the file as a data URL where the client asked for addresses: the gateway stores no images.
func appendImage(b []byte, p *task.MadeImage, t *task.Image) []byte {
	b = appendType(appendBase64(b, p), p)
	if t == nil || !t.URL {
		return b
	}
	media := "application/octet-stream"
	if imagefile.Known(p.MediaType) {
		media = p.MediaType
	}
	b = append(append(append(b, `,"url":"data:`...), media...), `;base64,`...)
	return append(base64.StdEncoding.AppendEncode(b, p.Data), '"')
}

func appendType(b []byte, p *task.MadeImage) []byte {
	if imagefile.Known(p.MediaType) {
		b = append(append(append(b, `,"media_type":"`...), p.MediaType...), '"')
	}
	return b
}

// appendSettings appends the properties of the image that the provider reported or that its file has; others are left out.
func appendSettings(b []byte, p *task.MadeImage) []byte {
	size := p.Size
	if size == "" && p.Width > 0 && p.Height > 0 {
		size = strconv.Itoa(p.Width) + "x" + strconv.Itoa(p.Height)
	}
	for _, s := range [...]struct{ name, value string }{
		{`,"background":`, p.Background}, {`,"output_format":`, outputOf(p)}, {`,"size":`, size}, {`,"quality":`, p.Quality},
	} {
		if s.value != "" {
			b = rawjson.AppendText(append(b, s.name...), s.value)
		}
	}
	return b
}

func outputOf(p *task.MadeImage) string {
	switch {
	case p.Output != "":
		return p.Output
	case imagefile.Known(p.MediaType):
		return mediatype.Name(mediatype.Image, p.MediaType)
	}
	return ""
}

// appendUsage appends the usage object. Tokens that the provider did not report are 0, even where the charge is for an estimate of them:
// the estimate is in the record of the call.
func appendUsage(b []byte, receipt *relay.Receipt) []byte {
	var u usage.Usage
	if receipt.Usage.Source&usage.Estimated == 0 {
		u = receipt.Usage
	}
	input, output := u.Prompt.N, u.Completion.N
	integer := func(name string, n int64) {
		b = strconv.AppendInt(append(b, name...), max(n, 0), 10)
	}
	integer(`{"prompt_tokens":`, input)
	integer(`,"completion_tokens":`, output)
	integer(`,"total_tokens":`, input+output)
	integer(`,"input_tokens":`, input)
	integer(`,"output_tokens":`, output)
	integer(`,"input_tokens_details":{"text_tokens":`, input-u.PromptImage.N)
	integer(`,"image_tokens":`, u.PromptImage.N)
	b = append(b, '}')
	if u.OutputImage.Reported {
		integer(`,"output_tokens_details":{"image_tokens":`, u.OutputImage.N)
		integer(`,"text_tokens":`, output-u.OutputImage.N)
		b = append(b, '}')
	}
	b = wire.AppendCost(append(b, ','), receipt)
	return append(b, '}')
}
