// Writes src/api/operations.ts: the queries of the account API, with their keys, by the names that the OpenAPI document gives them.
import { readFileSync, writeFileSync } from 'node:fs'
import yaml from 'js-yaml'

/** The text of the file, for the text of the document. */
export function operations(document) {
  const lines = Object.entries(yaml.load(document).paths)
    .filter(
      ([path, { get }]) => path.startsWith('/api/') && get?.responses['200']?.content?.['application/json'],
    )
    .map(([path, { get }]) => {
      const line = `export const ${get.operationId} = /* @__PURE__ */ query('${get.operationId}', '${path}')`
      return line.length <= 110
        ? line
        : line.replace("('", "(\n  '").replace("', '", "',\n  '").replace(/\)$/, ',\n)')
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
