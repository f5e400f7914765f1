package apptest

import (
	"net/http"
	"strings"
	"testing"
)

// faultNames describe the simulator's faults for names of tests.
var faultNames = map[string]string{
	"u1":                    "provider_refuses_connection",
	"u2":                    "provider_closes_before_answer",
	"u2-close":              "provider_closes_before_answer",
	"u2-reset":              "provider_resets_before_answer",
	"u3":                    "provider_sends_nothing",
	"u4":                    "provider_stalls_after_headers",
	"u5":                    "provider_stalls_in_body",
	"u6":                    "provider_resets_in_body",
	"u7-clean":              "provider_ends_without_finish",
	"u7-chunk":              "provider_ends_without_last_chunk",
	"u7-length":             "provider_sends_less_than_declared",
	"u8":                    "provider_ends_stream_without_done_mark",
	"u9":                    "provider_429_retry_after_7",
	"u9,retry-after=999999": "provider_429_retry_after_beyond_an_hour",
	"u10":                   "provider_429_without_retry_after",
	"u11-date":              "provider_429_retry_after_is_a_date",
	"u11-past":              "provider_429_retry_after_is_past",
	"u11-negative":          "provider_429_retry_after_is_negative",
	"u11-huge":              "provider_429_retry_after_is_huge",
	"u11-rubbish":           "provider_429_retry_after_is_no_number",
	"u11-fraction":          "provider_429_retry_after_is_a_fraction",
	"u12":                   "provider_400",
	"u12,status=400":        "provider_400",
	"u12,status=413":        "provider_413",
	"u12,status=422":        "provider_422",
	"u12-secret":            "provider_400_that_shows_a_secret",
	"u12-context":           "provider_400_prompt_too_long",
	"u13":                   "provider_401",
	"u13,status=401":        "provider_401",
	"u13,status=402":        "provider_402",
	"u13,status=403":        "provider_403",
	"u14-json":              "provider_404",
	"u14-html":              "provider_404_in_html",
	"u15,status=500":        "provider_500",
	"u15,status=502":        "provider_502",
	"u15,status=504":        "provider_504",
	"u15,status=520":        "provider_520",
	"u15,status=526":        "provider_526",
	"u15,status=529":        "provider_529",
	"u15-html":              "provider_500_in_html",
	"u15-empty":             "provider_500_without_body",
	"u16-json":              "provider_503",
	"u16-html":              "provider_503_in_html",
	"u16-empty":             "provider_503_without_body",
	"u16,retry-after=9":     "provider_503_retry_after_9",
	"u17":                   "provider_redirects_302",
	"u17,status=307":        "provider_redirects_307",
	"u17,status=308":        "provider_redirects_308",
	"u18-empty":             "answer_is_empty",
	"u18-truncated":         "answer_is_cut_json",
	"u18-html":              "answer_is_html",
	"u18-text":              "answer_is_text",
	"u18-array":             "answer_is_a_json_array",
	"u18-null":              "answer_is_null",
	"u18-object":            "answer_is_an_empty_object",
	"u18-nochoices":         "answer_has_no_choices",
	"u19":                   "answer_200_is_an_error",
	"u19,code=429":          "answer_200_is_an_error_429",
	"u19,code=503":          "answer_200_is_an_error_503",
	"u19,after=2":           "stream_turns_into_an_error",
	"u20":                   "content_type_is_of_the_other_mode",
	"u20-plain":             "content_type_is_text_plain",
	"u20-json":              "content_type_is_json",
	"u20-none":              "content_type_is_missing",
	"u20-html":              "content_type_and_body_are_html",
	"u21-truncated":         "gzip_is_cut",
	"u21-rubbish":           "gzip_is_rubbish",
	"u21-valid":             "gzip_is_valid",
	"u22-bomb":              "gzip_unpacks_beyond_limit",
	"u22-big":               "body_is_beyond_limit",
	"u23":                   "provider_drips",
	"u24-headers":           "headers_too_many",
	"u24-line":              "header_too_long",
	"u24-1xx":               "informational_answers_without_end",
	"u25-content":           "stream_line_too_long",
	"u25-comment":           "stream_comment_too_long",
	"u25-endless":           "stream_line_without_end",
	"u25,after=2":           "stream_line_too_long_after_content",
	"u26-all":               "stream_uses_all_that_sse_allows",
	"u26-crlf":              "stream_lines_end_in_crlf",
	"u26-cr":                "stream_lines_end_in_cr",
	"u26-bom":               "stream_begins_with_bom",
	"u26-comments":          "stream_has_comments",
	"u26-fields":            "stream_has_other_fields",
	"u26-nospace":           "stream_data_without_space",
	"u26-multiline":         "stream_data_in_several_lines",
	"u26-split":             "stream_cuts_characters_between_packets",
	"u26-empty":             "stream_has_empty_events",
	"u27-cut":               "frame_is_cut_json_after_content",
	"u27-text":              "frame_is_text_after_content",
	"u27-utf8":              "frame_is_invalid_utf8_after_content",
	"u27,after=0":           "first_frame_is_cut_json",
	"u28-frames":            "frames_follow_the_done_mark",
	"u28-twice":             "done_mark_comes_twice",
	"u29-role":              "stream_has_a_role_and_no_content",
	"u29-done":              "stream_is_a_done_mark_alone",
	"u29-empty":             "stream_is_empty",
	"u29-comments":          "stream_is_comments_alone",
	"u30-missing":           "usage_is_missing",
	"u30-negative":          "usage_is_negative",
	"u30-huge":              "usage_is_implausibly_high",
	"u30-strings":           "usage_is_text",
	"u30-floats":            "usage_is_fractions",
	"u31":                   "headers_of_the_provider_stay_behind",
	"none bare=1":           "answer_without_length_and_type",
	"none bytes=5000000":    "answer_of_five_megabytes",
}

