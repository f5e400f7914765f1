let id = '';
export const pages = [
  { name: 'calls', path: '/calls', signedIn: true },
  { name: 'calls-drawer', path: () => `/calls?open=${id}`, signedIn: true },
  { name: 'call', path: () => `/calls/${id}`, signedIn: true },
  { name: 'call-missing', path: '/calls/gen-1-none', signedIn: true },
];
/** Calls of which one goes on to another provider after a failure. */
export async function prepare(weir) {
  for (let i = 0; i < 6; i++) await weir.call('/v1/chat/completions', { model: 'sim/anywhere', messages: [{ role: 'user', content: `Hello ${i}` }] });
  const answer = await weir.call('/v1/chat/completions', { model: 'sim/anywhere', provider: { order: ['sim', 'sim-anthropic'], ignore: ['sim-gemini'], allow_fallbacks: true, quantizations: ['unknown', 'fp8'] }, messages: [{ role: 'user', content: '[[sim fault=u16 delay=200ms first=300ms tokens=200 times=1 id=shot]] Hello' }] });
  id = (await answer.json()).id ?? id;
  await weir.call('/v1/chat/completions', { model: 'sim/echo', messages: [{ role: 'user', content: '[[sim fault=u12]] Hello' }] });
  await weir.call('/v1/embeddings', { model: 'sim/embed', input: 'Hello' });
  await new Promise((done) => setTimeout(done, 1500));
}
