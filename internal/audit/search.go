package audit

import "time"

// Search chooses rows. What is empty chooses all.
type Search struct {
	Who    string    // name of the Actor; the id of a user or of a key is as good
	Action string    // "key.revoke", or "key." for all that begin so
	Target string    // what the row is about
	From   time.Time // the first moment
	Until  time.Time // the moment behind the last one
	Before int64     // only rows with a smaller number; 0: all
	Limit  int
}
