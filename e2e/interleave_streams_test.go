package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// streamWriters write an answer with some calls as the providers of each wire may.
var streamWriters = map[string]func(*rand.Rand) (said, string){"chat": chatStream, "responses": responsesStream, "messages": messagesStream, "gemini": geminiStream}

type object = map[string]any

// madeCall is a call of an answer that is made up.
type madeCall struct {
	id, name, arguments string
	args                object
}

// madeUp is some calls, in the order in which they begin.
func madeUp(r *rand.Rand) (list []madeCall) {
	for i := range 1 + r.IntN(4) {
		c := madeCall{id: fmt.Sprintf("call_%d_%d", i, r.IntN(1000)), name: toolNames[r.IntN(len(toolNames))], args: object{}}
		for _, name := range []string{"a", "b", "city"}[:r.IntN(4)] {
			c.args[name] = []any{1.5, true, "Köln \"\\ \U0001F600\n{", ""}[r.IntN(4)]
		}
		b, _ := json.Marshal(c.args)
		c.arguments = string(b)
		list = append(list, c)
	}
	return list
}

func wantedOf(list []madeCall, text string) (out said) {
	for _, c := range list {
		out.call(c.id, c.name, c.arguments)
	}
	out.text = text
	return out
}

// cut cuts a text into pieces, some of them empty.
func cut(r *rand.Rand, s string) (out []string) {
	for runes := []rune(s); len(runes) > 0; {
		n := min(r.IntN(6), len(runes))
		out, runes = append(out, string(runes[:n])), runes[n:]
	}
	return out
}

// shuffled puts sequences together: each keeps its own order, and all begin in theirs.
func shuffled(r *rand.Rand, all [][]string) (out []string) {
	begun := 0
	for {
		var left []int
		for i := range all {
			if len(all[i]) > 0 && i <= begun {
				left = append(left, i)
			}
		}
		if len(left) == 0 {
			return out
		}
		i := left[r.IntN(len(left))]
		out, all[i] = append(out, all[i][0]), all[i][1:]
		begun = max(begun, i+1)
	}
}

// between puts words between the events, and returns their text. It gives each word to event.
func between(r *rand.Rand, events []string, event func(word string) string) (out []string, text string) {
	for i, e := range events {
		if word := fmt.Sprintf("w%d ", i); r.IntN(6) == 0 {
			out, text = append(out, event(word)), text+word
		}
		out = append(out, e)
	}
	return out, text
}

