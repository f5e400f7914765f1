/// <reference types="vitest/config" />
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import tailwind from '@tailwindcss/vite'
import { defineConfig, type Plugin } from 'vite'
import en from './src/messages/common.en'
import ru from './src/messages/common.ru'
import { firstBar } from './src/shell/first'

interface Chunk {
  file: string
  entry: boolean
  source: string | null
  imports: string[]
  css: string[]
}

/** Where the server embeds the interface from. */
const out = '../internal/webui/dist'

/** The server fills these in for each response; the development server does it here. */
function placeholders(): Plugin {
  return {
    name: 'weir-placeholders',
    apply: 'serve',
    transformIndexHtml: {
      order: 'pre',
      handler: (html, ctx) => {
        const cookie = (name: string) =>
          new RegExp(`(?:^|;\\s*)${name}=([a-z]+)`).exec(
            String((ctx as { req?: { headers: Record<string, string> } }).req?.headers?.cookie ?? ''),
          )?.[1]
        return html
          .replace('__LANG__', cookie('weir_lang') ?? 'en')
          .replace('__THEME__', cookie('weir_theme') ?? 'system')
          .replace('__NONCE__', 'development')
      },
    },
    configureServer(server) {
      server.middlewares.use((req, _res, next) => {
        if (/^\/(sign-in|sign-up|invite|reset|setup|new-email|keep-email)(\?|$)/.test(req.url ?? ''))
          req.url = '/sign-in.html'
        next()
      })
    },
  }
}

/** Puts the bar that comes before any code into the page. */
function first(): Plugin {
  return {
    name: 'weir-first',
    transformIndexHtml: (html) => html.replace('<!--first bar-->', () => firstBar({ en, ru })),
  }
}

/**
 * What a page of the interface needs besides what all need, by its path and language: the server names it in the document, so that it is on
 * its way before the code that asks for it. The tables of pages are read as text, in any layout.
 */
function pages(chunks: readonly Chunk[]): string[] {
  const closure = (file: string, seen: Set<string>): Set<string> => {
    const chunk = seen.has(file) ? undefined : chunks.find((c) => c.file === file)
    if (chunk) {
      seen.add(file)
      chunk.imports.forEach((f) => closure(f, seen))
    }
    return seen
  }
  const base = closure(chunks.find((c) => c.source === 'index.html')!.file, new Set())
  const from = (source: string) => {
    const c = chunks.find((x) => x.source === source)
    if (!c) throw new Error(`no chunk of ${source}`)
    return c.file
  }
  return readdirSync('src/routes')
    .filter((f) => f !== 'page.tsx')
    .flatMap((name) => {
      const text = readFileSync(`src/routes/${name}`, 'utf8').replaceAll(/\s+/g, ' ')
      const lines = [
        ...text.matchAll(
          /\{ path: '(.+?)', load: \(\) => import\('\.\.\/(.+?)'\), areas: \[(.*?)\](?:, data: '(.+?)')?/g,
        ),
      ]
      if (lines.length !== text.split('path:').length - 1)
        throw new Error(`src/routes/${name}: a page is not written as the others`)
      return lines.flatMap(([, path, page, areas, data]) => {
        const chunk = [...closure(from(`src/${page}.tsx`), new Set(base))].filter((f) => !base.has(f))
        const code = (lang: string) =>
          [
            ...['common', ...areas!.matchAll(/\w+/g)].map((a) =>
              from(`src/messages/${String(a)}.${lang}.ts`),
            ),
            ...chunk,
          ].map((f) => `${lang} ${f}`)
        return [
          `page ${path!}`,
          'data /api/me',
          ...(data ? [`data ${data}`] : []),
          ...code('en'),
          ...code('ru'),
        ]
      })
    })
}

/** Compressed files, in place of the plain ones, and a list of what each chunk needs, for scripts/size.mjs. */
function afterwards(): Plugin {
  return {
    name: 'weir-afterwards',
    apply: 'build',
    writeBundle(_options, bundle) {
      const chunks = Object.values(bundle).flatMap((c): Chunk[] =>
        c.type === 'chunk'
          ? [
              {
                file: c.fileName,
                entry: c.isEntry,
                source: c.facadeModuleId?.replace(import.meta.dirname + '/', '') ?? null,
                imports: c.imports,
                css: [...(c.viteMetadata?.importedCss ?? [])],
              },
            ]
          : [],
      )
      mkdirSync('node_modules/.weir', { recursive: true })
      writeFileSync('node_modules/.weir/chunks.json', JSON.stringify(chunks, null, 1))
      writeFileSync(join(out, 'pages.txt'), pages(chunks).join('\n') + '\n')
      const walk = (dir: string): string[] =>
        readdirSync(dir, { withFileTypes: true }).flatMap((e) =>
          e.isDirectory() ? walk(join(dir, e.name)) : [join(dir, e.name)],
        )
      writeFileSync(join(out, '.keep'), '') // committed, so that the Go program builds without npm
      for (const file of walk(out)) {
        if (!/\.(js|css|svg)$/.test(file) || statSync(file).size < 1024) continue
        const bytes = readFileSync(file)
        writeFileSync(file + '.gz', gzipSync(bytes, { level: 9 }))
        writeFileSync(
          file + '.br',
          brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
        )
        rmSync(file) // the program unpacks it for a client that takes neither
      }
    },
  }
}

const gateway = process.env.WEIR_URL ?? 'http://127.0.0.1:8080'
const proxy = Object.fromEntries(
  ['/api', '/v1', '/docs', '/openapi.yaml', '/llms.txt', '/health'].map((path) => [
    path,
    {
      target: gateway,
      changeOrigin: true,
      configure: (p: {
        on(
          event: 'proxyReq',
          f: (r: { getHeader(n: string): unknown; setHeader(n: string, v: string): void }) => void,
        ): void
      }) => {
        p.on('proxyReq', (r) => {
          if (r.getHeader('origin')) r.setHeader('origin', gateway)
        })
      },
    },
  ]),
)

export default defineConfig({
  // The pages are written for React, and run on Preact: it does the same for them with a seventh of the bytes.
  resolve: {
    alias: [
      ['react', 'preact/compat'],
      ['react-dom', 'preact/compat'],
      ['react-dom/client', 'preact/compat/client'],
      ['react-dom/test-utils', 'preact/test-utils'],
      ['react/jsx-runtime', 'preact/jsx-runtime'],
      ['react/jsx-dev-runtime', 'preact/jsx-dev-runtime'],
    ].map(([from, to]) => ({ find: new RegExp(`^${from!}$`), replacement: to! })),
  },
  plugins: [react(), tailwind(), placeholders(), first(), afterwards()],
  server: { proxy, host: '127.0.0.1' },
  build: {
    outDir: out,
    emptyOutDir: true,
    target: ['chrome123', 'firefox128', 'safari17.5'],
    cssTarget: ['chrome123', 'firefox128', 'safari17.5'],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: { input: ['index.html', 'sign-in.html'] },
    chunkSizeWarningLimit: 1000,
  },
  test: {
    alias: { '@testing-library/react': '@testing-library/react/dist/@testing-library/react.esm.js' }, // the other one requires React
    environment: 'happy-dom',
    // What these import goes by the same names to Preact.
    server: {
      deps: { inline: [/radix-ui|@tanstack|@testing-library|floating-ui|use-[\w-]+|react-(remove|style)-/] },
    },
    setupFiles: ['test/setup.ts'],
    include: ['test/**/*.test.{ts,tsx}', 'src/**/*.test.{ts,tsx}'],
  },
})
