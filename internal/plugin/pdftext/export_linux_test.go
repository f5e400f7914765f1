package pdftext

// RaceDetector tells whether this program was built with it.
const RaceDetector = shadow > 1
