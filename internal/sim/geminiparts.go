package sim

import (
	"slices"
	"strconv"
	"strings"
)

func (r *geminiReader) system(v *node, param string) {
	t := turn{role: "system"}
	if !members(&r.checker, r, v, param, map[string]geminiField{"role": geminiText, "parts": geminiArray}, "parts") {
		return
	}
	r.each(v.get("parts"), param+".parts", func(v *node, param string) {
		if members(&r.checker, r, v, param, geminiPart) && !v.get("text").is(text) {
			r.refuse(param, "", "* GenerateContentRequest."+snake(param)+": system instruction must be text.\n")
			return
		}
		r.say(&t, v.get("text").str(), param)
	})
	r.ask.turns = append(r.ask.turns, t)
}

// conversation reads the contents.
func (r *geminiReader) conversation() {
	v := r.root.given("contents")
	if v == nil || len(v.items) == 0 {
		r.refuse("contents", "", "* GenerateContentRequest.contents: contents is not specified\n")
		return
	}
	r.each(v, "contents", r.content)
	if r.fault != nil {
		return
	}
	if last := r.steps[len(r.steps)-1]; last.calls != nil {
		r.mismatched()
	}
	r.signed()
}

var geminiContent = map[string]geminiField{"role": geminiText, "parts": geminiArray}

func (r *geminiReader) content(v *node, param string) {
	if !members(&r.checker, r, v, param, geminiContent) {
		return
	}
	role := v.get("role").str()
	switch {
	case role == "" && !r.vertex:
		role = "user"
	case role == "function":
		role = "user"
	case role != "user" && role != "model":
		r.refuse(param, "", "Please use a valid role: user, model.")
		return
	}
	parts := v.given("parts")
	if parts == nil || len(parts.items) == 0 {
		r.refuse(param, "", "* GenerateContentRequest."+param+".parts: contents.parts must not be empty.\n")
		return
	}
	c := geminiTurn{r: r, turn: turn{role: map[string]string{"user": "user", "model": "assistant"}[role]}, step: geminiStep{role: role}}
	r.each(parts, param+".parts", c.part)
	if r.fault != nil {
		return
	}
	c.order()
	r.steps = append(r.steps, c.step)
	if c.step.said || c.results == nil {
		r.ask.turns = append(r.ask.turns, c.turn)
	}
	r.ask.turns = append(r.ask.turns, c.results...)
}

