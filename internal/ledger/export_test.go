package ledger

// End is the position after the last record of the journal.
func (b *Book) End() int64 { return b.journal.End() }
