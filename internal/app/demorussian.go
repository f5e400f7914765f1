package app

import "strings"

// simRussian says in Russian what each model of the simulator does, by its slug.
var simRussian = map[string]string{
	"sim/anywhere":          "Размышляет перед ответом; доступна на каждом диалекте.",
	"sim/audio":             "Отвечает звуком и его расшифровкой.",
	"sim/bench":             "Всегда один и тот же ответ с наименьшими затратами: для измерений того, что стоит перед ней. Запросы не проверяет.",
	"sim/chat":              "Предсказуемый текст на языке запроса; по просьбе инструменты, JSON, размышления и вероятности.",
	"sim/echo":              "Повторяет последнее сообщение пользователя слово в слово.",
	"sim/image":             "Добавляет к ответу небольшую картинку PNG.",
	"sim/json":              "Отвечает в JSON: по заданной схеме, а без неё по своей.",
	"sim/reason":            "Размышляет перед ответом; слушается заданной глубины размышлений.",
	"sim/tools":             "Вызывает предложенные инструменты с аргументами по их схемам, затем пересказывает результаты.",
	"sim/vision":            "Называет число, вид и размер картинок и других файлов в запросе.",
	"sim/whisper":           "Расшифровывает записи во всех форматах Whisper.",
	"sim/transcribe":        "Расшифровывает записи потоком.",
	"sim/diarize":           "Расшифровывает записи и различает говорящих.",
	"sim/listen":            "Расшифровывает записи, только на диалекте deepgram.",
	"sim/scribe":            "Расшифровывает записи, только на диалекте elevenlabs.",
	"sim/speechkit":         "Расшифровывает записи, только на диалекте yandex.",
	"sim/speech":            "Речь по тексту: тон в запрошенном формате.",
	"sim/speech-elevenlabs": "Речь по тексту, только на диалекте elevenlabs.",
	"sim/embed":             "Векторы из 1536 чисел или меньше, которые следуют из текста.",
	"sim/embed-gemini":      "Векторы из 3072 чисел, только на диалекте gemini.",
	"sim/embed-gigachat":    "Векторы из 1024 чисел, только на диалекте gigachat.",
	"sim/embed-cohere":      "Векторы из 1536 чисел, только на диалекте cohere.",
	"sim/embed-voyage":      "Векторы из 1024 чисел, только на диалекте voyage.",
	"sim/embed-yandex":      "Векторы из 256 чисел, только на диалекте yandex.",
	"sim/moderation":        "Проверяет тексты и картинки по нескольким словам, в тринадцати категориях; бесплатно.",
	"sim/rerank":            "Упорядочивает документы по словам, общим с запросом.",
	"sim/rerank-openai":     "Упорядочивает документы, только на диалекте openai.",
	"sim/picture":           "Сразу рисует и меняет узоры, показывая наброски; цена по токенам.",
	"sim/picture-queue":     "Рисует узоры по очереди; цена за картинку.",
	"sim/video":             "За несколько секунд делает серое видео заданного размера и длины.",
	"sim/video-router":      "Делает серые видео через API OpenRouter, у которого есть почти все настройки.",
}

// simInRussian describes a model of the simulator; "" if there is no text for it. A model that one dialect alone serves is named after another.
func simInRussian(slug string) string {
	if text, ok := simRussian[slug]; ok {
		return text
	}
	model, dialect, _ := strings.Cut(slug, "-")
	if text, ok := simRussian[model]; ok && dialect != "" {
		return text + " Доступна только на диалекте " + dialect + "."
	}
	return ""
}
