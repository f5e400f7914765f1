package catalog

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
)

// vendorNames are the names of vendors where capitals do not make them.
var vendorNames = map[string]string{
	"openai": "OpenAI", "anthropic": "Anthropic", "google": "Google", "x-ai": "xAI", "meta-llama": "Meta", "meta": "Meta", "mistralai": "Mistral AI", "deepseek": "DeepSeek",
	"qwen": "Qwen (Alibaba)", "alibaba": "Alibaba", "moonshotai": "Moonshot AI", "z-ai": "Z.AI", "minimax": "MiniMax", "cohere": "Cohere", "nvidia": "NVIDIA", "microsoft": "Microsoft",
	"amazon": "Amazon", "xiaomi": "Xiaomi", "baidu": "Baidu", "bytedance": "ByteDance", "bytedance-seed": "ByteDance Seed", "tencent": "Tencent", "perplexity": "Perplexity",
	"ai21": "AI21 Labs", "ibm-granite": "IBM", "nousresearch": "Nous Research", "stepfun": "StepFun", "baai": "BAAI", "voyageai": "Voyage AI", "jinaai": "Jina AI", "jina": "Jina AI",
	"black-forest-labs": "Black Forest Labs", "stabilityai": "Stability AI", "elevenlabs": "ElevenLabs", "deepgram": "Deepgram", "runway": "Runway", "klingai": "Kling AI", "kling": "Kling AI",
	"luma": "Luma AI", "hcompany": "H Company", "inclusionai": "inclusionAI", "arcee-ai": "Arcee AI", "thedrummer": "TheDrummer", "sao10k": "Sao10K", "yandex": "Yandex", "sber": "Sber",
	"writer": "Writer", "inception": "Inception", "morph": "Morph", "vercel": "Vercel", "sim": "Weir (simulator)", "allenai": "Ai2", "aion-labs": "AionLabs", "kwaipilot": "Kwaipilot",
}

// VendorName is the name of a vendor as people write it.
func VendorName(vendor string) string {
	if name := vendorNames[vendor]; name != "" {
		return name
	}
	words := strings.FieldsFunc(vendor, func(r rune) bool { return r == '-' || r == '_' })
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

// purposes are the purposes of models by type, in English and Russian. Chat models are described by their inputs and outputs.
var purposes = map[string][2]string{
	TypeEmbedding:     {"turns text into vectors, for search and comparison", "превращает текст в векторы для поиска и сравнения"},
	TypeModeration:    {"finds harmful content", "находит вредное содержание"},
	TypeTranscription: {"turns speech into text", "превращает речь в текст"},
	TypeImage:         {"makes images from text", "создаёт изображения по тексту"},
	TypeVideo:         {"makes videos from text", "создаёт видео по тексту"},
	TypeSpeech:        {"reads text aloud", "читает текст вслух"},
	TypeRerank:        {"sorts documents by how well they answer a query", "сортирует документы по соответствию запросу"},
}

// contents are the words for modalities: in English, and in Russian as the object of takes and of answers with.
var contents = []struct {
	bit           Modality
	en, ru, ruFor string
}{
	{Text, "text", "текст", "текстом"}, {Image, "images", "изображения", "изображениями"}, {Audio, "audio", "аудио", "аудио"}, {File, "files", "файлы", "файлами"}, {Video, "video", "видео", "видео"},
}

// describe returns a sentence with the known facts of a model, in English and in Russian. It leaves out facts that were not declared.
func (m *Model) describe() (en, ru string) {
	var input, output Modality
	var params Params
	for _, ep := range m.Endpoints {
		if ep.Input != AllModalities {
			input |= ep.Input
		}
		output |= ep.Output
		if ep.Params != AllParams {
			params |= ep.Params
		}
	}
	vendor := VendorName(m.Vendor)
	if p, ok := purposes[m.Type]; ok {
		if m.Type == TypeImage && input&Image != 0 {
			p = [2]string{"makes and changes images from text and images", "создаёт и изменяет изображения по тексту и изображениям"}
		}
		en, ru = m.Name+" of "+vendor+" "+p[0], m.Name+" ("+vendor+") "+p[1]
		if m.ContextLength > 0 {
			en, ru = en+"; it takes up to "+count(m.ContextLength, ",")+" tokens", ru+"; принимает до "+count(m.ContextLength, "\u00a0")+" токенов"
		}
		return en + ".", ru + "."
	}
	kind, kindRU := "a model for conversations", "модель для диалогов"
	if m.codes() {
		kind, kindRU = "a model for programming", "модель для программирования"
	}
	en, ru = m.Name+" of "+vendor+" is "+kind, m.Name+" ("+vendor+") — "+kindRU
	var enParts, ruParts []string
	if input != 0 {
		enParts = append(enParts, "takes "+listed(input))
		ruParts = append(ruParts, "принимает "+listedRU(input, false))
	}
	enParts = append(enParts, "answers with "+listed(output))
	ruParts = append(ruParts, "отвечает "+listedRU(output, true))
	if m.ContextLength > 0 {
		enParts = append(enParts, "has a context of "+count(m.ContextLength, ",")+" tokens")
		ruParts = append(ruParts, "контекст — "+count(m.ContextLength, "\u00a0")+" токенов")
	}
	if params&ParamTools != 0 {
		enParts, ruParts = append(enParts, "calls tools"), append(ruParts, "вызывает инструменты")
	}
	if params&ParamReasoning != 0 {
		enParts, ruParts = append(enParts, "reasons before it answers"), append(ruParts, "рассуждает перед ответом")
	}
	return en + " that " + joined(enParts, " and ") + ".", ru + ": " + joined(ruParts, " и ") + "."
}

// Russian is the description for Russian readers: what was declared in Russian, else a sentence of the model's facts.
func (m *Model) Russian() string {
	if m.DescriptionRU == "" && strings.ContainsFunc(m.Description, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) }) {
		return m.Description
	}
	return cmp.Or(m.DescriptionRU, m.SummaryRU, m.Description)
}

// codes reports whether the maker names the model for programming.
func (m *Model) codes() bool {
	_, name, _ := strings.Cut(m.Slug, "/")
	for _, word := range []string{"coder", "codex", "codestral", "devstral", "-code"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

func listed(set Modality) string {
	var out []string
	for _, c := range contents {
		if set&c.bit != 0 {
			out = append(out, c.en)
		}
	}
	return joined(out, " and ")
}

func listedRU(set Modality, with bool) string {
	var out []string
	for _, c := range contents {
		switch {
		case set&c.bit == 0:
		case with:
			out = append(out, c.ruFor)
		default:
			out = append(out, c.ru)
		}
	}
	return joined(out, " и ")
}

// joined writes a list as people do: a, b and c.
func joined(list []string, and string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + and + list[len(list)-1]
}

// count writes a number with its digits in groups of three.
func count(n int64, separator string) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString(separator)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}
