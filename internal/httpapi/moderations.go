package httpapi

import "weir/internal/wire/moderations"

// postModerations serves POST /v1/moderations.
func (x *exchange) postModerations() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	req, err := moderations.Decode(body, x.api.cfg.ModerationVendor)
	if err != nil {
		return err
	}
	if err := x.admitTask(req); err != nil {
		return err
	}
	return x.perform(x.newCall(req, "moderations", moderations.PromptText(req)), moderations.NewWhole(wholeWriter{x}, string(appendID([]byte("modr-"), 24))))
}
