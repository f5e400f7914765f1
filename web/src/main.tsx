import './renewed'
import './trusted'
import './styles.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { meQuery, queries } from './api/query'
import { loadMessages, startLanguage } from './i18n'
import { router } from './router'

// The link of the first administrator leads here; its token goes on to the form's own page, and nothing else sees it.
// Pasted into a tab that has the page open already, it changes the hash alone.
const toSetup = () => {
  if (location.pathname === '/welcome' && location.hash.length > 10)
    location.replace('/setup' + location.hash)
}
toSetup()
addEventListener('hashchange', toSetup)

startLanguage(document.documentElement.lang)
void queries.prefetchQuery(meQuery)
// A new release has other chunk names: load the page again, once. Where the gateway does not answer, what is shown stays.
window.addEventListener('vite:preloadError', () => {
  if (sessionStorage.getItem('weir.reloaded') === location.href) return
  void fetch('/healthz').then(
    ({ ok }) => {
      if (!ok) return
      sessionStorage.setItem('weir.reloaded', location.href)
      location.reload()
    },
    () => {},
  )
})
void loadMessages(['common']).then(() => {
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  )
})
