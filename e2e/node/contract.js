// A fetch that checks requests and responses against the OpenAPI document of the gateway, and records violations.
import Ajv from 'ajv/dist/2020.js';
import { parse } from 'yaml';

export class Contract {
  /** What was seen that the document does not allow, one sentence each. */
  complaints = [];

  #validators = new Map();

  static async load(url) {
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`GET ${url}: ${answer.status}`);
    return new Contract(parse(await answer.text()));
  }

  constructor(document) {
    this.document = document;
    this.prefixes = (document.servers ?? [{ url: '/' }]).map((server) => new URL(server.url, 'http://any').pathname.replace(/\/$/, ''));
    this.ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
    this.ajv.addSchema(document, 'api');
  }

  fetch = (url, init) => this.#pass(url, init, true);
  fetchWrong = (url, init) => this.#pass(url, init, false);

  async #pass(url, init, checkRequest) {
    const answer = await fetch(url, init);
    if (String(url).startsWith('data:')) return answer; // the SDK tries out what a fetch can do before it sends a form
    const method = init?.method ?? 'GET';
    const name = `${method} ${new URL(url).pathname}`;
    const at = this.#find(method, new URL(url).pathname);
    if (!at) {
      this.complaints.push(`${name}: the document lacks it`);
      return answer;
    }
    if (checkRequest && typeof init?.body === 'string') {
      this.#check(`${name} request`, [...at, 'requestBody'], 'application/json', JSON.parse(init.body));
    }
    if (!answer.headers.get('x-request-id')) this.complaints.push(`${name}: the answer has no x-request-id`);
    return this.#checkAnswer(name, at, answer);
  }

  #checkAnswer(name, at, answer) {
    const responses = this.#resolve(at).value.responses;
    const status = String(answer.status) in responses ? String(answer.status) : 'default';
    if (!(status in responses)) {
      this.complaints.push(`${name}: the document has no answer ${answer.status}`);
      return answer;
    }
    const described = [...at, 'responses', status];
    const media = (answer.headers.get('content-type') ?? '').split(';')[0];
    if (media === 'text/event-stream') return this.#watch(name, described, answer);
    if (media === 'application/json') {
      answer.clone().json().then(
        (body) => this.#check(`${name} answer ${answer.status}`, described, media, body),
        (error) => this.complaints.push(`${name}: ${error}`),
      );
    }
    return answer;
  }

  /** Lets a stream through and checks its frames as they pass. */
  #watch(name, described, answer) {
    let rest = '';
    const decoder = new TextDecoder();
    const watcher = new TransformStream({
      transform: (piece, out) => {
        out.enqueue(piece);
        rest += decoder.decode(piece, { stream: true });
        const frames = rest.split('\n\n');
        rest = frames.pop();
        for (const frame of frames) this.#checkFrame(name, described, frame);
      },
    });
    return new Response(answer.body.pipeThrough(watcher), { status: answer.status, headers: answer.headers });
  }

  #checkFrame(name, described, frame) {
    const data = frame.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart()).join('\n');
    if (data === '' || data === '[DONE]') return;
    this.#check(`${name} frame`, described, 'text/event-stream', JSON.parse(data));
  }

  #check(what, described, media, value) {
    const { path, value: description } = this.#resolve(described);
    const schema = description?.content?.[media]?.schema;
    if (!schema) {
      this.complaints.push(`${what}: the document has no schema for ${media}`);
      return;
    }
    // In the document, a stream is a text named XStream, and the JSON of its frames is XChunk.
    const place = media === 'text/event-stream'
      ? ['components', 'schemas', schema.$ref.split('/').at(-1).replace(/Stream$/, 'Chunk')]
      : [...path, 'content', media, 'schema'];
    const pointer = place.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    const validate = this.#validators.get(pointer) ?? this.ajv.compile({ $ref: `api#/${pointer}` });
    this.#validators.set(pointer, validate);
    if (!validate(value)) {
      const wrong = validate.errors.map((error) => `${error.instancePath} ${error.message}`).join('; ');
      this.complaints.push(`${what}: ${wrong}: ${JSON.stringify(value).slice(0, 1000)}`);
    }
  }

  /** Follows references; the path returned is where the value really stands. */
  #resolve(path) {
    let value = this.document;
    let real = [];
    for (const step of path) {
      value = value?.[step];
      real.push(step);
      if (typeof value?.$ref === 'string') {
        real = value.$ref.slice(2).split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
        value = real.reduce((at, part) => at?.[part], this.document);
      }
    }
    return { path: real, value };
  }

  /** The place of an operation, or nothing; a path without parameters wins over one with. */
  #find(method, path) {
    const known = Object.keys(this.document.paths).sort((a, b) => a.split('{').length - b.split('{').length);
    for (const prefix of this.prefixes) {
      const found = known.find((template) => matches(prefix + template, path));
      if (found && this.document.paths[found][method.toLowerCase()]) return ['paths', found, method.toLowerCase()];
    }
    return undefined;
  }
}

function matches(template, path) {
  const wanted = template.split('/');
  const got = path.split('/');
  return wanted.length === got.length && wanted.every((step, i) => fits(step, got[i]));
}

/** Whether a step of a path fits one of a template: {name} is anything, {name}:word anything that ends so. */
function fits(step, got) {
  if (!step.startsWith('{')) return step === got;
  const word = step.slice(step.indexOf('}') + 1);
  return got.length > word.length && got.endsWith(word);
}
