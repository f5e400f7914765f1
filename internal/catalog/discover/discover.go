// Package discover asks servers which models they serve, and what those can do. It knows how Ollama, vLLM, SGLang, llama.cpp and LM Studio answer.
// What a server says is not trusted: answers are bounded and checked, and what is left out of one is said.
package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/rawjson"
)

// Ask sends a request to the server, with the provider's key, and returns the answer, cut at MaxBytes+1. A nil body is a GET.
type Ask func(ctx context.Context, url string, body []byte) (status int, answer []byte, err error)

// Bounds of what a server may answer.
const (
	MaxBytes   = 4 << 20 // of one answer
	MostModels = 256     // of one server
	maxID      = 200     // bytes
	maxContext = 100_000_000
	mostNotes  = 8
)

// ollamaContext is what Ollama gives a model that nothing else is set for. It cuts longer prompts without an error.
const ollamaContext = 4096

type asking struct {
	ctx    context.Context
	ask    Ask
	length int64
	base   string // with /v1
	root   string // without
	out    edit.Found
	known  map[string]*edit.FoundModel // from the answer before, by mark
	seen   map[string]bool
	twice  int
	over   int
	bad    []string
}

// Models asks the server at an address, which is that of a provider on OpenAI's wire. length is how many tokens a model is served with of which the
// server does not say it, 0 where the operator has not said it either. before is what it answered last time, nil at first. The error is a sentence for
// the operator.
func Models(ctx context.Context, ask Ask, address string, length int64, before *edit.Found) (edit.Found, error) {
	base := strings.TrimRight(address, "/")
	a := asking{ctx: ctx, ask: ask, length: length, base: base, root: strings.TrimSuffix(base, "/v1"), known: map[string]*edit.FoundModel{}, seen: map[string]bool{}}
	if before != nil {
		for i := range before.Models {
			if m := &before.Models[i]; m.Mark != "" {
				a.known[m.ID+" "+m.Mark] = m
			}
		}
	}
	list, err := a.list()
	if err != nil {
		return edit.Found{}, err
	}
	first := list.first()
	switch owner := rawjson.TextAt(first, "owned_by"); {
	case owner == "vllm":
		a.vllm(list)
	case owner == "sglang":
		a.sglang(list)
	case owner == "llamacpp":
		a.llamaCpp(list)
	default:
		if err := a.others(list); err != nil {
			return edit.Found{}, err
		}
	}
	for i := range a.out.Models {
		if m := &a.out.Models[i]; m.Context == 0 {
			m.Context = length
		}
		if m := &a.out.Models[i]; m.Trained > 0 {
			m.Context = min(m.Context, m.Trained)
		}
	}
	slices.SortFunc(a.out.Models, func(x, y edit.FoundModel) int { return strings.Compare(x.ID, y.ID) })
	a.report()
	return a.out, ctx.Err()
}

// models is the list of an answer.
type models struct{ array []byte }

func (l models) first() []byte {
	for e := rawjson.ElementsOf(l.array); e.Next(); {
		return e.Value
	}
	return nil
}

func (l models) each(f func(item []byte)) {
	for e := rawjson.ElementsOf(l.array); e.Next(); {
		f(e.Value)
	}
}

// list asks for the list that all servers have.
func (a *asking) list() (models, error) {
	body, err := a.get(a.base + "/models")
	if err != nil {
		return models{}, err
	}
	data := rawjson.Find(body, "data")
	if data == nil && string(rawjson.Find(body, "object")) == `"list"` || rawjson.IsNull(data) && rawjson.Find(body, "data") != nil {
		return models{array: []byte("[]")}, nil // Ollama without a model
	}
	if rawjson.KindOf(data) != rawjson.Array {
		return models{}, fmt.Errorf("%s answers, but not with a list of models: check base_url", a.base+"/models")
	}
	return models{data}, nil
}

// get asks, and returns an answer that is JSON.
func (a *asking) get(address string) ([]byte, error) { return a.post(address, nil) }