func (r *geminiReader) mismatched() {
	r.refuse("", "", "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
}

type geminiTurn struct {
	r       *geminiReader
	turn    turn
	results []turn
	step    geminiStep
}

// order checks a content against the one before: calls come after a user, responses behind as many calls.
func (c *geminiTurn) order() {
	r := c.r
	var before geminiStep
	if n := len(r.steps); n > 0 {
		before = r.steps[n-1]
	}
	switch {
	case c.step.calls != nil && before.role != "user":
		r.refuse("", "", "Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
	case c.step.responses != nil && before.calls == nil:
		r.refuse("", "", "Please ensure that function response turn comes immediately after a function call turn.")
	case len(c.step.responses) != len(before.calls):
		r.mismatched()
	}
	for _, name := range c.step.responses {
		if r.fault == nil && !slices.Contains(before.calls, name) {
			r.refuse("", "", "Please ensure that the function response names match those of the function call turn: "+name+".")
		}
	}
}

// signed checks that every step of the current turn begins with a signed call, when the model is one that always thinks.
func (r *geminiReader) signed() {
	if r.ask.persona.Name != "reason" {
		return
	}
	for i := len(r.steps) - 1; i >= 0 && !(r.steps[i].role == "user" && r.steps[i].said); i-- {
		if name := r.steps[i].unsigned; name != "" {
			r.refuse("", "", "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:"+name+"` , position "+strconv.Itoa(i+1)+". Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.")
		}
	}
}

// geminiPart is what a part may have; exactly one of geminiData is needed.
var (
	geminiPart map[string]geminiField
	geminiData = []string{"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"}
)

func init() {
	geminiPart = map[string]geminiField{
		"text": geminiText, "inlineData": nil, "fileData": nil, "functionCall": nil, "functionResponse": nil, "executableCode": geminiObject, "codeExecutionResult": geminiObject,
		"toolCall": geminiObject, "toolResponse": geminiObject, "thought": geminiBool, "thoughtSignature": geminiText, "videoMetadata": geminiObject, "mediaResolution": nil, "partMetadata": geminiObject,
	}
}

func (c *geminiTurn) part(v *node, param string) {
	r := c.r
	if !members(&r.checker, r, v, param, geminiPart) {
		return
	}
	var kinds []string
	for _, name := range geminiData {
		if v.given(name) != nil {
			kinds = append(kinds, name)
		}
	}
	if len(kinds) != 1 {
		message := "required oneof field 'data' must have one initialized field"
		if len(kinds) > 1 {
			message = "oneof field 'data' is already set. Cannot set '" + kinds[1] + "'"
		}
		r.refuse(param, "", "* GenerateContentRequest."+snake(param)+".data: "+message+"\n")
		return
	}
	inner, at := v.get(kinds[0]), param+"."+kinds[0]
	if kinds[0] != "functionResponse" && kinds[0] != "functionCall" {
		c.step.said = true
	}
	switch kinds[0] {
	case "text":
		if v.get("thought").yes() {
			return // what was thought is no part of the prompt
		}
		r.say(&c.turn, inner.text, at)
		c.signature(v, param, "text")
	case "inlineData":
		c.inline(&c.turn, inner, at)
	case "fileData":
		if members(&r.checker, r, inner, at, map[string]geminiField{"mimeType": geminiText, "fileUri": geminiText, "displayName": geminiText}, "fileUri") {
			m := medium{url: inner.get("fileUri").text}
			m.kindOf(inner.get("mimeType").str())
			c.turn.media = append(c.turn.media, m)
		}
	case "functionCall":
		c.call(v, inner, param)
	case "functionResponse":
		c.response(inner, at)
	}
}

func (c *geminiTurn) inline(t *turn, v *node, param string) {
	r := c.r
	if !members(&r.checker, r, v, param, map[string]geminiField{"mimeType": geminiText, "data": geminiText, "displayName": geminiText}, "data", "mimeType") {
		return
	}
	m := medium{name: v.get("displayName").str()}
	mime := v.get("mimeType").text
	data := strings.NewReplacer("-", "+", "_", "/").Replace(v.get("data").text)
	switch {
	case !m.kindOf(mime):
		r.refuse(param, "", "Unsupported MIME type: "+mime)
	case !m.inline(data):
		r.refuse(param, "", "Invalid value at '"+snake(param)+".data' (TYPE_BYTES), Base64 decoding failed for \""+v.get("data").text[:min(20, len(v.get("data").text))]+"\"")
	case (mime == "image/png" || mime == "image/jpeg" || mime == "image/gif") && m.width == 0:
		r.refuse(param, "", "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting")
	}
	t.media = append(t.media, m)
}

// Two signatures that Google lets pass for calls that another model made.
var geminiPasses = []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}

// signature checks that of a part, if there is one, against what was signed.
func (c *geminiTurn) signature(v *node, param string, signed ...string) bool {
	s := v.get("thoughtSignature").str()
	if s == "" {
		return false
	}
	if slices.Contains(geminiPasses, s) {
		return true
	}
	if !genuine(geminiWire, c.r.ask.persona, s, signed...) {
		c.r.refuse(param, "", "Corrupted thought signature.")
	}
	return true
}

func (c *geminiTurn) call(part, v *node, param string) {
	r := c.r
	fields := map[string]geminiField{"name": geminiText, "args": geminiObject, "id": geminiText, "partialArgs": geminiArray, "willContinue": geminiBool}
	if !members(&r.checker, r, v, param+".functionCall", fields, "name") {
		return
	}
	if c.step.role != "model" {
		r.refuse(param, "", "Function call parts must be in a content with role model.")
	}
	name := v.get("name").text
	args := "{}"
	if a := v.given("args"); a != nil {
		args = string(canonical(nil, a))
	}
	if !c.signature(part, param, name, args) && c.step.calls == nil {
		c.step.unsigned = name
	}
	c.step.calls = append(c.step.calls, name)
	c.turn.calls = append(c.turn.calls, name+" "+args)
}

func (c *geminiTurn) response(v *node, param string) {
	r := c.r
	fields := map[string]geminiField{"name": geminiText, "response": geminiObject, "id": geminiText, "parts": geminiArray, "willContinue": geminiBool, "scheduling": geminiText}
	if !members(&r.checker, r, v, param, fields, "name", "response") {
		return
	}
	name := v.get("name").text
	c.step.responses = append(c.step.responses, name)
	t := turn{role: "tool", result: name}
	said := v.get("response")
	for _, member := range [...]string{"output", "result", "error"} {
		if v := said.get(member); len(said.names) == 1 && v.is(text) {
			r.say(&t, v.text, param)
		}
	}
	if t.text == "" {
		r.say(&t, string(said.raw), param)
	}
	if parts := v.given("parts"); parts != nil {
		r.each(parts, param+".parts", func(v *node, param string) {
			if members(&r.checker, r, v, param, map[string]geminiField{"inlineData": nil, "fileData": geminiObject}) && v.given("inlineData") != nil {
				c.inline(&t, v.get("inlineData"), param+".inlineData")
			}
		})
	}
	c.results = append(c.results, t)
}
