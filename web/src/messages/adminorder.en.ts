import type { Messages } from '../i18n'

const messages = {
  title: 'Order and names',
  note: 'Who is tried first, and which names a model answers to: for everybody who does not say otherwise.',
  orders: 'Who serves a model first',
  none: 'Prices decide for all models',
  noneText:
    'Cheaper endpoints get more of the first attempts. Type a model to put its endpoints in another order.',
  model: 'Model',
  modelHint: 'vendor/model',
  show: 'Show endpoints',
  endpoints: 'Endpoints',
  change: 'Change',
  changeOf: 'Change the order of {model}',
  place: 'Place',
  placeOf: 'Place of {endpoint}',
  weight: 'Weight',
  weightOf: 'Weight of {endpoint}',
  perHour: '{n} calls/h',
  off: 'off',
  how: 'Lower places are tried first, empty ones last. Within a place, weights share the first attempts: 3 and 1 are three of four. What fails comes after what works. A request that sorts or orders itself is not touched.',
  save: 'Save the order',
  saved: 'The order holds on all nodes within 5 seconds',
  byPrice: 'Let prices decide',
  byPriceDone: 'Prices decide again',
  names: 'Other names',
  noNames: 'No other names',
  noNamesText: 'Give a model that was renamed its former name too, and programs that use it go on to work.',
  name: 'Name',
  answers: 'Answered by',
  unused: 'not used',
  unusedWhy: 'A model has this name itself, or the model does not serve.',
  add: 'Add a name',
  addText: 'Calls are recorded and charged as those of the model.',
  added: 'The name works on all nodes within 5 seconds',
  remove: 'Remove the name',
  removeTitle: 'Remove {name}?',
  removeText: 'Calls that use {name} get the error “the model does not exist” from then on.',
  removed: 'The name is gone',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    adminorder: typeof messages
  }
}
