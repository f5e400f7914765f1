import type { Messages } from '../i18n'

const messages = {
  calls: 'Texts of calls are not stored',
  callsText:
    'Weir keeps of a call its counts, prices, times and model. Prompts and answers of the chat, messages and Gemini styles pass through and are gone. The exceptions are on this page.',
  zdr: 'This account demands zero retention',
  zdrText: 'Nothing is stored, whatever is chosen below.',
  zdrLink: 'Change it in Routing',
  responses: 'Stored responses',
  responsesText:
    'The responses style can store a response with its input, so that a later call continues it by its id. Zero retention of a request, a key or the account stores nothing in any case.',
  responsesNone: 'This gateway stores no responses.',
  by_default: 'Store unless the request says otherwise',
  help_by_default: 'As clients of this style expect: store: false leaves one out.',
  on_request: 'Store only what asks for it',
  help_on_request: 'A request with store: true or in the background.',
  never: 'Never store',
  help_never:
    'A request that asks for it is refused, as are new files and batches. Repeated requests with an Idempotency-Key do not get their first answer again.',
  keep: 'Keep for',
  keepHelp: 'Then they are deleted.',
  shorter: 'This holds for stored responses, too: older ones are deleted within minutes of saving.',
  daysN: { one: '{n} day', other: '{n} days' },
  longest: 'as long as this gateway does: {n} days',
  saved: 'Saved. Calls follow it within five seconds.',
  stored: {
    one: '{number} response stored, {size}, since {since}.',
    other: '{number} responses stored, {size}, the oldest of {since}.',
  },
  storedNone: 'Nothing is stored.',
  delete: 'Delete all',
  deleteTitle: { one: 'Delete {number} stored response?', other: 'Delete {number} stored responses?' },
  deleteText: 'Calls can no longer continue them. Responses under way stay until they end.',
  deleted: { one: '{n} response deleted.', other: '{n} responses deleted.' },
  neverKeeps: 'What is stored stays until its time is over. Delete it here to have it gone now.',
  chats: 'Chats of the playground',
  chatsText:
    'They stay in the browser in which they were written. Kept with the account, they are there in every browser where you sign in: messages, answers and settings, as long as responses are kept after the last change. Files and images stay in the browser.',
  chatsKeep: 'Keep chats with the account',
  chatsOn: 'Chats are kept with the account from now on.',
  chatsOff: 'Nothing more is kept. What is kept stays until you delete it or its time is over.',
  chatsForbidden: 'Zero retention, or storing that is switched off, keeps no chats.',
  chatsNone: 'No chat is kept with the account.',
  chatsStored: { one: '{n} chat kept, {size}.', other: '{n} chats kept, {size}.' },
  chatsDelete: 'Delete all chats',
  chatsDeleteTitle: { one: 'Delete {n} kept chat?', other: 'Delete {n} kept chats?' },
  chatsDeleteText:
    'They are gone from the account. Those in browsers stay there. Calls and charges stay, too.',
  chatsDeleted: { one: '{n} chat deleted.', other: '{n} chats deleted.' },
  exportChats: 'Chats',
  see: 'Who can see texts',
  who_account: 'You',
  sees_account:
    'You, from the page of a call; and whoever has a key of this account and knows the id of a response or of its call.',
  who_operators: 'Operators',
  sees_operators:
    'No page and no command of Weir shows them stored texts. Whoever reads the database or its backups can.',
  who_providers: 'Providers',
  sees_providers: 'The one that answers gets the prompt; its data policy holds there.',
  who_logs: 'Logs',
  sees_logs: 'Never have prompts, answers or keys.',
  who_files: 'Files, batches, videos',
  sees_files:
    'Are stored because you send or order them; each is deleted by its id, or when its time is over.',
  more: 'All that is stored, and for how long',
  export: 'Your data as files',
  exportText: 'The last 90 days as CSV, with exact amounts. They contain no texts.',
  exportCalls: 'Calls',
  exportUsage: 'Usage by day',
  exportLedger: 'Statement',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    storing: typeof messages
  }
}
