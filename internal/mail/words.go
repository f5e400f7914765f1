package mail

import (
	"strings"

	"weir/internal/auth"
)

// signInOf writes a mail of how people sign in.
func signInOf(m *auth.Mail, base, host string) *content {
	w := wordsOf(m.Kind, m.Locale)
	at := func(text string) string { return strings.ReplaceAll(text, "{host}", host) }
	c := &content{Lang: w.lang, Subject: at(w.subject), Lead: at(w.text), End: at(w.end)}
	if m.Link != "" {
		c.Button, c.Link = w.button, base+m.Link
	}
	return c
}

// words are what a mail says. {host} stands for the gateway's host.
type words struct {
	lang    string
	subject string
	text    string
	button  string // on the link, where there is one
	end     string
}

// wordsOf returns the words of a kind of mail; every other locale than "ru" is English.
func wordsOf(kind auth.MailKind, locale string) words {
	if locale == "ru" {
		w := russian[kind]
		w.lang = "ru"
		return w
	}
	w := english[kind]
	w.lang = "en"
	return w
}

// How mails end that tell of a change.
const (
	alarm        = "If it was not you, recover the password at once and tell the operator."
	alarmRussian = "Если это были не вы, сразу восстановите пароль и сообщите оператору."
)

var english = map[auth.MailKind]words{
	auth.MailConfirm: {subject: "Confirm your address for {host}", button: "Confirm the address",
		text: "Somebody, probably you, is making an account at {host} with this address. Open the link within 24 hours to confirm it.",
		end:  "If it was not you, do nothing: no account is made."},
	auth.MailExists: {subject: "You have an account at {host}", button: "Sign in",
		text: "Somebody, probably you, tried to make an account at {host} with this address. There is one already: sign in, or recover the password.",
		end:  "If it was not you, do nothing: nothing has changed."},
	auth.MailReset: {subject: "A new password for {host}", button: "Choose a password",
		text: "Open the link within an hour to choose a new password for {host}. All your browsers are signed out then.",
		end:  "If you did not ask for this, do nothing: your password stays as it is."},
	auth.MailInvited: {subject: "An invitation to {host}", button: "Make an account",
		text: "You are invited to {host}. Open the link within 7 days to make an account.",
		end:  "The link works once."},
	auth.MailJoin: {subject: "An invitation to an organization at {host}", button: "See the invitation",
		text: "You are invited to become a member of an organization at {host}. Open the link to see which one it is, and sign in or make an account to accept.",
		end:  "If you do not know who invites you, do nothing."},
	auth.MailPassword: {subject: "Your password for {host} was changed",
		text: "The password of your account at {host} was changed, and your other browsers were signed out.",
		end:  alarm},
	auth.MailMove: {subject: "Your new address for {host}", button: "Use this address",
		text: "Somebody, probably you, wants to use this address for an account at {host}. Open the link within 24 hours, in a browser in which you are signed in there.",
		end:  "If it was not you, do nothing: nothing changes."},
	auth.MailTaken: {subject: "You have an account at {host}",
		text: "Somebody, probably you, wanted to use this address for another account at {host}. It belongs to an account already, so nothing has changed.",
		end:  "If it was not you, do nothing."},
	auth.MailMoving: {subject: "Your address for {host} is about to change", button: "Keep this address",
		text: "Somebody, probably you, wants another e-mail address for your account at {host}. It changes when a link is opened that went there.",
		end:  "If it was not you, open the link within 7 days: the address stays, or comes back, and all browsers are signed out. Then recover the password."},
	auth.MailMoved: {subject: "Your address for {host} has changed", button: "Take this address back",
		text: "Your account at {host} has another e-mail address now.",
		end:  "If it was not you, open the link within 7 days: this address comes back, and all browsers are signed out. Then recover the password and tell the operator."},
	auth.MailPasswordRemoved: {subject: "Your password for {host} was removed",
		text: "The password of your account at {host} was removed, and your other browsers were signed out. You sign in another way.",
		end:  alarm},
	auth.MailPasskeyAdded: {subject: "A passkey was added at {host}",
		text: "From now on another passkey signs in to your account at {host}.",
		end:  alarm},
	auth.MailPasskeyRemoved: {subject: "A passkey was removed at {host}",
		text: "A passkey of your account at {host} was removed, and your other browsers were signed out.",
		end:  alarm},
	auth.MailSecondStepOn: {subject: "A passkey is required at {host} now",
		text: "From now on your account at {host} requires a passkey, whichever way you sign in. Your other browsers were signed out.",
		end:  alarm},
	auth.MailSecondStepOff: {subject: "A passkey is not required at {host} any more",
		text: "Your account at {host} does not require a passkey any more: the password or a linked sign-in is enough.",
		end:  alarm},
	auth.MailIdentityAdded: {subject: "A sign-in was linked at {host}",
		text: "From now on an account at another provider signs in to your account at {host}.",
		end:  alarm},
	auth.MailIdentityRemoved: {subject: "A linked sign-in was removed at {host}",
		text: "An account at another provider no longer signs in to your account at {host}, and your other browsers were signed out.",
		end:  alarm},
}

