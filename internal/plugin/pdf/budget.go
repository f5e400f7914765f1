package pdf

// budget is what is left to spend on a file. All that reads it has the same one. Once it is spent, every lexer is at its end.
type budget struct {
	work int  // steps: about one for each byte that is looked at, copied or written
	room int  // bytes that may still be held at a time
	cut  bool // something was left out because of a limit
}

// Costs, in steps, of work beyond looking at a byte, and in bytes, of what values take beyond their own.
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

// hold takes memory. Without enough, all work ends.
func (b *budget) hold(bytes int) bool {
	if b.room -= bytes; b.room >= 0 {
		return true
	}
	b.work, b.cut = 0, true
	return false
}

// release gives memory back that was held, also when it was too much.
func (b *budget) release(bytes int) { b.room += bytes }