// Named returns the description of a fault for names of tests.
func Named(t testing.TB, fault string) string {
	t.Helper()
	name := faultNames[fault]
	if name == "" {
		t.Fatalf("the fault %q has no name in faultNames", fault)
	}
	return name
}

func (c *Cell) Name(t testing.TB) string {
	t.Helper()
	return Named(t, c.Fault)
}

// otherwise are statuses that differ for one wire, by "wire/fault/mode".
var otherwise = byCell(map[int][]string{
	// The wire has no field for the code of an error in an answer of status 200, so it counts as an answer without content.
	http.StatusBadGateway: {
		"responses/u19,code=429/stream", "responses/u19,code=503/stream", "bedrock/u19,code=429/whole", "bedrock/u19,code=503/whole",
		"anthropic/u19,code=503/whole", "anthropic/u19,code=503/stream", "rerank-cohere/u19,code=429/whole", "rerank-cohere/u19,code=503/whole",
		"moderation-mistral/u19,code=429/whole", "moderation-mistral/u19,code=503/whole", "rerank-voyage/u19,code=429/whole", "rerank-voyage/u19,code=503/whole",
		"embedding-voyage/u19,code=429/whole", "embedding-voyage/u19,code=503/whole", "hear-deepgram/u19,code=429/whole", "hear-deepgram/u19,code=503/whole",
		"fal/u19,code=429/whole", "fal/u19,code=503/whole", "say-eleven/u19,code=503/stream",
		// The data is cut before the first content.
		"anthropic/u21-truncated/stream", "gpt/u21-truncated/stream",
	},
	// Image and audio wires ignore frames without a text and incomplete documents.
	http.StatusOK: {"gpt/u29-done/stream", "gpt/u29-role/stream", "say-tts/u18-truncated/stream"},
})

func byCell(lists map[int][]string) map[string]int {
	cells := map[string]int{}
	for status, list := range lists {
		for _, cell := range list {
			cells[cell] = status
		}
	}
	return cells
}

// Want returns the status that a client must get without a fallback.
func (c *Cell) Want(t testing.TB, wire string, stream bool) int {
	t.Helper()
	status, mode := c.Whole, "whole"
	if stream {
		status, mode = c.stream, "stream"
	}
	wire = strings.TrimSuffix(wire, OfSocket)
	if own := otherwise[wire+"/"+c.Fault+"/"+mode]; own != 0 {
		return own
	}
	return status
}
