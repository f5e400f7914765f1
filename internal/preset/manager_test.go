package preset_test

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/preset"
)

// memory is a store of one preset, which counts questions and can be away.
type memory struct {
	preset.Store // all that these tests do not use
	kept         preset.Preset
	all          string // says what every preset of everybody says; "": there is one
	asked        int
	away         bool
}

func (m *memory) PresetByName(_ context.Context, user, name string) (preset.Preset, error) {
	m.asked++
	switch {
	case m.away:
		return preset.Preset{}, fault.New(fault.StorageUnavailable, "test", "The store is away.")
	case m.all != "":
		return preset.Preset{User: user, Name: name, Version: 1, Content: strings.Clone(m.all)}, nil
	case user != m.kept.User || name != m.kept.Name:
		return preset.Preset{}, fault.New(fault.NotFound, "test", "There is no such preset.")
	}
	return m.kept, nil
}

func (m *memory) SavePreset(_ context.Context, s preset.Save, _ audit.Event) (preset.Preset, error) {
	m.kept.Version++
	m.kept.Content = s.Content
	return m.kept, nil
}

// The store is asked once in two seconds for a name, whether or not there is a preset; a change of this node holds at once, and a store that
// is away stops only what is not known.
func TestFind(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
	s := &memory{kept: preset.Preset{User: "usr_a", Name: "tone", Version: 1, Content: "one"}}
	m := preset.NewManager(s, func() time.Time { return now })
	find := func(user, name, want string, asked int) {
		t.Helper()
		p, err := m.Find(t.Context(), user, name)
		if p.Content != want || (want == "") != (err != nil) || s.asked != asked {
			t.Errorf("%s of %s: %q, %v after %d questions, want %q after %d", name, user, p.Content, err, s.asked, want, asked)
		}
	}
	find("usr_a", "tone", "one", 1)
	find("usr_a", "tone", "one", 1)
	find("usr_b", "tone", "", 2)
	find("usr_b", "tone", "", 2)
	find("usr_a", "No Name", "", 2)
	s.kept.Content = "elsewhere" // by another node
	find("usr_a", "tone", "one", 2)
	now = now.Add(2 * time.Second)
	find("usr_a", "tone", "elsewhere", 3)
	if _, err := m.Save(t.Context(), preset.Save{User: "usr_a", Name: "tone", Content: "two"}, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	find("usr_a", "tone", "two", 4)
	s.away = true
	now = now.Add(3 * time.Minute)
	find("usr_a", "tone", "two", 5)
	find("usr_a", "other", "", 6)
	now = now.Add(3 * time.Minute)
	find("usr_a", "tone", "", 7)
	s.away = false
	find("usr_a", "tone", "two", 8)
	s.kept.Name = "gone"
	now = now.Add(2 * time.Second)
	find("usr_a", "tone", "", 9)
	s.away = true
	now = now.Add(2 * time.Second)
	find("usr_a", "tone", "", 10) // it is not known that there is one again
}

// What another node has changed of a user is read at the next use. While the store is away, presets are used as before.
func TestLookAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
	s := &memory{kept: preset.Preset{User: "usr_a", Name: "tone", Version: 1, Content: "one"}}
	m := preset.NewManager(s, func() time.Time { return now })
	find := func(want string, asked int) {
		t.Helper()
		p, err := m.Find(t.Context(), "usr_a", "tone")
		if p.Content != want || err != nil || s.asked != asked {
			t.Errorf("%q, %v after %d questions, want %q after %d", p.Content, err, s.asked, want, asked)
		}
	}
	find("one", 1)
	s.kept.Content = "two"
	m.LookAgain(func(user string) bool { return user == "usr_b" })
	find("one", 1)
	m.LookAgain(func(user string) bool { return user == "usr_a" })
	s.away = true
	find("one", 2)
	s.away = false
	find("two", 3)
	find("two", 3)
}

// Many accounts with large presets do not fill the memory.
func TestMemory(t *testing.T) {
	s := &memory{all: strings.Repeat("x", preset.MaxContent)}
	m := preset.NewManager(s, time.Now)
	heap := func() int64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before := heap()
	for i := range 3000 { // 190 MB
		if _, err := m.Find(t.Context(), "usr_"+strconv.Itoa(i), "tone"); err != nil {
			t.Fatal(err)
		}
	}
	if grown := heap() - before; grown > 64<<20 {
		t.Errorf("3000 presets of %d bytes take %d bytes", preset.MaxContent, grown)
	}
	runtime.KeepAlive(m)
}
