import type { Messages } from '../i18n'

const messages = {
  title: 'Gallery',
  kind: 'Kind',
  k_all: 'All',
  k_image: 'Images',
  k_audio: 'Audio',
  k_video: 'Videos',
  kept: 'Images and speech that you make in the playground stay in this browser: the newest {most} in all your accounts, up to {size}, until you delete them. The gateway keeps none of them. Videos are on the gateway, each until the time that it shows.',
  keptDays:
    'Images and speech that you make in the playground stay in this browser: the newest {most} in all your accounts, up to {size}, and by the data settings of this account for {days}. The gateway keeps none of them. Videos are on the gateway, each until the time that it shows.',
  days: { one: '{n} day', other: '{n} days' },
  forbidden:
    'The data settings of this account forbid keeping content, so images and speech end with the tab in which they were made. Videos are on the gateway, each until the time that it shows.',
  dataLink: 'Data settings',
  empty: 'Nothing made yet',
  emptyKind: 'Nothing of this kind',
  emptyText: 'What you make in the playground is shown here.',
  makeImage: 'Make an image',
  makeSpeech: 'Make speech',
  makeVideo: 'Make a video',
  list: 'What you made',
  nth: '{n} of {of}',
  openImage: 'Image: {prompt}',
  openAudio: 'Recording: {prompt}',
  openVideo: 'Video: {prompt}',
  noPrompt: 'no prompt kept',
  untitled_image: 'Image',
  untitled_audio: 'Recording',
  untitled_video: 'Video',
  lost: 'This browser no longer has the file.',
  before: 'Previous',
  after: 'Next',
  prompt: 'Prompt',
  promptName: 'the prompt',
  promptGone:
    'The gateway does not keep the prompt of a video that is done, and this browser does not have it.',
  from: {
    one: 'Made from {n} file of yours, which is not kept.',
    other: 'Made from {n} files of yours, which are not kept.',
  },
  model: 'Model',
  made: 'Made',
  cost: 'Cost',
  costOf: 'for {n} files',
  size: 'Size',
  until: 'Kept until',
  call: 'Call',
  conversation: 'Conversation',
  toCall: 'Open the call',
  toChat: 'Open the conversation',
  toJob: 'Open the job',
  job: 'Job',
  download: 'Download',
  copyPrompt: 'Copy the prompt',
  another: 'Make another',
  delete: 'Delete',
  deleteTitle: 'Delete it?',
  deleteText: 'It is gone from this browser. The call and its charge stay.',
  deleteChat: 'It is gone from the gallery, and stays in its conversation. The call and its charge stay.',
  deleteVideo: {
    one: 'It is gone from the gateway. The call and its charge stay.',
    other: 'All {n} videos of its job are gone from the gateway. The call and its charge stay.',
  },
  deleted: 'Deleted',
  notDeleted: 'It could not be deleted. Try again.',
  deleteAll: 'Delete all images and audio',
  deleteAllTitle: { one: 'Delete {n} file?', other: 'Delete {n} files?' },
  deleteAllText:
    'All images and speech of this account are gone from this browser. Videos, calls and charges stay.',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    gallery: typeof messages
  }
}
