// What facts are called, in mails, too: they have the same file.
import facts from '../../../internal/mail/facts.en.json'

export default facts
declare module '../i18n' {
  interface Areas {
    facts: typeof facts
  }
}
