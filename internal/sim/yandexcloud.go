package sim

import (
	"net/http"
	"strings"
)

// yandexTaskWire is the REST face that Yandex Cloud gives its services of gRPC: text embedding and SpeechKit.
var yandexTaskWire = wholeWire("yandex-cloud", &yandexTaskPhrases, yandexTaskError, func(s *Host, r *http.Request) *refusal {
	if refused := admitYandex(s, r); refused != nil {
		return &refusal{status: 401, message: "The token is invalid or no credentials were given: use 'Api-Key', or an IAM token as 'Bearer'."}
	}
	return nil
}, "Input text is too long: number of tokens must be no more than 2048, got 3000", `{"modelVersion":"x"}`)

func yandexTaskError(f *refusal) []byte {
	code, known := yandexCodes[f.status]
	if !known {
		code = 2
	}
	dst := appendInt([]byte(`{"error":{"grpcCode":`), code)
	dst = appendText(append(appendInt(append(dst, `,"httpCode":`...), f.status), `,"message":`...), f.message)
	return append(appendText(append(dst, `,"httpStatus":`...), http.StatusText(f.status)), `,"details":[]}}`...)
}

var yandexTaskPhrases = phrases{
	item:    openAIPhrases.item,
	missing: func(param string) string { return "Field '" + param + "' is required" },
	unknown: func(param string) string { return `Invalid JSON in request body: unknown field "` + param + `"` },
	wrongType: func(param, got, want string) string {
		return "Invalid JSON in request body: field '" + param + "' must be " + want + ", not " + got
	},
	wrongValue: func(param, want string) string { return "Field '" + param + "' must be " + want },
	outOfRange: func(param, low, high string) string {
		return "Field '" + param + "' must be from " + low + " to " + high
	},
	readable: func(error) string { return "Invalid JSON in request body" },
	rename:   camel,
}

// yandexCodes are the codes of gRPC.
var yandexCodes = map[int]int{400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 429: 8, 499: 1, 500: 13, 501: 12, 503: 14, 504: 4}

// admitYandex admits an API key or an IAM token.
func admitYandex(s *Host, r *http.Request) *refusal {
	key, given := strings.CutPrefix(r.Header.Get("Authorization"), "Api-Key ")
	if !given {
		key, given = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	switch {
	case !given:
		return wrongKey(401, "UNAUTHENTICATED: No authentication credentials provided. Use 'Api-Key' or an IAM token as 'Bearer'.")
	case !s.hasKey(key):
		return wrongKey(401, "UNAUTHENTICATED: Unknown api key '****'.")
	}
	return nil
}
