package kit

import (
	"net/http"
	"strings"
)

// YandexTaskWire is the REST form of Yandex Cloud's gRPC services: text embedding and SpeechKit.
var YandexTaskWire = NewWholeWire("yandex-cloud", &YandexTaskPhrases, YandexTaskError, func(s *Host, r *http.Request) *Refusal {
	if refused := AdmitYandex(s, r); refused != nil {
		return &Refusal{Status: 401, Message: "The token is invalid or no credentials were given: use 'Api-Key', or an IAM token as 'Bearer'."}
	}
	return nil
}, "Input text is too long: number of tokens must be no more than 2048, got 3000", `{"modelVersion":"x"}`)

// YandexTaskError is the body of Yandex Cloud's errors.
func YandexTaskError(f *Refusal) []byte {
	code, known := yandexCodes[f.Status]
	if !known {
		code = 2
	}
	dst := AppendInt([]byte(`{"error":{"grpcCode":`), code)
	dst = AppendText(append(AppendInt(append(dst, `,"httpCode":`...), f.Status), `,"message":`...), f.Message)
	return append(AppendText(append(dst, `,"httpStatus":`...), http.StatusText(f.Status)), `,"details":[]}}`...)
}

// YandexTaskPhrases are the words of Yandex Cloud's errors.
var YandexTaskPhrases = Phrases{
	Item:    OpenAIPhrases.Item,
	Missing: func(param string) string { return "Field '" + param + "' is required" },
	Unknown: func(param string) string { return `Invalid JSON in request body: unknown field "` + param + `"` },
	WrongType: func(param, got, want string) string {
		return "Invalid JSON in request body: field '" + param + "' must be " + want + ", not " + got
	},
	WrongValue: func(param, want string) string { return "Field '" + param + "' must be " + want },
	OutOfRange: func(param, low, high string) string {
		return "Field '" + param + "' must be from " + low + " to " + high
	},
	Readable: func(error) string { return "Invalid JSON in request body" },
	Rename:   Camel,
}

// yandexCodes are gRPC codes by HTTP status.
var yandexCodes = map[int]int{400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 429: 8, 499: 1, 500: 13, 501: 12, 503: 14, 504: 4}

// AdmitYandex accepts an API key or an IAM token.
func AdmitYandex(s *Host, r *http.Request) *Refusal {
	key, given := strings.CutPrefix(r.Header.Get("Authorization"), "Api-Key ")
	if !given {
		key, given = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	switch {
	case !given:
		return WrongKey(401, "UNAUTHENTICATED: No authentication credentials provided. Use 'Api-Key' or an IAM token as 'Bearer'.")
	case !s.HasKey(key):
		return WrongKey(401, "UNAUTHENTICATED: Unknown api key '****'.")
	}
	return nil
}
