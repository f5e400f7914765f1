package responses

import "crypto/sha256"

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// CallID is the id of the response that a call makes, so that what is stored of a call is found by it. It is a name, not a secret.
func CallID(generation string) string {
	b := append(make([]byte, 0, len("resp_")+sha256.Size), "resp_"...)
	for _, c := range sha256.Sum256([]byte(generation)) { // as many bytes as an id has characters
		b = append(b, base62[c%62])
	}
	return string(b)
}
