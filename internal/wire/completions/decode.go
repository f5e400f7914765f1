// Package completions is OpenAI's legacy completions style over chat models: a request becomes one of the chat style, with its prompt as the
// message of a user, and the chat style's answer becomes a text. It adds nothing that the chat style does not have.
package completions

import (
	"strconv"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

const op = "completions.Decode"

const (
	// usualTokens is the longest answer of a request that does not say how long one may be, as documented: "max_tokens ... default: 16".
	usualTokens = 16

	mostLogprobs = 5
	mostBest     = 20
)

// Asked is what an answer needs of its request.
type Asked struct {
	Echo string // what the text of each choice begins with: the prompt, or ""
}

// ofChat are members of the chat style that have no meaning here. A client that sends them wants that style.
var ofChat = map[string]bool{"messages": true, "tools": true, "tool_choice": true, "functions": true, "function_call": true, "parallel_tool_calls": true, "modalities": true, "audio": true, "top_logprobs": true,
	"max_completion_tokens": true}

// Decode turns a body into that of a chat request. It fails with fault.Invalid, DuplicateKey or TooDeep; the error's Param is the field.
func Decode(body []byte) (chat []byte, asked Asked, err error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, asked, err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return nil, asked, fault.New(fault.Invalid, op, "The body must be a JSON object.")
	}
	d := decoder{n: 1, best: -1}
	d.w.Object()
	for m := rawjson.MembersOf(body); m.Next(); {
		if err := d.member(string(m.Name), m.Value, body[m.Start:m.End]); err != nil {
			return nil, asked, err
		}
	}
	switch {
	case d.prompt == nil:
		return nil, asked, fault.Field(op, "prompt", "prompt is required: a text.")
	case d.best >= 0 && d.best < d.n:
		return nil, asked, fault.Field(op, "best_of", "best_of must be at least n, which is %d.", d.n)
	case d.best > d.n:
		return nil, asked, fault.Field(op, "best_of", "best_of above n is not supported: chat models do not say which of several answers is the likeliest. Ask for all of them with n, and choose.")
	case d.echo && d.logprobs:
		return nil, asked, fault.Field(op, "echo", "echo together with logprobs is not supported: chat models give no probabilities of the prompt.")
	}
	if d.echo {
		asked.Echo = rawjson.Text(d.prompt)
	}
	if !d.bounded {
		d.w.Name("max_tokens").Int(usualTokens)
	}
	d.w.Name("messages").Array()
	d.w.Object()
	d.w.Name("role").Text("user")
	d.w.Name("content").Raw(d.prompt)
	d.w.EndObject()
	d.w.EndArray()
	d.w.EndObject()
	return d.w.B, asked, nil
}

type decoder struct {
	w              rawjson.Writer
	prompt         []byte // JSON string
	n, best        int64
	echo, logprobs bool
	bounded        bool // the request says how long an answer may be
}

// member reads one member of the body, and writes what the chat style has for it. raw is the member as written.
func (d *decoder) member(name string, v, raw []byte) (err error) {
	if ofChat[name] {
		return fault.Field(op, name, "%s is not part of this style. Send the request to /v1/chat/completions.", name)
	}
	if rawjson.IsNull(v) {
		return nil
	}
	switch name {
	case "prompt":
		d.prompt, err = promptOf(v)
		return err
	case "suffix":
		if rawjson.KindOf(v) != rawjson.String || rawjson.Text(v) != "" {
			return fault.Field(op, name, "suffix is not supported: chat models do not fill in text before it. Say in prompt what follows.")
		}
		return nil
	case "echo":
		on, ok := rawjson.Bool(v)
		if d.echo = on; !ok {
			return fault.Field(op, name, "echo must be true or false.")
		}
		return nil
	case "best_of":
		n, ok := rawjson.Int(v)
		if d.best = n; !ok || n < 1 || n > mostBest {
			return fault.Field(op, name, "best_of must be an integer from 1 to %d.", mostBest)
		}
		return nil
	case "logprobs":
		n, ok := rawjson.Int(v)
		if !ok || n < 0 || n > mostLogprobs {
			return fault.Field(op, name, "logprobs must be an integer from 0 to %d: how many of the likeliest tokens to show.", mostLogprobs)
		}
		d.logprobs = true
		d.w.Name(name).Bool(true)
		if n > 0 {
			d.w.Name("top_logprobs").Int(n)
		}
		return nil
	case "n":
		if n, ok := rawjson.Int(v); ok {
			d.n = n
		}
	case "max_tokens":
		d.bounded = true
	}
	d.w.Member(raw)
	return nil
}

// promptOf is the one text of a prompt, as JSON.
func promptOf(v []byte) ([]byte, error) {
	switch rawjson.KindOf(v) {
	case rawjson.String:
		return v, nil
	case rawjson.Array:
		var text []byte
		n, at := 0, rawjson.ElementsOf(v)
		for at.Next() {
			n++
			switch rawjson.KindOf(at.Value) {
			case rawjson.String:
				text = at.Value
			case rawjson.Number, rawjson.Array:
				return nil, fault.Field(op, "prompt", "prompt must be text. Tokens are not supported: each model has a vocabulary of its own.")
			default:
				return nil, fault.Field(op, "prompt["+strconv.Itoa(n-1)+"]", "prompt[%d] must be a text.", n-1)
			}
		}
		switch n {
		case 0:
			return nil, fault.Field(op, "prompt", "prompt is empty: it must have a text.")
		case 1:
			return text, nil
		}
		return nil, fault.Field(op, "prompt", "prompt has %d texts. Send a request for each: each is a call of its own.", n)
	}
	return nil, fault.Field(op, "prompt", "prompt must be a text, or a list of one.")
}
