package chat

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/sim/kit"
)

func (r *geminiReader) system(v *kit.Node, param string) {
	t := kit.Turn{Role: "system"}
	if !kit.Members(&r.Checker, r, v, param, map[string]geminiField{"role": geminiText, "parts": geminiArray}, "parts") {
		return
	}
	r.Each(v.Get("parts"), param+".parts", func(v *kit.Node, param string) {
		if kit.Members(&r.Checker, r, v, param, geminiPart) && !v.Get("text").Is(kit.Text) {
			r.Refuse(param, "", "* GenerateContentRequest."+Snake(param)+": system instruction must be text.\n")
			return
		}
		r.AddText(&t, v.Get("text").Str(), param)
	})
	r.Request.Turns = append(r.Request.Turns, t)
}

// conversation reads the contents.
func (r *geminiReader) conversation() {
	v := r.Root.Given("contents")
	if v == nil || len(v.Items) == 0 {
		r.Refuse("contents", "", "* GenerateContentRequest.contents: contents is not specified\n")
		return
	}
	r.Each(v, "contents", r.content)
	if r.Fault != nil {
		return
	}
	if last := r.steps[len(r.steps)-1]; last.calls != nil {
		r.mismatched()
	}
	r.signed()
}

var geminiContent = map[string]geminiField{"role": geminiText, "parts": geminiArray}

func (r *geminiReader) content(v *kit.Node, param string) {
	if !kit.Members(&r.Checker, r, v, param, geminiContent) {
		return
	}
	role := v.Get("role").Str()
	switch {
	case role == "" && !r.vertex:
		role = "user"
	case role == "function":
		role = "user"
	case role != "user" && role != "model":
		r.Refuse(param, "", "Please use a valid role: user, model.")
		return
	}
	parts := v.Given("parts")
	if parts == nil || len(parts.Items) == 0 {
		r.Refuse(param, "", "* GenerateContentRequest."+param+".parts: contents.parts must not be empty.\n")
		return
	}
	c := geminiTurn{r: r, turn: kit.Turn{Role: map[string]string{"user": "user", "model": "assistant"}[role]}, step: geminiStep{role: role}}
	r.Each(parts, param+".parts", c.part)
	if r.Fault != nil {
		return
	}
	c.order()
	r.steps = append(r.steps, c.step)
	if c.step.said || c.results == nil {
		r.Request.Turns = append(r.Request.Turns, c.turn)
	}
	r.Request.Turns = append(r.Request.Turns, c.results...)
}

