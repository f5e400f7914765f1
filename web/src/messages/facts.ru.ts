import facts from '../../../internal/mail/facts.ru.json'
import type { Translation } from '../i18n'
import type en from './facts.en'

export default facts satisfies Translation<typeof en>
