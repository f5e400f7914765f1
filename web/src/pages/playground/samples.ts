/** Tools and answers to begin with. */
import type { Call } from './stream'

const tool = (name: string, description: string, properties: object, required: readonly string[]) => ({
  type: 'function',
  function: {
    name,
    description,
    parameters: { type: 'object', properties, required, additionalProperties: false },
  },
})
export const sampleTools: { readonly [name: string]: object } = {
  get_weather: tool(
    'get_weather',
    'The weather of a city now',
    { city: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
    ['city'],
  ),
  query_table: tool(
    'query_table',
    'Rows of the sales table',
    {
      columns: { type: 'array', items: { type: 'string' } },
      region: { type: 'string' },
      limit: { type: 'integer', minimum: 1, maximum: 100 },
    },
    ['columns'],
  ),
  convert_currency: tool(
    'convert_currency',
    'An amount in another currency',
    { amount: { type: 'number' }, from: { type: 'string' }, to: { type: 'string' } },
    ['amount', 'from', 'to'],
  ),
}
const results: { readonly [name: string]: object } = {
  get_weather: { temperature: 21, unit: 'celsius', sky: 'clear' },
  query_table: {
    rows: [
      { region: 'Volga', plan: 52.0, fact: 41.8 },
      { region: 'Ural', plan: 18.2, fact: 15.1 },
    ],
  },
  convert_currency: { amount: 1234.56 },
}
export const sampleResult = (c: Call) => JSON.stringify(results[c.name] ?? { ok: true }, null, 2)
export const sampleSchema = JSON.stringify(
  {
    type: 'object',
    properties: { title: { type: 'string' }, score: { type: 'integer' } },
    required: ['title', 'score'],
    additionalProperties: false,
  },
  null,
  2,
)
/** The tools as text with one more of the samples. */
export function withSample(text: string, name: string): string {
  let now: unknown
  try {
    now = text.trim() ? JSON.parse(text) : []
  } catch {
    now = []
  }
  return JSON.stringify([...(Array.isArray(now) ? now : [now]), sampleTools[name]], null, 2)
}
