package pdf

// budget is the work and memory that may still be spent on a file. All its readers share it. When it is spent, every lexer reports the
// end of its data.
type budget struct {
	work int  // steps: about one for each byte that is looked at, copied or written
	room int  // bytes that may still be held at a time
	cut  bool // something was left out because of a limit
}

// Costs, in steps, of work other than reading a byte, and in bytes, of a value's memory in addition to its own bytes.
const (
	tokenWork  = 16
	objectWork = 100
	filterWork = 4096 // a decompressor is large
	formWork   = 1000

	valueRoom  = 24
	memberRoom = 80
	objectRoom = 160
	fontRoom   = 4096
)

// spend pays for steps. It reports whether work may go on.
func (b *budget) spend(steps int) bool {
	if b.work -= steps; b.work > 0 {
		return true
	}
	b.work, b.cut = 0, true
	return false
}

// hold takes memory from the budget. When there is not enough, all work ends.
func (b *budget) hold(bytes int) bool {
	if b.room -= bytes; b.room >= 0 {
		return true
	}
	b.work, b.cut = 0, true
	return false
}

// release gives memory back that was held, also when it was too much.
func (b *budget) release(bytes int) { b.room += bytes }
