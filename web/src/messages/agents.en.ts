import type { Messages } from '../i18n'

const messages = {
  title: 'Agents',
  note: 'Keys that keys have made, each with an amount of its own',
  agent: 'Agent',
  state: 'State',
  calls: 'Calls',
  amount: 'Amount',
  own: 'Own spending',
  children: 'By children',
  held: 'On hold',
  left: 'Left',
  back: '{amount} back',
  spent: 'Spent',
  deadline: 'Deadline',
  allowed: 'Allowed',
  made: 'Made',
  none: 'none',
  actions: 'Actions',
  running: 'running',
  out_of_money: 'out of money',
  ended: 'ended',
  stopped: 'stopped',
  nRunning: '{n} running',
  nOut: '{n} out of money',
  nEnded: '{n} ended',
  level: 'Level {n}',
  used: '{spent} spent and {held} on hold of {amount}',
  nModels: { one: '{n} model', other: '{n} models' },
  allModels: 'all models',
  nTools: { one: '{n} tool', other: '{n} tools' },
  allTools: 'all tools',
  nDeep: { one: '{n} level deep', other: '{n} levels deep' },
  tree: 'Tree',
  adds: 'Amount = own spending + by children + on hold + left, in every line. An amount is a ceiling and reserves nothing: what an agent does not spend was never taken from the key above it.',
  empty: 'No agent has a key of its own',
  emptyText: 'One call with a key makes one, with an amount that it cannot pass:',
  refused: 'Your role does not show this page',
  refusedText:
    'The agents of an organization are for those who have keys in it. An agent itself asks with its key: GET /v1/keys/child.',
  missing: 'There is no such agent',
  missingText: 'The address may be mistyped, or the agent is of another account.',
  toList: 'All agents',
  amountOf: 'Change the amount of {name}',
  amountHelp:
    'Rubles: all that it may spend, together with the agents below it. It cannot be more than the keys above it have left.',
  amountWrong: 'Rubles, such as 100 or 0.5',
  amountLeaves: '{left} will be left, for calls that begin now and for running ones that need more.',
  amountBelow: 'That is less than the {used} spent and on hold: new calls are refused at once.',
  stop: 'Stop',
  stopOf: 'Stop {name}',
  stopTree: 'Stop the whole tree',
  stopDo: 'Stop {name} and {below} below',
  stopTitle: 'Stop {name}?',
  stopNumbers: {
    one: '{n} agent stops with its running calls within one second, on all nodes.',
    other: '{n} agents stop with their running calls within one second, on all nodes.',
  },
  stopPaid:
    'You pay for what has been answered by then, at most the {held} on hold. {left} or more stay with the key above. The keys do not come back.',
  stopNever: 'cannot be undone',
  over: 'The tree has ended. Its report stays.',
  stoppedDone: {
    one: '{n} agent was stopped. {left} was not spent.',
    other: '{n} agents were stopped. {left} was not spent.',
  },
  loop: 'Why {name} ran on',
  loopTag: 'looks like a loop',
  loopText: {
    one: 'the same tools {n} time in a row, in {calls} calls',
    other: 'the same tools {n} times in a row, in {calls} calls',
  },
  loopSince: 'from {since} to {until}',
  itsCalls: 'Calls of {name}',
  rows: { one: '{n} tree', other: '{n} trees' },
  most: 'The newest {n} are shown.',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    agents: typeof messages
  }
}
