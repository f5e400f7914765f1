package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// NeedRestart lists the keys in which two configurations differ and which need a restart.
func NeedRestart(before, after *Config) []string {
	var keys []string
	settings(reflect.TypeFor[Config](), func(s option) {
		if s.reload != "live" && !reflect.DeepEqual(reflect.ValueOf(before).Elem().FieldByIndex(s.index).Interface(), reflect.ValueOf(after).Elem().FieldByIndex(s.index).Interface()) {
			keys = append(keys, s.key)
		}
	})
	return keys
}

// option is a key with a value, or with a list or map of values.
type option struct {
	key    string
	index  []int
	read   reflect.Type // how its text is read
	reload string       // the tag of the field, or of the nearest field around it; "" if none has one
}

func settings(t reflect.Type, found func(option)) { settingsIn(t, option{}, found) }

func settingsIn(t reflect.Type, at option, found func(option)) {
	for _, e := range entriesOf(t) {
		if e.constant {
			continue
		}
		s := option{key: e.name, index: slices.Concat(at.index, e.index), read: e.read, reload: cmp.Or(e.reload, at.reload)}
		if at.key != "" {
			s.key = at.key + "." + e.name
		}
		if isSection(e.read) {
			settingsIn(e.read, s, found)
			continue
		}
		found(s)
	}
}

// ofNode are settings in which the nodes of one installation may differ.
var ofNode = []string{
	"server.listen", "server.admin_listen", "server.tls", "environment_file", "data_dir", "store.dsn", "journal", "log", "runtime", "price_lists.dir", "video.folder", "batch.folder",
	"secrets.master_key_file", "secrets.previous_key_files",
}

// Sections returns a digest of each section of settings that all nodes of one installation should have in common: two nodes with the same one
// have the same settings in it. What can change without a restart is no part of it, nor are secrets.
func Sections(c *Config) map[string]string {
	all := map[string][]byte{}
	settings(reflect.TypeFor[Config](), func(s option) {
		if s.reload == "live" || slices.ContainsFunc(ofNode, func(name string) bool { return s.key == name || strings.HasPrefix(s.key, name+".") }) {
			return
		}
		section, _, _ := strings.Cut(s.key, ".")
		all[section] = fmt.Appendf(all[section], "%s=%q\n", s.key, fmt.Sprint(reflect.ValueOf(c).Elem().FieldByIndex(s.index).Interface()))
	})
	out := make(map[string]string, len(all))
	for section, text := range all {
		sum := sha256.Sum256(text)
		out[section] = hex.EncodeToString(sum[:4])
	}
	return out
}
