package docsite

// Table returns the files of the table in order, and the sentence of each.
func Table() (files []string, about map[string]string) {
	about = map[string]string{}
	for _, g := range groups {
		for _, e := range g.pages {
			files = append(files, e.file)
			about[e.file] = e.about
		}
	}
	return files, about
}

// Groups returns the names of the groups.
func Groups() (names []string) {
	for _, g := range groups {
		names = append(names, g.name)
	}
	return names
}

// Words returns the texts around the pages.
func Words() map[string]map[string]string { return words }

// Kept returns how many pages are kept as they are sent, and how many bytes they have.
func (s *Site) Kept() (n, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.kept), s.size
}

// KeptBytes is the bound of those bytes.
const KeptBytes = keptBytes

var (
	Highlight = highlight
	Language  = language
	Fragment  = fragment
	Excerpt   = excerpt
	AsTyped   = asTyped
)
