package openai

import (
	"strings"

	"weir/internal/completion"
)

// finishReason maps a server's finish reason; an unknown one is no good end. A known word is returned as a constant, so that frames cost no
// allocation.
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
	switch strings.ToLower(word) { // gateways pass on the words of other wires, which are written large
	case "stop", "end_turn", "stop_sequence", "eos", "eos_token", "end", "end_of_text", "complete", "completed", "finish", "finished", "done", "pause_turn":
		return completion.Stop, word
	case "length", "max_tokens", "max_output_tokens", "max_length", "model_length", "context_length", "model_context_window_exceeded", "incomplete":
		return completion.Length, word
	case "tool_calls", "tool_call", "tool_use", "function_call", "function_calls":
		return completion.ToolCalls, word
	case "content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii", "image_safety", "language", "model_armor", "refusal",
		"sensitive", "guardrail_intervened", "blacklist":
		return completion.ContentFilter, word
	}
	// error, abort, insufficient_system_resource (DeepSeek), network_error (Z.AI), MALFORMED_FUNCTION_CALL (Google), and what is to come
	return completion.Failed, word
}
