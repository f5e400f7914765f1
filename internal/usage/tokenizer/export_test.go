package tokenizer

// Alone is a Tokenizer whose counts wait for no other test's.
func Alone() Tokenizer { return Tokenizer{newQueue()} }
