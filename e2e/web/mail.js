// A mail server over loopback: takes every mail as RFC 5321 says, and gives tests the links in them.
import { createServer } from 'node:net';
import { after } from 'node:test';

/** Takes back what quoted-printable did (RFC 2045, section 6.7). */
const plain = (text) => text.replace(/=\r\n/g, '').replace(/(?:=[0-9A-F]{2})+/g, (hex) => Buffer.from(hex.replaceAll('=', ''), 'hex').toString());

/** Takes back what encoded words did (RFC 2047). */
const words = (text) => text.replace(/\?= =\?UTF-8\?q\?/gi, '').replace(/=\?UTF-8\?q\?(.*?)\?=/gi, (_, q) => plain(q.replaceAll('_', ' ')));

/** Starts the server. `to(address, subject, n)` waits for the n-th mail to an address with such a subject and answers { subject, text, link }. */
export async function mailbox() {
  const mails = [];
  let arrived = [];
  const server = createServer((c) => {
    let data = null, to = null, rest = '';
    c.write('220 test ESMTP\r\n');
    c.on('error', () => {});
    c.on('data', (piece) => {
      rest += piece.toString('latin1');
      for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 2);
        if (data !== null) {
          if (line !== '.') { data += `${line.replace(/^\./, '')}\r\n`; continue; }
          const cut = data.indexOf('\r\n\r\n');
          const head = data.slice(0, cut).replace(/\r\n[ \t]+/g, ' '), body = plain(data.slice(cut));
          const subject = words(/^Subject: (.*)$/m.exec(head)[1]);
          mails.push({ to, subject, text: `${head}${body}`, link: /https?:\/\/\S+#[0-9A-Za-z._-]+/.exec(body)?.[0] ?? null });
          data = null;
          for (const wake of arrived.splice(0)) wake();
          c.write('250 taken\r\n');
          continue;
        }
        const verb = line.slice(0, 4).toUpperCase();
        if (verb === 'RCPT') to = /<(.*)>/.exec(line)[1];
        if (verb === 'DATA') data = '';
        c.write(verb === 'EHLO' ? '250-test\r\n250 8BITMIME\r\n' : verb === 'DATA' ? '354 go on\r\n' : verb === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n');
        if (verb === 'QUIT') c.end();
      }
    });
  });
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  after(() => { server.close(); });
  return {
    port: server.address().port,
    async to(address, subject, n = 1) {
      const late = setTimeout(() => { for (const wake of arrived.splice(0)) wake(); }, 60_000);
      const deadline = Date.now() + 60_000;
      for (;;) {
        const mine = mails.filter((m) => m.to === address && subject.test(m.subject));
        if (mine.length >= n) { clearTimeout(late); return mine[n - 1]; }
        if (Date.now() >= deadline) throw new Error(`no mail to ${address}, only ${mails.map((m) => `${m.to}: ${m.subject}`).join('; ')}`);
        await new Promise((wake) => { arrived.push(wake); });
      }
    },
  };
}
