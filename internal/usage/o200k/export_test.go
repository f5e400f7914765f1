package o200k

// Unpacked is the embedded vocabulary: a byte with the length, then the token, by rank.
func Unpacked() []byte {
	v := base()
	var b []byte
	for rank := range v.ends {
		token := v.token(rank)
		b = append(append(b, byte(len(token))), token...)
	}
	return b
}