func (a *asking) post(address string, body []byte) ([]byte, error) {
	status, answer, err := a.ask(a.ctx, address, body)
	switch {
	case a.ctx.Err() != nil && errors.Is(err, context.Canceled):
		return nil, a.ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%s does not answer: %w", address, err)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return nil, fmt.Errorf("%s refuses the key (status %d): set api_key", address, status)
	case status != http.StatusOK:
		return nil, fmt.Errorf("%s answers with status %d: check base_url", address, status)
	case len(answer) > MaxBytes:
		return nil, fmt.Errorf("%s answers with more than %d MiB", address, MaxBytes>>20)
	case strings.HasPrefix(strings.TrimSpace(string(answer[:min(len(answer), 64)])), "<"):
		return nil, fmt.Errorf("%s answers with a web page: check base_url", address)
	}
	if err := rawjson.Check(answer, rawjson.Limits{Depth: 32, Values: 500_000}); err != nil {
		return nil, fmt.Errorf("%s answers with what is not JSON: check base_url", address)
	}
	return answer, nil
}

// add takes a model into the answer.
func (a *asking) add(m edit.FoundModel) {
	switch {
	case !shown(m.ID):
		a.bad = append(a.bad, clip(m.ID))
		return
	case a.seen[m.ID]:
		a.twice++
		return
	case len(a.out.Models) >= MostModels:
		a.over++
		return
	}
	a.seen[m.ID] = true
	m.Type = cmp.Or(m.Type, catalog.TypeChat)
	m.Context, m.Trained, m.Asked = plausible(m.Context), plausible(m.Trained), plausible(m.Asked)
	m.Quantization = quantization(m.Quantization)
	if !shown(m.Mark) {
		m.Mark = ""
	}
	a.out.Models = append(a.out.Models, m)
}

// quantization is a server's word for it in the words of the catalog, "" for one that has none there.
func quantization(word string) string {
	word = strings.ToLower(word)
	switch {
	case slices.Contains([]string{"fp16", "bf16", "fp32", "fp8", "int4", "int8", "mxfp4", "nvfp4"}, word):
		return word
	case word == "f16", word == "f32":
		return "fp" + word[1:]
	case strings.HasPrefix(word, "q4"), strings.HasPrefix(word, "iq4"), word == "4bit":
		return "int4"
	case strings.HasPrefix(word, "q8"), word == "8bit":
		return "int8"
	}
	return ""
}

// shown reports whether a text can stand in a line.
func shown(s string) bool {
	return s != "" && len(s) <= maxID && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) })
}

func clip(s string) string {
	printed := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if runes := []rune(printed); len(runes) > 40 {
		return string(runes[:40]) + "..."
	}
	return printed
}

func plausible(n int64) int64 {
	if n < 0 || n > maxContext {
		return 0
	}
	return n
}

func (a *asking) note(format string, args ...any) {
	if len(a.out.Notes) < mostNotes {
		a.out.Notes = append(a.out.Notes, fmt.Sprintf(format, args...))
	}
}

// report says what of the answer was left out.
func (a *asking) report() {
	if a.over > 0 {
		a.note("%d models more than %d are left out", a.over, MostModels)
	}
	if a.twice > 0 {
		a.note("%d models are named more than once", a.twice)
	}
	if len(a.bad) > 0 {
		a.note("%d models are left out, because no text of at most %d characters names them: %s", len(a.bad), maxID, strings.Join(a.bad[:min(3, len(a.bad))], ", "))
	}
}

func number(v []byte) int64 {
	n, ok := rawjson.Int(v)
	if !ok {
		return 0
	}
	return n
}

func texts(v []byte) (list []string) {
	for e := rawjson.ElementsOf(v); e.Next() && len(list) < 32; {
		list = append(list, rawjson.Text(e.Value))
	}
	return list
}

func ability(v []byte) edit.Ability {
	switch can, ok := rawjson.Bool(v); {
	case !ok:
		return edit.Unknown
	case can:
		return edit.Can
	}
	return edit.Cannot
}

// vllm reads the list of vLLM, which has the length of each model. It says nothing of what models can do. An adapter has the length of its model.
func (a *asking) vllm(list models) {
	a.out.Server = edit.ServerVLLM
	for _, m := range served(list) {
		a.add(m)
	}
}

