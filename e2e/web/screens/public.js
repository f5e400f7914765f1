export const pages = [
  { name: 'first-run', path: '/welcome', signedIn: true },
  { name: 'models', path: '/models?can=tools' },
  { name: 'compare', path: '/models/compare?m=sim/chat,sim/echo,sim/video' },
  { name: 'model', path: '/models/sim/anywhere' },
  { name: 'video-model', path: '/models/sim/video' },
  { name: 'status', path: '/status' },
  { name: 'sign-in', path: '/sign-in' },
];
/** A few calls, so that there is something to see. */
export async function prepare(weir) {
  for (let i = 0; i < 12; i++) await weir.call('/v1/chat/completions', { model: 'sim/anywhere', messages: [{ role: 'user', content: `Hello ${i}` }] });
}
