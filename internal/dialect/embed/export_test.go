package embed

// Len is how many endpoints are remembered.
func (f *Forms) Len() int { return len(*f.numbers.Load()) }
