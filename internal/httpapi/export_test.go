package httpapi

// ScoreMeaning is the sentence for a reason of routing.
func ScoreMeaning(reason string) string { return scoreMeanings[reason] }
