import '../renewed'
import '../trusted'
import '../styles.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { loadMessages, startLanguage } from '../i18n'
import { SignIn } from './sign-in'

// The token of a link is behind the #, where no server sees it; it leaves the address bar before anything else happens.
const token = decodeURIComponent(location.hash.slice(1))
if (token) history.replaceState(null, '', location.pathname + location.search)

// Another link that is pasted into this tab changes what is behind the # alone.
addEventListener('hashchange', () => location.reload())

startLanguage(document.documentElement.lang)
void loadMessages(['common', 'signin']).then(() => {
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <SignIn path={location.pathname} token={token} />
    </StrictMode>,
  )
})
