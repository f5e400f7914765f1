package httpapi

// postEmail serves POST /api/auth/email: the person wants another address, to which a link goes.
func (x *request) postEmail() error {
	var email, locale string
	if err := x.form(map[string]*string{"email": &email, "locale": &locale}); err != nil {
		return err
	}
	if err := needed("email", email); err != nil {
		return err
	}
	if err := x.api.People.BeginMove(x.context(), x.person, email, locale, x.visitor()); err != nil {
		return err
	}
	return x.mailed()
}

// postNewEmail serves POST /api/auth/email/confirm: the link was opened, in a browser of who asked for it.
func (x *request) postNewEmail() error {
	var token string
	if err := x.form(map[string]*string{"token": &token}); err != nil {
		return err
	}
	if err := needed("token", token); err != nil {
		return err
	}
	if err := x.api.People.EndMove(x.context(), x.session, x.person, token, x.visitor()); err != nil {
		return err
	}
	return x.done()
}

// postKeepEmail serves POST /api/auth/keep-email: it keeps or restores the former address. No session is needed.
func (x *request) postKeepEmail() error {
	var token string
	if err := x.form(map[string]*string{"token": &token}); err != nil {
		return err
	}
	if err := needed("token", token); err != nil {
		return err
	}
	email, err := x.api.People.KeepAddress(x.context(), token, x.visitor())
	if err != nil {
		if refused := x.api.quotas.Failure(x.at, x.addressName()); refused != nil {
			return refused
		}
		return err
	}
	var o object
	o.Object()
	o.text("email", email)
	o.EndObject()
	return x.reply(&o)
}
