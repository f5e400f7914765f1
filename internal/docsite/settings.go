package docsite

import "strings"

// settingsPage is the reference of the settings, by section.
func settingsPage(settings []Setting) string {
	var b strings.Builder
	b.WriteString("# Settings\n\n    WEIR_SERVER_LISTEN=:8080 weir serve -c weir.yaml\n\n" +
		"Each setting with its default. It is made from the program that serves this page. Set a key in the file (`server: {listen: \":8080\"}`) or in the environment: " +
		"`server.listen` is `WEIR_SERVER_LISTEN`. [Configuration](configuration.md) explains the file, secrets and providers; [weir.example.yaml](../weir.example.yaml) has all of this as a file to copy.\n\n" +
		"*Live* says that a running node applies a change of the file; all else needs a restart.\n")
	var sections []string
	rows := map[string][]Setting{}
	for _, s := range settings {
		section, _, nested := strings.Cut(s.Key, ".")
		if section = strings.TrimSuffix(section, "[]"); !nested {
			section = "general"
		}
		if rows[section] == nil {
			sections = append(sections, section)
		}
		rows[section] = append(rows[section], s)
	}
	for _, section := range sections {
		b.WriteString("\n## " + section + "\n\n| Setting | Type | Default | Meaning |\n|---|---|---|---|\n")
		settingRows(&b, rows[section])
	}
	return b.String()
}

func settingRows(b *strings.Builder, settings []Setting) {
	for _, s := range settings {
		means := s.Means
		if s.Live {
			means = strings.TrimPrefix(means+" *Live.*", " ")
		}
		value := code(s.Default)
		if s.Default == "" {
			value = "none"
		}
		b.WriteString("| " + code(s.Key) + " | " + s.Type + " | " + value + " | " + cell(means) + " |\n")
	}
}

// cell is text for a cell of a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

// code is text as code, for a cell of a table.
func code(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "\n", " ")
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// sentence is text of the description of the API as Markdown: its names with marks in them are no formatting.
func sentence(s string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`).Replace(strings.Join(strings.Fields(s), " "))
}
