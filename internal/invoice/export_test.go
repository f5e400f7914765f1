package invoice

// The functions that tests compare with what they compute themselves.
var (
	Charge     = charge
	Worth      = worth
	NumbersIn  = numbersIn
	CloseMonth = closeMonth
)
