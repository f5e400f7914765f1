package apptest

import (
	"weir/internal/audit"
)

var Administrator = audit.Actor{Name: "key:key_admin"}
