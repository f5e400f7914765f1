package catalog

import "strings"

var modalityNames = [...]string{"text", "image", "audio", "file", "video"}

// ModalityNamed is the bit of a modality's name, 0 for an unknown name. "pdf" is an older name of file.
func ModalityNamed(name string) Modality {
	for i, n := range modalityNames {
		if n == name {
			return 1 << i
		}
	}
	if name == "pdf" {
		return File
	}
	return 0
}

// Names lists the set's names in their fixed order.
func (m Modality) Names() []string {
	names := []string{}
	for i, name := range modalityNames {
		if m&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (m Modality) String() string { return strings.Join(m.Names(), ", ") }
