package mail

import "weir/internal/person"

// words are what a mail says. {host} stands for the gateway's host.
type words struct {
	lang    string
	subject string
	text    string
	button  string // on the link, where there is one
	end     string
}

// wordsOf returns the words of a kind of mail; every other locale than "ru" is English.
func wordsOf(kind person.MailKind, locale string) words {
	if locale == "ru" {
		w := russian[kind]
		w.lang = "ru"
		return w
	}
	w := english[kind]
	w.lang = "en"
	return w
}

var english = map[person.MailKind]words{
	person.MailConfirm: {subject: "Confirm your address for {host}", button: "Confirm the address",
		text: "Somebody, probably you, is making an account at {host} with this address. Open the link within 24 hours to confirm it.",
		end:  "If it was not you, do nothing: no account is made."},
	person.MailExists: {subject: "You have an account at {host}", button: "Sign in",
		text: "Somebody, probably you, tried to make an account at {host} with this address. There is one already: sign in, or recover the password.",
		end:  "If it was not you, do nothing: nothing has changed."},
	person.MailReset: {subject: "A new password for {host}", button: "Choose a password",
		text: "Open the link within an hour to choose a new password for {host}. All your browsers are signed out then.",
		end:  "If you did not ask for this, do nothing: your password stays as it is."},
	person.MailInvited: {subject: "An invitation to {host}", button: "Make an account",
		text: "You are invited to {host}. Open the link within 7 days to make an account.",
		end:  "The link works once."},
	person.MailPassword: {subject: "Your password for {host} was changed",
		text: "The password of your account at {host} was changed, and your other browsers were signed out.",
		end:  "If it was not you, recover the password at once and tell the operator."},
}

var russian = map[person.MailKind]words{
	person.MailConfirm: {subject: "Подтвердите адрес для {host}", button: "Подтвердить адрес",
		text: "Кто-то, вероятно вы, создаёт аккаунт на {host} с этим адресом. Откройте ссылку в течение 24 часов, чтобы подтвердить его.",
		end:  "Если это были не вы, ничего не делайте: аккаунт не будет создан."},
	person.MailExists: {subject: "У вас есть аккаунт на {host}", button: "Войти",
		text: "Кто-то, вероятно вы, пытался создать аккаунт на {host} с этим адресом. Он уже есть: войдите или восстановите пароль.",
		end:  "Если это были не вы, ничего не делайте: ничего не изменилось."},
	person.MailReset: {subject: "Новый пароль для {host}", button: "Выбрать пароль",
		text: "Откройте ссылку в течение часа, чтобы выбрать новый пароль для {host}. После этого все ваши браузеры выйдут из аккаунта.",
		end:  "Если вы этого не просили, ничего не делайте: пароль останется прежним."},
	person.MailInvited: {subject: "Приглашение на {host}", button: "Создать аккаунт",
		text: "Вас приглашают на {host}. Откройте ссылку в течение 7 дней, чтобы создать аккаунт.",
		end:  "Ссылка работает один раз."},
	person.MailPassword: {subject: "Пароль для {host} изменён",
		text: "Пароль вашего аккаунта на {host} изменён, другие ваши браузеры вышли из аккаунта.",
		end:  "Если это были не вы, сразу восстановите пароль и сообщите оператору."},
}