func (r *geminiReader) mismatched() {
	r.Refuse("", "", "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
}

type geminiTurn struct {
	r       *geminiReader
	turn    kit.Turn
	results []kit.Turn
	step    geminiStep
}

// order checks a content against the one before: calls come after a user, responses after as many calls.
func (c *geminiTurn) order() {
	r := c.r
	var before geminiStep
	if n := len(r.steps); n > 0 {
		before = r.steps[n-1]
	}
	switch {
	case c.step.calls != nil && before.role != "user":
		r.Refuse("", "", "Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
	case c.step.responses != nil && before.calls == nil:
		r.Refuse("", "", "Please ensure that function response turn comes immediately after a function call turn.")
	case len(c.step.responses) != len(before.calls):
		r.mismatched()
	}
	for _, name := range c.step.responses {
		if r.Fault == nil && !slices.Contains(before.calls, name) {
			r.Refuse("", "", "Please ensure that the function response names match those of the function call turn: "+name+".")
		}
	}
}

// signed checks that every step of the current turn begins with a signed call, when the model is one that always thinks.
func (r *geminiReader) signed() {
	if r.Request.Model.Name != "reason" {
		return
	}
	for i := len(r.steps) - 1; i >= 0 && !(r.steps[i].role == "user" && r.steps[i].said); i-- {
		if name := r.steps[i].unsigned; name != "" {
			r.Refuse("", "", "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:"+name+"` , position "+strconv.Itoa(i+1)+". Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.")
		}
	}
}

// geminiPart is what a part may have; exactly one of geminiData is needed.
var (
	geminiPart = map[string]geminiField{
		"text": geminiText, "inlineData": nil, "fileData": nil, "functionCall": nil, "functionResponse": nil, "executableCode": geminiObject, "codeExecutionResult": geminiObject,
		"toolCall": geminiObject, "toolResponse": geminiObject, "thought": geminiBool, "thoughtSignature": geminiText, "videoMetadata": geminiObject, "mediaResolution": nil, "partMetadata": geminiObject,
	}
	geminiData = []string{"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"}
)

func (c *geminiTurn) part(v *kit.Node, param string) {
	r := c.r
	if !kit.Members(&r.Checker, r, v, param, geminiPart) {
		return
	}
	var kinds []string
	for _, name := range geminiData {
		if v.Given(name) != nil {
			kinds = append(kinds, name)
		}
	}
	if len(kinds) != 1 {
		message := "required oneof field 'data' must have one initialized field"
		if len(kinds) > 1 {
			message = "oneof field 'data' is already set. Cannot set '" + kinds[1] + "'"
		}
		r.Refuse(param, "", "* GenerateContentRequest."+Snake(param)+".data: "+message+"\n")
		return
	}
	inner, at := v.Get(kinds[0]), param+"."+kinds[0]
	if kinds[0] != "functionResponse" && kinds[0] != "functionCall" {
		c.step.said = true
	}
	switch kinds[0] {
	case "text":
		if v.Get("thought").IsTrue() {
			return // what was thought is no part of the prompt
		}
		r.AddText(&c.turn, inner.Text, at)
		c.signature(v, param, "text")
	case "inlineData":
		c.inline(&c.turn, inner, at)
	case "fileData":
		if kit.Members(&r.Checker, r, inner, at, map[string]geminiField{"mimeType": geminiText, "fileUri": geminiText, "displayName": geminiText}, "fileUri") {
			m := kit.Medium{URL: inner.Get("fileUri").Text}
			m.SetType(inner.Get("mimeType").Str())
			c.turn.Media = append(c.turn.Media, m)
		}
	case "functionCall":
		c.call(v, inner, param)
	case "functionResponse":
		c.response(inner, at)
	}
}

func (c *geminiTurn) inline(t *kit.Turn, v *kit.Node, param string) {
	r := c.r
	if !kit.Members(&r.Checker, r, v, param, map[string]geminiField{"mimeType": geminiText, "data": geminiText, "displayName": geminiText}, "data", "mimeType") {
		return
	}
	m := kit.Medium{Name: v.Get("displayName").Str()}
	mime := v.Get("mimeType").Text
	data := strings.NewReplacer("-", "+", "_", "/").Replace(v.Get("data").Text)
	switch {
	case !m.SetType(mime):
		r.Refuse(param, "", "Unsupported MIME type: "+mime)
	case !m.FromBase64(data):
		r.Refuse(param, "", "Invalid value at '"+Snake(param)+".data' (TYPE_BYTES), Base64 decoding failed for \""+v.Get("data").Text[:min(20, len(v.Get("data").Text))]+"\"")
	case (mime == "image/png" || mime == "image/jpeg" || mime == "image/gif") && m.Width == 0:
		r.Refuse(param, "", "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting")
	}
	t.Media = append(t.Media, m)
}

// Two signatures that Google lets pass for calls that another model made.
var geminiPasses = []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}

// signature checks that of a part, if there is one, against what was signed.
func (c *geminiTurn) signature(v *kit.Node, param string, signed ...string) bool {
	s := v.Get("thoughtSignature").Str()
	if s == "" {
		return false
	}
	if slices.Contains(geminiPasses, s) {
		return true
	}
	if !kit.VerifySignature(GeminiWire, c.r.Request.Model, s, signed...) {
		c.r.Refuse(param, "", "Corrupted thought signature.")
	}
	return true
}

func (c *geminiTurn) call(part, v *kit.Node, param string) {
	r := c.r
	fields := map[string]geminiField{"name": geminiText, "args": geminiObject, "id": geminiText, "partialArgs": geminiArray, "willContinue": geminiBool}
	if !kit.Members(&r.Checker, r, v, param+".functionCall", fields, "name") {
		return
	}
	if c.step.role != "model" {
		r.Refuse(param, "", "Function call parts must be in a content with role model.")
	}
	name := v.Get("name").Text
	args := "{}"
	if a := v.Given("args"); a != nil {
		args = string(kit.Canonical(nil, a))
	}
	if !c.signature(part, param, name, args) && c.step.calls == nil {
		c.step.unsigned = name
	}
	c.step.calls = append(c.step.calls, name)
	c.turn.Calls = append(c.turn.Calls, name+" "+args)
}

func (c *geminiTurn) response(v *kit.Node, param string) {
	r := c.r
	fields := map[string]geminiField{"name": geminiText, "response": geminiObject, "id": geminiText, "parts": geminiArray, "willContinue": geminiBool, "scheduling": geminiText}
	if !kit.Members(&r.Checker, r, v, param, fields, "name", "response") {
		return
	}
	name := v.Get("name").Text
	c.step.responses = append(c.step.responses, name)
	t := kit.Turn{Role: "tool", Result: name}
	said := v.Get("response")
	for _, member := range [...]string{"output", "result", "error"} {
		if v := said.Get(member); len(said.Names) == 1 && v.Is(kit.Text) {
			r.AddText(&t, v.Text, param)
		}
	}
	if t.Text == "" {
		r.AddText(&t, string(said.Raw), param)
	}
	if parts := v.Given("parts"); parts != nil {
		r.Each(parts, param+".parts", func(v *kit.Node, param string) {
			if kit.Members(&r.Checker, r, v, param, map[string]geminiField{"inlineData": nil, "fileData": geminiObject}) && v.Given("inlineData") != nil {
				c.inline(&t, v.Get("inlineData"), param+".inlineData")
			}
		})
	}
	c.results = append(c.results, t)
}