var russian = map[auth.MailKind]words{
	auth.MailConfirm: {subject: "Подтвердите адрес для {host}", button: "Подтвердить адрес",
		text: "Кто-то, вероятно вы, создаёт аккаунт на {host} с этим адресом. Откройте ссылку в течение 24 часов, чтобы подтвердить его.",
		end:  "Если это были не вы, ничего не делайте: аккаунт не будет создан."},
	auth.MailExists: {subject: "У вас есть аккаунт на {host}", button: "Войти",
		text: "Кто-то, вероятно вы, пытался создать аккаунт на {host} с этим адресом. Он уже есть: войдите или восстановите пароль.",
		end:  "Если это были не вы, ничего не делайте: ничего не изменилось."},
	auth.MailReset: {subject: "Новый пароль для {host}", button: "Выбрать пароль",
		text: "Откройте ссылку в течение часа, чтобы выбрать новый пароль для {host}. После этого все ваши браузеры выйдут из аккаунта.",
		end:  "Если вы этого не просили, ничего не делайте: пароль останется прежним."},
	auth.MailInvited: {subject: "Приглашение на {host}", button: "Создать аккаунт",
		text: "Вас приглашают на {host}. Откройте ссылку в течение 7 дней, чтобы создать аккаунт.",
		end:  "Ссылка работает один раз."},
	auth.MailJoin: {subject: "Приглашение в организацию на {host}", button: "Посмотреть приглашение",
		text: "Вас приглашают в организацию на {host}. Откройте ссылку, чтобы увидеть, в какую. Чтобы принять приглашение, войдите или создайте аккаунт.",
		end:  "Если вы не знаете, кто вас приглашает, ничего не делайте."},
	auth.MailPassword: {subject: "Пароль для {host} изменён",
		text: "Пароль вашего аккаунта на {host} изменён, другие ваши браузеры вышли из аккаунта.",
		end:  alarmRussian},
	auth.MailMove: {subject: "Ваш новый адрес для {host}", button: "Пользоваться этим адресом",
		text: "Кто-то, вероятно вы, хочет пользоваться этим адресом для аккаунта на {host}. Откройте ссылку в течение 24 часов в браузере, в котором вы вошли в аккаунт.",
		end:  "Если это были не вы, ничего не делайте: ничего не изменится."},
	auth.MailTaken: {subject: "У вас есть аккаунт на {host}",
		text: "Кто-то, вероятно вы, хотел пользоваться этим адресом для другого аккаунта на {host}. Он уже принадлежит аккаунту, поэтому ничего не изменилось.",
		end:  "Если это были не вы, ничего не делайте."},
	auth.MailMoving: {subject: "Ваш адрес для {host} скоро изменится", button: "Оставить этот адрес",
		text: "Кто-то, вероятно вы, хочет другой адрес почты для вашего аккаунта на {host}. Он изменится, когда откроют ссылку, которая ушла туда.",
		end:  "Если это были не вы, откройте ссылку в течение 7 дней: адрес останется или вернётся, все браузеры выйдут из аккаунта. Затем восстановите пароль."},
	auth.MailMoved: {subject: "Ваш адрес для {host} изменён", button: "Вернуть этот адрес",
		text: "У вашего аккаунта на {host} теперь другой адрес почты.",
		end:  "Если это были не вы, откройте ссылку в течение 7 дней: этот адрес вернётся, все браузеры выйдут из аккаунта. Затем восстановите пароль и сообщите оператору."},
	auth.MailPasswordRemoved: {subject: "Пароль для {host} удалён",
		text: "Пароль вашего аккаунта на {host} удалён, другие ваши браузеры вышли из аккаунта. Вы входите другим способом.",
		end:  alarmRussian},
	auth.MailPasskeyAdded: {subject: "На {host} добавлен ключ доступа",
		text: "Теперь в ваш аккаунт на {host} можно войти ещё одним ключом доступа.",
		end:  alarmRussian},
	auth.MailPasskeyRemoved: {subject: "На {host} удалён ключ доступа",
		text: "Ключ доступа вашего аккаунта на {host} удалён, другие ваши браузеры вышли из аккаунта.",
		end:  alarmRussian},
	auth.MailSecondStepOn: {subject: "Теперь на {host} обязателен ключ доступа",
		text: "Теперь ваш аккаунт на {host} требует ключ доступа при любом входе. Другие ваши браузеры вышли из аккаунта.",
		end:  alarmRussian},
	auth.MailSecondStepOff: {subject: "На {host} ключ доступа больше не обязателен",
		text: "Ваш аккаунт на {host} больше не требует ключ доступа: достаточно пароля или привязанного входа.",
		end:  alarmRussian},
	auth.MailIdentityAdded: {subject: "На {host} привязан вход",
		text: "Теперь в ваш аккаунт на {host} можно войти через аккаунт у другого провайдера.",
		end:  alarmRussian},
	auth.MailIdentityRemoved: {subject: "На {host} удалён привязанный вход",
		text: "Через аккаунт у другого провайдера больше нельзя войти в ваш аккаунт на {host}, другие ваши браузеры вышли из аккаунта.",
		end:  alarmRussian},
}
