package wire

import "weir/internal/rawjson"

// Transcript is the text of a piece of audio in an answer, for styles that cannot carry audio.
func Transcript(audio []byte) []byte {
	if len(audio) == 0 {
		return nil
	}
	text, _ := rawjson.Unquote(rawjson.Find(audio, "transcript"))
	return text
}

// AppendPictured appends the images of an answer as Markdown, each in a line of its own, for styles that cannot carry images.
func AppendPictured(b, images []byte) []byte {
	for e := rawjson.ElementsOf(images); e.Next(); {
		if url, ok := rawjson.Unquote(rawjson.FindPath(e.Value, "image_url", "url")); ok {
			b = append(append(append(b, "![image]("...), url...), ")\n"...)
		}
	}
	return b
}
