package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// style is one way to ask for the same answer. A chat of the same form, whole or streamed, is 1.00.
type style struct {
	name string
	path func(model string) string
	body func(b *bodies, model string) []byte
	load load
	of   string // the mock's model
}

// mostStored is how much a stored response may cost, as a ratio to the chat of its length.
const mostStored = 1.5

func at(path string) func(string) string { return func(string) string { return path } }

// styles lists each style whole and streamed, each form with its chat first.
func styles() []style {
	frames := shapes[modelFast].frames
	const chats, responses, messages = "/v1/chat/completions", "/v1/responses", "/v1/messages"
	response := func(stream, store bool) func(*bodies, string) []byte {
		return func(b *bodies, model string) []byte {
			v := map[string]any{"model": model, "input": b.prose(800), "temperature": 0.5, "max_output_tokens": 256, "stream": stream}
			if !store { // storing is the default
				v["store"] = false
			}
			return encode(v)
		}
	}
	message := func(stream bool) func(*bodies, string) []byte {
		return func(b *bodies, model string) []byte {
			return encode(map[string]any{"model": model, "messages": []message{{"user", b.prose(800)}}, "temperature": 0.5, "max_tokens": 256, "stream": stream})
		}
	}
	gemini := func(b *bodies, _ string) []byte {
		return encode(map[string]any{"contents": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": b.prose(800)}}}},
			"generationConfig": map[string]any{"temperature": 0.5, "maxOutputTokens": 256}})
	}
	model := func(action string) func(string) string {
		return func(model string) string { return "/v1beta/models/" + model + ":" + action }
	}
	return []style{
		{"chat", at(chats), func(b *bodies, m string) []byte { return b.chat(m, 1<<10) }, load{}, modelChat},
		{"responses, stored", at(responses), response(false, true), load{has: `"output"`}, modelChat},
		{"responses, not stored", at(responses), response(false, false), load{has: `"output"`}, modelChat},
		{"messages", at(messages), message(false), load{has: `"content"`}, modelChat},
		{"gemini", model("generateContent"), gemini, load{has: `"candidates"`}, modelChat},

		{"chat, streamed", at(chats), func(b *bodies, m string) []byte { return b.stream(m, 1<<10) }, load{frames: frames}, modelFast},
		{"responses, stored, streamed", at(responses), response(true, true), load{frames: frames}, modelFast},
		{"responses, not stored, streamed", at(responses), response(true, false), load{frames: frames}, modelFast},
		{"messages, streamed", at(messages), message(true), load{frames: frames, end: "event: message_stop"}, modelFast},
		{"gemini, streamed", model("streamGenerateContent?alt=sse"), gemini, load{frames: frames, end: `data: {"candidates"`}, modelFast},
	}
}

// measureStyles asks one Weir in every style, in turns so short that what else the machine does meets all of them alike. It prints the CPU time
// of a request in each, and returns the gates of stored responses.
func measureStyles(ctx context.Context, s settings, dir string, mock *process, out io.Writer) ([]gate, error) {
	home := filepath.Join(dir, "styles")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	t, err := startWeir(ctx, s, home, mock)
	if err != nil {
		return nil, err
	}
	defer t.stop()
	var turns []turn
	for _, one := range styles() {
		model := t.vendor + one.of
		work := one.load
		work.address, work.conns, work.time, work.patience = t.address, 32, slice, 20*time.Second
		work.request = post(one.path(model), t.address, t.key, one.body(newBodies(), model))
		turns = append(turns, turn{one.name, t, work})
	}
	spent, err := inTurns(ctx, turns, s.passes)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(out, "\nThe same answer in each style, 32 connections (styles); 1.00 is the chat of the same form")
	fmt.Fprintln(out, "|                                 | CPU us/request | ratio |")
	fmt.Fprintln(out, "|---------------------------------|---------------:|------:|")
	var gates []gate
	var base time.Duration
	for i, one := range turns {
		if strings.HasPrefix(one.name, "chat") {
			base = spent[i]
		}
		over := ratio(spent[i], base)
		fmt.Fprintf(out, "| %-31s | %14.1f | %5.2f |\n", one.name, float64(spent[i])/1e3, over)
		if strings.HasPrefix(one.name, "responses, stored") {
			gates = append(gates, gate{one.name + ", CPU beside a chat", "x", over, mostStored, false})
		}
	}
	return gates, nil
}
