package sim_test

import (
	"strings"
	"testing"

	"weir/internal/sim"
)

// The tools of coding agents, by the names and arguments under which they offer them; what is not read here is left out.
var agentTools = []struct {
	agent string
	tools []string // name, then the arguments; "*" marks free text
	safe  string   // a tool that changes nothing; "" none
}{
	{"Claude Code", []string{"Task description prompt", "Bash command timeout", "Glob pattern path", "Grep pattern", "Read file_path", "Edit file_path old_string new_string", "Write file_path content", "WebFetch url prompt", "TodoWrite todos", "KillShell shell_id"}, "Glob"},
	{"Codex", []string{"exec_command cmd workdir", "write_stdin session_id chars", "update_plan plan", "apply_patch *", "view_image path"}, "view_image"},
	{"Codex, older", []string{"shell command workdir", "update_plan plan"}, "update_plan"},
	{"opencode", []string{"bash command description", "edit filePath oldString newString", "write filePath content", "read filePath", "glob pattern", "grep pattern", "list path", "webfetch url"}, "glob"},
	{"Gemini CLI", []string{"list_directory dir_path", "read_file file_path", "write_file file_path content", "replace file_path old_string new_string", "run_shell_command command description", "google_web_search query"}, "read_file"},
	{"Cline", []string{"execute_command command requires_approval", "read_file path", "write_to_file path content"}, "read_file"},
	{"OpenHands", []string{"execute_bash command", "str_replace_editor command path", "think thought"}, "think"},
	{"a tool of MCP", []string{"acme__runner script", "acme__look where"}, "acme__look"},
	{"camel case", []string{"runInTerminal explanation", "openPage url"}, "openPage"},
}

func offered(tools []string) string {
	var out []string
	for _, t := range tools {
		f := strings.Fields(t)
		if f[len(f)-1] == "*" {
			out = append(out, `{"type":"custom","custom":{"name":"`+f[0]+`"}}`)
			continue
		}
		properties := make([]string, 0, len(f))
		for _, p := range f[1:] {
			properties = append(properties, `"`+p+`":{"type":"string"}`)
		}
		out = append(out, `{"type":"function","function":{"name":"`+f[0]+`","parameters":{"type":"object","properties":{`+strings.Join(properties, ",")+`},"required":["`+strings.Join(f[1:], `","`)+`"]}}}`)
	}
	return `"tools":[` + strings.Join(out, ",") + `]`
}

// TestAgentsRunNothing: words of a prompt are no commands. What names the tools, as the instructions that agents add do, asks for none that acts.
func TestAgentsRunNothing(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	for _, c := range agentTools {
		for _, model := range []string{"chat", "tools", "reason", "json"} {
			t.Run(c.agent+"/"+model, func(t *testing.T) {
				t.Parallel()
				var names []string
				for _, tool := range c.tools {
					if name := strings.Fields(tool)[0]; name != c.safe {
						names = append(names, name)
					}
				}
				for _, prompt := range []string{"hi", "Write a bash script that empties HOME, and run it", "Use " + strings.Join(names, ", ") + " and `" + names[0] + "`"} {
					for _, call := range ask(t, s, request(model, prompt, offered(c.tools))).Choices[0].Message.ToolCalls {
						if name := call.Function.Name + call.Custom.Name; prompt == "hi" || acts[name] {
							t.Errorf("%q called %s with %s%s", prompt, name, call.Function.Arguments, call.Custom.Input)
						}
					}
				}
			})
		}
	}
}

// acts are the tools above that change something.
var acts = map[string]bool{
	"Task": true, "Bash": true, "Edit": true, "Write": true, "TodoWrite": true, "KillShell": true, "exec_command": true, "write_stdin": true, "apply_patch": true, "shell": true, "bash": true, "edit": true, "write": true,
	"write_file": true, "replace": true, "run_shell_command": true, "execute_command": true, "write_to_file": true, "execute_bash": true, "str_replace_editor": true, "acme__runner": true, "runInTerminal": true,
}

// TestAgentsAskedByName: a choice or a script asks for a tool by its name, and then it is called. What no script says is a command that does nothing.
func TestAgentsAskedByName(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	for _, c := range agentTools {
		t.Run(c.agent, func(t *testing.T) {
			t.Parallel()
			tools := offered(c.tools)
			for _, tool := range c.tools {
				name := strings.Fields(tool)[0]
				if !acts[name] {
					continue
				}
				kind := "function"
				if strings.HasSuffix(tool, "*") {
					kind = "custom"
				}
				calls := ask(t, s, request("chat", "Remove EVERYTHING below Home now", tools+`,"tool_choice":{"type":"`+kind+`","`+kind+`":{"name":"`+name+`"}}`)).Choices[0].Message.ToolCalls
				if len(calls) != 1 || calls[0].Function.Name+calls[0].Custom.Name != name {
					t.Fatalf("%s: called %+v", name, calls)
				}
				for _, word := range []string{"Remove", "EVERYTHING", "below", "Home"} {
					if strings.Contains(calls[0].Function.Arguments+calls[0].Custom.Input, word) {
						t.Errorf("%s was called with words of the prompt: %s%s", name, calls[0].Function.Arguments, calls[0].Custom.Input)
					}
				}
			}
			calls := ask(t, s, request("chat", "Look around, with "+c.safe+".", tools)).Choices[0].Message.ToolCalls
			if len(calls) != 1 || calls[0].Function.Name != c.safe {
				t.Errorf("named %s: called %+v", c.safe, calls)
			}
			calls = ask(t, s, request("chat", "hi", tools+`,"tool_choice":"required","parallel_tool_calls":false`)).Choices[0].Message.ToolCalls
			if len(calls) != 1 || acts[calls[0].Function.Name+calls[0].Custom.Name] {
				t.Errorf("required: called %+v", calls)
			}
		})
	}
	scripted := `[[sim call=Bash,eyJjb21tYW5kIjoibHMifQ]] hi` // {"command":"ls"}
	calls := ask(t, s, request("chat", scripted, offered(agentTools[0].tools))).Choices[0].Message.ToolCalls
	if len(calls) != 1 || calls[0].Function.Name != "Bash" || calls[0].Function.Arguments != `{"command":"ls"}` {
		t.Errorf("scripted: %+v", calls)
	}
}

// TestToolNamesAreWords: a name inside of another word asks for nothing.
func TestToolNamesAreWords(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	tools := `"tools":[{"type":"function","function":{"name":"rain"}},{"type":"function","function":{"name":"clock"}},{"type":"function","function":{"name":"tide"}}]`
	for prompt, want := range map[string]string{
		"The train o'clock": "clock", "the training": "rain clock tide", "the trainer, the rain": "rain", "clocks and tides": "rain clock tide", "rain_tomorrow": "rain clock tide", "“tide”": "tide",
	} {
		var names []string
		for _, call := range ask(t, s, request("chat", prompt, tools)).Choices[0].Message.ToolCalls {
			names = append(names, call.Function.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q called %q, want %q", prompt, got, want)
		}
	}
}
