// Package preset keeps named set-ups of requests: a model with its parameters, instructions, fallbacks and routing, in versions, for one
// account. It does not know what a set-up says: edges read and apply it.
package preset

import (
	"context"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
)

// Bounds of one account.
const (
	MaxPerUser  = 100      // presets
	MaxVersions = 50       // of a preset that are kept: the oldest ones go
	MaxBytes    = 8 << 20  // of all versions of all presets
	MaxContent  = 64 << 10 // bytes of one version
	MaxNote     = 200      // characters of a description
	MaxName     = 64
	HeadChars   = 1600 // characters of a content that a list has: its beginning, which names the model
)

// Prefix comes before the name of a preset in the place of a model's slug.
const Prefix = "@preset/"

// Preset is a preset with its current version.
type Preset struct {
	User        string // "usr_..."
	Name        string
	Description string
	Version     int64  // 1, 2, ...
	Content     string // JSON object that was checked
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Version is what a preset was at one time.
type Version struct {
	Number  int64
	Content string
	By      string // who saved it, as in the audit chain
	At      time.Time
}

// Use is how much a preset was used.
type Use struct {
	Calls int64
	Keys  int64 // different ones
}

// Save is what is stored of a preset.
type Save struct {
	User, Name, Description string
	Content                 string
	New                     bool  // there must be none of this name; else there must be one
	From                    int64 // the version that it changes, which must be the current one; 0: whichever is
	At                      time.Time
}

// Store keeps presets. Each change and its audit row are one transaction. All methods that find a preset fail with fault.NotFound for one
// that is not there, and for one of another user.
type Store interface {
	PresetByName(ctx context.Context, user, name string) (Preset, error)
	// ListPresets lists a user's presets by name, with the first HeadChars characters of their contents.
	ListPresets(ctx context.Context, user string) ([]Preset, error)
	// PresetVersions lists the versions that are kept, newest first.
	PresetVersions(ctx context.Context, user, name string) ([]Version, error)
	PresetVersion(ctx context.Context, user, name string, number int64) (Version, error)
	// SavePreset adds a preset or a version. It fails with fault.Conflict when the name is taken, or From is not the current version, and with
	// fault.Invalid when the account has no room. A version that says what the current one says is not added.
	SavePreset(ctx context.Context, s Save, e audit.Event) (Preset, error)
	// DeletePreset removes a preset. With a version other than 0 it fails with fault.Conflict when that is not the current one.
	DeletePreset(ctx context.Context, user, name string, version int64, now time.Time, e audit.Event) error
	// PresetUses adds up the calls of a wallet with each preset since a day.
	PresetUses(ctx context.Context, wallet string, since time.Time) (map[string]Use, error)
}

// CheckName reports whether a text can be the name of a preset. It fails with fault.Invalid.
func CheckName(name string) error {
	if !validName(name) {
		return fault.Field("preset.CheckName", "name", "name must have 1 to %d lower-case Latin letters, digits, hyphens and underscores, and begin with a letter or digit.", MaxName).Coded("preset_name", "most", MaxName)
	}
	return nil
}

func validName(name string) bool {
	if name == "" || len(name) > MaxName || name[0] == '-' || name[0] == '_' {
		return false
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Split takes a model as a request names it apart: model, model@preset/name or @preset/name.
func Split(slug string) (model, name string, ok bool) {
	return strings.Cut(slug, Prefix)
}

// Missing is the fault for a preset that the caller's account does not have.
func Missing(name string) error {
	return fault.New(fault.NotFound, "preset.Find", "There is no preset "+strconv.Quote(shorten(name))+". GET /api/presets lists those of the account.")
}

func shorten(name string) string {
	if len(name) > MaxName {
		return strings.ToValidUTF8(name[:MaxName], "")
	}
	return name
}
