// A small, strict OpenID Connect provider for the tests of sign-in: the code flow with PKCE, one page with one button, keys of its own.
import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { after } from 'node:test';

const json = (res, status, body) => { res.writeHead(status, { 'content-type': 'application/json' }); res.end(JSON.stringify(body)); };
const b64 = (x) => Buffer.from(x).toString('base64url');

/** Starts one. `who` is the person who signs in there; `fault` 'nonce' or 'down' makes it answer wrongly. */
export async function provider({ clientId = 'weir', secret = 'client secret' } = {}) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const codes = new Map();
  const p = { who: { sub: '42', email: 'anna@example.org', email_verified: true, name: 'Anna' }, fault: null, refuses: false, clientId, secret };
  const server = createServer((req, res) => {
    const at = new URL(req.url, p.url);
    const q = at.searchParams;
    if (p.fault === 'down') return json(res, 503, {});
    if (at.pathname === '/.well-known/openid-configuration') {
      return json(res, 200, { issuer: p.url, authorization_endpoint: `${p.url}/authorize`, token_endpoint: `${p.url}/token`, jwks_uri: `${p.url}/keys`, id_token_signing_alg_values_supported: ['RS256'] });
    }
    if (at.pathname === '/keys') return json(res, 200, { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'RS256', use: 'sig' }] });
    if (at.pathname === '/authorize') {
      const wrong = q.get('client_id') !== clientId ? 'client_id' : !p.redirects.includes(q.get('redirect_uri')) ? 'redirect_uri' : q.get('response_type') !== 'code' ? 'response_type'
        : q.get('code_challenge_method') !== 'S256' || q.get('code_challenge')?.length !== 43 ? 'code_challenge' : !q.get('nonce') ? 'nonce' : !q.get('state') ? 'state' : null;
      if (wrong) return json(res, 400, { wrong });
      const back = new URL(q.get('redirect_uri'));
      back.searchParams.set('state', q.get('state'));
      if (p.refuses) back.searchParams.set('error', 'access_denied');
      else { const code = randomBytes(16).toString('hex'); codes.set(code, q); back.searchParams.set('code', code); }
      res.writeHead(200, { 'content-type': 'text/html' });
      return res.end(`<!doctype html><title>Provider</title><h1>Provider</h1><a href="${back.href.replaceAll('&', '&amp;')}">Go on as ${p.who.name}</a>`);
    }
    if (at.pathname === '/token' && req.method === 'POST') {
      let body = '';
      req.on('data', (piece) => { body += piece; });
      req.on('end', () => {
        const f = new URLSearchParams(body), asked = codes.get(f.get('code'));
        codes.delete(f.get('code'));
        const login = Buffer.from((req.headers.authorization ?? '').replace('Basic ', ''), 'base64').toString().split(':').map((x) => decodeURIComponent(x.replaceAll('+', ' ')));
        if (login[0] !== clientId || login[1] !== secret) return json(res, 401, { error: 'invalid_client' });
        if (!asked || f.get('redirect_uri') !== asked.get('redirect_uri') || createHash('sha256').update(f.get('code_verifier') ?? '').digest('base64url') !== asked.get('code_challenge')) return json(res, 400, { error: 'invalid_grant' });
        const now = Math.floor(Date.now() / 1000);
        const text = `${b64(JSON.stringify({ alg: 'RS256', kid: 'k1' }))}.${b64(JSON.stringify({ iss: p.url, aud: clientId, iat: now, exp: now + 60, nonce: p.fault === 'nonce' ? 'other' : asked.get('nonce'), ...p.who }))}`;
        return json(res, 200, { access_token: 'at', token_type: 'Bearer', id_token: `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}` });
      });
      return undefined;
    }
    return json(res, 404, {});
  });
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  after(() => server.close());
  p.url = `http://localhost:${server.address().port}`;
  return p;
}
