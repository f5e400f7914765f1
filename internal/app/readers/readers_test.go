package readers_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"weir/internal/audio"
	"weir/internal/completion"
	"weir/internal/gatewayimport"
	"weir/internal/imagefile"
	"weir/internal/invoice"
	"weir/internal/plugin/heal"
	"weir/internal/plugin/pdf"
	"weir/internal/plugin/schema"
	"weir/internal/subtitle"
	"weir/internal/wire/batches"
	"weir/internal/wire/chat"
	"weir/internal/wire/embeddings"
	"weir/internal/wire/gemini"
	"weir/internal/wire/images"
	"weir/internal/wire/messages"
	"weir/internal/wire/moderations"
	"weir/internal/wire/rerank"
	"weir/internal/wire/responses"
	"weir/internal/wire/speech"
	"weir/internal/wire/videos"
)

const mebibyte = 1 << 20

// of is a file of 1 MiB: a head, and a piece as often as it fits, and an end.
func of(head, piece, end string) []byte {
	return []byte(head + strings.Repeat(piece, (mebibyte-len(head)-len(end))/len(piece)) + end)
}

// box is a box of MP4 with a length that its content does not have to have.
func box(size uint32, kind string) string {
	return string(binary.BigEndian.AppendUint32(nil, size)) + kind
}

