// Writes src/api/operations.ts: the queries of the API, with their keys, by the names that the OpenAPI document gives them.
import { readFileSync, writeFileSync } from 'node:fs'
import yaml from 'js-yaml'

/** The text of the file, for the text of the document. */
export function operations(document) {
  const lines = Object.entries(yaml.load(document).paths)
    .filter(
      ([path, { get }]) => /^\/(api|v1)\//.test(path) && get?.responses['200']?.content?.['application/json'],
    )
    .map(([path, { get }]) => {
      const own = path.startsWith('/v1/') && get.security?.length !== 0 // a session reads it under /api
      const values = [get.operationId, path, ...(own ? [`/api${path}`] : [])].map((x) => `'${x}'`)
      const call = `export const ${get.operationId} = /* @__PURE__ */ query(`
      const line = `${call}${values.join(', ')})`
      return line.length <= 110 ? line : `${call}\n${values.map((x) => `  ${x},\n`).join('')})`
    })
  return `// Written by scripts/operations.mjs (npm run types).\nimport { query } from './operation'\n\n${lines.join('\n')}\n`
}

if (process.argv[1] === import.meta.filename) {
  const url = (path) => new URL(path, import.meta.url)
  writeFileSync(
    url('../src/api/operations.ts'),
    operations(readFileSync(url('../../internal/httpapi/openapi.yaml'), 'utf8')),
  )
}