// served are the models of a list in the form of vLLM, which SGLang has, too.
func served(list models) (all []edit.FoundModel) {
	lengths := map[string]int64{}
	list.each(func(item []byte) { lengths[rawjson.TextAt(item, "id")] = number(rawjson.Find(item, "max_model_len")) })
	list.each(func(item []byte) {
		id := rawjson.TextAt(item, "id")
		all = append(all, edit.FoundModel{ID: id, Context: cmp.Or(lengths[id], lengths[rawjson.TextAt(item, "parent")]), Loaded: true})
	})
	return all
}

// sglang asks for what the one model of a server of SGLang can do. Older versions have another route and fewer words for it.
func (a *asking) sglang(list models) {
	a.out.Server = edit.ServerSGLang
	info, err := a.get(a.root + "/model_info")
	if err != nil {
		if info, err = a.get(a.root + "/get_model_info"); err != nil {
			a.note("what the models can do is unknown: %v", err)
		}
	}
	kind, input := "", catalog.Modality(0)
	if ability(rawjson.Find(info, "is_generation")) == edit.Cannot {
		kind = catalog.TypeEmbedding
	}
	if image := ability(rawjson.Find(info, "has_image_understanding")); image != edit.Unknown {
		input = catalog.Text
		if image == edit.Can {
			input |= catalog.Image
		}
		if ability(rawjson.Find(info, "has_audio_understanding")) == edit.Can {
			input |= catalog.Audio
		}
	}
	for _, m := range served(list) {
		m.Type, m.Input = kind, input
		a.add(m)
	}
}

// llamaCpp reads the list of llama.cpp. A server with one model says in its properties how it is served. One with several has the state of each in the
// list; it is asked only for those that are loaded, because it would load the others to answer.
func (a *asking) llamaCpp(list models) {
	a.out.Server = edit.ServerLlamaCpp
	router := false
	list.each(func(item []byte) { router = router || rawjson.Find(item, "status") != nil })
	list.each(func(item []byte) {
		id, status := rawjson.TextAt(item, "id"), rawjson.Find(item, "status")
		meta, output := rawjson.Find(item, "meta"), texts(rawjson.FindPath(item, "architecture", "output_modalities"))
		m := edit.FoundModel{
			ID: id, Trained: number(rawjson.Find(meta, "n_ctx_train")), Context: number(rawjson.Find(meta, "n_ctx")),
			Input: modalities(texts(rawjson.FindPath(item, "architecture", "input_modalities"))), Loaded: true,
		}
		switch state := rawjson.TextAt(status, "value"); {
		case slices.Contains(output, "embeddings") || slices.Contains(output, "embedding"):
			m.Type = catalog.TypeEmbedding
		case len(output) > 0 && !slices.Contains(output, "text"):
			a.note("%s is left out: it gives %s", clip(id), clip(strings.Join(output, ", ")))
			return
		case state == "downloading":
			a.note("%s is left out until it is downloaded", clip(id))
			return
		case router && state != "loaded":
			m.Loaded = false
			m.Context = cmp.Or(m.Context, contextArgument(texts(rawjson.Find(status, "args"))))
		}
		if m.Loaded && shown(id) && !a.seen[id] && len(a.out.Models) < MostModels {
			a.properties(&m, router)
		}
		a.add(m)
	})
}

// properties asks for those of a model that is loaded.
func (a *asking) properties(m *edit.FoundModel, router bool) {
	address := a.root + "/props"
	if router {
		address += "?" + url.Values{"model": {m.ID}, "autoload": {"false"}}.Encode()
	}
	props, err := a.get(address)
	if err != nil {
		a.note("what %s can do is unknown: %v", clip(m.ID), err)
		return
	}
	if n := number(rawjson.FindPath(props, "default_generation_settings", "n_ctx")); n > 0 { // of one slot: what a request may have
		m.Context = n
	}
	if found := rawjson.Find(props, "modalities"); found != nil {
		m.Input = catalog.Text
		for name, bit := range map[string]catalog.Modality{"vision": catalog.Image, "audio": catalog.Audio, "video": catalog.Video} {
			if ability(rawjson.Find(found, name)) == edit.Can {
				m.Input |= bit
			}
		}
	}
	m.Tools = ability(rawjson.FindPath(props, "chat_template_caps", "supports_tools"))
}

