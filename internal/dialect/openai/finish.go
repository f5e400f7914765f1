package openai

import "weir/internal/completion"

// finishReason maps a server's finish reason; an unknown one counts as "stop". A known word is returned as a constant, so that frames
// cost no allocation.
func finishReason(native []byte) (completion.FinishReason, string) {
	switch string(native) {
	case "stop":
		return completion.Stop, "stop"
	case "tool_calls":
		return completion.ToolCalls, "tool_calls"
	case "length":
		return completion.Length, "length"
	}
	word := string(native)
	switch word {
	case "end_turn", "stop_sequence", "STOP", "eos", "eos_token", "complete", "COMPLETE", "pause_turn":
		return completion.Stop, word
	case "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_context_window_exceeded":
		return completion.Length, word
	case "tool_use", "function_call", "TOOL_CALL":
		return completion.ToolCalls, word
	case "content_filter", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "refusal", "sensitive":
		return completion.ContentFilter, word
	case "error", "MALFORMED_FUNCTION_CALL", "OTHER", "abort", "aborted":
		return completion.Failed, word
	}
	return completion.Stop, word
}
