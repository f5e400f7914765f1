package pdftext

// RaceDetector reports whether this program was built with it.
const RaceDetector = shadow > 1