// contextArgument finds the length in the arguments with which a model will be started; 0 means that of the model.
func contextArgument(args []string) int64 {
	for i := 0; i+1 < len(args); i++ {
		if slices.Contains([]string{"-c", "--ctx-size", "-ctx"}, args[i]) {
			return number([]byte(args[i+1]))
		}
	}
	return 0
}

func modalities(names []string) (m catalog.Modality) {
	for _, name := range names {
		m |= catalog.ModalityNamed(name)
	}
	return m
}

// others asks servers whose list does not name them: LM Studio, Ollama, or any other.
func (a *asking) others(list models) error {
	for _, route := range []struct {
		path, array string
		read        func(models)
	}{{"/api/v0/models", "data", a.lmStudio}, {"/api/v1/models", "models", a.lmStudioNew}} {
		if body, err := a.get(a.root + route.path); err == nil && rawjson.KindOf(rawjson.Find(body, route.array)) == rawjson.Array {
			found := models{rawjson.Find(body, route.array)}
			if item := found.first(); item != nil && rawjson.Find(item, "max_context_length") != nil {
				route.read(found)
				return nil
			}
		}
	}
	if tags, err := a.get(a.root + "/api/tags"); err == nil && rawjson.KindOf(rawjson.Find(tags, "models")) == rawjson.Array {
		return a.ollama(models{rawjson.Find(tags, "models")})
	}
	a.out.Server = edit.ServerOther
	list.each(func(item []byte) {
		length := int64(0)
		for _, name := range []string{"max_model_len", "context_length", "context_window", "max_context_length"} {
			length = cmp.Or(length, number(rawjson.Find(item, name)))
		}
		a.add(edit.FoundModel{ID: rawjson.TextAt(item, "id"), Context: length})
	})
	return nil
}

// lmStudio reads the list of LM Studio with the length that a model is loaded with. It loads one that is asked for.
func (a *asking) lmStudio(list models) {
	a.out.Server = edit.ServerLMStudio
	list.each(func(item []byte) {
		m := edit.FoundModel{
			ID: rawjson.TextAt(item, "id"), Trained: number(rawjson.Find(item, "max_context_length")), Context: number(rawjson.Find(item, "loaded_context_length")),
			Quantization: rawjson.TextAt(item, "quantization"), Loaded: rawjson.TextAt(item, "state") == "loaded",
		}
		switch rawjson.TextAt(item, "type") {
		case "embeddings":
			m.Type = catalog.TypeEmbedding
		case "vlm":
			m.Input = catalog.Text | catalog.Image
		case "llm":
			m.Input = catalog.Text
		}
		if slices.Contains(texts(rawjson.Find(item, "capabilities")), "tool_use") {
			m.Tools = edit.Can
		}
		a.add(m)
	})
}

// lmStudioNew reads the list that LM Studio has since 0.4.
func (a *asking) lmStudioNew(list models) {
	a.out.Server = edit.ServerLMStudio
	list.each(func(item []byte) {
		able := rawjson.Find(item, "capabilities")
		m := edit.FoundModel{ID: rawjson.TextAt(item, "key"), Trained: number(rawjson.Find(item, "max_context_length")), Quantization: rawjson.TextAt(rawjson.Find(item, "quantization"), "name")}
		for e := rawjson.ElementsOf(rawjson.Find(item, "loaded_instances")); e.Next(); {
			if n := number(rawjson.FindPath(e.Value, "config", "context_length")); n > 0 && (m.Context == 0 || n < m.Context) {
				m.Context = n
			}
			m.Loaded = true
		}
		if rawjson.TextAt(item, "type") == "embedding" {
			m.Type = catalog.TypeEmbedding
		}
		switch ability(rawjson.Find(able, "vision")) {
		case edit.Can:
			m.Input = catalog.Text | catalog.Image
		case edit.Cannot:
			m.Input = catalog.Text
		}
		if ability(rawjson.Find(able, "trained_for_tool_use")) == edit.Can {
			m.Tools = edit.Can
		}
		a.add(m)
	})
}

