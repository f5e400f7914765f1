package importer

// Shift is the text arithmetic that prices go through.
var Shift = shift