func written(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func chatStream(r *rand.Rand) (said, string) {
	list := madeUp(r)
	chunk := func(delta object, finish any) string {
		return "data: " + written(object{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}}) + "\n\n"
	}
	fragment := func(i int, o object) string {
		o["index"] = i
		return chunk(object{"tool_calls": []any{o}}, nil)
	}
	var all [][]string
	for i, c := range list {
		first := object{"id": c.id, "type": "function", "function": object{"name": c.name}}
		late := r.IntN(4) == 0
		if late {
			first["function"] = object{}
		}
		if r.IntN(2) == 0 {
			first["function"].(object)["arguments"] = []any{"", nil}[r.IntN(2)]
		}
		events := []string{fragment(i, first)}
		if late {
			events = append(events, fragment(i, object{"function": object{"name": c.name}}))
		}
		switch {
		case len(c.args) == 0 && r.IntN(2) == 0: // no arguments at all
		case r.IntN(5) == 0:
			events = append(events, fragment(i, object{"function": object{"arguments": c.args}})) // an object, as some servers send it
		default:
			for _, piece := range cut(r, c.arguments) {
				events = append(events, fragment(i, object{"function": object{"arguments": piece}}))
			}
		}
		all = append(all, events)
	}
	events, text := between(r, shuffled(r, all), func(word string) string { return chunk(object{"content": word}, nil) })
	events = append(events, chunk(object{}, "tool_calls"), "data: "+written(object{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []any{}, "usage": object{"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}})+"\n\n", "data: [DONE]\n\n")
	return wantedOf(list, text), strings.Join(events, "")
}

func named(event object) string {
	return "event: " + event["type"].(string) + "\ndata: " + written(event) + "\n\n"
}

// messagesStream has one block after the other, whose indexes need not count.
func messagesStream(r *rand.Rand) (said, string) {
	list := madeUp(r)
	out := []string{named(object{"type": "message_start", "message": object{"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 5, "output_tokens": 1}}})}
	index, text := 0, ""
	block := func(start object, deltas ...object) {
		out = append(out, named(object{"type": "content_block_start", "index": index, "content_block": start}))
		for _, d := range deltas {
			if out = append(out, named(object{"type": "content_block_delta", "index": index, "delta": d})); r.IntN(6) == 0 {
				out = append(out, named(object{"type": "ping"}))
			}
		}
		out = append(out, named(object{"type": "content_block_stop", "index": index}))
		index += 1 + r.IntN(2)
	}
	for i, c := range list {
		if word := fmt.Sprintf("w%d ", i); r.IntN(3) == 0 {
			block(object{"type": "text", "text": ""}, object{"type": "text_delta", "text": word})
			text += word
		}
		start := object{"type": "tool_use", "id": c.id, "name": c.name, "input": object{}}
		if len(c.args) == 0 && r.IntN(2) == 0 {
			block(start)
		} else if r.IntN(4) == 0 {
			start["input"] = c.args
			block(start)
		} else {
			var deltas []object
			for _, piece := range append([]string{""}, cut(r, c.arguments)...) {
				deltas = append(deltas, object{"type": "input_json_delta", "partial_json": piece})
			}
			block(start, deltas...)
		}
	}
	out = append(out, named(object{"type": "message_delta", "delta": object{"stop_reason": "tool_use", "stop_sequence": nil}, "usage": object{"output_tokens": 7}}), named(object{"type": "message_stop"}))
	return wantedOf(list, text), strings.Join(out, "")
}

// responsesStream has items that overlap. Arguments may come in deltas, at their end, or in the finished item alone.
func responsesStream(r *rand.Rand) (said, string) {
	list := madeUp(r)
	var all [][]string
	var output []any
	text := ""
	for i, c := range list {
		at := len(all)
		if word := fmt.Sprintf("w%d ", i); r.IntN(3) == 0 {
			text += word
			id := fmt.Sprintf("msg_%d", i)
			part := object{"type": "output_text", "text": word, "annotations": []any{}}
			item := object{"type": "message", "id": id, "role": "assistant", "status": "completed", "content": []any{part}}
			all = append(all, []string{
				named(object{"type": "response.output_item.added", "output_index": at, "item": object{"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []any{}}}) +
					named(object{"type": "response.content_part.added", "item_id": id, "output_index": at, "content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": []any{}}}) +
					named(object{"type": "response.output_text.delta", "item_id": id, "output_index": at, "content_index": 0, "delta": word}) +
					named(object{"type": "response.output_text.done", "item_id": id, "output_index": at, "content_index": 0, "text": word}) +
					named(object{"type": "response.content_part.done", "item_id": id, "output_index": at, "content_index": 0, "part": part}) +
					named(object{"type": "response.output_item.done", "output_index": at, "item": item}),
			})
			output = append(output, item)
			at++
		}
		id := fmt.Sprintf("fc_%d", i)
		item := object{"type": "function_call", "id": id, "call_id": c.id, "name": c.name, "status": "completed", "arguments": c.arguments}
		events := []string{named(object{"type": "response.output_item.added", "output_index": at, "item": object{"type": "function_call", "id": id, "call_id": c.id, "name": c.name, "status": "in_progress", "arguments": ""}})}
		how := r.IntN(4)
		if how < 2 {
			for _, piece := range cut(r, c.arguments) {
				events = append(events, named(object{"type": "response.function_call_arguments.delta", "item_id": id, "output_index": at, "delta": piece}))
			}
		}
		if how != 3 {
			events = append(events, named(object{"type": "response.function_call_arguments.done", "item_id": id, "output_index": at, "arguments": c.arguments}))
		}
		all = append(all, append(events, named(object{"type": "response.output_item.done", "output_index": at, "item": item})))
		output = append(output, item)
	}
	response := object{"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "in_progress", "output": []any{}}
	out := append([]string{named(object{"type": "response.created", "response": response})}, shuffled(r, all)...)
	response["status"], response["output"], response["usage"] = "completed", output, object{"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
	return wantedOf(list, text), strings.Join(append(out, named(object{"type": "response.completed", "response": response})), "")
}

// geminiStream has calls that are whole, and some whose arguments are streamed.
func geminiStream(r *rand.Rand) (said, string) {
	list := madeUp(r)
	var events []string
	frame := func(part object) string {
		return "data: " + written(object{"candidates": []any{object{"index": 0, "content": object{"role": "model", "parts": []any{part}}}}, "modelVersion": "m"}) + "\n\n"
	}
	for _, c := range list {
		call := object{"name": c.name}
		if r.IntN(2) == 0 {
			if len(c.args) > 0 || r.IntN(2) == 0 {
				call["args"] = c.args
			}
			events = append(events, frame(object{"functionCall": call}))
			continue
		}
		call["willContinue"] = true
		events = append(events, frame(object{"functionCall": call}))
		names := []string{}
		for name := range c.args {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			var pieces []any
			switch v := c.args[name].(type) {
			case float64:
				pieces = []any{object{"jsonPath": "$." + name, "numberValue": v}}
			case bool:
				pieces = []any{object{"jsonPath": "$." + name, "boolValue": v}}
			case string:
				for _, piece := range cut(r, v) {
					pieces = append(pieces, object{"jsonPath": "$." + name, "stringValue": piece, "willContinue": true})
				}
				pieces = append(pieces, object{"jsonPath": "$." + name, "stringValue": ""})
			}
			for _, p := range pieces {
				events = append(events, frame(object{"functionCall": object{"partialArgs": []any{p}, "willContinue": true}}))
			}
		}
		events = append(events, frame(object{"functionCall": object{}}))
	}
	events, text := between(r, events, func(word string) string { return frame(object{"text": word}) })
	end := "data: " + written(object{"candidates": []any{object{"index": 0, "content": object{"role": "model", "parts": []any{object{"text": ""}}}, "finishReason": "STOP"}}, "usageMetadata": object{"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12}, "modelVersion": "m"}) + "\n\n"
	return wantedOf(list, text), strings.Join(events, "") + end
}
