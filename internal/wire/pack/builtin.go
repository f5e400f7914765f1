package pack

import "weir/internal/rawjson"

// BuiltIn is the name and the arguments of an item that calls a tool which the vendor defines and the client runs; "" for other items, also
// for calls that the provider runs.
func BuiltIn(item []byte) (name string, arguments []byte) {
	switch rawjson.TextAt(item, "type") {
	case "local_shell_call":
		name, arguments = "local_shell", rawjson.Find(item, "action")
	case "shell_call":
		if where := rawjson.Text(rawjson.FindPath(item, "environment", "type")); where != "" && where != "local" {
			return "", nil
		}
		name, arguments = "shell", rawjson.Find(item, "action")
	case "apply_patch_call":
		name, arguments = "apply_patch", rawjson.Find(item, "operation")
	case "computer_call":
		name, arguments = "computer", rawjson.Find(item, "action")
	case "tool_search_call":
		if rawjson.TextAt(item, "execution") != "client" {
			return "", nil
		}
		name, arguments = "tool_search", rawjson.Find(item, "arguments")
	}
	if rawjson.KindOf(arguments) == rawjson.String {
		arguments = []byte(rawjson.Text(arguments))
	} else if rawjson.KindOf(arguments) != rawjson.Object {
		arguments = []byte("{}")
	}
	return name, arguments
}
