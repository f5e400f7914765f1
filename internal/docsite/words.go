package docsite

// words are the texts around the pages, by language.
var words = map[string]map[string]string{
	"en": {
		"docs": "Docs", "title": "Documentation", "models": "Models", "playground": "Playground", "account": "Account", "signIn": "Sign in", "skip": "Skip to content",
		"main": "Main", "pages": "Pages", "contents": "On this page", "search": "Search", "searchLabel": "Search the documentation", "find": "Search",
		"use": "Use", "operate": "Operate", "develop": "Develop",
		"start": "Start", "guides": "Guides", "requests": "Requests", "reference": "Reference", "install": "Install and set up", "care": "Run and watch", "books": "Money",
		"code": "Code", "decisions": "Decisions",
		"older": "The English page is newer than this translation.", "readEnglish": "Read it",
		"markdown": "Copy as Markdown", "copy": "Copy", "copied": "Copied", "codeIn": "Language of the code", "key": "Key in the examples", "before": "Previous", "after": "Next", "neighbours": "Previous and next page",
		"none": "Nothing has all of these words.", "noneHelp": "Use fewer words, or look through the list of pages.", "results": "Results", "readAs": "Read as",
		"missing": "There is no such page", "missingText": "Search for it, or begin at the first page.", "toStart": "All pages", "english": "",
		"theme": "Theme", "system": "as the system", "light": "light", "dark": "dark", "language": "Language", "other": "Русский",
		"lead": "Keep your SDK, change the base URL and the key. Begin with five minutes, or look for what you need.", "forPrograms": "For programs",
		"forProgramsText": "Each page as Markdown: add .md to its address. The list of all pages:",
	},
	"ru": {
		"docs": "Документация", "title": "Документация", "models": "Модели", "playground": "Песочница", "account": "Аккаунт", "signIn": "Войти", "skip": "К тексту",
		"main": "Главное", "pages": "Страницы", "contents": "На этой странице", "search": "Поиск", "searchLabel": "Поиск по документации", "find": "Найти",
		"use": "Пользователям", "operate": "Операторам", "develop": "Разработчикам",
		"start": "Начало", "guides": "Руководства", "requests": "Запросы", "reference": "Справочник", "install": "Установка и настройка", "care": "Работа и наблюдение", "books": "Деньги",
		"code": "Код", "decisions": "Решения",
		"older": "Английская страница новее этого перевода.", "readEnglish": "Прочитать её",
		"markdown": "Скопировать как Markdown", "copy": "Скопировать", "copied": "Скопировано", "codeIn": "Язык кода", "key": "Ключ в примерах", "before": "Назад", "after": "Дальше", "neighbours": "Соседние страницы",
		"none": "Ни на одной странице нет всех этих слов.", "noneHelp": "Часть страниц есть только на английском: попробуйте английские слова или просмотрите список страниц.", "results": "Найдено", "readAs": "Прочитано как",
		"missing": "Такой страницы нет", "missingText": "Найдите её поиском или начните с первой страницы.", "toStart": "Все страницы", "english": "Часть страниц есть только на английском.",
		"theme": "Тема", "system": "как в системе", "light": "светлая", "dark": "тёмная", "language": "Язык", "other": "English",
		"lead": "Оставьте свой SDK, смените адрес и ключ. Начните с пяти минут или найдите нужное.", "forPrograms": "Для программ",
		"forProgramsText": "Каждая страница в Markdown: добавьте .md к её адресу. Список всех страниц:",
	},
}