// ollama asks Ollama for each model that it has not described before. A model that it has not loaded is served with what its own file says, or with
// what the server was started with; only one that is loaded shows that. Models that Ollama passes on to its cloud are left out.
func (a *asking) ollama(list models) error {
	a.out.Server = edit.ServerOllama
	loaded := map[string]int64{}
	if body, err := a.get(a.root + "/api/ps"); err == nil {
		models{rawjson.Find(body, "models")}.each(func(item []byte) {
			loaded[rawjson.TextAt(item, "model")] = max(1, number(rawjson.Find(item, "context_length")))
		})
	}
	usual, elsewhere, silent := int64(0), []string(nil), []string(nil)
	var last error
	list.each(func(item []byte) {
		id := cmp.Or(rawjson.TextAt(item, "model"), rawjson.TextAt(item, "name"))
		if rawjson.TextAt(item, "remote_host") != "" {
			elsewhere = append(elsewhere, clip(id))
			return
		}
		if !shown(id) || a.seen[id] || len(a.out.Models) >= MostModels {
			a.add(edit.FoundModel{ID: id}) // which counts it
			return
		}
		m := edit.FoundModel{ID: id, Quantization: rawjson.TextAt(rawjson.Find(item, "details"), "quantization_level"), Mark: rawjson.TextAt(item, "digest")}
		if old := a.known[m.ID+" "+m.Mark]; old != nil && m.Mark != "" {
			m.Type, m.Trained, m.Asked, m.Input, m.Tools, m.Reasons = old.Type, old.Trained, old.Asked, old.Input, old.Tools, old.Reasons
		} else if err := a.show(&m, rawjson.TextAt(rawjson.Find(item, "details"), "family")); err != nil {
			silent, last = append(silent, clip(id)), err
			m.Mark = "" // it is asked for again
		}
		if n := loaded[id]; n > 0 {
			m.Loaded = true
			if n > 1 {
				m.Context = n
			}
			if n > 1 && m.Asked == 0 && (m.Trained == 0 || n < m.Trained) {
				usual = max(usual, n)
			}
		}
		a.add(m)
	})
	unsure := 0
	for i := range a.out.Models {
		if m := &a.out.Models[i]; m.Context == 0 && m.Type == catalog.TypeChat {
			if m.Context = cmp.Or(m.Asked, a.length, usual); m.Context == 0 {
				m.Context = ollamaContext
				unsure++
			}
		}
	}
	if unsure > 0 {
		a.note("Ollama does not say with how many tokens it serves %d models until they are loaded; %d are assumed, because it cuts longer prompts without an error. Set context_length to its OLLAMA_CONTEXT_LENGTH", unsure, ollamaContext)
	}
	if len(elsewhere) > 0 {
		a.note("%d models are left out, because Ollama passes them on to another server: %s", len(elsewhere), strings.Join(elsewhere[:min(3, len(elsewhere))], ", "))
	}
	if len(silent) > 0 {
		a.note("what %d models can do is unknown: %v", len(silent), last)
	}
	return nil
}

// show asks Ollama what a model can do.
func (a *asking) show(m *edit.FoundModel, family string) error {
	var w rawjson.Writer
	w.Object()
	w.Name("model").Text(m.ID)
	w.EndObject()
	body, err := a.post(a.root+"/api/show", w.B)
	if err != nil {
		return err
	}
	for v := rawjson.MembersOf(rawjson.Find(body, "model_info")); v.Next(); {
		if strings.HasSuffix(string(v.Name), ".context_length") {
			m.Trained = number(v.Value)
		}
	}
	for line := range strings.Lines(rawjson.TextAt(body, "parameters")) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "num_ctx" {
			m.Asked = number([]byte(words[1]))
		}
	}
	able := rawjson.Find(body, "capabilities")
	if able == nil { // before 0.6.4
		if strings.Contains(family, "bert") {
			m.Type = catalog.TypeEmbedding
		}
		return nil
	}
	list := texts(able)
	has := func(name string) edit.Ability {
		if slices.Contains(list, name) {
			return edit.Can
		}
		return edit.Cannot
	}
	m.Tools, m.Reasons, m.Input = has("tools"), has("thinking"), catalog.Text
	if has("vision") == edit.Can {
		m.Input |= catalog.Image
	}
	if has("audio") == edit.Can {
		m.Input |= catalog.Audio
	}
	if has("embedding") == edit.Can && has("completion") == edit.Cannot {
		m.Type, m.Tools, m.Reasons, m.Input = catalog.TypeEmbedding, edit.Unknown, edit.Unknown, 0
	}
	return nil
}