// readers are all that read what users send: files, and bodies. A reader that is new belongs here, with the worst that can be sent to it.
var readers = []struct {
	name   string
	most   uint64 // bytes that reading 1 MiB may take, in all
	read   func(data []byte)
	inputs map[string][]byte
}{
	{"files of other gateways", 64 * mebibyte, func(data []byte) {
		_, _ = gatewayimport.Read(gatewayimport.LiteLLM, []gatewayimport.File{{Name: "worst", Text: data}}, gatewayimport.World{})
	}, map[string][]byte{"lists": of("[", "[],", "[]]"), "names": of("", "a:\n", ""), "an alias of aliases": of("a: &a [x]\nb: [", "*a,", "*a]\n")}},
	{"statements of banks", 40 * mebibyte, func(data []byte) { _, _ = invoice.ReadStatement(data) }, map[string][]byte{
		"documents": of("1CClientBankExchange\n", "СекцияДокумент=x\nКонецДокумента\n", "КонецФайла\n"), "lines": of("1CClientBankExchange\n", "\n", "КонецФайла\n"),
		"members": of("1CClientBankExchange\nСекцияДокумент=x\n", "Сумма=1\n", "КонецДокумента\nКонецФайла\n"), "code page 1251": of("1CClientBankExchange\n\xd1", "\xe5\n", ""),
	}},
	{"sound", 8 * mebibyte, func(data []byte) { _, _ = audio.Probe(bytes.NewReader(data), int64(len(data))) }, map[string][]byte{
		"boxes of MP4": of(box(16, "ftyp")+"M4A \x00\x00\x00\x00", box(8, "free"), ""), "boxes in boxes": of(box(16, "ftyp")+"M4A \x00\x00\x00\x00", box(0, "moov"), ""),
		"a table of a billion": of(box(16, "ftyp")+"M4A \x00\x00\x00\x00"+box(0, "moov")+box(0, "trak")+box(0, "mdia")+box(0, "minf")+box(0, "stbl")+box(0, "stts")+"\x00\x00\x00\x00\x7f\xff\xff\xff", "\x00", ""),
		"pages of Ogg":         of("", "OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", ""), "chunks of WAV": of("RIFF\xff\xff\xff\x7fWAVE", "LIST\x00\x00\x00\x00", ""),
		"elements of WebM": of("\x1a\x45\xdf\xa3\x80", "\x18\x53\x80\x67\x80", ""), "frames of MP3": of("", "\xff\xfb\x10\x00", ""), "blocks of FLAC": of("fLaC", "\x04\x00\x00\x00", ""),
		"packs of MPEG": of("", "\x00\x00\x01\xba\x44\x00\x04\x00\x04\x01\x00\x00\x03\xf8", ""),
	}},
	{"images", mebibyte / 4, func(data []byte) { imagefile.Of(data) }, map[string][]byte{
		"segments of JPEG": of("\xff\xd8", "\xff\xe0\x00\x02", ""), "a PNG of four billion": of("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x06\x00\x00\x00", "\x00", ""),
		"chunks of WebP": of("RIFF\xff\xff\x0f\x00WEBP", "ICCP\x00\x00\x00\x00", ""), "a GIF": of("GIF89a\xff\xff\xff\xff\xf7\x00\x00", "!\xfe\x00", ""),
	}},
	{"PDF", 128 * mebibyte, func(data []byte) { _, _ = pdf.Text(data, pdf.Default()) }, map[string][]byte{
		"objects": of("%PDF-1.7\n", "1 0 obj<<>>endobj\n", "trailer<</Root 1 0 R>>"), "lists": of("%PDF-1.7\n1 0 obj", "[", ""), "dictionaries": of("%PDF-1.7\n1 0 obj", "<</A ", ""),
	}},
	{"subtitles", 64 * mebibyte, func(data []byte) { _, _ = subtitle.ReadSRT(data); _, _ = subtitle.ReadVTT(data) }, map[string][]byte{
		"cues": of("", "1\n00:00:00,000 --> 00:00:00,001\na\n\n", ""), "lines": of("WEBVTT\n\n", "a\n", ""),
	}},
	{"schemas", 64 * mebibyte, func(data []byte) { _, _ = schema.Compile(context.Background(), data) }, map[string][]byte{
		"members": of(`{"properties":{`, `"a":{},`, `"b":{}}}`), "choices": of(`{"anyOf":[`, `{},`, `{}]}`), "a pattern": of(`{"pattern":"`, `(a|`, `"}`),
	}},
	{"broken JSON", 16 * mebibyte, func(data []byte) { heal.JSON(data) }, map[string][]byte{"open lists": of("", "[", ""), "open objects": of("", `{"a":`, ""), "texts": of("[", `"a",`, "")}},
	{"batches", 16 * mebibyte, func(data []byte) {
		_, _ = batches.Decode(data)
		_, _, _ = batches.DecodeMessages(data, 1<<40, 1<<20)
	}, map[string][]byte{"requests": of(`{"requests":[`, `{"custom_id":"a","params":{}},`, `{}]}`), "metadata": of(`{"metadata":{`, `"a":"b",`, `"b":"c"}}`)}},
	{"chat", 64 * mebibyte, prompted(chat.Decode), bodies(`{"model":"a/b","messages":[`, `{"role":"user","content":"a"},`, `{"role":"user","content":[{"type":"text","text":"a"}]},`, `{"role":"user","content":"b"}]}`)},
	{"messages", 64 * mebibyte, prompted(messages.Decode), bodies(`{"model":"a/b","max_tokens":1,"messages":[`, `{"role":"user","content":"a"},`, `{"role":"user","content":[{"type":"text","text":"a"}]},`, `{"role":"user","content":"b"}]}`)},
	{"responses", 64 * mebibyte, prompted(func(data []byte) (*completion.Request, error) {
		r, err := responses.Decode(data)
		if err != nil {
			return nil, err
		}
		return r.Request, nil
	}), bodies(`{"model":"a/b","input":[`, `{"role":"user","content":"a"},`, `{"type":"reasoning","summary":[]},`, `{"role":"user","content":"b"}]}`)},
	{"gemini", 64 * mebibyte, prompted(func(data []byte) (*completion.Request, error) { return gemini.Decode(data, "a/b", false) }), bodies(`{"contents":[`, `{"parts":[{"text":"a"}]},`, `{"parts":[{},{},{}]},`, `{"parts":[{"text":"b"}]}]}`)},
	{"embeddings", 64 * mebibyte, prompted(embeddings.Decode), bodies(`{"model":"a/b","input":[`, `"a",`, `[1],`, `"b"]}`)},
	{"rerank", 64 * mebibyte, prompted(rerank.Decode), bodies(`{"model":"a/b","query":"q","documents":[`, `"a",`, `{"text":"a"},`, `"b"]}`)},
	{"moderations", 64 * mebibyte, prompted(func(data []byte) (*completion.Request, error) { return moderations.Decode(data, "openai") }), bodies(`{"model":"a/b","input":[`, `"a",`, `{"type":"text","text":"a"},`, `"b"]}`)},
	{"speech", 16 * mebibyte, prompted(speech.Decode), bodies(`{"model":"a/b","voice":"v","input":"x","provider":{"options":[`, `[],`, `{},`, `0]}}`)},
	{"pictures", 16 * mebibyte, prompted(func(data []byte) (*completion.Request, error) { return images.Decode(data, false) }), bodies(`{"model":"a/b","prompt":"x","image":[`, `"a",`, `[],`, `"b"]}`)},
	{"films", 16 * mebibyte, func(data []byte) { _, _ = videos.Decode(data) }, bodies(`{"model":"a/b","prompt":"x","frame_images":[`, `{},`, `[],`, `{}]}`)},
}

// bodies are two requests of 1 MiB whose list has very many entries, and one whose entries are lists.
func bodies(head, one, other, end string) map[string][]byte {
	return map[string][]byte{"entries": of(head, one, end), "other entries": of(head, other, end), "lists": of(head, "[[],[]],", end), "open lists": of(head, "[", end)}
}

// prompted decodes a request and makes its canonical form, as for a provider with another wire.
func prompted(decode func([]byte) (*completion.Request, error)) func([]byte) {
	return func(data []byte) {
		if req, err := decode(data); err == nil && req.Source != nil {
			_, _ = req.Prompt()
		}
	}
}

// One request must not take many times its own size: a thousand of them are the node's memory. Nothing else runs while this measures.
func TestReadersTakeLittleMemory(t *testing.T) {
	for _, r := range readers {
		for name, data := range r.inputs {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r.read(data)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > r.most {
				t.Errorf("%s, %s: %d KiB, %d are expected at most", r.name, name, took>>10, r.most>>10)
			} else {
				t.Logf("%s, %s: %d KiB", r.name, name, took>>10)
			}
		}
	}
}
