package kit

import (
	"strconv"
	"strings"
)

// ParseSize reads a size in pixels such as "1024x1536" or "1280:720"; false when it is invalid.
func ParseSize(size string) (width, height int, ok bool) {
	w, h, ok := strings.Cut(strings.ReplaceAll(size, ":", "x"), "x")
	width, fine := ParseCount(w)
	height, fine2 := ParseCount(h)
	return width, height, ok && fine && fine2 && width >= 1 && height >= 1
}

// SizeOfRatio returns the size in pixels for an aspect ratio such as "16:9", given the shorter side. The longer one is a multiple of eight.
func SizeOfRatio(ratio string, short int) (width, height int) {
	w, h, _ := strings.Cut(ratio, ":")
	x, _ := strconv.ParseFloat(w, 64)
	y, _ := strconv.ParseFloat(h, 64)
	if x <= 0 || y <= 0 {
		x, y = 16, 9
	}
	long := func(by float64) int { return (int(float64(short)*by) + 4) / 8 * 8 }
	if x >= y {
		width, height = long(x/y), short
	} else {
		width, height = short, long(y/x)
	}
	for max(width, height) > MaxSide {
		width, height = width/2, height/2
	}
	return width, height
}
