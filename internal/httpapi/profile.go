package httpapi

// deleteAccount serves DELETE /api/account: the person who is signed in becomes anonymous. No key can do that.
func (x *request) deleteAccount() error {
	if err := x.api.Accounts.Forget(x.context(), x.caller.User, x.actor()); err != nil {
		return err
	}
	x.setSession("", 0)
	x.w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
	return x.done()
}
